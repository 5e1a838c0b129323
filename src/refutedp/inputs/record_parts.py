"""The values of a record, wherever it keeps them: tuples, lists and mappings have several, anything else is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Place: TypeAlias = int | str | None


def places(record: Any) -> list[Place]:
    """Where a record has values: at positions or keys, or nowhere but in itself."""
    if isinstance(record, Mapping):
        return list(record)
    return list(range(len(record))) if isinstance(record, tuple | list) else [None]


def has_part(record: Any, place: Place) -> bool:
    """Whether a record has a value there."""
    if place is None:
        return not isinstance(record, tuple | list | Mapping)
    if isinstance(record, Mapping):
        return place in record
    return isinstance(record, tuple | list) and isinstance(place, int) and place < len(record)


def part(record: Any, place: Place) -> Any:
    """The value at a place."""
    return record if place is None else record[place]


def with_part(record: Any, place: Place, value: Any) -> Any:
    """The record with another value there, of the same type as before.

    >>> with_part({"city": "Rome", "pay": 3}, "pay", 4), with_part((1, 2), 0, 5), with_part(7, None, 8)
    ({'city': 'Rome', 'pay': 4}, (5, 2), 8)
    """
    if place is None:
        return value
    if isinstance(record, Mapping):
        return {**record, place: value}
    items = [value if i == place else item for i, item in enumerate(record)]
    if isinstance(record, list):
        return items
    return type(record)(*items) if hasattr(record, "_fields") else tuple(items)  # a named tuple, or a plain one
