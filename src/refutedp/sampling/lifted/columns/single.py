"""A column of single values: what a Python or NumPy scalar does on its own, run by run.

`numpy` tells a NumPy scalar from a Python one: they differ in what a zero divisor, an overflow or `True + True`
gives. `__class__` answers `isinstance` as the scalar itself would, so that type tests take the right branch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns import arithmetic
from refutedp.sampling.lifted.columns.column import Column
from refutedp.sampling.lifted.execution import Run

_UNREAD: Array = np.empty(0, dtype=np.bool_)
_PYTHON_TYPES: dict[str, type] = {"f": float, "i": int, "b": bool, "U": str}
_NUMPY_TYPES: dict[str, type] = {"f": np.float64, "i": np.int64, "b": np.bool_, "U": np.str_}


class SingleValue(Column):
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

    def _new(self, array: Array, numpy: bool) -> Self:
        return type(self)(self.run, array, array.dtype.kind, numpy)

    def _evaluate(self) -> Array:
        compute, left, right, _ = self._later
        a = left.values() if isinstance(left, SingleValue) else left
        result: Array = compute(a, right.values() if isinstance(right, SingleValue) else right)
        return result

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return (_NUMPY_TYPES if self.numpy else _PYTHON_TYPES).get(self.kind, SingleValue)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

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
        array = self.values()
        return array.astype(np.int64) if self.kind == "b" and not self.numpy else array

    def __neg__(self) -> Self:
        return self._new(-self._numeric(), self.numpy)

    def __pos__(self) -> Self:
        return self._new(+self._numeric(), self.numpy)

    def __abs__(self) -> Self:
        return self._new(np.abs(self._numeric()), self.numpy)

    def __invert__(self) -> Self:
        return self._new(~self._numeric(), self.numpy)

    def _whole(self, how: Callable[[Array], Array]) -> Self:
        if self.kind == "U":
            self._no("turns drawn text into a number")
        if self.kind != "f":
            return self._new(self.values().astype(np.int64), False)
        return self._new(arithmetic.to_integers(self.run, self.values(), how), False)

    def __round__(self, digits: Any = None) -> Self:
        if digits is None:
            return self._whole(np.rint)
        if self.kind != "f" or isinstance(digits, SingleValue):
            self.run.refuse("it rounds an integer column to digits, or to digits that depend on draws")
        if self.numpy:
            return self._new(np.round(self.values(), digits), True)
        return self._new(arithmetic.round_digits(self.values(), digits), False)

    def __trunc__(self) -> Self:
        return self._whole(np.trunc)

    def __floor__(self) -> Self:
        return self._whole(np.floor)

    def __ceil__(self) -> Self:
        return self._whole(np.ceil)

    # Attributes of Python's and NumPy's scalars.

    @property
    def real(self) -> Self:
        """Itself."""
        return self

    def conjugate(self) -> Self:
        """Itself."""
        return self

    def is_integer(self) -> Self:
        """As `float.is_integer`."""
        array = self.values()
        return self._new(np.isfinite(array) & (np.floor(array) == array), False)

    def item(self) -> Self:
        """The Python scalar of a NumPy one."""
        if not self.numpy:
            raise AttributeError("item")
        return self._new(self.values(), False)

    tolist = item

    def astype(self, dtype: Any) -> Any:
        """As a NumPy scalar's `astype`, between bool, int and float."""
        if not self.numpy:
            raise AttributeError("astype")
        if np.dtype(dtype).char not in "?ld":
            self.run.refuse(f"it converts a drawn value to dtype {np.dtype(dtype)}")
        if self.kind == "f" and np.dtype(dtype).kind == "i" and not np.isfinite(self.values()).all():
            self.run.refuse("it converts NaN or infinity to an integer")
        return self._new(self.values().astype(dtype), True)
