"""Turns the request into runnable pairs: fills in arguments, tries each pair, chooses its sampler."""

from __future__ import annotations

import functools
import inspect
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from refutedp.detector.clock import Clock
from refutedp.events.predicates import nearly_all
from refutedp.inputs.analysed import Analysed
from refutedp.inputs.arguments import Between, FoundArguments, Limits, OneOf, find_arguments
from refutedp.inputs.arguments.problem import wanted_arguments
from refutedp.inputs.evolved import Evolved
from refutedp.inputs.given import datasets_of
from refutedp.inputs.levels import Levels
from refutedp.inputs.source import PairSource, SearchSpace, Seen, sources_for
from refutedp.model.adjacency import AddRemove, Adjacency, AnyTwo, Replace
from refutedp.model.claims import Claim
from refutedp.model.errors import BeyondBoundsError, MechanismError, UsageError
from refutedp.model.mechanism import NOISE_NAMES, Mechanism
from refutedp.model.outputs import Group
from refutedp.model.records import Pair
from refutedp.model.settings import PROOF_STREAM, TRIAL_STREAM, Progress, Settings, child
from refutedp.sampling.pool.tasks import Task, pool_for
from refutedp.sampling.sampler import PlainSampler, Runs, Sampler, Samplers, as_written

T = TypeVar("T")

TRIAL_RUNS = 9
TRIALS, ALL_TRIALS, ANALYSIS, PROOF = 0.1, 0.2, 0.15, 0.15
"""The part of the time for trials as planned, for trials that take longer than that, for sources that call, and for
the proof that one pair can be lifted."""
PROOF_CALLS = 200
"""About how many calls that proof takes."""
ANALYSIS_CALLS = 1_000
"""About how many calls those sources make at least."""
SILENCE = 0.5
"""Seconds after which trials are told of."""
ENOUGH_TIMED = 1.0
"""Seconds of runs, by the trials, that say more of their speed than the trials do: to start processes takes long."""
SLOW, SLOW_CALL = 4.0, 1e-3
"""A pair waits if its calls take so many times what those of the quicker pairs do, and at least so many seconds."""
LIFTED_PART = 0.05
"""What a lifted run is thought to take of a call, until it is measured."""
EVOLVED_LIFTED, EVOLVED_CALLS = (8, 4_000), (50, 500)
"""Calls for evolution: one for so many search runs, and at least so many; fewer where every run is a call."""
CLAIMED_NUMBERS = ("delta", "rho", "mu", "alpha")
"""Numbers of claims besides epsilon, which are handed to parameters of these names."""

SOLVER_UNITS = 30_000_000
"""The solver's work on all pairs together, in its own count: some millions take a second."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be checked."""

    mechanism: Mechanism
    claim: Claim
    adjacency: Adjacency
    args: Mapping[str, Any] | None = None
    pairs: Sequence[Any] | None = None
    inputs: Any = None
    notes: tuple[str, ...] = ()
    clock: Clock = field(default_factory=Clock)
    sources: tuple[PairSource, ...] = ()
    """Besides those of what the user gave."""


class Prepared:
    """The pairs that the sources propose, complete with arguments and tried out, each with its sampler.

    Every refusal is one sentence.
    """

    def __init__(self, request: Request, settings: Settings, report: Callable[[Progress], None]) -> None:
        self.mechanism = request.mechanism
        self.samplers: list[Sampler] = []
        self.notes: list[str] = []
        self._calls = 0
        self.clock = request.clock
        self._seconds: list[float] = []
        """What a call took in the trials, pair by pair."""
        self._waits: list[bool] = []
        self._alike: list[bool] = []
        self._usual_slowness = 1.0
        self._expected = self._measured = 0.0
        """Seconds that runs were to take by the trials, and those that they took."""
        self._longest = 0.0, 0.0
        self._told: set[str] = set()
        self._given = given_arguments(request.mechanism, request.claim, request.args)
        self._own_data = request.pairs is not None or request.inputs is not None
        self.settings, self._report = settings, report
        self._choose = Samplers(request.mechanism, settings.on_error, lift=settings.lift)
        sources = sources_for(
            request.adjacency, request.pairs, request.inputs, lengths=settings.lengths, seed=settings.seed
        )
        self.notes += [source.note for source in sources if source.note]
        self._sources: list[PairSource] = [*sources, *request.sources]
        if not self.more():
            raise UsageError(
                f"there are no two different inputs to try ({request.adjacency}): give pairs= or inputs="
            )
        records = isinstance(request.adjacency, AddRemove | Replace)
        # Who gives query answers says how many there are and what they look like; who compares any two values, or the
        # records of a user, says which there are.
        whole = isinstance(request.adjacency, AnyTwo) or getattr(request.adjacency, "by", None) is not None
        if request.pairs is None and not whole and (records or request.inputs is None):
            self._sources += self._beyond_the_usual(request)

    @property
    def calls(self) -> int:
        """How many runs and calls of the mechanism all this took."""
        return self._calls + sum(source.calls for source in self._sources)

    @property
    def costs_calls(self) -> bool:
        """Whether the runs of some pair are calls of the mechanism, which then take nearly all of the time."""
        return any(sampler.costs_calls for sampler in self.samplers)

    @property
    def seconds_per_call(self) -> float:
        """What a call took in the trials of the pairs that race but the slowest, which may have loaded a library."""
        racing = sorted(took for took, waits in zip(self._seconds, self._waits, strict=True) if not waits)
        usual = racing[:-1] or racing
        return max(sum(usual) / len(usual) * self._slowness, 1e-9)

    def waits(self, number: int) -> bool:
        """Whether the pair of this number is much slower than others, which are not charged for it."""
        return self._waits[number]

    def shows_nothing(self, number: int) -> bool:
        """Whether all trials of the pair of this number released the same: others are more likely to tell."""
        return self._alike[number]

    def seconds_of(self, number: int) -> float:
        """What a run on the pair of this number takes."""
        return max(self._seconds[number] * self._part(number) * self._slowness, 1e-9)

    def _part(self, number: int) -> float:
        """The part of a call that a run takes: less where others are calls and this one is lifted."""
        return LIFTED_PART if self.costs_calls and not self.samplers[number].costs_calls else 1.0

    @property
    def _slowness(self) -> float:
        """How many times what the trials say a run takes; less than once on several cores."""
        if not self._is_measured:
            return self._usual_slowness
        # Other processes made the next results while the first was waited for, which does not count.
        return max(self._measured / self._expected, 1 / pool_for(self.settings, costs_calls=True).processes)

    @property
    def _is_measured(self) -> bool:
        # A cluster starts workers when it likes.
        return self._expected > ENOUGH_TIMED and self.settings.engine == "local"

    def core_seconds(self, cores: int) -> float:
        """What a call takes on one core."""
        racing = [self._part(number) for number, waits in enumerate(self._waits) if not waits]
        return self.seconds_per_call * sum(racing) / len(racing) * (cores if self._is_measured else 1)

    def set_speed(self, seconds: float) -> None:
        """What a run takes on average, where that is not a call."""
        self._usual_slowness = seconds / (self.seconds_per_call / self._slowness)

    def timed(self, results: Iterator[T], expected: Sequence[float]) -> Iterator[T]:
        """The results, which were expected to take so many seconds each; how long they do is noted."""
        slowness = self._slowness
        for seconds in expected:
            start = time.perf_counter()
            try:
                result = next(results)
            except StopIteration:
                return
            took = time.perf_counter() - start
            counted = sorted([(took, seconds / slowness), self._longest])
            # The longest of all does not count: it may have started processes.
            self._longest = counted[1]
            self._measured += counted[0][0]
            self._expected += counted[0][1]
            yield result

    def add_calls(self, calls: int) -> None:
        """Calls that were made besides, to time the mechanism."""
        self._calls += calls

    def _beyond_the_usual(self, request: Request) -> list[PairSource]:
        """Levels at which answers vary, program analysis, and evolution after them."""
        datasets = []
        if request.inputs is not None:
            datasets = datasets_of(request.adjacency, request.inputs, self.settings.seed)
        affordable = ANALYSIS_CALLS * self.seconds_per_call <= ANALYSIS * self.clock.limit
        if self.costs_calls and not self.clock.choose("sources that call", 1, lambda: int(affordable)):
            return []
        lifted = any(sampler.shares_noise for sampler in self.samplers)
        part, least = EVOLVED_LIFTED if lifted else EVOLVED_CALLS
        space = SearchSpace(
            self.mechanism,
            request.adjacency,
            datasets,
            self.settings.lengths,
            request.claim.rough_epsilon,
            self.settings.seed,
            calls=max(self.settings.search_runs // part, least),
        )
        wanted = wanted_arguments(self.mechanism, *_known_and_domains(self._given))
        return [Levels(space), Analysed(space), Evolved(space, wanted=wanted)]

    def shorter(self, pair: Pair) -> Sampler | None:
        """The sampler of a shorter pair that may break the claim as this one does, if a source knows one."""
        known = (source.shorter(pair) for source in self._sources)
        found = next((short for short in known if short is not None), None)
        return None if found is None else self._sampled([found])[0]

    def more(self, seen: Sequence[Seen] = ()) -> list[Sampler]:
        """The samplers of what the sources propose next, which join the others."""
        bare: list[Pair] = []
        for source in self._sources:
            proposed = source.propose(seen)
            bare += proposed
            if (line := source.told()) not in self._told:
                self._told.add(line)
                self._report(Progress("pairs", 0, 0, told=line))
            if seen and proposed:
                # Later sources wait: what these show may make them needless.
                break
        return self._sampled(bare) if bare else []

    def _sampled(self, bare: Sequence[Pair]) -> list[Sampler]:
        """The samplers of some pairs, which join the others: complete with arguments, and tried out."""
        if _wants_arrays(self.mechanism):
            bare = [_as_arrays(pair) for pair in bare]
        # Sources that know the arguments give them along.
        asked = [pair for pair in bare if not pair.arguments]
        filled, notes, calls = complete(self.mechanism, asked, self._given, self.settings, self._report)
        filled += [pair for pair in bare if pair.arguments]
        trial = [as_written(self.mechanism, pair, self.settings.on_error) for pair in filled]
        first = len(self.samplers)
        tried, trials, took, alike = _trial(
            trial,
            first,
            own_data=self._own_data,
            settings=self.settings,
            notes=notes,
            clock=self.clock,
            report=self._report,
        )
        before = self._choose.calls
        fresh = self._fastest([one.pair for one in tried], first, notes, took)
        alone = [sampler.costs_calls for sampler in fresh]
        fresh = [one.by_plain_calls() if calls else one for one, calls in zip(fresh, alone, strict=True)]
        self.samplers += fresh
        self._alike += alike
        if any(alone) and not all(alone):
            some = f"{sum(alone)} of {len(alone)} pairs"
            notes.append(f"Every run on {some} was one call: most runs take paths of their own there.")
        self._rank_by_speed(took)
        self.notes += [note for note in notes if note not in self.notes]
        # What lifts are called later is counted where they run.
        self._calls += calls + trials + self._choose.calls - before
        return fresh

    def _rank_by_speed(self, took: Sequence[float]) -> None:
        """Which of the latest pairs are so slow that they wait; where every run is a call, that matters."""
        self._seconds += took
        quick = sorted(self._seconds)[len(self._seconds) // 4]
        for seconds in took:
            slow = self.costs_calls and math.isfinite(self.clock.limit) and seconds > max(SLOW * quick, SLOW_CALL)
            self._waits.append(bool(self.clock.choose("pair waits", 0, partial(int, slow))))

    def _fastest(self, pairs: Sequence[Pair], first: int, notes: list[str], took: Sequence[float]) -> list[Sampler]:
        proof = PROOF_CALLS * min(took, default=0.0)
        if not self.clock.choose("lifts", 1, lambda: int(proof <= PROOF * self.clock.limit)):
            if self.settings.lift:
                notes.append("Every run was one call: calls are so slow that there is no time to prove a lift.")
            return [as_written(self.mechanism, pair, self.settings.on_error) for pair in pairs]
        chosen = [
            self._choose.of(pair, child(self.settings.seed, PROOF_STREAM, first + number))
            for number, pair in enumerate(pairs)
        ]
        refusals = sorted((refusal for _, refusal in chosen if refusal is not None), key=lambda one: not one.wrong)
        if refusals:
            notes.append(f"Every run was one call, for the function cannot be lifted: {refusals[0]}")
        # A lift that is wrong on one input is not to be trusted on another.
        wrong = any(refusal.wrong for refusal in refusals)
        return [sampler.by_plain_calls() if wrong else sampler for sampler, _ in chosen]


def _wants_arrays(mechanism: Mechanism) -> bool:
    annotation = mechanism.data_annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return "ndarray" in text or "NDArray" in text


def _as_arrays(pair: Pair) -> Pair:
    """Lists of numbers as arrays; what is something else already stays what it is."""
    if not all(isinstance(data, list | tuple) for data in (pair.d1, pair.d2)):
        return pair
    try:
        return replace(pair, d1=np.asarray(pair.d1, dtype=float), d2=np.asarray(pair.d2, dtype=float))
    except (TypeError, ValueError):  # records of another kind
        return pair


def _trial(
    samplers: list[PlainSampler],
    first: int,
    *,
    own_data: bool,
    settings: Settings,
    notes: list[str],
    clock: Clock,
    report: Callable[[Progress], None],
) -> tuple[list[PlainSampler], int, list[float], list[bool]]:
    """Run every pair a few times: a mechanism that always fails is an error, not an output.

    Returns the pairs, how many runs it took, what a call took on each, and whether all its runs released the same.
    Where calls are slow, runs are fewer; when the time for trials is up, the pairs that are left are left out.
    """
    calls = cut = 0

    def try_out(samplers: Sequence[PlainSampler]) -> tuple[list[PlainSampler], list[Runs], list[float]]:
        nonlocal calls, cut
        kept, tried, took, more = [], [], [], TRIAL_RUNS - 2
        spent, allowed = 0.0, TRIALS * clock.limit / max(len(samplers), 1)

        def timed(sampler: PlainSampler, runs: int, seeds: np.random.SeedSequence) -> tuple[Runs, float]:
            nonlocal calls, spent
            start = time.perf_counter()
            made = sampler.run(runs, runs, seeds)
            seconds = time.perf_counter() - start
            calls, spent = calls + 2 * runs, spent + seconds
            return made, seconds / runs

        def late() -> bool:
            return spent > ALL_TRIALS * clock.limit

        for number, sampler in clock.cut("pairs", enumerate(samplers), late):
            cut = number + 1
            seeds = child(settings.seed, TRIAL_STREAM, first + number)
            try:
                # A first call may load a library, and a machine may be busy with something else for a moment. Two are
                # made in any case: calls are counted, and a result must not depend on the machine.
                _, once = timed(sampler, 1, child(settings.seed, TRIAL_STREAM, first + number))
                runs, again = timed(sampler, 1, seeds)
                once = min(once, again)
            except BeyondBoundsError as error:
                if not sampler.pair.outside:
                    raise
                notes.append(f"A pair beyond your inputs was left out: {error}.")
                continue
            fitting = int(min(allowed / max(once, 1e-9), TRIAL_RUNS)) - 2
            more = clock.choose("trial runs", more, partial(max, fitting, 0))
            if more:
                runs, once = timed(sampler, more, seeds)
            kept.append(sampler)
            tried.append(runs)
            took.append(once / 2)
            if clock.spent > SILENCE:
                report(Progress("trials", 2 * (2 + more) * cut, 2 * (2 + more) * len(samplers)))
        return kept, tried, took

    asked = len(samplers)
    given = samplers
    samplers, tried, took = try_out(given)
    if _all_failed(tried) and first == 0 and not own_data and isinstance(samplers[0].pair.d1, list):
        # A mechanism that calls queries.sum() wants arrays, and fails on every list.
        numeric = _numeric(samplers[0].pair)
        arrays = [replace(one, pair=_as_arrays(one.pair)) for one in given] if numeric else given
        arrays, again, seconds = try_out(arrays)
        if not _all_failed(again):
            notes.append("The mechanism fails on lists, so the inputs are NumPy arrays.")
            samplers, tried, took = arrays, again, seconds
    if _all_failed(tried) and first == 0:
        _explain_failure(samplers[0], settings)
    labels = {g.shape.label for g in _groups(tried) if not g.shape.error}
    if len(labels) > 1:
        notes.append(f"The type of the output differs from run to run: {', '.join(sorted(labels))}.")
    if cut < asked:
        notes.append(
            f"Calls are slow: of {asked} pairs, {cut} were tried. For all of them, say time_limit=inf "
            "(--time-limit inf)."
        )
    return samplers, calls, took, [nearly_all(runs.first, runs.second) != "" for runs in tried]


def _numeric(pair: Pair) -> bool:
    return all(isinstance(item, (int, float)) for item in [*pair.d1, *pair.d2])


def _groups(tried: list[Runs]) -> list[Group]:
    return [group for runs in tried for side in (runs.first, runs.second) for group in side.groups]


def _all_failed(tried: list[Runs]) -> bool:
    return all(group.shape.error for group in _groups(tried))


def _explain_failure(sampler: PlainSampler, settings: Settings) -> None:
    name = sampler.mechanism.name
    try:
        replace(sampler, on_error="raise").run(1, 1, child(settings.seed, TRIAL_STREAM, 0))
    except MechanismError as error:
        raise MechanismError(f"{name}() failed on every trial run, so nothing can be tested: {error}") from error
    raise MechanismError(f"{name}() failed on nearly every trial run: its outputs cannot be tested")


def given_arguments(mechanism: Mechanism, claim: Claim, args: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the user gave, and the claim's own numbers for the parameters that are called like them."""
    given = _check_arguments(mechanism, args)
    return {**given, **_from_claim(mechanism, claim, given)}


def _from_claim(mechanism: Mechanism, claim: Claim, given: Mapping[str, Any]) -> dict[str, Any]:
    """The claim's own numbers, for the parameters of the mechanism that are called like them."""
    names = {option.name: option.name for option in mechanism.options if option.required}
    if mechanism.epsilon is not None:
        names["epsilon"] = mechanism.epsilon
    missing = [name for name in names if name in ("delta", "rho", "mu") and name not in given]
    lacking = [name for name in missing if getattr(claim, name, None) is None]
    if lacking:
        raise UsageError(
            f"{mechanism.name}() needs '{lacking[0]}', which the claim {claim} does not have: "
            f'give it with args={{"{lacking[0]}": ...}}, or a claim that has it'
        )
    bound = getattr(mechanism.function, "keywords", {}) if isinstance(mechanism.function, functools.partial) else {}
    found = {}
    for number in ("epsilon", *CLAIMED_NUMBERS):
        name, value = names.get(number), getattr(claim, number, None)
        if name is not None and name not in given and value is not None:
            if bound.get(name, value) != value:
                raise UsageError(
                    f"functools.partial binds {name}={bound[name]!r}, and the claim says {value!r}: "
                    f'claim what is bound, or say which is meant with args={{"{name}": ...}}'
                )
            found[name] = value
    return found


def _check_arguments(mechanism: Mechanism, args: Mapping[str, Any] | None) -> dict[str, Any]:
    if args is None:
        return {}
    if not isinstance(args, Mapping):
        raise UsageError(f'args={args!r} must be a dict of argument names to values, such as {{"threshold": 1}}')
    names = [option.name for option in mechanism.options]
    if mechanism.epsilon is not None:
        names.append(mechanism.epsilon)
    for name in args:
        if name not in names and not mechanism.open:
            known = f"it takes {', '.join(names)}" if names else "it takes no arguments beside its data"
            raise UsageError(f"args has '{name}', which {mechanism.name}() does not take: {known}")
    return dict(args)


def complete(
    mechanism: Mechanism,
    pairs: Sequence[Pair],
    given: Mapping[str, Any],
    settings: Settings,
    report: Callable[[Progress], None],
) -> tuple[list[Pair], list[str], int]:
    """Every pair with all its arguments, notes on them, and how often the mechanism was called for that.

    Pairs that gain from quieter arguments come twice.

    Symbolic execution prefers diverging branches to small noise. Where that made it accept more noise than another
    pair needs, the pair is also tried with the quiet value: which of the two shows a violation better is for the
    runs to tell.
    """
    if not pairs:
        return [], [], 0
    known, domains = _known_and_domains(given)
    missing = [o.name for o in mechanism.options if o.required and o.name not in known]
    if not missing and not domains:
        return [replace(pair, arguments=dict(known)) for pair in pairs], [], 0
    limits = Limits(units=min(Limits().units, SOLVER_UNITS // len(pairs)))
    tasks = [
        Task(
            find_arguments, (mechanism, pair.d1, pair.d2, known, domains, limits), f"{mechanism.name}() symbolically"
        )
        for pair in pairs
    ]
    found: list[FoundArguments] = []
    for one in pool_for(settings, costs_calls=False).run(tasks):
        found.append(one)
        report(Progress("arguments", len(found), len(tasks), one.why))
    completed = [_with(pair, known, one) for pair, one in zip(pairs, found, strict=True)]
    _require_own_noise(mechanism, known, frozenset().union(*(one.scaling for one in found)))
    quieter, calls = _quieter(mechanism, pairs, found, known, domains, limits)
    notes = dict.fromkeys(note for one in found for note in one.notes)
    return [*completed, *quieter], list(notes), calls + sum(one.calls for one in found)


def _known_and_domains(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is given with a value, and what with a domain."""
    domains = {name: value for name, value in given.items() if isinstance(value, Between | OneOf)}
    return {name: value for name, value in given.items() if name not in domains}, domains


def _require_own_noise(mechanism: Mechanism, known: Mapping[str, Any], scaling: frozenset[str]) -> None:
    """Refuse to choose how much noise there is, where neither the claim nor the user has a say in it."""
    reached = any(name in known for name in (mechanism.epsilon, *CLAIMED_NUMBERS))
    chosen = [name for name in scaling if not reached or name in NOISE_NAMES]
    if chosen:
        name = min(chosen)
        raise UsageError(
            f"the claim does not say what '{name}' is, which decides the noise of {mechanism.name}(): give it with "
            f'args={{"{name}": ...}}, or say epsilon_name="{name}" if it is ε'
        )


def _with(pair: Pair, known: Mapping[str, Any], found: FoundArguments) -> Pair:
    return replace(pair, arguments={**known, **found.arguments}, why=found.why)


def _quieter(
    mechanism: Mechanism,
    pairs: Sequence[Pair],
    found: Sequence[FoundArguments],
    known: Mapping[str, Any],
    domains: Mapping[str, Any],
    limits: Limits,
) -> tuple[list[Pair], int]:
    quietest = min(sum(one.scales) for one in found)
    extra: list[Pair] = []
    calls = 0
    for pair, one in zip(pairs, found, strict=True):
        if sum(one.scales) > quietest * (1 + 1e-9):
            again = find_arguments(mechanism, pair.d1, pair.d2, known, domains, limits, prefer="noise")
            calls += again.calls
            if again.arguments != one.arguments:
                extra.append(_with(pair, known, again))
    return extra, calls
