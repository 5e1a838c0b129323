"""The sampler of lifted runs, which can share noise between the two inputs, and draw it where an event happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from refutedp.model.mechanism import Mechanism
from refutedp.model.records import Counts, Event, Pair
from refutedp.model.settings import OnError
from refutedp.sampling.lifted.lift import Lift
from refutedp.sampling.lifted.noise.common_noise import CommonNoise
from refutedp.sampling.lifted.noise.paired_runs import hit_alone, hit_paired, hit_weighted, sample_paired
from refutedp.sampling.lifted.noise.unpaired import UnpairedPlan, hit_unpaired
from refutedp.sampling.lifted.refusal import CannotLift
from refutedp.sampling.sampler import PlainSampler, Runs, Sampler

if TYPE_CHECKING:
    from refutedp.model.importance import UnpairedHits, WeightedHits
    from refutedp.sampling.lifted.noise.importance_noise import Plan

PROOF_RUNS = 24
"""Runs of a lift replayed on either input before it is trusted; unproven paths are replayed as they turn up."""

Lifts: TypeAlias = tuple[Lift, Lift]


class LiftedSampler(Sampler):
    """Runs by the thousand; a chunk that cannot be lifted is made by plain calls, or none, if it is to be evidence.

    Each chunk decides for itself: a remembered refusal would make results depend on who ran what.
    """

    chunk = 100_000
    costs_calls = False
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

    @property
    def lifts(self) -> Lifts:
        """The lift on either input, kept for the life of the sampler, for it remembers which paths it has proven."""
        if self._lifts is None:
            first, second = (
                Lift(self.mechanism, data, self.pair.arguments, exact=self._exact)
                for data in (self.pair.d1, self.pair.d2)
            )
            self._lifts = first, second
        return self._lifts

    @property
    def scattered(self) -> bool:
        """Whether most runs take paths of their own, so that they are made one call at a time."""
        return any(lift.scattered for lift in self.lifts)

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

    def weighted(self, event: Event, plan: Plan, pairs: int, seeds: np.random.SeedSequence) -> WeightedHits:
        """`pairs` runs on either side on the same noise, drawn by a plan; raises `CannotLift`."""
        return hit_weighted(self.lifts, event, plan, pairs, np.random.default_rng(seeds))

    def unpaired(self, event: Event, plan: UnpairedPlan, runs: int, seeds: np.random.SeedSequence) -> UnpairedHits:
        """`runs` runs in all, each on one side and drawn there by a plan; raises `CannotLift`."""
        return hit_unpaired(self.lifts, event, plan, runs, np.random.default_rng(seeds))

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
