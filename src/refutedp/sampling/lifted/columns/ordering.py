"""Sorting columns: each run has its own order, and one stable argsort finds them all.

`sorted(range(n), key=lambda i: -noisy[i])`, `sorted(enumerate(noisy), key=lambda pair: pair[1])` and
`sorted(zip(noisy, names))` would split the runs into one group for every order. Here the keys are ranked by column
and the items gathered by rank: numbers, text, and tuples of them. Anything else goes to the real `sorted`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns.scalar import Scalar
from refutedp.sampling.lifted.execution import Run

_PLAIN: dict[type, tuple[str, bool]] = {
    float: ("f", False),
    int: ("i", False),
    str: ("U", False),
    np.float64: ("f", True),
    np.int64: ("i", True),
}


def sorted_by_column(items: list[Any], keys: list[Any], reverse: bool) -> list[Any] | None:
    """The items in the order of their keys, run by run; None where columns cannot say it."""
    run = _run_of(keys)
    if run is None or len(items) < 2:
        return None
    parts = _parts(run, keys)
    if parts is None:
        return None
    for part in parts:
        if part.dtype.kind == "f" and np.isnan(part).any():
            # Whether to fall back on comparisons must not depend on what other runs hold.
            run.refuse("it sorts drawn values among which there is NaN")
    order = _order(parts, reverse)
    return _gathered(run, items, order)


def _run_of(keys: list[Any]) -> Run | None:
    for key in keys:
        for part in key if type(key) is tuple else (key,):
            if isinstance(part, Scalar):
                return part.run
    return None


def _parts(run: Run, keys: list[Any]) -> list[Array] | None:
    """The keys as tables of a row for each run, first part first; None for keys of mixed kinds."""
    if type(keys[0]) is not tuple:
        table = _table(run, keys)
        return None if table is None else [table]
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
