"""What every claim can do: say the largest P1 it permits for a given P2, and reduce that bound to its tangents.

For an event E let P1 = P(M(d1) in E) and P2 = P(M(d2) in E). A claim about all adjacent pairs, in both orders and for
all events, permits exactly the points (P1, P2) of a convex set. Its upper border `largest` is concave and
nondecreasing, so it is the lower envelope of its tangents P1 <= slope P2 + intercept, and each tangent is an
(epsilon, delta)-guarantee with e^epsilon = slope and delta = intercept.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from refutedp.model.claims.validate import small_probability

Floats: TypeAlias = NDArray[np.float64]

_REACH = 80.0
"""Probabilities are searched on the scale of log(p / (1 - p)), from e^-80 to 1 - e^-80."""
_ROUNDS = 7
_POINTS = 65


@dataclass(frozen=True, slots=True)
class Tangent:
    """The half-plane P1 <= slope P2 + intercept: an (epsilon, delta)-guarantee for one event and direction.

    >>> Tangent(slope=2.0, intercept=0.25).excess(0.75, 0.125)
    0.25
    """

    slope: float
    intercept: float

    def excess(self, p1: float, p2: float) -> float:
        """How far P1 lies above the line; positive when the rates break the tangent, and so the claim."""
        return p1 - self.slope * p2 - self.intercept

    @property
    def epsilon(self) -> float:
        """log(slope), negative for the tangents that speak about complements."""
        return math.log(self.slope)


class Claim(ABC):
    """A promise of privacy. Subclasses give `_largest` and print themselves; the rest follows, or is sharpened.

    The protocol: `largest(p2)`, `tangent_at(p2)`, `tangents()`, `delta_at(epsilon)`, `epsilon_at(delta)`,
    `implies(delta)`, `to_dict()`, `str()`.
    """

    __slots__ = ()

    @abstractmethod
    def _largest(self, p2: Floats) -> Floats:
        """`largest` for an array."""

    @abstractmethod
    def implies(self, delta: float = 1e-5) -> tuple[Claim, ...]:
        """Claims in other notions that follow from this one; (epsilon, delta)-claims are stated at `delta`."""

    @overload
    def largest(self, p2: float) -> float: ...
    @overload
    def largest(self, p2: Floats) -> Floats: ...
    def largest(self, p2: float | Floats) -> float | Floats:
        """The largest P1 permitted when the event has probability `p2` on the other input; arrays elementwise."""
        out = self._largest(np.atleast_1d(np.asarray(p2, dtype=np.float64)))
        return float(out[0]) if np.ndim(p2) == 0 else out

    def tangent_at(self, p2: float) -> Tangent:
        """The tangent of `largest` at `p2`: a half-plane that holds everything the claim permits.

        The slope is numerical; the intercept is then the supremum of largest(p) - slope p, rounded outwards, so the
        half-plane is implied by the claim however rough the slope.
        """
        u = _logit(min(max(p2, 1e-30), 1 - 1e-9))
        low, high = _expit(np.array([u - 1e-4, u + 1e-4]))
        p1 = self._largest(np.array([low, high]))
        slope = max(float((p1[1] - p1[0]) / (high - low)), 1e-12)
        return Tangent(slope, outwards(float(suprema(self._largest, np.array([slope]))[0])))

    def tangents(self) -> tuple[Tangent, ...]:
        """Tangents that together describe the bound; here at probabilities from 1e-9 to 1 - 1e-3."""
        slopes, intercepts = self.tangents_at(_expit(np.linspace(-20.7, 6.9, 33)))
        return tuple(Tangent(float(s), float(t)) for s, t in zip(slopes, intercepts, strict=True))

    def tangents_at(self, p2: Floats) -> tuple[Floats, Floats]:
        """Slopes and intercepts of the tangents at many rates."""
        lines = [self.tangent_at(float(p)) for p in p2]
        return np.array([line.slope for line in lines]), np.array([line.intercept for line in lines])

    def delta_at(self, epsilon: float) -> float:
        """The smallest delta with which the claim implies (epsilon, delta)-differential privacy.

        Exact, for delta(epsilon) = sup over events of P1 - e^epsilon P2, and `largest` is the border of what one
        event can have.
        """
        return max(0.0, float(suprema(self._largest, np.array([math.exp(epsilon)]))[0]))

    def epsilon_at(self, delta: float) -> float:
        """The smallest epsilon >= 0 with which the claim implies (epsilon, delta)-DP; infinite when none does."""
        small_probability("delta", delta)
        if self.delta_at(0.0) <= delta:
            return 0.0
        high = 1.0
        while self.delta_at(high) > delta:
            high *= 2
            if high > 600:
                return math.inf
        low = 0.0 if high == 1.0 else high / 2
        while high - low > 1e-7 * max(high, 1.0):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta_at(middle) <= delta else (middle, high)
        return high

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, read back by `claim_from_dict`."""
        return {"claim": type(self).__name__, **{f.name: getattr(self, f.name) for f in fields(self)}}  # type: ignore[arg-type]


def suprema(largest: Callable[[Floats], Floats], slopes: Floats) -> Floats:
    """For each slope the largest value on [0, 1] of largest(p) - slope p, which is concave.

    By zooming in on the scale of log(p / (1 - p)), for all slopes at once.
    """
    low, high = np.full(len(slopes), -_REACH), np.full(len(slopes), _REACH)
    ends = largest(np.array([0.0, 1.0]))
    best = np.maximum(ends[0], ends[1] - slopes)
    rows = np.arange(len(slopes))
    for _ in range(_ROUNDS):
        grid = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, _POINTS)
        p = _expit(grid)
        values = largest(p.ravel()).reshape(p.shape) - slopes[:, None] * p
        top = np.argmax(values, axis=1)
        best = np.maximum(best, values[rows, top])
        low, high = grid[rows, np.maximum(top - 1, 0)], grid[rows, np.minimum(top + 1, _POINTS - 1)]
    return np.asarray(best)


def outwards(intercept: float) -> float:
    """A little more than `intercept`, to cover rounding and the end of the zoom."""
    return min(1.0, max(intercept, 0.0) * (1 + 1e-9) + 1e-16)


def _logit(p: float) -> float:
    return math.log(p) - math.log1p(-p)


def _expit(u: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0.0, -u)))
