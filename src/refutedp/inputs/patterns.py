"""Adjacent pairs to try: the categories of the paper's table for queries, small data sets for records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from refutedp.inputs.hostile import odd_records
from refutedp.model.adjacency import AddRemove, Adjacency, AllDiffer, OneDiffers, Replace
from refutedp.model.records import Pair

LENGTHS = (1, 5, 10)
"""The paper's lengths, and one query: the shortest counterexample of all, and often the clearest."""
RECORD_LENGTHS = (1, 5)
"""How many records there are besides the one that changes."""
EMPTY = "the empty data set"
"""What lies outside the user's data where no records are left."""
NEGATIVE = "negative answers"
"""What lies outside the usual answers of queries."""
MOST_RECORD_PAIRS = 60

Rows: TypeAlias = tuple[list[float], list[float]]


def _flat(n: int) -> list[float]:
    return [1] * n


def _lower_half(n: int) -> int:
    """Half Half puts the odd query with the first half; X Shape, in the paper's sample, with the second."""
    return n - n // 2


# The paper's table of database categories, Δ for the sensitivity. "One" categories suit histograms as well.
# Half Half comes in both orders and the odd query also last, for a mechanism that stops early sees the first queries
# only; there, a last query that differs from the rest shows most.
ONE_QUERY: dict[str, Callable[[int, float], Rows]] = {
    "One Above": lambda n, d: (_flat(n), [1 + d, *_flat(n - 1)]),
    "One Below": lambda n, d: (_flat(n), [1 - d, *_flat(n - 1)]),
}
ALL_QUERIES: dict[str, Callable[[int, float], Rows]] = {
    **ONE_QUERY,
    "One Above Rest Below": lambda n, d: (_flat(n), [1 + d] + [1 - d] * (n - 1)),
    "One Below Rest Above": lambda n, d: (_flat(n), [1 - d] + [1 + d] * (n - 1)),
    "Last Above Rest Below": lambda n, d: (_flat(n), [1 - d] * (n - 1) + [1 + d]),
    "Last Below Rest Above": lambda n, d: (_flat(n), [1 + d] * (n - 1) + [1 - d]),
    "Half Half": lambda n, d: (_flat(n), [1 - d] * _lower_half(n) + [1 + d] * (n // 2)),
    "Half Half Reversed": lambda n, d: (_flat(n), [1 + d] * _lower_half(n) + [1 - d] * (n // 2)),
    "All Above": lambda n, d: (_flat(n), [1 + d] * n),
    "All Below": lambda n, d: (_flat(n), [1 - d] * n),
    "X Shape": lambda n, d: (
        [d] * (n // 2) + [0] * _lower_half(n),
        [0] * (n // 2) + [d] * _lower_half(n),
    ),
}


def pairs_for(adjacency: Adjacency, lengths: Sequence[int] | None = None) -> list[Pair]:
    """Every pair to try under an adjacency, short ones first, of these lengths or of ordinary ones.

    >>> from refutedp.model.adjacency import ONE_DIFFERS
    >>> [(pair.category, pair.d2) for pair in pairs_for(ONE_DIFFERS, lengths=(3,))]
    [('One Above', [2, 1, 1]), ('One Below', [0, 1, 1])]
    """
    if isinstance(adjacency, AddRemove | Replace):
        return _record_pairs(adjacency, RECORD_LENGTHS if lengths is None else lengths)
    table = ONE_QUERY if isinstance(adjacency, OneDiffers) else ALL_QUERIES
    assert isinstance(adjacency, AllDiffer | OneDiffers)
    step = adjacency.sensitivity
    delta = int(step) if float(step).is_integer() else step
    pairs: list[Pair] = []
    for length in sorted(set(LENGTHS if lengths is None else lengths)):
        for category, rows in table.items():
            d1, d2 = rows(length, delta)
            if d1 != d2 and not any((known.d1, known.d2) in ((d1, d2), (d2, d1)) for known in pairs):
                pairs.append(Pair(d1, d2, category))
    return pairs


def _record_pairs(adjacency: AddRemove | Replace, lengths: Sequence[int]) -> list[Pair]:
    """Each record of the universe added to, or swapped into, a single record and a crowd of each length.

    After these, with `odd`, odd records come into the crowd, and all come into the empty data set.
    """
    universe = adjacency.records
    ordinary = universe[: min(len(universe), 2)]
    bases: list[tuple[str, list[Any]]] = []
    for length in sorted(set(lengths)):
        if length == 1:
            bases += [(f"one record {record!r}", [record]) for record in ordinary]
        else:
            bases.append((f"{_words(length)} records", [ordinary[i % len(ordinary)] for i in range(length)]))
    crowd = bases[-1]
    if len(universe) > 2:
        bases.append(("every record", list(universe)))
    pairs = [
        pair for base in bases for record in universe for pair in _come_in(adjacency, base, record, repr(record))
    ]
    outside: list[Pair] = []
    if adjacency.odd:
        for odd in odd_records(universe):
            outside += _come_in(adjacency, crowd, odd.record, f"an odd record, {odd.words},", odd.words)
        empty: tuple[str, list[Any]] = ("empty data", [])
        for record in universe:
            outside += _come_in(adjacency, empty, record, repr(record), EMPTY)
    room = MOST_RECORD_PAIRS - min(len(outside), MOST_RECORD_PAIRS // 3)
    return _distinct(adjacency, [*_distinct(adjacency, pairs)[:room], *outside])[:MOST_RECORD_PAIRS]


def _come_in(
    adjacency: AddRemove | Replace, base: tuple[str, list[Any]], record: Any, what: str, outside: str = ""
) -> list[Pair]:
    """The pair in which a record is added to a data set, or takes the place of its first; none if it has none."""
    name, records = base
    if isinstance(adjacency, AddRemove):
        return [Pair(list(records), [*records, record], f"add {what} to {name}", outside=outside)]
    if not records:
        return []
    return [Pair(list(records), [record, *records[1:]], f"replace by {what} in {name}", outside=outside)]


def _words(length: int) -> str:
    return {2: "two", 3: "three", 4: "four", 5: "five", 10: "ten"}.get(length, str(length))


def _distinct(adjacency: AddRemove | Replace, pairs: Sequence[Pair]) -> list[Pair]:
    fitting = [pair for pair in pairs if adjacency.difference(pair.d1, pair.d2) is None]
    found: dict[tuple[str, str], Pair] = {}
    for pair in fitting:
        if repr(pair.d1) != repr(pair.d2):
            found.setdefault((repr(pair.d1), repr(pair.d2)), pair)
    return list(found.values())
