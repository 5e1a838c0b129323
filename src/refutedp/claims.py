"""What a claim permits: the largest P1 allowed for a given P2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

from refutedp.errors import UsageError


def positive_number(name: str, value: Any) -> float:
    """`value` as a float if it is a positive finite number; otherwise one sentence that says what is wrong."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(f"{name}={value!r} must be a number, not a {type(value).__name__}")
    number = float(value)
    if math.isnan(number):
        raise UsageError(f"{name}=nan must be a positive number")
    if math.isinf(number):
        raise UsageError(f"{name}={value!r} must be finite: nothing can violate an infinite privacy budget")
    if number <= 0:
        raise UsageError(f"{name}={value!r} must be positive")
    return number


@dataclass(frozen=True, slots=True)
class PureDP:
    """Pure differential privacy: P(M(d1) in E) <= e^epsilon P(M(d2) in E) for all adjacent d1, d2 and all E.

    >>> round(PureDP(0.5).largest(0.1), 4)
    0.1649
    >>> print(PureDP(0.5))
    0.5-differential privacy
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_number("epsilon", self.epsilon))

    def largest(self, p2: float) -> float:
        """The largest P1 that the claim permits when the event has probability `p2` on the other input."""
        return min(1.0, math.exp(self.epsilon) * p2)

    def __str__(self) -> str:
        return f"{self.epsilon:g}-differential privacy"
