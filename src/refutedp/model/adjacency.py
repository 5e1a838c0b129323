"""Which inputs count as neighbours; the adjacency is the user's to state."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from refutedp.model.claims import positive_number
from refutedp.model.datasets import container_of, one_line
from refutedp.model.errors import NotAdjacentError, UsageError

DEFAULT_RECORDS: tuple[Any, ...] = (0.0, 1.0, -1.0)
"""Records to try when the user names none; odd ones that break code are derived from them."""
_MOST_LISTED = 4
"""Records that a refusal lists one by one."""


def _universe(records: Any) -> tuple[Any, ...]:
    if isinstance(records, (str, bytes)) or not isinstance(records, (Sequence, np.ndarray)):
        raise UsageError(f"records={records!r} must be a list of example records, such as [0, 1, 100]")
    if len(records) == 0:
        raise UsageError("records=[] is empty: give at least one example record, such as [0, 1]")
    return tuple(records)


def _require_bool(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise UsageError(f"{name}={value!r} must be True or False")


@dataclass(frozen=True, slots=True)
class AllDiffer:
    """Data are query answers, and on adjacent inputs every one may change by at most `sensitivity`."""

    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        positive_number("sensitivity", self.sensitivity)

    def difference(self, d1: Any, d2: Any) -> str | None:
        """Why two inputs are not adjacent, or None if they are."""
        return _query_difference(d1, d2, self.sensitivity, most_changes=None)

    def __str__(self) -> str:
        return f"every query may change by at most {self.sensitivity:g}"


@dataclass(frozen=True, slots=True)
class OneDiffers:
    """Data are query answers, and on adjacent inputs one may change by at most `sensitivity` (histograms)."""

    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        positive_number("sensitivity", self.sensitivity)

    def difference(self, d1: Any, d2: Any) -> str | None:
        """Why two inputs are not adjacent, or None if they are."""
        return _query_difference(d1, d2, self.sensitivity, most_changes=1)

    def __str__(self) -> str:
        return f"one query may change by at most {self.sensitivity:g}"


@dataclass(frozen=True, slots=True)
class AddRemove:
    """Data are records, and adjacent ones differ by one record added or removed (order is free).

    Data sets are lists, NumPy arrays, pandas or Polars frames. `records` are examples. With `odd`, records are
    derived from them that often break code, such as nan or a value far out of bounds, and the data set without
    records is tried; what only these show is distinguished. A claim that holds only for records like the given ones
    needs odd=False.
    """

    records: tuple[Any, ...] = DEFAULT_RECORDS
    odd: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", _universe(self.records))
        _require_bool("odd", self.odd)

    def difference(self, d1: Any, d2: Any) -> str | None:
        """Why two inputs are not adjacent, or None if they are."""
        different = _unlike(d1, d2)
        if different is not None:
            return different
        only1, only2 = _multiset_difference(d1, d2)
        if len(only1) + len(only2) == 1:
            return None
        return f"{_only(only1, only2)}; exactly one record may be added or removed"

    def __str__(self) -> str:
        return "one record may be added or removed"


@dataclass(frozen=True, slots=True)
class Replace:
    """Data are records, and adjacent ones have the same size and differ in one record (order is free).

    Data sets, `records` and `odd` are as in `AddRemove`.
    """

    records: tuple[Any, ...] = DEFAULT_RECORDS
    odd: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", _universe(self.records))
        _require_bool("odd", self.odd)

    def difference(self, d1: Any, d2: Any) -> str | None:
        """Why two inputs are not adjacent, or None if they are."""
        different = _unlike(d1, d2)
        if different is not None:
            return different
        only1, only2 = _multiset_difference(d1, d2)
        if len(only1) <= 1 and len(only2) <= 1 and len(only1) == len(only2):
            return None
        return f"{_only(only1, only2)}; exactly one record may be replaced"

    def __str__(self) -> str:
        return "one record may be replaced"


Adjacency: TypeAlias = AllDiffer | OneDiffers | AddRemove | Replace

ALL_DIFFER = AllDiffer()
ONE_DIFFERS = OneDiffers()
ADD_REMOVE = AddRemove()
REPLACE = Replace()


def require_adjacent(adjacency: Adjacency, d1: Any, d2: Any, number: int) -> None:
    """Refuse a pair the user gave if it is not adjacent, with a sentence that says where it differs.

    >>> require_adjacent(ALL_DIFFER, [1, 1], [1, 3], 0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    refutedp.model.errors.NotAdjacentError: pairs[0] is not adjacent: at position 1 the inputs are 1 and 3, ...
    """
    problem = adjacency.difference(d1, d2)
    if problem is not None:
        raise NotAdjacentError(f"pairs[{number}] is not adjacent: {problem} (adjacency: {adjacency})")


def _query_difference(d1: Any, d2: Any, sensitivity: float, most_changes: int | None) -> str | None:
    a, b = _numbers(d1), _numbers(d2)
    if a is None or b is None:
        return f"{one_line(d1)} and {one_line(d2)} are not both lists of numbers, as query answers must be"
    if len(a) != len(b):
        return f"the inputs have {len(a)} and {len(b)} queries, and must have equally many"
    changes = []
    for i, (one, other) in enumerate(zip(a, b, strict=True)):
        if math.isnan(one) or math.isnan(other):
            return f"at position {i} there is a nan, which is no query answer"
        if one == other:
            continue
        changes.append(i)
        gap = abs(one - other)
        if gap > sensitivity * (1 + 1e-9):
            return f"at position {i} the inputs are {one:g} and {other:g}, which differ by more than {sensitivity:g}"
    if most_changes is not None and len(changes) > most_changes:
        return f"the inputs differ at positions {changes}, and only {most_changes} may change"
    return None


def _numbers(data: Any) -> list[float] | None:
    if isinstance(data, (int, float)):
        data = [data]
    if isinstance(data, np.ndarray):
        data = data.ravel().tolist()
    if not isinstance(data, Sequence) or isinstance(data, (str, bytes)):
        return None
    try:
        return [float(item) for item in data]
    except (TypeError, ValueError, OverflowError):
        return None


def _unlike(d1: Any, d2: Any) -> str | None:
    """What keeps two inputs from being compared record by record, or None if nothing does."""
    kinds = [container_of(data) for data in (d1, d2)]
    for data, kind in zip((d1, d2), kinds, strict=True):
        if kind is None and (isinstance(data, (str, bytes)) or not isinstance(data, Iterable)):
            return f"{data!r} is no data set: give lists of records, NumPy arrays, pandas or Polars frames"
    columns = [None if kind is None else kind.fields(data) for data, kind in zip((d1, d2), kinds, strict=True)]
    if columns[0] is None and columns[1] is None:
        return None
    if kinds[0] is not kinds[1]:
        words = [
            type(data).__name__ if kind is None else kind.name for data, kind in zip((d1, d2), kinds, strict=True)
        ]
        return f"the first input is a {words[0]} and the second a {words[1]}, and must be of one kind"
    names = [[field.name for field in fields or ()] for fields in columns]
    if names[0] != names[1]:
        return f"the inputs have the columns {names[0]} and {names[1]}, and must have the same"
    return None


def _multiset_difference(d1: Any, d2: Any) -> tuple[list[str], list[str]]:
    one, other = Counter(_keys(d1, d2)), Counter(_keys(d2, d1))
    return list((one - other).elements()), list((other - one).elements())


def _keys(data: Any, beside: Any) -> list[str]:
    """What each record is known by; a container's own keys serve to compare it with its like only."""
    kind = container_of(data)
    if kind is not None and kind is container_of(beside):
        return [kind.key(record) for record in kind.records(data)]
    return [_key(record) for record in data]


def _key(record: Any) -> str:
    """Records are the same when they print the same: nan equals nan here, and -0.0 is not 0.0."""
    return repr(record.tolist() if isinstance(record, np.generic | np.ndarray) else record)


def _only(only1: list[str], only2: list[str]) -> str:
    if not only1 and not only2:
        return "the inputs hold the same records"
    return f"only the first input holds [{_listed(only1)}] and only the second [{_listed(only2)}]"


def _listed(keys: list[str]) -> str:
    shown = [key if len(key) <= 40 else key[:37] + "..." for key in keys[:_MOST_LISTED]]
    return ", ".join([*shown, *([f"and {len(keys) - len(shown)} more"] if len(keys) > len(shown) else [])])
