"""Numbers and truths a mechanism computes with while it is followed.

A `Number` is a Z3 term (it depends on an argument that is searched) or a plain number that is watched because a
noise draw or an argument went into it: then it computes exactly what Python computes. Comparing gives a `Truth`;
asking a `Truth` for its value is what the run records as a branch, and forks on when both answers are possible.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
import z3

from refutedp.inputs.arguments import terms
from refutedp.inputs.arguments.following import CannotFollow, FollowedRun, NeedsFloat
from refutedp.inputs.arguments.operators import Arithmetic, Operation
from refutedp.inputs.arguments.sites import asking_site, location
from refutedp.tracing.rng_proxy import Traced

LARGEST_EXPONENT = 8


class Watched(Arithmetic, Traced):
    """What numbers and truths share."""

    __slots__ = ()

    def _compute(self, operation: Operation, left: Any, right: Any) -> Any:
        return compute(operation, left, right)

    def _compare(self, operation: Operation, left: Any, right: Any) -> Any:
        return compare(operation, left, right)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        from refutedp.inputs.arguments.arrays_of_terms import apply_ufunc

        return apply_ufunc(ufunc, method, inputs, keywords)


class Number(Watched):
    """A number under watch: `value` is a plain number or a Z3 term, `noisy` says that a draw went into it."""

    __slots__ = ("noisy", "run", "value")

    def __init__(self, run: FollowedRun, value: Any, noisy: bool = False) -> None:
        self.run = run
        self.value = value
        self.noisy = noisy

    # Mechanisms check arguments with isinstance(x, float): a watched number answers as what it stands for.
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        if terms.is_term(self.value):
            return int if self.value.is_int() else float
        return type(self.value)

    def _apply(self, plain: Callable[[Any], Any], symbolic: Callable[[Any], Any]) -> Any:
        result = symbolic(self.value) if terms.is_term(self.value) else plain(self.value)
        return Number(self.run, result, self.noisy)

    def __neg__(self) -> Any:
        return self._apply(operator.neg, operator.neg)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self._apply(abs, terms.absolute)

    def __floor__(self) -> Any:
        return self._apply(math.floor, terms.floor)

    def __ceil__(self) -> Any:
        return self._apply(math.ceil, terms.ceil)

    def __trunc__(self) -> Any:
        return self._apply(math.trunc, terms.truncate)

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            return self._apply(round, terms.round_half_even)
        unit = terms.constant(Fraction(10) ** int(digits), self.run.context) if terms.is_term(self.value) else None
        return self._apply(
            lambda value: round(value, digits), lambda term: terms.to_real(terms.round_half_even(term * unit)) / unit
        )

    def __bool__(self) -> bool:
        return self.run.test(compare(operator.ne, self, 0), asking_site())

    def __int__(self) -> int:
        if not terms.is_term(self.value):
            return int(self.value)
        return self.run.choose(terms.truncate(self.value))

    def __index__(self) -> int:
        if not terms.is_term(self.value):
            return operator.index(self.value)
        return self.run.choose(self.value)

    def __float__(self) -> float:
        if not terms.is_term(self.value):
            return float(self.value)
        only = self.run.only_value(self.value)
        if only is None and not self.value.is_int():
            raise NeedsFloat(self._sentence("a plain float"))
        return float(self.run.choose(self.value) if only is None else only)

    def __complex__(self) -> complex:
        return complex(float(self))

    def __hash__(self) -> int:
        if terms.is_term(self.value) and not self.value.is_int():
            self._refuse("a hash")
        return hash(self.run.choose(self.value) if terms.is_term(self.value) else self.value)

    def __repr__(self) -> str:
        return repr(self.value) if not terms.is_term(self.value) else str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if not terms.is_term(self.value) else str(self.value)

    # NumPy calls these methods for np.sqrt(x) and the like on objects.
    def _elementary(self, name: str) -> Any:
        return Number(self.run, float(getattr(np, name)(float(self))), self.noisy)

    def sqrt(self) -> Any:
        """Square root of a plain value."""
        return self._elementary("sqrt")

    def exp(self) -> Any:
        """Exponential of a plain value."""
        return self._elementary("exp")

    def log(self) -> Any:
        """Logarithm of a plain value."""
        return self._elementary("log")

    def rint(self) -> Any:
        """Nearest whole number, ties to even."""
        return round(self)

    def conjugate(self) -> Any:
        """A real number is its own conjugate."""
        return self

    def item(self) -> Any:
        """Itself, as a NumPy scalar answers."""
        return self

    def is_integer(self) -> Any:
        """Whether it is whole."""
        return compare(operator.eq, self, math.floor(self))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if terms.is_term(self.value) and hasattr(float, name):
            self._refuse(f"attribute {name!r}")
        return getattr(self.value if not terms.is_term(self.value) else 0.0, name)

    def _refuse(self, what: str) -> NoReturn:
        raise CannotFollow(self._sentence(what))

    def _sentence(self, what: str) -> str:
        names = ", ".join(sorted(terms.names_in(self.value)))
        return f"{location()} needs {what} of a value that depends on {names}"


class Truth(Watched):
    """A truth value under watch.

    `key` identifies what was compared, to tell whether two runs compare the same; `site` is the comparison that made
    it, which is its branch when it is returned without ever being `asked` for its answer.
    """

    __slots__ = ("asked", "key", "noisy", "run", "site", "value")

    def __init__(self, run: FollowedRun, value: Any, noisy: bool = False, key: object = None) -> None:
        self.run = run
        self.value = value
        self.noisy = noisy
        self.key = key if key is not None else (run.identify(value) if terms.is_term(value) else value)
        self.site = asking_site()
        self.asked = False

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return bool

    def __bool__(self) -> bool:
        return self.run.test(self, asking_site())

    def __and__(self, other: Any) -> Any:
        return combine("and", self, other)

    def __or__(self, other: Any) -> Any:
        return combine("or", self, other)

    def __xor__(self, other: Any) -> Any:
        return combine("xor", self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Any:
        # np.logical_not and ~mask mean "not"; Python's own ~True is a number nobody wants.
        value = z3.Not(self.value) if terms.is_term(self.value) else not self.value
        return Truth(self.run, value, self.noisy, ("not", self.key))

    def logical_not(self) -> Any:
        """What NumPy calls for np.logical_not on objects."""
        return ~self

    def number(self) -> Number:
        """1 for true, 0 for false."""
        if not terms.is_term(self.value):
            return Number(self.run, int(self.value), self.noisy)
        one, zero = (terms.constant(digit, self.run.context) for digit in (1, 0))
        return Number(self.run, z3.If(self.value, one, zero), self.noisy)

    def __neg__(self) -> Any:
        return -self.number()

    def __abs__(self) -> Any:
        return self.number()

    def __index__(self) -> int:
        return int(bool(self))

    __int__ = __index__

    def __float__(self) -> float:
        return float(bool(self))

    def __hash__(self) -> int:
        return hash(bool(self))

    def __repr__(self) -> str:
        return repr(self.value) if not terms.is_term(self.value) else str(self.value)


def watched(value: object) -> bool:
    """Whether a value is one of ours; isinstance cannot tell, because ours answer as the type they stand for."""
    return type(value) is Number or type(value) is Truth


def plain(value: object) -> object:
    """The number inside (NumPy scalars unwrapped), or `NotImplemented` for what is no number."""
    if type(value) is Truth:
        return value.number().value
    if type(value) is Number:
        return value.value
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, int | float | Fraction) else NotImplemented


def _operands(left: Any, right: Any) -> tuple[FollowedRun, Any, Any, bool] | None:
    a, b = plain(left), plain(right)
    if a is NotImplemented or b is NotImplemented:
        return None
    owner = left if watched(left) else right
    noisy = (watched(left) and left.noisy) or (watched(right) and right.noisy)
    return owner.run, a, b, noisy


def compute(operation: Operation, left: Any, right: Any) -> Any:
    """One arithmetic operation; exact on terms, Python's own on plain numbers."""
    operands = _operands(left, right)
    if operands is None:
        return NotImplemented
    run, a, b, noisy = operands
    if not (terms.is_term(a) or terms.is_term(b)):
        return Number(run, operation(a, b), noisy)
    for value in (a, b):
        if not terms.is_term(value) and not terms.finite(value):
            raise CannotFollow(f"{location()} computes with {value!r} and a value that depends on an argument")
    if operation is operator.pow:
        return Number(run, _power(a, b), noisy)
    left_term, right_term = (v if terms.is_term(v) else terms.constant(v, run.context) for v in (a, b))
    if operation in (operator.truediv, operator.floordiv, operator.mod):
        zero = right_term == terms.constant(0, run.context)
        if run.decide(z3.simplify(zero), bookkeeping=True):
            raise ZeroDivisionError("division by zero")
        exact = {
            operator.truediv: terms.divide,
            operator.floordiv: terms.floor_divide,
            operator.mod: terms.modulo,
        }
        return Number(run, exact[operation](left_term, right_term), noisy)
    return Number(run, operation(*terms.same_sort(left_term, right_term)), noisy)


def _power(base: Any, exponent: Any) -> Any:
    whole = not terms.is_term(exponent) and float(exponent).is_integer()
    if not whole or not 0 <= exponent <= LARGEST_EXPONENT:
        raise CannotFollow(f"{location()} raises a value that depends on an argument to a power")
    if exponent == 0:
        return 1 if isinstance(exponent, int) and base.is_int() else 1.0
    result = terms.power(base, int(exponent))
    return result if isinstance(exponent, int) else terms.to_real(result)


def compare(operation: Operation, left: Any, right: Any) -> Any:
    """One comparison as a `Truth`."""
    operands = _operands(left, right)
    if operands is None:
        return NotImplemented
    run, a, b, noisy = operands
    if not (terms.is_term(a) or terms.is_term(b)):
        return Truth(run, operation(a, b), noisy, (operation.__name__, a, b))
    for value, other_is_left in ((a, False), (b, True)):
        if not terms.is_term(value) and not terms.finite(value):
            # Every real number compares with an infinity or NaN as 0 does.
            answer = operation(0.0, value) if other_is_left else operation(value, 0.0)
            return Truth(run, bool(answer), noisy)
    left_term, right_term = (v if terms.is_term(v) else terms.constant(v, run.context) for v in (a, b))
    condition = z3.simplify(operation(*terms.same_sort(left_term, right_term)))
    if z3.is_true(condition) or z3.is_false(condition):
        return Truth(run, z3.is_true(condition), noisy)
    return Truth(run, condition, noisy)


def combine(how: str, left: Any, right: Any) -> Any:
    """`and`, `or`, `xor` of two truths without deciding either."""
    sides = [side if type(side) is Truth else bool(side) for side in (left, right)]
    owner = next(side for side in sides if type(side) is Truth)
    values = [side.value if type(side) is Truth else side for side in sides]
    keys = [side.key if type(side) is Truth else side for side in sides]
    noisy = any(type(side) is Truth and side.noisy for side in sides)
    if not any(terms.is_term(value) for value in values):
        merged: Any = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}[how](*values)
    else:
        condition = [v if terms.is_term(v) else z3.BoolVal(bool(v), owner.run.context) for v in values]
        merged = z3.simplify({"and": z3.And, "or": z3.Or, "xor": z3.Xor}[how](*condition))
        if z3.is_true(merged) or z3.is_false(merged):
            merged = z3.is_true(merged)
    return Truth(owner.run, merged, noisy, (how, *keys))
