"""Turns the request into runnable pairs: asks the sources, completes each pair, tries it, chooses its sampler."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from refutedp.detector.clock import Clock
from refutedp.detector.fill_arguments import complete, given_arguments, known_and_domains
from refutedp.detector.trials import as_arrays, try_out_pairs, wants_arrays
from refutedp.inputs.analysed import Analysed
from refutedp.inputs.arguments.problem import wanted_arguments
from refutedp.inputs.evolved import Evolved
from refutedp.inputs.given import datasets_of
from refutedp.inputs.levels import Levels
from refutedp.inputs.source import PairSource, SearchSpace, Seen, sources_for
from refutedp.model.adjacency import AddRemove, Adjacency, AnyTwo, Replace
from refutedp.model.claims import Claim
from refutedp.model.errors import UsageError
from refutedp.model.mechanism import Mechanism
from refutedp.model.records import Pair
from refutedp.model.settings import PROOF_STREAM, Progress, Settings, child
from refutedp.sampling.pool.tasks import pool_for
from refutedp.sampling.sampler import Sampler, Samplers, as_written

T = TypeVar("T")

ANALYSIS, PROOF = 0.15, 0.15
"""The part of the time for sources that call, and for the proof that one pair can be lifted."""
PROOF_CALLS = 200
"""About how many calls that proof takes."""
ANALYSIS_CALLS = 1_000
"""About how many calls those sources make at least."""
ENOUGH_TIMED = 1.0
"""Seconds of runs, by the trials, that say more of their speed than the trials do: to start processes takes long."""
SLOW, SLOW_CALL = 4.0, 1e-3
"""A pair waits if its calls take so many times what those of the quicker pairs do, and at least so many seconds."""
LIFTED_PART = 0.05
"""What a lifted run is thought to take of a call, until it is measured."""
EVOLVED_LIFTED, EVOLVED_CALLS = (8, 4_000), (50, 500)
"""Calls for evolution: one for so many search runs, and at least so many; fewer where every run is a call."""


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
        wanted = wanted_arguments(self.mechanism, *known_and_domains(self._given))
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
        if wants_arrays(self.mechanism):
            bare = [as_arrays(pair) for pair in bare]
        # Sources that know the arguments give them along.
        asked = [pair for pair in bare if not pair.arguments]
        filled, notes, calls = complete(self.mechanism, asked, self._given, self.settings, self._report)
        filled += [pair for pair in bare if pair.arguments]
        trial = [as_written(self.mechanism, pair, self.settings.on_error) for pair in filled]
        first = len(self.samplers)
        tried, trials, took, alike = try_out_pairs(
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
