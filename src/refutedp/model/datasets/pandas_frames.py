"""pandas frames: a record is a row, and the index is no part of it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

from refutedp.model.datasets.container import CannotHold, Field, cell_key, is_frame, require_kept


class PandasFrames:
    """Frames of pandas."""

    name = "pandas DataFrame"
    nullable = True

    def holds(self, data: Any) -> bool:
        """Whether it is such a frame."""
        return is_frame(data, "pandas")

    def fields(self, data: Any) -> tuple[Field, ...]:
        """The columns with their dtypes."""
        return tuple(Field(str(name), str(dtype)) for name, dtype in zip(data.columns, data.dtypes, strict=True))

    def records(self, data: Any) -> list[Any]:
        """The rows as tuples."""
        if data.shape[1] == 0:
            return [()] * len(data)
        return list(data.itertuples(index=False, name=None))

    def key(self, record: Any) -> str:
        """Numbers count, not the types that hold them; None, nan, NA and NaT are all missing."""
        return f"({', '.join(_cell(value) for value in record)})"

    def take(self, data: Any, positions: Sequence[int]) -> Any:
        """The rows at these positions; rows that were merely counted are counted anew."""
        taken = data.iloc[list(positions)]
        return taken.reset_index(drop=True) if is_counted(data) else taken.copy()

    def joined(self, data: Any, record: Any, *, widen: bool = True) -> Any:
        """The rows and one more: each column in its own type if it fits, else as `concat` would widen it."""
        pandas = sys.modules["pandas"]
        if len(record) != data.shape[1]:
            raise CannotHold(f"a {self.name} with {data.shape[1]} columns cannot hold {record!r}")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of wider types, which are meant
                columns = [_column(pandas, v, t, widen) for v, t in zip(record, data.dtypes, strict=True)]
                row = pandas.concat(columns, axis=1, keys=range(len(columns)))
                row.columns = data.columns
                # A labelled row needs a label of the same kind: pandas does not mind the same one twice.
                row.index = data.index[-1:] if len(data) and not is_counted(data) else row.index
                made = pandas.concat([data, row], ignore_index=is_counted(data))
        except (TypeError, ValueError, OverflowError, ArithmeticError) as error:
            raise CannotHold(f"a {self.name} cannot hold {record!r}: {error}") from None
        return require_kept(self, made, record)


def is_counted(data: Any) -> bool:
    """Whether the labels are a mere count from zero, as pandas gives to every new frame."""
    index = data.index
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1 and index.name is None


def _column(pandas: Any, value: Any, dtype: Any, widen: bool) -> Any:
    try:
        column = pandas.Series([value], dtype=dtype)
        if _cell(column.iloc[0]) == _cell(value):
            return column
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        pass
    if not widen:
        raise CannotHold(f"a column of {dtype} cannot hold {value!r}")
    return pandas.Series([value])


def _cell(value: Any) -> str:
    try:
        missing = value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas.NA is neither true nor false; an array is both
        missing = type(value).__name__ == "NAType"
    return "nan" if missing else cell_key(value)
