"""The sampler of lifted runs: samples and counted hits of one input, or of two on the same noise."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.model import importance
from refutedp.model.mechanism import Mechanism
from refutedp.model.outputs import Array, Outputs, join
from refutedp.model.records import Counts, Event, Feature, Pair
from refutedp.model.settings import OnError
from refutedp.sampling.lifted.collect import group_of, quick_key, row_of
from refutedp.sampling.lifted.execution import CannotLift
from refutedp.sampling.lifted.lift import Lift, watching
from refutedp.sampling.lifted.noise.importance_noise import AvoidingNoise, ImportanceNoise, NoiseRegion, Plan
from refutedp.sampling.lifted.noise.shared_noise import CommonNoise, NoiseInCommon, NoisePlace, SharedNoise
from refutedp.sampling.sampler import PlainSampler, Runs, Sampler

Lifts: TypeAlias = tuple[Lift, Lift]
Hits: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Known: TypeAlias = dict[Any, list[bool]]
"""Whether an output lies in each of the events."""

PROOF_RUNS = 24
"""Runs of a lift replayed on either input before it is trusted; unproven paths are replayed as they turn up."""


class LiftedSampler(Sampler):
    """Runs by the thousand; a chunk that cannot be lifted is made by plain calls, or none, if it is to be evidence.

    Each chunk decides for itself: a remembered refusal would make results depend on who ran what.
    """

    chunk = 100_000
    shares_noise = True

    def __init__(
        self,
        mechanism: Mechanism,
        pair: Pair,
        on_error: OnError = "output",
        *,
        strict: bool = False,
        exact: bool = False,
        lifts: Lifts | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.pair = pair
        self._on_error = on_error
        self._strict = strict
        self._exact = exact
        self._lifts = lifts
        self._numbers = (0, 1) if lifts is None else (lifts[0].number, lifts[1].number)

    @property
    def lifts(self) -> Lifts:
        """The lift on either input, kept for the life of the sampler, for it remembers which paths it has proven."""
        if self._lifts is None:
            first, second = (
                Lift(self.mechanism, data, self.pair.arguments, exact=self._exact, number=number)
                for data, number in zip((self.pair.d1, self.pair.d2), self._numbers, strict=True)
            )
            self._lifts = first, second
        return self._lifts

    @property
    def scattered(self) -> bool:
        """Whether most runs take paths of their own, so that they are made one call at a time."""
        return any(lift.scattered for lift in self.lifts)

    @property
    def costs_calls(self) -> bool:
        """Where most runs take paths of their own, or a lift is refused at last."""
        try:
            return self.scattered
        except CannotLift:
            return True

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lifts": None}

    def prove(self, seeds: np.random.SeedSequence) -> None:
        """Replay lifted runs on both inputs; raises `CannotLift` unless all are equal."""
        for lift, child in zip(self.lifts, seeds.spawn(2), strict=True):
            if not lift.proven:
                lift.prove(np.random.default_rng(child), PROOF_RUNS)

    def for_evidence(self, *, exact: bool) -> LiftedSampler:
        """Refuses to make some runs by plain calls."""
        lifts = self._lifts if exact == self._exact else None
        return LiftedSampler(self.mechanism, self.pair, self._on_error, strict=True, exact=exact, lifts=lifts)

    def by_plain_calls(self) -> PlainSampler:
        """Every run a call of the function itself."""
        return PlainSampler(self.mechanism, self.pair, self._on_error)

    def swapped(self) -> LiftedSampler:
        """With the same lifts."""
        lifts = None if self._lifts is None else self._lifts[::-1]
        pair = self.pair.swapped()
        return LiftedSampler(
            self.mechanism, pair, self._on_error, strict=self._strict, exact=self._exact, lifts=lifts
        )

    def run(self, n1: int, n2: int, seeds: np.random.SeedSequence) -> Runs:
        """Independent runs, lifted where they can be."""
        try:
            first, second = (
                lift.sample(n, np.random.default_rng(child))
                for lift, n, child in zip(self.lifts, (n1, n2), seeds.spawn(2), strict=True)
            )
            return Runs(first, second)
        except CannotLift:
            if self._strict:
                raise
            return self.by_plain_calls().run(n1, n2, seeds)

    def _look(self, n: int, seeds: np.random.SeedSequence, common: tuple[CommonNoise, int] | None) -> Runs:
        """Noise is drawn once for both sides, and shared with other pairs if it is common."""
        try:
            return Runs(*sample_paired(self.lifts, n, np.random.default_rng(seeds), common))
        except CannotLift:
            return self.run(n, n, seeds)

    def paired(self, events: tuple[Event, ...], pairs: int, seeds: np.random.SeedSequence) -> tuple[Counts, ...]:
        """Pairs on the same noise."""
        noise, independent, order = seeds.spawn(3)
        try:
            if not self.scattered:
                hits = hit_paired(self.lifts, events, pairs, np.random.default_rng(noise))
                return tuple(Counts(x, y, pairs, pairs, both=both) for x, y, both in hits)
        except CannotLift:
            if self._strict:
                raise
        return self._put_in_pairs(events, pairs, independent, np.random.default_rng(order))

    def weighted(
        self, event: Event, plan: Plan, pairs: int, seeds: np.random.SeedSequence
    ) -> importance.WeightedHits:
        """`pairs` runs on either side on the same noise, drawn by a plan; raises `CannotLift`."""
        rng = np.random.default_rng(seeds)
        found = importance.no_hits(plan.plain)
        with watching(*self.lifts):
            for _, size in _chunks(pairs, min(lift.chunk for lift in self.lifts)):
                noise = ImportanceNoise(size, plan, rng)
                first, second = plain_hits(self.lifts, event, noise, rng)
                found += importance.weigh_hits(noise.weights, first, second, plan.plain)
        return found

    def unpaired(
        self, event: Event, plan: UnpairedPlan, runs: int, seeds: np.random.SeedSequence
    ) -> importance.UnpairedHits:
        """`runs` runs in all, each on one side and drawn there by a plan; raises `CannotLift`."""
        rng = np.random.default_rng(seeds)
        first, second = self.lifts
        one = int(rng.binomial(runs, plan.share))
        plain = plan.towards.plain
        found = importance.no_runs(plain)
        with watching(first, second):
            for _, size in _chunks(one, first.chunk):
                towards = ImportanceNoise(size, plan.towards, rng)
                # The weights are known once the runs have drawn.
                (hits,) = _hits(first, (event,), towards, rng, {})
                found += importance.weigh_first(towards.weights, hits, plain)
            for _, size in _chunks(runs - one, second.chunk):
                avoiding = AvoidingNoise(size, plan.away, rng)
                (hits,) = _hits(second, (event,), avoiding, rng, {})
                found += importance.weigh_second(avoiding.weights, hits, plain)
        return found

    def _hits(
        self, events: tuple[Event, ...], sizes: tuple[int, int], seeds: np.random.SeedSequence
    ) -> list[tuple[int, int]]:
        """Runs are counted as they are made."""
        try:
            if not self.scattered:
                x, y = (
                    hit_alone(lift, events, n, np.random.default_rng(child))
                    for lift, n, child in zip(self.lifts, sizes, seeds.spawn(2), strict=True)
                )
                return list(zip(x, y, strict=True))
        except CannotLift:
            if self._strict:
                raise
            return self.by_plain_calls()._hits(events, sizes, seeds)
        return super()._hits(events, sizes, seeds)


class KnownLifts:
    """One lift for each input and arguments: inputs that pairs have in common need not be proven for each of them.

    >>> from refutedp.model.mechanism import describe
    >>> def count(data, rng):
    ...     return len(data) + rng.laplace()
    >>> known, mechanism = KnownLifts(), describe(count)
    >>> known.lift(mechanism, [1, 2], {}) is known.lift(mechanism, [1, 2], {})
    True
    >>> known.lift(mechanism, [1, 2], {}) is known.lift(mechanism, [1, 2.0], {})
    False
    """

    def __init__(self) -> None:
        self._lifts: dict[object, Lift] = {}

    @property
    def calls(self) -> int:
        """How many runs all proofs took, and how many plain calls."""
        return sum(lift.proof_runs + lift.plain.calls for lift in self._lifts.values())

    def lift(self, mechanism: Mechanism, data: Any, arguments: Mapping[str, Any]) -> Lift:
        """The lift on this input, made when it is first asked for; raises CannotLift."""
        key = _content(data, arguments) or object()
        if key not in self._lifts:
            self._lifts[key] = Lift(mechanism, data, arguments, number=len(self._lifts))
        return self._lifts[key]


def _content(data: Any, arguments: Mapping[str, Any]) -> bytes | None:
    """What tells an input from others: its types and values; None when it cannot be written down."""
    try:
        return pickle.dumps((data, dict(arguments)))
    except Exception:  # whatever an input's own way of being pickled raises
        return None


@dataclass(frozen=True, slots=True)
class UnpairedPlan:
    """Each run is of d1 with probability `share`, its noise drawn by a plan; else of d2, away from a region."""

    towards: Plan
    away: NoiseRegion
    share: float


def _chunks(n: int, most: int) -> Iterator[tuple[int, int]]:
    """Where chunks of at most so many runs start, and how many are in each."""
    return ((start, min(most, n - start)) for start in range(0, n, most))


def sample_paired(
    lifts: Lifts, n: int, rng: np.random.Generator, common: tuple[CommonNoise, int] | None = None
) -> tuple[Outputs, Outputs]:
    """`n` runs of either lift on the same noise, which may be a chunk of what other pairs have; raises CannotLift."""
    made: list[list[Outputs]] = []
    with watching(*lifts):
        for start, size in _chunks(n, min(lift.chunk for lift in lifts)):
            if common is None:
                alone = SharedNoise(size)
                made.append([lift.sample(size, rng, alone) for lift in lifts])
            else:
                noise = NoiseInCommon(common[0], NoisePlace(common[1], start, size))
                made.append([noise.outputs(lift) for lift in lifts])
    return join([first for first, _ in made]), join([second for _, second in made])


def hit_paired(lifts: Lifts, events: Sequence[Event], n: int, rng: np.random.Generator) -> list[tuple[int, int, int]]:
    """Hits of each event on the first input, on the second, and on both, in `n` pairs of runs; raises CannotLift."""
    totals = np.zeros((len(events), 3), dtype=np.int64)
    known: Known = {}
    with watching(*lifts):
        for _, size in _chunks(n, min(lift.stretch for lift in lifts)):
            noise = SharedNoise(size)
            first, second = (_hits(lift, events, noise, rng, known) for lift in lifts)
            for total, x, y in zip(totals, first, second, strict=True):
                total += [np.count_nonzero(hits) for hits in (x, y, x & y)]
    return [(int(x), int(y), int(both)) for x, y, both in totals]


def hit_alone(lift: Lift, events: Sequence[Event], n: int, rng: np.random.Generator) -> list[int]:
    """Hits of each event in `n` runs; raises CannotLift."""
    totals = [0] * len(events)
    known: Known = {}

    def see(_: Array | None, output: Any, runs: int, __: Any) -> None:
        for number, mask in enumerate(masks_of(output, runs, events, known)):
            totals[number] += int(np.count_nonzero(mask)) if isinstance(mask, np.ndarray) else runs * bool(mask)

    with watching(lift):
        for _, size in _chunks(n, lift.stretch):
            lift.visit(rng, size, see)
    return totals


def plain_hits(lifts: Lifts, event: Event, noise: SharedNoise, rng: np.random.Generator) -> list[Hits]:
    """Which pairs of runs on this noise lie in the event, on either side."""
    known: Known = {}
    return [np.asarray(_hits(lift, (event,), noise, rng, known)[0]) for lift in lifts]


def values_on(lifts: Lifts, feature: Feature, noise: SharedNoise, rng: np.random.Generator) -> list[Floats]:
    """A feature of the outputs of either side, run by run; nan where it is no number."""
    sides = []
    for lift in lifts:
        values = np.full(noise.n, np.nan)

        def see(ids: Array | None, output: Any, n: int, _: Any, values: Floats = values) -> None:
            column = feature.column(group_of(output, n) or row_of(output))
            if column is not None and np.asarray(column).dtype.kind in "if":
                values[slice(None) if ids is None else ids] = column

        lift.visit(rng, noise.n, see, noise)
        sides.append(values)
    return sides


def _hits(lift: Lift, events: Sequence[Event], noise: SharedNoise, rng: np.random.Generator, known: Known) -> Hits:
    """Which runs lie in which event; what is known of outputs that whole paths have in common is added to `known`."""
    hits = np.zeros((len(events), noise.n), dtype=np.bool_)

    def see(ids: Array | None, output: Any, n: int, _: Any) -> None:
        where = slice(None) if ids is None else ids
        for number, mask in enumerate(masks_of(output, n, events, known)):
            if mask is not False:
                hits[number, where] = mask

    lift.visit(rng, noise.n, see, noise)
    return hits


def masks_of(output: Any, n: int, events: Sequence[Event], known: Known) -> Sequence[Any]:
    """Which of the `n` runs of a part lie in each event, or whether all or none do."""
    group = group_of(output, n)
    if group is not None:
        columns: dict[Any, Any] = {}
        return [event.mask(group, columns) for event in events]
    key = quick_key(output)
    found = None if key is None else known.get(key)
    if found is None:
        row = row_of(output)
        found = [bool(np.any(event.mask(row))) for event in events]
        if key is not None:
            known[key] = found
    return found
