"""Pick the event that best shows a violation, without falling for luck among thousands of them.

The best-looking of many events is often luck: its rates look further apart than they are. Every event is therefore
scored by a lower bound that holds for all of them at once (the "winner's curse" of the design): the level is divided
evenly among the pairs and the families of events, and within a family by its number of choices, so that a simple
event need not pay for the thousands of complicated ones. Rare events pay for their uncertainty by themselves, so no
fixed rarity rule is needed; the paper's is a setting.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.events.catalogue import Feature, rounding_features, subtle_features
from refutedp.events.features import Hamming, Scalar
from refutedp.events.leaks import LastDigit, Magnitude, Residue
from refutedp.events.predicates import Among, Both, Equals, Event, Exactly, Interval
from refutedp.events.shared import Difference, Spread
from refutedp.events.space import Family, families, families_of
from refutedp.outputs import Outputs
from refutedp.records import Scorer

_Row: TypeAlias = tuple[float, int, bool]
"""A score, the number of an event, and whether the event is likelier on d2."""
_EXACTLY_SCORED = 192
_MOST_OF_A_FAMILY = 4
"""Neighbouring intervals are much alike: a few of each family leave room for others."""
HOPEFUL = 0.02
"""The level of a bound for one event alone, as confirmation will certify it: luck among many is not paid for."""


@dataclass(frozen=True, slots=True)
class Scored:
    """An event with its search hits: `x` on the side where it is likelier, d1 unless `swapped`.

    `score` holds for all events at once, `hope` for this one alone, had it been the only one.
    """

    event: Event
    x: int
    y: int
    swapped: bool
    score: float
    hope: float


@dataclass(frozen=True, slots=True)
class Search:
    """The best events of one pair, best score first, then some that only time will tell about; how many were looked
    at; the subtle features that showed something.
    """

    best: tuple[Scored, ...]
    events: int
    promising: tuple[Feature, ...] = ()


def search_events(
    first: Outputs,
    second: Outputs,
    references: Sequence[tuple[Scalar, ...]],
    *,
    subtle: Sequence[Feature] | None = (),
    landmarks: Sequence[float] = (),
    scorer: Scorer,
    significance: float,
    pairs: int,
    least_hits: float = 0.0,
    keep: int = 24,
) -> Search:
    """The best events for the outputs of one pair of `pairs`.

    `subtle` are costly features to look at besides the others, None for all; `least_hits` is the paper's rarity rule.
    """
    looked = subtle_features([*first.groups, *second.groups]) if subtle is None else list(subtle)
    found = list(families(first, second, references, subtle=looked, landmarks=landmarks))
    chosen = _best(found, scorer, significance / pairs, least_hits, keep)
    promising = [s.event.of for s in chosen if s.score > 0 and not isinstance(s.event, Exactly | Both)]
    events = sum(len(family.x) for family in found)
    return Search(tuple(chosen), events, tuple(feature for feature in looked if feature in promising))


def search_rounding(
    first: Outputs, second: Outputs, *, scorer: Scorer, significance: float, pairs: int
) -> Scored | None:
    """The best event about the rounding of floats; None when the outputs have no floats."""
    found = list(families_of(first, second, rounding_features([*first.groups, *second.groups])))
    return next(iter(_best(found, scorer, significance / pairs, 0.0, 1)), None)


def _best(found: list[Family], scorer: Scorer, significance: float, least_hits: float, keep: int) -> list[Scored]:
    """The best events of the families, best first, a few of each family; then half as many hopeful ones.

    A rare event may be the best of all and yet not show it on the search runs at the price of thousands of others.
    Those that would lead if each were the only one come along, for fresh runs to tell the good from the lucky.
    """
    if not found:
        return []
    x = np.concatenate([family.x for family in found])
    y = np.concatenate([family.y for family in found])
    sizes = np.array([len(family.x) for family in found])
    share = significance / len(found)
    level = np.repeat([share / family.tries for family in found], sizes)
    strict: list[_Row] = []
    hopeful: list[_Row] = []
    for swapped, (high, low) in ((False, (x, y)), (True, (y, x))):
        rare = (high + low) < max(least_hits, 1)
        rough = scorer.rough(high, low, level)
        rough[rare] = -np.inf
        picked = _top(rough, low)
        exact = scorer.exact(high[picked], low[picked], level[picked])
        exact[~np.isfinite(rough[picked])] = -np.inf
        strict += _rows(exact, picked, swapped)
        hope = scorer.rough(high, low, HOPEFUL)
        hope[rare] = -np.inf
        ahead = np.argsort(-hope, kind="stable")[:_EXACTLY_SCORED]
        hopeful += _rows(hope[ahead], ahead, swapped)
    ends = np.cumsum(sizes)
    rows = _some_of_each(strict, ends, keep)
    known = {(index, swapped) for _, index, swapped in rows}
    rows += [row for row in _some_of_each(hopeful, ends, keep // 2) if row[1:] not in known]
    return _scored(rows, found, ends, x, y, level, scorer)


def _rows(scores: NDArray[np.float64], indices: NDArray[np.int64], swapped: bool) -> list[_Row]:
    return [(score, index, swapped) for score, index in zip(scores.tolist(), indices.tolist(), strict=True)]


def _some_of_each(rows: list[_Row], ends: NDArray[np.int64], keep: int) -> list[_Row]:
    """The best rows, few of one family, at most `keep`."""
    chosen: list[_Row] = []
    taken: Counter[int] = Counter()
    for row in sorted(rows, key=lambda row: (-row[0], row[1])):
        if len(chosen) == keep or not math.isfinite(row[0]):
            break
        family = int(np.searchsorted(ends, row[1], side="right"))
        if taken[family] < _MOST_OF_A_FAMILY:
            taken[family] += 1
            chosen.append(row)
    return chosen


def _scored(
    rows: list[_Row],
    found: list[Family],
    ends: NDArray[np.int64],
    x: NDArray[np.int64],
    y: NDArray[np.int64],
    level: NDArray[np.float64],
    scorer: Scorer,
) -> list[Scored]:
    """The events of the rows, built, with both scores."""
    indices = np.array([index for _, index, _ in rows], dtype=np.int64)
    swaps = np.array([swapped for _, _, swapped in rows], dtype=bool)
    high, low = np.where(swaps, y[indices], x[indices]), np.where(swaps, x[indices], y[indices])
    score = scorer.exact(high, low, level[indices]).tolist()
    hope = scorer.exact(high, low, HOPEFUL).tolist()
    chosen: list[Scored] = []
    for number, (_, index, swapped) in enumerate(rows):
        family = int(np.searchsorted(ends, index, side="right"))
        start = int(ends[family - 1]) if family else 0
        event = found[family].build(index - start)
        chosen.append(Scored(event, int(high[number]), int(low[number]), swapped, score[number], hope[number]))
    return chosen


def complexity(event: Event) -> int:
    """How much a reader has to keep in mind."""
    match event:
        case Equals(of=feature):
            return _odd(feature)
        case Interval(of=feature, low=low, high=high):
            return _odd(feature) + (1 if low is None or high is None else 2)
        case Exactly(leaves=leaves):
            return 2 + len(leaves) // 4
        case Among(values=values):
            return 2 + len(values)
        case Both(first=one, second=other):
            return 1 + complexity(one) + complexity(other)


def _odd(feature: Feature) -> int:
    """Features that take a moment to understand."""
    return 2 if isinstance(feature, Magnitude | LastDigit | Residue | Hamming | Difference | Spread) else 0


def _top(rough: NDArray[np.float64], low: NDArray[np.int64]) -> NDArray[np.int64]:
    """The events to score exactly: the best by the rough bound, and the best of those it is unfair to (few hits)."""
    if len(rough) <= 2 * _EXACTLY_SCORED:
        return np.arange(len(rough))
    best = np.argpartition(-rough, _EXACTLY_SCORED)[:_EXACTLY_SCORED]
    few = np.flatnonzero(low <= 5)
    if len(few) > _EXACTLY_SCORED:
        few = few[np.argpartition(-rough[few], _EXACTLY_SCORED)[:_EXACTLY_SCORED]]
    return np.union1d(best, few)
