"""What every claim can do: say the largest P1 it permits for a given P2, and reduce that bound to its tangents.

For an event E let P1 = P(M(d1) in E) and P2 = P(M(d2) in E). A claim about all adjacent pairs, in both orders and for
all events, permits exactly the points (P1, P2) of a convex set. Its upper border `largest` is concave and
nondecreasing, so it is the lower envelope of its tangents P1 <= slope P2 + intercept, and each tangent is an
(epsilon, delta)-guarantee with e^epsilon = slope and delta = intercept.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import starmap
from typing import Any, ClassVar, Self, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from refutedp.model.errors import UsageError
from refutedp.model.settings import number_from_zero, positive_number, small_probability

Floats: TypeAlias = NDArray[np.float64]

_REACH = 80.0
"""Probabilities are searched on the scale of log(p / (1 - p)), from e^-80 to 1 - e^-80."""
_ROUNDS = 7
_POINTS = 65
_NEARLY_ONE = 1 - 1e-15
_WEAKER, _STRIDE = 80, 1.04
"""How many ever weaker claims are tried after one that is rejected, and by how much each is weaker."""


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
    """A promise of privacy: a frozen dataclass of its numbers, each of which a mechanism may take as an argument.

    A subclass gives `_largest` and `str()`; it says in the class variables how it is called, and sharpens
    what it knows better. It registers itself, for saved files and the command line.
    """

    __slots__ = ()

    kinds: ClassVar[dict[str, type[Claim]]] = {}
    """Every kind of claim by its name."""
    letter: ClassVar[str] = "ε"
    """How reports call its parameter."""
    parameter: ClassVar[str] = ""
    """The number that is larger the weaker the claim is; "" where there is none."""
    of_epsilon: ClassVar[bool] = True
    """Whether its parameter is the epsilon of (epsilon, delta)-DP at `at_delta`."""
    by_pieces: ClassVar[bool] = False
    """Whether the pieces of a partition show far more together than events do."""
    options: ClassVar[tuple[str, ...]] = ()
    """The options of the command line that state it, without dashes; none where it cannot be stated there."""

    def __init_subclass__(cls) -> None:
        if not cls.__name__.startswith("_"):
            Claim.kinds[cls.__name__] = cls

    @abstractmethod
    def _largest(self, p2: Floats) -> Floats:
        """`largest` for an array."""

    @property
    def pure_epsilon(self) -> float | None:
        """The epsilon of P1 <= e^epsilon P2, where the claim says that and no more; None for all others."""
        return None

    @property
    def rough_epsilon(self) -> float:
        """About how much a pair may cost, for plans: the claim's own epsilon, or 1 where it has none."""
        return float(getattr(self, "epsilon", 1.0))

    @property
    def at_delta(self) -> float:
        """The delta at which epsilon is certified: the claim's own, if it has one."""
        return 1e-5

    @property
    def where(self) -> str:
        """Where its parameter holds, as reports say it: " at δ = 1e-05", say."""
        return ""

    def least(self, p1: Floats, p2: Floats) -> Floats:
        """The least parameter of a claim of this kind that permits events with these rates, elementwise."""
        return smallest_epsilon(p1, p2, self.at_delta)

    def least_for_pieces(self, p1: Floats, p2: Floats) -> Floats:
        """The same for the pieces of a partition, along the last axis; here by the one that shows the most."""
        return np.asarray(self.least(p1, p2).max(axis=-1))

    def weaker(self) -> Iterator[tuple[float, Claim]]:
        """The claim and ever weaker ones of its kind with their parameters, on a ladder that looks at no runs."""
        for step in range(_WEAKER if self.parameter else 0):
            value = self._weakened(step)
            yield value, replace(self, **{self.parameter: value})  # type: ignore[type-var]

    def _weakened(self, step: int) -> float:
        return float(getattr(self, self.parameter)) * _STRIDE**step

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
        low, high = expit(np.array([u - 1e-4, u + 1e-4]))
        p1 = self._largest(np.array([low, high]))
        slope = max(float((p1[1] - p1[0]) / (high - low)), 1e-12)
        return Tangent(slope, outwards(float(suprema(self._largest, np.array([slope]))[0])))

    def tangents(self) -> tuple[Tangent, ...]:
        """Tangents that together describe the bound; here at probabilities from 1e-9 to 1 - 1e-3."""
        return tuple(starmap(Tangent, np.transpose(self.tangents_at(expit(np.linspace(-20.7, 6.9, 33)))).tolist()))

    def tangents_near(self, p2: float) -> tuple[Tangent, ...]:
        """Tangents among which one is nearly the best for events of about this rate."""
        around = _logit(p2) + np.linspace(-2.5, 2.5, 11)
        return tuple(starmap(Tangent, np.transpose(self.tangents_at(1 / (1 + np.exp(-around)))).tolist()))

    def upper_curve(self, low: float, high: float) -> Callable[[Floats], Floats]:
        """A function that is never below `largest`, hardly above it between `low` and `high`, and quick."""
        return self.largest

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
        return bisected(lambda epsilon: self.delta_at(epsilon) <= delta, low, high, close=5e-8 * high)[1]

    def stated(self) -> dict[str, Any]:
        """The keywords of `check` and `recheck` that state it, as plain data."""
        return {"claim": self.to_dict()}

    def on_command_line(self) -> list[str]:
        """The words of the command line that state it.

        >>> from refutedp.model.claims import ApproxDP
        >>> ApproxDP(1, 1e-5).on_command_line()
        ['--epsilon', '1', '--delta', '1e-05']
        """
        return [word for name in self.options for word in (f"--{name}", f"{getattr(self, name):g}")]

    @classmethod
    def from_options(cls, **given: Any) -> Self:
        """The claim that these options of the command line state."""
        return cls(**given)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, read back by `claim_from_dict`."""
        return {"claim": type(self).__name__, **{f.name: getattr(self, f.name) for f in fields(self)}}  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """The claim with these saved numbers."""
        try:
            return cls(**saved)
        except TypeError as error:
            given = ", ".join(sorted(saved)) or "none"
            raise UsageError(f"the saved {cls.__name__} has the wrong fields: {given}") from error


def claim_from_dict(saved: Mapping[str, Any]) -> Claim:
    """The claim that `to_dict` saved.

    >>> from refutedp.model.claims import ZCDP
    >>> claim_from_dict(ZCDP(0.5).to_dict())
    ZCDP(rho=0.5)
    """
    rest = dict(saved)
    name = rest.pop("claim", None)
    kind = Claim.kinds.get(name) if isinstance(name, str) else None
    if kind is None:
        raise UsageError(f"{name!r} is a claim that this version does not know")
    return kind.from_dict(rest)


def smallest_epsilon(p1: Floats, p2: Floats, delta: float) -> Floats:
    """The least epsilon >= 0 of an (epsilon, delta)-claim that permits events with these rates, elementwise."""
    # A rate of exactly one would make the complement's bound infinite; no counts exclude every other rate.
    p1 = np.minimum(p1, _NEARLY_ONE)
    own = np.log(np.maximum(p1 - delta, 1e-300)) - np.log(np.maximum(p2, 1e-300))
    complement = np.log(np.maximum(1 - p2 - delta, 1e-300)) - np.log1p(-p1)
    return np.asarray(np.maximum(np.maximum(own, complement), 0.0))


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
        p = expit(grid)
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


def expit(u: Floats) -> Floats:
    """The probabilities with these log odds."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -u)))


def bisected(
    beyond: Callable[[float], bool],
    low: float,
    high: float,
    halvings: int = 80,
    close: float = 0.0,
    mean: Callable[[float, float], float] = lambda low, high: (low + high) / 2,
) -> tuple[float, float]:
    """The ends of the interval in which `beyond` turns true, after so many halvings or once it is `close`.

    >>> low, high = bisected(lambda x: x * x > 2, 0.0, 2.0, close=0.01)
    >>> low**2 <= 2 < high**2, high - low <= 0.01
    (True, True)
    """
    while halvings and high - low > close:
        middle = mean(low, high)
        low, high = (low, middle) if beyond(middle) else (middle, high)
        halvings -= 1
    return low, high


def all_bisected(
    beyond: Callable[[Floats], NDArray[np.bool_]], low: Floats, high: Floats, halvings: int
) -> tuple[Floats, Floats]:
    """The same for every element of two arrays."""
    for _ in range(halvings):
        middle = (low + high) / 2
        past = beyond(middle)
        low, high = np.where(past, low, middle), np.where(past, middle, high)
    return low, high


class _TwoLines(Claim):
    """What both share: the largest P1 obeys the claim, and its form for the complement with the inputs exchanged."""

    __slots__ = ()

    epsilon: float
    parameter: ClassVar[str] = "epsilon"

    @property
    def at_delta(self) -> float:
        return float(getattr(self, "delta", 0.0))

    @property
    def pure_epsilon(self) -> float | None:
        return None if self.at_delta else self.epsilon

    def _largest(self, p2: Floats) -> Floats:
        own = math.exp(min(self.epsilon, 700.0)) * p2 + self.at_delta
        complement = 1 - math.exp(-self.epsilon) * np.maximum(1 - self.at_delta - p2, 0.0)
        return np.minimum(np.minimum(own, complement), 1.0)

    def tangent_at(self, p2: float) -> Tangent:
        return min(self.tangents(), key=lambda line: line.slope * p2 + line.intercept)

    def tangents(self) -> tuple[Tangent, ...]:
        shrink = math.exp(-self.epsilon)
        own = Tangent(math.exp(min(self.epsilon, 700.0)), self.at_delta)
        return (own, Tangent(shrink, 1 - shrink * (1 - self.at_delta)))

    def tangents_near(self, p2: float) -> tuple[Tangent, ...]:
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

    def stated(self) -> dict[str, Any]:
        """By its epsilon."""
        return {"epsilon": self.epsilon}

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
    def where(self) -> str:
        """At its delta."""
        return f" at δ = {self.delta:g}"

    def _weakened(self, step: int) -> float:
        # A small epsilon, which may be zero, grows by steps.
        return self.epsilon + 0.02 * step if self.epsilon < 0.5 else Claim._weakened(self, step)

    def __str__(self) -> str:
        return f"({self.epsilon:g}, {self.delta:g})-differential privacy"
