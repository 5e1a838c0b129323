"""Requests and answers of the command protocol as lines of JSON; nothing here starts or reads a program.

Plain JSON stands for what every language reads alike. The rest is an object with one key that starts with "$":
{"$float": "nan"}, {"$int": "9007199254740993"}, {"$dict": [[key, value], ...]}, {"$error": "ValueError"}.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from refutedp.model.errors import UsageError
from refutedp.sampling.encode import Raised

_KEYS = {"id", "outputs", "done", "failure"}
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
    if isinstance(value, dict) and len(value) == 1 and "$error" in value:
        name = value["$error"]
        if not isinstance(name, str) or not name or len(name) > 200:
            raise BadValue('the content of "$error" must be the name of the error, of 1 to 200 characters')
        return Raised(name)
    return _inner(value)


def _inner(value: Any) -> Any:
    if isinstance(value, dict):
        return _from_object(value)
    # Most outputs are flat: look before copying.
    if isinstance(value, list) and any(type(item) in (dict, list) for item in value):
        return [_inner(item) for item in value]
    return value


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
    with contextlib.suppress(TypeError, ValueError):
        if tag == "$int" and isinstance(content, str):
            return int(content)
        if tag == "$dict" and isinstance(content, list):
            return {_inner(key): _inner(item) for key, item in content}
    if tag == "$error":
        raise BadValue('"$error" inside an output: an error takes the place of the whole output')
    raise BadValue(f"{json.dumps(value)[:60]} is not one of $float, $int, $dict and $error with its content")


@dataclass(frozen=True, slots=True)
class Answer:
    """One line of a program: some outputs, perhaps the end of the request, or why it cannot be served."""

    id: int
    outputs: tuple[Any, ...] = ()
    done: bool = False
    failure: str | None = None


def request_line(number: int, data: Any, arguments: Mapping[str, Any], seed: int, count: int) -> bytes:
    """The request as one line.

    >>> request_line(1, [1, 2], {"epsilon": 0.5}, seed=7, count=10)
    b'{"id": 1, "data": [1, 2], "arguments": {"epsilon": 0.5}, "seed": 7, "count": 10}\\n'
    """
    request = {
        "id": number,
        "data": to_wire(data, "the data"),
        "arguments": {name: to_wire(value, f"the argument '{name}'") for name, value in arguments.items()},
        "seed": seed,
        "count": count,
    }
    return json.dumps(request, allow_nan=False).encode() + b"\n"


def read_answer(line: bytes) -> Answer:
    """One line of the program, checked; what breaks the protocol raises `BadValue` with the reason.

    >>> read_answer(b'{"id": 1, "outputs": [0.5, {"$float": "nan"}], "done": true}')
    Answer(id=1, outputs=(0.5, nan), done=True, failure=None)
    """
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise BadValue(f"it is not UTF-8 ({error.reason} at byte {error.start})") from None
    if not text.strip():
        raise BadValue("it is empty")
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadValue(f"it is not JSON ({error.msg} at character {error.pos})") from None
    except RecursionError:
        raise BadValue("it is nested too deeply") from None
    except ValueError as error:  # an integer of thousands of digits
        raise BadValue(f"it holds a number that cannot be read ({str(error).partition(';')[0]})") from None
    if not isinstance(found, dict):
        raise BadValue(f'it must be an object with "id" and "outputs", not a {_kind(found)}')
    return _checked(found)


def _checked(found: dict[str, Any]) -> Answer:
    unknown = next((key for key in found if key not in _KEYS), None)
    if unknown is not None:
        raise BadValue(f'it has the unknown key "{unknown[:40]}": an answer has "id", "outputs" and "done"')
    number = found.get("id")
    if type(number) is not int:
        raise BadValue('it has no whole number as "id"')
    failure = found.get("failure")
    if failure is not None:
        return Answer(number, failure=str(failure))
    done = found.get("done", False)
    outputs = found.get("outputs", [])
    if type(done) is not bool:
        raise BadValue('"done" must be true or false')
    if not isinstance(outputs, list):
        raise BadValue(f'"outputs" must be a list with one item a run, not a {_kind(outputs)}')
    if not outputs and not done:
        raise BadValue('it holds no outputs, and is not the end: write at least one, or "done": true')
    return Answer(number, tuple(map(from_wire, outputs)), done)


def _kind(value: Any) -> str:
    kinds = {dict: "object", list: "list", str: "string", bool: "boolean", type(None): "null"}
    return kinds.get(type(value), "number")
