"""Evolutionary search for pairs with a large estimated privacy loss (`tracing/ledger`), made short afterwards.

A source of the race. It begins with the constants of the code, orders of magnitude and lengths, looks at each with a
few calls, and goes on from the best where that beats what was tried before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from refutedp.inputs.arguments.problem import Wanted
from refutedp.inputs.drafts import Draft, Mined, draft_of, mine, query_drafts
from refutedp.inputs.other_arguments import OtherArguments
from refutedp.inputs.record_drafts import RecordDraft, domain_of, record_drafts
from refutedp.inputs.source import SearchSpace, Seen
from refutedp.model.adjacency import AddRemove, AllDiffer, AnyTwo, OneDiffers, Replace
from refutedp.model.datasets import CannotHold
from refutedp.model.records import Pair
from refutedp.model.settings import EVOLVE_STREAM, child
from refutedp.tracing.ledger import WHOLE, Ledger, Loss

BETTER, MORE = 1.4, 1.4
"""How many times what pairs cost so far, and what the claim allows, a new one must cost to be worth runs."""
BEYOND = 1.7
"""How many times what the claim allows a shorter pair must cost that is run afresh for it."""
PARENTS, CHILDREN, GENERATIONS = 8, 32, 8
MOST_PROPOSED = 3
KEEPS, CLEARLY = 0.8, 1.5
"""The part of the cost that a shorter pair must keep, or how many times what it takes to be better."""
IN_VAIN, WARY = 16, 1.5
"""So many pairs that come near in vain, with as many calls each, and the next ones have to seem better by so much."""
PROBES, ARGUMENTS = 8, 0.3
"""So many usual pairs are looked at with other arguments, by so large a part of the calls."""
BREEDING = 0.7
"""The part of the calls for breeding; the others are for making short what was found."""
_BARREN = 2
"""Generations without progress after which evolution ends."""


class Bred(NamedTuple):
    """A draft with what it costs."""

    loss: Loss
    draft: Draft

    @property
    def cost(self) -> float:
        """About what the pair costs."""
        return self.loss.size


class Evolved:
    """Proposes at most `MOST_PROPOSED` pairs, once, after others have been tried and none broke the claim.

    `wanted` are the arguments that nobody gave: they may take other values.
    """

    def __init__(self, space: SearchSpace, *, wanted: Sequence[Wanted] = ()) -> None:
        self._space = space
        self._wanted = wanted
        self._rng = np.random.default_rng(child(space.seed, EVOLVE_STREAM))
        self._ledger = Ledger(space.mechanism, space.seed)
        self._most_calls = space.calls
        self._arguments: Mapping[str, Any] = {}
        """Those of the best pair so far."""
        self._done = self._arrays = False
        self._proposed = self._near = 0
        self._shorter: dict[frozenset[str], Pair] = {}
        self._noise_free = 0
        self.looked_at = 0
        """How many pairs the ledger has seen."""

    def told(self) -> str:
        """How many pairs it looked at, and how many are worth runs."""
        if not self.looked_at:
            return "evolution was not needed"
        return f"evolution looked at {self.looked_at:,} pairs, and {self._proposed} are worth runs"

    @property
    def calls(self) -> int:
        """How often the mechanism was called."""
        return self._ledger.calls + self._noise_free

    def propose(self, seen: Sequence[Seen]) -> list[Pair]:
        """The best of what was bred, shortened; nothing where the claim is broken already, or nothing is better."""
        if not seen or self._done:
            return []
        self._done = True
        if any(one.score > 0 and not one.pair.outside for one in seen):
            return []
        self._arrays = not self._space.datasets and isinstance(seen[0].pair.d1, np.ndarray)
        tried = sorted(seen, key=lambda one: -one.score)
        with self._ledger.open():
            return self._bred([one.pair for one in tried if not one.pair.outside] or [one.pair for one in tried])

    def _bred(self, ordinary: Sequence[Pair]) -> list[Pair]:
        usual = self._ledger.usual(ordinary[:12])
        if usual >= WHOLE / BETTER:
            return []
        enough = max(BETTER * usual, MORE * self._space.allowed)
        self._most_calls = int(BREEDING * self._space.calls)
        mined = mine(self._space.mechanism.function)
        self._arguments = ordinary[0].arguments
        elsewhere = self._elsewhere(ordinary[:PROBES], mined, usual, enough)
        found = _unlike(self._breed(mined, enough))[: MOST_PROPOSED - len(elsewhere)]
        self._most_calls = self._space.calls
        self._proposed = len(found) + len(elsewhere)
        return [*elsewhere, *(self._short_pair(one, enough) for one in found)]

    def _elsewhere(self, probes: Sequence[Pair], mined: Mined, usual: float, enough: float) -> list[Pair]:
        """Usual pairs with other arguments, where they cost enough, or anything at all if nothing moved before.

        Those arguments are the ones for all pairs from there on.
        """
        other = OtherArguments(self._space.mechanism, self._wanted, self._ledger)
        calls = self._ledger.calls + int(ARGUMENTS * self._space.calls)
        found = other.better(probes, mined, usual, min(calls, self._most_calls), enough)
        self._noise_free = other.calls
        if found is None:
            return []
        self._arguments = found
        changed = [f"{name} = {value!r}" for name, value in found.items() if probes[0].arguments.get(name) != value]
        costs = [(self._ledger.loss(pair.d1, pair.d2, found), pair) for pair in probes]
        loss, best = max(costs, key=lambda one: one[0].size)
        if loss.size <= (enough if usual else 0):
            return []
        reason = f"{best.category}, with {' and '.join(changed)}"
        if isinstance(self._space.adjacency, AllDiffer | OneDiffers):
            return [self._short_pair(Bred(loss, draft_of(self._space.adjacency, best, reason)), enough)]
        return [replace(best, category=f"{reason}: {loss.words}", arguments=found, why="")]

    def _short_pair(self, one: Bred, enough: float) -> Pair:
        """A short pair that clearly costs enough; one that is shorter still, and just so, is kept for `shorter`."""
        clear = self._shortened(one, CLEARLY * enough)
        just = self._shortened(clear, max(BEYOND * self._space.allowed, KEEPS * enough))
        pair = self._pair(clear)
        if just.draft.length < clear.draft.length:
            self._shorter[_key(pair)] = self._pair(just)
        return pair

    def shorter(self, pair: Pair) -> Pair | None:
        """A shorter pair than this one that may break the claim, too."""
        return self._shorter.get(_key(pair))

    def _breed(self, mined: Mined, enough: float) -> list[Bred]:
        found: list[Bred] = []
        for draft in self._first(mined):
            self._enter(found, draft, enough)
        best = _best(found)
        # Where nothing came near, one generation more is enough to be sure of that.
        barren = 0 if best > enough / 2 else _BARREN - 1
        for _ in range(GENERATIONS):
            if not found or best >= WHOLE or barren == _BARREN:
                break
            parents = sorted(found, key=lambda one: -one.cost)[:PARENTS]
            for _ in range(CHILDREN):
                parent = parents[int(self._rng.integers(len(parents)))]
                self._enter(found, parent.draft.changed(self._rng, mined), enough)
            barren = 0 if _best(found) > 1.05 * best else barren + 1
            best = max(best, _best(found))
        return [one for one in found if one.cost > enough]

    def _first(self, mined: Mined) -> Iterator[Draft]:
        if not isinstance(self._space.adjacency, AddRemove | Replace):
            assert not isinstance(self._space.adjacency, AnyTwo)  # whose values are given
            yield from query_drafts(self._space.adjacency, mined, self._space.lengths or ())
            return
        found = domain_of(self._space.adjacency, self._space.datasets)
        if found is not None:
            yield from record_drafts(*found, mined, self._space.lengths or ())

    def _enter(self, found: list[Bred], draft: Draft, enough: float) -> None:
        """Look at a draft, if there are calls left for it; drafts that cost nothing are forgotten."""
        bred = self._looked_at(draft, enough)
        # A mechanism that refuses an unusual input has found it out of its domain.
        if bred is not None and bred.cost > 0 and not bred.loss.raised:
            found.append(bred)

    def _looked_at(self, draft: Draft, enough: float) -> Bred | None:
        if self._ledger.calls >= self._most_calls or (
            self._space.lengths and draft.length not in self._space.lengths
        ):
            return None
        if isinstance(draft, RecordDraft) and not draft.domain.allows(draft.records, draft.record):
            return None
        try:
            d1, d2 = self._inputs(draft)
        except (CannotHold, OverflowError, TypeError, ValueError):
            return None
        if self._space.adjacency.difference(d1, d2) is not None:
            return None
        self.looked_at += 1
        before = self._ledger.calls
        # Where many pairs come near and none is enough, chance makes them all seem better than they are.
        loss = self._ledger.loss(d1, d2, self._arguments, beyond=enough * (WARY if self._near > IN_VAIN else 1))
        if loss.size > enough:
            self._near = 0
        elif self._ledger.calls - before > IN_VAIN:
            self._near += 1
        return Bred(loss, draft)

    def _shortened(self, one: Bred, clearly: float) -> Bred:
        """Delta debugging: ever simpler drafts, as long as they cost nearly as much, or clearly enough."""
        least = min(KEEPS * one.cost, clearly)

        def first(drafts: Iterator[Draft], one: Bred) -> Bred:
            for draft in drafts:
                if draft.outside in ("", one.draft.outside):
                    found = self._looked_at(draft, least)
                    if found is not None and found.cost >= least and not found.loss.raised:
                        return found
            return one

        for _ in range(2):
            while (shorter := first(one.draft.shorter(), one)) is not one:
                one = shorter
            for place in range(one.draft.length + 1):
                one = first(one.draft.plainer(place), one)
        return one

    def _inputs(self, draft: Draft) -> tuple[Any, Any]:
        """As arrays where the pairs tried before are arrays."""
        d1, d2 = draft.inputs()
        return (np.asarray(d1, dtype=float), np.asarray(d2, dtype=float)) if self._arrays else (d1, d2)

    def _pair(self, one: Bred) -> Pair:
        d1, d2 = self._inputs(one.draft)
        category = f"evolved from {one.draft.reason}: {one.loss.words}"
        return Pair(d1, d2, category, dict(self._arguments), outside=one.draft.outside)


def _key(pair: Pair) -> frozenset[str]:
    """The two inputs, whichever comes first."""
    return frozenset((repr(pair.d1), repr(pair.d2)))


def _best(found: Sequence[Bred]) -> float:
    return max((one.cost for one in found), default=0.0)


def _unlike(found: Sequence[Bred]) -> list[Bred]:
    """The best for each reason, ordinary records first."""
    chosen: dict[str, Bred] = {}
    for one in sorted(found, key=lambda one: (bool(one.draft.outside), -one.cost, one.draft.length)):
        chosen.setdefault(one.draft.reason, one)
    return list(chosen.values())
