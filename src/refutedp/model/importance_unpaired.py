"""Hits of importance-sampled runs that are each of one side only: what passes from sampling to the test.

See `sampling.lifted.noise.unpaired` for such runs, and `hypothesis.betting.unpaired_bets` for what is done with them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.model.importance import BINS, STEP, upper_ends, weight_bins
from refutedp.model.records import Counts

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class UnpairedHits:
    """Importance-sampled runs that are each of one side only: `n_x` on d1, `n_y` on d2.

    `table` holds the hits on d1 by their weights, in the bins of `weights`. Of the runs on d2, `y` are hits;
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
        middles = upper_ends(self.plain) * math.exp(-STEP / 2)
        p1 = float(self.table @ middles) / max(self.n_x, 1)
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
