"""Makes odd records (nan, infinities, unknown categories) by changing one value of an ordinary record."""

from __future__ import annotations

import datetime
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

FAR = 10
"""A value out of bounds lies so many times the spread of the values beyond their ends."""
CENTURY = 36525
"""In days."""
HUGE = (2**53 + 1, 2**63)
"""Integers that a double, and a signed integer of 64 bits, cannot hold."""
NEW_CATEGORY = "other"

Place: TypeAlias = int | str | None
"""Where a record has a value: a position, a key, or None for the record itself."""


class OddRecord(NamedTuple):
    """A record, and what is odd about it."""

    words: str
    record: Any


def odd_records(
    records: Sequence[Any], *, names: Sequence[str] | None = None, nullable: bool = False
) -> list[OddRecord]:
    """Odd variants of the first record, one value changed in each; what is odd is judged by all records.

    Records are values, or tuples, lists and dicts of values, whose parts `names` may name. A missing value is odd
    only where it can be expected: with `nullable`, or where a record has one. Kinds of oddness and parts of the
    record take turns, so that the first few show some of each.

    >>> [odd.record for odd in odd_records([20, 70])][:3]
    [770, -680, 9007199254740993]
    >>> [odd.words for odd in odd_records([("a", 1.5), ("b", 2.5)], names=("city", "pay"))][:3]
    ["city = 'other'", "city = ''", 'pay = nan']
    """
    if not records:
        return []
    first = records[0]
    found: list[tuple[int, int, OddRecord]] = []
    for number, place in enumerate(places(first)):
        values = [part(record, place) for record in records if has_part(record, place)]
        label = "" if place is None else f"{names[number] if names is not None else place} = "
        for kind, value in enumerate(odd_values(values, nullable)):
            found.append((number + kind, number, OddRecord(f"{label}{value!r}", with_part(first, place, value))))
    # Along the diagonals: first what is oddest in the first part, then the next part, then the next kind.
    return [odd for _, _, odd in sorted(found, key=lambda item: item[:2])]


def odd_values(values: Sequence[Any], nullable: bool = False) -> list[Any]:
    """Values of the same type that code may not expect beside these, the likelier ones first.

    >>> odd_values(["a", "b"], nullable=True)
    ['other', None, '']
    """
    plain = [value.item() if isinstance(value, np.number | np.bool_) else value for value in values]
    numbers = [value for value in plain if isinstance(value, (int, float)) and not isinstance(value, bool)]
    words = [value for value in plain if isinstance(value, str)]
    found: list[Any] = []
    if numbers:
        found += _odd_numbers(numbers)
    if words:
        new = (NEW_CATEGORY, *(f"{NEW_CATEGORY}{number}" for number in range(2, len(words) + 2)))
        found.append(next(word for word in new if word not in words))
    found += _odd_dates(plain)
    if nullable or any(value is None for value in plain):
        found.append(None)
    if words:
        found.append("")
    known = {repr(value) for value in plain}
    return [value for value in found if repr(value) not in known]


def _odd_numbers(numbers: list[int | float]) -> list[Any]:
    """Whole numbers stay whole: nan is none, and would make all of them floats."""
    finite = [number for number in numbers if math.isfinite(number)] or [0]
    low, high = min(finite), max(finite)
    reach = FAR * max(high - low, abs(high), abs(low), 1)
    beyond = [value for value in (high + reach, low - reach) if math.isfinite(value)]
    if all(isinstance(number, int) for number in numbers):
        return [*beyond, *HUGE]
    largest, smallest = sys.float_info.max, math.ulp(0.0)
    far = [float(value) for value in beyond]
    return [math.nan, *far, math.inf, -math.inf, largest, -largest, smallest, -0.0]


def _odd_dates(values: Sequence[Any]) -> list[Any]:
    for kind in (datetime.datetime, datetime.date, np.datetime64):
        dates = [value for value in values if isinstance(value, kind) and value == value]
        if dates:
            return [*_moved(max, dates, CENTURY), *_moved(min, dates, -CENTURY)]
    return []


def _moved(end: Callable[[list[Any]], Any], dates: list[Any], days: int) -> list[Any]:
    try:
        date = end(dates)
        # Days, so that a date of NumPy that counts days still does.
        return [date + (np.timedelta64(days, "D") if isinstance(date, np.datetime64) else datetime.timedelta(days))]
    except (OverflowError, ValueError, TypeError):  # out of range, or with and without time zones
        return []


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
