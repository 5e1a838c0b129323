"""Frames and series of pandas and Polars as outputs: what of them an attacker sees, as parts with a path each.

A library is asked only about objects that are its own: nothing here imports pandas or Polars.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Sequence
from typing import Any

from refutedp.model.outputs import OtherKey, Path, Step

_TABLES = {"pandas": ("DataFrame", "Series", "Index"), "polars": ("DataFrame", "Series", "LazyFrame")}
ORDER = "order of rows"
"""Where the keys of the rows are, in their order."""


def is_table(value: Any) -> bool:
    """Whether it is a frame or a series of pandas or Polars, which is then imported already."""
    return any(isinstance(value, _kinds(library)) for library in _TABLES)


def cells(value: Any) -> tuple[str, int, list[tuple[Path, Any]]]:
    """The label of a table, which names columns and dtypes, how many rows it has, and its cells.

    A cell is found by the key of its row and its column: the label of a labelled index, or the words of the row (all
    columns that hold no numbers) where no two rows have the same; otherwise by the number of the row. So a group
    that appears changes the shape, the order of the rows is a value, and a cell is one of its own group.

    >>> import polars as pl
    >>> label, rows, found = cells(pl.DataFrame({"city": ["Rome", "Bonn"], "n": [2.5, 1.5]}))
    >>> label, rows, found[2:]
    ('DataFrame[city: String, n: Float64]', 2, [(('Rome', 'n'), 2.5), (('Bonn', 'n'), 1.5)])
    """
    library = next(name for name in _TABLES if isinstance(value, _kinds(name)))
    if type(value).__name__ == "LazyFrame":
        value = value.collect()
    columns, keys = _of_pandas(value) if library == "pandas" else (_of_polars(value), None)
    flat = not hasattr(value, "columns")
    said = ", ".join(dtype if flat else f"{name}: {dtype}" for name, dtype, _ in columns)
    if keys is None and not flat:
        words = [column for column in columns if _are_words(column[2])]
        found = [one[0] if len(one) == 1 else one for one in zip(*(items for _, _, items in words), strict=True)]
        if found and len(set(found)) == len(found):
            keys, columns = found, [column for column in columns if not _are_words(column[2])]
    labels = [_step(key) for key in keys or ()]
    rows: Sequence[Step] = labels if len(set(labels)) == len(value) else range(len(value))
    leaves: list[tuple[Path, Any]] = [((ORDER, i), _said(key)) for i, key in enumerate(keys or ())]
    for name, _, items in columns:
        leaves += [((row,) if flat else (row, _step(name)), item) for row, item in zip(rows, items, strict=True)]
    return f"{type(value).__name__}[{said}]", len(value), leaves


def _kinds(library: str) -> tuple[type, ...]:
    module = sys.modules.get(library)
    return () if module is None else tuple(getattr(module, name) for name in _TABLES[library])


Column = tuple[Any, str, list[Any]]
"""Its name, its dtype as the library prints it, and its cells."""


def _of_pandas(value: Any) -> tuple[list[Column], list[Any] | None]:
    """The columns, and the labels of the rows unless they merely count."""
    pandas = sys.modules["pandas"]
    if isinstance(value, pandas.Index):
        return [("", str(value.dtype), _plain(value))], None
    index = value.index
    counted = isinstance(index, pandas.RangeIndex) and index.start == 0 and index.step == 1
    keys = None if counted else _plain(index)
    if isinstance(value, pandas.Series):
        return [("", str(value.dtype), _plain(value))], keys
    parts = enumerate(zip(value.columns, value.dtypes, strict=True))
    return [(name, str(dtype), _plain(value.iloc[:, i])) for i, (name, dtype) in parts], keys


def _plain(column: Any) -> list[Any]:
    """The cells as Python's values; what pandas takes for missing, but nan, is None."""
    return [None if type(cell).__name__ in ("NAType", "NaTType") else cell for cell in column.tolist()]


def _of_polars(value: Any) -> list[Column]:
    series = value.get_columns() if hasattr(value, "get_columns") else [value]
    return [(one.name, str(one.dtype), one.to_list()) for one in series]


def _are_words(items: Sequence[Any]) -> bool:
    return bool(items) and all(isinstance(item, str | datetime.date) for item in items)


def _step(key: Any) -> Step:
    return key if type(key) in (str, int) else OtherKey(repr(key))


def _said(key: Any) -> str:
    return key if isinstance(key, str) else repr(key)
