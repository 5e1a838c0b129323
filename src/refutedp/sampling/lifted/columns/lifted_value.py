"""What every column is: the values of one variable of the mechanism, for all runs that are alive."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.execution import Run
from refutedp.tracing.rng_proxy import Traced

STANDARD = (np.dtype(np.bool_), np.dtype(np.int64), np.dtype(np.float64))


class Lifted(Traced):
    """Values with the runs along the first axis, and NumPy's meaning on the axes that follow.

    `uniform` columns hold one row that stands for every run: constants that may still be assigned to.
    """

    __slots__ = ("_array", "_epoch", "run", "uniform")
    __array_priority__ = 1000.0

    run: Run
    uniform: bool
    _array: Array
    _epoch: int
    ordered: bool = True
    """Whether the value lies in C order in the plain function, as single values do."""

    def values(self) -> Array:
        """The rows of the runs that are alive, one after the other in memory; callers must not write to it."""
        return self.dense()

    def dense(self) -> Array:
        """The same in whatever order of memory they are in, but without gaps (see `element_order.py`)."""
        if self._epoch != self.run.epoch:
            if self._epoch < 0:
                self._array = self._evaluate()
            elif not self.uniform:
                self._array = self.run.shrink(self._array, self._epoch)
            self._epoch = self.run.epoch
        return self._array

    def _evaluate(self) -> Array:
        """The rows of a column that was left uncomputed."""
        raise NotImplementedError

    def _no(self, what: str) -> NoReturn:
        self.run.refuse(f"it {what}, which depends on the run")

    def __str__(self) -> str:
        self._no("turns a drawn value into text")

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        self._no("formats a drawn value as text")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        if not self.uniform:
            self._no("makes an array of drawn values where lifted runs cannot follow")
        return np.array(self._array[0], dtype=dtype)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self._no("pickles a drawn value")

    def __complex__(self) -> complex:
        self._no("takes a drawn value as a complex number")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in _PROBED_BY_NUMPY:
            raise AttributeError(name)
        self.run.refuse(f"it uses .{name} of a drawn value, which lifted runs do not know")


_PROBED_BY_NUMPY = frozenset({"_mask", "mask"})


def kind_of(array: Array) -> str:
    """The dtype's letter, and "U" for text."""
    return array.dtype.kind


def common_run(*values: Any) -> Run:
    """The run that the columns among `values` belong to."""
    for value in values:
        if isinstance(value, Lifted):
            return value.run
    raise TypeError("no column among the operands")


def check_constant(run: Run, value: Any) -> None:
    """Refuse constants whose dtype NumPy would promote differently beside a scalar than beside a column."""
    if isinstance(value, (bool, int, float, np.float64, np.int64, np.bool_)):
        return
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        run.refuse(f"it mixes a drawn value with a {type(value).__name__}")
    if dtype not in STANDARD and dtype.kind != "U":
        run.refuse(f"it mixes a drawn value with the dtype {dtype}")


def aligned(value: Any, ndim: int) -> Any:
    """A column's rows with unit axes put in, so that element axes line up with `ndim` of them."""
    if not isinstance(value, Lifted):
        return value
    array = value.dense()
    missing = ndim - (array.ndim - 1)
    if missing == 0 or array.ndim == 1 == ndim:
        return array if missing == 0 else array.reshape(len(array), *([1] * missing))
    return array.reshape(len(array), *([1] * missing), *array.shape[1:])


def element_ndim(value: Any) -> int:
    """How many axes one run's value has."""
    if isinstance(value, Lifted):
        return value.dense().ndim - 1
    return int(np.ndim(value))
