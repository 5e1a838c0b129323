"""Paired runs: both inputs on the same noise, so that chance moves both alike and most of it cancels.

In each pair of runs the event happens on d1 only, on d2 only, on both, or on neither. Given the m pairs in which it
happens at all, these three counts are multinomial, and P1 <= e^epsilon P2 says that

    q(d1 only) <= 1 - e^-epsilon (1 - q(d2 only)).

One rate is left over, q(d2 only), which is often nearly zero: noise that puts d2 into the event mostly puts d1 there
too. Berger and Boos again ("P Values Maximized Over a Confidence Set for the Nuisance Parameter"): with an interval
for it that fails with probability gamma, gamma + the largest probability over the interval of an outcome at least as
extreme is a valid p-value. Extreme is a large ratio of the hits, so that probability grows with q(d1 only) and falls
with q(d2 only): on a cell of the interval it is bounded by the two ends, and a block of outcomes by its first.

Below gamma a bet decides (`Stakes`), whose p-value 1/wealth is valid at any depth and at any moment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.hypothesis.betting.anytime import EProcess
from refutedp.hypothesis.tails import clopper_pearson
from refutedp.hypothesis.tests.allocation import lower_bounds
from refutedp.model.claims.claim import bisected
from refutedp.model.records import Counts

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

GAMMA = 1e-5
"""Probability with which the interval for the rate of "on d2 only" may fail."""
_WEIGHT = 0.9
"""The part of alpha for the exact test; the rest is for the bet, which alone reaches any depth."""
_CELLS = (8, 48)
_BLOCKS = (16, 64)
_FINE = 0.04
"""How wide a cell or a block may be, in standard deviations of the hits on d2 given all hits."""
_REACH = 6.0
"""How far from the mean, in standard deviations, outcomes are looked at one block at a time."""
_CLOSE = 0.005
"""How far, in standard deviations, a bound may stay below the best one."""
_MOST = 0.97
"""No stake risks more than this part of the wealth on one pair."""
_GRID = tuple(float(stake) for stake in _MOST * np.geomspace(1e-4, 1.0, 48))
_AROUND = (0.5, 0.75, 1.0, 1.25)
_HALVINGS = 40
_FARTHEST = 40.0


def log_p_value(counts: Counts, epsilon: float) -> float:
    """log of a valid p-value for H0: P1 <= e^epsilon P2, at every number of paired runs.

    >>> counts = Counts(x=1500, y=1260, n_x=40_000, n_y=40_000, both=1260)
    >>> round(math.exp(log_p_value(counts, epsilon=0.15)), 3)
    0.019
    >>> from refutedp.hypothesis.tests import allocation   # the same hits on independent runs say much less
    >>> round(math.exp(allocation.log_p_value(Counts(1500, 1260, 40_000, 40_000), epsilon=0.15)), 2)
    0.27
    """
    only_x, only_y, both = _cells_of(counts)
    theta = math.exp(-epsilon)
    if only_y + both >= theta * (only_x + both):
        return 0.0
    exact = _log_exact(only_x, only_y, both, theta) - math.log(_WEIGHT)
    if exact > math.log(20 * GAMMA):
        return min(0.0, exact)
    deep = -Stakes(_GRID, (1 / len(_GRID),) * len(_GRID)).log_wealth(counts, epsilon)
    return min(0.0, exact, deep - math.log1p(-_WEIGHT))


def epsilon_lower_bound(counts: Counts, confidence: float) -> float:
    """The largest epsilon that P1 > e^epsilon P2 exceeds with this confidence; minus infinity without hits on d1.

    >>> counts = Counts(x=1500, y=1260, n_x=40_000, n_y=40_000, both=1260)
    >>> round(epsilon_lower_bound(counts, 0.95), 3)
    0.155
    """
    if counts.x == 0:
        return -math.inf
    needed = math.log(1 - confidence)
    seen = math.log(counts.x) - math.log(max(counts.y, 0.5))
    low, high = _bracket(counts, seen, needed)
    if not math.isfinite(low):
        return low
    close = _CLOSE * _spread(counts)
    return bisected(lambda epsilon: not log_p_value(counts, epsilon) <= needed, low, high, close=close)[0]


def _bracket(counts: Counts, seen: float, needed: float) -> tuple[float, float]:
    """Two epsilons, the lower one refuted and the higher one not, near where the bound should be."""
    spread = _spread(counts)
    width = spread / 4
    high = seen - spread * math.sqrt(-needed)
    if log_p_value(counts, high) <= needed:
        low = high
        while log_p_value(counts, low + width) <= needed:
            low, width = low + width, 2 * width
        return low, low + width
    while high > seen - _FARTHEST:
        low = high - width
        if log_p_value(counts, low) <= needed:
            return low, high
        high, width = low, 2 * width
    return -math.inf, high


def _spread(counts: Counts) -> float:
    """About the standard deviation of the observed log ratio."""
    only_x, only_y, _ = _cells_of(counts)
    return math.sqrt((only_x + only_y + 1) / (counts.x * max(counts.y, 0.5)))


def _cells_of(counts: Counts) -> tuple[int, int, int]:
    assert counts.both is not None, "counts of paired runs"
    return counts.x - counts.both, counts.y - counts.both, counts.both


def _log_exact(only_x: int, only_y: int, both: int, theta: float) -> float:
    """log of gamma + the largest probability, over the interval for q(d2 only), of a ratio as large as observed."""
    m = only_x + only_y + both
    low, high = clopper_pearson(only_y, m, GAMMA / 2)
    # Beyond this rate the claim bounds nothing any more, and the probability falls.
    high = min(high, theta / (1 + theta))
    low = max(low, 1 - 1 / theta)
    if low >= high:
        return math.log(GAMMA)
    fine = max(0.1, _FINE * math.sqrt(only_y + both * only_x / m))
    edges = np.linspace(low, high, _number((high - low) * m / fine, _CELLS) + 1)
    widest = math.sqrt(m * high * (1 - high)) + 1.0
    starts, masses = _blocks(m, edges[:-1], _number(2 * _REACH * widest / fine, _BLOCKS))
    # c' <= (m - j) y / x - j: as many pairs on both sides at most, when j are on d2 only.
    most_both = (m - starts) * (only_y + both) // (m - only_y) - starts
    rate_both = np.clip(1 + theta - 1 / (1 - edges[1:]), 0.0, 1.0)[:, None]
    tails = np.where(most_both < 0, 0.0, _lower_tail(np.maximum(most_both, 0), m - starts, rate_both))
    worst = float((masses * tails).sum(axis=1).max())
    return math.log(GAMMA + min(worst, 1.0))


def _number(wanted: float, limits: tuple[int, int]) -> int:
    least, most = limits
    return min(max(math.ceil(wanted), least), most)


def _blocks(m: int, rates: Floats, count: int) -> tuple[NDArray[np.int64], Floats]:
    """For each rate, the first outcomes of blocks of Binomial(m, rate) and the probability of each block."""
    middle, spread = m * rates, np.sqrt(m * rates * (1 - rates)) + 1.0
    steps = middle[:, None] + spread[:, None] * np.linspace(-_REACH, _REACH, count)[None]
    starts = np.concatenate([np.zeros((len(rates), 1)), np.clip(np.ceil(steps), 0, m)], axis=1).astype(np.int64)
    reached = np.where(starts == 0, 1.0, _upper_tail(np.maximum(starts, 1), m, rates[:, None]))
    masses = reached - np.concatenate([reached[:, 1:], np.zeros((len(rates), 1))], axis=1)
    return starts, np.maximum(masses, 0.0)


def _upper_tail(k: NDArray[np.int64], n: int, p: Floats) -> Floats:
    """P(Binomial(n, p) >= k) for 1 <= k <= n."""
    from scipy import special

    return np.asarray(special.betainc(k, n - k + 1.0, p))


def _lower_tail(k: NDArray[np.int64], n: NDArray[np.int64], p: Floats) -> Floats:
    """P(Binomial(n, p) <= k)."""
    from scipy import special

    with np.errstate(invalid="ignore"):
        return np.where(k >= n, 1.0, special.betaincc(k + 1.0, np.maximum(n - k, 1.0), p))


@dataclass(frozen=True, slots=True)
class Stakes:
    """Parts of the wealth to bet on each pair, with their weights.

    A stake s pays 1 + s/e^epsilon when only d1 is in the event, 1 - s (1 - e^-epsilon) for both, 1 - s for d2 only:
    a fair bet if P1 = e^epsilon P2, a losing one if P1 is less. The larger epsilon, the less any of them pays.

    >>> stakes = Stakes((0.5,), (1.0,))
    >>> round(stakes.log_wealth(Counts(300, 100, 1000, 1000, both=100), epsilon=0.5), 1)
    31.1
    """

    stakes: tuple[float, ...]
    weights: tuple[float, ...]

    def log_wealth(self, counts: Counts, epsilon: float) -> float:
        """log of what one unit has become after these pairs."""
        from scipy import special

        grown = log_growth(*_cells_of(counts), np.array(self.stakes), epsilon)
        return float(special.logsumexp(np.log(self.weights) + grown))


def log_growth(only_x: float, only_y: float, both: float, stake: Floats, epsilon: float) -> Floats:
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
    only_x, only_y, both = (cell + 0.5 for cell in _cells_of(search))
    best = _GRID[int(np.argmax(log_growth(only_x, only_y, both, np.array(_GRID), epsilon)))]
    around = tuple(min(best * factor, _MOST) for factor in _AROUND)
    grid = _GRID[::2]
    weights = (0.5 / len(around),) * len(around) + (0.5 / len(grid),) * len(grid)
    return Stakes(around + grid, weights)


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

        low, _ = bisected(stands, top - 40.0, top, _HALVINGS)
        return low if low > top - 39.0 else -math.inf


def rough_bound(counts: Counts, level: float) -> float:
    """About what `epsilon_lower_bound` gives, at once: for ranking only.

    >>> round(rough_bound(Counts(x=1500, y=1260, n_x=40_000, n_y=40_000, both=1260), 0.05), 3)
    0.156
    """
    x, y, both = (np.array([hits]) for hits in (counts.x, counts.y, counts.both))
    return float(nearer(x, y, both, lower_bounds(x, y, level))[0])


def nearer(x: Ints, y: Ints, both: Ints, unpaired: Floats) -> Floats:
    """Bounds of independent runs, drawn nearer to the observed log ratio by as much as paired runs spread less."""
    seen = np.log(np.maximum(x, 0.5)) - np.log(np.maximum(y, 0.5))
    spread = np.sqrt((x + y - 2 * both) / np.maximum(x + y, 1))
    with np.errstate(invalid="ignore"):
        return np.where((x > 0) & (y > 0), seen - spread * (seen - unpaired), unpaired)


def pays(counts: Counts) -> bool:
    """Whether paired runs would give a sharper bound than as many independent ones, shared out in the best way.

    The variance of the log ratio is (1/P1 + 1/P2 - 2 P12/(P1 P2)) / pairs for paired runs, and at best
    (1/sqrt(P1) + 1/sqrt(P2))^2 / (2 pairs) for independent runs.

    >>> pays(Counts(300, 200, 1000, 1000, both=200)), pays(Counts(300, 10, 1000, 1000, both=3))
    (True, False)
    """
    _, _, both = _cells_of(counts)
    p1, p2 = (counts.x + 0.5) / (counts.n_x + 1), (counts.y + 0.5) / (counts.n_y + 1)
    p12 = min(both / max(counts.n_x, 1), p1, p2)
    paired = 1 / p1 + 1 / p2 - 2 * p12 / (p1 * p2)
    return bool(2 * paired < (p1**-0.5 + p2**-0.5) ** 2)
