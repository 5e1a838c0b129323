"""Learns events from one part of the runs of a pair and picks their thresholds on the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from refutedp.events.features.sums import WeightedSum
from refutedp.events.learned.conditions import Floats, Hits, encoded
from refutedp.events.learned.conjunctions import conjunctions, odd
from refutedp.events.learned.models import SHORT, count_of, counted, mean_differences, weighed, weighted_sum
from refutedp.events.learned.split import halves
from refutedp.events.predicates import Event, Feature, Interval
from refutedp.events.ranking import OPTIMISTIC, Scored, search_given
from refutedp.events.screen import several_may_tell
from refutedp.events.whole import WholeOutputs, few_outputs
from refutedp.model.outputs import Outputs
from refutedp.model.records import Scorer

MORE = 1.01
"""How many times the score of single coordinates a learned event must reach on the runs that taught it."""
MOST_COUNTS = 2
MOST_JUDGED = 4
"""Features that are judged, of which at most so many are counts."""
MOST_CONJUNCTIONS = 3
NEARLY = 0.9
"""The part of the best promise from which a sum of few terms is judged, too."""
BINS = 400
"""Thresholds at which the promise of a score is looked at."""
FEW_OUTPUTS = 64
"""Outputs in groups of so many rows have the best of their sets looked at first: learning finds no better ones."""
CELLS = 6_000_000
"""Runs times leaves from which is learned: what bounds time and memory for long outputs."""


def learned_events(
    first: Outputs,
    second: Outputs,
    best: Sequence[Scored],
    *,
    scorer_on: Callable[[int], Scorer],
    significance: float,
    seed: np.random.SeedSequence,
) -> list[Scored]:
    """Events that several coordinates show together, where they show more than the `best` ones of single coordinates.

    One part of the runs teaches, the other chooses thresholds and scores; its hits are given as those of all runs.
    """
    leaves = max((len(group.columns) for outputs in (first, second) for group in outputs.groups), default=0)
    if leaves < 2 or not several_may_tell(first, second):
        return []
    every = few_outputs(first, second, FEW_OUTPUTS)
    if every is not None and not _leave_room(every, scorer_on(first.size), best):
        return []
    rng = np.random.default_rng(seed)
    most = max(CELLS // leaves, 500)
    (taught, judged), (taught_2, judged_2) = halves(first, rng, most), halves(second, rng, most)
    if min(taught.size, taught_2.size) < 50:
        return []
    lesson = _Lesson(taught, taught_2, scorer_on(taught.size), best, taught.size / first.size)
    features, events = lesson.features(), lesson.conjunctions()
    if not features and not events:
        return []
    found = search_given(
        judged,
        judged_2,
        features,
        events,
        scorer=scorer_on(judged.size),
        significance=significance,
    )
    return [_of_all_runs(one, first.size / judged.size, second.size / judged_2.size) for one in found]


def _leave_room(every: WholeOutputs, scorer: Scorer, best: Sequence[Scored]) -> bool:
    """Whether any set of outputs promises more than the `best` events: no set does more than the likeliest ones."""
    order = np.argsort((every.y + 0.5) / (every.x + 0.5), kind="stable")
    x, y = (np.concatenate([hits[order].cumsum(), hits[order[::-1]].cumsum()]) for hits in (every.x, every.y))
    promise = scorer.optimistic_score(np.concatenate([x, y]), np.concatenate([y, x]), OPTIMISTIC).max()
    return bool(promise > _least(best, scorer))


def _least(best: Sequence[Scored], scorer: Scorer, part: float = 1.0) -> float:
    """What an event must promise to be judged, on such a part of the runs that the best events were scored on."""
    hits = np.rint(np.array([[one.x, one.y] for one in best], dtype=np.float64).reshape(-1, 2) * part)
    x, y = hits.astype(np.int64).T
    top = float(scorer.optimistic_score(x, y, OPTIMISTIC).max(initial=-np.inf))
    return top * MORE if top > 0 else 0.0


def _of_all_runs(one: Scored, first: float, second: float) -> Scored:
    """As many hits for all runs of either side, so many times those that judged."""
    x, y = (second, first) if one.swapped else (first, second)
    return replace(one, x=round(one.x * x), y=round(one.y * y))


class _Lesson:
    """What the runs that teach say."""

    def __init__(self, first: Outputs, second: Outputs, scorer: Scorer, best: Sequence[Scored], part: float) -> None:
        self.first, self.second = first, second
        self.scorer = scorer
        self.conditions = encoded(first, second)
        self.least = _least(best, scorer, part)

    def features(self) -> list[Feature]:
        """Counts and weighted sums that promise more than single coordinates."""
        conditions = self.conditions
        found: list[tuple[float, WeightedSum]] = []
        if len(conditions.factors) > 1:
            counts = [(self._promise(*self._count(places)), places) for places in counted(conditions)]
            counts.sort(key=lambda one: -one[0])
            counts = [*counts[:MOST_COUNTS], *[one for one in counts if len(one[1]) <= SHORT][:1]]
            found += [(value, count_of(conditions, places)) for value, places in counts]
            chosen, weights = weighed(conditions)
            if len(chosen) > 1:
                found += self._weighed(chosen, weights)
                largest = np.argsort(-np.abs(weights), kind="stable")[:SHORT]
                found += self._weighed([chosen[place] for place in largest], weights[largest])
            found += [(np.inf, count_of(conditions, places)) for places in odd(conditions)]
        for line in mean_differences(self.first, self.second):
            found.append((self._promise(_column(line, self.first), _column(line, self.second)), line))
        good = sorted((one for one in found if one[0] > self.least), key=lambda one: -one[0])
        most = good[: MOST_JUDGED - 1]
        # What a person can follow comes along if it promises nearly as much.
        short = [one for one in good if len(one[1].terms) <= SHORT and one[0] >= NEARLY * good[0][0]]
        judged: list[Feature] = [feature for _, feature in [*most, *short[:1]]]
        return list(dict.fromkeys(judged))

    def conjunctions(self) -> list[Event]:
        """Conditions that together promise more than single coordinates."""
        if len(self.conditions.factors) < 2:
            return []
        found = conjunctions(self.conditions, self._scores)
        good = sorted((one for one in found if one[0] > self.least), key=lambda one: -one[0])[:MOST_CONJUNCTIONS]
        return [Interval(count_of(self.conditions, places), float(len(places)), None) for _, places in good]

    def _weighed(self, chosen: list[int], weights: Floats) -> list[tuple[float, WeightedSum]]:
        made = weighted_sum(self.conditions, chosen, weights)
        if made is None:
            return []
        x, y = (np.zeros(side.shape[1]) for side in (self.conditions.x, self.conditions.y))
        for place, weight in zip(chosen, weights.tolist(), strict=True):
            x += weight * self.conditions.x[place]
            y += weight * self.conditions.y[place]
        return [(self._promise(x, y), made)]

    def _count(self, places: list[int]) -> tuple[Floats, Floats]:
        some = self.conditions.take(places)
        return some.x.sum(axis=0, dtype=np.float64), some.y.sum(axis=0, dtype=np.float64)

    def _promise(self, x: Floats, y: Floats) -> float:
        """The best that a threshold of this score promises."""
        least, most = min(x.min(), y.min()), max(x.max(), y.max())
        if not most > least:
            return -np.inf
        above = []
        for side in (x, y):
            bins = ((side - least) * (BINS / (most - least))).astype(np.int64)
            above.append(np.bincount(bins, minlength=BINS + 1)[::-1].cumsum()[:-1])
        rest = [len(side) - hits for side, hits in zip((x, y), above, strict=True)]
        hits, others = np.concatenate([*above, *rest]), np.concatenate([*above[::-1], *rest[::-1]])
        return float(self.scorer.optimistic_score(hits, others, OPTIMISTIC).max())

    def _scores(self, x: Hits, y: Hits, tries: int) -> Floats:
        level = np.full(len(x), OPTIMISTIC / max(tries, 1))
        return np.maximum(self.scorer.rough(x, y, level), self.scorer.rough(y, x, level))


def _column(feature: WeightedSum, outputs: Outputs) -> Floats:
    parts = []
    for group in outputs.groups:
        column = np.broadcast_to(np.asarray(feature.column(group), dtype=np.float64), group.rows)
        parts.append(column if group.weights is None else np.repeat(column, group.weights))
    return np.asarray(np.nan_to_num(np.concatenate(parts)))
