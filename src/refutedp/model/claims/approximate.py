"""Pure and approximate differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from refutedp.model.claims.claim import Claim, Floats, Tangent
from refutedp.model.claims.validate import number_from_zero, positive_number, small_probability
from refutedp.model.errors import UsageError


@dataclass(frozen=True, slots=True)
class PureDP(Claim):
    """Pure differential privacy: P(M(d1) in E) <= e^epsilon P(M(d2) in E) for all adjacent d1, d2 and all E.

    The largest P1 also obeys the claim for the complement with the inputs exchanged.

    >>> round(PureDP(0.5).largest(0.1), 4), round(PureDP(0.5).largest(0.9), 4)
    (0.1649, 0.9393)
    >>> print(PureDP(0.5))
    0.5-differential privacy
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_number("epsilon", self.epsilon))

    def _largest(self, p2: Floats) -> Floats:
        return _lines(p2, self.epsilon, 0.0)

    def tangent_at(self, p2: float) -> Tangent:
        """The claim's own line where the event is rarer, the complement's beyond."""
        return min(self.tangents(), key=lambda line: line.slope * p2 + line.intercept)

    def tangents(self) -> tuple[Tangent, ...]:
        """The claim's own line, and the complement's."""
        return _both(self.epsilon, 0.0)

    def delta_at(self, epsilon: float) -> float:
        """The smallest delta at a smaller epsilon, reached where the two lines meet; zero from the claim's own on."""
        corner = 1 / (1 + math.exp(self.epsilon))
        return max(0.0, 1 - corner - math.exp(epsilon) * corner)

    def implies(self, delta: float = 1e-5) -> tuple[Claim, ...]:
        """(epsilon, delta)-DP, epsilon^2/2-zCDP ("Concentrated Differential Privacy", Bun & Steinke 2016, Prop. 1.4).

        >>> [str(claim) for claim in PureDP(0.5).implies(1e-5)]
        ['(0.5, 0)-differential privacy', '0.125-zCDP']
        """
        from refutedp.model.claims.renyi import ZCDP

        return (ApproxDP(self.epsilon, 0.0), ZCDP(self.epsilon**2 / 2))

    def __str__(self) -> str:
        return f"{self.epsilon:g}-differential privacy"


@dataclass(frozen=True, slots=True)
class ApproxDP(Claim):
    """Approximate differential privacy: P(M(d1) in E) <= e^epsilon P(M(d2) in E) + delta.

    >>> round(ApproxDP(1.0, 1e-5).largest(1e-3), 8)
    0.00272828
    >>> print(ApproxDP(1, 1e-5))
    (1, 1e-05)-differential privacy
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", number_from_zero("epsilon", self.epsilon))
        object.__setattr__(self, "delta", small_probability("delta", self.delta))
        if self.epsilon == 0 and self.delta == 0:
            raise UsageError("epsilon=0 with delta=0 permits no mechanism that reads its input: make one positive")

    def _largest(self, p2: Floats) -> Floats:
        return _lines(p2, self.epsilon, self.delta)

    def tangent_at(self, p2: float) -> Tangent:
        """The claim's own line where the event is rarer, the complement's beyond."""
        return min(self.tangents(), key=lambda line: line.slope * p2 + line.intercept)

    def tangents(self) -> tuple[Tangent, ...]:
        """The claim's own line, and the complement's."""
        return _both(self.epsilon, self.delta)

    def delta_at(self, epsilon: float) -> float:
        """The claim's delta from its epsilon on; more below, reached where the two lines meet."""
        if epsilon >= self.epsilon:
            return self.delta
        corner = (1 - self.delta) / (1 + math.exp(self.epsilon))
        return max(0.0, 1 - corner - math.exp(epsilon) * corner)

    def implies(self, delta: float = 1e-5) -> tuple[Claim, ...]:
        """Itself in the other currency: the trade-off function of "Gaussian Differential Privacy", Prop. 2.5.

        >>> [str(claim) for claim in ApproxDP(1, 1e-5).implies(1e-3)]
        ['(0.998645, 0.001)-differential privacy']
        """
        epsilon = self.epsilon_at(delta)
        return (ApproxDP(epsilon, delta),) if math.isfinite(epsilon) and (epsilon or delta) else ()

    def __str__(self) -> str:
        return f"({self.epsilon:g}, {self.delta:g})-differential privacy"


def _lines(p2: Floats, epsilon: float, delta: float) -> Floats:
    own = math.exp(min(epsilon, 700.0)) * p2 + delta
    complement = 1 - math.exp(-epsilon) * np.maximum(1 - delta - p2, 0.0)
    return np.minimum(np.minimum(own, complement), 1.0)


def _both(epsilon: float, delta: float) -> tuple[Tangent, Tangent]:
    shrink = math.exp(-epsilon)
    return (Tangent(math.exp(min(epsilon, 700.0)), delta), Tangent(shrink, 1 - shrink * (1 - delta)))
