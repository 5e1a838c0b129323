"""A number that a mechanism computed of its draws: a monotone function of a sum of draws, or of functions of them.

It answers comparisons at once, by a decision of the path. What is neither monotone nor a sum (a product of two draws,
a remainder) is made so by cases, or ends the path.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

import numpy as np

from refutedp.exact.families import last_where
from refutedp.exact.linear_sums import UNIT, Atom, Function, Linear, added, exponential, moved, numbers_of, plain
from refutedp.exact.trail import CannotEnumerate, Trail
from refutedp.tracing.rng_proxy import Traced

DEEPEST_FUNCTION = 20
"""Functions of a draw one after the other: each costs a call whenever the whole is inverted."""
WHOLE_STEPS = 8
"""Values on either side of the middle that are followed one by one where a whole number is wanted."""


Kind: TypeAlias = type[int] | type[float] | type[np.int64] | type[np.float64]
"""The type of number that the mechanism would have: Python's or NumPy's."""


def _joined(*operands: Any, whole: bool = True) -> Kind:
    """The type of what operands give together; of a division if it is not `whole`."""
    kinds = [one.kind if isinstance(one, DrawnNumber) else type(one) for one in operands]
    whole = whole and all(issubclass(kind, int | np.integer | np.bool_) for kind in kinds)
    if any(issubclass(kind, np.generic) for kind in kinds):
        return np.int64 if whole else np.float64
    return int if whole else float


class DrawnNumber(Traced):
    """`function(linear)` on one trail, of a `kind`: tests of its type are answered as those of the plain number."""

    __slots__ = ("depth", "function", "increases", "kind", "linear", "trail")
    __array_priority__ = 1000

    def __init__(
        self, trail: Trail, linear: Linear, kind: Kind, function: Function | None = None, increases: bool = True
    ) -> None:
        self.trail, self.linear, self.kind = trail, linear, kind
        self.function, self.increases = function, increases
        self.depth = 0
        """How many functions were applied one after the other."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # `isinstance(x, np.integer)` and the like.
        return self.kind

    @property
    def whole(self) -> bool:
        """Whether it is an integer by its type."""
        return self.kind in (int, np.int64)

    # --- Arithmetic ----------------------------------------------------------------------------------------------

    def _plus(self, other: Any, sign: float = 1.0) -> Any:
        number = plain(other)
        if number is not None:
            if number == 0 and _joined(self, other) is self.kind:
                return self
            if not math.isfinite(number):
                self._give_up("an infinite number is added")
            kind = _joined(self, other)
            if self.function is not None:
                return self.then(lambda t: t + sign * number, True, kind)
            return DrawnNumber(self.trail, moved(self.linear, sign * number), kind)
        if not isinstance(other, DrawnNumber):
            return NotImplemented
        both = self.trail.merged(added(self._summand(), other._summand(), sign))
        kind = _joined(self, other)
        return DrawnNumber(self.trail, both, kind) if both.terms else kind(both.plus)

    def _minus(self, other: DrawnNumber) -> Any:
        """Their difference, whose parts stay draws of their own: they may be compared with others."""
        if self.whole_linear or other.whole_linear:
            return self - other
        both = added(self._summand(), other._summand(), -1.0)
        return DrawnNumber(self.trail, both, float) if both.terms else both.plus

    def __add__(self, other: Any) -> Any:
        return self._plus(other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1.0)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._plus(other)

    def __neg__(self) -> Any:
        return self._times(-1)

    def __pos__(self) -> DrawnNumber:
        return self

    def _times(self, factor: Any, whole: bool = True) -> Any:
        number, kind = plain(factor), _joined(self, factor, whole=whole)
        assert number is not None
        if number == 0 or not math.isfinite(number):
            return kind(0 * number)
        if self.function is not None:
            return self.then(lambda t: t * number, number > 0, kind)
        linear = self.linear
        terms = tuple((atom, times * number) for atom, times in linear.terms)
        plus = linear.plus * number
        slack = linear.slack * abs(number) + UNIT * abs(plus) * (abs(number) != 1)
        return DrawnNumber(self.trail, Linear(terms, plus, slack), kind)

    def __mul__(self, other: Any) -> Any:
        number = plain(other)
        if number is not None:
            return self._times(other)
        if other is self:
            return self**2
        if not isinstance(other, DrawnNumber):
            return NotImplemented
        for one, rest in ((self, other), (other, self)):
            if one.few:
                return rest * one.value()
        return self._give_up("two draws are multiplied")

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        number = plain(other)
        if number is None:
            if isinstance(other, DrawnNumber) and other.few:
                return self / other.value()
            return self._give_up("it divides by a draw") if isinstance(other, DrawnNumber) else NotImplemented
        if number == 0:
            raise ZeroDivisionError("division by zero")
        if self.function is not None:
            return self.then(lambda t: t / number, number > 0, _joined(self, other, whole=False))
        return self._times(type(other)(1) / other, whole=False)

    def __rtruediv__(self, other: Any) -> Any:
        number = plain(other)
        if number is None:
            return NotImplemented
        sign = 1.0 if self > 0 else -1.0
        if sign < 0 and self == 0:
            raise ZeroDivisionError("division by zero")
        kind = _joined(self, other, whole=False)
        if number == 0:
            return kind(0)
        # At an end that is left out the divisor may be beyond zero, where the quotient would be on its other side.
        beyond = sign * math.copysign(math.inf, number)
        return self.then(lambda t: number / t if sign * t > 0 else beyond, number < 0, kind)

    def __floordiv__(self, other: Any) -> Any:
        number = plain(other)
        if number is None or number == 0:
            return self._give_up("it divides by a draw")
        return self.then(
            lambda t: t // number if math.isfinite(t) else t / number,
            number > 0,
            _joined(self, other),
        )

    def __mod__(self, other: Any) -> Any:
        number = plain(other)
        if number is None or number <= 0:
            return self._give_up("a remainder by a draw")
        return self - (self // other).value() * other

    def __pow__(self, power: Any) -> Any:
        number = plain(power)
        if not isinstance(number, int) or number < 1:
            return self._give_up("a power of a draw")
        kind = _joined(self, power)
        if number % 2:
            return self.then(lambda t: t**number, True, kind)
        # At an end that is left out the number may be beyond zero, where an even power would grow again.
        if self >= 0:
            return self.then(lambda t: max(t, 0.0) ** number, True, kind)
        return self.then(lambda t: min(t, 0.0) ** number, False, kind)

    def __and__(self, other: Any) -> Any:
        number = plain(other)
        if self.whole and isinstance(number, int) and number >= 0 and (number & (number + 1)) == 0:
            return self % (other + 1)
        return self._give_up("bits of a draw")

    __rand__ = __and__

    def __abs__(self) -> Any:
        if len(self.linear.terms) == 1 and not self.whole_linear:
            from refutedp.exact.absolute_number import AbsoluteNumber

            return AbsoluteNumber(self)
        return self if self >= 0 else -self

    # --- Functions -----------------------------------------------------------------------------------------------

    def then(self, function: Function, increases: bool, kind: Kind) -> DrawnNumber:
        """A monotone function of the number."""
        inner = self.function

        def composed(t: float) -> float:
            value = t if inner is None else inner(t)
            try:
                return float(function(value))
            except OverflowError:
                return math.inf if increases == (value > 0) else -math.inf
            except (ValueError, ZeroDivisionError):
                return math.nan

        upwards = self.increases == increases if inner is not None else increases
        result = DrawnNumber(self.trail, self.linear, kind, composed, bool(upwards))
        result.depth = self.depth + 1
        if result.depth > DEEPEST_FUNCTION:
            self._give_up("too many functions are applied to a draw")
        return result

    def exp(self) -> Any:
        """As `math.exp`."""
        return self.then(exponential, True, float)

    def expm1(self) -> Any:
        """As `math.expm1`."""
        return self.then(math.expm1, True, float)

    def log(self) -> Any:
        """As `math.log`, of what is positive."""
        if not self > 0:
            raise ValueError("math domain error")
        return self.then(lambda t: math.log(t) if t > 0 else -math.inf, True, float)

    def log1p(self) -> Any:
        """As `math.log1p`."""
        if not self > -1:
            raise ValueError("math domain error")
        return self.then(lambda t: math.log1p(t) if t > -1 else -math.inf, True, float)

    def sqrt(self) -> Any:
        """As `math.sqrt`."""
        if not self >= 0:
            raise ValueError("math domain error")
        return self.then(math.sqrt, True, float)

    def rounded(self, function: Callable[[float], Any], kind: Kind, digits: int = 0) -> Any:
        """A step function: round, floor, ceil or trunc; whole numbers stay unless tens are asked for."""
        return self.cast(kind) if self.whole and digits >= 0 else self.then(function, True, kind)

    def __round__(self, digits: int | None = None) -> Any:
        return self.rounded(lambda t: round(t, digits), int if digits is None else self.kind, digits or 0)

    def __floor__(self) -> Any:
        return self.rounded(math.floor, int)

    def __ceil__(self) -> Any:
        return self.rounded(math.ceil, int)

    def __trunc__(self) -> Any:
        return self.rounded(math.trunc, int)

    def rint(self) -> Any:
        """As `np.rint`."""
        return self.rounded(lambda t: float(np.rint(t)), np.float64)

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        """As `np.round`."""
        return self.rounded(lambda t: float(np.round(t, decimals)), np.float64, decimals)

    def clip(self, *ends: Any, **named: Any) -> Any:
        """As `np.clip`."""
        low, high = (*ends, None, None)[:2]
        low, high = (named.get(new, old) for new, old in (("min", low), ("max", high)))
        if low is not None and self < low:
            return low
        return high if high is not None and self > high else self

    def item(self) -> Any:
        """As that of a NumPy number; a Python number has none."""
        if not issubclass(self.kind, np.generic):
            raise AttributeError(f"'{self.kind.__name__}' object has no attribute 'item'")
        return self.cast(int if self.whole else float)

    def cast(self, kind: Kind) -> DrawnNumber:
        """The same number, of another type."""
        number = DrawnNumber(self.trail, self.linear, kind, self.function, self.increases)
        number.depth = self.depth
        return number

    @property
    def few(self) -> bool:
        """Whether it is a function of one draw that has few values."""
        terms = self.linear.terms
        return len(terms) == 1 and self.trail.draws[terms[0][0].draw].family.size <= 64

    def value(self) -> Any:
        """A plain whole number: a path for each of the likely ones."""
        if self.few:
            atom = self.linear.terms[0][0]
            drawn = self.trail.value_of(atom.draw)
            inner = self.linear.terms[0][1] * atom.at(drawn) + self.linear.plus
            value = inner if self.function is None else self.function(inner)
            return self.kind(value)
        if not self.whole and self.function is None:
            self._give_up("a plain number is wanted of a continuous draw")
        middle = self._middle()
        if self >= middle:
            known = next((middle + k for k in range(WHOLE_STEPS) if self < middle + k + 1), None)
        else:
            known = next((middle - k for k in range(1, WHOLE_STEPS) if self >= middle - k), None)
        if known is None:
            self._give_up("a plain number is wanted of a draw with many values")
        return self.kind(known)

    def _middle(self) -> int:
        draws = self.trail.draws
        value = self.at([draw.family.middle for draw in draws])
        return math.floor(value) if math.isfinite(value) else 0

    def at(self, values: list[float]) -> float:
        """Its value for these draws."""
        inner = self.linear.at(values)
        return inner if self.function is None else self.function(inner)

    # --- Comparisons ---------------------------------------------------------------------------------------------

    def at_most(self, end: float, strict: bool = False) -> bool:
        """Whether it is at most, or below, a number."""
        linear, bound, upwards, open_end = self.bound(end, strict)
        return self.trail.at_most(linear, bound, open_end) == upwards

    def bound(self, end: float, strict: bool) -> tuple[Linear, float, bool, bool]:
        """The linear part, and the number up to which (or beyond which) the whole is at most, or below, `end`.

        And whether that number itself is left out.
        """
        linear = self.linear
        if self.whole:
            end, strict = (math.ceil(end) - 1 if strict else math.floor(end)), False
        if self.function is None:
            return linear, end, True, strict
        function, low_high = self.function, self.trail.range(linear)
        if any(math.isnan(function(edge)) for edge in low_high):
            self._give_up("a function of a draw has no value")
        test = (lambda t: function(t) < end) if strict else (lambda t: function(t) <= end)
        bound = last_where(test, *low_high, self.increases)
        if self.whole_linear and math.isfinite(bound) and all(n.is_integer() for n in numbers_of(linear)):
            # Between two whole numbers, none of which is near.
            bound = math.floor(bound) + 0.5
        elif math.isfinite(bound):
            # Between neighbouring floats there is nothing but rounding.
            linear = Linear(linear.terms, linear.plus, linear.slack + math.ulp(bound))
        return linear, bound, self.increases, False

    @property
    def whole_linear(self) -> bool:
        """Whether the sum under the function is of whole numbers."""
        draws = self.trail.draws
        return all(draws[atom.draw].family.whole and atom.function is None for atom, _ in self.linear.terms)

    def _compare(self, other: Any, end_strict: bool, upwards: bool) -> Any:
        """`self <= other` (or below it), or the same of their negatives."""
        number = plain(other)
        if number is not None:
            if math.isnan(number):
                return False
            if math.isinf(number):
                return upwards == (number > 0)
            if upwards:
                return self.at_most(number, end_strict)
            return not self.at_most(number, not end_strict)
        if isinstance(other, DrawnNumber):
            same = self.linear.terms == other.linear.terms and self.function is other.function
            difference = None if same and self.linear.plus == other.linear.plus else self._minus(other)
            if isinstance(difference, DrawnNumber):
                return difference._compare(0, end_strict, upwards)
            gap = 0.0 if difference is None else difference
            return (gap < 0 if upwards else gap > 0) or (gap == 0 and not end_strict)
        return NotImplemented

    def __le__(self, other: Any) -> Any:
        return self._compare(other, False, True)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, True, True)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, False, False)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, True, False)

    def __eq__(self, other: Any) -> Any:
        if plain(other) is None and not isinstance(other, DrawnNumber):
            return False
        return bool(self <= other) and bool(self >= other)

    def __ne__(self, other: Any) -> Any:
        return not self == other

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __hash__(self) -> int:
        return hash(self.value()) if self.few or self.whole else self._give_up("a continuous draw as a key")

    def __index__(self) -> int:
        if not self.whole:
            raise TypeError("'float' object cannot be interpreted as an integer")
        return int(self.value())

    def __int__(self) -> int:
        return int(self.__trunc__().value())

    def __float__(self) -> float:
        if self.few:
            return float(self.value())
        return self._give_up("a plain float is wanted of a draw")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._give_up(f"it reads .{name} of a draw")

    def _summand(self) -> Linear:
        """The number as part of a sum."""
        if self.function is None:
            return self.linear
        if len(self.linear.terms) != 1:
            self._give_up("it adds functions of several draws")
        ((atom, times),) = self.linear.terms
        plus, outer = self.linear.plus, self.function

        def function(x: float) -> float:
            return outer(times * atom.at(x) + plus)

        increases = (times > 0) == self.increases
        return Linear(((Atom(atom.draw, function, increases == atom.increases), 1.0),))

    def _give_up(self, why: str) -> NoReturn:
        raise CannotEnumerate(why)
