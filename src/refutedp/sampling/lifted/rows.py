"""Reductions of many short rows: taken column by column, which is up to a hundred times faster than NumPy's way.

Only reductions that give the same in any order are taken so; sums are not, for rounding depends on their order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from refutedp.outputs import Array

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


def over_rows(function: Callable[..., Any], table: Array, keywords: dict[str, Any]) -> Any:
    """`function` of each row of a table."""
    width, kind = table.shape[1], table.dtype.kind
    if not keywords and width > 1:
        if function in _POSITIONS and width <= _FEW_FOR_POSITIONS and kind in "if":
            return _positions(function, table)
        kinds = "b" if function in (np.any, np.all) else "bif"
        if function in _BY_COLUMN and width <= _FEW_COLUMNS and kind in kinds:
            ufunc = _BY_COLUMN[function]
            result = ufunc(table[:, 0], table[:, 1])
            for column in range(2, width):
                ufunc(result, table[:, column], out=result)
            return result
    return function(table, axis=1, **keywords)


def _positions(function: Callable[..., Any], table: Array) -> Any:
    """The first position of the extreme of each row."""
    beats, extreme = _POSITIONS[function]
    best = table[:, 0].copy()
    position = np.zeros(len(table), dtype=np.int8)
    for column in range(1, table.shape[1]):
        values = table[:, column]
        # Positions grow, so the larger of two is the one found last.
        np.maximum(position, beats(values, best).view(np.int8) * np.int8(column), out=position)
        extreme(best, values, out=best)
    if table.dtype.kind == "f" and np.isnan(best).any():
        # NumPy takes NaN for the extreme; comparisons do not.
        return function(table, axis=1)
    return position.astype(np.int64)
