"""Run a mechanism on the two inputs of a pair, in the fastest way that gives the same distribution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from refutedp.model.datasets import one_line
from refutedp.model.mechanism import Mechanism
from refutedp.model.outputs import Outputs, join
from refutedp.model.records import Counts, Event, Pair, count_hits
from refutedp.sampling.plain import OnError, run_plain

if TYPE_CHECKING:
    from refutedp.model.importance import UnpairedHits, WeightedHits
    from refutedp.sampling.lifted import CannotLift, CommonNoise, KnownLifts, Lift
    from refutedp.sampling.lifted.noise.importance_noise import Plan
    from refutedp.sampling.lifted.noise.unpaired import UnpairedPlan

Way: TypeAlias = Literal["lifted", "batched", "scalar"]

CHUNK: dict[Way, int] = {"lifted": 100_000, "batched": 100_000, "scalar": 5_000}
"""Runs a side in one chunk: fixed, for the chunks decide the seeds, and with them the result."""


PROOF_RUNS = 24
"""Runs of a lift replayed on either input before it is trusted; unproven paths are replayed as they turn up."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Outputs on both inputs; `fallback` says why a chunk could not be lifted, or is empty."""

    first: Outputs
    second: Outputs
    fallback: str = ""


@dataclass(frozen=True)
class Runner:
    """One mechanism on one pair, picklable, so that a chunk can run anywhere."""

    mechanism: Mechanism
    pair: Pair
    way: Way
    on_error: OnError = "output"
    strict: bool = False
    """Whether a chunk that cannot be lifted after all is an error; else it is made by plain calls."""
    exact: bool = False
    """Whether lifted noise has to be the generator's own to the last digit."""

    @property
    def what(self) -> str:
        """What is run on what, for errors."""
        return f"{self.mechanism.name}() on {one_line(self.pair.d1)} and {one_line(self.pair.d2)}"

    @property
    def length(self) -> int:
        """How many records d1 has."""
        try:
            return len(self.pair.d1)
        except TypeError:
            return 1

    def run(self, n1: int, n2: int, seeds: np.random.SeedSequence) -> Runs:
        """n1 runs on d1 and n2 on d2."""
        fallback = ""
        if self.way == "lifted":
            from refutedp.sampling.lifted import CannotLift

            try:
                first, second = (
                    lift.sample(n, np.random.default_rng(child))
                    for lift, n, child in zip(self.lifts, (n1, n2), seeds.spawn(2), strict=True)
                )
                return Runs(first, second)
            except CannotLift as refusal:
                if self.strict:
                    raise
                # Each chunk decides for itself: a remembered refusal would make results depend on who ran what.
                fallback = str(refusal)
        return self._plain(n1, n2, seeds, fallback)

    def _plain(self, n1: int, n2: int, seeds: np.random.SeedSequence, fallback: str = "") -> Runs:
        order = np.repeat(np.array([0, 1]), [n1, n2])
        shuffle, runs = seeds.spawn(2)
        np.random.default_rng(shuffle).shuffle(order)
        inputs = (self.pair.d1, self.pair.d2)
        first, second = run_plain(self.mechanism, inputs, self.pair.arguments, order, runs, self.on_error)
        return Runs(first, second, fallback)

    @cached_property
    def lifts(self) -> tuple[Lift, Lift]:
        """Kept for the life of the runner, for a lift remembers which paths it has proven."""
        from refutedp.sampling.lifted import Lift

        return tuple(  # type: ignore[return-value]
            Lift(self.mechanism, data, self.pair.arguments, exact=self.exact) for data in (self.pair.d1, self.pair.d2)
        )

    def made_strict(self, *, exact: bool) -> Runner:
        """The same runner, for runs that are to be evidence; `exact`, of an event that looks at last digits.

        To draw a chunk again because of what happened in it would leave a sample in which that happens too rarely.
        """
        other = replace(self, strict=True, exact=exact)
        if "lifts" in self.__dict__ and exact == self.exact:
            other.__dict__["lifts"] = self.lifts
        return other

    def called_plainly(self) -> Runner:
        """The same pair, every run a call of the function itself, unless the author wrote a batched one."""
        return self if self.way == "batched" else replace(self, way="scalar", strict=False, exact=False)

    def swapped(self) -> Runner:
        """The runner of the swapped pair."""
        other = replace(self, pair=self.pair.swapped())
        if "lifts" in self.__dict__:
            other.__dict__["lifts"] = self.lifts[::-1]
        return other

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "lifts"}

    def prove(self, seeds: np.random.SeedSequence) -> None:
        """Replay lifted runs on both inputs; raises `CannotLift` unless all are equal."""
        for lift, child in zip(self.lifts, seeds.spawn(2), strict=True):
            if not lift.proven:
                lift.prove(np.random.default_rng(child), PROOF_RUNS)

    def sample(self, n: int, seeds: np.random.SeedSequence, common: CommonNoise | None = None) -> Runs:
        """n runs on either side, chunk by chunk, to look at.

        Lifted runs draw their noise once for both sides, and share it with other pairs if it is `common`.
        """
        sizes = chunk_sizes(n, CHUNK[self.way])
        parts = zip(sizes, seeds.spawn(len(sizes)), strict=True)
        return _joined(
            [
                self._look(size, child, None if common is None else (common, number))
                for number, (size, child) in enumerate(parts)
            ]
        )

    def _look(self, n: int, seeds: np.random.SeedSequence, common: tuple[CommonNoise, int] | None) -> Runs:
        if self.way == "lifted":
            from refutedp.sampling.lifted import CannotLift, sample_paired

            try:
                return Runs(*sample_paired(self.lifts, n, np.random.default_rng(seeds), common))
            except CannotLift:
                pass  # `run` meets it too, and says so.
        return self.run(n, n, seeds)

    def paired(self, events: tuple[Event, ...], pairs: int, seeds: np.random.SeedSequence) -> tuple[Counts, ...]:
        """`pairs` runs on either side on the same noise, where they can be lifted; the hits of each event.

        Runs that are independent are pairs too, in any order that their outputs do not decide.
        """
        noise, unpaired, order = seeds.spawn(3)
        if self.way == "lifted":
            from refutedp.sampling.lifted import CannotLift, hit_paired

            try:
                if not any(lift.scattered for lift in self.lifts):
                    hits = hit_paired(self.lifts, events, pairs, np.random.default_rng(noise))
                    return tuple(Counts(x, y, pairs, pairs, both=both) for x, y, both in hits)
            except CannotLift:
                if self.strict:
                    raise
                # Each chunk decides for itself, as in `run`.
        done = self.run(pairs, pairs, unpaired)
        rng = np.random.default_rng(order)
        counts = []
        for event in events:
            x, y = count_hits(event, done.first), count_hits(event, done.second)
            counts.append(Counts(x, y, pairs, pairs, both=int(rng.hypergeometric(x, pairs - x, y))))
        return tuple(counts)

    def weighted(self, event: Event, plan: Plan, pairs: int, seeds: np.random.SeedSequence) -> WeightedHits:
        """`pairs` lifted runs on either side on the same noise, drawn by a plan; raises CannotLift."""
        from refutedp.sampling.lifted import hit_weighted

        return hit_weighted(self.lifts, event, plan, pairs, np.random.default_rng(seeds))

    def unpaired(self, event: Event, plan: UnpairedPlan, runs: int, seeds: np.random.SeedSequence) -> UnpairedHits:
        """`runs` lifted runs in all, each on one side and drawn there by a plan; raises CannotLift."""
        from refutedp.sampling.lifted import hit_unpaired

        return hit_unpaired(self.lifts, event, plan, runs, np.random.default_rng(seeds))

    def count(
        self, events: tuple[Event, ...], runs: int, share: float, seeds: np.random.SeedSequence
    ) -> tuple[Counts, ...]:
        """`runs` runs in all, each allocated to d1 with probability `share`, else to d2; the hits of each event."""
        allocation, rest = seeds.spawn(2)
        n1 = int(np.random.default_rng(allocation).binomial(runs, share))
        hits = self._hits(events, (n1, runs - n1), rest)
        return tuple(Counts(x, y, n1, runs - n1, share) for x, y in hits)

    def _hits(
        self, events: tuple[Event, ...], sizes: tuple[int, int], seeds: np.random.SeedSequence
    ) -> list[tuple[int, int]]:
        """The hits of each event on either side, in so many runs there; lifted runs are counted as they are made."""
        run: Callable[[int, int, np.random.SeedSequence], Runs] = self.run
        if self.way == "lifted":
            from refutedp.sampling.lifted import CannotLift, hit_alone

            try:
                if not any(lift.scattered for lift in self.lifts):
                    x, y = (
                        hit_alone(lift, events, n, np.random.default_rng(child))
                        for lift, n, child in zip(self.lifts, sizes, seeds.spawn(2), strict=True)
                    )
                    return list(zip(x, y, strict=True))
            except CannotLift:
                if self.strict:
                    raise
                run = self._plain  # Each chunk decides for itself, as in `run`.
        done = run(*sizes, seeds)
        return [(count_hits(event, done.first), count_hits(event, done.second)) for event in events]


def _joined(parts: Sequence[Runs]) -> Runs:
    """All runs of the parts as one."""
    return Runs(
        join([part.first for part in parts]),
        join([part.second for part in parts]),
        next((part.fallback for part in parts if part.fallback), ""),
    )


def chunk_sizes(n: int, chunk: int) -> list[int]:
    """n split into chunks, the last one smaller.

    >>> chunk_sizes(25, 10)
    [10, 10, 5]
    """
    return [min(chunk, n - start) for start in range(0, n, chunk)]


def fastest(
    mechanism: Mechanism,
    pair: Pair,
    on_error: OnError,
    seeds: np.random.SeedSequence,
    *,
    lift: bool,
    known: KnownLifts | None = None,
) -> tuple[Runner, CannotLift | None]:
    """The fastest runner that is proven to give the same distribution, and why it is not lifted, if it is not.

    Inputs whose lift is known from other pairs are not proven again.
    """
    if mechanism.batched:
        return Runner(mechanism, pair, "batched", on_error), None
    if not lift or on_error == "raise":
        # Lifted runs take exceptions as outputs; who wants to see the exception runs the plain function.
        return Runner(mechanism, pair, "scalar", on_error), None
    from refutedp.sampling.lifted import CannotLift

    lifted = Runner(mechanism, pair, "lifted", on_error)
    try:
        if known is not None:
            sides = (pair.d1, pair.d2)
            lifted.__dict__["lifts"] = tuple(known.lift(mechanism, data, pair.arguments) for data in sides)
        lifted.prove(seeds)
    except CannotLift as refusal:
        return Runner(mechanism, pair, "scalar", on_error), refusal
    return lifted, None
