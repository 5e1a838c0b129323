"""Adjacent pairs around what the user gives.

Around data sets, plain moves come first, then records that break code; around query answers, the moves of the paper's
table.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from refutedp.inputs.hostile import odd_records
from refutedp.inputs.source import ALL_QUERIES, EMPTY
from refutedp.model.adjacency import DEFAULT_RECORDS, AddRemove, AllDiffer, OneDiffers, Replace
from refutedp.model.datasets import CannotHold, Container, container_of, one_line
from refutedp.model.errors import UsageError
from refutedp.model.records import Pair

MOST_PAIRS = 40
"""Pairs in all: search runs the mechanism on each of them."""
MOST_PLAIN = 20
"""Plain pairs among them, when there are odd ones too."""
LARGE = 10
"""A data set with more records is also tried as a piece of it, which is easier to trace by hand."""
PIECE = 5
MOST_PLACES = MOST_PAIRS // 2
"""Queries of a vector that are moved one by one; of a longer one, some from its beginning to its end."""
TELLING = 4
"""Records of a data set that are removed or replaced."""
OTHERS = 3
"""Records of other data sets that are added, or put in place of one."""


@dataclass(frozen=True, slots=True)
class Derived:
    """The pairs to try, and how many more there were."""

    pairs: list[Pair]
    left_out: int


def record_neighbours(adjacency: AddRemove | Replace, datasets: Sequence[Any]) -> Derived:
    """Pairs of each data set with its neighbours, data sets taking turns.

    Removed or replaced are the only record of a category, the holders of extreme values and the first record; added
    are a copy, records of the other data sets and of `adjacency.records`, and odd ones.

    >>> from refutedp.model.adjacency import ADD_REMOVE
    >>> derived = record_neighbours(ADD_REMOVE, [["a", "a", "b"]])
    >>> [(pair.d2, pair.category) for pair in derived.pairs][:2]
    [(['a', 'a'], 'remove record 2, the only one of its kind'), (['a', 'b'], 'remove record 0')]
    """
    surroundings = [_Surroundings(adjacency, data, _pool(adjacency, data, datasets)) for data in datasets]
    plain = distinct(adjacency, _in_turns([list(one.plain()) for one in surroundings]))
    if not all(one.records for one in surroundings):
        # The user gave the empty data set, so it is not outside.
        plain = [replace(pair, outside="") if pair.outside == EMPTY else pair for pair in plain]
    if not adjacency.odd:
        plain = [pair for pair in plain if not pair.outside] or plain
    odd: list[Pair] = []
    if adjacency.odd:
        # Each data set starts with another kind of oddness, so that many data sets show many kinds.
        lists = [_rotated(list(one.odd()), by) for by, one in enumerate(surroundings)]
        odd = distinct(adjacency, _in_turns(lists), beside=plain)
    room = max(MOST_PLAIN, MOST_PAIRS - len(odd))
    pairs = [*plain[:room], *odd][:MOST_PAIRS]
    if not pairs:
        shown = ", ".join(one_line(data) for data in datasets)
        raise UsageError(
            f"inputs={shown} has no neighbours to try: give a data set with a few records, "
            "or examples of records with the adjacency, such as AddRemove([0, 1])"
        )
    return Derived(pairs, len(plain) + len(odd) - len(pairs))


@dataclass(frozen=True)
class _Surroundings:
    """A data set with the records that may come in."""

    adjacency: AddRemove | Replace
    data: Any
    pool: list[Any]

    @property
    def container(self) -> Container:
        return _container(self.data)

    @functools.cached_property
    def records(self) -> list[Any]:
        return self.container.records(self.data)

    def plain(self) -> Iterator[Pair]:
        """Moves with ordinary records, on a piece of the data if that is large, on the data, on a single record."""
        for base, name in self._bases():
            yield from self._moves(base, name)
        first = telling(self.records)
        if len(self.records) > 1:
            yield from self._moves(self.container.take(self.data, [first[0][0]]), ", in data of one record")

    def odd(self) -> Iterator[Pair]:
        """One odd record comes in."""
        base, name = self._bases()[0]
        records = self.container.records(base)
        names = _names(self.container, base)
        for odd in odd_records([*records, *self.pool], names=names, nullable=self.container.nullable):
            # A data set without records has none to replace, and a record of the pool to add.
            yield from self._come_in(base, 0, odd.record, f"an odd record, {odd.words}", name, odd.words)

    def _bases(self) -> list[tuple[Any, str]]:
        size = len(self.records)
        if size <= LARGE:
            return [(self.container.take(self.data, range(size)), "")]
        shown = [i for i, _ in telling(self.records)]
        spread = [round(i * (size - 1) / (PIECE - 1)) for i in range(PIECE)]
        chosen = sorted(list(dict.fromkeys([*shown, *spread]))[:PIECE])
        piece = self.container.take(self.data, chosen)
        return [(piece, ", in a piece of the data"), (self.container.take(self.data, range(size)), "")]

    def _moves(self, base: Any, name: str) -> Iterator[Pair]:
        records = self.container.records(base)
        shown = telling(records)
        known = {self.container.key(record) for record in records}
        others = [record for record in self.pool if self.container.key(record) not in known]
        others = others[: OTHERS if records else len(DEFAULT_RECORDS)]
        if isinstance(self.adjacency, AddRemove):
            for i, why in shown:
                rest = [j for j in range(len(records)) if j != i]
                outside = "" if rest else EMPTY
                yield Pair(base, self.container.take(base, rest), f"remove record {i}{why}{name}", outside=outside)
            for record in others:
                yield from self._come_in(base, 0, record, "another record", name)
            if records:
                yield from self._come_in(base, 0, records[shown[0][0]], "a copy of a record", name)
            return
        for i, why in shown:
            for record in [records[j] for j, _ in shown if j != i][:2]:
                yield from self._come_in(base, i, record, f"a copy of another{why}", name)
        for record in others:
            yield from self._come_in(base, shown[0][0] if shown else 0, record, "another record", name)

    def _come_in(self, base: Any, place: int, record: Any, what: str, name: str, outside: str = "") -> Iterator[Pair]:
        """The pair in which a record comes in, or nothing if the data set cannot hold it.

        A record from outside must fit the types that the data set has.
        """
        size = len(self.container.records(base))
        try:
            more = self.container.joined(base, record, widen=not outside)
        except CannotHold:
            return
        if isinstance(self.adjacency, AddRemove):
            yield Pair(base, more, f"add {what}{name}", outside=outside or ("" if size else EMPTY))
        elif size:
            order = [size if i == place else i for i in range(size)]
            taken = self.container.take(more, order)
            yield Pair(base, taken, f"replace record {place} by {what}{name}", outside=outside)


def telling(records: Sequence[Any]) -> list[tuple[int, str]]:
    """Positions of the records whose absence shows most, and why."""
    found: dict[int, str] = {}
    for column in _columns(records):
        counts = Counter(map(repr, column))
        for i, value in enumerate(column):
            if isinstance(value, (str, bool)) and counts[repr(value)] == 1 and len(counts) < len(column):
                found.setdefault(i, ", the only one of its kind")
                break
    for column in _columns(records):
        numbers = [(v, -i) for i, v in enumerate(column) if _is_number(v)]
        if numbers and max(numbers)[0] > min(numbers)[0]:
            found.setdefault(-max(numbers)[1], ", the largest")
            found.setdefault(-min(numbers)[1], ", the smallest")
    if records:
        found.setdefault(0, "")
    return list(found.items())[:TELLING]


def _columns(records: Sequence[Any]) -> list[list[Any]]:
    """The values of the records part by part; of records without parts, the records."""
    if records and all(isinstance(record, dict) for record in records):
        return [[record.get(name) for record in records] for name in records[0]]
    if records and all(isinstance(record, tuple | list) for record in records):
        return [list(column) for column in zip(*records, strict=False)]
    return [list(records)]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)


def _pool(adjacency: AddRemove | Replace, data: Any, datasets: Sequence[Any]) -> list[Any]:
    """Records that may come in: the user's examples, and those of all data sets of the same kind and columns."""
    container = _container(data)
    names = _names(container, data)
    given: Iterable[Any] = () if adjacency.records is DEFAULT_RECORDS else adjacency.records
    if names is not None:
        given = [_row(record, names, container) for record in given]
    found = {container.key(record): record for record in given}
    for other in datasets:
        if container_of(other) is container and _names(container, other) == names:
            found.update({container.key(record): record for record in container.records(other)})
    if not found and names is None:
        found = {container.key(record): record for record in DEFAULT_RECORDS}
    return list(found.values())


def _container(data: Any) -> Container:
    container = container_of(data)
    assert container is not None
    return container


def _names(container: Container, data: Any) -> list[str] | None:
    fields = container.fields(data)
    return None if fields is None else [one.name for one in fields]


def _row(record: Any, names: Sequence[str], container: Container) -> tuple[Any, ...]:
    if isinstance(record, dict) and sorted(map(str, record)) == sorted(names):
        by_name = {str(name): value for name, value in record.items()}
        return tuple(by_name[name] for name in names)
    if isinstance(record, tuple | list) and len(record) == len(names):
        return tuple(record)
    raise UsageError(
        f"records has {record!r}, which is no row of a {container.name} with the columns {', '.join(names)}: "
        "give tuples or dicts with a value for each"
    )


def distinct(adjacency: AddRemove | Replace, pairs: Iterable[Pair], beside: Iterable[Pair] = ()) -> list[Pair]:
    """The pairs that are adjacent and differ, each once; widening a type may have changed other records."""
    seen = {_identity(pair) for pair in beside}
    kept = []
    for pair in pairs:
        identity = _identity(pair)
        if len(identity) == 2 and identity not in seen and adjacency.difference(pair.d1, pair.d2) is None:
            seen.add(identity)
            kept.append(pair)
    return kept


def _identity(pair: Pair) -> frozenset[tuple[str, ...]]:
    """The two multisets of records; one of them, if they are the same."""
    sides = []
    for data in (pair.d1, pair.d2):
        container = _container(data)
        sides.append((container.name, *sorted(container.key(record) for record in container.records(data))))
    return frozenset(sides)


def _in_turns(lists: Sequence[list[Pair]]) -> Iterator[Pair]:
    for turn in range(max(map(len, lists), default=0)):
        yield from (items[turn] for items in lists if turn < len(items))


def _rotated(items: list[Pair], by: int) -> list[Pair]:
    start = by % len(items) if items else 0
    return [*items[start:], *items[:start]]


def query_neighbours(adjacency: AllDiffer | OneDiffers, datasets: Sequence[Any]) -> Derived:
    """Pairs of each vector with its neighbours, vectors taking turns: moved by the whole sensitivity or not at all.

    >>> from refutedp.model.adjacency import ONE_DIFFERS
    >>> [pair.d2 for pair in query_neighbours(ONE_DIFFERS, [[5, 7]]).pairs]
    [[6, 7], [4, 7], [5, 8], [5, 6]]
    """
    pairs: dict[str, Pair] = {}
    for pair in _in_turns([list(_moved(adjacency, data)) for data in datasets]):
        if adjacency.difference(pair.d1, pair.d2) is None:
            pairs.setdefault(repr([np.asarray(data).tolist() for data in (pair.d1, pair.d2)]), pair)
    kept = list(pairs.values())[:MOST_PAIRS]
    return Derived(kept, len(pairs) - len(kept))


def _moved(adjacency: AllDiffer | OneDiffers, data: Any) -> Iterator[Pair]:
    size = _size(adjacency, data)
    step = adjacency.sensitivity
    whole = int(step) if float(step).is_integer() else step
    for category, signs in _signs(adjacency, size):
        yield Pair(data, _added(data, [whole * sign for sign in signs]), category)


def _size(adjacency: AllDiffer | OneDiffers, data: Any) -> int:
    problem = adjacency.difference(data, data)
    if problem is not None:
        raise UsageError(f"inputs holds {data!r}: {problem}")
    size = int(np.size(data))
    if size == 0:
        raise UsageError("inputs holds empty data: give inputs with at least one query")
    return size


def _signs(adjacency: AllDiffer | OneDiffers, size: int) -> Iterator[tuple[str, list[int]]]:
    if isinstance(adjacency, OneDiffers):
        most = min(size, MOST_PLACES)
        for place in dict.fromkeys(round(i * (size - 1) / max(most - 1, 1)) for i in range(most)):
            for word, sign in (("Above", 1), ("Below", -1)):
                yield f"query {place} {word}", [sign if i == place else 0 for i in range(size)]
        return
    for category, rows in ALL_QUERIES.items():
        d1, d2 = rows(size, 1)
        yield category, [round(b - a) for a, b in zip(d1, d2, strict=True)]


def _added(data: Any, steps: list[float]) -> Any:
    """The data with the steps added, in the same kind of container."""
    if isinstance(data, np.ndarray):
        return data + np.asarray(steps).reshape(data.shape)
    if isinstance(data, list | tuple):
        return type(data)(value + step for value, step in zip(data, steps, strict=True))
    return data + steps[0]


def two_of(values: Sequence[Any]) -> Derived:
    """Pairs of different values, for local DP: all of few; of many the ends, successors, and each beside the first.

    >>> [(pair.d1, pair.d2) for pair in two_of(["a", "b", "c"]).pairs]
    [('a', 'c'), ('a', 'b'), ('b', 'c')]
    """
    found = list({one_line(value): value for value in values}.values())
    size = len(found)
    places = [(0, size - 1), *((i, i + 1) for i in range(size - 1)), *((0, i) for i in range(1, size))]
    if size * (size - 1) // 2 <= MOST_PAIRS:
        places += [(i, j) for i in range(size) for j in range(i + 1, size)]
    every = list(dict.fromkeys(places))
    step = max(1, -(-(len(every) - 1) // (MOST_PAIRS - 1)))
    kept = [every[0], *every[1::step]]
    return Derived([Pair(found[i], found[j], "any two") for i, j in kept], size * (size - 1) // 2 - len(kept))
