"""Rényi and zero-concentrated differential privacy: bounds on the Rényi divergences between two coins.

An event is a binary post-processing of the output, so by the data-processing inequality a bound on the Rényi
divergence of the outputs bounds that of Bernoulli(P1) from Bernoulli(P2); and as the coins are outputs of a mechanism
too, nothing sharper holds. p^a q^(1-a) is jointly convex for a > 1, so the permitted set is convex.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.model.claims.claim import Claim, Floats, Tangent, all_bisected, expit, outwards
from refutedp.model.errors import UsageError
from refutedp.model.settings import order_above_one, positive_number, small_probability

_ORDERS = 40
_REFINED = 9
_EDGE = 1e-12
_HALVINGS = 52
_NODES = 25
"""Tangents that stand for the border on a stretch of rates."""
Sides: TypeAlias = tuple[Floats, Floats]
"""log P and log(1 - P) of a coin: nothing is lost for probabilities near zero or one."""


def _log_sides(logit: Floats) -> Sides:
    return -np.logaddexp(0.0, -logit), -np.logaddexp(0.0, logit)


def divergence(p: Sides, q: Sides, alpha: Floats) -> Floats:
    """The larger of D_alpha(P || Q) and D_alpha(Q || P)."""
    one, other = (
        np.logaddexp(alpha * x + (1 - alpha) * y, alpha * not_x + (1 - alpha) * not_y)
        for (x, not_x), (y, not_y) in ((p, q), (q, p))
    )
    return np.asarray(np.maximum(one, other) / (alpha - 1))


def largest_logit(logit_q: Floats, alpha: Floats, bound: Floats) -> Floats:
    """The log odds of the largest P with both divergences at most `bound`, rounded up; arguments broadcast.

    Bisection: for P >= Q both divergences grow with P. The upper end is returned, so the point lies on the border or
    a hair outside, and a tangent there holds everything that is permitted.
    """
    logit_q, alpha, bound = np.broadcast_arrays(logit_q, alpha, bound)
    sides = _log_sides(logit_q)
    # Within the border log(P/Q) <= bound alpha/(alpha - 1) - log(Q)/alpha, and the odds of 1 - P are bounded alike.
    high = np.full(logit_q.shape, 750.0)
    return all_bisected(
        lambda middle: ~(divergence(_log_sides(middle), sides, alpha) <= bound), logit_q, high, _HALVINGS
    )[1]


def slope_at(logit_p: Floats, logit_q: Floats, alpha: Floats) -> Floats:
    """dP/dQ along the level line of the larger divergence through these coins."""
    (log_p, log_not_p), (log_q, log_not_q) = _log_sides(logit_p), _log_sides(logit_q)
    log_r, log_m = log_p - log_q, log_not_p - log_not_q
    one = np.logaddexp(alpha * log_r + log_q, alpha * log_m + log_not_q)
    other = np.logaddexp((1 - alpha) * log_r + log_q, (1 - alpha) * log_m + log_not_q)
    gap = log_m - log_r  # negative: the event is likelier under P
    ratio = np.expm1(alpha * gap) / np.expm1((alpha - 1) * gap)
    first = np.exp(log_r) * ratio * (alpha - 1) / alpha
    second = np.exp(log_m) / ratio * alpha / (alpha - 1)
    return np.asarray(np.where(one >= other, first, second))


class _BoundsDivergence(Claim):
    """What claims about Rényi divergences share: everything follows from the border of what they permit."""

    __slots__ = ()

    of_epsilon: ClassVar[bool] = False

    @abstractmethod
    def _border(self, logit_q: Floats) -> tuple[Floats, Floats]:
        """The largest log odds of P1 for those of P2, and the order that binds there."""

    def _largest(self, p2: Floats) -> Floats:
        logit, _ = self._border(_logits(p2))
        return np.where(p2 <= 0, 0.0, np.where(p2 >= 1, 1.0, expit(logit)))

    def tangent_at(self, p2: float) -> Tangent:
        """From the gradient of the divergence of the binding order, on the border or a hair outside it."""
        slopes, intercepts = self.tangents_at(np.array([p2]))
        return Tangent(float(slopes[0]), float(intercepts[0]))

    def tangents_at(self, p2: Floats) -> tuple[Floats, Floats]:
        """Slopes and intercepts of many tangents at once."""
        logit_q = _logits(p2)
        logit_p, alpha = self._border(logit_q)
        slopes = slope_at(logit_p, logit_q, alpha)
        intercepts = expit(logit_p) - slopes * expit(logit_q)
        return slopes, np.array([outwards(float(one)) for one in intercepts])

    def upper_curve(self, low: float, high: float) -> Callable[[Floats], Floats]:
        """The lower envelope of some tangents, for each value of `largest` costs many divergences."""
        first, last = (math.asin(math.sqrt(p)) for p in (max(low, 1e-9 * high), high))
        nodes = np.sin(np.linspace(first, last, _NODES)) ** 2
        slopes, intercepts = self.tangents_at(np.clip(nodes, 1e-300, 1 - 1e-9))

        def bound(p2: Floats) -> Floats:
            return np.asarray(np.minimum((slopes * p2[..., None] + intercepts).min(axis=-1), 1.0))

        return bound

    def delta_at(self, epsilon: float) -> float:
        """Where the tangents on both sides of slope e^epsilon meet: exact on a smooth border and at its corner."""
        slope = math.exp(min(epsilon, 700.0))
        p2, p1 = self._crossing(lambda slopes, _: slopes <= slope)
        return min(1.0, max(0.0, p1 - slope * p2))

    def epsilon_at(self, delta: float) -> float:
        """The logarithm of the slope of the tangent whose intercept is `delta`: the exact conversion.

        Never weaker than the conversions of Mironov 2017 (Prop. 3), of Bun & Steinke 2016 (Prop. 1.3) and of "The
        Discrete Gaussian for Differential Privacy" (Canonne, Kamath & Steinke 2020, Prop. 12 and Cor. 13): the
        supremum of P1 - e^epsilon P2 over the coins that the divergence permits ("Three Variants of Differential
        Privacy", Asoodeh et al. 2021).

        >>> round(RenyiDP(8, 0.5).epsilon_at(1e-5), 5), round(ZCDP(0.5).epsilon_at(1e-5), 5)
        (1.70973, 4.72841)
        """
        small_probability("delta", delta)
        if delta <= 0:
            return math.inf
        p2, p1 = self._crossing(lambda _, intercepts: intercepts > delta)
        return max(0.0, math.log((p1 - delta) / p2))

    def _crossing(self, holds: Callable[[Floats, Floats], NDArray[np.bool_]]) -> tuple[float, float]:
        """P2 and P1 where two tangents cross: the last, as P2 grows, for which `holds` is false, and the next.

        Along the border slopes fall and intercepts grow; all that is permitted between the two lies below the point.
        """
        low, high = -600.0, 27.0
        for _ in range(8):
            grid = np.linspace(low, high, 33)
            slopes, intercepts = self.tangents_at(expit(grid))
            true = np.flatnonzero(holds(slopes, intercepts))
            right = max(int(true[0]) if len(true) else 32, 1)
            low, high = grid[right - 1], grid[right]
        slope, intercept = float(slopes[right - 1]), float(intercepts[right - 1])
        gap, rise = slope - float(slopes[right]), float(intercepts[right]) - intercept
        p2 = rise / gap if gap > 0 and rise > 0 else 0.0
        p2 = p2 if p2 > 0 else 1e-300
        return p2, slope * p2 + intercept


@dataclass(frozen=True, slots=True)
class RenyiDP(_BoundsDivergence):
    """Rényi differential privacy: D_alpha(M(d1) || M(d2)) <= epsilon, for both orders of adjacent inputs.

    "Rényi Differential Privacy", Mironov 2017. What it permits for one event is exact.

    >>> round(RenyiDP(2, 0.5).largest(0.1), 4)
    0.3416
    >>> print(RenyiDP(2, 0.5))
    (2, 0.5)-Rényi differential privacy
    """

    alpha: float
    epsilon: float
    parameter: ClassVar[str] = "epsilon"
    by_pieces: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ("renyi",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", order_above_one("alpha", self.alpha))
        object.__setattr__(self, "epsilon", positive_number("epsilon", self.epsilon))

    def _border(self, logit_q: Floats) -> tuple[Floats, Floats]:
        alpha = np.full_like(logit_q, self.alpha)
        return largest_logit(logit_q, alpha, np.array(self.epsilon)), alpha

    @property
    def where(self) -> str:
        """At its order."""
        return f" at α = {self.alpha:g}"

    def least(self, p1: Floats, p2: Floats) -> Floats:
        """The divergence of its order between the two coins.

        >>> round(float(RenyiDP(2, 1.0).least(RenyiDP(2, 0.5).largest(np.array([0.1])), np.array([0.1]))[0]), 6)
        0.5
        """
        p, q = _log_sides(_logits(np.maximum(p1, p2))), _log_sides(_logits(p2))
        return np.where(p1 > p2, np.maximum(divergence(p, q, np.array([self.alpha])), 0.0), 0.0)

    def least_for_pieces(self, p1: Floats, p2: Floats) -> Floats:
        """The divergence of its order between the two distributions over the pieces, P1 from P2.

        Two pieces show less than three: of Gaussian noise and a small epsilon 2/pi of the divergence.

        >>> p1, p2 = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
        >>> round(float(RenyiDP(2, 1.0).least_for_pieces(p1, p2)), 4)
        0.4886
        """
        with np.errstate(divide="ignore"):
            terms = self.alpha * np.log(p1) + (1 - self.alpha) * np.log(p2)
        return np.asarray(np.logaddexp.reduce(terms, axis=-1) / (self.alpha - 1))

    def on_command_line(self) -> list[str]:
        """Order and epsilon in one word.

        >>> RenyiDP(2.0, 0.5).on_command_line()
        ['--renyi', '2:0.5']
        """
        return ["--renyi", f"{self.alpha:g}:{self.epsilon:g}"]

    @classmethod
    def from_options(cls, **given: Any) -> RenyiDP:
        """The same, read."""
        order, _, bound = given["renyi"].partition(":")
        try:
            numbers = float(order), float(bound)
        except ValueError:
            shown = given["renyi"]
            raise UsageError(f"--renyi {shown!r} must be an order and an epsilon, such as --renyi 2:0.5") from None
        return cls(*numbers)

    def __str__(self) -> str:
        return f"({self.alpha:g}, {self.epsilon:g})-Rényi differential privacy"


@dataclass(frozen=True, slots=True)
class ZCDP(_BoundsDivergence):
    """Zero-concentrated differential privacy: D_alpha(M(d1) || M(d2)) <= rho alpha for every alpha > 1.

    "Concentrated Differential Privacy: Simplifications, Extensions, and Lower Bounds", Bun & Steinke 2016. The bound
    is the least over a fine choice of orders; each order alone is implied by the claim, so it is never too strict.

    >>> round(ZCDP(0.5).largest(0.1), 4)
    0.4837
    >>> print(ZCDP(0.5))
    0.5-zCDP
    """

    rho: float
    letter: ClassVar[str] = "ρ"
    parameter: ClassVar[str] = "rho"
    options: ClassVar[tuple[str, ...]] = ("rho",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive_number("rho", self.rho))

    def _border(self, logit_q: Floats) -> tuple[Floats, Floats]:
        far = 4 * (1 + math.sqrt(750 / self.rho))
        orders = 1 + np.geomspace(1e-3, far, _ORDERS)
        step = math.log(far / 1e-3) / (_ORDERS - 1)
        coarse = largest_logit(logit_q[:, None], orders[None, :], self.rho * orders[None, :])
        middle = orders[np.argmin(coarse, axis=1)] - 1
        rows = np.arange(len(middle))
        for width in (step, step / 3):
            near = 1 + middle[:, None] * np.exp(np.linspace(-width, width, _REFINED))[None, :]
            fine = largest_logit(logit_q[:, None], near, self.rho * near)
            best = np.argmin(fine, axis=1)
            middle = near[rows, best] - 1
        return fine[rows, best], near[rows, best]

    def least(self, p1: Floats, p2: Floats) -> Floats:
        """The supremum of D_alpha / alpha between the two coins.

        Found by zooming in on the order; what is found is reached, so the value is never too large.

        >>> round(float(ZCDP(1.0).least(ZCDP(0.5).largest(np.array([0.1])), np.array([0.1]))[0]), 4)
        0.5
        """
        first, second = (_logits(np.maximum(p1, p2))[:, None], _logits(p2)[:, None])
        p, q = _log_sides(first), _log_sides(second)
        low, high = np.full_like(first, math.log(1e-4)), np.full_like(first, math.log(1e7))
        best = np.zeros(len(first))
        steps = np.linspace(0.0, 1.0, 17)[None, :]
        for _ in range(7):
            grid = low + (high - low) * steps
            orders = 1 + np.exp(grid)
            values = divergence(p, q, orders) / orders
            top = np.argmax(values, axis=1)[:, None]
            best = np.maximum(best, values.max(axis=1))
            low, high = (np.take_along_axis(grid, np.clip(top + d, 0, 16), axis=1) for d in (-1, 1))
        return np.where(p1 > p2, best, 0.0)

    def __str__(self) -> str:
        return f"{self.rho:g}-zCDP"


def _logits(p: Floats) -> Floats:
    inside = np.clip(p, 1e-300, 1 - _EDGE)
    return np.asarray(np.log(inside) - np.log1p(-inside))
