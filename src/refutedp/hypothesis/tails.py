"""Upper tails of discrete distributions, and the bounds on a rate that invert them (Clopper and Pearson).

Tails are logarithms, so that p-values far below 1e-300 keep their size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]


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


def clopper_pearson(hits: int, runs: int, tail: float) -> tuple[float, float]:
    """Bounds on a rate, each wrong with probability at most `tail`; right with no hits and with all.

    >>> tuple(round(bound, 4) for bound in clopper_pearson(0, 100, 0.025))
    (0.0, 0.0362)
    """
    return float(rate_above(hits, runs, tail)), float(rate_below(hits, runs, tail))


def rate_above(hits: ArrayLike, runs: ArrayLike, tail: ArrayLike) -> Floats:
    """What a rate lies above, but with probability `tail` at most, elementwise."""
    from scipy import special

    hits, runs = np.asarray(hits), np.asarray(runs)
    return np.where(hits > 0, special.betaincinv(np.maximum(hits, 1), runs - hits + 1, tail), 0.0)


def rate_below(hits: ArrayLike, runs: ArrayLike, tail: ArrayLike) -> Floats:
    """What a rate lies below, but with probability `tail` at most, elementwise."""
    from scipy import special

    hits, runs = np.asarray(hits), np.asarray(runs)
    return np.where(hits < runs, special.betainccinv(hits + 1, np.maximum(runs - hits, 1), tail), 1.0)


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
