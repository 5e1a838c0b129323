"""Makes new records for the evolutionary search, within the limits that the user gave."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from typing import Any

from refutedp.inputs.drafts import (
    LARGEST,
    LENGTHS,
    LONGEST,
    MAGNITUDES,
    SCANNED,
    Draft,
    Mined,
    Rng,
    is_number,
    other_value,
    pieces,
    simpler_numbers,
)
from refutedp.inputs.hostile import has_part, part, places, with_part
from refutedp.inputs.source import EMPTY
from refutedp.model.adjacency import DEFAULT_RECORDS, AddRemove, Replace
from refutedp.model.datasets import CannotHold, container_of

ABSENT = 10
"""The value of a key that the code knows, and no record has."""


@dataclass(frozen=True, slots=True)
class Domain:
    """What records may be, as far as the user said: examples, and whether others are to be tried."""

    adjacency: AddRemove | Replace
    known: tuple[Any, ...]
    """The user's records, or the usual ones."""
    empty: Any
    """A data set without records, of the user's kind."""

    def outside(self, records: Sequence[Any]) -> str:
        """The first record that lies beyond those that are known; numbers between them do not."""
        return next((repr(one) for one in records if not self._ordinary(one)), "")

    def allows(self, base: Sequence[Any], record: Any) -> bool:
        """Whether the user wants such records tried, and such a base."""
        return self.adjacency.odd or (bool(base) and all(self._ordinary(one) for one in (*base, record)))

    def placed(self, place: int, length: int) -> int:
        """The place, or the last one that there is."""
        last = length if isinstance(self.adjacency, AddRemove) else length - 1
        return max(min(place, last), 0)

    def _ordinary(self, record: Any) -> bool:
        """One of the user's, or a number between them: parts of a record may not go together in any other way."""
        if any(type(record) is type(known) and repr(record) == repr(known) for known in self.known):
            return True
        numbers = [known for known in self.known if is_number(known)]
        return is_number(record) and bool(numbers) and min(numbers) <= record <= max(numbers)


@dataclass(frozen=True, slots=True)
class RecordDraft(Draft):
    """Records, and one that comes in before, or in the place of, the one at a place: data sets have no order."""

    domain: Domain
    records: tuple[Any, ...]
    record: Any
    place: int
    reason: str
    turned: bool = False
    """Whether the neighbour lists its records the other way round."""

    def inputs(self) -> tuple[Any, Any]:
        """Data sets of the user's kind."""
        if isinstance(self.domain.adjacency, Replace):
            after = [self.record if i == self.place else one for i, one in enumerate(self.records)]
        else:
            after = [*self.records[: self.place], self.record, *self.records[self.place :]]
        after = after[::-1] if self.turned else after
        return _made(self.domain.empty, self.records), _made(self.domain.empty, after)

    @property
    def length(self) -> int:
        """Records before the step."""
        return len(self.records)

    @property
    def outside(self) -> str:
        """A record that is none of the user's, or no record at all."""
        if not self.records:
            return EMPTY
        return self.domain.outside([*self.records, self.record])

    def changed(self, rng: Rng, mined: Mined) -> Draft:
        """Another record, or more, fewer, or others around it."""
        records = list(self.records)
        known = self.domain.known
        match int(rng.integers(7)):
            case 0 | 1:
                return replace(self, record=_other_record(self.record, known, rng, mined))
            case 2 if records:
                place = int(rng.integers(len(records)))
                records[place] = _other_record(records[place], known, rng, mined)
            case 3 if len(records) < LONGEST // 2:
                records = records * 2 if records else [known[0]]
            case 4 if len(records) > 1:
                del records[int(rng.integers(len(records)))]
            case 5:
                records.append(known[int(rng.integers(len(known)))])
            case _:
                records = [records[i] for i in rng.permutation(len(records))]
        place = int(rng.integers(len(records) + 1)) if rng.random() < 0.3 else self.place
        return replace(self, records=tuple(records), place=self.domain.placed(place, len(records)))

    def shorter(self) -> Iterator[Draft]:
        """Fewer records."""
        for start, stop in pieces(len(self.records), least=0 if isinstance(self.domain.adjacency, AddRemove) else 1):
            if not start <= self.place < stop or isinstance(self.domain.adjacency, AddRemove):
                place = self.place - (stop - start) if self.place >= stop else self.place
                yield replace(self, records=self.records[:start] + self.records[stop:], place=max(place, 0))

    def plainer(self, place: int) -> Iterator[Draft]:
        """The user's first record everywhere, or smaller and rounder numbers."""
        usual = self.domain.known[0]
        if place == 0:
            if any(repr(one) != repr(usual) for one in self.records):
                yield replace(self, records=(usual,) * len(self.records))
            yield from (replace(self, record=record) for record in (usual, *_simpler_records(self.record)))
            return
        i = place - 1
        if self.turned:
            yield replace(self, turned=False)
        for record in (usual, *_simpler_records(self.records[i])):
            if repr(record) != repr(self.records[i]):
                yield replace(self, records=(*self.records[:i], record, *self.records[i + 1 :]))


def record_drafts(
    domain: Domain, bases: Sequence[Sequence[Any]], mined: Mined, wanted: Sequence[int] = ()
) -> Iterator[Draft]:
    """Where evolution of records begins: each new record comes into several data sets."""
    known = domain.known
    lengths = [n for n in dict.fromkeys((*wanted, 1, *mined.lengths, *LENGTHS)) if n <= LONGEST]
    bare = isinstance(domain.adjacency, AddRemove)
    own = [(tuple(base), "your data") for base in bases if bare or len(base)]
    ends = _ends(known)
    crowds = [((known[0],) * lengths[0], "many records")]
    for low, high in ends:
        crowds += [((low,) * k + (high,) * k, "distant records") for k in (1, 3, 5)]
        crowds += [((low, high) * k, "distant records in turns") for k in (2, 4)]
    crowds += [((known[0],) * n, "many records") for n in lengths[1:]]
    crowds += [(tuple(known[i % len(known)] for i in range(n)), "many records") for n in lengths if len(known) > 1]
    # A word may matter only beside a large number.
    largest = {repr(high): high for _, high in ends if repr(high) != repr(known[0])}
    others = [other for record in (known[0], *largest.values()) for other in _other_records(record, known, mined)]
    extremes = [(record, "distant records") for pair in ends for record in pair]
    news = [*((record, "") for record in known[:4]), *extremes, *others]

    def drafts(crowd: tuple[Any, ...], record: Any, reason: str) -> Iterator[Draft]:
        for place in dict.fromkeys(domain.placed(n, len(crowd)) for n in (len(crowd), 0, len(crowd) // 2)):
            yield RecordDraft(domain, crowd, record, place, reason)

    def scanned() -> Iterator[Draft]:
        for n in range(1, SCANNED):
            yield RecordDraft(domain, (known[0],) * n, known[0 if bare else -1], 0, "many records")

    def among_own() -> Iterator[Draft]:
        for crowd, crowd_reason in own or crowds[:1]:
            for record, reason in news:
                yield from drafts(crowd, record, reason or crowd_reason)

    def among_crowds() -> Iterator[Draft]:
        for crowd, crowd_reason in crowds:
            for record, reason in news[: 4 + len(extremes)]:
                yield from drafts(crowd, record, reason or crowd_reason)

    def turned() -> Iterator[Draft]:
        halves = [(low,) * k + (high,) * k for low, high in ends or pairwise(known) for k in (3, 6)]
        for crowd in (*(tuple(base) for base in bases if bare or len(base)), *halves):
            for record in (crowd[0], crowd[-1]) if crowd else ():
                yield RecordDraft(domain, crowd, record, 0, "another order", turned=True)

    def among_few() -> Iterator[Draft]:
        for record, reason in others:
            for crowd in ((known[0],), (known[0],) * 5, (known[0], known[-1]), (record,), (record,) * 3):
                yield from drafts(crowd, known[-1] if crowd[0] is record else record, reason)

    # In turns, for there may be calls for a part of them only.
    return _in_turns(scanned(), among_own(), among_crowds(), turned(), among_few())


def _in_turns(*sources: Iterator[Draft]) -> Iterator[Draft]:
    """One of each in turn, as long as there are any."""
    for row in zip_longest(*sources):
        yield from (draft for draft in row if draft is not None)


def _ends(known: Sequence[Any]) -> list[tuple[Any, Any]]:
    """For each part of the records that is a number, those with the least and the largest."""
    found = []
    for place in places(known[0]):
        having = [one for one in known if has_part(one, place) and is_number(part(one, place))]
        if having:
            low, high = (end(having, key=lambda one: part(one, place)) for end in (min, max))
            if part(low, place) < part(high, place):
                found.append((low, high))
    return found


def domain_of(adjacency: AddRemove | Replace, datasets: Sequence[Any]) -> tuple[Domain, list[list[Any]]] | None:
    """The user's domain and data sets as records; None where records cannot be put together."""
    example = datasets[0] if datasets else []
    container = container_of(example)
    if container is None:
        return None
    bases = [container.records(data) for data in datasets if container_of(data) is container]
    given = [] if adjacency.records is DEFAULT_RECORDS and datasets else list(adjacency.records)
    known = {container.key(record): record for record in [*(r for base in bases for r in base), *given]}
    if not known:
        known = {container.key(record): record for record in DEFAULT_RECORDS}
    return Domain(adjacency, tuple(known.values()), container.take(example, [])), bases


def _made(empty: Any, records: Sequence[Any]) -> Any:
    container = container_of(empty)
    if container is None:
        raise CannotHold("no data set")
    if isinstance(empty, list):
        return list(records)
    # To put a record into a frame takes long, to take rows out again does not.
    distinct = {container.key(record): record for record in records}
    pool = empty
    for record in distinct.values():
        pool = container.joined(pool, record, widen=False)
    places = {key: place for place, key in enumerate(distinct)}
    return container.take(pool, [places[container.key(record)] for record in records])


def _simpler_records(record: Any) -> Iterator[Any]:
    for place in places(record):
        value = part(record, place)
        if is_number(value) and value == value and abs(value) < 1e15:
            for number in simpler_numbers(value):
                yield with_part(record, place, type(value)(number))


def _other_records(record: Any, known: Sequence[Any], mined: Mined) -> Iterator[tuple[Any, str]]:
    """Records like this one with one part changed: to constants of the code, and by orders of magnitude."""
    for place in places(record):
        value = part(record, place)
        options: list[tuple[Any, str]] = []
        if is_number(value):
            kind = float if isinstance(value, float) else int
            constants = [n for n in mined.numbers if kind is float or float(n).is_integer()]
            options += [(kind(n + step), f"{n:g}, a constant of the code") for n in constants for step in (0, 1, -1)]
            options += [(kind(n), f"a value of {n:g}") for n in MAGNITUDES if kind is float or float(n).is_integer()]
            parts = [part(one, place) for one in known if has_part(one, place)]
            numbers = [number for number in parts if is_number(number) and abs(number) <= LARGEST]
            ends = sorted({min(numbers), max(numbers)}) if numbers else []
            options += [(kind(n), "an end of the range of your records") for n in ends]
        elif isinstance(value, str):
            affixed = [(word, text) for word in mined.words for text in (word, value + word, word + value)]
            options += [(text, f"{word!r}, a constant of the code") for word, text in affixed]
        elif isinstance(value, list | tuple) and value:
            options += [(value * 10, "a long list in a record"), (value[:0], "an empty list in a record")]
        elif isinstance(value, bool):
            options.append((not value, "the other truth value"))
        elif isinstance(value, datetime.date):
            options += [
                (date, f"{date}, a constant of the code") for date in mined.dates if type(date) is type(value)
            ]
            options += _other_dates(value, mined)
        for option, reason in options:
            yield with_part(record, place, option), reason
    if isinstance(record, dict):
        # Of a key that no example has, it matters that it is there, or that its value is large.
        absent = [word for word in mined.words if word not in record]
        yield from (({**record, word: ABSENT}, f"{word!r}, a constant of the code") for word in absent)


def _other_dates(date: datetime.date, mined: Mined) -> Iterator[tuple[Any, str]]:
    """Days that the constants of the code make up, and days and years nearby."""
    whole = [int(n) for n in mined.numbers if float(n).is_integer() and 1 <= n <= 9999]
    whole = [1, 2, *whole]
    for month in (n for n in whole if n <= 12):
        for day in (n for n in whole if n <= 31):
            with suppress(ValueError):
                yield date.replace(month=month, day=day), "a day of constants of the code"
    for year in (n for n in whole if n > 1000):
        with suppress(ValueError):
            yield date.replace(year=year), f"{year}, a constant of the code"
            yield date.replace(year=year, month=1, day=1), f"{year}, a constant of the code"
    for days in (1, 7, 30, 365, -365):
        with suppress(OverflowError, ValueError):
            yield date + datetime.timedelta(days), "another day"


def _other_record(record: Any, known: Sequence[Any], rng: Rng, mined: Mined) -> Any:
    where = places(record)
    if rng.random() < 0.4 or not where:
        return known[int(rng.integers(len(known)))]
    place = where[int(rng.integers(len(where)))]
    value = part(record, place)
    if is_number(value) and value == value and abs(value) < 1e12:
        found = other_value(value, [value], rng, mined)
        return with_part(record, place, float(found) if isinstance(value, float) else round(found))
    if isinstance(value, str) and mined.words:
        return with_part(record, place, mined.words[int(rng.integers(len(mined.words)))])
    return record
