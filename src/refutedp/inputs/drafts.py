"""Pairs in the making: where evolution starts, how it changes a pair, and how a pair gets simpler.

A draft is a data set and a step to its neighbour. Whatever is done to it, the two inputs stay adjacent.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from refutedp.inputs.mined import Mined
from refutedp.inputs.patterns import EMPTY
from refutedp.model.adjacency import DEFAULT_RECORDS, AddRemove, AllDiffer, OneDiffers, Replace
from refutedp.model.datasets import CannotHold, container_of

MAGNITUDES = (10, 100, -1, -10, 1000, 3, 0.1, 10_000)
"""Values to begin with, besides the constants of the code."""
LENGTHS = (2, 3, 4, 7, 21, 50, 101)
"""Lengths to begin with, besides those that the code knows."""
SCANNED = 60
"""All lengths and values below are looked at, at least once."""
ROUND = (64, 100, 128, 256, 512, 1000, 1024, 10_000, 65_536, 1_000_000)
"""Larger values at which code often does something else, seen from below."""
LARGEST = 1e7
"""No value is larger: code may allocate as much, or loop as often."""
LONGEST = 160
"""No draft is longer."""

Rng: TypeAlias = np.random.Generator


class Draft(ABC):
    """Two adjacent inputs, and the reason to try them."""

    reason: str

    @abstractmethod
    def inputs(self) -> tuple[Any, Any]:
        """The data set and its neighbour; raises `CannotHold` where there is no such data set."""

    @abstractmethod
    def changed(self, rng: Rng, mined: Mined) -> Draft:
        """One random step away."""

    @abstractmethod
    def shorter(self) -> Iterator[Draft]:
        """Drafts with a stretch of it left out, the longest first."""

    @abstractmethod
    def plainer(self, place: int) -> Iterator[Draft]:
        """Drafts with simpler numbers at a place, the simplest first; place 0 is about all of it."""

    @property
    @abstractmethod
    def length(self) -> int:
        """How many answers or records it has."""

    @property
    def outside(self) -> str:
        """What in it lies beyond the records that the user gave."""
        return ""


@dataclass(frozen=True, slots=True)
class QueryDraft(Draft):
    """Query answers, each with the direction in which it moves by the whole sensitivity."""

    adjacency: AllDiffer | OneDiffers
    values: tuple[float, ...]
    signs: tuple[int, ...]
    reason: str

    def inputs(self) -> tuple[Any, Any]:
        """Lists of numbers."""
        step = self.adjacency.sensitivity
        return [_plain(v) for v in self.values], [
            _plain(v + step * sign) for v, sign in zip(self.values, self.signs, strict=True)
        ]

    @property
    def length(self) -> int:
        """Answers."""
        return len(self.values)

    def changed(self, rng: Rng, mined: Mined) -> Draft:
        """Another value, another sign, another length or order."""
        values, signs = list(self.values), list(self.signs)
        place = int(rng.integers(len(values)))
        match int(rng.integers(8)):
            case 0 | 1:
                values[place] = _other_value(values[place], values, rng, mined)
            case 2:
                values = [values[place]] * len(values)
            case 3:
                values = [v * 10 for v in values]
            case 4 if isinstance(self.adjacency, AllDiffer):
                signs[place] = int(rng.integers(-1, 2))
            case 5 if len(values) < LONGEST // 2:
                values, signs = (
                    values * 2,
                    [*signs, *(signs if isinstance(self.adjacency, AllDiffer) else [0] * len(signs))],
                )
            case 6 if len(values) > 1:
                del values[place], signs[place]
            case _:
                order = rng.permutation(len(values))
                values, signs = [values[i] for i in order], [signs[i] for i in order]
        if not any(signs):
            signs[int(rng.integers(len(signs)))] = int(rng.choice([-1, 1]))
        return replace(self, values=tuple(values), signs=tuple(signs))

    def shorter(self) -> Iterator[Draft]:
        """Fewer answers."""
        for sign in (1, -1) if len(self.values) > 1 else ():
            yield replace(self, values=(sum(self.values),), signs=(sign,))
        for start, stop in _pieces(len(self.values)):
            values, signs = self.values[:start] + self.values[stop:], self.signs[:start] + self.signs[stop:]
            if any(signs):
                yield replace(self, values=values, signs=signs)

    def plainer(self, place: int) -> Iterator[Draft]:
        """Smaller and rounder answers, and ones that do not move."""
        if place == 0:
            yield from (replace(self, values=(value,) * len(self.values)) for value in (0, 1) if any(self.values))
            return
        i = place - 1
        for value in _simpler_numbers(self.values[i]):
            yield replace(self, values=(*self.values[:i], value, *self.values[i + 1 :]))
        if self.signs[i] and sum(map(abs, self.signs)) > 1:
            yield replace(self, signs=(*self.signs[:i], 0, *self.signs[i + 1 :]))


def query_drafts(adjacency: AllDiffer | OneDiffers, mined: Mined, lengths: Sequence[int] = ()) -> Iterator[Draft]:
    """Where evolution of query answers begins; with some of these lengths, if they are given."""
    step = adjacency.sensitivity

    def moved(values: Sequence[float], reason: str) -> Iterator[Draft]:
        for signs in _signs(len(values), one=isinstance(adjacency, OneDiffers)):
            yield QueryDraft(adjacency, tuple(values), signs, reason)

    for length in lengths:
        for value in (*mined.numbers, *MAGNITUDES):
            yield from moved([value] * length, f"a value of {value:g}")
            yield from moved([value / length] * length, f"a sum of {value:g}")
    for number in mined.numbers:
        reason = f"{number:g}, a constant of the code"
        for value in (number, number - step, number + step, number - step / 2):
            yield from moved([value], reason)
            yield from moved([value] * 3, reason)
        yield from moved([number / 5] * 5, reason)
        yield from moved([number, 1, 1, 1, 1], reason)
        yield from moved([1, 1, 1, 1, number], reason)
        yield from moved([2 * number, number], reason)
    for value in MAGNITUDES:
        reason = f"a value of {value:g}"
        yield from moved([value], reason)
        yield from moved([value] * 5, reason)
        yield from moved([value, 1, 1, 1, 1], reason)
        yield from moved([1, 1, 1, 1, value], reason)
        yield from moved([value, -value], reason)
        yield from moved([value * i for i in range(7)], f"steps of {value:g}")
    for value in (*range(3, SCANNED), *ROUND):
        yield QueryDraft(
            adjacency, (value,), (-1,), f"{value}, a round number" if value in ROUND else f"a value of {value}"
        )
    for length in range(2, SCANNED):
        yield QueryDraft(adjacency, (1,) * length, (*[0] * (length - 1), 1), "many queries")
    for length in dict.fromkeys((*mined.lengths, *LENGTHS)):
        reason = "many queries"
        yield from moved([1] * length, reason)
        yield from moved(list(range(length)), reason)


def _signs(n: int, *, one: bool) -> Iterator[tuple[int, ...]]:
    """Directions of the answers, one or all of which move."""
    moves = [(0, 1), (n - 1, -1)] if n == 1 or not one else [(0, 1), (0, -1), (n - 1, 1), (n - 1, -1), (n // 2, 1)]
    yield from (tuple(sign if i == place else 0 for i in range(n)) for place, sign in moves)
    if not one and n > 1:
        yield from ((sign,) * n for sign in (1, -1))
        yield tuple(1 if i < n // 2 else -1 for i in range(n))


@dataclass(frozen=True, slots=True)
class Domain:
    """What records may be, as far as the user said: examples, and whether others are to be tried."""

    adjacency: AddRemove | Replace
    known: tuple[Any, ...]
    """The user's records, or the usual ones."""
    empty: Any
    """A data set without records, of the user's kind."""
    stated: bool
    """Whether the user gave any."""

    def outside(self, records: Sequence[Any]) -> str:
        """Which of the records lie beyond those that the user gave; numbers between them do not."""
        if not self.stated:
            return ""
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
        numbers = [known for known in self.known if _is_number(known)]
        return _is_number(record) and bool(numbers) and min(numbers) <= record <= max(numbers)


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
        if not self.records and self.domain.stated:
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
        for start, stop in _pieces(len(self.records), least=0 if isinstance(self.domain.adjacency, AddRemove) else 1):
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
    crowds = [((known[0],) * n, "many records") for n in lengths]
    crowds += [(tuple(known[i % len(known)] for i in range(n)), "many records") for n in lengths if len(known) > 1]
    for low, high in ends:
        crowds += [((low,) * k + (high,) * k, "distant records") for k in (1, 3, 5)]
        crowds += [((low, high) * k, "distant records in turns") for k in (2, 4)]
    others = list(_other_records(known[0], known, mined))
    extremes = [(record, "distant records") for pair in ends for record in pair]
    news = [*((record, "") for record in known[:4]), *extremes, *others]

    def drafts(crowd: tuple[Any, ...], record: Any, reason: str) -> Iterator[Draft]:
        for place in dict.fromkeys(domain.placed(n, len(crowd)) for n in (len(crowd), 0, len(crowd) // 2)):
            yield RecordDraft(domain, crowd, record, place, reason)

    for n in range(1, SCANNED):
        yield RecordDraft(domain, (known[0],) * n, known[0 if bare else -1], 0, "many records")
    for crowd, crowd_reason in own or crowds[:1]:
        for record, reason in news:
            yield from drafts(crowd, record, reason or crowd_reason)
    for crowd, crowd_reason in crowds:
        for record, reason in news[: 4 + len(extremes)]:
            yield from drafts(crowd, record, reason or crowd_reason)
    halves = [(low,) * k + (high,) * k for low, high in ends or pairwise(known) for k in (3, 6)]
    for crowd in (*(tuple(base) for base in bases if bare or len(base)), *halves):
        for record in (crowd[0], crowd[-1]) if crowd else ():
            yield RecordDraft(domain, crowd, record, 0, "another order", turned=True)
    for record, reason in others:
        for crowd in ((known[0],), (known[0],) * 5, (record,), (record,) * 3):
            yield from drafts(crowd, known[-1] if crowd[0] is record else record, reason)


def _ends(known: Sequence[Any]) -> list[tuple[Any, Any]]:
    """For each part of the records that is a number, those with the least and the largest."""
    found = []
    for place in range(len(_parts_of(known[0]))):
        having = [one for one in known if len(p := _parts_of(one)) > place and _is_number(p[place])]
        if having:
            low, high = (end(having, key=lambda one: _parts_of(one)[place]) for end in (min, max))
            if _parts_of(low)[place] < _parts_of(high)[place]:
                found.append((low, high))
    return found


def domain_of(adjacency: AddRemove | Replace, datasets: Sequence[Any]) -> tuple[Domain, list[list[Any]]] | None:
    """The user's domain and data sets as records; None where records cannot be put together."""
    stated = adjacency.records is not DEFAULT_RECORDS or bool(datasets)
    example = datasets[0] if datasets else []
    container = container_of(example)
    if container is None:
        return None
    bases = [container.records(data) for data in datasets if container_of(data) is container]
    given = [] if adjacency.records is DEFAULT_RECORDS and datasets else list(adjacency.records)
    known = {container.key(record): record for record in [*(r for base in bases for r in base), *given]}
    if not known:
        known = {container.key(record): record for record in DEFAULT_RECORDS}
    return Domain(adjacency, tuple(known.values()), container.take(example, []), stated), bases


def _made(empty: Any, records: Sequence[Any]) -> Any:
    container = container_of(empty)
    if container is None:
        raise CannotHold("no data set")
    if isinstance(empty, list):
        return list(records)
    made = empty
    for record in records:
        made = container.joined(made, record, widen=False)
    return made


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else float(f"{value:.12g}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _pieces(n: int, least: int = 1) -> Iterator[tuple[int, int]]:
    """Stretches to leave out, halves first, single ones last."""
    size = n // 2
    while size >= 1:
        for start in range(0, n - size + 1, size):
            if n - size >= least:
                yield start, start + size
        size //= 2
    if n == 1 and least == 0:
        yield 0, 1


def _simpler_numbers(value: float) -> Iterator[float]:
    tried = [0, 1, *(s * 10**k for k in range(1, 7) for s in (1, -1)), round(value), float(f"{value:.2g}")]
    tried = [int(other) if isinstance(value, int) else other for other in tried]
    for other in dict.fromkeys(tried):
        if abs(other) < abs(value) or (other != value and len(repr(other)) < len(repr(value))):
            yield other


def _simpler_records(record: Any) -> Iterator[Any]:
    for place, value in enumerate(_parts_of(record)):
        if _is_number(value) and value == value and abs(value) < 1e15:
            for number in _simpler_numbers(value):
                yield _with_part(record, place, type(value)(number) if isinstance(value, float) else number)


def _other_value(value: float, beside: Sequence[float], rng: Rng, mined: Mined) -> float:
    numbers = mined.numbers or MAGNITUDES
    moves: list[Callable[[], float]] = [
        lambda: value * 10,
        lambda: value / 10,
        lambda: -value,
        lambda: value + 1,
        lambda: float(beside[int(rng.integers(len(beside)))]),
        lambda: float(numbers[int(rng.integers(len(numbers)))]),
        lambda: float(MAGNITUDES[int(rng.integers(len(MAGNITUDES)))]),
    ]
    found = moves[int(rng.integers(len(moves)))]()
    return found if abs(found) <= LARGEST else value


def _parts_of(record: Any) -> list[Any]:
    if isinstance(record, dict):
        return list(record.values())
    return list(record) if isinstance(record, tuple | list) else [record]


def _with_part(record: Any, place: int, value: Any) -> Any:
    if isinstance(record, dict):
        return {**record, list(record)[place]: value}
    if not isinstance(record, tuple | list):
        return value
    items = [value if i == place else item for i, item in enumerate(record)]
    if isinstance(record, list):
        return items
    return type(record)(*items) if hasattr(record, "_fields") else tuple(items)


def _other_records(record: Any, known: Sequence[Any], mined: Mined) -> Iterator[tuple[Any, str]]:
    """Records like this one with one part changed: to constants of the code, and by orders of magnitude."""
    for place, value in enumerate(_parts_of(record)):
        options: list[tuple[Any, str]] = []
        if _is_number(value):
            kind = float if isinstance(value, float) else int
            constants = [n for n in mined.numbers if kind is float or float(n).is_integer()]
            options += [(kind(n + step), f"{n:g}, a constant of the code") for n in constants for step in (0, 1, -1)]
            options += [(kind(n), f"a value of {n:g}") for n in MAGNITUDES if kind is float or float(n).is_integer()]
            parts = [_parts_of(one) for one in known]
            numbers = [
                p[place] for p in parts if len(p) > place and _is_number(p[place]) and abs(p[place]) <= LARGEST
            ]
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
            yield _with_part(record, place, option), reason


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
    if rng.random() < 0.4:
        return known[int(rng.integers(len(known)))]
    parts = _parts_of(record)
    if not parts:
        return record
    place = int(rng.integers(len(parts)))
    value = parts[place]
    if _is_number(value) and value == value and abs(value) < 1e12:
        found = _other_value(value, [value], rng, mined)
        return _with_part(record, place, float(found) if isinstance(value, float) else round(found))
    if isinstance(value, str) and mined.words:
        return _with_part(record, place, mined.words[int(rng.integers(len(mined.words)))])
    return record
