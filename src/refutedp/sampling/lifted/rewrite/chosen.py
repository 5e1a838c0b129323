"""Values of two sides, or of several places, as one column: only if all are of one type in every run."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns.scalar import Scalar
from refutedp.sampling.lifted.execution import Choice, Run

UNSET: Final = type("Unset", (), {})()
"""What stands for a variable that has no value."""
_BIG = 2**53
_MOST_OPTIONS = 4096
"""Lists of up to so many values are looked up by drawn places."""
MOST_KEYS = 64
"""The same of dicts, and of lists of columns."""


def truth(value: Any) -> Array | None:
    """Whether a drawn value is true, run by run; None for all other values."""
    if type(value) is not Scalar:
        return None
    array = value.values()
    return array if value.kind == "b" else np.asarray(array != ("" if value.kind == "U" else 0))


def chose(run: Run, held: Array) -> None:
    """Note a condition on which values were chosen: each side has to be proven."""
    side = None if run.side is None else Scalar(run, run.side, "b", False)
    run.choices.append(Choice(Scalar(run, held, "b", False), side))


def join(run: Run, held: Array, then: Any, otherwise: Any) -> Any:
    """A column that is `then` where the condition holds; UNSET unless both are of one type in every run."""
    if then is otherwise:
        return then
    if then is True and otherwise is False:
        return Scalar(run, held, "b", False)
    if type(then) is tuple and type(otherwise) is tuple and len(then) == len(otherwise):
        parts = [join(run, held, a, b) for a, b in zip(then, otherwise, strict=True)]
        return UNSET if any(part is UNSET for part in parts) else tuple(parts)
    a, b = typed(then), typed(otherwise)
    if a is None or b is None or a[1:] != b[1:]:
        return UNSET
    values: Array = np.where(held, a[0], b[0])
    return Scalar(run, values, a[1], a[2])


def typed(value: Any) -> tuple[Any, str, bool] | None:
    """The values of a single value, its kind, and whether NumPy made it; None for what no column can hold."""
    kind = type(value)
    if kind is Scalar:
        return value.values(), value.kind, value.numpy
    if kind is bool:
        return value, "b", False
    if kind is int:
        return (value, "i", False) if -_BIG <= value <= _BIG else None
    if kind is float:
        return value, "f", False
    if kind is str:
        # NumPy strips zeros from the end of text.
        return None if value.endswith("\0") else (value, "U", False)
    if kind in (np.float64, np.int64, np.bool_):
        return value, value.dtype.kind, True
    return None


def options_of(owner: Any, key: Scalar) -> tuple[list[Any] | None, list[Any]] | None:
    """The keys (None: places) and the values that a drawn key may mean, all of one type; None for all else."""
    keys: list[Any] | None = None
    if type(owner) is dict:
        wanted = {"i": int, "b": bool, "U": str}.get(key.kind)
        if not 0 < len(owner) <= MOST_KEYS or any(type(one) is not wanted for one in owner):
            return None
        keys, values = list(owner), list(owner.values())
    elif key.kind != "i" or not 0 < len(owner) <= _MOST_OPTIONS:
        return None
    elif type(owner) is np.ndarray:
        if owner.ndim != 1 or owner.dtype.char not in "?ld":
            return None
        values = list(owner)
    else:
        values = list(owner)
    first = typed(values[0])
    if first is None or (len(values) > MOST_KEYS and any(type(value) is Scalar for value in values)):
        return None
    for value in values[1:]:
        told = typed(value)
        if told is None or told[1:] != first[1:]:
            return None
    return keys, values
