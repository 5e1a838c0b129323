"""The default test: each run is allocated to d1 or d2 at random, so the test is exact at every sample size.

Let each confirmation run go to the x side with probability `share`. Given s hits in all, the hits on the x side are
Binomial(s, q) with q = share P1 / (share P1 + (1 - share) P2). The claim P1 <= e^epsilon P2 bounds q from above by
share e^epsilon / (share e^epsilon + 1 - share), whatever P2 is: no nuisance parameter is left.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from refutedp.hypothesis.tails import log_binomial_upper, rate_above, rate_below
from refutedp.model.records import Counts, Level

_NEAR_ONE = 0.99
"""Beyond, what is left to one has too few digits, and is found on its own."""


def log_p_value(counts: Counts, epsilon: float) -> float:
    """log of a valid p-value for H0: P1 <= e^epsilon P2, at every sample size (random allocation).

    >>> from refutedp.model.records import Counts, Level
    >>> import math
    >>> round(math.exp(log_p_value(Counts(x=29, y=5, n_x=50, n_y=50), epsilon=1.0)), 4)
    0.0737
    """
    log_odds = epsilon + math.log(counts.share / (1 - counts.share))
    q = 1 / (1 + math.exp(-log_odds))
    return min(0.0, float(log_binomial_upper(counts.x, counts.x + counts.y, q)))


def epsilon_lower_bound(counts: Counts, confidence: float) -> float:
    """The largest epsilon that P1 > e^epsilon P2 exceeds with this confidence (Clopper-Pearson, inverted).

    With no hits on the y side the bound is finite and right; with none on the x side it is minus infinity.

    >>> from refutedp.model.records import Counts, Level
    >>> round(epsilon_lower_bound(Counts(x=1000, y=0, n_x=5000, n_y=5000), 0.95), 3)
    5.809
    """
    return float(lower_bounds(np.array([counts.x]), np.array([counts.y]), 1 - confidence, counts.share)[0])


def lower_bounds(
    x: NDArray[np.int64],
    y: NDArray[np.int64],
    significance: Level,
    share: float = 0.5,
) -> NDArray[np.float64]:
    """`epsilon_lower_bound` for many pairs of hits at once."""
    q = rate_above(x, x + y, significance)
    rest = 1 - q
    near = q > _NEAR_ONE
    if near.any():
        level = np.broadcast_to(significance, q.shape)[near]
        rest[near] = rate_below(y[near], (x + y)[near], level)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(q) - np.log(rest) - math.log(share / (1 - share)))
