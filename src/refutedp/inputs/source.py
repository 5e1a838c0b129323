"""Where pairs come from: one interface for every source, and which sources a check asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from refutedp.inputs.given import given_pairs, pairs_around
from refutedp.inputs.patterns import pairs_for
from refutedp.model.adjacency import AddRemove, AllDiffer, OneDiffers, Replace
from refutedp.model.errors import UsageError
from refutedp.model.records import Pair


class Seen(NamedTuple):
    """A pair that was tried, and how far the best event on it lies beyond the claim: beyond doubt, if positive."""

    pair: Pair
    score: float


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

    def told(self) -> str:
        """How many there are."""
        return f"{len(self.pairs)} pairs of {self.name}"


def sources_for(
    adjacency: Any, pairs: Any = None, inputs: Any = None, *, lengths: Sequence[int] | None = None, seed: int = 0
) -> list[Fixed]:
    """The sources for what the user gave: the pairs themselves, those around data sets, or the paper's patterns."""
    if not isinstance(adjacency, AllDiffer | OneDiffers | AddRemove | Replace):
        raise UsageError(
            f"adjacency={adjacency!r} is not an adjacency: use ALL_DIFFER, ONE_DIFFERS, ADD_REMOVE or REPLACE"
        )
    if pairs is not None and inputs is not None:
        raise UsageError("pairs= and inputs= were both given: give the pairs, or the inputs to derive pairs from")
    if pairs is not None:
        return [Fixed(given_pairs(adjacency, pairs))]
    if inputs is None:
        return [Fixed(pairs_for(adjacency, lengths), name="the usual patterns")]
    derived = pairs_around(adjacency, inputs, seed)
    tried, left_out = len(derived.pairs), derived.left_out
    note = (
        f"Of the {tried + left_out} pairs of neighbours that the inputs suggest, {tried} were tried: "
        "give fewer data sets at a time to try them all."
    )
    return [Fixed(derived.pairs, note if left_out else "", "neighbours of the data")]
