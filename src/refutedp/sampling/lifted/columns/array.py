"""Columns whose value in each run is an array of the same shape, and the memory that such arrays share.

What is written through one array is seen through all that share its memory. An array of each run is told by the
*places* of its elements there. NumPy itself says where they are: whatever rearranges an array (a slice, a transpose,
a reshape) is applied to an array of places as well. If NumPy makes a view of that, the two arrays share memory in
every run; if it makes a copy, they do not.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns.column import STANDARD, Column, dense, stack_nested, wrap
from refutedp.sampling.lifted.columns.scalar import Scalar
from refutedp.sampling.lifted.execution import Choice, Run


class Memory:
    """The elements that some arrays share, a row for each run that was alive at an epoch, or one for all of them.

    `places` are those of all elements. `writes` counts what was written, so that each array knows whether it is up to
    date. In a `doubtful` memory some arrays may or may not share their elements, which depends on how they lie in
    memory in the plain function: nothing may be written there.
    """

    __slots__ = ("_epoch", "_owned", "_run", "_table", "doubtful", "places", "uniform", "writes")

    def __init__(self, run: Run, array: Array, uniform: bool, places: Array) -> None:
        self._run = run
        self._table = array.reshape(len(array), -1)
        self._epoch = run.epoch
        self._owned = False
        self.uniform = uniform
        self.places = places
        self.writes = 0
        self.doubtful = False

    def _rows(self) -> Array:
        """The elements of the runs that are alive, a row each."""
        if self._epoch != self._run.epoch:
            if not self.uniform:
                self._table = self._run.shrink(self._table, self._epoch)
            self._epoch = self._run.epoch
        return self._table

    def read(self, places: Array) -> Array:
        """The elements at these places, runs first; callers must not write to it."""
        rows = self._rows()
        if places is not self.places:
            return np.asarray(rows[:, places])
        self._owned = False
        return rows.reshape(len(rows), *places.shape)

    def write(self, places: Array, values: Array, uniform: bool) -> None:
        """Put values, runs first, at these places; recorded draws and what was read before stay as they are."""
        if self.doubtful:
            self._run.refuse("it writes to an array that may share memory with another")
        if not places.flags.writeable:
            raise ValueError("assignment destination is read-only")
        self.writes += 1
        rows = self._rows()
        if places is self.places:
            self._table, self.uniform, self._owned = values.reshape(len(values), -1), uniform, False
            return
        if self.uniform and not uniform:
            self._table = np.repeat(rows, self._run.n, axis=0)
            self.uniform = False
        elif not self._owned:
            self._table = rows.copy(order="K")
        self._owned = True
        self._table[:, places.reshape(-1)] = values.reshape(len(values), -1)


class ArrayColumn(Column, NDArrayOperatorsMixin):
    """One array per run; assignment writes to a copy, so recorded draws never change.

    What is written to has a `Memory`, which views share with the array that they were taken from. `ordered` says
    that the array lies in C order in the plain function; where that is not known, whether a reshaped array is a view
    or a copy is not known either.
    """

    __slots__ = ("_memory", "_places", "_uniform", "_writes", "ordered")

    def __init__(self, run: Run, array: Array, uniform: bool, ordered: bool | None = None) -> None:
        self.run = run
        self._array = array
        self._epoch = run.epoch
        self._uniform = uniform
        self._memory: Memory | None = None
        self._places: Array | None = None
        self._writes = 0
        self.ordered = array.ndim <= 2 if ordered is None else ordered
        if array.dtype not in STANDARD and array.dtype.kind != "U":
            run.refuse(f"it computes an array of dtype {array.dtype}")

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.ndarray

    @property
    def uniform(self) -> bool:  # type: ignore[override]
        """Whether one row stands for every run."""
        return self._uniform if self._memory is None else self._memory.uniform

    def dense(self) -> Array:
        """The rows of the runs that are alive."""
        memory = self._memory
        if memory is None:
            return super().dense()
        if self._writes != memory.writes or self._epoch != self.run.epoch:
            assert self._places is not None
            self._array = memory.read(self._places)
            self._writes, self._epoch = memory.writes, self.run.epoch
        return self._array

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
        return self.rearranged(lambda places: places.T)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous.")
        if self.uniform:
            return bool(self.dense().ravel()[0])
        return self.run.branch(self.values().reshape(-1) != 0)

    def __contains__(self, item: Any) -> bool:
        return bool((self == item).any())

    def __deepcopy__(self, memo: Any = None) -> Any:
        return self.copy()

    __copy__ = __deepcopy__

    # Views and copies.

    @property
    def places(self) -> Array:
        """Where the elements of one run are in memory, as far as that is known."""
        if self._places is None:
            self._places = np.arange(self.size).reshape(self.shape)
        return self._places

    def rearranged(self, how: Callable[[Array], Any], values: Array | None = None, *, by_layout: bool = False) -> Any:
        """What NumPy makes of each run's array by rearranging its elements: a view, a copy, or a list of them.

        `by_layout` says that the array's layout in memory decides which; `values` are the elements if known already.
        """
        places = self.places
        found = how(places)
        doubt = by_layout and not self.ordered
        if isinstance(found, list | tuple):
            return type(found)(self._arranged(part, places, None, doubt) for part in found)
        return self._arranged(found, places, values, doubt)

    def _arranged(self, found: Any, places: Array, values: Array | None, doubt: bool) -> Any:
        array = self.dense()
        if values is None:
            values = dense(array.reshape(len(array), -1)[:, self._positions(found)])
        if not isinstance(found, np.ndarray):
            return wrap(self.run, values, self.uniform)
        if found.ndim == 0:
            self.run.refuse("it takes an array of no axes from a drawn one")
        view = ArrayColumn(self.run, values, self.uniform, self.ordered and found.flags.c_contiguous)
        if doubt or np.may_share_memory(found, places):
            memory = self._shared()
            memory.doubtful = memory.doubtful or doubt
            view._memory, view._places, view._writes = memory, found, memory.writes
        return view

    def _positions(self, found: Any) -> Any:
        """Where in this array the elements at some places are."""
        if self._memory is None or self._places is self._memory.places:
            return found
        places = self.places.reshape(-1)
        order = np.argsort(places)
        return order[np.searchsorted(places[order], found)]

    def _shared(self) -> Memory:
        """The memory of this array, from now on written to, or shared with others."""
        if self._memory is None:
            self._memory = Memory(self.run, super().dense(), self._uniform, self.places)
        return self._memory

    # Reading and writing elements.

    def __getitem__(self, key: Any) -> Any:
        if type(key) is int and self.ndim == 1:
            return wrap(self.run, dense(self.dense()[:, key]), self.uniform)
        parts = key if isinstance(key, tuple) else (key,)
        if len(parts) == 1 and isinstance(parts[0], Column):
            return self._gather(parts[0])
        if any(isinstance(part, Column) for part in parts):
            parts = tuple(operator.index(p) if isinstance(p, Scalar) else p for p in parts)
            if any(isinstance(part, Column) for part in parts):
                self.run.refuse("it indexes an array by several drawn arrays")
        basic = all(isinstance(part, (int, slice, np.integer)) for part in parts)
        values = dense(self.dense()[(slice(None), *parts)]) if basic else None
        return self.rearranged(lambda places: places[parts], values)

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
        if isinstance(key, Scalar) and self.ndim > 1:
            # A row of the array would be a view.
            return self[operator.index(key)]
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
        if self.dtype.kind == "U":
            # How much text fits depends on the text that the array was made of, run by run.
            self.run.refuse("it writes text into an array")
        if isinstance(key, Column) and not key.uniform:
            if isinstance(key, ArrayColumn) and key.dtype == np.bool_ and np.ndim(value) == 0:
                self._write_under(key, value)
                return
            if not isinstance(key, Scalar):
                self.run.refuse("it assigns to elements chosen by a drawn array")
            key = operator.index(key)
        if isinstance(value, (list, tuple)):
            value = stack_nested(value)
        parts = key if isinstance(key, tuple) else (key,)
        parts = tuple(operator.index(p) if isinstance(p, Scalar) else p for p in parts)
        parts = tuple(np.array(p) if isinstance(p, Column) else p for p in parts)
        self._write(parts, value)

    def _write_under(self, mask: ArrayColumn, value: Any) -> None:
        """Write where a mask holds. Runs in which it holds somewhere, and others, have to be proven."""
        if mask.shape != self.shape:
            self.run.refuse("it assigns to elements under a drawn mask of another shape")
        somewhere = np.asarray(mask.values().reshape(self.run.n, -1).any(axis=1))
        side = None if self.run.side is None else Scalar(self.run, self.run.side, "b", False)
        self.run.choices.append(Choice(Scalar(self.run, somewhere, "b", True), side))
        self._replace(np.where(mask, value, self))

    def _write(self, parts: tuple[Any, ...], value: Any) -> None:
        lifted, uniform = isinstance(value, Column), not isinstance(value, Column) or value.uniform
        rows = value.values() if lifted else np.asarray(value)[None]
        if lifted and self.dtype.kind == "i" and rows.dtype.kind == "f":
            self.run.refuse("it stores drawn floats in an integer array")
        target = self.places[parts]
        rows = rows.reshape(len(rows), *([1] * (np.ndim(target) + 1 - rows.ndim)), *rows.shape[1:])
        filled = np.empty((len(rows), *np.shape(target)), dtype=self.dtype)
        filled[...] = rows
        self._shared().write(np.asarray(target), filled, uniform)

    def _replace(self, value: Any) -> None:
        """Become `value`, in every variable that refers to this array."""
        if not isinstance(value, ArrayColumn) or value.shape != self.shape:
            self.run.refuse("it computes in place with another shape")
        if value.dtype != self.dtype:
            if self.dtype.kind != "f" or value.dtype.kind not in "ib":
                self.run.refuse(f"it computes {value.dtype} in place in an array of {self.dtype}")
            value = value.astype(self.dtype)
        self._shared().write(self.places, value.dense(), value.uniform)

    def sort(self, axis: int = -1) -> None:
        """Sort in place."""
        self._replace(np.sort(self, axis=axis))

    def fill(self, value: Any) -> None:
        """Set every element."""
        self[...] = value

    # Methods that are functions of NumPy under another name.

    def tolist(self) -> list[Any]:
        """A list of Python scalars, nested as the array is."""
        return [x.tolist() if isinstance(x, (Column, np.generic)) else x for x in self]

    def copy(self, order: str = "C") -> ArrayColumn:
        """A column that is written to on its own."""
        return ArrayColumn(self.run, self.dense(), self.uniform, self.ordered or order == "C")

    def astype(self, dtype: Any, *other: Any, copy: bool = True) -> Any:
        """Between bool, int and float."""
        target = np.dtype(dtype)
        if target not in STANDARD or other:
            self.run.refuse(f"it converts drawn values to dtype {target}, or in another order")
        if target == self.dtype and not copy:
            return self
        if self.dtype.kind == "f" and target.kind == "i" and not np.isfinite(self.dense()).all():
            self.run.refuse("it converts NaN or infinity to an integer")
        return ArrayColumn(self.run, self.dense().astype(target), self.uniform, self.ordered)

    def item(self, *index: Any) -> Any:
        """One element as a Python scalar."""
        return self.rearranged(lambda places: places.item(*index)).item()


def _in_place(compute: Callable[[Any, Any], Any]) -> Any:
    def method(self: ArrayColumn, other: Any) -> Any:
        self._replace(compute(self, other))
        return self

    return method


def _method(name: str) -> Any:
    def method(self: ArrayColumn, *args: Any, **keywords: Any) -> Any:
        return getattr(np, name)(self, *args, **keywords)

    return method


def _rearranging(name: str) -> Any:
    def method(self: ArrayColumn, *args: Any, **keywords: Any) -> Any:
        return self.rearranged(lambda x: getattr(x, name)(*args, **keywords), by_layout=name in BY_LAYOUT)

    return method


BY_LAYOUT = frozenset({"ravel", "reshape"})
"""What gives a view of some arrays and a copy of others, as they lie in memory."""

for _name in ("add", "sub", "mul", "truediv"):
    setattr(ArrayColumn, f"__i{_name}__", _in_place(getattr(operator, _name)))
for _name in ("diagonal", "flatten", "ravel", "repeat", "reshape", "squeeze", "swapaxes", "transpose"):
    setattr(ArrayColumn, _name, _rearranging(_name))
for _name in (
    *("all", "any", "argmax", "argmin", "argsort", "clip", "cumprod", "cumsum", "dot", "max", "mean", "min"),
    *("nonzero", "prod", "round", "std", "sum", "take", "var"),
):
    setattr(ArrayColumn, _name, _method(_name))
