"""Pure and approximate differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from refutedp.model.claims.claim import (
    Claim,
    Floats,
    Tangent,
    number_from_zero,
    positive_number,
    small_probability,
)
from refutedp.model.errors import UsageError


class _TwoLines(Claim):
    """What both share: the largest P1 obeys the claim, and its form for the complement with the inputs exchanged."""

    __slots__ = ()

    epsilon: float
    parameter: ClassVar[str] = "epsilon"

    def _largest(self, p2: Floats) -> Floats:
        own = math.exp(min(self.epsilon, 700.0)) * p2 + self.at_delta
        complement = 1 - math.exp(-self.epsilon) * np.maximum(1 - self.at_delta - p2, 0.0)
        return np.minimum(np.minimum(own, complement), 1.0)

    def tangent_at(self, p2: float) -> Tangent:
        """The claim's own line where the event is rarer, the complement's beyond."""
        return min(self.tangents(), key=lambda line: line.slope * p2 + line.intercept)

    def tangents(self) -> tuple[Tangent, ...]:
        """The claim's own line, and the complement's."""
        shrink = math.exp(-self.epsilon)
        own = Tangent(math.exp(min(self.epsilon, 700.0)), self.at_delta)
        return (own, Tangent(shrink, 1 - shrink * (1 - self.at_delta)))

    def tangents_near(self, p2: float) -> tuple[Tangent, ...]:
        """Both lines: there are no others."""
        return self.tangents()

    def delta_at(self, epsilon: float) -> float:
        """The claim's delta from its epsilon on; more below, reached where the two lines meet."""
        if epsilon >= self.epsilon:
            return self.at_delta
        corner = (1 - self.at_delta) / (1 + math.exp(self.epsilon))
        return max(0.0, 1 - corner - math.exp(epsilon) * corner)


@dataclass(frozen=True, slots=True)
class PureDP(_TwoLines):
    """Pure differential privacy: P(M(d1) in E) <= e^epsilon P(M(d2) in E) for all adjacent d1, d2 and all E.

    >>> round(PureDP(0.5).largest(0.1), 4), round(PureDP(0.5).largest(0.9), 4)
    (0.1649, 0.9393)
    >>> print(PureDP(0.5))
    0.5-differential privacy
    """

    epsilon: float
    options: ClassVar[tuple[str, ...]] = ("epsilon",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_number("epsilon", self.epsilon))

    @property
    def pure_epsilon(self) -> float:
        """Its epsilon."""
        return self.epsilon

    @property
    def at_delta(self) -> float:
        """Zero."""
        return 0.0

    def stated(self) -> dict[str, Any]:
        """By its epsilon."""
        return {"epsilon": self.epsilon}

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
class ApproxDP(_TwoLines):
    """Approximate differential privacy: P(M(d1) in E) <= e^epsilon P(M(d2) in E) + delta.

    >>> round(ApproxDP(1.0, 1e-5).largest(1e-3), 8)
    0.00272828
    >>> print(ApproxDP(1, 1e-5))
    (1, 1e-05)-differential privacy
    """

    epsilon: float
    delta: float
    options: ClassVar[tuple[str, ...]] = ("epsilon", "delta")

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", number_from_zero("epsilon", self.epsilon))
        object.__setattr__(self, "delta", small_probability("delta", self.delta))
        if self.epsilon == 0 and self.delta == 0:
            raise UsageError("epsilon=0 with delta=0 permits no mechanism that reads its input: make one positive")

    @property
    def pure_epsilon(self) -> float | None:
        """Its epsilon, if delta is zero."""
        return None if self.delta else self.epsilon

    @property
    def at_delta(self) -> float:
        """Its delta."""
        return self.delta

    @property
    def where(self) -> str:
        """At its delta."""
        return f" at δ = {self.delta:g}"

    def _weakened(self, step: int) -> float:
        # A small epsilon, which may be zero, grows by steps.
        return self.epsilon + 0.02 * step if self.epsilon < 0.5 else Claim._weakened(self, step)

    def implies(self, delta: float = 1e-5) -> tuple[Claim, ...]:
        """Itself in the other currency: the trade-off function of "Gaussian Differential Privacy", Prop. 2.5.

        >>> [str(claim) for claim in ApproxDP(1, 1e-5).implies(1e-3)]
        ['(0.998645, 0.001)-differential privacy']
        """
        epsilon = self.epsilon_at(delta)
        return (ApproxDP(epsilon, delta),) if math.isfinite(epsilon) and (epsilon or delta) else ()

    def __str__(self) -> str:
        return f"({self.epsilon:g}, {self.delta:g})-differential privacy"
