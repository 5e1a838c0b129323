"""Hits of importance-sampled runs, gathered by their weights: what passes from sampling to the tests.

Weights are gathered in bins, so that ten million pairs of runs take no more room than ten. See
`sampling.lifted.noise.importance_noise` for what a weight is, and `hypothesis.betting.weighted` for what is done with
them.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.model.claims import Tangent
from refutedp.model.records import Counts

Floats: TypeAlias = NDArray[np.float64]

STEP, BINS = 0.001, 40_000


@dataclass(frozen=True, slots=True)
class WeightedHits:
    """Pairs by what happened (rows: on d1 only, on both, on d2 only) and by weight, of `pairs` in all.

    `plain` is the part of the runs that was not importance-sampled; bin k holds weights of about e^(-k / 1000) /
    plain.

    >>> hits = weigh_hits(np.array([1.0, 0.5]), np.array([True, True]), np.array([False, True]), plain=0.8)
    >>> [round(rate, 2) for rate in hits.rates]
    [0.75, 0.25]
    """

    pairs: int
    plain: float
    table: Floats

    def __add__(self, other: WeightedHits) -> WeightedHits:
        return replace(self, pairs=self.pairs + other.pairs, table=self.table + other.table)

    @property
    def rates(self) -> tuple[float, float]:
        """Estimates of P1 and P2."""
        only_x, both, only_y = self._means
        return only_x + both, only_y + both

    @property
    def both(self) -> float:
        """An estimate of how often the event happens on both sides of a pair."""
        return self._means[1]

    @property
    def _means(self) -> tuple[float, float, float]:
        sums = self.table @ (upper_ends(self.plain) * math.exp(-STEP / 2))
        only_x, both, only_y = (float(total) / max(self.pairs, 1) for total in sums)
        return only_x, both, only_y

    def scaled(self, pairs: int) -> WeightedHits:
        """As many pairs as asked for, if they were like these."""
        return replace(self, pairs=pairs, table=self.table * (pairs / max(self.pairs, 1)))

    @property
    def runs(self) -> int:
        """Runs on both sides."""
        return 2 * self.pairs

    @property
    def counts(self) -> Counts:
        """Hits as they were drawn, without their weights."""
        x, y, both = self.hits
        return Counts(x, y, self.pairs, self.pairs, both=both)

    @property
    def spreads(self) -> tuple[float, float]:
        """Standard errors of the two estimates."""
        squares = self.table @ (upper_ends(self.plain) ** 2)
        p1, p2 = self.rates
        n = max(self.pairs, 1)
        first, second = (float(squares[0] + squares[1]) / n, float(squares[2] + squares[1]) / n)
        return math.sqrt(max(first - p1**2, 0.0) / n), math.sqrt(max(second - p2**2, 0.0) / n)

    def error(self, line: Tangent) -> float:
        """The standard error of P1 - slope P2 as these pairs estimate it."""
        squares = self.table @ upper_ends(self.plain) ** 2
        payoffs = np.array([1.0, 1 - line.slope, -line.slope])
        p1, p2 = self.rates
        n = max(self.pairs, 1)
        return math.sqrt(max(float(squares @ payoffs**2) / n - (p1 - line.slope * p2) ** 2, 0.0) / n)

    def expected(self, plain: float) -> WeightedHits:
        """What as many pairs would show, on average, if another part of them were plain.

        >>> hits = weigh_hits(np.full(100, 0.5), np.ones(100, bool), np.zeros(100, bool), plain=0.2)
        >>> fewer = hits.expected(plain=0.9)
        >>> round(fewer.rates[0], 3), fewer.hits[0] < hits.hits[0]
        (0.5, True)
        """
        weights = upper_ends(self.plain) * math.exp(-STEP / 2)
        ratios = np.maximum(1 / weights - self.plain, 0.0) / (1 - self.plain)
        others = 1 / (plain + (1 - plain) * ratios)
        bins = weight_bins(others, plain)
        rows = [np.bincount(bins, row * weights / others, BINS) for row in self.table]
        return WeightedHits(self.pairs, plain, np.array(rows))

    @property
    def hits(self) -> tuple[int, int, int]:
        """Pairs of runs with the event on d1, on d2, and on both, without their weights."""
        only_x, both, only_y = (int(row.sum()) for row in self.table)
        return only_x + both, only_y + both, both


def weigh_hits(weights: Floats, first: NDArray[np.bool_], second: NDArray[np.bool_], plain: float) -> WeightedHits:
    """The table of a sample."""
    bins = weight_bins(weights, plain)
    rows = [np.bincount(bins[mask], minlength=BINS) for mask in (first & ~second, first & second, second & ~first)]
    return WeightedHits(len(weights), plain, np.array(rows, dtype=np.float64))


def weight_bins(weights: Floats, plain: float) -> NDArray[np.int64]:
    """The bin of each weight."""
    return np.clip(np.floor(-np.log(weights * plain) / STEP + 1e-9), 0, BINS - 1).astype(np.int64)


def no_hits(plain: float) -> WeightedHits:
    """Before the first run."""
    return WeightedHits(0, plain, np.zeros((3, BINS)))


def lower_ends(ends: Floats, bins: NDArray[np.int64]) -> Floats:
    """The smallest weight in each of some bins, `ends` being the largest ones of all; nothing in the last."""
    return np.where(bins < BINS - 1, ends[np.minimum(bins + 1, BINS - 1)], 0.0)


@functools.lru_cache(maxsize=32)
def upper_ends(plain: float) -> Floats:
    """The largest weight in each bin."""
    ends = np.asarray(np.exp(-STEP * np.arange(BINS)) / plain)
    ends.flags.writeable = False
    return ends
