"""Polars frames in saved results and in Python source: columns, types and values, without loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refutedp.model.errors import UsageError

_NUMBERS = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64")
_PLAIN = (*_NUMBERS, "Boolean", "String", "Binary", "Categorical", "Null")
_TIMES = ("Date", "Time", "Datetime", "Duration")


def encode_polars(frame: Any, where: str, encode: Callable[[Any, str], Any]) -> dict[str, Any]:
    """The frame as data; a column of a type that has no saved form gets a sentence."""
    columns = []
    for column in frame.get_columns():
        dtype = _dtype(column.dtype, where)
        # Times as numbers of the column's own unit: Python's know no nanoseconds.
        values = column.to_physical() if column.dtype.is_temporal() else column
        plain = [encode(value, where) for value in values.to_list()]
        columns.append({"name": encode(column.name, where), "dtype": dtype, "values": plain})
    return {"columns": columns, "rows": frame.height}


def decode_polars(polars: Any, saved: Any, decode: Callable[[Any], Any]) -> Any:
    """The frame again, made by the library."""
    columns = []
    for column in saved["columns"]:
        dtype = _to_dtype(polars, column["dtype"])
        values = [decode(value) for value in column["values"]]
        if dtype.is_temporal():
            days = polars.Int32 if dtype == polars.Date else polars.Int64
            made = polars.Series(values, dtype=polars.Int64).cast(days).cast(dtype)
        else:
            made = polars.Series(values, dtype=dtype, strict=True)
        columns.append(made.alias(decode(column["name"])))
    if any(len(column) != saved["rows"] for column in columns):
        raise ValueError(f"columns do not have {saved['rows']} values each")
    return polars.DataFrame(columns)


def _dtype(dtype: Any, where: str) -> Any:
    name = type(dtype).__name__ if not isinstance(dtype, type) else dtype.__name__
    match name:
        case "Datetime":
            return {"Datetime": [dtype.time_unit, dtype.time_zone]}
        case "Duration":
            return {"Duration": dtype.time_unit}
        case "Decimal":
            return {"Decimal": [dtype.precision, dtype.scale]}
        case "Enum":
            return {"Enum": dtype.categories.to_list()}
        case "List" if not dtype.inner.is_temporal():
            return {"List": _dtype(dtype.inner, where)}
        case _ if name in (*_PLAIN, *_TIMES):
            return name
        case _:
            raise UsageError(
                f"{where} has a column of the type {dtype}, which cannot be saved: "
                "use numbers, bools, strings, dates, categories or lists of these"
            )


def _to_dtype(polars: Any, saved: Any) -> Any:
    if isinstance(saved, str):
        if saved not in (*_PLAIN, *_TIMES):
            raise ValueError(f"unknown type of column {saved!r}")
        return getattr(polars, saved)()
    ((name, content),) = saved.items()
    match name:
        case "Datetime" | "Decimal":
            return getattr(polars, name)(*content)
        case "Duration" | "Enum":
            return getattr(polars, name)(content)
        case "List":
            return polars.List(_to_dtype(polars, content))
        case _:
            raise ValueError(f"unknown type of column {name!r}")


def polars_literal(frame: Any, literal: Callable[[Any], str]) -> str:
    """Python source that makes an equal frame, `pl` being Polars.

    >>> import polars as pl
    >>> from refutedp.report.python_code import literal
    >>> polars_literal(pl.DataFrame({"age": [30, None]}), literal)
    "pl.DataFrame({'age': [30, None]}, schema={'age': pl.Int64})"
    """
    values = ", ".join(f"{literal(column.name)}: {literal(column.to_list())}" for column in frame.get_columns())
    schema = ", ".join(f"{literal(name)}: {_dtype_literal(dtype)}" for name, dtype in frame.schema.items())
    return f"pl.DataFrame({{{values}}}, schema={{{schema}}})"


def _dtype_literal(dtype: Any) -> str:
    saved = _dtype(dtype, "the frame")
    if isinstance(saved, str):
        return f"pl.{saved}"
    ((name, content),) = saved.items()
    if name == "List":
        return f"pl.List({_dtype_literal(dtype.inner)})"
    return f"pl.{name}({', '.join(map(repr, content)) if name in ('Datetime', 'Decimal') else repr(content)})"
