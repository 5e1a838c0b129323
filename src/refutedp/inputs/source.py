"""Where pairs come from: one interface for every source, which sources a check asks, and the usual pairs to try.

These are the categories of the paper's table for queries, and small data sets for records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

from refutedp.inputs.hostile import odd_records
from refutedp.model.adjacency import DEFAULT_RECORDS, AddRemove, Adjacency, AllDiffer, AnyTwo, OneDiffers, Replace
from refutedp.model.errors import UsageError
from refutedp.model.mechanism import Mechanism
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


class Seen(NamedTuple):
    """A pair that was tried, and how far the best event on it lies beyond the claim: beyond doubt, if positive."""

    pair: Pair
    score: float


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """What a source that calls the mechanism works on."""

    mechanism: Mechanism
    adjacency: Adjacency
    datasets: Sequence[Any] = ()
    """The user's, if any."""
    lengths: Sequence[int] | None = None
    """Those that the user wants."""
    allowed: float = 1.0
    """What the claim allows a pair to cost, in units of ε."""
    seed: int = 0
    calls: int = 10_000
    """How often a source may call the mechanism."""


class PairSource(Protocol):
    """Proposes pairs, each with its reason (`category`), and is told how earlier ones did."""

    @property
    def calls(self) -> int:
        """How often it has called the mechanism."""
        ...

    def propose(self, seen: Sequence[Seen]) -> Sequence[Pair]:
        """What to try next, with what was `seen` of all pairs so far; nothing, when there is nothing left."""
        ...

    def told(self) -> str:
        """What it has tried, in a few words."""
        ...

    def shorter(self, pair: Pair) -> Pair | None:
        """A shorter pair that may break the claim as this one, which it proposed, does; None where it knows none."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """A source that knows all its pairs beforehand.

    >>> source = Fixed([Pair([0], [1], "given")])
    >>> len(source.propose([])), len(source.propose([Seen(source.pairs[0], 0.5)]))
    (1, 0)
    """

    pairs: Sequence[Pair]
    note: str = ""
    """What there is to say about their choice."""
    name: str = "the given ones"
    calls: ClassVar[int] = 0

    def propose(self, seen: Sequence[Seen]) -> Sequence[Pair]:
        """All of them at first, none later."""
        return () if seen else self.pairs

    def shorter(self, pair: Pair) -> None:
        """None: these pairs are as they are."""

    def told(self) -> str:
        """How many there are."""
        return f"{len(self.pairs)} pairs of {self.name}"


def sources_for(
    adjacency: Any, pairs: Any = None, inputs: Any = None, *, lengths: Sequence[int] | None = None, seed: int = 0
) -> list[Fixed]:
    """The sources for what the user gave: the pairs themselves, those around data sets, or the paper's patterns."""
    if not isinstance(adjacency, Adjacency):
        raise UsageError(
            f"adjacency={adjacency!r} is not an adjacency: "
            "use ALL_DIFFER, ONE_DIFFERS, ADD_REMOVE, REPLACE or ANY_TWO"
        )
    if pairs is not None and inputs is not None:
        raise UsageError("pairs= and inputs= were both given: give the pairs, or the inputs to derive pairs from")
    from refutedp.inputs.given import given_pairs, pairs_around

    if pairs is not None:
        return [Fixed(given_pairs(adjacency, pairs))]
    if inputs is None and (isinstance(adjacency, AnyTwo) or getattr(adjacency, "by", None) is not None):
        inputs = examples_of(adjacency)
    if inputs is None:
        return [Fixed(pairs_for(adjacency, lengths), name="the usual patterns")]
    derived = pairs_around(adjacency, inputs, seed)
    tried, left_out = len(derived.pairs), derived.left_out
    note = (
        f"Of the {tried + left_out} pairs of neighbours that the inputs suggest, {tried} were tried: "
        "give fewer data sets at a time to try them all."
    )
    return [Fixed(derived.pairs, note if left_out else "", "neighbours of the data")]


def examples_of(adjacency: Adjacency) -> list[Any]:
    """The records of an adjacency that cannot do without any: values to compare, or the data of a few users."""
    if isinstance(adjacency, AnyTwo):
        if len(adjacency.records) < 2:
            raise UsageError(
                'ANY_TWO needs to know which inputs there are: give inputs=["yes", "no"], or pairs=[("yes", "no")]'
            )
        return list(adjacency.records)
    assert isinstance(adjacency, AddRemove | Replace)
    if adjacency.records is DEFAULT_RECORDS:
        raise UsageError(
            f"by={adjacency.by!r} needs data that have such ids: give a data set as inputs=, or pairs=[(d1, d2)]"
        )
    return [list(adjacency.records)]


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
