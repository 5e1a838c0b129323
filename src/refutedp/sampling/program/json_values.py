"""Python values as the JSON of the command protocol, and back.

Plain JSON stands for what every language reads alike. The rest is an object with one key that starts with "$":
{"$float": "nan"}, {"$int": "9007199254740993"}, {"$dict": [[key, value], ...]}, {"$error": "ValueError"}.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from refutedp.model.errors import UsageError
from refutedp.sampling.encode import Raised

SAFE = 2**53
"""Integers up to this size are exact in languages whose only number is the double."""
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class BadValue(ValueError):
    """A value in an answer breaks the protocol; the text says how."""


def to_wire(value: Any, where: str) -> Any:
    """A value of a request, ready for JSON; `where` names it in the sentence for what has no JSON form.

    >>> to_wire([1, float("inf"), {"age": 2**60}], "data")
    [1, {'$float': 'inf'}, {'age': {'$int': '1152921504606846976'}}]
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -SAFE <= value <= SAFE else {"$int": str(int(value))}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list | tuple):
        return [to_wire(item, where) for item in value]
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: to_wire(item, where) for key, item in value.items()}
        return {"$dict": [[to_wire(key, where), to_wire(item, where)] for key, item in value.items()]}
    records = getattr(value, "to_dicts", None)  # Polars
    if callable(records):
        return to_wire(records(), where)
    if hasattr(value, "to_dict") and hasattr(value, "columns"):  # pandas
        return to_wire(value.to_dict("records"), where)
    raise UsageError(
        f"{where} holds a {type(value).__name__}, which cannot be sent to a program as JSON: "
        "use numbers, strings, booleans, None, lists and dicts"
    )


def from_wire(value: Any) -> Any:
    """An output of an answer as a Python value; an error it tells of as `Raised`.

    >>> from_wire([1, {"$float": "-inf"}]), from_wire({"$error": "ValueError"})
    ([1, -inf], Raised(error='ValueError'))
    """
    if isinstance(value, dict):
        if len(value) == 1 and "$error" in value:
            name = value["$error"]
            if not isinstance(name, str) or not name or len(name) > 200:
                raise BadValue('the content of "$error" must be the name of the error, of 1 to 200 characters')
            return Raised(name)
        return _from_object(value)
    if isinstance(value, list):
        return _from_list(value)
    return value


def _from_list(items: list[Any]) -> list[Any]:
    # Most outputs are flat: look before copying.
    if any(type(item) in (dict, list) for item in items):
        return [_inner(item) for item in items]
    return items


def _inner(value: Any) -> Any:
    if isinstance(value, dict):
        return _from_object(value)
    return _from_list(value) if isinstance(value, list) else value


def _from_object(value: dict[str, Any]) -> Any:
    tag = next((key for key in value if key.startswith("$")), None)
    if tag is None:
        return {key: _inner(item) for key, item in value.items()}
    if len(value) > 1:
        raise BadValue(f'an object with the key "{tag[:40]}" has other keys too: write it as {{"$dict": [...]}}')
    content = value[tag]
    if tag == "$float" and isinstance(content, str) and content in _NOT_FINITE:
        return _NOT_FINITE[content]
    if tag == "$float" and type(content) in (int, float):  # 2.0 from a language that prints it as 2
        return float(content)
    if tag == "$int" and isinstance(content, str):
        try:
            return int(content)
        except ValueError:
            pass
    elif tag == "$dict" and isinstance(content, list):
        try:
            return {_inner(key): _inner(item) for key, item in content}
        except (TypeError, ValueError):
            pass
    elif tag == "$error":
        raise BadValue('"$error" inside an output: an error takes the place of the whole output')
    raise BadValue(f"{json.dumps(value)[:60]} is not one of $float, $int, $dict and $error with its content")
