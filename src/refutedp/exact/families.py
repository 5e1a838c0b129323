"""Distributions of single draws in standard form: probabilities of intervals, with bounds on the error of floats.

Continuous draws are real numbers here. What a generator makes of 53 random bits is not asked: evidence that rests on
these probabilities holds up to rounding, and says so.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

Tail: TypeAlias = Callable[[float], float]

ERROR = 2e-12
"""Relative error of a distribution function here, at most.

An argument is right to a few units of the last place (2e-16), which exp and erfc multiply by the logarithm of their
result: at most 745 for a number that is not zero, or 2 × 745 where it is squared. That makes 4e-13; what the
functions themselves add is smaller.
"""
REACH = 36.0
"""Uniform numbers of 53 bits reach tails of e^-36.7: lower bounds count no draw that a generator may never make."""
NORMAL_REACH = 8.5
"""Where normal and Rayleigh tails have that probability."""
MOST_VALUES = 64
"""Values of a discrete draw that may be followed one by one."""


class Enclosure(NamedTuple):
    """A number between two floats."""

    low: float
    high: float

    def __mul__(self, other: Any) -> Enclosure:
        """Of numbers that are not negative."""
        return Enclosure(_down(self.low * other.low), _up(self.high * other.high))

    def __add__(self, other: Any) -> Enclosure:
        return Enclosure(_down(self.low + other.low), _up(self.high + other.high))


NONE, ALL = Enclosure(0.0, 0.0), Enclosure(1.0, 1.0)


def _down(value: float) -> float:
    return 0.0 if value <= 0 else math.nextafter(value, 0.0)


def _up(value: float) -> float:
    # A product that is too small for a float is not zero.
    return 0.0 if value == 0 else math.nextafter(value, math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class DrawFamily:
    """One distribution: `cdf(x)` is P(X <= x), `sf(x)` is P(X > x), each right to `ERROR` of its value.

    `density` is None where draws are whole numbers. `kinks` are points where the density is not smooth.
    """

    name: str
    cdf: Tail
    sf: Tail
    low: float
    high: float
    density: Tail | None = None
    kinks: tuple[float, ...] = ()
    middle: float = 0.0
    mode: float = 0.0
    parameter: float = 0.0

    @property
    def whole(self) -> bool:
        """Whether draws are whole numbers."""
        return self.density is None

    @property
    def size(self) -> float:
        """How many values a draw can have."""
        return self.high - self.low + 1 if self.whole else math.inf

    def mass(self, low: float, high: float) -> Enclosure:
        """The probability of low <= X <= high; the lower bound is that of draws within reach.

        >>> low, high = family("laplace").mass(15.0, math.inf)
        >>> low < math.exp(-15) / 2 < high
        True
        """
        whole, (first, last) = self._mass(low, high), self.reach
        if low >= first and high <= last:
            return whole
        if low > last or high < first:
            return Enclosure(0.0, whole.high)
        return Enclosure(self._mass(max(low, first), min(high, last)).low, whole.high)

    def _mass(self, low: float, high: float) -> Enclosure:
        if self.whole:
            low, high = (
                math.ceil(low) - 1 if math.isfinite(low) else low,
                math.floor(high) if high < math.inf else high,
            )
        low, high = max(low, self.low - self.whole), min(high, self.high)
        if not low < high:
            return NONE
        if low >= self.middle:
            large, small = self.sf(low), self.sf(high) if high < math.inf else 0.0
        elif high <= self.middle:
            large, small = self.cdf(high), self.cdf(low) if low > -math.inf else 0.0
        else:
            outside = (self.cdf(low) if low > -math.inf else 0.0) + (self.sf(high) if high < math.inf else 0.0)
            large, small = 1.0, outside
        if large == 1.0 and small == 0.0:
            return ALL
        most = min(large - small + ERROR * large, 1.0)
        if self.density is not None and most > 1e3 * (high - low):
            # The difference of nearly equal numbers says little: no density is larger than that nearest to the mode.
            nearest = min(max(self.mode, low), high)
            most = min(most, (high - low) * self.density(nearest) * (1 + 1e-9))
        return Enclosure(max(large - small - ERROR * large, 0.0), most)

    @property
    def reach(self) -> tuple[float, float]:
        """Between which draws every generator gets."""
        if self.name in ("normal", "rayleigh"):
            return -NORMAL_REACH, NORMAL_REACH
        if self.name == "gumbel":
            return -math.log(REACH), REACH
        if self.name in ("geometric", "two-sided geometric"):
            far = math.floor(REACH / -math.log1p(-self.parameter)) if self.parameter < 1 else 1
            return -far, far
        if self.name == "binomial":
            low, high = (_quantile(self, sign) for sign in (-1.0, 1.0))
            return low, high
        return (-REACH, REACH) if self.name in ("laplace", "exponential", "logistic") else (-math.inf, math.inf)

    @lru_cache(maxsize=1024)  # noqa: B019 - families are few, and kept
    def point(self, low: float, high: float) -> float:
        """A value inside the interval that has about half of its probability on either side."""
        low, high = max(low, self.low), min(high, self.high)
        half = self.mass(low, high).high / 2
        start = low if low > -math.inf else -1e300
        value = last_where(lambda x: self.mass(low, x).high < half, start, min(high, 1e300), True)
        if self.whole:
            return min(max(float(math.floor(value) + 1), low), high)
        value = math.nextafter(value, math.inf)
        return value if low < value < high or low == high else (low + high) / 2


@lru_cache(maxsize=256)
def _quantile(family: DrawFamily, sign: float) -> float:
    """The last whole number whose tail is within reach."""
    least, values = math.exp(-REACH), range(int(family.low), int(family.high) + 1)
    if sign > 0:
        return float(max(k for k in values if family.sf(k - 1) > least))
    return float(min(k for k in values if family.cdf(k) > least))


def last_where(holds: Callable[[float], bool], low: float, high: float, increases: bool) -> float:
    """The last float of an interval for which a test of an increasing function holds; before it, where it decreases.

    For a function that decreases, the last float for which the test does not hold yet. An end below `low` says that
    there is none.

    >>> last_where(lambda x: x * x <= 9, 0.0, 100.0, True)
    3.0
    """
    if holds(low) != increases:
        return math.nextafter(low, -math.inf)
    if holds(high) == increases:
        return high
    first, last = _order(low), _order(high)
    while last - first > 1:
        middle = (first + last) // 2
        if holds(_float(middle)) == increases:
            first = middle
        else:
            last = middle
    return _float(first)


def _order(value: float) -> int:
    """Floats as whole numbers in the same order."""
    bits: int = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]
    return bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF)


def _float(order: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", abs(order)))[0]
    return value if order >= 0 else -value


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else math.inf


_ROOT = math.sqrt(2.0)
_CONTINUOUS = {
    "laplace": DrawFamily(
        "laplace",
        lambda x: math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2,
        lambda x: math.exp(-x) / 2 if x > 0 else 1 - math.exp(x) / 2,
        -math.inf,
        math.inf,
        lambda x: math.exp(-abs(x)) / 2,
        (0.0,),
    ),
    "normal": DrawFamily(
        "normal",
        lambda x: math.erfc(-x / _ROOT) / 2,
        lambda x: math.erfc(x / _ROOT) / 2,
        -math.inf,
        math.inf,
        lambda x: math.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    ),
    "uniform": DrawFamily("uniform", lambda x: x, lambda x: 1 - x, 0.0, 1.0, lambda x: float(0 <= x <= 1), (), 0.5),
    "exponential": DrawFamily(
        "exponential",
        lambda x: -math.expm1(-x),
        lambda x: math.exp(-x),
        0.0,
        math.inf,
        lambda x: math.exp(-x) if x >= 0 else 0.0,
        (),
        math.log(2),
    ),
    "gumbel": DrawFamily(
        "gumbel",
        lambda x: math.exp(-_exp(-x)),
        lambda x: -math.expm1(-_exp(-x)),
        -math.inf,
        math.inf,
        lambda x: math.exp(-x - _exp(-x)) if x > -700 else 0.0,
    ),
    "logistic": DrawFamily(
        "logistic",
        lambda x: 1 / (1 + _exp(-x)),
        lambda x: 1 / (1 + _exp(x)),
        -math.inf,
        math.inf,
        lambda x: 1 / (2 + 2 * math.cosh(x)) if abs(x) < 700 else 0.0,
    ),
    "cauchy": DrawFamily(
        "cauchy",
        lambda x: math.atan2(1.0, -x) / math.pi,
        lambda x: math.atan2(1.0, x) / math.pi,
        -math.inf,
        math.inf,
        lambda x: 1 / (math.pi * (1 + x * x)),
    ),
    "rayleigh": DrawFamily(
        "rayleigh",
        lambda x: -math.expm1(-x * x / 2),
        lambda x: math.exp(-x * x / 2),
        0.0,
        math.inf,
        lambda x: x * math.exp(-x * x / 2) if x >= 0 else 0.0,
        (),
        1.2,
        1.0,
    ),
}


def family(name: str) -> DrawFamily:
    """A continuous distribution of location 0 and scale 1 by its name."""
    return _CONTINUOUS[name]


def _from_table(name: str, low: int, chances: tuple[float, ...]) -> DrawFamily:
    """A distribution of few whole numbers from `low` on, by their probabilities."""
    below = [0.0]
    for chance in chances:
        below.append(math.fsum((below[-1], chance)))
    above = [0.0]
    for chance in reversed(chances):
        above.append(math.fsum((above[-1], chance)))
    above.reverse()
    middle = next((k for k in range(len(chances)) if below[k + 1] >= 0.5), 0)

    def place(x: float) -> int:
        return min(max(math.floor(x) - low + 1, 0), len(chances))

    return DrawFamily(
        name, lambda x: below[place(x)], lambda x: above[place(x)], low, low + len(chances) - 1, middle=low + middle
    )


@lru_cache(maxsize=256)
def among(chances: tuple[float, ...]) -> DrawFamily:
    """The index of one of several things, by their probabilities."""
    total = math.fsum(chances)
    return _from_table("choice", 0, tuple(chance / total for chance in chances))


@lru_cache(maxsize=256)
def equally(count: int) -> DrawFamily:
    """A whole number from 0 to count - 1, each as likely.

    >>> equally(10).mass(8, math.inf).low < 0.2 < equally(10).mass(8, math.inf).high
    True
    """
    return DrawFamily(
        "integers",
        lambda x: (math.floor(x) + 1) / count,
        lambda x: (count - 1 - math.floor(x)) / count,
        0,
        count - 1,
        middle=(count - 1) // 2,
    )


@lru_cache(maxsize=256)
def geometric(p: float) -> DrawFamily:
    """The number of trials up to the first success."""
    step = math.log1p(-p) if p < 1 else -math.inf

    def sf(x: float) -> float:
        return 1.0 if x < 1 else math.exp(math.floor(x) * step)

    def cdf(x: float) -> float:
        return 0.0 if x < 1 else -math.expm1(math.floor(x) * step)

    middle = max(1, math.ceil(-math.log(2) / step))
    return DrawFamily("geometric", cdf, sf, 1, math.inf if p < 1 else 1, middle=middle, parameter=p)


def difference(one: DrawFamily) -> DrawFamily | None:
    """The distribution of the difference of two such draws, where it is in the table."""
    if one.name == "exponential":
        return family("laplace")
    return _two_sided(one.parameter) if one.name == "geometric" and one.parameter < 1 else None


@lru_cache(maxsize=256)
def _two_sided(p: float) -> DrawFamily:
    """Geometric noise on both sides: P(X = k) = p / (2 - p) (1 - p)^|k|."""
    step, tail = math.log1p(-p), 1 / (2 - p)

    def beyond(k: float) -> float:
        """P(X >= k) for k >= 1, or P(X <= -k)."""
        return tail * math.exp(k * step)

    def cdf(x: float) -> float:
        k = math.floor(x)
        return beyond(-k) if k < 0 else 1 - beyond(k + 1)

    def sf(x: float) -> float:
        k = math.floor(x)
        return beyond(k + 1) if k >= 0 else 1 - beyond(-k)

    return DrawFamily("two-sided geometric", cdf, sf, -math.inf, math.inf, parameter=p)


@lru_cache(maxsize=256)
def binomial(n: int, p: float) -> DrawFamily:
    """Successes in n trials."""
    if p in (0.0, 1.0):
        return _from_table("binomial", int(n * p), (1.0,))
    logs = (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1))
    return _from_table(
        "binomial",
        0,
        tuple(math.exp(log + k * math.log(p) + (n - k) * math.log1p(-p)) for k, log in enumerate(logs)),
    )
