"""Stop when the evidence suffices: e-processes, valid whenever one stops (Ville).

An e-process is at most 1 on average at every stopping time if the claim holds, so it ever reaches 1/alpha with
probability at most alpha. What it bets on may use the search runs; it is fixed before the first confirmation run.
Every process here depends on the totals alone, so the size of the batches is free.

`SPENT` of alpha goes to stopping early, the rest to the fixed-size test at the planned end of the budget: a blatant
bug is convicted after hundreds of runs, and a borderline one costs a few percent more than the fixed-size test.

Against a ratio, on randomly allocated runs: mixtures of Beta priors over the probability that a hit falls on the x
side, in closed form. Against a ratio, on paired runs: stakes on each pair.

Against P1 <= slope P2 + intercept: one fixed stake on every run. Let a run go to the x side with probability
`share`, and let (a, b) be a point of the line, a = slope b + intercept. The payoff (hit - a)/share on an x run and
-slope (hit - b)/(1 - share) on a y run has mean P1 - slope P2 - intercept, which the claim says is not positive. So
the product of 1 + stake payoff is a supermartingale for every stake >= 0 that keeps it positive, and so is a mixture
over stakes. With (a, b) the point of the line nearest to the truth, the best stake grows as fast as any e-process can
("Testing by betting", Shafer 2021; reverse information projection: "Safe Testing", Grünwald, de Heide & Koolen 2024).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from refutedp.model.claims import Tangent
from refutedp.model.claims.claim import bisected
from refutedp.model.records import Counts

SPENT = 0.25
"""The part of alpha for stopping early."""
FIRST_BATCH, FIRST_SOON = 500, 100
LARGEST_BATCH = 200_000
GROWTH = 0.5
SOON = 0.05
"""Where each run counts, batches start at `FIRST_SOON` and grow by `SOON`: they cost time, and stop sooner."""
ANYWAY = 1.0
"""Where all runs are made anyway, batches only say when it was decided, and double."""
_BROAD = ((0.6, 1.0), (0.25, 6.0))
"""Weights of the components near what search saw, and by how much each widens its uncertainty."""
_LEAST_SPREAD = 0.02
_MOST = 0.97
"""No stake risks more than this part of the wealth on one run, or on one pair."""
_AROUND = (0.5, 0.7, 0.85, 1.0, 1.15)
_SIZES = 24
_AROUND_PAIRED = (0.5, 0.75, 1.0, 1.25)
GRID = tuple(float(stake) for stake in _MOST * np.geomspace(1e-4, 1.0, 48))
"""Stakes of all sizes on paired runs."""


class Hits(Protocol):
    """Hits of some runs, which add up."""

    @property
    def runs(self) -> int:
        """Runs on both sides."""
        ...

    def __add__(self, other: Any) -> Self: ...


H = TypeVar("H", bound=Hits)
Parts: TypeAlias = tuple[float, ...]
Prior: TypeAlias = tuple[tuple[float, float, float], ...]
"""A mixture of Beta(a, b) distributions: rows of weight, a, b."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EProcess(ABC, Generic[H]):
    """Evidence that grows batch by batch; a frozen record, so `update` gives the next one.

    `log_peak` is the largest `log_e` after any batch so far; exp(-log_peak) is a p-value valid at any stop.
    """

    hits: H
    log_peak: float = 0.0

    @property
    @abstractmethod
    def log_e(self) -> float:
        """log of the e-value of all runs so far."""

    def update(self, batch: H) -> Self:
        """The evidence with one more batch of fresh runs."""
        after = replace(self, hits=self.hits + batch)
        return replace(after, log_peak=max(self.log_peak, after.log_e))

    def rejects(self, alpha: float) -> bool:
        """Whether the e-process has reached 1/alpha: the claim may be rejected, with false alarms at most alpha."""
        return self.log_peak >= -math.log(alpha)


def batches(
    total: int, first: int = FIRST_BATCH, largest: int = LARGEST_BATCH, growth: float = GROWTH
) -> Iterator[int]:
    """Sizes of the batches that make up `total` runs: each a part, `growth`, of what was run before, within limits.

    >>> list(batches(5000))
    [500, 500, 500, 750, 1124, 1626]
    """
    done = 0
    while done < total:
        # Even, for runs may come in pairs.
        size = min(max(first, 2 * int(done * growth / 2)), largest, total - done)
        # A last scrap of less than a batch joins the one before it.
        size = total - done if total - done - size < first else size
        yield size
        done += size


def early_alpha(alpha: float) -> float:
    """The level at which an e-process may stop before the planned end."""
    return SPENT * alpha


def log_p_any_time(process: EProcess[Any]) -> float:
    """log of a p-value valid at whatever moment one stops before the planned end."""
    return min(0.0, -process.log_peak - math.log(SPENT))


def log_p_at_the_end(process: EProcess[Any], fixed: float) -> float:
    """log of the p-value at the planned end: `fixed` is the log p-value of the fixed-size test on all the runs.

    Valid by the union bound: the e-process has `SPENT` of alpha and the fixed-size test the rest.
    """
    return min(log_p_any_time(process), fixed - math.log1p(-SPENT))


def bound_confidence(alpha: float, early: bool) -> float:
    """The confidence to ask of a lower bound: of the confidence sequence at an early stop, or of a bound at the end.

    The better of the two bounds is right with probability 1 - alpha.
    """
    return 1 - alpha * (SPENT if early else 1 - SPENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioProcess(EProcess[Counts]):
    """For P1 <= e^epsilon P2: each hit falls on the x side with probability at most q under the claim.

    E = (mixture of likelihoods) / (largest likelihood with a probability of at most q). Under any q' <= q it is at
    most mixture / likelihood(q'), a martingale: so E is an e-process for the whole claim, as in Robbins' mixtures.

    >>> process = RatioProcess(epsilon=0.5, prior=prior_for(math.log(4), 0.1, 0.5), hits=Counts(0, 0, 0, 0))
    >>> process.update(Counts(80, 20, 250, 250)).rejects(0.001)
    True
    """

    epsilon: float
    prior: Prior

    @property
    def log_e(self) -> float:
        """log of the e-value of all runs so far."""
        x, y = self.hits.x, self.hits.y
        if x + y == 0:
            return 0.0
        odds = math.exp(self.epsilon) * self.hits.share / (1 - self.hits.share)
        q = min(odds / (1 + odds), x / (x + y))
        return log_mixture(x, y, self.prior) - _log_likelihood(x, y, q)

    def epsilon_lower_bound(self, confidence: float) -> float:
        """A lower bound on log(P1/P2) that holds at every stop at once (a confidence sequence).

        The same mixture against every smaller probability; it exceeds the claim exactly when E reaches
        1/(1 - confidence) now. Minus infinity before the first hit on the x side.
        """
        q = lower_bound(self.hits.x, self.hits.y, self.prior, 1 - confidence)
        if q <= 0:
            return -math.inf
        return math.log(q) - math.log1p(-q) - math.log(self.hits.share / (1 - self.hits.share))


def prior_for(log_ratio: float, spread: float, share: float) -> Prior:
    """Mostly near the log ratio that search saw, give or take `spread`; the rest anywhere (Jeffreys).

    >>> [round(weight, 2) for weight, _, _ in prior_for(1.0, 0.1, 0.5)]
    [0.6, 0.25, 0.15]
    """
    r = 1 / (1 + math.exp(-min(max(log_ratio + math.log(share / (1 - share)), -30.0), 30.0)))
    rows = []
    for weight, widen in _BROAD:
        # The Beta distribution with mean r whose log odds have about this variance.
        size = 1 / (r * (1 - r) * (max(spread, _LEAST_SPREAD) * widen) ** 2)
        rows.append((weight, max(size * r, 0.5), max(size * (1 - r), 0.5)))
    return (*rows, (1 - sum(weight for weight, _ in _BROAD), 0.5, 0.5))


def log_mixture(x: int, y: int, prior: Prior) -> float:
    """log of the average likelihood of a sequence with x and y hits."""
    from scipy import special

    weight, a, b = np.array(prior).T
    return float(special.logsumexp(np.log(weight) + special.betaln(a + x, b + y) - special.betaln(a, b)))


def _log_likelihood(x: int, y: int, q: float) -> float:
    """log of q^x (1 - q)^y, with 0 log 0 = 0."""
    return (x * math.log(q) if x else 0.0) + (y * math.log1p(-q) if y else 0.0)


def lower_bound(x: int, y: int, prior: Prior, alpha: float) -> float:
    """The smallest q that x of x + y hits leave possible at every stop at once, with error alpha; 0 if x is 0.

    mixture / likelihood(q) is a martingale under q; below x/(x + y) it falls as q grows, so one bisection finds
    where it passes 1/alpha.
    """
    if x == 0:
        return 0.0
    needed = log_mixture(x, y, prior) + math.log(alpha)

    def possible(log_q: float) -> bool:
        return not _log_likelihood(x, y, math.exp(log_q)) <= needed

    return math.exp(bisected(possible, -700.0, math.log(x / (x + y)))[0])


def rate_lower_bound(hits: int, runs: int, alpha: float, guess: float) -> float:
    """A lower bound on a rate that holds at every stop at once: a Beta mixture, half of it near `guess`.

    >>> 0.2 < rate_lower_bound(300, 1000, 0.05, guess=0.3) < 0.3
    True
    """
    size = 200.0
    near = (0.5, max(guess * size, 0.5), max((1 - guess) * size, 0.5))
    return lower_bound(hits, runs - hits, (near, (0.5, 0.5, 0.5)), alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineProcess(EProcess[Counts]):
    """For P1 <= slope P2 + intercept: stakes with their weights on each run; (a, b) is the point of the line."""

    line: Tangent
    a: float
    b: float
    stakes: Parts
    weights: Parts

    @property
    def log_e(self) -> float:
        """log of the e-value of all runs so far."""
        from scipy import special

        counts, stake, share = self.hits, np.array(self.stakes), self.hits.share
        gain, price = stake / share, stake * self.line.slope / (1 - share)
        log_factors = (
            counts.x * np.log1p(gain * (1 - self.a))
            + (counts.n_x - counts.x) * np.log1p(-gain * self.a)
            + counts.y * np.log1p(-price * (1 - self.b))
            + (counts.n_y - counts.y) * np.log1p(price * self.b)
        )
        return float(special.logsumexp(np.log(self.weights) + log_factors))


def start_line(line: Tangent, p1: float, p2: float, share: float) -> LineProcess:
    """Half the unit on stakes near the best one for rates (p1, p2), half on all sizes.

    >>> process = start_line(Tangent(2.0, 0.01), 0.2, 0.05, 0.5)
    >>> round(process.a - 2 * process.b, 6), round(sum(process.weights), 6)
    (0.01, 1.0)
    >>> start_line(Tangent(math.e, 0.01), 0.3, 0.05, 0.5).update(Counts(150, 25, 500, 500)).rejects(0.001)
    True
    """
    b = _nearest(line, p1, p2, share)
    a = line.slope * b + line.intercept
    most = _MOST * min(share / a, (1 - share) / (line.slope * (1 - b)))
    best = min(max((p1 - a) * share / (a * (1 - a)), 1e-3 * most), most)
    grid = tuple(float(stake) for stake in most * np.geomspace(1e-4, 1.0, _SIZES))
    stakes, weights = _halves(best, _AROUND, most, grid)
    return LineProcess(line=line, a=a, b=b, stakes=stakes, weights=weights, hits=Counts(0, 0, 0, 0, share))


def _halves(best: float, around: Parts, most: float, grid: Parts) -> tuple[Parts, Parts]:
    """Stakes and weights: half the unit on stakes around the best one, as parts of it, half on the grid."""
    near = tuple(min(best * factor, most) for factor in around)
    return near + grid, (0.5 / len(near),) * len(near) + (0.5 / len(grid),) * len(grid)


def _nearest(line: Tangent, p1: float, p2: float, share: float) -> float:
    """P2 of the point of the line that explains rates (p1, p2) best (a concave likelihood: one bisection)."""
    top = min((1 - line.intercept) / line.slope, 1.0) * (1 - 1e-9)

    def geometric(low: float, high: float) -> float:
        return math.sqrt(low * high)

    def falls(b: float) -> bool:
        a = line.slope * b + line.intercept
        pull = share * line.slope * (p1 - a) / (a * (1 - a)) + (1 - share) * (p2 - b) / (b * (1 - b))
        return not pull > 0

    return geometric(*bisected(falls, 1e-12 * top, top, mean=geometric))


def cells_of(counts: Counts) -> tuple[int, int, int]:
    """In how many pairs of paired runs the event happened on d1 only, on d2 only and on both."""
    assert counts.both is not None, "counts of paired runs"
    return counts.x - counts.both, counts.y - counts.both, counts.both


@dataclass(frozen=True, slots=True)
class Stakes:
    """Parts of the wealth to bet on each pair, with their weights.

    A stake s pays 1 + s/e^epsilon when only d1 is in the event, 1 - s (1 - e^-epsilon) for both, 1 - s for d2 only:
    a fair bet if P1 = e^epsilon P2, a losing one if P1 is less. The larger epsilon, the less any of them pays.

    >>> stakes = Stakes((0.5,), (1.0,))
    >>> round(stakes.log_wealth(Counts(300, 100, 1000, 1000, both=100), epsilon=0.5), 1)
    31.1
    """

    stakes: Parts
    weights: Parts

    def log_wealth(self, counts: Counts, epsilon: float) -> float:
        """log of what one unit has become after these pairs."""
        from scipy import special

        grown = log_growth(*cells_of(counts), np.array(self.stakes), epsilon)
        return float(special.logsumexp(np.log(self.weights) + grown))


def log_growth(
    only_x: float, only_y: float, both: float, stake: NDArray[np.float64], epsilon: float
) -> NDArray[np.float64]:
    """log of what each stake makes of one unit, where so many pairs are in the event on d1 only, d2 only and both."""
    theta = math.exp(-epsilon)
    return np.asarray(
        only_x * np.log1p(stake * theta) + both * np.log1p(-stake * (1 - theta)) + only_y * np.log1p(-stake)
    )


def stakes_for(search: Counts, epsilon: float) -> Stakes:
    """Half the unit on stakes near the best one for what search saw, half on all sizes.

    >>> stakes = stakes_for(Counts(300, 100, 1000, 1000, both=100), epsilon=0.5)
    >>> round(sum(stakes.weights), 6), max(stakes.stakes) < 1
    (1.0, True)
    """
    only_x, only_y, both = (cell + 0.5 for cell in cells_of(search))
    best = GRID[int(np.argmax(log_growth(only_x, only_y, both, np.array(GRID), epsilon)))]
    return Stakes(*_halves(best, _AROUND_PAIRED, _MOST, GRID[::2]))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedProcess(EProcess[Counts]):
    """Evidence against P1 <= e^epsilon P2 that grows with pairs of paired runs, valid whenever one stops.

    >>> stakes = stakes_for(Counts(300, 100, 1000, 1000, both=100), 0.5)
    >>> process = PairedProcess(epsilon=0.5, stakes=stakes, hits=Counts(0, 0, 0, 0, both=0))
    >>> process.update(Counts(90, 30, 300, 300, both=30)).rejects(0.001)
    True
    """

    epsilon: float
    stakes: Stakes

    @property
    def log_e(self) -> float:
        """log of the e-value of all pairs so far."""
        return self.stakes.log_wealth(self.hits, self.epsilon)

    def epsilon_lower_bound(self, confidence: float) -> float:
        """A lower bound on log(P1/P2) that holds at every stop at once: every smaller epsilon loses the same bets."""
        if self.hits.x == 0:
            return -math.inf
        needed = -math.log(1 - confidence)
        top = math.log(self.hits.x) - math.log(max(self.hits.y, 0.5)) + 1.0

        def stands(epsilon: float) -> bool:
            return not self.stakes.log_wealth(self.hits, epsilon) >= needed

        low, _ = bisected(stands, top - 40.0, top, halvings=40)
        return low if low > top - 39.0 else -math.inf
