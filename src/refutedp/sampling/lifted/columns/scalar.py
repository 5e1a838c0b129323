"""Scalar columns beside other values: arithmetic and comparisons, as Python or as NumPy does them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns import arithmetic
from refutedp.sampling.lifted.columns.column import Column
from refutedp.sampling.lifted.columns.lifted_value import check_constant
from refutedp.sampling.lifted.columns.single import SingleValue
from refutedp.sampling.lifted.execution import Run
from refutedp.sampling.lifted.record import Rows


class Scalar(SingleValue):
    """One number, truth value or text per run."""

    __slots__ = ()

    # Defining == would drop it otherwise.
    __hash__ = SingleValue.__hash__

    # Arithmetic.

    def _operand(self, other: Any) -> tuple[Any, str, bool] | None:
        """The other operand's values, kind and flavour; None when Python would say NotImplemented."""
        if isinstance(other, Scalar):
            return other.values(), other.kind, other.numpy
        if isinstance(other, (bool, int, float)):
            numpy = isinstance(other, np.generic)
            return other, "b" if isinstance(other, bool) else "i" if isinstance(other, int) else "f", numpy
        if isinstance(other, np.generic):
            check_constant(self.run, other)
            return other, other.dtype.kind, True
        if isinstance(other, str):
            return other, "U", False
        return None

    def _arithmetic(self, other: Any, ufunc: np.ufunc, name: str, reflected: bool) -> Any:
        if isinstance(other, (np.ndarray, Column)) and not isinstance(other, Scalar):
            return ufunc(other, self) if reflected else ufunc(self, other)
        operand = self._operand(other)
        if operand is None or "U" in (self.kind, operand[1]):
            return NotImplemented
        mine, theirs, kind, numpy = self.values(), operand[0], operand[1], self.numpy or operand[2]
        if numpy:
            a, b = (theirs, mine) if reflected else (mine, theirs)
            return Scalar(self.run, *_kinded(ufunc(a, b)), True)
        if self.kind == "b":
            mine = mine.astype(np.int64)
        if kind == "b":
            theirs = theirs.astype(np.int64) if isinstance(theirs, np.ndarray) else int(theirs)
        a, b = (theirs, mine) if reflected else (mine, theirs)
        if self.kind != "f" and kind != "f":
            arithmetic.guard_integers(self.run, name, a, b)
        return Scalar(self.run, *_kinded(ufunc(a, b)), False)

    def __add__(self, other: Any) -> Any:
        if self.kind == "f":
            their_type = type(other)
            if their_type is float or their_type is int or (their_type is Scalar and other.kind == "f"):
                numpy = self.numpy or (their_type is Scalar and other.numpy)
                if self.run.retracing:
                    return _later(self.run, operator.add, self, other, "f", numpy)
                added = self.values() + (other.values() if their_type is Scalar else other)
                return Scalar(self.run, added, "f", numpy)
        return self._arithmetic(other, np.add, "add", False)

    def __radd__(self, other: Any) -> Any:
        if self.kind == "f" and (type(other) is float or type(other) is int):
            if self.run.retracing:
                return _later(self.run, operator.add, other, self, "f", self.numpy)
            return Scalar(self.run, other + self.values(), "f", self.numpy)
        return self._arithmetic(other, np.add, "add", True)

    def __sub__(self, other: Any) -> Any:
        return self._arithmetic(other, np.subtract, "sub", False)

    def __rsub__(self, other: Any) -> Any:
        return self._arithmetic(other, np.subtract, "sub", True)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (list, tuple, str)) and self.kind in "ib":
            return other * operator.index(self)
        return self._arithmetic(other, np.multiply, "mul", False)

    def __rmul__(self, other: Any) -> Any:
        if isinstance(other, (list, tuple, str)) and self.kind in "ib":
            return other * operator.index(self)
        return self._arithmetic(other, np.multiply, "mul", True)

    def _divide(self, other: Any, ufunc: np.ufunc, what: str, reflected: bool) -> Any:
        if isinstance(other, (np.ndarray, Column)) and not isinstance(other, Scalar):
            return ufunc(other, self) if reflected else ufunc(self, other)
        operand = self._operand(other)
        if operand is None or "U" in (self.kind, operand[1]):
            return NotImplemented
        numpy = self.numpy or operand[2]
        if not numpy:
            arithmetic.guard_zero(self.run, self.values() if reflected else operand[0], what)
        mine, theirs = self.values(), other.values() if isinstance(other, Scalar) else operand[0]
        if not numpy:
            mine = mine.astype(np.int64) if self.kind == "b" else mine
            if operand[1] == "b":
                theirs = np.asarray(theirs, dtype=np.int64)
        a, b = (theirs, mine) if reflected else (mine, theirs)
        return Scalar(self.run, *_kinded(ufunc(a, b)), numpy)

    def __truediv__(self, other: Any) -> Any:
        return self._divide(other, np.true_divide, "division by zero", False)

    def __rtruediv__(self, other: Any) -> Any:
        return self._divide(other, np.true_divide, "division by zero", True)

    def __floordiv__(self, other: Any) -> Any:
        return self._divide(other, np.floor_divide, "floor division by zero", False)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._divide(other, np.floor_divide, "floor division by zero", True)

    def __mod__(self, other: Any) -> Any:
        return self._divide(other, np.remainder, "modulo by zero", False)

    def __rmod__(self, other: Any) -> Any:
        if isinstance(other, str):
            self._no("formats a drawn value as text")
        return self._divide(other, np.remainder, "modulo by zero", True)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def _power(self, other: Any, reflected: bool) -> Any:
        if isinstance(other, (np.ndarray, Column)) and not isinstance(other, Scalar):
            return np.power(other, self) if reflected else np.power(self, other)
        operand = self._operand(other)
        if operand is None or "U" in (self.kind, operand[1]):
            return NotImplemented
        if self.numpy or operand[2]:
            a, b = (operand[0], self.values()) if reflected else (self.values(), operand[0])
            return Scalar(self.run, *_kinded(arithmetic.numpy_power(self.run, a, b)), True)
        if self.kind != "f" and operand[1] != "f":
            return self._integer_power(operand[0], reflected)
        a, b = (operand[0], self.values()) if reflected else (self.values(), operand[0])
        return Scalar(self.run, arithmetic.power(self.run, a, b), "f", False)

    def _integer_power(self, other: Any, reflected: bool) -> Any:
        if reflected or not isinstance(other, int) or not 0 <= other <= 8:
            self.run.refuse("it raises integers to a power that depends on draws, or to a large or negative one")
        mine = self.values().astype(np.int64)
        if len(mine) and int(np.abs(mine).max()) ** other > arithmetic.SAFE:
            self.run.refuse("it computes with integers beyond 2**53")
        return Scalar(self.run, mine**other, "i", False)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            self.run.refuse("it calls pow() with a modulus on a drawn value")
        return self._power(other, False)

    def __rpow__(self, other: Any) -> Any:
        return self._power(other, True)

    def _bitwise(self, other: Any, ufunc: np.ufunc, reflected: bool) -> Any:
        if isinstance(other, (np.ndarray, Column)) and not isinstance(other, Scalar):
            return ufunc(other, self) if reflected else ufunc(self, other)
        operand = self._operand(other)
        if operand is None or self.kind not in "ib" or operand[1] not in "ib":
            return NotImplemented
        raw = ufunc(self.values(), operand[0])
        return Scalar(self.run, *_kinded(raw), self.numpy or operand[2])

    def __and__(self, other: Any) -> Any:
        return self._bitwise(other, np.bitwise_and, False)

    def __or__(self, other: Any) -> Any:
        return self._bitwise(other, np.bitwise_or, False)

    def __xor__(self, other: Any) -> Any:
        return self._bitwise(other, np.bitwise_xor, False)

    def __rand__(self, other: Any) -> Any:
        return self._bitwise(other, np.bitwise_and, True)

    def __ror__(self, other: Any) -> Any:
        return self._bitwise(other, np.bitwise_or, True)

    def __rxor__(self, other: Any) -> Any:
        return self._bitwise(other, np.bitwise_xor, True)

    # Comparisons.

    def _compare(self, other: Any, compare: Callable[[Any, Any], Any]) -> Any:
        their_type = type(other)
        if their_type is Scalar:
            if (self.kind == "U") != (other.kind == "U"):
                return NotImplemented
            numpy = self.numpy or other.numpy
        elif their_type is float or their_type is int:
            if self.kind == "U":
                return NotImplemented
            numpy = self.numpy
        else:
            if isinstance(other, (np.ndarray, Column)):
                return getattr(np, _COMPARISONS[compare])(self, other)
            operand = self._operand(other)
            if operand is None or (self.kind == "U") != (operand[1] == "U"):
                return NotImplemented
            numpy = self.numpy or operand[2]
        if self.run.retracing:
            return _later(self.run, compare, self, other, "b", numpy)
        return Scalar(self.run, compare(self.values(), other.values() if their_type is Scalar else other), "b", numpy)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, operator.ge)

    def __eq__(self, other: Any) -> Any:
        return self._compare(other, operator.eq)

    def __ne__(self, other: Any) -> Any:
        return self._compare(other, operator.ne)


def _later(run: Run, compute: Callable[[Any, Any], Any], left: Any, right: Any, kind: str, numpy: bool) -> Scalar:
    """A column that is computed when its values are needed.

    Used while a path is retraced: its decisions are known, so most of what led to them is never looked at again.
    """
    column = _uncomputed(run, kind, numpy)
    depth = 1
    # Written out, for this is most of what a retraced step costs.
    if type(left) is Scalar and left._epoch < 0:
        depth += left._later[3]
    if type(right) is Scalar and right._epoch < 0 and right._later[3] >= depth:
        depth = right._later[3] + 1
    column._later = (compute, left, right, depth)
    if depth > _DEEPEST:
        column.values()
    return column


def _uncomputed(run: Run, kind: str, numpy: bool) -> Scalar:
    column = Scalar.__new__(Scalar)
    column.run = run
    column._epoch = -1
    column.uniform = False
    column.kind = kind
    column.numpy = numpy
    return column


def retraced(run: Run, rows: Rows, numpy: bool) -> Scalar:
    """A draw that was made before, its values not taken unless they are needed."""
    column = _uncomputed(run, rows.dtype.kind, numpy)
    column._later = (_taken, rows, (run, run.epoch), 1)
    return column


def _taken(rows: Rows, where: tuple[Run, int]) -> Array:
    run, epoch = where
    values = rows.get()
    return values if run.epoch == epoch else run.shrink(values, epoch)


_DEEPEST = 64


_COMPARISONS: dict[Callable[[Any, Any], Any], str] = {
    operator.lt: "less",
    operator.le: "less_equal",
    operator.gt: "greater",
    operator.ge: "greater_equal",
    operator.eq: "equal",
    operator.ne: "not_equal",
}


def _kinded(array: Array) -> tuple[Array, str]:
    return array, array.dtype.kind
