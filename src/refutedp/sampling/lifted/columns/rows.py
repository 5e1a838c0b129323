"""Reductions of many short rows: taken column by column, which is up to a hundred times faster than NumPy's way.

Only reductions that give the same in any order are taken so; sums are not, for rounding depends on their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refutedp.model.outputs import Array

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
    """`function` of the rows that equally long columns of one type make up, of two to 127 of them.

    >>> over_columns(np.argmax, [np.array([0.5, 2.5]), np.array([1.5, 2.0])])
    array([1, 0])
    """
    if function in _POSITIONS:
        return _positions(function, columns)
    ufunc = _BY_COLUMN[function]
    result = ufunc(columns[0], columns[1])
    for column in columns[2:]:
        ufunc(result, column, out=result)
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
