"""What a report shows beside its figures: the two inputs as a short difference, and the source with its leak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refutedp.model.claims import Claim
from refutedp.model.explanation import Explanation, LedgerRow, Place
from refutedp.model.mechanism import Origin
from refutedp.model.records import Pair
from refutedp.report.pairs_as_text import aligned, record_texts
from refutedp.report.readable import number_words

MOST_ROWS = 60
"""Rows of an input; of longer inputs, those that differ are shown."""
_ALL_ROLES = {"leak": "leaks here", "differs": "differs", "noise": "noise"}


@dataclass(frozen=True, slots=True)
class Row:
    """Entries of both inputs that follow each other and are the same; None where an input has no such entry."""

    position: str
    d1: str | None
    d2: str | None
    count: int

    @property
    def differs(self) -> bool:
        """Whether the inputs do."""
        return self.d1 != self.d2


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The inputs entry by entry, or as they print when they are no sequences."""

    rows: tuple[Row, ...]
    left_out: int
    whole: tuple[str, str] | None


def side_by_side(pair: Pair) -> SideBySide:
    """The two inputs of a pair, for a table: what repeats is one row.

    >>> [(row.position, row.differs) for row in side_by_side(Pair([1, 1, 2], [1, 1, 3], "given")).rows]
    [('0 to 1', False), ('2', True)]
    """
    one, other = record_texts(pair.d1), record_texts(pair.d2)
    if one is None or other is None:
        return SideBySide((), 0, (repr(pair.d1), repr(pair.d2)))
    rows = _joined(aligned(one, other))
    if len(rows) <= MOST_ROWS:
        return SideBySide(tuple(rows), 0, None)
    shown = tuple([row for row in rows if row.differs][:MOST_ROWS])
    return SideBySide(shown, sum(row.count for row in rows) - sum(row.count for row in shown), None)


def _joined(cells: Sequence[tuple[str | None, str | None]]) -> list[Row]:
    rows: list[Row] = []
    start = 0
    for i in range(1, len(cells) + 1):
        if i == len(cells) or cells[i] != cells[start]:
            position = str(start) if i - start == 1 else f"{start} to {i - 1}"
            rows.append(Row(position, *cells[start], i - start))
            start = i
    return rows


@dataclass(frozen=True, slots=True)
class Line:
    """A line of source; `role` is "leak", "differs", "noise" or empty, and `note` what to say of it."""

    number: int
    text: str
    role: str = ""
    note: str = ""


def lines_of(origin: Origin, told: Explanation | None = None) -> list[Line]:
    """The source line by line, numbered as in its file, with what the explanation says of each line.

    >>> origin = Origin("f.py:f", "def f(x):\\n    return x", 7, "")
    >>> place = Place("f.py", 8, "f", "return x")
    >>> [(line.number, line.note) for line in lines_of(origin, Explanation(place, "No noise hides x."))]
    [(7, ''), (8, 'leaks here')]
    """
    roles: dict[int, tuple[str, Place]] = {}
    if told is not None:
        roles |= {row.place.line: ("noise", row.place) for row in told.ledger}
        roles |= {one.place.line: ("differs", one.place) for one in told.discrepancies if one.place is not None}
        if told.place is not None:
            roles[told.place.line] = ("leak", told.place)
    lines = []
    for number, text in enumerate(origin.source.splitlines(), start=origin.line):
        role, place = roles.get(number, ("", None))
        # The same number may be a line of another file.
        if place is not None and place.text and not _same(place.text, text):
            role = ""
        lines.append(Line(number, text, role, _ALL_ROLES.get(role, "")))
    return lines


def _same(one: str, other: str) -> bool:
    """Whether a line is another, or the start of a statement that it shows in full."""
    first, second = " ".join(one.split()), " ".join(other.split())
    return bool(second) and (first.startswith(second) or second.startswith(first))


def cost_words(row: LedgerRow, claim: Claim) -> str:
    """What a row costs, for a table.

    >>> from refutedp.model.claims import PureDP
    >>> cost_words(LedgerRow(Place("", 1, "", ""), "laplace", 2.0, 1, "x", 10.0, 5.0), PureDP(1.0))
    'ε 5'
    """
    if row.unbounded:
        return f"no {claim.letter} is enough"
    return "" if row.cost is None else f"{claim.letter} {number_words(row.cost)}"
