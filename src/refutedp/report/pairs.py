"""The two inputs of a pair, for people: records side by side, frames as tables."""

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
_GAP = "  "


def pair_lines(pair: Pair) -> list[str]:
    """The inputs below each other, with marks where they differ."""
    one, other = (container_of(data) for data in (pair.d1, pair.d2))
    if one is not None and one is other and (_is_table(one, pair.d1) or _is_table(one, pair.d2)):
        tables = [line for name, a, b in _both(pair) for line in _table(one, name, a, b)]
        return [*tables, f"  ({pair.category})"]
    texts = [record_texts(data) for data in (pair.d1, pair.d2)]
    if texts[0] is None or texts[1] is None:
        return [f"  d1 = {pair.d1!r}", f"  d2 = {pair.d2!r}", f"  ({pair.category})"]
    cells = aligned(texts[0], texts[1])
    extra = abs(len(texts[0]) - len(texts[1]))
    note = f"({pair.category})" if not extra else f"({pair.category}; one input is {extra} longer)"
    widths = [max(len(a or ""), len(b or "")) for a, b in cells]
    rows = [f"  {name} = [{_row([cell[i] for cell in cells], widths)}]" for i, name in enumerate(("d1", "d2"))]
    kept = len(cells)
    while kept and None in cells[kept - 1]:  # what one input has more at its end needs no mark
        kept -= 1
    marks = [("^" if a != b else "").rjust(w) for (a, b), w in list(zip(cells, widths, strict=True))[:kept]]
    return [*rows, f"        {'  '.join(marks)}   {note}".rstrip()]


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


def _both(pair: Pair) -> tuple[tuple[str, Any, Any], tuple[str, Any, Any]]:
    return ("d1", pair.d1, pair.d2), ("d2", pair.d2, pair.d1)


def _table(container: Container, name: str, data: Any, beside: Any) -> list[str]:
    """One input as a table, a ">" before each row that the other does not have."""
    records = container.records(data)
    fields = container.fields(data)
    types = f"of {data.dtype}" if fields is None else f"({', '.join(f'{f.name} {f.dtype}' for f in fields)})"
    rows = "1 row" if len(records) == 1 else f"{len(records)} rows"
    own = own_rows(container, data, beside)
    shown = [i for i in range(len(records)) if len(records) <= MOST_ROWS or i in own]
    cells = [[_cell(value) for value in records[i]] for i in shown]
    width = data.shape[1] if fields is None else len(fields)
    header = [str(i) for i in range(width)] if fields is None else [field.name for field in fields]
    table = [header, *cells] if cells else []
    widths = [max(len(row[i]) for row in table) for i in range(width)] if table else []
    marks = ["", *(">" if i in own else "" for i in shown)]
    lines = [f"  {name} = {container.name} {types}, {rows}"]
    lines += [
        f"   {mark:1}  {_GAP.join(cell.rjust(w) for cell, w in zip(row, widths, strict=True))}"
        for mark, row in zip(marks, table, strict=False)
    ]
    hidden = len(records) - len(shown)
    return [*lines, f"      and {hidden} rows that both inputs have"] if hidden else lines


def own_rows(container: Container, data: Any, beside: Any) -> set[int]:
    """Positions of the records that the other data set does not have, or has fewer of.

    >>> from refutedp.model.datasets import container_of
    >>> own_rows(container_of([]), [1, 2, 2], [1, 2])
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
