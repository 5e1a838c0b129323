"""NumPy on watched numbers: arrays of them are object arrays, on which NumPy calls our operators."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import z3

from refutedp.inputs.arguments import terms
from refutedp.inputs.arguments.watched import Number, Truth, combine, watched


def pick(condition: Any, when_true: Any, when_false: Any) -> Any:
    """`when_true if condition else when_false` without forking, where both are numbers."""
    if type(condition) is not Truth:
        return when_true if condition else when_false
    if not condition.symbolic:
        chosen = when_true if condition.value else when_false
        if not watched(chosen) and isinstance(chosen, int | float):
            return Number(condition.run, chosen, condition.noisy)
        return chosen
    sides = [side.number() if type(side) is Truth else side for side in (when_true, when_false)]
    values: list[Any] = [side.value if type(side) is Number else side for side in sides]
    if not all(terms.is_term(value) or terms.finite(value) for value in values):
        return when_true if condition else when_false
    both = terms.same_sort(*(terms.term_of(v, condition.run.context) for v in values))
    noisy = condition.noisy or any(type(side) is Number and side.noisy for side in sides)
    return Number(condition.run, z3.If(condition.value, *both), noisy)


def largest(left: Any, right: Any) -> Any:
    """`max(left, right)`: the first of equals, as Python's."""
    return pick(right > left, right, left)


def smallest(left: Any, right: Any) -> Any:
    """`min(left, right)`: the first of equals, as Python's."""
    return pick(right < left, right, left)


_SCALARS: dict[str, Callable[..., Any]] = {
    "maximum": largest,
    "fmax": largest,
    "minimum": smallest,
    "fmin": smallest,
    "clip": lambda value, low, high: smallest(largest(value, low), high),
    "isnan": lambda value: value != value if not watched(value) or not value.symbolic else False,
    "isfinite": lambda value: abs(value) < float("inf"),
    "isinf": lambda value: abs(value) == float("inf"),
    "sign": lambda value: pick(value > 0, 1, pick(value < 0, -1, 0)),
    "logical_and": lambda left, right: combine("and", left, right),
    "logical_or": lambda left, right: combine("or", left, right),
    "logical_not": operator.invert,
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}


# On arrays these would compare and fork element by element; our versions do not fork.
_ELEMENTWISE = frozenset({"maximum", "fmax", "minimum", "fmin", "clip", "sign", "isnan", "isfinite", "isinf"})


class WatchedArray(np.ndarray):
    """An object array of watched numbers; NumPy calls their operators element by element.

    A comparison is decided element by element, so that masks are plain boolean arrays.
    """

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        return apply_ufunc(ufunc, method, inputs, keywords)


def apply_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A ufunc with watched numbers among its inputs: on scalars by our operators, on arrays by NumPy's objects."""
    name = ufunc.__name__
    scalars = all(watched(value) or np.ndim(value) == 0 for value in inputs)
    if method == "__call__" and scalars and not keywords and name in _SCALARS:
        values = [value.item() if isinstance(value, np.generic | np.ndarray) else value for value in inputs]
        return _SCALARS[name](*values)
    plain = [_plain_array(value) for value in inputs]
    outs = keywords.pop("out", None)
    operation = ufunc
    if name in _ELEMENTWISE and method in ("__call__", "reduce"):
        operation = np.frompyfunc(_SCALARS[name], len(inputs) if method == "__call__" else 2, 1)
    result = getattr(operation, method)(*plain, **keywords)
    if outs is not None:
        # Adding noise in place to an array of floats: the sums become plain floats again.
        _plain_array(outs[0])[...] = result
        return outs[0]
    if isinstance(result, np.ndarray) and result.dtype == object:
        return result.view(WatchedArray)
    return result


def _plain_array(value: Any) -> Any:
    if isinstance(value, WatchedArray):
        return value.view(np.ndarray)
    if not watched(value):
        return value
    box = np.empty((), dtype=object)
    box[()] = value
    return box


def filled(values: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """An array of the given shape from its elements in order."""
    array = np.empty(shape, dtype=object)
    for position, value in zip(np.ndindex(shape), values, strict=True):
        array[position] = value
    return array.view(WatchedArray)
