"""Bets against P1 <= slope P2 + intercept, one fixed stake on every randomly allocated run.

Let a run go to the x side with probability `share`, and let (a, b) be a point of the line, a = slope b + intercept.
The payoff (hit - a)/share on an x run and -slope (hit - b)/(1 - share) on a y run has mean
P1 - slope P2 - intercept, which the claim says is not positive. So the product of 1 + stake payoff is a
supermartingale for every stake >= 0 that keeps it positive, and so is a mixture over stakes; it depends on totals
alone. With (a, b) the point of the line nearest to the truth, the best stake grows as fast as any e-process can
("Testing by betting", Shafer 2021; reverse information projection: "Safe Testing", Grünwald, de Heide & Koolen 2024).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from refutedp.model.claims import Tangent
from refutedp.model.records import Counts

_AROUND = (0.5, 0.7, 0.85, 1.0, 1.15)
_GRID = 24
_MOST = 0.97
"""No stake risks more than this part of the wealth on one run."""


@dataclass(frozen=True, slots=True)
class Bets:
    """Stakes with their weights, and the point of the line the payoffs are measured from."""

    line: Tangent
    share: float
    a: float
    b: float
    stakes: tuple[float, ...]
    weights: tuple[float, ...]

    def log_wealth(self, counts: Counts) -> float:
        """log of the wealth that one unit has become after these runs."""
        from scipy import special

        stake = np.array(self.stakes)
        gain, price = stake / self.share, stake * self.line.slope / (1 - self.share)
        log_factors = (
            counts.x * np.log1p(gain * (1 - self.a))
            + (counts.n_x - counts.x) * np.log1p(-gain * self.a)
            + counts.y * np.log1p(-price * (1 - self.b))
            + (counts.n_y - counts.y) * np.log1p(price * self.b)
        )
        return float(special.logsumexp(np.log(self.weights) + log_factors))


def bets_for(line: Tangent, p1: float, p2: float, share: float) -> Bets:
    """Half the unit on stakes near the best one for rates (p1, p2), half on all sizes.

    >>> bets = bets_for(Tangent(2.0, 0.01), 0.2, 0.05, 0.5)
    >>> round(bets.a - 2 * bets.b, 6), round(sum(bets.weights), 6)
    (0.01, 1.0)
    """
    b = _nearest(line, p1, p2, share)
    a = line.slope * b + line.intercept
    most = _MOST * min(share / a, (1 - share) / (line.slope * (1 - b)))
    best = min(max((p1 - a) * share / (a * (1 - a)), 1e-3 * most), most)
    around = tuple(min(best * factor, most) for factor in _AROUND)
    grid = tuple(float(stake) for stake in most * np.geomspace(1e-4, 1.0, _GRID))
    weights = (0.5 / len(around),) * len(around) + (0.5 / _GRID,) * _GRID
    return Bets(line, share, a, b, around + grid, weights)


def _nearest(line: Tangent, p1: float, p2: float, share: float) -> float:
    """P2 of the point of the line that explains rates (p1, p2) best (a concave likelihood: one bisection)."""
    top = min((1 - line.intercept) / line.slope, 1.0) * (1 - 1e-9)
    low, high = 1e-12 * top, top
    for _ in range(80):
        b = math.sqrt(low * high)
        a = line.slope * b + line.intercept
        pull = share * line.slope * (p1 - a) / (a * (1 - a)) + (1 - share) * (p2 - b) / (b * (1 - b))
        low, high = (b, high) if pull > 0 else (low, b)
    return math.sqrt(low * high)
