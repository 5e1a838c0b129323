"""Python's builtins and `math` on columns, exact run by run; anything unusual goes to the real ones.

A copy of the mechanism sees these under the builtins' own names. The real `max` compares columns by `<` and splits
the runs at every comparison; this one follows the same rule ("replace when greater") on whole columns. So does
`sorted`: keys are ranked by column, by one stable argsort, and items gathered by rank: numbers, text, tuples of them.
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
from refutedp.sampling.lifted.columns.column import Column
from refutedp.sampling.lifted.columns.drawn_text import lifted_format, lifted_repr, lifted_str
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
        keys = items if key is None else [key(item) for item in items]
        found = _float_run(keys)
        if found is None or (key is not None and any(type(item) is not int for item in items)):
            return items[real(range(len(items)), key=keys.__getitem__)]
        run, numpy = found
        best, where = _values(keys[0]), np.full(run.n, 0 if key is None else items[0], dtype=np.int64)
        for item, value in zip(items[1:], map(_values, keys[1:]), strict=True):
            better = greater(value, best)
            best = np.where(better, value, best)
            where = where if key is None else np.where(better, item, where)
        return Scalar(run, _as_column(run, best), "f", numpy) if key is None else Scalar(run, where, "i", False)

    return extreme


def _as_column(run: Run, values: Any) -> Array:
    return np.broadcast_to(values, (run.n,))


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
    if not _COMPENSATED or not any(isinstance(item, Column) for item in items):
        return sum(items, start)
    found = _float_run([*items, float(start)] if type(start) in (int, float) else items)
    if found is None or found[1]:
        run = next(item.run for item in items if isinstance(item, Column))
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


def lifted_bool(*args: Any) -> Any:
    """As `bool`: a column of truth values for a scalar column."""
    if len(args) == 1 and isinstance(args[0], Scalar):
        values = args[0].values()
        return Scalar(args[0].run, values != ("" if args[0].kind == "U" else 0), "b", False)
    return bool(*args)


def lifted_type(*args: Any, **keywords: Any) -> Any:
    """As `type`: what a column is in each of its runs."""
    if len(args) == 1 and not keywords and isinstance(args[0], Column):
        return args[0].__class__
    return type(*args, **keywords)


LIFTED_BUILTINS: dict[str, Callable[..., Any]] = {
    "max": _extreme("max", lambda a, b: a > b),
    "min": _extreme("min", lambda a, b: a < b),
    "sorted": lifted_sorted,
    "sum": lifted_sum,
    "int": lifted_int,
    "float": lifted_float,
    "bool": lifted_bool,
    "type": lifted_type,
    "str": lifted_str,
    "repr": lifted_repr,
    "format": lifted_format,
}
"""Replacements, used only where the name is called on the spot: `isinstance(x, float)` keeps the real type."""


_ELEMENTWISE = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "copysign", "cos", "cosh", "degrees", "erf"),
    *("erfc", "exp", "expm1", "fabs", "fmod", "gamma", "hypot", "ldexp", "lgamma", "log", "log10", "log1p", "log2"),
    *("pow", "radians", "sin", "sinh", "sqrt", "tan", "tanh"),
)
_TESTS: dict[str, Any] = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}


def lifted_math(name: str) -> Any:
    """`math.<name>` for columns too; a name that is not elementwise is returned as it is."""
    real = getattr(math, name)
    if name in _TESTS:
        test = _TESTS[name]

        def tested(x: Any) -> Any:
            return Scalar(x.run, test(x.values()), "b", False) if isinstance(x, Scalar) else real(x)

        tested.harmless = 1  # type: ignore[attr-defined]
        return tested
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

    function.harmless = 9  # type: ignore[attr-defined]
    return function


# Sorting.

_PLAIN = {float: ("f", False), int: ("i", False), str: ("U", False), np.float64: ("f", True), np.int64: ("i", True)}


def sorted_by_column(items: list[Any], keys: list[Any], reverse: bool) -> list[Any] | None:
    """The items in the order of their keys, run by run; None where columns cannot say it."""
    run = _run_of(keys)
    if run is None or len(items) < 2:
        return None
    parts = _parts(run, keys)
    for part in parts or ():
        if part.dtype.kind == "f" and np.isnan(part).any():
            # Whether to fall back on comparisons must not depend on what other runs hold.
            run.refuse("it sorts drawn values among which there is NaN")
    return None if parts is None else _gathered(run, items, _order(parts, reverse))


def _run_of(keys: list[Any]) -> Run | None:
    for key in keys:
        for part in key if type(key) is tuple else (key,):
            if isinstance(part, Scalar):
                return part.run
    return None


def _parts(run: Run, keys: list[Any]) -> list[Array] | None:
    """The keys as tables of a row for each run, first part first; None for keys of mixed kinds."""
    if type(keys[0]) is not tuple:
        keys = [(key,) for key in keys]
    if any(type(key) is not tuple or len(key) != len(keys[0]) for key in keys):
        return None
    tables = [_table(run, [key[part] for key in keys]) for part in range(len(keys[0]))]
    return None if any(table is None for table in tables) else tables  # type: ignore[return-value]


def _table(run: Run, values: list[Any]) -> Array | None:
    """Values of one kind, side by side for each run."""
    kinds = {_kind(value) for value in values}
    if len(kinds) != 1 or None in kinds:
        return None
    columns = [value.values() if isinstance(value, Scalar) else np.asarray(value) for value in values]
    return np.stack([np.broadcast_to(column, (run.n,)) for column in columns], axis=1)


def _kind(value: Any) -> tuple[str, bool] | None:
    """The kind of a value and whether NumPy made it; None for what is not a plain number or text."""
    if isinstance(value, Scalar):
        return value.kind, value.numpy
    if type(value) is int and not -(2**62) < value < 2**62:
        return None
    return _PLAIN.get(type(value))


def _order(parts: list[Array], reverse: bool) -> Array:
    """For each run, the positions of the items in order: stable, in reverse too, as Python's sort is."""
    n, count = parts[0].shape
    order = np.broadcast_to(np.arange(count), (n, count))
    if reverse:
        order = order[:, ::-1]
    for part in reversed(parts):
        ranked = np.argsort(np.take_along_axis(part, order, 1), axis=1, kind="stable")
        order = np.take_along_axis(order, ranked, 1)
    return order[:, ::-1] if reverse else order


def _gathered(run: Run, items: list[Any], order: Array) -> list[Any] | None:
    """The items by position, run by run."""
    if type(items[0]) is tuple:
        if any(type(item) is not tuple or len(item) != len(items[0]) for item in items):
            return None
        fields = [_gathered(run, [item[i] for item in items], order) for i in range(len(items[0]))]
        return None if any(field is None for field in fields) else list(zip(*fields, strict=True))
    table = _table(run, items)
    if table is None:
        return None
    kind, numpy = _kind(items[0])  # type: ignore[misc]
    table = np.take_along_axis(table, order, 1)
    return [Scalar(run, np.ascontiguousarray(table[:, i]), kind, numpy) for i in range(len(items))]
