"""NumPy's universal functions on columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns.arithmetic import guard_exponent
from refutedp.sampling.lifted.columns.element_order import dense
from refutedp.sampling.lifted.columns.lifted_value import Lifted, aligned, check_constant, common_run, element_ndim


def apply_ufunc(ufunc: np.ufunc, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, bool]:
    """The ufunc's raw result, runs first, and whether it is the same for every run."""
    run = common_run(*inputs)
    if keywords:
        run.refuse(f"it calls np.{ufunc.__name__} with {', '.join(sorted(keywords))}=")
    if ufunc.signature is not None:
        run.refuse(f"it calls np.{ufunc.__name__}, which lifted runs do not know")
    ndim = 0
    uniform = True
    for value in inputs:
        if isinstance(value, Lifted):
            uniform = uniform and value.uniform
        else:
            check_constant(run, value)
        ndim = max(ndim, element_ndim(value))
    if ufunc is np.power:
        guard_exponent(run, *(x.dense() if isinstance(x, Lifted) else x for x in inputs))
    # A list beside a column is an array to NumPy; check_constant has refused it before it gets here.
    rows = [dense(aligned(x, ndim)) if isinstance(x, Lifted) else x for x in inputs]
    if ufunc is np.power:
        # One exponent for a stretch of memory may be taken another way than many: stretches must be those of one run.
        rows = [np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x for x in rows]
    return ufunc(*rows), uniform


def apply_reduce(ufunc: np.ufunc, value: Lifted, keywords: dict[str, Any]) -> Array:
    """`ufunc.reduce` or `.accumulate` over element axes; see `element_axis`."""
    array = value.values()
    axis = element_axis(keywords.pop("axis", 0), array.ndim - 1)
    if set(keywords) - {"keepdims"}:
        value.run.refuse(f"it calls np.{ufunc.__name__}.reduce with {', '.join(sorted(keywords))}=")
    result: Array = ufunc.reduce(array, axis=axis, **keywords)
    return result


def element_axis(axis: Any, ndim: int) -> Any:
    """An axis of one run's value, as an axis of the column; None means all of them."""
    if axis is None:
        return tuple(range(1, ndim + 1))
    if isinstance(axis, tuple):
        return tuple(element_axis(part, ndim) for part in axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim + 1
