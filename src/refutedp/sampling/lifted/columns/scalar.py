"""A column of single values: what a Python or NumPy scalar does, run by run.

`numpy` tells a NumPy scalar from a Python one: they differ in what a zero divisor, an overflow or `True + True`
gives. `__class__` answers `isinstance` as the scalar itself would, so that type tests take the right branch.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns import arithmetic
from refutedp.sampling.lifted.columns.column import Column, check_constant
from refutedp.sampling.lifted.execution import Rows, Run

_UNREAD: Array = np.empty(0, dtype=np.bool_)
_PYTHON_TYPES: dict[str, type] = {"f": float, "i": int, "b": bool, "U": str}
_NUMPY_TYPES: dict[str, type] = {"f": np.float64, "i": np.int64, "b": np.bool_, "U": np.str_}
_COMPARISONS: dict[Callable[[Any, Any], Any], np.ufunc] = {
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
}
_DEEPEST = 64
"""Columns that are left uncomputed, one in terms of the other."""

Binary = Callable[[Any, Any], Any]


class _Constant(NamedTuple):
    """An operand that is the same in every run, asked as a column is."""

    value: Any
    kind: str
    numpy: bool

    def values(self) -> Any:
        return self.value


def _both_ways(how: Callable[..., Any], ufunc: np.ufunc, *given: Any) -> tuple[Binary, Binary]:
    """An operator and its reflection: `how` for single numbers, NumPy's function beside an array."""

    def apply(self: Scalar, other: Any, reflected: bool) -> Any:
        if isinstance(other, (np.ndarray, Column)) and not isinstance(other, Scalar):
            return ufunc(other, self) if reflected else ufunc(self, other)
        operand = self._operand(other)
        if operand is None or "U" in (self.kind, operand.kind):
            return NotImplemented
        return how(self, operand, reflected, ufunc, *given)

    return lambda self, other: apply(self, other, False), lambda self, other: apply(self, other, True)


def _comparison(compare: Binary) -> Binary:
    return lambda self, other: self._compare(other, compare)


class Scalar(Column):
    """One number, truth value or text per run."""

    __slots__ = ("_later", "kind", "numpy")

    _later: tuple[Callable[[Any, Any], Any], Any, Any, int]

    def __init__(self, run: Run, array: Array, kind: str, numpy: bool) -> None:
        self.run = run
        self._array = array
        self._epoch = run.epoch
        self.uniform = False
        self.kind = kind
        self.numpy = numpy

    def _new(self, array: Array, numpy: bool) -> Scalar:
        return Scalar(self.run, array, array.dtype.kind, numpy)

    def _evaluate(self) -> Array:
        compute, left, right, _ = self._later
        a = left.values() if isinstance(left, Scalar) else left
        result: Array = compute(a, right.values() if isinstance(right, Scalar) else right)
        return result

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return (_NUMPY_TYPES if self.numpy else _PYTHON_TYPES).get(self.kind, Scalar)

    def __deepcopy__(self, memo: Any = None) -> Scalar:
        return self

    __copy__ = __deepcopy__

    # Truth, index, hash: one value for all runs that stay.

    def __bool__(self) -> bool:
        run = self.run
        if run.retracing:
            return run.branch(_UNREAD)
        array = self.values()
        return run.branch(array if self.kind == "b" else array != ("" if self.kind == "U" else 0))

    def __index__(self) -> int:
        if self.kind == "f" or self.kind == "U" or (self.kind == "b" and self.numpy):
            raise TypeError(f"'{self.__class__.__name__}' object cannot be interpreted as an integer")
        return int(self.run.resolve(self.values(), "an index, a bound or a count that depends on draws"))

    def __hash__(self) -> int:
        return hash(self.run.resolve(self.values(), "a key that depends on draws"))

    def __int__(self) -> int:
        whole = self._whole(np.trunc)
        return int(self.run.resolve(whole.values(), "int() of a drawn value"))

    def __float__(self) -> float:
        if self.kind == "f":
            self._no("passes a drawn value to a function that takes plain floats only")
        return float(self.run.resolve(self.values(), "float() of a drawn value"))

    # One operand.

    def _numeric(self) -> Array:
        return self.values() if self.numpy else _number(self)

    def __neg__(self) -> Scalar:
        return self._new(-self._numeric(), self.numpy)

    def __pos__(self) -> Scalar:
        return self._new(+self._numeric(), self.numpy)

    def __abs__(self) -> Scalar:
        return self._new(np.abs(self._numeric()), self.numpy)

    def __invert__(self) -> Scalar:
        return self._new(~self._numeric(), self.numpy)

    def _whole(self, how: Callable[[Array], Array]) -> Scalar:
        if self.kind == "U":
            self._no("turns drawn text into a number")
        if self.kind != "f":
            return self._new(self.values().astype(np.int64), False)
        return self._new(arithmetic.to_integers(self.run, self.values(), how), False)

    def __round__(self, digits: Any = None) -> Scalar:
        if digits is None:
            return self._whole(np.rint)
        if isinstance(digits, Scalar) or self.kind == "U" or (self.kind != "f" and self.numpy):
            self.run.refuse("it rounds a NumPy integer to digits (try round(int(x), n)), or to drawn digits")
        if self.kind != "f":
            return self._new(arithmetic.round_integers(self.values().astype(np.int64), int(digits)), False)
        if self.numpy:
            return self._new(np.round(self.values(), digits), True)
        return self._new(arithmetic.round_digits(self.values(), digits), False)

    def __trunc__(self) -> Scalar:
        return self._whole(np.trunc)

    def __floor__(self) -> Scalar:
        return self._whole(np.floor)

    def __ceil__(self) -> Scalar:
        return self._whole(np.ceil)

    # Attributes of Python's and NumPy's scalars.

    @property
    def real(self) -> Scalar:
        """Itself."""
        return self

    def conjugate(self) -> Scalar:
        """Itself."""
        return self

    def is_integer(self) -> Scalar:
        """As `float.is_integer`."""
        array = self.values()
        return self._new(np.isfinite(array) & (np.floor(array) == array), False)

    def item(self) -> Scalar:
        """The Python scalar of a NumPy one."""
        if not self.numpy:
            raise AttributeError("item")
        return self._new(self.values(), False)

    tolist = item

    def astype(self, dtype: Any) -> Scalar:
        """As a NumPy scalar's `astype`, between bool, int and float."""
        if not self.numpy:
            raise AttributeError("astype")
        if np.dtype(dtype).char not in "?ld":
            self.run.refuse(f"it converts a drawn value to dtype {np.dtype(dtype)}")
        if self.kind == "f" and np.dtype(dtype).kind == "i" and not np.isfinite(self.values()).all():
            self.run.refuse("it converts NaN or infinity to an integer")
        return self._new(self.values().astype(dtype), True)

    # Arithmetic.

    def _operand(self, other: Any) -> Scalar | _Constant | None:
        """The other operand, if it is a single value; None when Python would say NotImplemented."""
        if isinstance(other, Scalar):
            return other
        if isinstance(other, (bool, int, float)):
            kind = "b" if isinstance(other, bool) else "i" if isinstance(other, int) else "f"
            return _Constant(other, kind, isinstance(other, np.generic))
        if isinstance(other, np.generic):
            check_constant(self.run, other)
            return _Constant(other, other.dtype.kind, True)
        return _Constant(other, "U", False) if isinstance(other, str) else None

    def _arithmetic(
        self, other: Scalar | _Constant, reflected: bool, ufunc: np.ufunc, guard: str | Callable[[int, int], int]
    ) -> Scalar:
        """`guard` is the operation on Python's integers, or what Python calls its division by zero."""
        numpy = self.numpy or other.numpy
        left, right = (other, self) if reflected else (self, other)
        if numpy:
            return self._new(ufunc(left.values(), right.values()), True)
        if isinstance(guard, str):
            arithmetic.guard_zero(self.run, right.values(), guard)
        a, b = _number(left), _number(right)
        if not isinstance(guard, str) and self.kind != "f" and other.kind != "f":
            arithmetic.guard_integers(self.run, guard, a, b)
        return self._new(ufunc(a, b), False)

    def _power(self, other: Scalar | _Constant, reflected: bool, ufunc: np.ufunc) -> Scalar:
        left, right = (other, self) if reflected else (self, other)
        if self.numpy or other.numpy:
            return self._new(arithmetic.numpy_power(self.run, left.values(), right.values()), True)
        if self.kind == "f" or other.kind == "f":
            return self._new(arithmetic.power(self.run, left.values(), right.values()), False)
        exponent = right.values()
        if not isinstance(exponent, int) or not 0 <= exponent <= 8:
            self.run.refuse("it raises integers to a power that depends on draws, or to a large or negative one")
        mine = self.values().astype(np.int64)
        if len(mine) and int(np.abs(mine).max()) ** exponent > arithmetic.SAFE:
            self.run.refuse("it computes with integers beyond 2**53")
        return self._new(mine**exponent, False)

    def _bitwise(self, other: Scalar | _Constant, reflected: bool, ufunc: np.ufunc) -> Any:
        if self.kind not in "ib" or other.kind not in "ib":
            return NotImplemented
        return self._new(ufunc(self.values(), other.values()), self.numpy or other.numpy)

    _added, _radded = _both_ways(_arithmetic, np.add, operator.add)
    _multiplied, _rmultiplied = _both_ways(_arithmetic, np.multiply, operator.mul)
    _powered, __rpow__ = _both_ways(_power, np.power)
    __sub__, __rsub__ = _both_ways(_arithmetic, np.subtract, operator.sub)
    __truediv__, __rtruediv__ = _both_ways(_arithmetic, np.true_divide, "division by zero")
    __floordiv__, __rfloordiv__ = _both_ways(_arithmetic, np.floor_divide, "floor division by zero")
    __mod__, _rmodulo = _both_ways(_arithmetic, np.remainder, "modulo by zero")
    __and__, __rand__ = _both_ways(_bitwise, np.bitwise_and)
    __or__, __ror__ = _both_ways(_bitwise, np.bitwise_or)
    __xor__, __rxor__ = _both_ways(_bitwise, np.bitwise_xor)

    def __add__(self, other: Any) -> Any:
        if self.kind == "U":
            return self._text_beside(other, reflected=False)
        if self.kind == "f":
            their_type = type(other)
            if their_type is float or their_type is int or (their_type is Scalar and other.kind == "f"):
                numpy = self.numpy or (their_type is Scalar and other.numpy)
                if self.run.retracing:
                    return _later(self.run, operator.add, self, other, "f", numpy)
                added = self.values() + (other.values() if their_type is Scalar else other)
                return Scalar(self.run, added, "f", numpy)
        return self._added(other)

    def __radd__(self, other: Any) -> Any:
        if self.kind == "U":
            return self._text_beside(other, reflected=True)
        if self.kind == "f" and (type(other) is float or type(other) is int):
            if self.run.retracing:
                return _later(self.run, operator.add, other, self, "f", self.numpy)
            return Scalar(self.run, other + self.values(), "f", self.numpy)
        return self._radded(other)

    def _text_beside(self, other: Any, *, reflected: bool) -> Any:
        operand = self._operand(other) if type(other) in (str, Scalar) else None
        if operand is None or operand.kind != "U":
            return NotImplemented
        if not isinstance(other, Scalar) and "\0" in other:
            self.run.refuse("it joins drawn text with a zero character, which columns do not keep")
        left, right = (operand, self) if reflected else (self, operand)
        return Scalar(self.run, np.strings.add(left.values(), right.values()), "U", self.numpy or operand.numpy)

    def _repeats(self, other: Any) -> bool:
        return isinstance(other, (list, tuple, str)) and self.kind in "ib"

    def __mul__(self, other: Any) -> Any:
        return other * operator.index(self) if self._repeats(other) else self._multiplied(other)

    def __rmul__(self, other: Any) -> Any:
        return other * operator.index(self) if self._repeats(other) else self._rmultiplied(other)

    def __rmod__(self, other: Any) -> Any:
        if isinstance(other, str):
            self._no("formats a drawn value as text")
        return self._rmodulo(other)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            self.run.refuse("it calls pow() with a modulus on a drawn value")
        return self._powered(other)

    # Comparisons.

    def _compare(self, other: Any, compare: Callable[[Any, Any], Any]) -> Any:
        their_type = type(other)
        if their_type is float or their_type is int:
            if self.kind == "U":
                return NotImplemented
            numpy = self.numpy
        else:
            if isinstance(other, (np.ndarray, Column)) and their_type is not Scalar:
                return _COMPARISONS[compare](self, other)
            operand = self._operand(other)
            if operand is None or (self.kind == "U") != (operand.kind == "U"):
                return NotImplemented
            numpy = self.numpy or operand.numpy
        if self.run.retracing:
            return _later(self.run, compare, self, other, "b", numpy)
        return Scalar(self.run, compare(self.values(), other.values() if their_type is Scalar else other), "b", numpy)

    __lt__ = _comparison(operator.lt)
    __le__ = _comparison(operator.le)
    __gt__ = _comparison(operator.gt)
    __ge__ = _comparison(operator.ge)
    __eq__ = _comparison(operator.eq)
    __ne__ = _comparison(operator.ne)


def _number(operand: Scalar | _Constant) -> Any:
    """The values as Python computes with them: truth values are integers."""
    values = operand.values()
    if operand.kind != "b":
        return values
    return values.astype(np.int64) if isinstance(values, np.ndarray) else int(values)


def _later(run: Run, compute: Callable[[Any, Any], Any], left: Any, right: Any, kind: str, numpy: bool) -> Scalar:
    """A column that is computed when its values are needed.

    Used while a path is retraced: its decisions are known, so most of what led to them is never looked at again.
    """
    depth = 1
    # Written out, for this is most of what a retraced step costs.
    if type(left) is Scalar and left._epoch < 0:
        depth += left._later[3]
    if type(right) is Scalar and right._epoch < 0 and right._later[3] >= depth:
        depth = right._later[3] + 1
    column = _uncomputed(run, kind, numpy, (compute, left, right, depth))
    if depth > _DEEPEST:
        column.values()
    return column


def _uncomputed(run: Run, kind: str, numpy: bool, later: tuple[Callable[[Any, Any], Any], Any, Any, int]) -> Scalar:
    column = Scalar.__new__(Scalar)
    column.run = run
    column._epoch = -1
    column.uniform = False
    column.kind = kind
    column.numpy = numpy
    column._later = later
    return column


def retraced(run: Run, rows: Rows, numpy: bool) -> Scalar:
    """A draw that was made before, its values not taken unless they are needed."""
    return _uncomputed(run, rows.dtype.kind, numpy, (_taken, rows, (run, run.epoch), 1))


def _taken(rows: Rows, where: tuple[Run, int]) -> Array:
    run, epoch = where
    values = rows.get()
    return values if run.epoch == epoch else run.shrink(values, epoch)
