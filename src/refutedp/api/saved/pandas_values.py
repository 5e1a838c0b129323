"""pandas frames in saved results and in Python source: columns, types, values and labels, without loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from refutedp.model.datasets import is_counted
from refutedp.model.errors import UsageError

_NUMPY_KINDS = "biufcO"
_EXTENSIONS = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64")
_MASKED = (*_EXTENSIONS, "boolean", "string")


def encode_pandas(frame: Any, where: str, encode: Callable[[Any, str], Any]) -> dict[str, Any]:
    """The frame as data; a column of a type that has no saved form gets a sentence."""
    if frame.index.nlevels > 1 or frame.columns.nlevels > 1:
        raise UsageError(f"{where} has labels in several levels, which cannot be saved: use reset_index()")
    saved: dict[str, Any] = {
        "columns": [encode(name, where) for name in frame.columns.tolist()],
        "data": [_column(frame.iloc[:, i], where, encode) for i in range(frame.shape[1])],
    }
    if is_counted(frame):
        return {**saved, "rows": len(frame)}
    return {
        **saved,
        "index": _column(frame.index.to_series(), where, encode),
        "name": encode(frame.index.name, where),
    }


def decode_pandas(pandas: Any, saved: Any, decode: Callable[[Any], Any]) -> Any:
    """The frame again, made by the library."""
    columns = [_series(pandas, column, decode) for column in saved["data"]]
    if "index" in saved:
        index = pandas.Index(_series(pandas, saved["index"], decode), name=decode(saved["name"]))
    else:
        index = pandas.RangeIndex(int(saved["rows"]))
    if any(len(column) != len(index) for column in columns):
        raise ValueError(f"columns do not have {len(index)} values each")
    frame = pandas.DataFrame({i: column.array for i, column in enumerate(columns)}, index=index)
    frame.columns = [decode(name) for name in saved["columns"]]
    return frame


def _column(column: Any, where: str, encode: Callable[[Any, str], Any]) -> dict[str, Any]:
    dtype = str(column.dtype)
    if dtype == "category":
        categories = column.cat.categories.to_series()
        return {
            "dtype": dtype,
            "values": column.cat.codes.tolist(),
            "categories": _column(categories, where, encode),
            "ordered": bool(column.cat.ordered),
        }
    if dtype.startswith(("datetime64", "timedelta64")):
        # Numbers of the column's own unit: what is written as text may lose nanoseconds.
        kind = f"{dtype.partition('[')[0]}[{column.dt.unit}]"
        return {"dtype": dtype, "values": column.to_numpy(dtype=kind).view("i8").tolist()}
    if dtype in _MASKED:
        values = [None if missing else value for value, missing in zip(column, column.isna(), strict=True)]
        return {"dtype": dtype, "values": [encode(_plain(value), where) for value in values]}
    if dtype != "str" and not (isinstance(column.dtype, np.dtype) and column.dtype.kind in _NUMPY_KINDS):
        raise UsageError(
            f"{where} has a column of the type {dtype}, which cannot be saved: "
            "use numbers, bools, strings, dates, categories or objects"
        )
    return {"dtype": dtype, "values": [encode(value, where) for value in column.tolist()]}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _series(pandas: Any, saved: Any, decode: Callable[[Any], Any]) -> Any:
    dtype, values = str(saved["dtype"]), saved["values"]
    if dtype == "category":
        categories = pandas.Index(_series(pandas, saved["categories"], decode))
        made = pandas.Categorical.from_codes(values, categories=categories, ordered=bool(saved["ordered"]))
        return pandas.Series(made)
    if dtype.startswith(("datetime64", "timedelta64")):
        known = pandas.api.types.pandas_dtype(dtype)
        unit = np.datetime_data(known)[0] if isinstance(known, np.dtype) else known.unit
        numbers = pandas.Series(np.array(values, dtype="i8").view(f"{dtype.partition('[')[0]}[{unit}]"))
        return numbers if isinstance(known, np.dtype) else numbers.dt.tz_localize("UTC").dt.tz_convert(known.tz)
    if dtype not in (*_MASKED, "str") and np.dtype(dtype).kind not in _NUMPY_KINDS:
        raise ValueError(f"unknown type of column {dtype!r}")
    plain = [decode(value) for value in values]
    if dtype == "object":
        held = np.empty(len(plain), dtype=object)
        held[:] = plain
        return pandas.Series(held, dtype=object)
    return pandas.Series(plain, dtype=dtype)


def pandas_literal(frame: Any, literal: Callable[[Any], str]) -> str:
    """Python source that makes an equal frame, `pd` being pandas.

    >>> import pandas as pd
    >>> from refutedp.report.python_code import literal
    >>> print(pandas_literal(pd.DataFrame({"age": [30.0, float("nan")]}), literal))
    pd.DataFrame({'age': pd.Series([30.0, float("nan")], dtype='float64')})
    """
    names = frame.columns.tolist()
    if len(set(names)) < len(names) or not all(isinstance(name, (str, int)) for name in names):
        raise UsageError("a frame with such column names cannot be written as Python source: save it as JSON instead")
    parts = [f"{literal(name)}: {_column_literal(frame.iloc[:, i], literal)}" for i, name in enumerate(names)]
    made = f"pd.DataFrame({{{', '.join(parts)}}})"
    if is_counted(frame):
        return made
    return f"{made}.set_axis({literal(frame.index.tolist())}, axis=0)"


def _column_literal(column: Any, literal: Callable[[Any], str]) -> str:
    dtype = str(column.dtype)
    values = [None if missing else value for value, missing in zip(column.tolist(), column.isna(), strict=True)]
    if dtype == "category":
        inner = column.cat
        return (
            f"pd.Series(pd.Categorical({literal(values)}, categories={literal(inner.categories.tolist())}, "
            f"ordered={bool(inner.ordered)}))"
        )
    if dtype.startswith(("datetime64", "timedelta64")):
        values = [None if value is None else value.isoformat() for value in values]
        if "," in dtype:  # with a time zone, text must pass through UTC
            return f"pd.to_datetime(pd.Series({literal(values)}), utc=True).astype({literal(dtype)})"
    elif dtype not in _MASKED:
        values = column.tolist()
    return f"pd.Series({literal([_plain(value) for value in values])}, dtype={literal(dtype)})"
