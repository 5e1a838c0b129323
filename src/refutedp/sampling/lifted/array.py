"""Columns whose value in each run is an array of the same shape."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from refutedp.outputs import Array
from refutedp.sampling.lifted.base import STANDARD, Lifted
from refutedp.sampling.lifted.column import Column, wrap
from refutedp.sampling.lifted.layout import dense
from refutedp.sampling.lifted.run import Run
from refutedp.sampling.lifted.scalar import Scalar


class ArrayColumn(Column, NDArrayOperatorsMixin):
    """One array per run; assignment writes to a copy, so recorded draws never change.

    Slices are copies where NumPy makes views: a mechanism that relies on a view differs from its lift in the same
    way in every run of a path, which the replay of that path finds.
    """

    __slots__ = ("_owned",)

    def __init__(self, run: Run, array: Array, uniform: bool) -> None:
        self.run = run
        self._array = array
        self._epoch = run.epoch
        self.uniform = uniform
        self._owned = False
        if array.dtype not in STANDARD and array.dtype.kind != "U":
            run.refuse(f"it computes an array of dtype {array.dtype}")

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.ndarray

    def dense(self) -> Array:
        """The rows of the runs that are alive."""
        self._owned = False
        return super().dense()

    def values(self) -> Array:
        """The same, one row after the other in memory."""
        array = self.dense()
        if not array.flags.c_contiguous:
            array = self._array = np.ascontiguousarray(array)
        return array

    __hash__ = None  # type: ignore[assignment]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one run's array."""
        return self._array.shape[1:]

    @property
    def ndim(self) -> int:
        """How many axes one run's array has."""
        return self._array.ndim - 1

    @property
    def size(self) -> int:
        """How many elements one run's array has."""
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self._array.dtype

    @property
    def T(self) -> Any:
        """The transpose of each run's array."""
        array = self.values()
        return wrap(self.run, array.transpose(0, *range(array.ndim - 1, 0, -1)).copy(), self.uniform)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous.")
        if self.uniform:
            return bool(self._array.ravel()[0])
        return self.run.branch(self.values().reshape(-1) != 0)

    def __contains__(self, item: Any) -> bool:
        return bool((self == item).any())

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __copy__(self) -> Any:
        return self.copy()

    # Reading and writing elements.

    def __getitem__(self, key: Any) -> Any:
        array = self.dense()
        parts = key if isinstance(key, tuple) else (key,)
        if len(parts) == 1 and isinstance(parts[0], Column):
            return self._gather(parts[0])
        if any(isinstance(part, Column) for part in parts):
            parts = tuple(operator.index(p) if isinstance(p, Scalar) else p for p in parts)
            array = self.dense()
            if any(isinstance(part, Column) for part in parts):
                self.run.refuse("it indexes an array by several drawn arrays")
        return wrap(self.run, dense(array[(slice(None), *parts)]), self.uniform)

    def _gather(self, key: Column) -> Any:
        if key.uniform:
            return self[np.array(key)]
        array, index = self.values(), key.values()
        if index.dtype == np.bool_:
            return self._masked(key)
        if index.dtype != np.int64:
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        length = array.shape[1]
        if ((index < -length) | (index >= length)).any():
            self.run.refuse("it indexes an array outside its bounds in some runs")
        rows = np.arange(self.run.n).reshape(-1, *([1] * (index.ndim - 1)))
        full = np.broadcast_to(array, (self.run.n, *array.shape[1:])) if self.uniform else array
        return wrap(self.run, full[rows, index])

    def _masked(self, mask: Column) -> Any:
        """The elements under a mask; runs are split by how many there are, which is the result's length."""
        if not isinstance(mask, ArrayColumn) or mask.shape != self.shape:
            self.run.refuse("it indexes an array by a drawn mask of another shape")
        counts = np.count_nonzero(mask.values().reshape(self.run.n, -1), axis=1)
        length = int(self.run.resolve(counts, "the length of an array that depends on draws"))
        array = self.values()
        full = np.broadcast_to(array, (self.run.n, *array.shape[1:]))
        return wrap(self.run, full[mask.values()].reshape(self.run.n, length))

    def __setitem__(self, key: Any, value: Any) -> None:
        lifted = isinstance(value, Lifted)
        if isinstance(key, Column) and not key.uniform:
            if isinstance(key, ArrayColumn) and key.dtype == np.bool_ and np.ndim(value) == 0:
                self._replace(np.where(key, value, self))
                return
            if not isinstance(key, Scalar):
                self.run.refuse("it assigns to elements chosen by a drawn array")
            key = operator.index(key)
        if isinstance(value, (list, tuple)):
            from refutedp.sampling.lifted.functions import stack_nested

            value = stack_nested(value)
            lifted = isinstance(value, Lifted)
        if not self._owned or (self.uniform and lifted) or self._epoch != self.run.epoch:
            array = self.values()
            if self.uniform and lifted and not value.uniform:
                array = np.repeat(array, self.run.n, axis=0)
                self.uniform = False
            else:
                array = array.copy()
            self._array = array
        parts = key if isinstance(key, tuple) else (key,)
        parts = tuple(operator.index(p) if isinstance(p, Scalar) else p for p in parts)
        target = self._array[(slice(None), *parts)]
        rows: Any = value
        if lifted:
            rows = value.values()
            if self.dtype.kind == "i" and rows.dtype.kind == "f":
                self.run.refuse("it stores drawn floats in an integer array")
            rows = rows.reshape(len(rows), *([1] * (target.ndim - rows.ndim)), *rows.shape[1:])
        self._array[(slice(None), *parts)] = rows
        self._owned = True

    def _replace(self, value: Any) -> None:
        """Become `value`, in every variable that refers to this array."""
        if not isinstance(value, ArrayColumn) or value.shape != self.shape:
            self.run.refuse("it computes in place with another shape")
        if value.dtype != self.dtype:
            if self.dtype.kind != "f" or value.dtype.kind not in "ib":
                self.run.refuse(f"it computes {value.dtype} in place in an array of {self.dtype}")
            value = value.astype(self.dtype)
        self._array = value.dense()
        self.uniform = value.uniform
        self._epoch = self.run.epoch
        self._owned = False

    def __iadd__(self, other: Any) -> Any:
        self._replace(self + other)
        return self

    def __isub__(self, other: Any) -> Any:
        self._replace(self - other)
        return self

    def __imul__(self, other: Any) -> Any:
        self._replace(self * other)
        return self

    def __itruediv__(self, other: Any) -> Any:
        self._replace(self / other)
        return self

    def sort(self, axis: int = -1) -> None:
        """Sort in place."""
        self._replace(np.sort(self, axis=axis))

    def fill(self, value: Any) -> None:
        """Set every element."""
        self[...] = value

    # Methods that are functions of NumPy under another name.

    def tolist(self) -> list[Any]:
        """A list of Python scalars, nested as the array is."""
        return [x.tolist() if isinstance(x, (Lifted, np.generic)) else x for x in self]

    def copy(self, order: str = "C") -> ArrayColumn:
        """A column that is written to on its own."""
        return ArrayColumn(self.run, self.dense(), self.uniform)

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """Between bool, int and float."""
        target = np.dtype(dtype)
        if target not in STANDARD:
            self.run.refuse(f"it converts drawn values to dtype {target}")
        if self.dtype.kind == "f" and target.kind == "i" and not np.isfinite(self.dense()).all():
            self.run.refuse("it converts NaN or infinity to an integer")
        return wrap(self.run, self.dense().astype(target), self.uniform)

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """As `ndarray.reshape`."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        array = self.values()
        sizes = np.empty(self.shape, dtype=np.bool_).reshape(wanted).shape
        return wrap(self.run, array.reshape(len(array), *sizes), self.uniform)

    def flatten(self, order: str = "C") -> Any:
        """As `ndarray.flatten`."""
        return self.reshape(-1)

    ravel = flatten

    def item(self, *index: int) -> Any:
        """One element as a Python scalar."""
        element = self.reshape(-1)[index[0] if index else 0]
        if not index and self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return element.item()

    def dot(self, other: Any) -> Any:
        """As `ndarray.dot` with vectors."""
        return np.dot(self, other)


def _method(name: str) -> Any:
    def method(self: ArrayColumn, *args: Any, **keywords: Any) -> Any:
        return getattr(np, name)(self, *args, **keywords)

    return method


for _name in (
    *("all", "any", "argmax", "argmin", "argsort", "clip", "cumprod", "cumsum", "max", "mean", "min", "nonzero"),
    *("prod", "round", "squeeze", "std", "sum", "take", "var"),
):
    setattr(ArrayColumn, _name, _method(_name))
