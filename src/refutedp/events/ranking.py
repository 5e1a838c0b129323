"""Pick the event that best shows a violation, without falling for chance among thousands of them.

The best-looking of many events often owes that to chance: its rates look more different than they are. Every event is
therefore scored by a lower bound that holds for all of them at once (the "winner's curse"): the level
is divided evenly among the pairs and the families of events, and within a family by its number of choices, so that a
simple event need not pay for the thousands of complicated ones. Rare events pay for their uncertainty by themselves,
so no fixed rarity rule is needed; the paper's is a setting.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refutedp.events.families import Family, families, families_of
from refutedp.events.features.basic import Hamming, Scalar
from refutedp.events.features.differences import Difference, Spread
from refutedp.events.features.leaks import LastDigit, Magnitude, Residue
from refutedp.events.features.offered import Feature, rounding_features, subtle_features
from refutedp.events.predicates import Among, Both, Equals, Event, Exactly, Interval
from refutedp.model.outputs import Outputs
from refutedp.model.records import Scorer

_EXACTLY_SCORED = 192
_MOST_OF_A_FAMILY = 4
"""Neighbouring intervals are much alike: a few of each family leave room for others."""
OPTIMISTIC = 0.02
"""The level of a bound for one event alone, as confirmation will certify it: chance among many is not paid for."""


@dataclass(frozen=True, slots=True)
class Scored:
    """An event with its search hits: `x` on the side where it is likelier, d1 unless `swapped`.

    `score` holds for all events at once, `optimistic_score` for this one alone, had it been the only one.
    """

    event: Event
    x: int
    y: int
    swapped: bool
    score: float
    optimistic_score: float


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
    optimists: int = 12,
) -> Search:
    """The best events for the outputs of one pair of `pairs`.

    `subtle` are costly features to look at besides the others, None for all; `least_hits` is the paper's rarity rule;
    at most `keep` events come with the best scores and `optimists` more with the best optimistic scores.
    """
    looked = subtle_features([*first.groups, *second.groups]) if subtle is None else list(subtle)
    found = list(families(first, second, references, subtle=looked, landmarks=landmarks))
    chosen = _best(found, scorer, significance / pairs, least_hits, keep, optimists)
    promising = [s.event.of for s in chosen if s.score > 0 and not isinstance(s.event, Exactly | Both)]
    events = sum(len(family.x) for family in found)
    return Search(tuple(chosen), events, tuple(feature for feature in looked if feature in promising))


def search_rounding(
    first: Outputs, second: Outputs, *, scorer: Scorer, significance: float, pairs: int
) -> Scored | None:
    """The best event about the rounding of floats; None when the outputs have no floats."""
    found = list(families_of(first, second, rounding_features([*first.groups, *second.groups])))
    return next(iter(_best(found, scorer, significance / pairs, 0.0, keep=1, optimists=0)), None)


def _best(
    found: list[Family], scorer: Scorer, significance: float, least_hits: float, keep: int, optimists: int
) -> list[Scored]:
    """The best events of the families, best first, a few of each family; then some optimistic ones.

    A rare event may be the best of all and yet not show it on the search runs at the price of thousands of others.
    Those that would lead if each were the only one come along, for fresh runs to tell the good from the lucky.
    """
    if not found:
        return []
    x = np.concatenate([family.x for family in found])
    y = np.concatenate([family.y for family in found])
    sizes = np.array([len(family.x) for family in found])
    ends = np.cumsum(sizes)
    share = significance / len(found)
    level = np.repeat([share / family.tries for family in found], sizes)
    strict, alone = _Race(ends), _Race(ends)
    for swapped, (high, low) in ((False, (x, y)), (True, (y, x))):
        rare = (high + low) < max(least_hits, 1)
        rough = scorer.rough(high, low, level)
        rough[rare] = -np.inf
        picked = _top(rough, low, ends)
        exact = scorer.exact(high[picked], low[picked], level[picked])
        exact[~np.isfinite(rough[picked])] = -np.inf
        strict.enter(exact, picked, swapped)
        if optimists:
            optimistic_score = scorer.optimistic_score(high, low, OPTIMISTIC)
            optimistic_score[rare] = -np.inf
            ahead = _first(optimistic_score, _EXACTLY_SCORED)
            alone.enter(optimistic_score[ahead], ahead, swapped)
    rows = list(dict.fromkeys([*strict.first(keep), *(alone.first(optimists) if optimists else ())]))
    numbers = np.array([number for number, _ in rows], dtype=np.int64)
    swaps = np.array([swapped for _, swapped in rows], dtype=bool)
    high, low = np.where(swaps, y[numbers], x[numbers]), np.where(swaps, x[numbers], y[numbers])
    score, optimistic_score = scorer.exact(high, low, level[numbers]), scorer.optimistic_score(high, low, OPTIMISTIC)
    families_of_rows = ends.searchsorted(numbers, side="right")
    return [
        Scored(found[family].build(number - (ends[family] - sizes[family])), *hits, swapped, *scores)
        for (number, swapped), family, hits, scores in zip(
            rows,
            families_of_rows.tolist(),
            zip(high.tolist(), low.tolist(), strict=True),
            zip(score.tolist(), optimistic_score.tolist(), strict=True),
            strict=True,
        )
    ]


class _Race:
    """Events with a score; `ends` are where the families end among their numbers."""

    def __init__(self, ends: NDArray[np.int64]) -> None:
        self.ends = ends
        self.entered: list[tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]] = []

    def enter(self, scores: NDArray[np.float64], numbers: NDArray[np.int64], swapped: bool) -> None:
        """More events, all in one direction."""
        self.entered.append((scores, numbers, np.full(len(numbers), swapped)))

    def first(self, keep: int) -> list[tuple[int, bool]]:
        """The best by number and direction, few of one family, at most `keep`."""
        scores, numbers, swaps = (np.concatenate(column) for column in zip(*self.entered, strict=True))
        order = np.lexsort((numbers, -scores))
        columns = (scores, numbers, swaps, self.ends.searchsorted(numbers, side="right"))
        chosen: list[tuple[int, bool]] = []
        taken: Counter[int] = Counter()
        for score, number, swapped, family in zip(*(column[order].tolist() for column in columns), strict=True):
            if len(chosen) == keep or not math.isfinite(score):
                break
            if taken[family] < _MOST_OF_A_FAMILY:
                taken[family] += 1
                chosen.append((number, swapped))
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


def _top(rough: NDArray[np.float64], low: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The events to score exactly: the best by the rough bound, and the best of those it is unfair to (few hits)."""
    few = np.flatnonzero(low <= 5)
    best, best_of_few = _first(rough, _EXACTLY_SCORED), few[_first(rough[few], _EXACTLY_SCORED)]
    return np.union1d(_few_of_each(best, rough, ends), _few_of_each(best_of_few, rough, ends))


def _few_of_each(
    numbers: NDArray[np.int64], scores: NDArray[np.float64], ends: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Those of the events that are among the best of their family, twice as many as can be chosen in the end."""
    families = ends.searchsorted(numbers, side="right")
    order = np.lexsort((-scores[numbers], families))
    ordered = families[order]
    return numbers[order[np.arange(len(order)) - ordered.searchsorted(ordered) < 2 * _MOST_OF_A_FAMILY]]


def _first(scores: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Where the largest scores are, in no order."""
    return np.arange(len(scores)) if len(scores) <= count else np.argpartition(-scores, count)[:count]
