"""Gaussian differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from refutedp.model.claims.approximate import ApproxDP
from refutedp.model.claims.claim import Claim, Floats, Tangent, outwards, positive_number

_NEARLY_ONE = 1 - 1e-15


@dataclass(frozen=True, slots=True)
class GaussianDP(Claim):
    """mu-GDP: distinguishing the inputs is at least as hard as telling N(0, 1) from N(mu, 1).

    P1 <= Phi(Phi^-1(P2) + mu): "Gaussian Differential Privacy", Dong, Roth & Su 2022, Definition 2.6.

    >>> round(GaussianDP(1.0).largest(0.1), 4)
    0.3891
    >>> print(GaussianDP(1))
    1-Gaussian differential privacy
    """

    mu: float
    letter: ClassVar[str] = "μ"
    parameter: ClassVar[str] = "mu"
    of_epsilon: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ("mu",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", positive_number("mu", self.mu))

    def _largest(self, p2: Floats) -> Floats:
        from scipy import special

        return np.asarray(special.ndtr(special.ndtri(p2) + self.mu))

    def tangent_at(self, p2: float) -> Tangent:
        """Slope phi(z + mu) / phi(z) at z = Phi^-1(p2); the intercept is the claim's delta at that slope."""
        from scipy import special

        z = float(special.ndtri(min(max(p2, 1e-300), 1 - 1e-16)))
        log_slope = min(max(-z * self.mu - self.mu**2 / 2, -700.0), 700.0)
        return Tangent(math.exp(log_slope), outwards(self.delta_at(log_slope)))

    def delta_at(self, epsilon: float) -> float:
        """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu): Corollary 2.13 there.

        >>> round(GaussianDP(1.0).delta_at(1.0), 6)
        0.126937
        """
        from scipy import special

        a, b = self.mu / 2 - epsilon / self.mu, -self.mu / 2 - epsilon / self.mu
        log_first, log_second = float(special.log_ndtr(a)), epsilon + float(special.log_ndtr(b))
        return max(0.0, -math.exp(log_first) * math.expm1(min(log_second - log_first, 0.0)))

    def least(self, p1: Floats, p2: Floats) -> Floats:
        """Phi^-1(P1) - Phi^-1(P2), or zero."""
        from scipy import special

        first = special.ndtri(np.clip(p1, 1e-300, _NEARLY_ONE))
        return np.asarray(np.maximum(first - special.ndtri(np.clip(p2, 1e-300, _NEARLY_ONE)), 0.0))

    def implies(self, delta: float = 1e-5) -> tuple[Claim, ...]:
        """(epsilon, delta)-DP (Corollary 2.13) and mu^2/2-zCDP (Bun & Steinke 2016, Prop. 1.6; Blackwell).

        >>> [str(claim) for claim in GaussianDP(1.0).implies(1e-5)]
        ['(4.37718, 1e-05)-differential privacy', '0.5-zCDP']
        """
        from refutedp.model.claims.renyi import ZCDP

        return (ApproxDP(self.epsilon_at(delta), delta), ZCDP(self.mu**2 / 2))

    def __str__(self) -> str:
        return f"{self.mu:g}-Gaussian differential privacy"
