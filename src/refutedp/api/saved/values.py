"""Python values as JSON and back, without loss: the tagged form used in saved results.

Plain JSON stands for None, bools, integers of 64 bits, finite floats, strings and lists. Everything else is an object
with one key that says what it is: {"float": "nan"}, {"tuple": [...]}, {"array": {...}}, {"pandas": {...}}.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import fractions
import importlib
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from refutedp.api.saved.pandas_values import decode_pandas, encode_pandas
from refutedp.api.saved.polars_values import decode_polars, encode_polars
from refutedp.model.datasets import is_frame
from refutedp.model.errors import UsageError

_ARRAY_KINDS = "biufcOUSmM"
_TIME_KINDS = "mM"


class NeedsLibrary(UsageError):
    """The value is sound, and the library that holds it is not installed."""


def encode(value: Any, where: str = "the value") -> Any:
    """The value in tagged form; an object that cannot be saved gets a sentence that names `where` it sits.

    >>> encode([1, float("nan"), (2.0, None)])
    [1, {'float': 'nan'}, {'tuple': [2.0, None]}]
    """
    if value is None or type(value) is bool:
        return value
    if type(value) is int:
        return value if -(2**63) <= value < 2**63 else {"int": str(value)}
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if type(value) is str:
        return _text(value)
    if type(value) is list:
        return [encode(item, where) for item in value]
    if isinstance(value, np.generic):
        return {"numpy": [value.dtype.str, encode(_item(value, where), where)]}
    if isinstance(value, np.ndarray):
        return {"array": _array(value, where)}
    if is_frame(value, "pandas"):
        return {"pandas": encode_pandas(value, where, encode)}
    if is_frame(value, "polars"):
        return {"polars": encode_polars(value, where, encode)}
    if type(value) in (tuple, set, frozenset):
        items = value if type(value) is tuple else sorted(value, key=repr)
        return {type(value).__name__: [encode(item, where) for item in items]}
    if type(value) is dict:
        return {"dict": [[encode(key, where), encode(item, where)] for key, item in value.items()]}
    if type(value) in (bytes, bytearray):
        return {type(value).__name__: base64.b64encode(value).decode()}
    if type(value) is complex:
        return {"complex": [encode(value.real), encode(value.imag)]}
    for name, (kind, write, _) in _BY_TEXT.items():
        if type(value) is kind:
            return {name: write(value)}
    raise UsageError(
        f"{where} holds a {type(value).__qualname__}, which cannot be saved: only numbers, strings, bytes, dates, "
        "lists, tuples, sets, dicts, NumPy arrays and frames of these can"
    )


def decode(saved: Any) -> Any:
    """The value that `encode` was given.

    >>> decode({"tuple": [1, {"float": "-inf"}]})
    (1, -inf)
    """
    if isinstance(saved, list):
        return _items(saved)
    if not isinstance(saved, Mapping):
        return saved
    try:
        ((tag, content),) = saved.items()
        if tag not in _DECODERS:
            raise ValueError(f"unknown tag '{tag}'")
        return _DECODERS[tag](content)
    except NeedsLibrary:
        raise
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as error:
        raise UsageError(f"{_short(saved)} is no saved value: {error}") from error


def _text(value: str) -> Any:
    try:
        value.encode()
    except UnicodeEncodeError:  # half a surrogate pair: legal in Python, not in JSON
        return {"str": base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()}
    return value


def _item(value: np.generic, where: str) -> Any:
    if value.dtype.kind not in _ARRAY_KINDS or (value.dtype.itemsize > 8 and value.dtype.kind in "f"):
        raise UsageError(
            f"{where} holds a NumPy {value.dtype}, which cannot be saved: use float64, int64, bool or str"
        )
    # Numbers of the value's own unit: Python's dates know no nanoseconds.
    return int(value.astype("i8")) if value.dtype.kind in _TIME_KINDS else value.item()


def _array(value: np.ndarray[Any, Any], where: str) -> dict[str, Any]:
    if value.dtype.kind not in _ARRAY_KINDS or value.dtype.names:
        raise UsageError(
            f"{where} holds a NumPy array of {value.dtype}, which cannot be saved: "
            "use numbers, bools, strings or objects"
        )
    flat = value.ravel()
    items = flat.view("i8") if value.dtype.kind in _TIME_KINDS else flat
    return {
        "dtype": value.dtype.str,
        "shape": list(value.shape),
        "values": [encode(item, where) for item in items.tolist()],
    }


def _from_array(content: Any) -> np.ndarray[Any, Any]:
    shape = tuple(int(size) for size in content["shape"])
    values = _items(content["values"])
    if len(values) != math.prod(shape):
        raise ValueError(f"{len(values)} values do not fill an array of shape {shape}")
    return _filled(values, _dtype(content["dtype"])).reshape(shape)


def _filled(values: list[Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if dtype.kind in _TIME_KINDS:
        return np.array(values, dtype="i8").view(dtype)
    made = np.empty(len(values), dtype=dtype)
    made[:] = values
    return made


def _dtype(name: Any) -> np.dtype[Any]:
    dtype = np.dtype(str(name))
    if dtype.kind not in _ARRAY_KINDS or dtype.names:
        raise ValueError(f"unknown kind of array {name!r}")
    return dtype


def _items(content: Any) -> list[Any]:
    return [decode(item) for item in content]


def _library(name: str, what: str) -> Any:
    """The module; without it, half a sentence with the line that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise NeedsLibrary(f'holds a {what}, which needs its library: pip install "refutedp[{name}]"') from None


_BY_TEXT: dict[str, tuple[type, Any, Any]] = {
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "decimal": (decimal.Decimal, str, decimal.Decimal),
    "fraction": (fractions.Fraction, str, fractions.Fraction),
}
_DECODERS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "int": int,
    "str": lambda content: base64.b64decode(content).decode("utf-8", "surrogatepass"),
    "tuple": lambda content: tuple(_items(content)),
    "set": lambda content: set(_items(content)),
    "frozenset": lambda content: frozenset(_items(content)),
    "dict": lambda content: {decode(key): decode(item) for key, item in content},
    "bytes": base64.b64decode,
    "bytearray": lambda content: bytearray(base64.b64decode(content)),
    "complex": lambda content: complex(decode(content[0]), decode(content[1])),
    "numpy": lambda content: _filled([decode(content[1])], _dtype(content[0]))[0],
    "array": _from_array,
    "pandas": lambda content: decode_pandas(_library("pandas", "pandas DataFrame"), content, decode),
    "polars": lambda content: decode_polars(_library("polars", "Polars DataFrame"), content, decode),
    **{tag: read for tag, (_, _, read) in _BY_TEXT.items()},
}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def encode_record(value: Any) -> Any:
    """Builtins made from a msgspec record: its dicts stay objects, and only odd numbers and texts are tagged."""
    if isinstance(value, dict):
        return {key: encode_record(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode_record(item) for item in value]
    return encode(value)


def decode_record(saved: Any) -> Any:
    """What `encode_record` was given, tuples as lists."""
    if isinstance(saved, dict):
        if len(saved) == 1 and next(iter(saved)) in ("float", "int", "str", "numpy"):
            return decode(saved)
        return {key: decode_record(item) for key, item in saved.items()}
    return [decode_record(item) for item in saved] if isinstance(saved, list) else saved
