"""Python's builtins and `math` on columns, exact run by run; anything unusual goes to the real ones.

A copy of the mechanism sees these under the builtins' own names. The real `max` compares columns by `<` and splits
the runs at every comparison; this one follows the same rule ("replace when greater") on whole columns.
"""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns import arithmetic
from refutedp.sampling.lifted.columns.lifted_value import Lifted
from refutedp.sampling.lifted.columns.ordering import sorted_by_column
from refutedp.sampling.lifted.columns.scalar import Scalar
from refutedp.sampling.lifted.execution import Run

_COMPENSATED: bool = sys.version_info >= (3, 12)


def _float_run(items: list[Any]) -> tuple[Run, bool] | None:
    """The run and flavour of a list of floats with a column among them; None for any other list."""
    run: Run | None = None
    flavours = set()
    for item in items:
        if isinstance(item, Scalar):
            if item.kind != "f":
                return None
            run = item.run
            flavours.add(item.numpy)
        elif type(item) is float or type(item) is np.float64:
            flavours.add(type(item) is np.float64)
        else:
            return None
    # Of a mixed list the result would be a Python float in some runs and a NumPy one in others.
    return None if run is None or len(flavours) != 1 else (run, flavours.pop())


def _values(item: Any) -> Any:
    return item.values() if isinstance(item, Scalar) else item


def _extreme(name: str, greater: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    real: Callable[..., Any] = getattr(builtins, name)

    def extreme(*args: Any, **keywords: Any) -> Any:
        if len(args) == 1 and type(args[0]) not in (list, tuple, range):
            args = (list(args[0]),)
        items = list(args[0]) if len(args) == 1 else list(args)
        if set(keywords) - {"key"} or len(items) < 2:
            return real(*args, **keywords)
        key = keywords.get("key")
        if key is None:
            found = _float_run(items)
            if found is None:
                return real(*args)
            run, numpy = found
            best = _values(items[0])
            for item in items[1:]:
                value = _values(item)
                best = np.where(greater(value, best), value, best)
            return Scalar(run, _as_column(run, best), "f", numpy)
        keys = [key(item) for item in items]
        found = _float_run(keys)
        if found is None or any(type(item) is not int for item in items):
            positions = real(range(len(items)), key=keys.__getitem__)
            return items[positions]
        run = found[0]
        best, where = _values(keys[0]), np.full(run.n, items[0], dtype=np.int64)
        for item, value in zip(items[1:], map(_values, keys[1:]), strict=True):
            better = greater(value, best)
            best, where = np.where(better, value, best), np.where(better, item, where)
        return Scalar(run, where, "i", False)

    return extreme


def _as_column(run: Run, values: Any) -> Array:
    return np.broadcast_to(values, (run.n,)) if np.ndim(values) == 0 else values


def lifted_sorted(iterable: Any, *, key: Any = None, reverse: Any = False) -> list[Any]:
    """As `sorted`, by column where keys and items allow it."""
    items = list(iterable)
    keys = items if key is None else [key(item) for item in items]
    ordered = sorted_by_column(items, keys, bool(reverse))
    if ordered is not None:
        return ordered
    return [items[i] for i in sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)]


def lifted_sum(iterable: Any, /, start: Any = 0) -> Any:
    """As `sum`, which since Python 3.12 compensates the rounding of Python floats."""
    items = list(iterable)
    if not _COMPENSATED or not any(isinstance(item, Lifted) for item in items):
        return sum(items, start)
    found = _float_run([*items, float(start)] if type(start) in (int, float) else items)
    if found is None or found[1]:
        run = next(item.run for item in items if isinstance(item, Lifted))
        run.refuse("it sums values of several types, which Python 3.12 rounds in its own way")
    run = found[0]
    lists = [_as_column(run, _values(item)).tolist() for item in items]
    total = np.fromiter((sum(row, start) for row in zip(*lists, strict=True)), np.float64, run.n)
    return Scalar(run, total, "f", False)


def lifted_int(*args: Any, **keywords: Any) -> Any:
    """As `int`: a column of Python ints for a scalar column."""
    if len(args) == 1 and not keywords and isinstance(args[0], Scalar):
        return args[0].__trunc__()
    return int(*args, **keywords)


def lifted_float(*args: Any) -> Any:
    """As `float`: a column of Python floats for a scalar column."""
    if len(args) == 1 and isinstance(args[0], Scalar) and args[0].kind in "fib":
        return Scalar(args[0].run, args[0].values().astype(np.float64), "f", False)
    return float(*args)


def lifted_type(*args: Any, **keywords: Any) -> Any:
    """As `type`: what a column is in each of its runs."""
    if len(args) == 1 and not keywords and isinstance(args[0], Lifted):
        return args[0].__class__
    return type(*args, **keywords)


LIFTED_BUILTINS: dict[str, Callable[..., Any]] = {
    "max": _extreme("max", lambda a, b: a > b),
    "min": _extreme("min", lambda a, b: a < b),
    "sorted": lifted_sorted,
    "sum": lifted_sum,
    "int": lifted_int,
    "float": lifted_float,
    "type": lifted_type,
}
"""Replacements, used only where the name is called on the spot: `isinstance(x, float)` keeps the real type."""


_ELEMENTWISE = (
    *(
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "copysign",
        "cos",
        "cosh",
        "degrees",
        "erf",
        "erfc",
    ),
    *("exp", "expm1", "fabs", "fmod", "gamma", "hypot", "ldexp", "lgamma", "log", "log10", "log1p", "log2", "pow"),
    *("radians", "sin", "sinh", "sqrt", "tan", "tanh"),
)
_TESTS: dict[str, Any] = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}


def lifted_math(name: str) -> Any:
    """`math.<name>` for columns too; a name that is not elementwise is returned as it is."""
    real = getattr(math, name)
    if name in _TESTS:

        def test(x: Any) -> Any:
            return Scalar(x.run, _TESTS[name](x.values()), "b", False) if isinstance(x, Scalar) else real(x)

        return test
    if name not in _ELEMENTWISE:
        return real

    def function(*args: Any) -> Any:
        columns = [arg for arg in args if isinstance(arg, Scalar)]
        if not columns:
            return real(*args)
        run = columns[0].run
        if any(column.kind == "U" for column in columns):
            run.refuse(f"it calls math.{name} on text")
        return Scalar(run, arithmetic.elementwise(run, real, tuple(map(_values, args))), "f", False)

    return function
