"""What every column is: the values of one variable of the mechanism, for all runs that are alive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns.arithmetic import guard_exponent
from refutedp.sampling.lifted.execution import Run
from refutedp.tracing.rng_proxy import Traced

STANDARD = (np.dtype(np.bool_), np.dtype(np.int64), np.dtype(np.float64))
_PROBED_BY_NUMPY = frozenset({"_mask", "mask"})


class Column(Traced):
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
        """The same in whatever order of memory they are in, but without gaps (see `execution.py`)."""
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

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        if method == "__call__":
            return _apply_ufunc(ufunc, inputs, keywords)
        value = inputs[0]
        if method != "reduce" or not isinstance(value, Column):
            common_run(*inputs).refuse(f"it calls np.{ufunc.__name__}.{method}, which lifted runs do not know")
        array = value.values()
        axis = element_axis(keywords.pop("axis", 0), array.ndim - 1)
        if set(keywords) - {"keepdims"}:
            value.run.refuse(f"it calls np.{ufunc.__name__}.reduce with {', '.join(sorted(keywords))}=")
        return wrap(value.run, ufunc.reduce(array, axis=axis, **keywords), value.uniform)

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        from refutedp.sampling.lifted.columns.functions import FUNCTIONS

        implementation = FUNCTIONS.get(function)
        if implementation is None:
            self.run.refuse(f"it calls np.{function.__name__}, which lifted runs do not know")
        return implementation(*args, **keywords)


def _apply_ufunc(ufunc: np.ufunc, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    out = keywords.pop("out", None)
    if out is not None:
        common_run(*inputs, *out).refuse("it writes drawn values into an array that holds one run")
    if ufunc is np.matmul:
        from refutedp.sampling.lifted.columns.functions import matmul

        return matmul(*inputs)
    run = common_run(*inputs)
    if keywords:
        run.refuse(f"it calls np.{ufunc.__name__} with {', '.join(sorted(keywords))}=")
    if ufunc.signature is not None:
        run.refuse(f"it calls np.{ufunc.__name__}, which lifted runs do not know")
    for value in inputs:
        if not isinstance(value, Column):
            check_constant(run, value)
    ndim = max(map(element_ndim, inputs))
    if ufunc is np.power:
        guard_exponent(run, *(x.dense() if isinstance(x, Column) else x for x in inputs))
    # A list beside a column is an array to NumPy; check_constant has refused it before it gets here.
    rows = [dense(aligned(x, ndim)) if isinstance(x, Column) else x for x in inputs]
    if ufunc is np.power:
        # One exponent for a stretch of memory may be taken another way than many: stretches must be those of one run.
        rows = [np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x for x in rows]
    raw = ufunc(*rows)
    uniform = all_uniform(inputs)
    # The result lies in C order if all operands do.
    ordered = all(
        x.ordered if isinstance(x, Column) else not isinstance(x, np.ndarray) or x.flags.c_contiguous for x in inputs
    )
    if isinstance(raw, tuple):
        return tuple(wrap(run, part, uniform, ordered) for part in raw)
    return wrap(run, raw, uniform, ordered)


def wrap(run: Run, array: Array, uniform: bool = False, ordered: bool | None = None) -> Any:
    """The column of these rows: a scalar column when a run's value has no axes; NumPy's own scalar if uniform."""
    from refutedp.sampling.lifted.columns.array import ArrayColumn
    from refutedp.sampling.lifted.columns.scalar import Scalar

    if array.ndim > 1:
        return ArrayColumn(run, array, uniform, True if array.ndim == 2 else ordered)
    if uniform:
        return array[0]
    return Scalar(run, array, array.dtype.kind, True)


def common_run(*values: Any) -> Run:
    """The run that the columns among `values` belong to."""
    for value in values:
        if isinstance(value, Column):
            return value.run
    raise TypeError("no column among the operands")


def all_uniform(values: Sequence[Any]) -> bool:
    """Whether a result of these operands is the same for every run."""
    return all(value.uniform for value in values if isinstance(value, Column))


def check_constant(run: Run, value: Any) -> None:
    """Refuse constants whose dtype NumPy would promote differently beside a scalar than beside a column."""
    if isinstance(value, (bool, int, float, np.float64, np.int64, np.bool_)):
        return
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        run.refuse(f"it mixes a drawn value with a {type(value).__name__}")
    if dtype not in STANDARD and dtype.kind != "U":
        run.refuse(f"it mixes a drawn value with the dtype {dtype}")


def dense(array: Array) -> Array:
    """The array, without gaps in memory, in either layout."""
    return array if array.flags.f_contiguous else np.ascontiguousarray(array)


def aligned(value: Any, ndim: int) -> Any:
    """A column's rows with unit axes put in, so that element axes line up with `ndim` of them."""
    if not isinstance(value, Column):
        return value
    array = value.dense()
    missing = ndim - (array.ndim - 1)
    return array if missing == 0 else array.reshape(len(array), *([1] * missing), *array.shape[1:])


def element_ndim(value: Any) -> int:
    """How many axes one run's value has."""
    return value.dense().ndim - 1 if isinstance(value, Column) else int(np.ndim(value))


def element_axis(axis: Any, ndim: int) -> Any:
    """An axis of one run's value, as an axis of the column; None means all of them."""
    if axis is None:
        return tuple(range(1, ndim + 1))
    if isinstance(axis, tuple):
        return tuple(element_axis(part, ndim) for part in axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim + 1


def holds_column(value: Any) -> bool:
    """Whether `value` is a column, or a list or tuple with a column somewhere in it."""
    return isinstance(value, Column) or (type(value) in (list, tuple) and any(map(holds_column, value)))


def stack_nested(value: Any) -> Any:
    """What `np.asarray` makes of nested lists with columns in them; other values as they are."""
    if isinstance(value, Column) or not holds_column(value):
        return value
    return stack_columns([stack_nested(item) for item in value], 0)


def rows_of_runs(run: Run, value: Any, uniform: bool) -> Array:
    """The value with the runs first, one row when the result is to be uniform."""
    if isinstance(value, Column):
        array = value.values()
        if value.uniform and not uniform:
            return np.broadcast_to(array, (run.n, *array.shape[1:]))
        return array
    constant = np.asarray(value)
    check_constant(run, constant)
    return np.broadcast_to(constant, (1 if uniform else run.n, *constant.shape))


def gathered(arrays: Iterable[Any]) -> tuple[Run, bool, list[Array]]:
    """The run of columns beside constants, whether all are uniform, and their rows."""
    parts = [stack_nested(part) for part in arrays]
    run, uniform = common_run(*parts), all_uniform(parts)
    return run, uniform, [rows_of_runs(run, part, uniform) for part in parts]


def stack_columns(arrays: Iterable[Any], axis: int = 0) -> Any:
    """As `np.stack`."""
    run, uniform, rows = gathered(arrays)
    return wrap(run, np.ascontiguousarray(np.stack(rows, axis=axis % rows[0].ndim + 1)), uniform)


# Reductions of many short rows, taken column by column: up to a hundred times faster than NumPy's way. Only those
# that give the same in any order are taken so; sums are not, for rounding depends on their order.

_BY_COLUMN: dict[Any, np.ufunc] = {
    np.max: np.maximum,
    np.min: np.minimum,
    np.any: np.logical_or,
    np.all: np.logical_and,
}
_POSITIONS: dict[Any, tuple[np.ufunc, np.ufunc]] = {
    np.argmax: (np.greater, np.maximum),
    np.argmin: (np.less, np.minimum),
}
_FEW_COLUMNS = 12
_FEW_FOR_POSITIONS = 8
_FEW_SIDE_BY_SIDE = 100
"""So many elements are taken one after the other where all runs of each lie side by side in memory."""


def over_rows(function: Callable[..., Any], table: Array, keywords: dict[str, Any]) -> Any:
    """`function` of each row of a table."""
    width, kind = table.shape[1], table.dtype.kind
    if not keywords and width > 1:
        few = _FEW_FOR_POSITIONS if function in _POSITIONS else _FEW_COLUMNS
        if table.flags.f_contiguous:
            few = _FEW_SIDE_BY_SIDE
        kinds = "b" if function in (np.any, np.all) else "bif"
        if width <= few and kind in kinds and knows(function):
            return over_columns(function, list(table.T))
    return function(table, axis=1, **keywords)


def knows(function: Any) -> bool:
    """Whether `over_columns` takes the function."""
    return function in _POSITIONS or function in _BY_COLUMN


def over_columns(function: Callable[..., Any], columns: Sequence[Array]) -> Any:
    """`function` of the rows that equally long columns of one type make up, of at most 127 of them.

    >>> over_columns(np.argmax, [np.array([0.5, 2.5]), np.array([1.5, 2.0])])
    array([1, 0])
    """
    if function in _POSITIONS:
        return _positions(function, columns)
    result = columns[0].copy()
    for column in columns[1:]:
        _BY_COLUMN[function](result, column, out=result)
    return result


def _positions(function: Callable[..., Any], columns: Sequence[Array]) -> Any:
    """The first position of the extreme of each row."""
    beats, extreme = _POSITIONS[function]
    best = columns[0].copy()
    position = np.zeros(len(best), dtype=np.int8)
    for number, values in enumerate(columns[1:], start=1):
        # Positions grow, so the larger of two is the one found last.
        np.maximum(position, beats(values, best).view(np.int8) * np.int8(number), out=position)
        extreme(best, values, out=best)
    if best.dtype.kind == "f" and np.isnan(best).any():
        # NumPy takes NaN for the extreme; comparisons do not.
        return function(np.stack(columns, axis=1), axis=1)
    return position.astype(np.int64)
