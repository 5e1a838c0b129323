"""Numbers and truths a mechanism computes with while it is followed.

A `Number` is a Z3 term (it depends on an argument that is searched) or a plain number that is watched because a
noise draw or an argument went into it: then it computes exactly what Python computes. Comparing gives a `Truth`;
asking a `Truth` for its value is what the run records as a branch, and forks on when both answers are possible.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import z3

from refutedp.inputs.arguments import terms
from refutedp.inputs.arguments.paths import asking_site, location
from refutedp.tracing.rng_proxy import Traced

if TYPE_CHECKING:
    from refutedp.inputs.arguments.explore import Tracing

LARGEST_EXPONENT = 8

Operation = Callable[[Any, Any], Any]


class CannotFollow(BaseException):
    """The run met something it has no meaning for; the text is one sentence with file and line.

    Not an `Exception`, so that a mechanism's own `except Exception` does not swallow it.
    """


class NeedsFloat(CannotFollow):
    """C code, or `float` itself, wants a plain float of a symbolic value."""


class Watched(Traced):
    """What numbers and truths share: the run they belong to, and Python's operators, which are set below."""

    __slots__ = ("noisy", "run", "value")

    def __init__(self, run: Tracing, value: Any, noisy: bool = False) -> None:
        self.run = run
        self.value = value
        self.noisy = noisy

    @property
    def symbolic(self) -> bool:
        """Whether it depends on an argument that is searched."""
        return terms.is_term(self.value)

    def __divmod__(self: Any, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self: Any, other: Any) -> Any:
        return other // self, other % self

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __repr__(self) -> str:
        return str(self.value) if self.symbolic else repr(self.value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        from refutedp.inputs.arguments.watched_arrays import apply_ufunc

        return apply_ufunc(ufunc, method, inputs, keywords)


class Number(Watched):
    """A number under watch: `value` is a plain number or a Z3 term, `noisy` says that a draw went into it."""

    __slots__ = ()

    # Mechanisms check arguments with isinstance(x, float): a watched number answers as what it stands for.
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        if self.symbolic:
            return int if self.value.is_int() else float
        return type(self.value)

    def __neg__(self) -> Any:
        return Number(self.run, -self.value, self.noisy)

    def __abs__(self) -> Any:
        return Number(self.run, terms.absolute(self.value) if self.symbolic else abs(self.value), self.noisy)

    def __floor__(self) -> Any:
        return Number(self.run, terms.floor(self.value) if self.symbolic else math.floor(self.value), self.noisy)

    def __ceil__(self) -> Any:
        return Number(self.run, terms.ceil(self.value) if self.symbolic else math.ceil(self.value), self.noisy)

    def __trunc__(self) -> Any:
        return Number(self.run, terms.truncate(self.value) if self.symbolic else math.trunc(self.value), self.noisy)

    def __round__(self, digits: int | None = None) -> Any:
        if not self.symbolic:
            return Number(self.run, round(self.value, digits), self.noisy)
        if digits is None:
            return Number(self.run, terms.round_half_even(self.value), self.noisy)
        unit = terms.constant(Fraction(10) ** int(digits), self.run.context)
        rounded = terms.to_real(terms.round_half_even(self.value * unit)) / unit
        return Number(self.run, rounded, self.noisy)

    # Itself: as `+x`, as what a NumPy scalar answers, and as its own conjugate, for it is real.
    def __pos__(self) -> Any:
        return self

    item = conjugate = __pos__

    def __bool__(self) -> bool:
        return self.run.test(compare(operator.ne, self, 0), asking_site())

    def __int__(self) -> int:
        if not self.symbolic:
            return int(self.value)
        return self.run.choose(terms.truncate(self.value))

    def __index__(self) -> int:
        if not self.symbolic:
            return operator.index(self.value)
        return self.run.choose(self.value)

    def __float__(self) -> float:
        if not self.symbolic:
            return float(self.value)
        only = self.run.only_value(self.value)
        if only is None and not self.value.is_int():
            raise NeedsFloat(self._sentence("a plain float"))
        return float(self.run.choose(self.value) if only is None else only)

    def __complex__(self) -> complex:
        return complex(float(self))

    def __hash__(self) -> int:
        if self.symbolic and not self.value.is_int():
            self._refuse("a hash")
        return hash(self.run.choose(self.value) if self.symbolic else self.value)

    def __format__(self, spec: str) -> str:
        # Z3's own text: its Python printer takes a tenth of a second for a term of some depth.
        return format(self.value, spec) if not self.symbolic else str(self.value.sexpr())

    # NumPy calls these methods for np.sqrt(x) and the like on objects.
    def _elementary(self, name: str) -> Any:
        return Number(self.run, float(getattr(np, name)(float(self))), self.noisy)

    sqrt = functools.partialmethod(_elementary, "sqrt")
    exp = functools.partialmethod(_elementary, "exp")
    log = functools.partialmethod(_elementary, "log")

    def rint(self) -> Any:
        """Nearest whole number, ties to even."""
        return round(self)

    def is_integer(self) -> Any:
        """Whether it is whole."""
        return compare(operator.eq, self, math.floor(self))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self.symbolic and hasattr(float, name):
            self._refuse(f"attribute {name!r}")
        return getattr(self.value if not self.symbolic else 0.0, name)

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

    __slots__ = ("asked", "key", "site")

    def __init__(self, run: Tracing, value: Any, noisy: bool = False, key: object = None) -> None:
        super().__init__(run, value, noisy)
        self.key = key if key is not None else (run.memory.identify(value) if self.symbolic else value)
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
        value = z3.Not(self.value) if self.symbolic else not self.value
        return Truth(self.run, value, self.noisy, ("not", self.key))

    logical_not = __invert__  # what NumPy calls for np.logical_not on objects

    def number(self) -> Number:
        """1 for true, 0 for false."""
        if not self.symbolic:
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


def symbol(run: Tracing, term: Any) -> Any:
    """The watched value that stands for a Z3 constant in one run."""
    return Truth(run, term) if z3.is_bool(term) else Number(run, term)


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


def _operands(left: Any, right: Any) -> tuple[Tracing, Any, Any, bool] | None:
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
    left_term, right_term = (terms.term_of(v, run.context) for v in (a, b))
    if operation in _EXACT:
        zero = right_term == terms.constant(0, run.context)
        if run.decide(z3.simplify(zero), bookkeeping=True):
            raise ZeroDivisionError("division by zero")
        return Number(run, _EXACT[operation](left_term, right_term), noisy)
    return Number(run, operation(*terms.same_sort(left_term, right_term)), noisy)


_EXACT: dict[Operation, Operation] = {
    operator.truediv: terms.divide,
    operator.floordiv: terms.floor_divide,
    operator.mod: terms.modulo,
}


def _power(base: Any, exponent: Any) -> Any:
    whole = not terms.is_term(exponent) and float(exponent).is_integer()
    if not whole or not 0 <= exponent <= LARGEST_EXPONENT:
        raise CannotFollow(f"{location()} raises a value that depends on an argument to a power")
    if exponent == 0:
        return 1 if isinstance(exponent, int) and base.is_int() else 1.0
    result = functools.reduce(operator.mul, [base] * int(exponent))
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
    left_term, right_term = (terms.term_of(v, run.context) for v in (a, b))
    return Truth(run, _decided(z3.simplify(operation(*terms.same_sort(left_term, right_term)))), noisy)


def combine(how: str, left: Any, right: Any) -> Any:
    """`and`, `or`, `xor` of two truths, watched or plain, without deciding either."""
    plainly, symbolically = _CONNECTIVES[how]
    if type(left) is not Truth and type(right) is not Truth:
        return plainly(bool(left), bool(right))
    run = left.run if type(left) is Truth else right.run
    first, second = (side if type(side) is Truth else Truth(run, bool(side)) for side in (left, right))
    if first.symbolic or second.symbolic:
        values = [s.value if s.symbolic else z3.BoolVal(bool(s.value), run.context) for s in (first, second)]
        merged = _decided(z3.simplify(symbolically(*values)))
    else:
        merged = plainly(first.value, second.value)
    return Truth(run, merged, first.noisy or second.noisy, (how, first.key, second.key))


_CONNECTIVES: dict[str, tuple[Operation, Operation]] = {
    "and": (operator.and_, z3.And),
    "or": (operator.or_, z3.Or),
    "xor": (operator.xor, z3.Xor),
}


def _decided(condition: Any) -> Any:
    """A simplified condition, as a plain bool where no argument is left in it."""
    return z3.is_true(condition) if z3.is_true(condition) or z3.is_false(condition) else condition


def _binary(apply: Callable[[Operation, Any, Any], Any], operation: Operation, swapped: bool) -> Any:
    if swapped:
        return lambda self, other: apply(operation, other, self)
    return lambda self, other: apply(operation, self, other)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(Watched, f"__{_name}__", _binary(compute, getattr(operator, _name), swapped=False))
    setattr(Watched, f"__r{_name}__", _binary(compute, getattr(operator, _name), swapped=True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Watched, f"__{_name}__", _binary(compare, getattr(operator, _name), swapped=False))
