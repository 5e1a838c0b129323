"""The numbers in query answers and records: taken out, put back, and as unknowns of the solver that stay adjacent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from refutedp.inputs.drafts import LARGEST, is_number
from refutedp.inputs.hostile import has_part, part, places, with_part
from refutedp.inputs.record_drafts import Domain, RecordDraft
from refutedp.inputs.source import NEGATIVE
from refutedp.model.adjacency import AddRemove, AllDiffer, OneDiffers
from refutedp.model.datasets import container_of

if TYPE_CHECKING:
    from refutedp.inputs.arguments.parting import Follower, SymbolicPair

MOST_KINDS = 3
"""Records whose words and truths differ, which are taken as examples."""


class Inputs(NamedTuple):
    """Two inputs, and what in them lies beyond the user's domain."""

    d1: Any
    d2: Any
    outside: str


class NumbersInData(Protocol):
    """One kind of data."""

    def fill(self, numbers: Sequence[Any]) -> Any:
        """Data that has these numbers, which may be watched."""
        ...

    def numbers(self, data: Any) -> list[Any] | None:
        """The numbers of data; None where it is of another kind."""
        ...

    def whole(self, number: int) -> bool:
        """Whether the number at this place is an integer."""
        ...

    def symbolic(self, follower: Follower, length: int) -> Iterator[SymbolicPair]:
        """Pairs of this length whose numbers are unknown."""
        ...

    def inputs(self, first: Sequence[Fraction], second: Sequence[Fraction]) -> Inputs | None:
        """The inputs with these numbers; None where the user does not want such ones tried."""
        ...


@dataclass(frozen=True, slots=True)
class AnswerNumbers:
    """Query answers; with `arrays`, as NumPy arrays.

    >>> from refutedp.model.adjacency import ALL_DIFFER
    >>> AnswerNumbers(ALL_DIFFER).inputs([Fraction(0)], [Fraction(-1)])
    Inputs(d1=[0], d2=[-1], outside='negative answers')
    """

    adjacency: AllDiffer | OneDiffers
    arrays: bool = False

    def fill(self, numbers: Sequence[Any]) -> Any:
        """A list, or an array."""
        return _array(numbers) if self.arrays else list(numbers)

    def numbers(self, data: Any) -> list[Any] | None:
        """The answers."""
        values = data.ravel().tolist() if isinstance(data, np.ndarray) else data
        return list(values) if isinstance(values, list | tuple) and all(map(is_number, values)) else None

    def whole(self, number: int) -> bool:
        """Where the sensitivity is an integer: most queries count something."""
        return float(self.adjacency.sensitivity).is_integer()

    def symbolic(self, follower: Follower, length: int) -> Iterator[SymbolicPair]:
        """An answer and a step for each query."""
        import z3

        from refutedp.inputs.arguments.parting import SymbolicPair, Unknown, within

        delta = Fraction(self.adjacency.sensitivity)
        answers = [follower.variable(f"answer{i}", i) for i in range(length)]
        steps = [follower.variable(f"step{i}", i) for i in range(length)]
        moved = [answer + step for answer, step in zip(answers, steps, strict=True)]
        bound = int(delta) if delta.denominator == 1 else delta
        rules = [fact for step in steps for fact in within(step, -bound, bound)]
        rules += [fact for answer in answers for fact in within(answer, -int(LARGEST), int(LARGEST))]
        if isinstance(self.adjacency, OneDiffers):
            rules.append(z3.PbLe([(step != 0, 1) for step in steps], 1))
        yield SymbolicPair(
            first=tuple(answers),
            second=tuple(moved),
            unknowns=(
                *(Unknown(step, (Fraction(0), delta, -delta)) for step in steps),
                *(Unknown(answer, (Fraction(1), Fraction(0))) for answer in answers),
            ),
            rules=tuple(rules),
            ordinary=tuple(answer >= 0 for answer in (*answers, *moved)),
        )

    def inputs(self, first: Sequence[Fraction], second: Sequence[Fraction]) -> Inputs | None:
        """Lists of numbers, or arrays."""
        d1, d2 = ([_plain(value) for value in values] for values in (first, second))
        outside = NEGATIVE if min(*d1, *d2) < 0 else ""
        if self.arrays:
            return Inputs(np.asarray(d1, dtype=float), np.asarray(d2, dtype=float), outside)
        return Inputs(d1, d2, outside)


@dataclass(frozen=True, slots=True)
class RecordNumbers:
    """Records like an example, whose numbers change while its words and truths stay.

    >>> from refutedp.inputs.record_drafts import domain_of
    >>> from refutedp.model.adjacency import ADD_REMOVE
    >>> domain, _ = domain_of(ADD_REMOVE, [[("a", 3, 4.5), ("a", 5, 1.0)]])
    >>> numbers = RecordNumbers(domain, ("a", 3, 4.5))
    >>> numbers.fill([7, 8.0]), numbers.numbers([("a", 5, 1.0)]), numbers.numbers([("b", 5, 1.0)])
    ([('a', 7, 8.0)], [5, 1.0], None)
    """

    domain: Domain
    example: Any

    def fill(self, numbers: Sequence[Any]) -> Any:
        """A list of records, or an array of numbers."""
        records = self._records(numbers)
        return _array(records) if isinstance(self.domain.empty, np.ndarray) else records

    def numbers(self, data: Any) -> list[Any] | None:
        """All numbers of the records; None where a record is not like the example."""
        container = container_of(data)
        if container is None or container is not container_of(self.domain.empty):
            return None
        rows = [self._row(record) for record in container.records(data)]
        return None if None in rows else [value for row in rows for value in row or ()]

    def whole(self, number: int) -> bool:
        """Where the user's records have integers."""
        places = self._places
        place = places[number % len(places)]
        return all(isinstance(part(one, place), int) for one in self.domain.known if has_part(one, place))

    def symbolic(self, follower: Follower, length: int) -> Iterator[SymbolicPair]:
        """Records, and one that is added at the end or in front, or takes the place of the first."""
        from refutedp.inputs.arguments.parting import SymbolicPair, Unknown, within

        places = self._places
        rows = [[follower.variable(f"record{i}.{k}", k) for k in range(len(places))] for i in range(length + 1)]
        *records, new = rows
        unknowns = [
            Unknown(term, self._preferred(place)) for row in rows for term, place in zip(row, places, strict=True)
        ]
        rules = [fact for one in unknowns for fact in within(one.term, -int(LARGEST), int(LARGEST))]
        ordinary = [fact for row in rows for fact in self._ordinary(row)]
        added = isinstance(self.domain.adjacency, AddRemove)
        for neighbour in [[*records, new], [new, *records]] if added else [[new, *records[1:]]]:
            yield SymbolicPair(
                first=tuple(term for row in records for term in row),
                second=tuple(term for row in neighbour for term in row),
                unknowns=tuple(unknowns),
                rules=(*rules, *(() if self.domain.adjacency.odd else ordinary)),
                ordinary=tuple(ordinary) if self.domain.adjacency.odd else (),
            )

    def inputs(self, first: Sequence[Fraction], second: Sequence[Fraction]) -> Inputs | None:
        """Data sets of the user's kind."""
        kinds = [int if self.whole(k) else float for k in range(len(self._places))]
        records, after = (
            self._records([kinds[i % len(kinds)](value) for i, value in enumerate(side)]) for side in (first, second)
        )
        at_end = len(second) > len(first) and list(second[: len(first)]) == list(first)
        record, place = (after[-1], len(records)) if at_end else (after[0], 0)
        if not self.domain.allows(records, record):
            return None
        draft = RecordDraft(self.domain, tuple(records), record, place, "")
        return Inputs(*draft.inputs(), draft.outside)

    @property
    def _places(self) -> list[Any]:
        return [place for place in places(self.example) if is_number(part(self.example, place))]

    def _records(self, numbers: Sequence[Any]) -> list[Any]:
        where = self._places
        records = []
        for start in range(0, len(numbers), len(where)):
            record = self.example
            for place, value in zip(where, numbers[start : start + len(where)], strict=True):
                record = with_part(record, place, value)
            records.append(record)
        return records

    def _row(self, record: Any) -> list[Any] | None:
        """The numbers of a record that differs from the example in finite numbers only."""
        record = record.item() if isinstance(record, np.generic) else record
        where = self._places
        values = [part(record, place) for place in where if has_part(record, place)]
        if len(values) < len(where) or not all(is_number(value) and math.isfinite(value) for value in values):
            return None
        return (
            values if repr(_without_numbers(record, where)) == repr(_without_numbers(self.example, where)) else None
        )

    def _preferred(self, place: Any) -> tuple[Fraction, ...]:
        value = part(self.example, place)
        return tuple(dict.fromkeys(Fraction(one) for one in (value, 1, 0) if math.isfinite(one)))

    def _ordinary(self, row: Sequence[Any]) -> list[Any]:
        """Rules that make a record one of the user's, or a number between them."""
        import z3

        from refutedp.inputs.arguments.parting import within
        from refutedp.inputs.arguments.terms import constant

        rows = [values for values in map(self._row, self.domain.known) if values is not None]
        if self._places == [None]:
            return within(row[0], min(rows)[0], max(rows)[0])
        same = [
            z3.And([term == constant(value, term.ctx) for term, value in zip(row, values, strict=True)])
            for values in rows
        ]
        return [z3.Or(same)]


def record_kinds(domain: Domain) -> list[RecordNumbers]:
    """The kinds of records in the user's domain that have numbers, if they are in lists or in an array of numbers."""
    if not isinstance(domain.empty, list | np.ndarray):
        return []
    found: dict[str, RecordNumbers] = {}
    for record in domain.known:
        example = record.item() if isinstance(record, np.generic) else record
        where = [place for place in places(example) if is_number(part(example, place))]
        finite = all(math.isfinite(part(example, place)) for place in where)
        if where and finite and (where == [None] or isinstance(domain.empty, list)):
            found.setdefault(repr(_without_numbers(example, where)), RecordNumbers(domain, example))
    return list(found.values())[:MOST_KINDS]


def _without_numbers(record: Any, where: Sequence[Any]) -> Any:
    for place in where:
        record = with_part(record, place, 0)
    return record


def _array(numbers: Sequence[Any]) -> Any:
    from refutedp.inputs.arguments.watched_arrays import filled

    return filled(numbers, (len(numbers),))


def _plain(value: Fraction) -> float:
    return int(value) if value.denominator == 1 else float(value)
