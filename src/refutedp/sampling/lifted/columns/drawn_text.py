"""Text of drawn values: Python's own formatting, run by run, on the very value that each run has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns.scalar import Scalar
from refutedp.sampling.lifted.execution import Run

_FEW = 64
"""Drawn text that has so few values is formatted value by value."""
_CONVERSIONS: dict[str, Callable[[Any], str]] = {"s": str, "r": repr, "a": ascii}


def text_of(function: Callable[..., str], values: Sequence[Any]) -> Scalar:
    """The column of `function(*values)`, text in each run, of values with a column among them."""
    run: Run = next(value.run for value in values if type(value) is Scalar)
    only = values[0] if len(values) == 1 else None
    if only is not None and only.kind in "ib":
        # There are few of these, as a rule.
        distinct, inverse = np.unique(only.values(), return_inverse=True)
        return Scalar(run, _texts(run, function, [_listed(distinct, only.numpy)])[inverse], "U", False)
    lists = [_listed(value.values(), value.numpy) if type(value) is Scalar else [value] * run.n for value in values]
    return Scalar(run, _texts(run, function, lists), "U", False)


def _listed(values: Array, numpy: bool) -> list[Any]:
    """The numbers as the function itself has them, NumPy's or Python's."""
    return list(values) if numpy else values.tolist()


def _texts(run: Run, function: Callable[..., str], lists: list[list[Any]]) -> Array:
    try:
        texts = list(map(function, *lists))
    except Exception as error:
        run.refuse(f"it formats drawn values as text, which raises {type(error).__name__} in some runs")
    if any(text.endswith("\0") for text in texts):
        _refuse_zeros(run)
    return np.array(texts, dtype=np.str_)


def _refuse_zeros(run: Run) -> NoReturn:
    run.refuse("it makes text that ends with a zero character, which columns do not keep")


def lifted_str(*args: Any, **keywords: Any) -> Any:
    """As `str`."""
    if len(args) == 1 and not keywords and type(args[0]) is Scalar:
        return text_of(str, args)
    return str(*args, **keywords)


def lifted_repr(value: Any, /) -> Any:
    """As `repr`."""
    return text_of(repr, [value]) if type(value) is Scalar else repr(value)


def lifted_format(value: Any, spec: str = "", /) -> Any:
    """As `format`."""
    return text_of(lambda one: format(one, spec), [value]) if type(value) is Scalar else format(value, spec)


def formatted(*parts: Any) -> Any:
    """An f-string: its text, and tuples of a value, a conversion (or None) and a format."""
    held = [part[0] for part in parts if type(part) is tuple]

    def text(*values: Any) -> str:
        given = iter(values)
        return "".join(part if type(part) is str else _piece(next(given), *part[1:]) for part in parts)

    if not any(type(value) is Scalar for value in held):
        return text(*held)
    spec = next((part[2] for part in parts if type(part) is tuple and type(part[2]) is Scalar), None)
    if spec is not None:
        spec.run.refuse("it formats by a drawn format")
    if any(type(part) is str and "\0" in part for part in parts):
        _refuse_zeros(next(value.run for value in held if type(value) is Scalar))
    drawn = [value for value in held if type(value) is Scalar]
    if len(drawn) > 1:
        return text_of(text, held)
    place = next(number for number, value in enumerate(held) if type(value) is Scalar)
    return text_of(lambda one: text(*held[:place], one, *held[place + 1 :]), drawn)


def _piece(value: Any, conversion: str | None, spec: str) -> str:
    return format(value if conversion is None else _CONVERSIONS[conversion](value), spec)


def percent(text: str, values: Any) -> Any:
    """As `text % values`."""
    held = values if type(values) is tuple else (values,)
    if not any(type(value) is Scalar for value in held):
        return text % values
    return text_of(lambda *row: text % row, held)


def format_text(text: str, /, *args: Any, **keywords: Any) -> Any:
    """As `text.format(*args, **keywords)`."""
    held = [*args, *keywords.values()]
    if not any(type(value) is Scalar for value in held):
        return text.format(*args, **keywords)
    names = list(keywords)

    def each(*row: Any) -> str:
        return text.format(*row[: len(args)], **dict(zip(names, row[len(args) :], strict=True)))

    return text_of(each, held)


def join_text(text: str, parts: Any) -> Any:
    """As `text.join(parts)`."""
    held = list(parts)
    if not any(type(value) is Scalar for value in held):
        return text.join(held)
    if any(type(value) is Scalar and value.kind != "U" for value in held):
        raise TypeError("sequence item: expected str instance")
    return text_of(lambda *row: text.join(row), held)
