"""Run a mechanism on the two inputs of a pair, in the fastest way that gives the same distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from refutedp.mechanism import Mechanism
from refutedp.outputs import Outputs, merge
from refutedp.records import Counts, Event, Pair, count_hits
from refutedp.sampling.scalar import OnError, run_plain

Way: TypeAlias = Literal["lifted", "batched", "scalar"]

CHUNK: dict[Way, int] = {"lifted": 50_000, "batched": 50_000, "scalar": 5_000}
"""Runs a side in one chunk: fixed, for the chunks decide the seeds, and with them the result."""


@dataclass(frozen=True, slots=True)
class Runner:
    """One mechanism on one pair, picklable, so that a chunk can run anywhere."""

    mechanism: Mechanism
    pair: Pair
    way: Way
    on_error: OnError = "output"

    def run(self, n1: int, n2: int, seeds: np.random.SeedSequence) -> tuple[Outputs, Outputs]:
        """n1 runs on d1 and n2 on d2."""
        inputs = (self.pair.d1, self.pair.d2)
        order = np.repeat(np.array([0, 1]), [n1, n2])
        shuffle, runs = seeds.spawn(2)
        np.random.default_rng(shuffle).shuffle(order)
        first, second = run_plain(self.mechanism, inputs, self.pair.arguments, order, runs, self.on_error)
        return first, second

    def sample(self, n: int, seeds: np.random.SeedSequence) -> tuple[Outputs, Outputs]:
        """n runs on either side, chunk by chunk."""
        sizes = chunk_sizes(n, CHUNK[self.way])
        parts = [self.run(size, size, child) for size, child in zip(sizes, seeds.spawn(len(sizes)), strict=True)]
        return merge(first for first, _ in parts), merge(second for _, second in parts)

    def count(
        self, events: tuple[Event, ...], runs: int, share: float, seeds: np.random.SeedSequence
    ) -> tuple[Counts, ...]:
        """`runs` runs in all, each allocated to d1 with probability `share`, else to d2; the hits of each event."""
        allocation, rest = seeds.spawn(2)
        n1 = int(np.random.default_rng(allocation).binomial(runs, share))
        first, second = self.run(n1, runs - n1, rest)
        return tuple(
            Counts(count_hits(event, first), count_hits(event, second), n1, runs - n1, share) for event in events
        )


def chunk_sizes(n: int, chunk: int) -> list[int]:
    """n split into chunks, the last one smaller.

    >>> chunk_sizes(25, 10)
    [10, 10, 5]
    """
    return [min(chunk, n - start) for start in range(0, n, chunk)]


def choose_way(mechanism: Mechanism) -> Way:
    """How the mechanism is run."""
    return "batched" if mechanism.batched else "scalar"
