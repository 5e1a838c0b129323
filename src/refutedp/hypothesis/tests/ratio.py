"""Exact tests of P1 <= e^epsilon P2, valid at every sample size; on allocated runs (the default) and on paired ones.

**Allocated runs.** Let each confirmation run go to the x side with probability `share`. Given s hits in all, those on
the x side are Binomial(s, q) with q = share P1 / (share P1 + (1 - share) P2). The claim bounds q from above by
share e^epsilon / (share e^epsilon + 1 - share), whatever P2 is: no nuisance parameter is left.

**Paired runs.** Both inputs run on the same noise, so that chance moves both alike and most of it cancels. In each
pair of runs the event happens on d1 only, on d2 only, on both, or on neither. Given the m pairs in which it happens,
these three counts are multinomial, and the claim says that

    q(d1 only) <= 1 - e^-epsilon (1 - q(d2 only)).

One rate is left over, q(d2 only), which is often nearly zero: noise that puts d2 into the event mostly puts d1 there
too. Berger and Boos ("P Values Maximized Over a Confidence Set for the Nuisance Parameter"): with an interval for it
that fails with probability gamma, gamma + the largest probability over the interval of an outcome at least as
extreme is a valid p-value. Extreme is a large ratio of the hits, so that probability grows with q(d1 only) and falls
with q(d2 only): on a cell of the interval it is bounded by the two ends, and a block of outcomes by its first. Below
gamma a bet decides (`Stakes`), whose p-value 1/wealth is valid at any depth and at any moment.

Tails of distributions are logarithms, so that p-values far below 1e-300 keep their size.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from refutedp.hypothesis.betting.anytime import GRID, Stakes, cells_of
from refutedp.model.claims.claim import bisected
from refutedp.model.records import Counts, Level

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

GAMMA = 1e-5
"""Probability with which the interval for the rate of "on d2 only" may fail."""
POWER = 0.8
"""A violation counts as catchable when four of five repetitions would catch it."""
_BELOW_MEAN = 0.8416
"""The standard deviations below the mean that one of five repetitions falls by."""
_NEAR_ONE = 0.99
"""Beyond, what is left to one has too few digits, and is found on its own."""
_WEIGHT = 0.9
"""The part of alpha for the exact test of paired runs; the rest is for the bet, which alone reaches any depth."""
_CELLS = (8, 48)
_BLOCKS = (16, 64)
_FINE = 0.04
"""How wide a cell or a block may be, in standard deviations of the hits on d2 given all hits."""
_REACH = 6.0
"""How far from the mean, in standard deviations, outcomes are looked at one block at a time."""
_CLOSE = 0.005
"""How far, in standard deviations, a bound may stay below the best one."""
_FARTHEST = 40.0


def log_binomial_pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats:
    """log P(Binomial(n, p) = k), elementwise."""
    from scipy import special

    k, n, p = (np.asarray(a, dtype=np.float64) for a in (k, n, p))
    log_choose = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return np.asarray(log_choose + special.xlogy(k, p) + special.xlog1py(n - k, -p))


def log_binomial_upper(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats:
    """log P(Binomial(n, p) >= k), elementwise, exact to rounding however small.

    >>> round(float(log_binomial_upper(1000, 1000, 0.01)), 6)   # 1000 * log(0.01)
    -4605.170186
    """
    from scipy import special

    k, n, p = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (k, n, p)))
    with np.errstate(divide="ignore"):
        direct = np.log(special.betainc(np.maximum(k, 1), np.maximum(n - k + 1, 1e-300), p))
    out = np.where(k <= 0, 0.0, np.where(k > n, -np.inf, direct))
    # betainc underflows near 1e-308; there the series below converges in a few terms.
    deep = (out < -650) & (k > 0) & (k <= n) & (p > 0)
    if np.any(deep):
        kd, nd, pd = k[deep], n[deep], p[deep]
        out[deep] = log_binomial_pmf(kd, nd, pd) + _log_ratio_series(
            lambda j: (nd - kd - j) / (kd + j + 1) * (pd / (1 - pd))
        )
    return np.asarray(out)


def log_hypergeometric_pmf(k: ArrayLike, total: int, good: int, draws: ArrayLike) -> Floats:
    """log P(H = k) for the number H of good items in `draws` of `total` items without replacement, elementwise."""
    from scipy import special

    k, draws = (np.asarray(a, dtype=np.float64) for a in (k, draws))
    possible = (k >= 0) & (k <= good) & (k <= draws) & (draws - k <= total - good)

    def choose(n: ArrayLike, j: Floats) -> Floats:
        n, j = np.asarray(n, dtype=np.float64), np.where(possible, j, 0.0)
        return np.asarray(special.gammaln(n + 1) - special.gammaln(j + 1) - special.gammaln(n - j + 1))

    value = choose(good, k) + choose(total - good, draws - k) - choose(total, draws)
    return np.where(possible, value, -np.inf)


def log_hypergeometric_upper(k: ArrayLike, total: int, good: int, draws: ArrayLike) -> Floats:
    """log P(H >= k), elementwise; each element costs a series as long as the distribution is wide."""
    k, draws = np.broadcast_arrays(np.asarray(k, dtype=np.float64), np.asarray(draws, dtype=np.float64))
    low = np.maximum(0, draws + good - total)
    high = np.minimum(draws, good)
    out = np.zeros_like(k)
    out[k > high] = -np.inf
    inside = (k > low) & (k <= high)
    upper = inside & (k > draws * good / total)
    if np.any(upper):
        ku, du = k[upper], draws[upper]
        out[upper] = log_hypergeometric_pmf(ku, total, good, du) + _log_ratio_series(
            lambda j: (good - ku - j) * (du - ku - j) / ((ku + j + 1) * (total - good - du + ku + j + 1))
        )
    lower = inside & ~upper
    if np.any(lower):
        # Below the mean the other tail is the small one: P(H >= k) = 1 - P(H <= k - 1).
        kl, dl = k[lower] - 1, draws[lower]
        log_lower = log_hypergeometric_pmf(kl, total, good, dl) + _log_ratio_series(
            lambda j: (kl - j) * (total - good - dl + kl - j) / ((good - kl + j + 1) * (dl - kl + j + 1))
        )
        out[lower] = np.log1p(-np.minimum(np.exp(log_lower), 1 - 1e-16))
    return out


def _log_ratio_series(ratio: Callable[[int], Floats]) -> Floats:
    """log(1 + r0 + r0 r1 + r0 r1 r2 + ...) where r_j = ratio(j) eventually falls below one and to zero."""
    term = np.maximum(np.asarray(ratio(0), dtype=np.float64), 0.0)
    total = 1.0 + term
    for j in range(1, 10_000_000):
        term = term * np.maximum(ratio(j), 0.0)
        total += term
        if np.all(term <= total * 1e-17):
            break
    return np.asarray(np.log(total))


def clopper_pearson(hits: int, runs: int, tail: float) -> tuple[float, float]:
    """Bounds on a rate, each wrong with probability at most `tail`; right with no hits and with all.

    >>> tuple(round(bound, 4) for bound in clopper_pearson(0, 100, 0.025))
    (0.0, 0.0362)
    """
    return float(_rate_above(hits, runs, tail)), float(_rate_below(hits, runs, tail))


def _rate_above(hits: ArrayLike, runs: ArrayLike, tail: ArrayLike) -> Floats:
    from scipy import special

    hits, runs = np.asarray(hits), np.asarray(runs)
    return np.where(hits > 0, special.betaincinv(np.maximum(hits, 1), runs - hits + 1, tail), 0.0)


def _rate_below(hits: ArrayLike, runs: ArrayLike, tail: ArrayLike) -> Floats:
    from scipy import special

    hits, runs = np.asarray(hits), np.asarray(runs)
    return np.where(hits < runs, special.betainccinv(hits + 1, np.maximum(runs - hits, 1), tail), 1.0)


def normal_quantiles(level: Level) -> Level:
    """Quantiles of the standard normal distribution at the levels, found once for each stretch of equal ones."""
    from scipy import special

    if not isinstance(level, np.ndarray) or len(level) < 2:
        return special.ndtri(level)  # type: ignore[no-any-return]
    fresh = np.flatnonzero(np.append(True, level[1:] != level[:-1]))
    return np.repeat(special.ndtri(level[fresh]), np.diff(np.append(fresh, len(level))))


def log_p_value(counts: Counts, epsilon: float) -> float:
    """log of a valid p-value for H0: P1 <= e^epsilon P2.

    >>> round(math.exp(log_p_value(Counts(x=1500, y=1260, n_x=40_000, n_y=40_000), epsilon=0.15)), 2)
    0.27
    >>> paired = Counts(x=1500, y=1260, n_x=40_000, n_y=40_000, both=1260)   # the same hits say much more
    >>> round(math.exp(log_p_value(paired, epsilon=0.15)), 3)
    0.019
    """
    if counts.both is None:
        q = 1 / (1 + math.exp(-(epsilon + math.log(counts.share / (1 - counts.share)))))
        return min(0.0, float(log_binomial_upper(counts.x, counts.x + counts.y, q)))
    only_x, only_y, both = cells_of(counts)
    theta = math.exp(-epsilon)
    if only_y + both >= theta * (only_x + both):
        return 0.0
    exact = _log_exact(only_x, only_y, both, theta) - math.log(_WEIGHT)
    if exact > math.log(20 * GAMMA):
        return min(0.0, exact)
    deep = -Stakes(GRID, (1 / len(GRID),) * len(GRID)).log_wealth(counts, epsilon)
    return min(0.0, exact, deep - math.log1p(-_WEIGHT))


def epsilon_lower_bound(counts: Counts, confidence: float) -> float:
    """The largest epsilon that P1 > e^epsilon P2 exceeds with this confidence; minus infinity without hits on d1.

    With no hits on the y side the bound is finite and right.

    >>> round(epsilon_lower_bound(Counts(x=1000, y=0, n_x=5000, n_y=5000), 0.95), 3)
    5.809
    >>> round(epsilon_lower_bound(Counts(x=1500, y=1260, n_x=40_000, n_y=40_000, both=1260), 0.95), 3)
    0.155
    """
    if counts.both is None:
        return float(lower_bounds(np.array([counts.x]), np.array([counts.y]), 1 - confidence, counts.share)[0])
    if counts.x == 0:
        return -math.inf
    needed = math.log(1 - confidence)
    low, high = _bracket(counts, needed)
    if not math.isfinite(low):
        return low
    close = _CLOSE * _spread(counts)
    return bisected(lambda epsilon: not log_p_value(counts, epsilon) <= needed, low, high, close=close)[0]


def lower_bounds(x: Ints, y: Ints, significance: Level, share: float = 0.5) -> Floats:
    """`epsilon_lower_bound` of allocated runs, for many pairs of hits at once (Clopper-Pearson, inverted)."""
    q = _rate_above(x, x + y, significance)
    rest = 1 - q
    near = q > _NEAR_ONE
    if near.any():
        level = np.broadcast_to(significance, q.shape)[near]
        rest[near] = _rate_below(y[near], (x + y)[near], level)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(q) - np.log(rest) - math.log(share / (1 - share)))


def _bracket(counts: Counts, needed: float) -> tuple[float, float]:
    """Two epsilons, the lower one refuted and the higher one not, near where the bound of paired runs should be."""
    seen = math.log(counts.x) - math.log(max(counts.y, 0.5))
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
    """About the standard deviation of the observed log ratio of paired runs."""
    only_x, only_y, _ = cells_of(counts)
    return math.sqrt((only_x + only_y + 1) / (counts.x * max(counts.y, 0.5)))


def _log_exact(only_x: int, only_y: int, both: int, theta: float) -> float:
    """log of gamma + the largest probability, over the interval for q(d2 only), of a ratio as large as observed."""
    from scipy import special

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
    k, n = np.maximum(most_both, 0), m - starts
    with np.errstate(invalid="ignore"):
        at_most = np.where(k >= n, 1.0, special.betaincc(k + 1.0, np.maximum(n - k, 1.0), rate_both))
    worst = float((masses * np.where(most_both < 0, 0.0, at_most)).sum(axis=1).max())
    return math.log(GAMMA + min(worst, 1.0))


def _number(wanted: float, limits: tuple[int, int]) -> int:
    least, most = limits
    return min(max(math.ceil(wanted), least), most)


def _blocks(m: int, rates: Floats, count: int) -> tuple[Ints, Floats]:
    """For each rate, the first outcomes of blocks of Binomial(m, rate) and the probability of each block."""
    from scipy import special

    middle, spread = m * rates, np.sqrt(m * rates * (1 - rates)) + 1.0
    steps = middle[:, None] + spread[:, None] * np.linspace(-_REACH, _REACH, count)[None]
    starts = np.concatenate([np.zeros((len(rates), 1)), np.clip(np.ceil(steps), 0, m)], axis=1).astype(np.int64)
    k = np.maximum(starts, 1)
    reached = np.where(starts == 0, 1.0, special.betainc(k, m - k + 1.0, rates[:, None]))
    masses = reached - np.concatenate([reached[:, 1:], np.zeros((len(rates), 1))], axis=1)
    return starts, np.maximum(masses, 0.0)


def rough_bound(counts: Counts, level: float) -> float:
    """About what `epsilon_lower_bound` of paired runs gives, at once: for ranking only.

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


def best_share(epsilon: float) -> float:
    """The part of the runs that the likelier side should get for the sharpest bound on log(P1/P2).

    The variance of the log ratio is about 1/(share·P1) + 1/((1 - share)·P2), least at odds sqrt(P2/P1).

    >>> round(best_share(0.0), 2), round(best_share(1.5), 2)
    (0.5, 0.32)
    """
    odds = math.exp(-0.5 * min(max(epsilon, 0.0), 5.0))
    return odds / (1 + odds)


def pairing_pays(counts: Counts) -> bool:
    """Whether paired runs would give a sharper bound than as many independent ones, shared out in the best way.

    The variance of the log ratio is (1/P1 + 1/P2 - 2 P12/(P1 P2)) / pairs for paired runs, and at best
    (1/sqrt(P1) + 1/sqrt(P2))^2 / (2 pairs) for independent runs.

    >>> pairing_pays(Counts(300, 200, 1000, 1000, both=200)), pairing_pays(Counts(300, 10, 1000, 1000, both=3))
    (True, False)
    """
    _, _, both = cells_of(counts)
    p1, p2 = (counts.x + 0.5) / (counts.n_x + 1), (counts.y + 0.5) / (counts.n_y + 1)
    p12 = min(both / max(counts.n_x, 1), p1, p2)
    return bool(2 * (1 / p1 + 1 / p2 - 2 * p12 / (p1 * p2)) < (p1**-0.5 + p2**-0.5) ** 2)


def detectable_epsilon(counts: Counts, epsilon: float, significance: float) -> float:
    """The smallest real epsilon for which this event, at these sample sizes, rejects `epsilon` with power 0.8.

    The event's rate on the y side is taken as observed (at least half a hit); the number of hits as expected.
    Infinite when no epsilon would do, for the rate on the x side cannot exceed one.
    """
    rate = max(counts.y, 0.5) / max(counts.n_y, 1)
    # Paired runs with a hit on d2 only have none on d1.
    unpaired = 0 if counts.both is None else max(counts.y, 1) - max(counts.both, int(counts.y == 0))
    most = math.log1p(-unpaired / max(counts.n_y, 1)) - math.log(rate) if unpaired < counts.n_y else -math.inf
    if most <= epsilon or not _caught(counts, rate, most, epsilon, significance):
        return math.inf
    return bisected(lambda real: _caught(counts, rate, real, epsilon, significance), epsilon, most, close=1e-4)[1]


def _caught(counts: Counts, rate: float, real: float, epsilon: float, significance: float) -> bool:
    from scipy import special

    needed = math.log(significance)
    if counts.both is not None:
        unlikely = _pairs_seen(counts, rate, real)
        return unlikely is not None and log_p_value(unlikely, epsilon) <= needed
    runs = counts.n_x + counts.n_y
    odds = counts.share / (1 - counts.share)
    hits = round(runs * (counts.share * math.exp(real) * rate + (1 - counts.share) * rate))
    under_claim = float(special.expit(epsilon + math.log(odds)))
    in_truth = float(special.expit(real + math.log(odds)))
    critical = bisect_left(
        range(hits + 1), True, key=lambda x: bool(log_binomial_upper(x, hits, under_claim) <= needed)
    )
    return critical <= hits and bool(log_binomial_upper(critical, hits, in_truth) >= math.log(POWER))


def _pairs_seen(counts: Counts, rate: float, real: float) -> Counts | None:
    """The hits on paired runs at a real epsilon, as few as in one of five repetitions; None if impossible.

    Where the event happens on d2 only is taken as observed; on d1 only it happens as often as the real epsilon asks.
    """
    assert counts.both is not None
    n, y = counts.n_y, max(counts.y, 1)
    both = max(counts.both, 1) if counts.y == 0 else counts.both
    x = n * rate * math.exp(real)
    only_one_side = max(x - both, 0.0) + (y - both)
    seen = round(x * math.exp(-_BELOW_MEAN * math.sqrt((only_one_side + 1) / (x * y))))
    return Counts(seen, y, n, n, both=both) if both <= seen <= n - (y - both) else None


def can_ever_convict(n_x: int, n_y: int, epsilon: float, significance: float) -> bool:
    """Whether even the clearest possible outcome (every x run a hit, no y run) has p <= significance."""
    return -n_x * math.log1p(math.exp(-epsilon)) <= math.log(significance)
