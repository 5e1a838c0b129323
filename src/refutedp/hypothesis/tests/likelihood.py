"""The likelihood-ratio order of outcomes against a line P1 <= slope P2 + intercept.

L(x, y) = 2 min over u of [n_x KL(x/n_x, slope u + intercept) + n_y KL(y/n_y, u)] for rates beyond the line. By the
envelope theorem its derivative is 2 log of an odds ratio that exceeds one in x and falls below one in y, so L grows
with x and falls with y: {L >= L(observed)} = {x >= critical(y)} with a nondecreasing `critical`.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.model.claims import Tangent
from refutedp.model.claims.claim import all_bisected
from refutedp.model.records import Counts

Floats: TypeAlias = NDArray[np.float64]

_HALVINGS = 60
_SLACK = 1e-9
"""The observed outcome must count as extreme as itself whatever the rounding."""


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
