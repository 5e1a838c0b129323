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

import numpy as np
from numpy.typing import NDArray

from refutedp.events.catalogue import Feature, rounding_features, subtle_features
from refutedp.events.features import Hamming, Scalar
from refutedp.events.leaks import LastDigit, Magnitude, Residue
from refutedp.events.predicates import Among, Both, Equals, Event, Exactly, Interval
from refutedp.events.space import Family, families, families_of
from refutedp.outputs import Outputs
from refutedp.records import Scorer

_EXACTLY_SCORED = 192
_MOST_OF_A_FAMILY = 4
"""Neighbouring intervals are much alike: a few of each family leave room for others."""


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
    """The best events of one pair, best first; how many were looked at; the subtle features that showed something."""

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
    """The best events of the families, best first, a few of each family."""
    if not found:
        return []
    x = np.concatenate([family.x for family in found])
    y = np.concatenate([family.y for family in found])
    sizes = np.array([len(family.x) for family in found])
    ends = np.cumsum(sizes)
    share = significance / len(found)
    level = np.repeat([share / family.tries for family in found], sizes)
    scores, numbers, turned = [], [], []
    for swapped, (high, low) in ((False, (x, y)), (True, (y, x))):
        rough = scorer.rough(high, low, level)
        rough[(high + low) < max(least_hits, 1)] = -np.inf
        picked = _top(rough, low)
        exact = scorer.exact(high[picked], low[picked], level[picked])
        exact[~np.isfinite(rough[picked])] = -np.inf
        scores.append(exact)
        numbers.append(picked)
        turned.append(np.full(len(picked), swapped))
    score_of, number_of, swapped_of = np.concatenate(scores), np.concatenate(numbers), np.concatenate(turned)
    order = np.lexsort((number_of, -score_of))
    family_of = ends.searchsorted(number_of, side="right")
    ranked = zip(*(column[order].tolist() for column in (score_of, number_of, swapped_of, family_of)), strict=True)
    chosen: list[Scored] = []
    taken: Counter[int] = Counter()
    for score, index, swapped, family in ranked:
        if len(chosen) == keep or not math.isfinite(score):
            break
        if taken[family] < _MOST_OF_A_FAMILY:
            taken[family] += 1
            hits = (int(y[index]), int(x[index])) if swapped else (int(x[index]), int(y[index]))
            start = int(ends[family - 1]) if family else 0
            chosen.append(Scored(found[family].build(index - start), *hits, swapped, score))
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
    return 2 if isinstance(feature, Magnitude | LastDigit | Residue | Hamming) else 0


def _top(rough: NDArray[np.float64], low: NDArray[np.int64]) -> NDArray[np.int64]:
    """The events to score exactly: the best by the rough bound, and the best of those it is unfair to (few hits)."""
    if len(rough) <= 2 * _EXACTLY_SCORED:
        return np.arange(len(rough))
    best = np.argpartition(-rough, _EXACTLY_SCORED)[:_EXACTLY_SCORED]
    few = np.flatnonzero(low <= 5)
    if len(few) > _EXACTLY_SCORED:
        few = few[np.argpartition(-rough[few], _EXACTLY_SCORED)[:_EXACTLY_SCORED]]
    return np.union1d(best, few)
