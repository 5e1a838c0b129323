"""An exact test of a claim with a nuisance rate: Berger and Boos, with a certified supremum.

P2 is unknown. "P Values Maximized Over a Confidence Set for the Nuisance Parameter" (Berger & Boos 1994): with a
confidence interval C for P2 of level 1 - gamma, gamma + sup over u in C of P(R | P1 = largest(u), P2 = u) is a valid
p-value, where R holds the outcomes at least as extreme as the observed one in an order fixed beforehand.

The order is that of the likelihood ratio against a line P1 <= slope P2 + intercept,

    L(x, y) = 2 min over u of [n_x KL(x/n_x, slope u + intercept) + n_y KL(y/n_y, u)]    for rates beyond the line.

By the envelope theorem its derivative is 2 log of an odds ratio that exceeds one in x and falls below one in y, so L
grows with x and falls with y: R = {L >= L(observed)} = {x >= critical(y)} with a nondecreasing `critical`. So its
probability grows with P1 and falls with P2: on a cell [u, v] of rates it is at most what P1 = largest(v) with P2 = u
gives. The cells cover C, and the outcomes y are gathered in blocks by the same argument, so the supremum is bounded
from above, never guessed.

Tails come from the incomplete beta function, or, where that costs too much, from the bounds of "A Complete Proof of
Universal Inequalities for the Distribution Function of the Binomial Law" (Zubkov & Serov 2013), which exceed them by
less than one outcome.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.hypothesis.tests.ratio import clopper_pearson, log_binomial_pmf, log_binomial_upper
from refutedp.model.claims import Tangent
from refutedp.model.claims.claim import all_bisected, bisected
from refutedp.model.records import Counts

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

GAMMAS = (1e-5, 1e-10)
"""Probability with which the interval for P2 may fail: for ordinary levels, and for very strict ones."""
WEIGHTS = (0.9, 0.05)
"""Parts of alpha for the two; the rest is for two Clopper-Pearson bounds, which alone reach any depth."""
_CELLS = 256
_LOWEST = 1e-9
"""The smallest P1 that a frontier is searched from."""
_BLOCKS = 448
_EXACT = 256
"""Up to so many outcomes y the incomplete beta function is affordable."""
_ROOT_STEPS = 24
_CLOSE = 0.005
"""How far, in standard deviations, a bound may stay below the best one."""
_ROUNDING = 1e-6
_HALVINGS, _FEWER_HALVINGS = 60, 40
"""Of the bisections along a line: for a test, and for a score."""
_SLACK = 1e-9
"""The observed outcome must count as extreme as itself whatever the rounding."""
_EQUAL = Tangent(1.0, 0.0)


@dataclass(frozen=True, slots=True)
class Frontier:
    """Cells of P2 and, in each, the largest P1 that the counts reject.

    With the stated confidence P2 lies in some cell [low, high] and P1 above the cell's `p1`.
    """

    low: Floats
    high: Floats
    p1: Floats


@dataclass(frozen=True, slots=True)
class Region:
    """The outcomes at least as extreme as the observed one, and how likely the y of each block are in each cell."""

    counts: Counts
    gamma: float
    low: Floats
    high: Floats
    least_x: Floats
    cumulative: Floats
    exact: bool

    def probability(self, p1: Floats) -> Floats:
        """For each cell a bound on P(R) when the x side hits with probability at most `p1` (one a cell)."""
        tails = self._upper_tails(p1)
        return np.asarray(np.minimum((self.cumulative * -np.diff(tails, axis=1)).sum(axis=1) + tails[:, -1], 1.0))

    def _upper_tails(self, p1: Floats) -> Floats:
        from scipy import special

        n = self.counts.n_x
        c = self.least_x[None, :]
        p = np.clip(p1, 0.0, 1.0)[:, None]
        if self.exact:
            inner = special.betainc(np.clip(c, 1, n), np.maximum(n - c + 1, 1), p)
        else:
            k = np.clip(c - 1, 1, n)
            inner = special.ndtr(-np.sign(k / n - p) * np.sqrt(2 * deviance(k, n, p)))
            inner = np.where((c <= 1) | (p >= 1), 1.0, inner)
        tails = np.where(c <= 0, 1.0, np.where(c > n, 0.0, inner))
        return np.asarray(np.maximum.accumulate(tails[:, ::-1], axis=1)[:, ::-1])

    def log_p_value(self, largest: Callable[[Floats], Floats]) -> float:
        """log of the valid p-value for H0: P1 <= largest(P2), with `largest` nondecreasing."""
        return math.log(min(1.0, self.gamma + float(self.probability(largest(self.high)).max())))

    def frontier(self, significance: float) -> Frontier:
        """The largest P1 rejected in each cell at this significance, rounded down.

        {(P1, P2): P1 <= p1 of P2's cell} holds the true rates with probability at most `significance`: those of a
        true point would need p <= significance, in an order that does not depend on the point.
        """
        from scipy import special

        level = significance - self.gamma
        target = float(special.ndtri(level))
        start, _ = clopper_pearson(self.counts.x, self.counts.n_x, 1e-280)
        _, end = clopper_pearson(self.counts.x, self.counts.n_x, 1e-12)
        low, high = np.full_like(self.low, start), np.full_like(self.low, end)
        below, above = (_probit(self.probability(p)) - target for p in (low, high))
        # The order weighs both rates: where P2 is small, outcomes with far fewer hits on x are as extreme as these.
        low = np.where(below > 0, _LOWEST, low)
        below = np.where(below > 0, _probit(self.probability(low)) - target, below)
        # Where even the lowest rate is not rejected, the cell keeps zero; where the highest is, that one serves.
        floor, upper_bound = below > 0, above <= 0
        for _ in range(_ROOT_STEPS):
            # False position in probits, where the probability is nearly a straight line (Illinois variant).
            weight = np.clip(below / np.where(below == above, -1.0, below - above), 0.01, 0.99)
            middle = low + weight * (high - low)
            value = _probit(self.probability(middle)) - target
            inside = value <= 0
            above = np.where(inside, above / 2, value)
            below = np.where(inside, value, below / 2)
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
            if np.all((np.abs(value) < _CLOSE) | floor | upper_bound):
                break
        low = np.where(upper_bound, end, low)
        return Frontier(self.low, self.high, np.where((self.probability(low) <= level) & ~floor, low, 0.0))


def region(counts: Counts, line: Tangent, gamma: float) -> Region | None:
    """The outcomes at least as extreme as `counts` in the order of `line`.

    Beyond the line outcomes are ordered by the likelihood ratio against it; those within it rank below them all, by
    the likelihood ratio against P1 <= P2, so that an epsilon below the claim's can be certified too. None when even
    P1 <= P2 explains the counts.
    """
    level, inner = statistic(counts, line), statistic(counts, _EQUAL)
    if inner <= 0:
        return None
    low, high = clopper_pearson(counts.y, counts.n_y, gamma / 2)
    edges = np.sin(np.linspace(math.asin(math.sqrt(low)), math.asin(math.sqrt(high)), _CELLS + 1)) ** 2
    edges[0], edges[-1] = low, high
    ends, exact = _blocks(counts, low, high, math.sqrt(level or inner))
    starts = np.concatenate([[0.0], ends + 1])
    inside = np.minimum(starts, counts.n_y)
    if level > 0:
        least = critical(inside, counts.n_x, counts.n_y, line, level)
    else:
        beyond = np.floor(counts.n_x * (line.slope * inside / counts.n_y + line.intercept)) + 1
        least = np.minimum(critical(inside, counts.n_x, counts.n_y, _EQUAL, inner), beyond)
    least[starts > counts.n_y] = counts.n_x + 1
    return Region(
        counts, gamma, edges[:-1], edges[1:], least, _lower_tails(ends, counts.n_y, edges[:-1], exact), exact
    )


def two_bounds_log_p_value(counts: Counts, largest: Callable[[Floats], Floats]) -> float:
    """log of a valid p-value for H0: P1 <= largest(P2): twice the tail at which the two bounds meet the claim.

    Cruder than `Region.log_p_value`, and valid at any depth. p <= alpha exactly when the lower bound on P1 exceeds
    `largest` of the upper bound on P2, each of level alpha/2.

    >>> round(math.exp(two_bounds_log_p_value(Counts(60, 5, 100, 100), lambda u: np.minimum(2 * u + 0.1, 1.0))), 5)
    0.0009
    """
    rate = counts.y / max(counts.n_y, 1)

    def tails(log_u: float) -> tuple[float, float]:
        u = math.exp(log_u)
        p1 = float(largest(np.array([u]))[0])
        upper = float(log_binomial_upper(counts.x, counts.n_x, min(p1, 1.0)))
        return upper, _log_lower(counts.y, counts.n_y, u)

    def x_side_decides(log_u: float) -> bool:
        upper, lower = tails(log_u)
        return lower <= upper

    ends = bisected(x_side_decides, math.log(max(rate, 1e-12 / max(counts.n_y, 1))), 0.0, halvings=59)
    # Whatever u is, twice the larger tail is at least the p-value.
    return min(0.0, *(math.log(2) + max(tails(end)) for end in ends))


def two_bounds_frontier(counts: Counts, significance: float) -> Frontier:
    """One cell: P1 above its lower bound and P2 below its upper one, half the significance each."""
    p1, _ = clopper_pearson(counts.x, counts.n_x, significance / 2)
    _, p2 = clopper_pearson(counts.y, counts.n_y, significance / 2)
    return Frontier(np.array([0.0]), np.array([p2]), np.array([p1]))


def _log_lower(y: int, n: int, u: float) -> float:
    """log P(Binomial(n, u) <= y); nothing is risked by saying that P2 is at most one."""
    if u >= 1:
        return -math.inf
    if y == 0:
        return n * math.log1p(-u)
    return float(log_binomial_upper(n - y, n, 1 - u))


def _blocks(counts: Counts, low: float, high: float, z: float) -> tuple[Floats, bool]:
    """The last y of each block: single outcomes when there are few, otherwise equal stretches."""
    n = counts.n_y
    first = max(0, math.floor(n * low - (min(z, 12) + 4) * math.sqrt(n * low * (1 - low)) - 4))
    last = min(n, math.ceil(n * high + 4 * math.sqrt(n * high * (1 - high)) + 4))
    if last - first < _EXACT:
        return np.arange(first, last + 1, dtype=np.float64), True
    return np.unique(np.round(np.linspace(first, last, _BLOCKS))), False


def _lower_tails(ends: Floats, n: int, rates: Floats, exact: bool) -> Floats:
    """P(Y <= end) for each rate (rows) and block (columns), or a little more."""
    from scipy import special

    k, u = ends[None, :], rates[:, None]
    if exact:
        # Single outcomes: summing them is cheaper than one incomplete beta function each. The factor covers rounding.
        before = special.betaincc(np.maximum(ends[0], 1), n - ends[0] + 1, u) if ends[0] > 0 else np.zeros_like(u)
        sums = before + np.cumsum(np.exp(log_binomial_pmf(k, n, u)), axis=1)
        return np.asarray(np.where(k >= n, 1.0, np.minimum(sums * (1 + _ROUNDING), 1.0)))
    above = np.minimum(k + 1, n)
    bound = special.ndtr(np.sign(above / n - u) * np.sqrt(2 * deviance(above, n, u)))
    # The inequality speaks of 1 <= k + 1 <= n - 1; beyond it the trivial bound serves.
    return np.asarray(np.where((k >= n - 1) | (u <= 0), 1.0, bound))


def _probit(p: Floats) -> Floats:
    from scipy import special

    return np.asarray(special.ndtri(np.clip(p, 1e-300, 1 - 1e-16)))


def statistic(counts: Counts, line: Tangent) -> float:
    """L of the observed hits; zero when their rates lie within the line.

    >>> statistic(Counts(x=5, y=5, n_x=50, n_y=50), Tangent(2.0, 0.01))
    0.0
    """
    if counts.n_x == 0 or counts.n_y == 0:
        return 0.0
    x, y = np.array([float(counts.x)]), np.array([float(counts.y)])
    return float(_statistics(x, y, counts.n_x, counts.n_y, line)[0])


def critical(y: Floats, n_x: int, n_y: int, line: Tangent, level: float) -> Floats:
    """For each y the least x with L(x, y) >= level; n_x + 1 when there is none.

    Along the stationary points x is a function of u, and L grows with u: one bisection a value of y.
    """
    level = level * (1 - _SLACK)
    top = min((1 - line.intercept) / line.slope, 1.0)

    def beyond(u: Floats) -> NDArray[np.bool_]:
        x = _stationary(y, n_x, n_y, u, line)
        return np.asarray((x > n_x) | (_ratio(np.minimum(x, n_x), y, n_x, n_y, u, line) >= level))

    low, _ = all_bisected(beyond, np.minimum(y / n_y, top), np.full_like(y, top), _HALVINGS)
    x = _stationary(y, n_x, n_y, low, line)
    least = np.ceil(np.minimum(x, n_x + 1) * (1 - 1e-12) - 1e-9)
    for end in (0, n_y):
        # With no hits, or hits only, a rate of zero or one may explain y best whatever x is: x is no function of u.
        if np.any(y == end):
            least[y == end] = _least_at(end, n_x, n_y, line, level)
    full = np.flatnonzero(least >= n_x)
    if len(full):
        never = _statistics(np.full(len(full), float(n_x)), y[full], n_x, n_y, line) < level
        least[full[never]] = n_x + 1
    # Rounding must not break the order that the theory promises.
    return np.asarray(np.minimum.accumulate(np.clip(least, 0, n_x + 1)[::-1])[::-1])


def _least_at(y: int, n_x: int, n_y: int, line: Tangent, level: float) -> int:
    """The least x with L(x, y) >= level; n_x + 1 when there is none."""

    def reached(x: int) -> bool:
        return bool(_statistics(np.array([float(x)]), np.array([float(y)]), n_x, n_y, line)[0] >= level)

    return bisect_left(range(n_x + 1), True, key=reached)


def _statistics(x: Floats, y: Floats, n_x: int, n_y: int, line: Tangent) -> Floats:
    """L elementwise."""
    u = likeliest(x, y, n_x, n_y, line.slope, line.intercept, _HALVINGS)
    beyond = x / n_x > line.slope * y / n_y + line.intercept
    return np.asarray(np.where(beyond, _ratio(x, y, n_x, n_y, u, line), 0.0))


def likeliest(
    x: Floats, y: Floats, n_x: int, n_y: int, slope: float | Floats, intercept: float | Floats, halvings: int
) -> Floats:
    """P2 of the point of a line that explains the hits best; lines may be one for all or one each.

    The likelihood is concave along the line, so its derivative changes sign once: between the observed P2 and the one
    at which the line has the observed P1.
    """
    top = np.minimum((1 - intercept) / slope, 1.0)
    line_p2 = np.clip((x / n_x - intercept) / slope, 0.0, top)
    low, high = np.minimum(np.minimum(y / n_y, top), line_p2), np.minimum(np.maximum(y / n_y, line_p2), top)

    def falls(u: Floats) -> NDArray[np.bool_]:
        p1 = slope * u + intercept
        with np.errstate(divide="ignore", invalid="ignore"):
            pull = slope * (x - n_x * p1) / (p1 * (1 - p1)) + (y - n_y * u) / (u * (1 - u))
        return ~(pull > 0)

    low, high = all_bisected(falls, low, high, halvings)
    return (low + high) / 2


def _stationary(y: Floats, n_x: int, n_y: int, u: Floats, line: Tangent) -> Floats:
    """The x whose likelihood under the line is largest at u, given y."""
    p1 = line.slope * u + line.intercept
    pull = np.where(u > 0, (n_y * u - y) / np.maximum(u * (1 - u), 1e-300), np.where(y > 0, -np.inf, n_y))
    return np.asarray(n_x * p1 + p1 * np.maximum(1 - p1, 0.0) / line.slope * pull)


def _ratio(x: Floats, y: Floats, n_x: int, n_y: int, u: Floats, line: Tangent) -> Floats:
    p1 = np.minimum(line.slope * u + line.intercept, 1.0)
    return 2 * (deviance(x, n_x, p1) + deviance(y, n_y, u))


def deviance(k: Floats, n: int, p: Floats) -> Floats:
    """n KL(k/n, p): how badly the rate p explains k hits of n."""
    from scipy import special

    return np.asarray(np.maximum(special.rel_entr(k, n * p) + special.rel_entr(n - k, n * (1 - p)), 0.0))


def signed_root(x: Ints, y: Ints, runs: int, slope: Floats, intercept: Floats) -> Floats:
    """The signed root of the likelihood ratio against lines, one an event: about standard normal on the line."""
    xf, yf = x.astype(np.float64), y.astype(np.float64)
    u = likeliest(xf, yf, runs, runs, slope, intercept, _FEWER_HALVINGS)
    ratio = 2 * (deviance(xf, runs, np.minimum(slope * u + intercept, 1.0)) + deviance(yf, runs, u))
    beyond = xf / runs > slope * yf / runs + intercept
    return np.asarray(np.where(beyond, 1.0, -1.0) * np.sqrt(np.minimum(ratio, 1e12)))


def share_for(tangent: Tangent, p1: float, p2: float) -> float:
    """The part of the confirmation runs that the x side should get, from `search_rates` of search runs.

    The variance p1 (1 - p1) / share + slope^2 p2 (1 - p2) / (1 - share) is least at odds of the standard deviations.

    >>> round(share_for(Tangent(math.e, 1e-5), 0.05, 0.01), 2)
    0.45
    """
    first = math.sqrt(max(p1 * (1 - p1), 1e-12))
    second = tangent.slope * math.sqrt(max(p2 * (1 - p2), 1e-12))
    return min(max(first / (first + second), 0.05), 0.95)
