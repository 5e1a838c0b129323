"""Which inputs count as neighbours; the adjacency is the user's to state."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from refutedp.model.datasets import container_of, one_line, printed, row_key
from refutedp.model.errors import NotAdjacentError, UsageError
from refutedp.model.settings import positive_number

DEFAULT_RECORDS: tuple[Any, ...] = (0.0, 1.0, -1.0)
"""Records to try when the user names none; odd ones that break code are derived from them."""
_MOST_LISTED = 4
"""Records that a refusal lists one by one."""


@dataclass(frozen=True, slots=True)
class _Queries:
    """Data are query answers, of which some may change by at most `sensitivity`."""

    sensitivity: float = 1.0
    _most_changes: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        positive_number("sensitivity", self.sensitivity)

    def difference(self, d1: Any, d2: Any) -> str | None:
        """Why two inputs are not adjacent, or None if they are."""
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
            if abs(one - other) > self.sensitivity * (1 + 1e-9):
                gap = f"which differ by more than {self.sensitivity:g}"
                return f"at position {i} the inputs are {one:g} and {other:g}, {gap}"
        if self._most_changes is not None and len(changes) > self._most_changes:
            return f"the inputs differ at positions {changes}, and only {self._most_changes} may change"
        return None


@dataclass(frozen=True, slots=True)
class AllDiffer(_Queries):
    """Data are query answers, and on adjacent inputs every one may change by at most `sensitivity`."""

    def __str__(self) -> str:
        return f"every query may change by at most {self.sensitivity:g}"


@dataclass(frozen=True, slots=True)
class OneDiffers(_Queries):
    """Data are query answers, and on adjacent inputs one may change by at most `sensitivity` (histograms)."""

    _most_changes: ClassVar[int | None] = 1

    def __str__(self) -> str:
        return f"one query may change by at most {self.sensitivity:g}"


@dataclass(frozen=True, slots=True)
class _Records:
    """Data are records, compared as multisets."""

    records: tuple[Any, ...] = DEFAULT_RECORDS
    odd: bool = True
    by: str | int | None = None
    _done: ClassVar[str]
    """What may be done to one record."""

    def __post_init__(self) -> None:
        records: Any = self.records
        if isinstance(records, (str, bytes)) or not isinstance(records, (Sequence, np.ndarray)):
            raise UsageError(f"records={records!r} must be a list of example records, such as [0, 1, 100]")
        if len(records) == 0:
            raise UsageError("records=[] is empty: give at least one example record, such as [0, 1]")
        object.__setattr__(self, "records", tuple(records))
        if not isinstance(self.odd, bool):
            raise UsageError(f"odd={self.odd!r} must be True or False")
        if self.by is not None and (isinstance(self.by, bool) or not isinstance(self.by, str | int)):
            raise UsageError(f"by={self.by!r} must name a column, or say the position of the id in a record")

    def difference(self, d1: Any, d2: Any) -> str | None:
        """Why two inputs are not adjacent, or None if they are."""
        different = _unlike(d1, d2)
        if different is not None:
            return different
        if self.by is not None:
            return self._users_apart(d1, d2)
        one, other = Counter(_keys(d1, d2)), Counter(_keys(d2, d1))
        only1, only2 = list((one - other).elements()), list((other - one).elements())
        if self._permits(len(only1), len(only2)):
            return None
        where = f"only the first input holds [{_listed(only1)}] and only the second [{_listed(only2)}]"
        if not only1 and not only2:
            where = "the inputs hold the same records"
        return f"{where}; exactly one record may be {self._done}"

    def _users_apart(self, d1: Any, d2: Any) -> str | None:
        """Why the inputs differ in more than all the records of one id, or None if they do not."""
        assert self.by is not None
        one, other = users_of(d1, self.by), users_of(d2, self.by)
        if isinstance(one, str) or isinstance(other, str):
            return one if isinstance(one, str) else str(other)
        held = [{user: Counter(keys) for user, keys in users.items()} for users in (one, other)]
        differing = [user for user in {**held[0], **held[1]} if held[0].get(user) != held[1].get(user)]
        counts = [sum(user in side for user in differing) for side in held]
        if differing and self._permits_users(differing, held[0], held[1]):
            return None
        where = f"the ids whose records differ are [{_listed(differing)}]" if differing else "no id differs"
        return f"{where}, {counts[0]} of them in the first input and {counts[1]} in the second; {self}"

    def _permits_users(self, differing: list[str], one: dict[str, Any], other: dict[str, Any]) -> bool:
        """Whether adjacent inputs may differ in the records of these ids."""
        raise NotImplementedError

    def _permits(self, only1: int, only2: int) -> bool:
        """Whether adjacent inputs may have so many records that only one of them holds."""
        raise NotImplementedError

    def __str__(self) -> str:
        whose = self.by if isinstance(self.by, str) else "id"
        who = "one record" if self.by is None else f"all records of one {whose}"
        return f"{who} may be {self._done}"


@dataclass(frozen=True, slots=True)
class AddRemove(_Records):
    """Data are records, and adjacent ones differ by one record added or removed (order is free).

    Data sets are lists, NumPy arrays, pandas or Polars frames. `records` are examples. With `odd`, records are
    derived from them that often break code, such as nan or a value far out of bounds, and the data set without
    records is tried; what only these show is distinguished. A claim that holds only for records like the given ones
    needs odd=False. With `by`, a column or the place of an id in each record, adjacent data differ by all the records
    of one id (user-level privacy).

    >>> AddRemove(by=0).difference([("ann", 1)], [("ann", 1), ("bob", 1), ("bob", 2)]) is None
    True
    """

    _done: ClassVar[str] = "added or removed"

    def _permits_users(self, differing: list[str], one: dict[str, Any], other: dict[str, Any]) -> bool:
        return len(differing) == 1 and (differing[0] in one) != (differing[0] in other)

    def _permits(self, only1: int, only2: int) -> bool:
        return only1 + only2 == 1


@dataclass(frozen=True, slots=True)
class Replace(_Records):
    """Data are records, and adjacent ones have the same size and differ in one record (order is free).

    Data sets, `records` and `odd` are as in `AddRemove`. With `by`, all the records of one id are replaced by any
    number of records, of the same id or of another that is not there yet.
    """

    _done: ClassVar[str] = "replaced"

    def _permits_users(self, differing: list[str], one: dict[str, Any], other: dict[str, Any]) -> bool:
        if len(differing) == 1:
            return differing[0] in one and differing[0] in other
        # One id goes and another comes.
        return (
            len(differing) == 2
            and len({differing[0] in one, differing[1] in one}) == 2
            and not (any(user in one and user in other for user in differing))
        )

    def _permits(self, only1: int, only2: int) -> bool:
        return only1 == only2 <= 1


@dataclass(frozen=True, slots=True)
class AnyTwo:
    """Any two inputs are adjacent (local DP): what one person reports, or a data set of one record.

    An input is any value: a number, a string, a tuple. `records` are the values to try, unless `inputs` of the check
    lists them or `pairs` gives pairs.

    >>> AnyTwo(("yes", "no")).difference("yes", "no") is None
    True
    """

    records: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        records: Any = self.records
        if isinstance(records, (str, bytes)) or not isinstance(records, (Sequence, np.ndarray)):
            raise UsageError(f'records={records!r} must be a list of the values to try, such as ["yes", "no"]')
        object.__setattr__(self, "records", tuple(records))

    def difference(self, d1: Any, d2: Any) -> str | None:
        """None: any two inputs are adjacent."""
        return None

    def __str__(self) -> str:
        return "any two inputs are neighbours"


Adjacency: TypeAlias = AllDiffer | OneDiffers | AddRemove | Replace | AnyTwo

ALL_DIFFER = AllDiffer()
ONE_DIFFERS = OneDiffers()
ADD_REMOVE = AddRemove()
REPLACE = Replace()
ANY_TWO = AnyTwo()


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


def _keys(data: Any, beside: Any) -> list[str]:
    """What each record is known by; a container's own keys serve to compare it with its like only."""
    kind = container_of(data)
    if kind is not None and kind is container_of(beside):
        return [kind.key(record) for record in kind.records(data)]
    return [printed(record) for record in data]


def users_of(data: Any, by: str | int) -> dict[str, list[str]] | str:
    """The keys of the records of each id, or a sentence if some record has none.

    >>> users_of([("ann", 1), ("bob", 1), ("ann", 2)], 0)
    {"'ann'": ["('ann', 1)", "('ann', 2)"], "'bob'": ["('bob', 1)"]}
    """
    kind = container_of(data)
    fields = None if kind is None else kind.fields(data)
    place: Any = by
    if fields is not None and isinstance(by, str):
        names = [field.name for field in fields]
        if by not in names:
            return f"the data have the columns {names}, and by={by!r} is none of them"
        place = names.index(by)
    found: dict[str, list[str]] = {}
    for record in data if kind is None else kind.records(data):
        try:
            user = row_key(record[place])
        except (TypeError, KeyError, IndexError):
            return f"the record {record!r} has no part {by!r}, which by= says is its id"
        found.setdefault(user, []).append(printed(record) if kind is None else kind.key(record))
    return found


def _listed(keys: list[str]) -> str:
    shown = [key if len(key) <= 40 else key[:37] + "..." for key in keys[:_MOST_LISTED]]
    return ", ".join([*shown, *([f"and {len(keys) - len(shown)} more"] if len(keys) > len(shown) else [])])
