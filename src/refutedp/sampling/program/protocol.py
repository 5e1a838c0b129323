"""Requests and answers of the command protocol as lines of JSON; nothing here starts or reads a program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from refutedp.sampling.program.json_values import BadValue, from_wire, to_wire

_KEYS = {"id", "outputs", "done", "failure"}


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
