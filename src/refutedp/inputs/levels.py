"""Moves the usual pairs to where the answers begin to vary: thresholds may lie far from zeros, ones and twos.

A source of the race. Around zero a mechanism that compares with 100 gives one answer in every run, and every pair
looks private. Query answers are moved up together, data sets grow, and runs on the same draws tell at which level
one answer turns into another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any, TypeAlias

import numpy as np

from refutedp.inputs.drafts import LARGEST, LONGEST, Mined, mine
from refutedp.inputs.record_drafts import Domain, RecordDraft, domain_of
from refutedp.inputs.source import SearchSpace, Seen, pairs_for
from refutedp.model.adjacency import AddRemove, AllDiffer, OneDiffers, Replace
from refutedp.model.datasets import CannotHold
from refutedp.model.records import Pair
from refutedp.tracing.ledger import Ledger, Release

RUNS = 16
"""Runs at a level: one answer in so many that differs shows that answers vary there."""
MOST_ZONES = 2
STEPS, EDGE_STEPS = 16, 8
"""Bisections between two levels with different answers, and from where answers vary to where they no longer do."""
RICHER = 2
"""How many times as many different answers as on the usual pairs make a level worth runs."""
ANSWERS = 5
"""Query answers of the pairs."""
AT_THE_EDGES = ("One Above Rest Below", "All Above", "All Below")
"""Categories of many answers that are tried where one answer is rare, too; all are tried where answers are mixed."""
RECORDS = 3
"""Records of which there are many, and which come in, at each level."""
USUAL_PAIRS = 4

Answers: TypeAlias = frozenset[str]


class Scale(ABC):
    """What moves: levels, the data of each, and the pairs there."""

    start: float

    @abstractmethod
    def grid(self, mined: Mined) -> list[float]:
        """The levels to look at, from `start` on."""

    @abstractmethod
    def between(self, low: float, high: float) -> float:
        """A level between two others; one of them, if there is none."""

    @abstractmethod
    def data(self, level: float) -> Any:
        """The data set whose answers are looked at; raises `CannotHold` where there is none."""

    @abstractmethod
    def pairs(self, level: float, *, edge: bool) -> list[Pair]:
        """The pairs to try at a level."""


@dataclass(frozen=True, slots=True)
class AnswerScale(Scale):
    """Query answers, all about the level."""

    adjacency: AllDiffer | OneDiffers
    lengths: Sequence[int]
    arrays: bool = False
    start: float = 1

    @property
    def _length(self) -> int:
        return ANSWERS if ANSWERS in self.lengths or not self.lengths else max(self.lengths)

    def grid(self, mined: Mined) -> list[float]:
        """Constants of the code, their parts (for a sum of all answers), and the orders of magnitude."""
        constants = [value for number in mined.numbers for value in (number, number / self._length)]
        levels = {*constants, *(10.0**k for k in range(1, 7))}
        return [self.start, *sorted(level for level in levels if self.start < level <= LARGEST)]

    def between(self, low: float, high: float) -> float:
        """Whole numbers, as long as there are any: they are easier to read."""
        middle = (low + high) / 2
        return float(round(middle)) if high - low > 2 * self.adjacency.sensitivity + 1 else middle

    def data(self, level: float) -> Any:
        """Equal answers."""
        return np.full(self._length, level) if self.arrays else [_plain(level)] * self._length

    def pairs(self, level: float, *, edge: bool) -> list[Pair]:
        """The usual patterns, moved up; of one answer, too, where answers are mixed."""
        lengths = {self._length} if edge or self.lengths else {1, self._length}
        moved = []
        made: Callable[[list[float]], Any] = np.asarray if self.arrays else list
        for pair in pairs_for(self.adjacency, sorted(lengths)):
            if not edge or pair.category in AT_THE_EDGES or isinstance(self.adjacency, OneDiffers):
                d1, d2 = (made([_plain(value + level - self.start) for value in data]) for data in (pair.d1, pair.d2))
                category = f"{pair.category}, about {level:g}, where answers begin to vary"
                moved.append(
                    Pair(np.asarray(d1), np.asarray(d2), category) if self.arrays else Pair(d1, d2, category)
                )
        return moved


@dataclass(frozen=True, slots=True)
class SizeScale(Scale):
    """Data sets of so many times the same record."""

    domain: Domain
    record: Any
    start: float = 1

    def grid(self, mined: Mined) -> list[float]:
        """Numbers of records that the code may compare with, and some that double."""
        levels = {*map(float, mined.lengths), *(float(LONGEST >> k) for k in range(8))}
        return [self.start, *sorted(level for level in levels if self.start < level <= LONGEST)]

    def between(self, low: float, high: float) -> float:
        """Whole records only."""
        return float((low + high) // 2)

    def data(self, level: float) -> Any:
        """The same record so many times."""
        return self._draft(level, self.record).inputs()[0]

    def pairs(self, level: float, *, edge: bool) -> list[Pair]:
        """One more record, or another one."""
        drafts = [self._draft(level, record) for record in islice(self.domain.known, RECORDS)]
        reason = f"{level:g} records, where answers begin to vary"
        return [Pair(*draft.inputs(), reason, outside=draft.outside) for draft in drafts]

    def _draft(self, level: float, record: Any) -> RecordDraft:
        return RecordDraft(self.domain, (self.record,) * int(level), record, 0, "")


class Levels:
    """Proposes pairs at the levels where answers begin to vary, once, where the usual pairs broke nothing.

    >>> from refutedp.model.adjacency import ONE_DIFFERS
    >>> from refutedp.model.mechanism import describe
    >>> def alarm(queries, rng):
    ...     return max(queries) + rng.laplace() > 250
    >>> source = Levels(SearchSpace(describe(alarm), ONE_DIFFERS, lengths=(1,)))
    >>> pairs = source.propose([Seen(Pair([1], [2], "One Above"), -1.0)])
    >>> sorted({round(pair.d1[0] / 50) for pair in pairs})
    [5]
    """

    def __init__(self, space: SearchSpace) -> None:
        self._space = space
        self._ledger = Ledger(space.mechanism, space.seed)
        self._arguments: Mapping[str, Any] = {}
        self._known: dict[float, Answers] = {}
        self._done = False
        self._words = "levels were not needed"

    @property
    def calls(self) -> int:
        """How often the mechanism was called."""
        return self._ledger.calls

    def shorter(self, pair: Pair) -> None:
        """None: these pairs are short already."""

    def told(self) -> str:
        """Where answers vary."""
        return self._words

    def propose(self, seen: Sequence[Seen]) -> list[Pair]:
        """The usual pairs, at the levels where more answers are seen than on those tried before."""
        if not seen or self._done:
            return []
        self._done = True
        scales = self._scales(isinstance(seen[0].pair.d1, np.ndarray))
        if not scales or any(one.score > 0 and not one.pair.outside for one in seen):
            return []
        usual = [one.pair for one in seen if not one.pair.outside] or [one.pair for one in seen]
        self._arguments = usual[0].arguments
        with self._ledger.open():
            tried = [
                self._answers(data, pair.arguments) for pair in usual[:USUAL_PAIRS] for data in (pair.d1, pair.d2)
            ]
            rich = RICHER * max(map(len, tried))
            zones = [(scale, zone) for scale in scales for zone in self._zones(scale, rich)][:MOST_ZONES]
        self._words = f"levels: {_told([zone for _, zone in zones])}"
        pairs = [
            pair
            for scale, (low, middle, high) in zones
            for level in dict.fromkeys((middle, low, high))
            for pair in scale.pairs(level, edge=level != middle)
        ]
        return [
            replace(pair, arguments=dict(self._arguments))
            for pair in pairs
            if self._space.adjacency.difference(pair.d1, pair.d2) is None
        ]

    def _scales(self, arrays: bool) -> Sequence[Scale]:
        if isinstance(self._space.adjacency, AllDiffer | OneDiffers):
            return [AnswerScale(self._space.adjacency, tuple(self._space.lengths or ()), arrays)]
        if not isinstance(self._space.adjacency, AddRemove | Replace) or self._space.lengths:
            return []
        found = domain_of(self._space.adjacency, self._space.datasets)
        return [] if found is None else [SizeScale(found[0], record) for record in found[0].known[:RECORDS]]

    def _zones(self, scale: Scale, rich: int) -> list[tuple[float, float, float]]:
        """The first levels at which answers are `rich`: where that begins, a level within, and where it ends."""
        zones: list[tuple[float, float, float]] = []
        self._known.clear()
        grid = scale.grid(mine(self._space.mechanism.function))
        for low, high in pairwise(grid):
            if zones and low <= zones[-1][2]:
                continue
            level: float | None = high
            if len(self._at(scale, high)) < rich:
                level = self._turning(scale, low, high, rich)
            if level is not None:
                top = next((one for one in grid if one > level and len(self._at(scale, one)) < rich), level)
                zones.append((self._edge(scale, low, level, rich), level, self._edge(scale, top, level, rich)))
            if len(zones) == MOST_ZONES:
                break
        return zones

    def _turning(self, scale: Scale, low: float, high: float, rich: int) -> float | None:
        """A level between two with different answers at which answers are rich, if bisection meets one."""
        for _ in range(STEPS):
            if self._at(scale, low) == self._at(scale, high):
                return None
            middle = scale.between(low, high)
            if middle in (low, high):
                return None
            if len(self._at(scale, middle)) >= rich:
                return middle
            low, high = (middle, high) if self._at(scale, middle) == self._at(scale, low) else (low, middle)
        return None

    def _edge(self, scale: Scale, poor: float, level: float, rich: int) -> float:
        """The level nearest to `poor` that is still rich, about."""
        for _ in range(EDGE_STEPS):
            middle = scale.between(min(poor, level), max(poor, level))
            if middle in (poor, level):
                break
            poor, level = (poor, middle) if len(self._at(scale, middle)) >= rich else (middle, level)
        return level

    def _at(self, scale: Scale, level: float) -> Answers:
        """The different answers at a level; none where there are no such data, or no calls are left."""
        if level not in self._known:
            self._known[level] = frozenset()
            if self.calls + RUNS <= self._space.calls:
                with suppress(CannotHold, OverflowError, TypeError, ValueError):
                    self._known[level] = self._answers(scale.data(level), self._arguments)
        return self._known[level]

    def _answers(self, data: Any, arguments: Mapping[str, Any]) -> Answers:
        return frozenset(_kind(one) for one in self._ledger.releases(data, arguments, RUNS))


def _kind(release: Release) -> str:
    """An answer; numbers with digits after the point count as one answer, for noise makes each another one."""
    whole = all(number.is_integer() for number in release.numbers)
    return repr((release.structure, release.numbers if whole else len(release.numbers)))


def _told(zones: Sequence[tuple[float, float, float]]) -> str:
    if not zones:
        return "answers vary nowhere more than on the usual pairs"
    return "answers begin to vary " + " and ".join(f"between {low:g} and {high:g}" for low, _, high in zones)


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() else value
