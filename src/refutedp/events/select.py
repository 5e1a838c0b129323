"""Pick the event that best shows a violation, without falling for luck among thousands of them.

The best-looking of many events is often luck: its rates look further apart than they are. Every event is therefore
scored by a lower bound at a level divided by the number of choices tried (the "winner's curse" of the design). Rare
events pay for their uncertainty by themselves, so no fixed rarity rule is needed; the paper's is a setting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refutedp.events.features import Scalar
from refutedp.events.predicates import Among, Both, Equals, Event, Exactly, Interval
from refutedp.events.space import Family, families
from refutedp.outputs import Outputs
from refutedp.records import Scorer

_EXACTLY_SCORED = 192
_NEAR = 0.01


@dataclass(frozen=True, slots=True)
class Scored:
    """An event with its search hits: `x` on the side where it is likelier, d1 unless `swapped`."""

    event: Event
    x: int
    y: int
    swapped: bool
    score: float


@dataclass(frozen=True, slots=True)
class Search:
    """The best events of one pair, best first, and how many were looked at."""

    best: tuple[Scored, ...]
    events: int


def search_events(
    first: Outputs,
    second: Outputs,
    references: list[tuple[Scalar, ...]],
    *,
    scorer: Scorer,
    significance: float,
    pairs: int,
    least_hits: float = 0.0,
    keep: int = 8,
) -> Search:
    """The best events for the outputs of one pair of `pairs`; `least_hits` is the paper's rarity rule."""
    found = list(families(first, second, references))
    if not found:
        return Search((), 0)
    x = np.concatenate([family.x for family in found])
    y = np.concatenate([family.y for family in found])
    tries = pairs * sum(family.tries for family in found)
    level = significance / tries
    ends = np.cumsum([len(family.x) for family in found])
    chosen: list[Scored] = []
    for swapped, (high, low) in ((False, (x, y)), (True, (y, x))):
        rough = scorer.rough(high, low, level)
        rough[(high + low) < max(least_hits, 1)] = -np.inf
        picked = _top(rough, low)
        exact = scorer.exact(high[picked], low[picked], level)
        exact[~np.isfinite(rough[picked])] = -np.inf
        best = np.argsort(-exact, kind="stable")[: 4 * keep]
        for i in best:
            if not math.isfinite(exact[i]):
                continue
            index = int(picked[i])
            chosen.append(
                Scored(_build(found, ends, index), int(high[index]), int(low[index]), swapped, float(exact[i]))
            )
    chosen.sort(key=lambda s: -s.score)
    return Search(tuple(simplest_first(chosen)[:keep]), len(x))


def simplest_first(chosen: list[Scored]) -> list[Scored]:
    """The same events, with the simplest of those within a hundredth of the best in front."""
    if not chosen:
        return chosen
    reach = chosen[0].score - _NEAR * abs(chosen[0].score)
    near = [s for s in chosen if s.score >= reach]
    near.sort(key=lambda s: (complexity(s.event), -s.score))
    return near + chosen[len(near) :]


def complexity(event: Event) -> int:
    """How much a reader has to keep in mind."""
    match event:
        case Equals():
            return 0
        case Interval(low=low, high=high):
            return 0 if low is None or high is None else 1
        case Exactly(leaves=leaves):
            return 1 + len(leaves) // 4
        case Among(values=values):
            return 1 + len(values)
        case Both(first=one, second=other):
            return 1 + complexity(one) + complexity(other)


def _build(found: list[Family], ends: NDArray[np.int64], index: int) -> Event:
    number = int(np.searchsorted(ends, index, side="right"))
    start = int(ends[number - 1]) if number else 0
    return found[number].build(index - start)


def _top(rough: NDArray[np.float64], low: NDArray[np.int64]) -> NDArray[np.int64]:
    """The events to score exactly: the best by the rough bound, and the best of those it is unfair to (few hits)."""
    if len(rough) <= 2 * _EXACTLY_SCORED:
        return np.arange(len(rough))
    best = np.argpartition(-rough, _EXACTLY_SCORED)[:_EXACTLY_SCORED]
    few = np.flatnonzero(low <= 5)
    if len(few) > _EXACTLY_SCORED:
        few = few[np.argpartition(-rough[few], _EXACTLY_SCORED)[:_EXACTLY_SCORED]]
    return np.union1d(best, few)
