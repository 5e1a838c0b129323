"""What scalar and array columns share: NumPy's protocols for functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns.lifted_value import Lifted, common_run
from refutedp.sampling.lifted.columns.ufuncs import apply_reduce, apply_ufunc
from refutedp.sampling.lifted.execution import Run


class Column(Lifted):
    """What scalar and array columns share: NumPy's two protocols."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        if method == "__call__":
            out = keywords.pop("out", None)
            if out is not None:
                common_run(*inputs, *out).refuse("it writes drawn values into an array that holds one run")
            if ufunc is np.matmul:
                from refutedp.sampling.lifted.columns.functions import matmul

                return matmul(*inputs)
            raw, uniform = apply_ufunc(ufunc, inputs, keywords)
            run = common_run(*inputs)
            # The result lies in C order if all operands do.
            ordered = all(_in_order(value) for value in inputs)
            if isinstance(raw, tuple):
                return tuple(wrap(run, part, uniform, ordered) for part in raw)
            return wrap(run, raw, uniform, ordered)
        if method != "reduce" or not isinstance(inputs[0], Column):
            common_run(*inputs).refuse(f"it calls np.{ufunc.__name__}.{method}, which lifted runs do not know")
        return wrap(inputs[0].run, apply_reduce(ufunc, inputs[0], keywords), inputs[0].uniform)

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        from refutedp.sampling.lifted.columns.functions import FUNCTIONS

        implementation = FUNCTIONS.get(function)
        if implementation is None:
            self.run.refuse(f"it calls np.{function.__name__}, which lifted runs do not know")
        return implementation(*args, **keywords)


def _in_order(value: Any) -> bool:
    if isinstance(value, Lifted):
        return value.ordered
    return not isinstance(value, np.ndarray) or value.flags.c_contiguous


def wrap(run: Run, array: Array, uniform: bool = False, ordered: bool | None = None) -> Any:
    """The column of these rows: a scalar column when a run's value has no axes; NumPy's own scalar if uniform."""
    from refutedp.sampling.lifted.columns.array import ArrayColumn
    from refutedp.sampling.lifted.columns.scalar import Scalar

    if array.ndim > 1:
        return ArrayColumn(run, array, uniform, True if array.ndim == 2 else ordered)
    if uniform:
        return array[0]
    return Scalar(run, array, array.dtype.kind, True)
