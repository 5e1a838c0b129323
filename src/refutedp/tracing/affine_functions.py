"""Builtins and NumPy's functions for symbols of Gaussian noise: those that leave it affine, or clip or round it."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from refutedp.tracing.affine import Affine, AffineArray, Clipped, Trace, is_symbol, stacked


def as_float(*args: Any) -> Any:
    """As `float`."""
    if len(args) == 1 and is_symbol(args[0]):
        one = args[0]
        return one.within(one.inner.as_python()) if type(one) is Clipped else one.as_python()
    return float(*args)


def _clip(trace: Trace, values: Any, low: Any = None, high: Any = None) -> Clipped:
    """As `np.clip`, between numbers."""
    ends = [-math.inf if low is None else low, math.inf if high is None else high]
    if isinstance(values, list | tuple) or not all(type(end) in (int, float, np.float64) for end in ends):
        trace.refuse("it clips noise in a way that is not followed")
    least, most = map(float, ends)
    if not least < most:
        trace.refuse("it clips noise to nothing")
    if type(values) is Clipped:
        if not max(least, values.low) < min(most, values.high):
            trace.refuse("it clips noise to nothing")
        return Clipped(values.inner, max(least, values.low), min(most, values.high))
    return Clipped(values, least, most)


def _extreme(trace: Trace, one: Any, other: Any, largest: bool) -> Clipped:
    symbol, number = (one, other) if is_symbol(one) else (other, one)
    return _clip(trace, symbol, number, None) if largest else _clip(trace, symbol, None, number)


def extreme(name: str, trace: Trace) -> Callable[..., Any]:
    """`max` or `min` of a symbol and a number; the builtin of all else."""
    real: Callable[..., Any] = getattr(builtins, name)

    def choose(*args: Any, **keywords: Any) -> Any:
        if len(args) == 2 and not keywords and sum(map(is_symbol, args)) == 1:
            return _extreme(trace, *args, largest=name == "max")
        return real(*args, **keywords)

    return choose


def _array(trace: Trace, values: Any, dtype: Any = None) -> Affine:
    if dtype is not None and np.dtype(dtype) != np.float64:
        trace.refuse("it makes an array of another type of its noise")
    whole = stacked(trace, values)
    return whole.copy() if isinstance(whole, AffineArray) else whole


def _binary(how: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def apply(trace: Trace, one: Any, other: Any) -> Any:
        return how(*(stacked(trace, value) if type(value) in (list, tuple) else value for value in (one, other)))

    return apply


def _dot(trace: Trace, one: Any, other: Any) -> Any:
    one, other = (stacked(trace, value) if type(value) in (list, tuple) else value for value in (one, other))
    numbers, symbols = (other, one) if isinstance(one, Affine) else (one, other)
    if isinstance(numbers, Affine):
        numbers = numbers.at if not numbers.per.any() and not numbers.error.any() else numbers._no()
    return symbols @ numbers if symbols is one else numbers @ symbols if np.ndim(numbers) else symbols * numbers


def _sum(trace: Trace, values: Any, axis: Any = None) -> Any:
    return stacked(trace, values).sum(axis)


def _mean(trace: Trace, values: Any, axis: Any = None) -> Any:
    return stacked(trace, values).mean(axis)


def _round(trace: Trace, values: Any, decimals: int = 0) -> Any:
    return round(values if type(values) is Clipped else stacked(trace, values), decimals)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "array": _array,
    "asarray": _array,
    "sum": _sum,
    "mean": _mean,
    "dot": _dot,
    "inner": _dot,
    "matmul": _dot,
    "add": _binary(operator.add),
    "subtract": _binary(operator.sub),
    "multiply": _binary(operator.mul),
    "divide": _binary(operator.truediv),
    "clip": _clip,
    "maximum": partial(_extreme, largest=True),
    "minimum": partial(_extreme, largest=False),
    "round": _round,
    "around": _round,
    "true_divide": _binary(operator.truediv),
}
