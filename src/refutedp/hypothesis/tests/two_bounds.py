"""Two Clopper-Pearson bounds at once: P1 from below, P2 from above. Cruder than `line`; valid at any level."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.hypothesis.tails import log_binomial_upper
from refutedp.hypothesis.tests.line import Frontier, clopper_pearson
from refutedp.model.records import Counts

Floats: TypeAlias = NDArray[np.float64]


def log_p_value(counts: Counts, largest: Callable[[Floats], Floats]) -> float:
    """log of a valid p-value for H0: P1 <= largest(P2): twice the tail at which the two bounds meet the claim.

    p <= alpha exactly when the lower bound on P1 exceeds `largest` of the upper bound on P2, each of level alpha/2.

    >>> import numpy as np
    >>> round(math.exp(log_p_value(Counts(60, 5, 100, 100), lambda u: np.minimum(2 * u + 0.1, 1.0))), 5)
    0.0009
    """
    rate = counts.y / max(counts.n_y, 1)
    low, high = math.log(max(rate, 1e-12 / max(counts.n_y, 1))), 0.0
    best = 0.0
    for step in range(60):
        middle = high if step == 0 else (low + high) / 2
        u = math.exp(middle)
        p1 = float(largest(np.array([u]))[0])
        upper = float(log_binomial_upper(counts.x, counts.n_x, min(p1, 1.0)))
        lower = _log_lower(counts.y, counts.n_y, u)
        # Whatever u is, twice the larger tail is at least the p-value.
        best = min(best, math.log(2) + max(upper, lower))
        low, high = (middle, high) if lower > upper else (low, middle)
    return best


def frontier(counts: Counts, significance: float) -> Frontier:
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
