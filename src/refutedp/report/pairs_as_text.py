"""The two inputs of a counterexample below each other, with marks where they differ."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from refutedp.model.datasets import Container, container_of
from refutedp.model.records import Pair

MOST_ROWS = 12
"""Rows of a table in a text; of longer tables, those that differ are shown."""
WIDEST = 30
"""Letters of a cell."""
FARTHEST = 80
"""Letters in front of what is said of a pair on the line of its marks."""


def pair_lines(pair: Pair, rows: int | None = None) -> list[str]:
    """The inputs below each other, with marks where they differ; tables as one where there is room for `rows`."""
    one, other = (container_of(data) for data in (pair.d1, pair.d2))
    if one is not None and one is other and (_is_table(one, pair.d1) or _is_table(one, pair.d2)):
        if rows is not None:
            return [*_one_table(one, pair, rows), f"  ({pair.category})"]
        tables = [*_table(one, "d1", pair.d1, pair.d2), *_table(one, "d2", pair.d2, pair.d1)]
        return [*tables, f"  ({pair.category})"]
    first, second = record_texts(pair.d1), record_texts(pair.d2)
    if first is None or second is None:
        return [f"  d1 = {pair.d1!r}", f"  d2 = {pair.d2!r}", f"  ({pair.category})"]
    cells = aligned(first, second)
    extra = abs(len(first) - len(second))
    note = f"({pair.category})" if not extra else f"({pair.category}; one input is {extra} longer)"
    widths = [max(len(a or ""), len(b or "")) for a, b in cells]
    if max(widths, default=0) > WIDEST:  # such rows are too long to be looked at side by side
        plain = [f"  {name} = [{', '.join(texts)}]" for name, texts in (("d1", first), ("d2", second))]
        return [*plain, f"  {note}"]
    lines = [f"  {name} = [{_row([cell[i] for cell in cells], widths)}]" for i, name in enumerate(("d1", "d2"))]
    kept = len(cells)
    while kept and None in cells[kept - 1]:  # what one input has more at its end needs no mark
        kept -= 1
    marks = [("^" if a != b else "").rjust(w) for (a, b), w in list(zip(cells, widths, strict=True))[:kept]]
    marked = f"        {'  '.join(marks)}"
    return [*lines, f"{marked}   {note}".rstrip() if len(marked) <= FARTHEST else f"  {note}"]


def aligned(one: Sequence[str], other: Sequence[str]) -> list[tuple[str | None, str | None]]:
    """Records by position, or, where one input has more, with gaps in the other so that equal ones face each other.

    >>> aligned(["a", "b", "c"], ["a", "c"])
    [('a', 'a'), ('b', None), ('c', 'c')]
    """
    if len(one) == len(other):
        return list(zip(one, other, strict=True))
    cells: list[tuple[str | None, str | None]] = []
    for _, a, b, c, d in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        left: list[str | None] = [*one[a:b], *[None] * ((d - c) - (b - a))]
        right: list[str | None] = [*other[c:d], *[None] * ((b - a) - (d - c))]
        cells += zip(left, right, strict=True)
    return cells


def record_texts(data: Any) -> list[str] | None:
    """Each record as text, parts named where the data set names them; None for what has no records.

    >>> record_texts([1, "a"])
    ['1', "'a'"]
    """
    container = container_of(data)
    if container is None:
        items = list(data) if isinstance(data, Sequence) and not isinstance(data, (str, bytes)) else None
        return None if items is None else [repr(item) for item in items]
    fields = container.fields(data)
    if fields is None:
        return [repr(record) for record in container.records(data)]
    return [
        ", ".join(f"{field.name}={value!r}" for field, value in zip(fields, record, strict=True))
        for record in container.records(data)
    ]


def _row(cells: Sequence[str | None], widths: Sequence[int]) -> str:
    """Cells with commas between those that are there; a gap is left blank, a last one away."""
    last = max((i for i, cell in enumerate(cells) if cell is not None), default=-1)
    text = ""
    for i, (cell, width) in enumerate(zip(cells[: last + 1], widths, strict=False)):
        comma = ", " if i < last else ""
        text += " " * (width + len(comma)) if cell is None else cell.rjust(width) + comma
    return text


def _is_table(container: Container, data: Any) -> bool:
    return container.fields(data) is not None or getattr(data, "ndim", 1) == 2


def _table(container: Container, name: str, data: Any, beside: Any) -> list[str]:
    """One input as a table, a ">" before each row that the other does not have."""
    records = container.records(data)
    fields = container.fields(data)
    types = f"of {data.dtype}" if fields is None else f"({', '.join(f'{f.name} {f.dtype}' for f in fields)})"
    rows = "1 row" if len(records) == 1 else f"{len(records)} rows"
    own = _own_rows(container, data, beside)
    shown = [i for i in range(len(records)) if len(records) <= MOST_ROWS or i in own]
    cells = [[_cell(value) for value in records[i]] for i in shown]
    width = data.shape[1] if fields is None else len(fields)
    header = [str(i) for i in range(width)] if fields is None else [field.name for field in fields]
    table = [header, *cells] if cells else []
    widths = [max(len(row[i]) for row in table) for i in range(width)] if table else []
    marks = ["", *(">" if i in own else "" for i in shown)]
    lines = [f"  {name} = {container.name} {types}, {rows}"]
    lines += [
        f"   {mark:1}  {'  '.join(cell.rjust(w) for cell, w in zip(row, widths, strict=True))}"
        for mark, row in zip(marks, table, strict=False)
    ]
    hidden = len(records) - len(shown)
    return [*lines, f"      and {hidden} rows that both inputs have"] if hidden else lines


def _one_table(container: Container, pair: Pair, most: int) -> list[str]:
    """Both inputs as one table: the rows that only one of them has, by its name, and some that both have."""
    sides = (("d1", pair.d1, pair.d2), ("d2", pair.d2, pair.d1))
    fields = container.fields(pair.d1)
    counts = [len(container.records(data)) for _, data, _ in sides]
    lines = [f"  d1 and d2: {container.name}, {counts[0]:,} and {counts[1]:,} rows"]
    rows: list[tuple[str, list[str]]] = []
    for name, data, beside in sides:
        records = container.records(data)
        rows += [(name, [_cell(value) for value in records[i]]) for i in sorted(_own_rows(container, data, beside))]
    shown = rows[:most]
    if most == 0:
        first = dict(reversed(rows))
        told = "; ".join(f"only {name} has ({', '.join(cells)})" for name, cells in sorted(first.items()))
        more = f", and {_rows(len(rows) - len(first))} more differ" if len(rows) > len(first) else ""
        return [f"{lines[0]}{'; ' if told else ''}{told}{more}"]
    shared = [
        record for i, record in enumerate(container.records(pair.d1)) if i not in _own_rows(container, *sides[0][1:])
    ]
    shown += [("", [_cell(value) for value in record]) for record in shared[: most - len(shown)]]
    header = [field.name for field in fields] if fields else [str(i) for i in range(len(shown[0][1]) if shown else 0)]
    widths = [max(len(row[i]) for row in (header, *(cells for _, cells in shown))) for i in range(len(header))]
    for name, cells in (("", header), *shown):
        lines.append(
            f"   {name:2}  {'  '.join(cell.rjust(w) for cell, w in zip(cells, widths, strict=True))}".rstrip()
        )
    hidden = [f"{_rows(len(rows) - most)} more that differ" if len(rows) > most else ""]
    kept = len(shared) - (len(shown) - min(len(rows), most))
    hidden.append(f"{_rows(kept)} that both have" if kept > 0 else "")
    told = " and ".join(one for one in hidden if one)
    return [*lines, f"       and {told}"] if told else lines


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _own_rows(container: Container, data: Any, beside: Any) -> set[int]:
    """Positions of the records that the other data set does not have, or has fewer of.

    >>> _own_rows(container_of([]), [1, 2, 2], [1, 2])
    {2}
    """
    rest = Counter(container.key(record) for record in container.records(beside))
    own = set()
    for i, record in enumerate(container.records(data)):
        key = container.key(record)
        if rest[key] > 0:
            rest[key] -= 1
        else:
            own.add(i)
    return own


def _cell(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."
