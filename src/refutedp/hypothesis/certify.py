"""Certified lower bounds from the counts of one event: on epsilon, and on the parameter of the claim.

A confidence region for (P1, P2) is found once (`tests.line.Frontier`): with the stated confidence P2 lies in one of
its cells and P1 above the cell's `p1`. In every notion the privacy that permits (p1, p2) grows with p1 and falls with
p2 (for p1 >= p2), so its least value over the corners of the cells is a lower bound on the mechanism's real
parameter. All these bounds hold at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.hypothesis.betting.anytime import rate_lower_bound
from refutedp.hypothesis.tests import line as line_test
from refutedp.hypothesis.tests.line import GAMMAS, WEIGHTS, Frontier
from refutedp.model.claims import Claim, Tangent, smallest_epsilon
from refutedp.model.errors import UsageError
from refutedp.model.records import Counts

Floats: TypeAlias = NDArray[np.float64]

NOTHING = Frontier(np.array([0.0]), np.array([1.0]), np.array([0.0]))
"""What no runs say: one cell with every rate in it."""


@dataclass(frozen=True, slots=True)
class Certified:
    """Lower bounds that hold at once: on epsilon at the claim's delta (1e-5 if it has none), on its own parameter."""

    epsilon: float
    own: float


def bounds_from(front: Frontier, claim: Claim, reached: float | None = None) -> Certified:
    """From a region that holds (P1, P2); `reached` is the claim's own parameter, where a sharper bound is known.

    >>> from refutedp.model.claims import ApproxDP
    >>> front = confidence_region(Counts(x=900, y=0, n_x=5000, n_y=5000), 0.999, Tangent(2.72, 1e-3))
    >>> round(bounds_from(front, ApproxDP(1.0, 1e-3)).own, 1)
    4.3
    """
    own = float(claim.least(front.p1, front.high).min()) if reached is None else reached
    epsilon = own if claim.of_epsilon else float(smallest_epsilon(front.p1, front.high, claim.at_delta).min())
    return Certified(epsilon, own)


def confidence_region(counts: Counts, confidence: float, line: Tangent) -> Frontier:
    """Where (P1, P2) lie with this confidence, as cells; one trivial cell when the counts say nothing.

    The line is one fixed before the runs. The split of the error is fixed: nine tenths for the interval of failure
    probability 1e-5, one twentieth for that of 1e-10 when the confidence is too high for it, the rest for a pair of
    Clopper-Pearson bounds at any confidence. A claim's own bound exceeds it when the test rejects it at
    1 - confidence, but for the accuracy with which the region is found (0.005 standard deviations).
    """
    if not 0 < confidence < 1:
        raise UsageError(f"confidence={confidence!r} must lie strictly between 0 and 1")
    error = 1 - confidence
    if counts.both is not None:
        # The sides of paired runs are not independent: a bound for either, which needs no more than each alone.
        return line_test.two_bounds_frontier(counts, error)
    for gamma, weight in zip(GAMMAS, WEIGHTS, strict=True):
        if weight * error >= 2 * gamma:
            found = line_test.region(counts, line, gamma)
            return found.frontier(weight * error) if found is not None else NOTHING
    return line_test.two_bounds_frontier(counts, (1 - sum(WEIGHTS)) * error)


def region_when_stopped(counts: Counts, error: float, rates: tuple[float, float]) -> Frontier:
    """The same from runs that were stopped at any moment: a confidence sequence for each rate, half the error each.

    `rates` are those expected before the runs.
    """
    p1 = rate_lower_bound(counts.x, counts.n_x, error / 2, rates[0])
    p2 = 1 - rate_lower_bound(counts.n_y - counts.y, counts.n_y, error / 2, 1 - rates[1])
    return Frontier(np.array([0.0]), np.array([p2]), np.array([p1]))


def last_rejected(claim: Claim, rejected: Callable[[Claim], bool]) -> float | None:
    """The parameter of the weakest claim rejected in a row, from a claim that is rejected; None if it has none.

    Fixed-sequence testing needs no correction, so this bound is never below a claim that was rejected.
    """
    reached = None
    for value, weaker in claim.weaker():
        if reached is not None and not rejected(weaker):
            break
        reached = value
    return reached


def deltas_at(front: Frontier, epsilons: Sequence[float] | Floats) -> Floats:
    """The certified curve: for each epsilon a lower bound on the mechanism's delta(epsilon), all at once."""
    p1, p2 = np.minimum(front.p1, 1 - 1e-15), front.high
    grow = np.exp(np.minimum(np.asarray(epsilons, dtype=np.float64), 700.0))[:, None]
    excess = np.maximum(p1 - grow * p2, (1 - p2) - grow * (1 - p1))
    return np.asarray(np.maximum(excess.min(axis=1), 0.0))
