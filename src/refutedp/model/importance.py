"""Hits of importance-sampled runs, gathered by their weights: what passes from sampling to the tests.

Weights are gathered in bins, so that ten million pairs of runs take no more room than ten. See
`sampling.lifted.noise.importance_noise` for what a weight is, `sampling.lifted.lifted_sampler` for runs that are each
of one side only, and `hypothesis.betting.weighted` for what is done with them.
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
    def _means(self) -> list[float]:
        return [float(total) / max(self.pairs, 1) for total in self.table @ middles(self.plain)]

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
        n = max(self.pairs, 1)
        sums = (squares[0] + squares[1], squares[2] + squares[1])
        first, second = (max(float(s) / n - p**2, 0.0) for s, p in zip(sums, self.rates, strict=True))
        return math.sqrt(first / n), math.sqrt(second / n)

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
        weights = middles(self.plain)
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


@dataclass(frozen=True, slots=True)
class UnpairedHits:
    """Importance-sampled runs that are each of one side only: `n_x` on d1, `n_y` on d2.

    `table` holds the hits on d1 by their weights, in the same bins. Of the runs on d2, `y` are hits;
    `log_weights` is the sum over all of them, `weights` and `squares` the sums over those that miss.

    >>> first = weigh_first(np.array([0.5, 1.0]), np.array([True, False]), plain=0.8)
    >>> both = first + weigh_second(np.array([0.9, 0.9, 1.2]), np.array([False, False, True]), plain=0.8)
    >>> [round(rate, 3) for rate in both.rates], both.counts
    ([0.25, 0.4], Counts(x=1, y=1, n_x=2, n_y=3, share=0.5, both=None))
    """

    plain: float
    n_x: int
    table: Floats
    n_y: int
    y: float
    log_weights: float
    weights: float
    squares: float

    def __add__(self, other: UnpairedHits) -> UnpairedHits:
        names = ("n_x", "table", "n_y", "y", "log_weights", "weights", "squares")
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def rates(self) -> tuple[float, float]:
        """Estimates of P1 and P2: the latter by the misses, for hits that noise keeps away from are few and heavy."""
        p1 = float(self.table @ middles(self.plain)) / max(self.n_x, 1)
        return p1, max(1 - self.weights / self.n_y, 0.0) if self.n_y else 0.0

    @property
    def spreads(self) -> tuple[float, float]:
        """Standard errors of the two estimates."""
        n_x, n_y = max(self.n_x, 1), max(self.n_y, 1)
        first = float(self.table @ upper_ends(self.plain) ** 2) / n_x - self.rates[0] ** 2
        second = self.squares / n_y - (self.weights / n_y) ** 2
        return math.sqrt(max(first, 0.0) / n_x), math.sqrt(max(second, 0.0) / n_y)

    @property
    def runs(self) -> int:
        """Runs on both sides."""
        return self.n_x + self.n_y

    @property
    def counts(self) -> Counts:
        """Hits as they were drawn, without their weights."""
        return Counts(round(float(self.table.sum())), round(self.y), self.n_x, self.n_y)


def weigh_first(weights: Floats, hits: NDArray[np.bool_], plain: float, often: Floats | None = None) -> UnpairedHits:
    """Runs on d1, which hit or miss; each as often as said, or once."""
    bins = weight_bins(weights[hits], plain)
    table = np.bincount(bins, None if often is None else often[hits], BINS).astype(np.float64)
    return replace(no_runs(plain), n_x=len(weights), table=table)


def weigh_second(weights: Floats, hits: NDArray[np.bool_], plain: float, often: Floats | None = None) -> UnpairedHits:
    """The same on d2; `plain` is the part of the runs on d1 that is not importance-sampled."""
    missed = ~hits if often is None else ~hits * often
    return replace(
        no_runs(plain),
        n_y=len(weights),
        y=float((hits if often is None else hits * often).sum()),
        log_weights=float(np.log(weights).sum()),
        weights=float(missed @ weights),
        squares=float(missed @ weights**2),
    )


def no_runs(plain: float) -> UnpairedHits:
    """Before the first run."""
    return UnpairedHits(plain, 0, np.zeros(BINS), 0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class TailHits:
    """Hits of `n_x` runs on d1 and `n_y` on d2, each drawn within a part of the noise of its side.

    >>> (TailHits(3, 4, 1, 2) + TailHits(1, 1, 0, 0)).counts
    Counts(x=4, y=1, n_x=5, n_y=2, share=0.5, both=None)
    """

    x: int = 0
    n_x: int = 0
    y: int = 0
    n_y: int = 0

    @property
    def runs(self) -> int:
        """Runs on both sides."""
        return self.n_x + self.n_y

    @property
    def counts(self) -> Counts:
        """The same; they are no rates."""
        return Counts(self.x, self.y, self.n_x, self.n_y)

    def __add__(self, other: TailHits) -> TailHits:
        return TailHits(self.x + other.x, self.n_x + other.n_x, self.y + other.y, self.n_y + other.n_y)


def weight_bins(weights: Floats, plain: float) -> NDArray[np.int64]:
    """The bin of each weight."""
    return np.clip(np.floor(-np.log(weights * plain) / STEP + 1e-9), 0, BINS - 1).astype(np.int64)


def no_hits(plain: float) -> WeightedHits:
    """Before the first run."""
    return WeightedHits(0, plain, np.zeros((3, BINS)))


def lower_ends(ends: Floats, bins: NDArray[np.int64]) -> Floats:
    """The smallest weight in each of some bins, `ends` being the largest ones of all; nothing in the last."""
    return np.where(bins < BINS - 1, ends[np.minimum(bins + 1, BINS - 1)], 0.0)


def middles(plain: float) -> Floats:
    """The weight that each bin stands for."""
    return upper_ends(plain) * math.exp(-STEP / 2)


@functools.lru_cache(maxsize=32)
def upper_ends(plain: float) -> Floats:
    """The largest weight in each bin."""
    ends = np.asarray(np.exp(-STEP * np.arange(BINS)) / plain)
    ends.flags.writeable = False
    return ends
