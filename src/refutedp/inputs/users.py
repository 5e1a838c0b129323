"""Neighbours in user-level privacy: all the records of one id come, go or change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from refutedp.inputs.hostile import NEW_CATEGORY, odd_records, part, places, with_part
from refutedp.inputs.neighbours import MOST_PAIRS, Derived, distinct, telling
from refutedp.model.adjacency import DEFAULT_RECORDS, AddRemove, Replace, users_of
from refutedp.model.datasets import CannotHold, Container, container_of
from refutedp.model.errors import UsageError
from refutedp.model.records import Pair

MANY = 50
"""Records of a user with many of them, or groups of one who is in many."""
MOST_ODD = 10
"""Odd records that come in, each as the only one of a new user."""


def user_neighbours(adjacency: AddRemove | Replace, datasets: Sequence[Any]) -> Derived:
    """Pairs of each data set with its neighbours, which differ in all the records of one id.

    Users with many records or with the only one of a kind go; a copy of a user under a new id comes, then users with
    very many records, with one in very many groups, and with an odd one.

    >>> derived = user_neighbours(AddRemove(by=0), [[("ann", 1), ("ann", 2), ("bob", 3)]])
    >>> [(pair.d2, pair.category) for pair in derived.pairs][0]
    ([('bob', 3)], "remove 'ann', with 2 records")
    """
    found: list[Pair] = []
    for data in datasets:
        users = users_of(data, adjacency.by if adjacency.by is not None else 0)
        if isinstance(users, str):
            raise UsageError(f"inputs has ids at by={adjacency.by!r}, as the adjacency says, and {users}")
        found += [pair for pair in _Users(adjacency, data).pairs() if adjacency.odd or not pair.outside]
    pairs = distinct(adjacency, found)
    if not pairs:
        raise UsageError("inputs has no neighbours to try: give a data set with the records of a few users")
    return Derived(pairs[:MOST_PAIRS], len(pairs[MOST_PAIRS:]))


@dataclass(frozen=True)
class _Users:
    """A data set whose records have ids at `by`."""

    adjacency: AddRemove | Replace
    data: Any

    @property
    def container(self) -> Container:
        container = container_of(self.data)
        assert container is not None
        return container

    def pairs(self) -> Iterator[Pair]:
        """Plain moves first, then those with records beyond the user's."""
        records = self.container.records(self.data)
        place = self._place()
        held: dict[Any, list[int]] = {}
        for i, record in enumerate(records):
            held.setdefault(part(record, place), []).append(i)
        # Those with most records, and those whose records tell most.
        chosen = sorted(held, key=lambda user: -len(held[user]))[:2]
        chosen += [part(records[i], place) for i, _ in telling(records)]
        for user in dict.fromkeys(chosen):
            yield from self._gone(user, held[user], len(records))
        new = _new_id(list(held))
        newcomers = list(self._newcomers(records, [records[i] for i in held[chosen[0]]] if chosen else [], place))
        for words, theirs, outside in newcomers:
            yield from self._comes(new, theirs, words, outside, place, held.get(chosen[0], []) if chosen else [])

    def _place(self) -> Any:
        fields, by = self.container.fields(self.data), self.adjacency.by
        return by if fields is None or not isinstance(by, str) else [field.name for field in fields].index(by)

    def _gone(self, user: Any, positions: Sequence[int], size: int) -> Iterator[Pair]:
        if isinstance(self.adjacency, AddRemove):
            rest = self.container.take(self.data, [i for i in range(size) if i not in set(positions)])
            records = f"{len(positions)} record{'s' if len(positions) > 1 else ''}"
            yield Pair(self.data, rest, f"remove {user!r}, with {records}")

    def _newcomers(
        self, records: Sequence[Any], largest: Sequence[Any], place: Any
    ) -> Iterator[tuple[str, list[Any], str]]:
        """The records of new users, but for the id; in words, and what of them lies beyond the user's data."""
        given = [] if self.adjacency.records is DEFAULT_RECORDS else list(self.adjacency.records)
        pool = [*records, *given]
        if largest:
            yield "a copy of another user", list(largest), ""
        if pool:
            yield f"a user with {MANY} records", [pool[0]] * MANY, f"a user with {MANY} records"
        for words, theirs in _in_many_groups(pool, place):
            yield words, theirs, words
        fields = self.container.fields(self.data)
        names = None if fields is None else [field.name for field in fields]
        for odd in odd_records(pool, names=names, nullable=self.container.nullable)[: MOST_ODD + 4]:
            if pool and part(odd.record, place) == part(pool[0], place):
                yield f"a user with an odd record, {odd.words}", [odd.record], odd.words

    def _comes(
        self, user: Any, theirs: Sequence[Any], words: str, outside: str, place: Any, replaced: Sequence[int]
    ) -> Iterator[Pair]:
        base = self.data
        more, size = base, len(self.container.records(base))
        try:
            for record in theirs:
                more = self.container.joined(more, with_part(record, place, user), widen=not outside)
        except CannotHold:
            return
        if isinstance(self.adjacency, AddRemove):
            yield Pair(base, more, f"add {words}", outside=outside)
        elif replaced:
            kept = [i for i in range(size + len(theirs)) if i not in set(replaced)]
            yield Pair(base, self.container.take(more, kept), f"replace a user by {words}", outside=outside)


def _in_many_groups(records: Sequence[Any], place: Any) -> Iterator[tuple[str, list[Any]]]:
    """A user with one record in every group that a column of words makes, and in very many new ones."""
    for at in places(records[0]) if records else ():
        values = [part(record, at) for record in records]
        if at == place or not all(isinstance(value, str) for value in values):
            continue
        new = [f"{NEW_CATEGORY} {number}" for number in range(MANY)]
        yield f"a user in {MANY} new groups", [with_part(records[0], at, value) for value in new]
        yield "a user in every group", [with_part(records[0], at, value) for value in dict.fromkeys(values)]


def _new_id(users: Sequence[Any]) -> Any:
    """An id of the same type that nobody has."""
    numbers = [user for user in users if isinstance(user, int | float) and not isinstance(user, bool)]
    if numbers and len(numbers) == len(users):
        return type(numbers[0])(max(numbers) + 1)
    return next(name for name in ("someone", *(f"someone {i}" for i in range(len(users) + 1))) if name not in users)
