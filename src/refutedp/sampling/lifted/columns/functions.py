"""NumPy's functions on columns, by `__array_function__`; what is not in the table is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from refutedp.sampling.lifted.columns.array import BY_LAYOUT, ArrayColumn
from refutedp.sampling.lifted.columns.column import (
    Column,
    aligned,
    all_uniform,
    check_constant,
    common_run,
    element_axis,
    element_ndim,
    gathered,
    holds_column,
    knows,
    over_rows,
    rows_of_runs,
    stack_columns,
    stack_nested,
    wrap,
)

FUNCTIONS: dict[Any, Callable[..., Any]] = {}


def _concatenate(arrays: Iterable[Any], axis: int = 0) -> Any:
    run, uniform, rows = gathered(arrays)
    return wrap(run, np.concatenate(rows, axis=element_axis(axis, rows[0].ndim - 1)), uniform)


def _hstack(arrays: Iterable[Any]) -> Any:
    run, uniform, rows = gathered(arrays)
    rows = [row.reshape(len(row), 1) if row.ndim == 1 else row for row in rows]
    return wrap(run, np.concatenate(rows, axis=1 if rows[0].ndim == 2 else 2), uniform)


def _append(array: Any, values: Any, axis: Any = None) -> Any:
    if axis is not None:
        return _concatenate((array, values), axis)
    return _hstack((_flat(stack_nested(array)), _flat(stack_nested(values))))


def _flat(value: Any) -> Any:
    if isinstance(value, ArrayColumn):
        return value.reshape(-1)
    return value if isinstance(value, Column) else np.ravel(value)


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Reduce over element axes; rows are contiguous where order counts, so that NumPy adds them up as it does one."""

    def reduce(a: Any, axis: Any = None, **keywords: Any) -> Any:
        _plain_keywords(a, function, keywords, {"keepdims", "ddof"})
        array = a.dense() if knows(function) and element_ndim(a) == 1 else a.values()
        if axis is None:
            if keywords.get("keepdims"):
                a.run.refuse(f"it calls np.{function.__name__} with keepdims over all axes")
            result = over_rows(function, array if array.ndim == 2 else array.reshape(len(array), -1), keywords)
        elif array.ndim == 2 and type(axis) is int and axis in (0, -1):
            result = over_rows(function, array, keywords)
        else:
            result = function(array, axis=element_axis(axis, array.ndim - 1), **keywords)
        return wrap(a.run, result, a.uniform)

    return reduce


def _along(function: Callable[..., Any], default: int | None) -> Callable[..., Any]:
    """Functions that keep the shape, along one axis (None: of the flattened array)."""

    def along(a: Any, axis: Any = default, **keywords: Any) -> Any:
        _plain_keywords(a, function, keywords, {"kind", "n", "stable"})
        if keywords.get("n") == 0:
            a.run.refuse(f"it calls np.{function.__name__} with n=0")
        array = a.values()
        if axis is None:
            array, axis = array.reshape(len(array), -1), 0
        return wrap(a.run, function(array, axis=element_axis(axis, array.ndim - 1), **keywords), a.uniform)

    return along


def _plain_keywords(a: Any, function: Any, keywords: dict[str, Any], known: set[str]) -> None:
    for name in [name for name, value in keywords.items() if value is None or value is np._NoValue]:
        del keywords[name]
    if set(keywords) - known or not isinstance(a, Column):
        common_run(a, *keywords.values()).refuse(f"it calls np.{function.__name__} in a way lifted runs do not know")


def _where(condition: Any, *choices: Any) -> Any:
    if not choices:
        return _nonzero(condition)
    parts = [stack_nested(part) for part in (condition, *choices)]
    run = common_run(*parts)
    for part in parts:
        if not isinstance(part, Column):
            check_constant(run, part if np.ndim(part) == 0 else np.asarray(part))
    ndim, uniform = max(map(element_ndim, parts)), all_uniform(parts)
    result = np.where(*(aligned(part, ndim) for part in parts))
    if result.shape[:1] != (1 if uniform else run.n,):
        result = np.broadcast_to(result, (1 if uniform else run.n, *result.shape[1:]))
    return wrap(run, result, uniform)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **keywords: Any) -> Any:
    low, high = keywords.pop("min", a_min), keywords.pop("max", a_max)
    run = common_run(a, low, high)
    if out is not None or keywords:
        run.refuse("it calls np.clip with out= or dtype=")
    if low is None and high is None:
        run.refuse("it calls np.clip without bounds")
    result = a if low is None else np.maximum(a, low)
    return result if high is None else np.minimum(result, high)


def _nonzero(a: Any) -> Any:
    """Positions of the true elements of a vector; runs are split by the positions themselves."""
    if element_ndim(a) != 1 or a.shape[0] > 60:
        a.run.refuse("it asks for the nonzero positions of a long or many-dimensional drawn array")
    if a.uniform:
        return np.nonzero(np.array(a))
    bits = (a.values() != 0) @ (1 << np.arange(a.shape[0], dtype=np.int64))
    pattern = int(a.run.resolve(bits, "the set of nonzero positions"))
    return (np.array([i for i in range(a.shape[0]) if pattern >> i & 1], dtype=np.int64),)


def matmul(a: Any, b: Any) -> Any:
    """Products of vectors and matrices, with the BLAS routine that NumPy uses for one run."""
    run, uniform = common_run(a, b), all_uniform((a, b))
    left, right = (rows_of_runs(run, x, True) if not isinstance(x, Column) else x.values() for x in (a, b))
    if {left.ndim, right.ndim} - {2, 3}:
        run.refuse("it multiplies drawn arrays of more than two axes")
    first = left[:, None, :] if left.ndim == 2 else left
    second = right[:, :, None] if right.ndim == 2 else right
    product = np.matmul(np.ascontiguousarray(first), np.ascontiguousarray(second))
    if right.ndim == 2:
        product = product[:, :, 0]
    if left.ndim == 2:
        product = product[:, 0]
    return wrap(run, product, uniform)


def _refuse_out(name: str, out: Any, *arguments: Any) -> None:
    """Refuse a function that is to write its result into an array."""
    if out is not None:
        common_run(out, *(stack_nested(one) for one in arguments)).refuse(f"it calls np.{name} with out=")


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    _refuse_out("dot", out, a, b)
    a, b = stack_nested(a), stack_nested(b)
    if element_ndim(a) == 0 or element_ndim(b) == 0:
        return np.multiply(a, b)
    return matmul(a, b)


def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where `v` goes in the sorted vector `a`, either of which may differ from run to run."""
    run = common_run(a, v)
    if sorter is not None or element_ndim(a) != 1 or element_ndim(v) != 0:
        run.refuse("it calls np.searchsorted in a way lifted runs do not know")
    uniform = all_uniform((a, v))
    rows = rows_of_runs(run, a, uniform)
    needle = rows_of_runs(run, v, uniform)[:, None]
    if np.isnan(rows).any() or np.isnan(needle).any() or (rows[:, 1:] < rows[:, :-1]).any():
        run.refuse("it calls np.searchsorted on an array that is not sorted in some runs")
    below = rows < needle if side == "left" else rows <= needle
    return wrap(run, below.sum(axis=1), uniform)


def _like(function: Callable[..., Any]) -> Callable[..., Any]:
    def like(a: Any, *fill: Any, dtype: Any = None, **keywords: Any) -> Any:
        constant = function(np.empty(a.shape, dtype=a.dtype), *fill, dtype=dtype)
        return wrap(a.run, constant[None], True)

    return like


def _shape_only(function: Callable[..., Any]) -> Callable[..., Any]:
    def shaped(a: Any, axis: Any = None) -> Any:
        shape = a.shape if isinstance(a, ArrayColumn) else ()
        return function(np.broadcast_to(0, shape), *([] if axis is None else [axis]))

    return shaped


def _rearranged(function: Callable[..., Any]) -> Callable[..., Any]:
    """Functions that move elements and compute nothing: NumPy itself says where they go."""

    def rearranged(a: Any, *args: Any, **keywords: Any) -> Any:
        if not isinstance(a, ArrayColumn) or any(holds_column(value) for value in (*args, *keywords.values())):
            run = common_run(a, *args, *keywords.values())
            run.refuse(f"it calls np.{function.__name__} in a way lifted runs do not know")
        by_layout = function.__name__ in BY_LAYOUT
        return a.rearranged(lambda places: function(places, *args, **keywords), by_layout=by_layout)

    return rearranged


def _take(a: Any, indices: Any, axis: Any = None, **keywords: Any) -> Any:
    if axis not in (None, 0) or keywords or element_ndim(a) != 1:
        common_run(a, indices).refuse("it calls np.take in a way lifted runs do not know")
    pool: Any = a if isinstance(a, Column) else wrap(indices.run, np.asarray(a)[None], True)
    return pool[indices]


def _round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    _refuse_out("round", out, a)
    return wrap(a.run, np.round(a.dense(), decimals), a.uniform)


def _bincount(a: Any, weights: Any = None, minlength: Any = 0) -> Any:
    """Counts of as many numbers in every run."""
    places = a.values()
    if weights is not None or type(minlength) is not int or places.ndim != 2 or places.dtype != np.int64:
        a.run.refuse("it calls np.bincount in a way lifted runs do not know")
    if places.size == 0 or places.min() < 0 or places.max() >= minlength:
        a.run.refuse("it calls np.bincount with numbers beyond minlength in some runs")
    counts = np.stack([(places == place).sum(axis=1) for place in range(minlength)], axis=1)
    return wrap(a.run, counts, a.uniform)


def _outer(a: Any, b: Any, out: Any = None) -> Any:
    _refuse_out("outer", out, a, b)
    a, b = stack_nested(a), stack_nested(b)
    left = a.reshape(-1, 1) if isinstance(a, ArrayColumn) else np.reshape(a, (-1, 1))
    return np.multiply(left, b)


_REDUCTIONS: tuple[Any, ...] = (
    *(np.sum, np.prod, np.max, np.min, np.mean, np.std, np.var, np.median, np.argmax, np.argmin),
    *(np.any, np.all, np.count_nonzero, np.ptp),
)
FUNCTIONS |= {function: _reduction(function) for function in _REDUCTIONS}
FUNCTIONS |= {np.amax: FUNCTIONS[np.max], np.amin: FUNCTIONS[np.min]}
FUNCTIONS |= {function: _along(function, -1) for function in (np.sort, np.argsort, np.diff)}
FUNCTIONS |= {function: _along(function, None) for function in (np.cumsum, np.cumprod)}
FUNCTIONS |= {function: _like(function) for function in (np.zeros_like, np.ones_like, np.empty_like, np.full_like)}
FUNCTIONS |= {
    function: _rearranged(function)
    for function in (
        *(np.array_split, np.delete, np.diagonal, np.expand_dims, np.flip, np.fliplr, np.flipud, np.moveaxis),
        *(np.ravel, np.repeat, np.reshape, np.roll, np.rot90, np.split, np.squeeze, np.swapaxes, np.tile),
        *(np.transpose,),
    )
}
FUNCTIONS |= {function: _shape_only(function) for function in (np.shape, np.ndim, np.size)}
FUNCTIONS |= {
    np.append: _append,
    np.bincount: _bincount,
    np.clip: _clip,
    np.concatenate: _concatenate,
    np.copy: lambda a: a.copy("K"),
    np.dot: _dot,
    np.flatnonzero: lambda a: _nonzero(a)[0],
    np.hstack: _hstack,
    np.inner: _dot,
    np.nonzero: _nonzero,
    np.outer: _outer,
    np.round: _round,
    np.around: _round,
    np.searchsorted: _searchsorted,
    np.stack: stack_columns,
    np.take: _take,
    np.where: _where,
}
