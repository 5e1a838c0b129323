"""What every kind of data set can be asked."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class CannotHold(Exception):
    """A record cannot live in a data set of this kind, as a string in an array of numbers."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a frame or of a structured array, with its type as the library prints it."""

    name: str
    dtype: str


class Container(Protocol):
    """One kind of data set. Records are what its items are, or tuples of values, one for each column."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    @property
    def nullable(self) -> bool:
        """Whether a missing value, None, is an ordinary guest in any column."""
        ...

    def holds(self, data: Any) -> bool:
        """Whether `data` is of this kind."""
        ...

    def fields(self, data: Any) -> tuple[Field, ...] | None:
        """The columns; None where records have no names for their parts."""
        ...

    def records(self, data: Any) -> list[Any]:
        """The records in order."""
        ...

    def key(self, record: Any) -> str:
        """Records with equal keys are the same record; nan equals nan, and -0.0 is not 0.0."""
        ...

    def take(self, data: Any, positions: Sequence[int]) -> Any:
        """A new data set with the records at these positions, types and columns kept."""
        ...

    def joined(self, data: Any, record: Any, *, widen: bool = True) -> Any:
        """A new data set with one record more; raises `CannotHold`.

        Types become wider where the library would widen them, unless they are to stay as they are.
        """
        ...


def is_frame(data: Any, library: str) -> bool:
    """Whether it is a DataFrame of this library, which is then imported already."""
    frame = getattr(sys.modules.get(library), "DataFrame", None)
    return frame is not None and isinstance(data, frame)


def cell_key(value: Any) -> str:
    """Equal for numbers that are equal, whatever type holds them: a column that gets a nan turns 1 into 1.0.

    >>> cell_key(1) == cell_key(1.0), cell_key(0.0) == cell_key(-0.0), cell_key(True) == cell_key(1)
    (True, False, False)
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer() and not (value == 0 and math.copysign(1, value) < 0):
        return repr(int(value))
    return repr(value)


def row_key(record: Any) -> str:
    """The key of a record that is a tuple of values, or a single value."""
    if isinstance(record, (tuple, list)):
        return f"({', '.join(row_key(value) for value in record)})"
    return cell_key(record)


def require_kept(container: Container, data: Any, record: Any) -> Any:
    """The data set, if its last record is the one that was put in; a library may cut strings and round numbers."""
    last = len(container.records(data)) - 1
    if last < 0 or container.key(container.records(data)[last]) != container.key(record):
        raise CannotHold(f"a {container.name} cannot hold {record!r}")
    return data
