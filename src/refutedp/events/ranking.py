"""The search space of a pair, and the event in it that best shows a violation, without falling for chance.

Families of events come from the features of the outputs. The paper's five cases are among them: categories and counts
of lists of categories, lengths when they vary, intervals of coordinates, mean, min and max for numbers, and products
of the two for mixed outputs.

The best-looking of many events often owes that to chance: its rates look more different than they are. Every event is
therefore scored by a lower bound that holds for all of them at once (the "winner's curse"): the level
is divided evenly among the pairs and the families of events, and within a family by its number of choices, so that a
simple event need not pay for the thousands of complicated ones. Rare events pay for their uncertainty by themselves,
so no fixed rarity rule is needed; the paper's is a setting.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from refutedp.events.features.basic import Scalar, Value
from refutedp.events.numbers import Floats, Hits, NumberTable, edges_of, repeated_numbers
from refutedp.events.predicates import Among, Both, Equals, Event, Exactly, Feature, Interval
from refutedp.events.screen import clearest
from refutedp.events.tables import (
    MOST_COORDINATES,
    Sides,
    ValueTable,
    features_for,
    rounding_features,
    subtle_features,
)
from refutedp.events.whole import whole_outputs
from refutedp.model.outputs import CATEGORICAL, NUMERIC, Group, Outputs
from refutedp.model.records import Scorer, count_hits

OPTIMISTIC = 0.02
"""The level of a bound for one event alone, as confirmation will certify it: chance among many is not paid for."""
_EXACTLY_SCORED = 192
_MOST_OF_A_FAMILY = 4
"""Neighbouring intervals are much alike: a few of each family leave room for others."""
MOST_UNION = 64
"""Features with at most this many values also offer unions of values, ranked by likelihood ratio."""
MOST_ENDS = 40
"""Ends of two-sided intervals, of which there are quadratically many: a coarser grid than for one-sided ones."""
LARGEST = 10**300
"""Integers beyond are no ends of intervals, for they are no floats."""
MOST_CASES = 32
"""Categorical events, the most frequent ones, that are combined with numeric events."""
LEAST_CASE = 10
"""Hits on both sides together below which a categorical event is not combined."""


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

    `references` are noise-free outputs, and `landmarks` the numbers in the inputs, which a mechanism may let through;
    `subtle` are costly features to look at besides the others, None for all; `least_hits` is the paper's rarity rule;
    at most `keep` events come with the best scores and `optimists` more with the best optimistic scores.
    """
    groups = [*first.groups, *second.groups]
    looked = subtle_features(groups) if subtle is None else list(subtle)
    features = features_for(groups, references, clearest(first, second, MOST_COORDINATES))
    found = list(_families(first, second, features, looked, np.array(landmarks, dtype=np.float64)))
    chosen = _best(found, scorer, significance / pairs, least_hits, keep, optimists)
    promising = [s.event.of for s in chosen if s.score > 0 and not isinstance(s.event, Exactly | Both)]
    events = sum(len(family.x) for family in found)
    return Search(tuple(chosen), events, tuple(feature for feature in looked if feature in promising))


def search_rounding(
    first: Outputs, second: Outputs, *, scorer: Scorer, significance: float, pairs: int
) -> Scored | None:
    """The best event about the rounding of floats; None when the outputs have no floats."""
    sides, features = Sides(first, second), rounding_features([*first.groups, *second.groups])
    found = [family for feature in features for family in _of_feature(feature, sides.table(sides.parts(feature)))]
    return next(iter(_best(found, scorer, significance / pairs, 0.0, keep=1, optimists=0)), None)


def search_given(
    first: Outputs,
    second: Outputs,
    features: Sequence[Feature],
    events: Sequence[Event],
    *,
    scorer: Scorer,
    significance: float,
    keep: int = 12,
) -> list[Scored]:
    """The best events of these features, and of these events, on runs that did not choose them."""
    sides = Sides(first, second)
    found = [family for feature in features for family in _of_feature(feature, sides.table(sides.parts(feature)))]
    if events:
        hits = np.array([[count_hits(event, outputs) for outputs in (first, second)] for event in events])
        found.append(Family(hits[:, 0], hits[:, 1], len(events), lambda i: events[i]))
    return _best(found, scorer, significance, 0.0, keep, keep)


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
    strict: list[tuple[Floats, Hits, bool]] = []
    alone: list[tuple[Floats, Hits, bool]] = []
    for swapped, (high, low) in ((False, (x, y)), (True, (y, x))):
        rare = (high + low) < max(least_hits, 1)
        rough = scorer.rough(high, low, level)
        rough[rare] = -np.inf
        picked = _top(rough, low, ends)
        exact = scorer.exact(high[picked], low[picked], level[picked])
        exact[~np.isfinite(rough[picked])] = -np.inf
        strict.append((exact, picked, swapped))
        if optimists:
            optimistic = scorer.optimistic_score(high, low, OPTIMISTIC)
            optimistic[rare] = -np.inf
            ahead = _first(optimistic, _EXACTLY_SCORED)
            alone.append((optimistic[ahead], ahead, swapped))
    rows = list(
        dict.fromkeys([*_leaders(strict, ends, keep), *(_leaders(alone, ends, optimists) if optimists else ())])
    )
    numbers = np.array([number for number, _ in rows], dtype=np.int64)
    swaps = np.array([swapped for _, swapped in rows], dtype=bool)
    high, low = np.where(swaps, y[numbers], x[numbers]), np.where(swaps, x[numbers], y[numbers])
    scores = scorer.exact(high, low, level[numbers]), scorer.optimistic_score(high, low, OPTIMISTIC)
    chosen = []
    for (number, swapped), *row in zip(rows, *(column.tolist() for column in (high, low, *scores)), strict=True):
        family = int(ends.searchsorted(number, side="right"))
        event = found[family].build(number - (ends[family] - sizes[family]))
        chosen.append(Scored(event, row[0], row[1], swapped, row[2], row[3]))
    return chosen


def _leaders(entered: list[tuple[Floats, Hits, bool]], ends: Hits, keep: int) -> list[tuple[int, bool]]:
    """The best events by number and direction, few of one family, at most `keep`; families stop at `ends`."""
    scores = np.concatenate([scores for scores, _, _ in entered])
    numbers = np.concatenate([numbers for _, numbers, _ in entered])
    swaps = np.concatenate([np.full(len(numbers), swapped) for _, numbers, swapped in entered])
    order = np.lexsort((numbers, -scores))
    columns = (scores, numbers, swaps, ends.searchsorted(numbers, side="right"))
    chosen: list[tuple[int, bool]] = []
    taken: Counter[int] = Counter()
    for score, number, swapped, family in zip(*(column[order].tolist() for column in columns), strict=True):
        if len(chosen) == keep or not math.isfinite(score):
            break
        if taken[family] < _MOST_OF_A_FAMILY:
            taken[family] += 1
            chosen.append((number, swapped))
    return chosen


def _top(rough: Floats, low: Hits, ends: Hits) -> Hits:
    """The events to score exactly: the best by the rough bound, and the best of those it is unfair to (few hits)."""
    few = np.flatnonzero(low <= 5)
    best, best_of_few = _first(rough, _EXACTLY_SCORED), few[_first(rough[few], _EXACTLY_SCORED)]
    return np.union1d(_few_of_each(best, rough, ends), _few_of_each(best_of_few, rough, ends))


def _few_of_each(numbers: Hits, scores: Floats, ends: Hits) -> Hits:
    """Those of the events that are among the best of their family, twice as many as can be chosen in the end."""
    families = ends.searchsorted(numbers, side="right")
    order = np.lexsort((-scores[numbers], families))
    ordered = families[order]
    return numbers[order[np.arange(len(order)) - ordered.searchsorted(ordered) < 2 * _MOST_OF_A_FAMILY]]


def _first(scores: Floats, count: int) -> Hits:
    """Where the largest scores are, in no order."""
    return np.arange(len(scores)) if len(scores) <= count else np.argpartition(-scores, count)[:count]


@dataclass(frozen=True, slots=True)
class Family:
    """Events with their hits on either side; `tries` is how many independent choices the family amounts to."""

    x: Hits
    y: Hits
    tries: int
    build: Callable[[int], Event]


def _families(
    first: Outputs, second: Outputs, features: list[Feature], subtle: list[Feature], landmarks: Floats
) -> Iterator[Family]:
    """Every family of these features; `subtle` ones are in no products."""
    groups = [*first.groups, *second.groups]
    sides = Sides(first, second)
    tables = {feature: sides.table(sides.parts(feature)) for feature in (*features, *subtle)}
    for feature, table in tables.items():
        yield from _of_feature(feature, table)
        if isinstance(feature, Value) and isinstance(table, NumberTable):
            yield from _equal_to(feature, table, landmarks)
    if (whole := whole_outputs(first, second)) is not None:
        yield Family(whole.x, whole.y, whole.seen, whole.event)
    if _mixed(groups):
        cases = [(f, t) for f, t in tables.items() if isinstance(t, ValueTable)]
        numbers = {f: t for f, t in tables.items() if isinstance(t, NumberTable) and f not in subtle}
        yield from _products(sides, cases, numbers)


def _of_feature(feature: Feature, table: ValueTable | NumberTable | None) -> Iterator[Family]:
    if isinstance(table, NumberTable):
        yield from _intervals(feature, table)
    elif isinstance(table, ValueTable) and len(table.values) > 1:
        values = table.values
        yield Family(table.x, table.y, len(values), lambda i: Equals(feature, values[i]))
        whole = all(isinstance(v, int) and not isinstance(v, bool) and abs(v) < LARGEST for v in values)
        if whole and len(values) > 2:
            yield _integer_intervals(feature, table)
        if 2 < len(values) <= MOST_UNION:
            yield from _unions(feature, table)


def _intervals(feature: Feature, table: NumberTable) -> Iterator[Family]:
    sharp, repeated = repeated_numbers(table)
    edges = edges_of(table, sharp)
    if len(edges):
        yield from _between(feature, edges, table)
    yield from _equal_to(feature, table, repeated)
    if not table.complete:
        x, y = np.array([len(table.x)]), np.array([len(table.y)])
        yield Family(x, y, 1, lambda i: Interval(feature, None, None))


def _equal_to(feature: Feature, table: NumberTable, values: Floats) -> Iterator[Family]:
    """Exactly one of these numbers."""
    if len(values):
        x, y = table.x.equal_to(values), table.y.equal_to(values)
        yield Family(x, y, len(values), lambda i: Equals(feature, float(values[i])))


def _between(feature: Feature, edges: Floats, table: NumberTable) -> Iterator[Family]:
    """All [low, high) with ends among the edges; those with one end and those with two are separate families.

    There are far more of the latter, so chance has an easier game there, and they must show more.
    """
    below_x, below_y = table.x.below(edges), table.y.below(edges)
    count, others = len(edges), not table.complete

    def one_sided(i: int) -> Event:
        end = float(edges[i % count])
        return Interval(feature, None, end, others) if i < count else Interval(feature, end, None, others)

    x = np.concatenate([below_x, len(table.x) - below_x])
    y = np.concatenate([below_y, len(table.y) - below_y])
    yield Family(x, y, count, one_sided)
    low, high = _two_ends(count)

    def two_sided(i: int) -> Event:
        return Interval(feature, float(edges[low[i]]), float(edges[high[i]]), others)

    if len(low):
        yield Family(below_x[high] - below_x[low], below_y[high] - below_y[low], len(low), two_sided)


@lru_cache(maxsize=64)
def _two_ends(count: int) -> tuple[Hits, Hits]:
    """All pairs low < high on a coarse grid of `count` edges."""
    coarse = np.arange(0, count, max(1, count // MOST_ENDS))
    low, high = np.triu_indices(len(coarse), 1)
    return coarse[low], coarse[high]


def _integer_intervals(feature: Feature, table: ValueTable) -> Family:
    """At least k and below k, for every integer value k seen but the first."""
    values = table.values[1:]
    above_x, above_y = table.x[::-1].cumsum()[::-1][1:], table.y[::-1].cumsum()[::-1][1:]
    count = len(values)

    def build(i: int) -> Event:
        edge = float(values[i % count])  # type: ignore[arg-type]
        return Interval(feature, edge, None) if i < count else Interval(feature, None, edge)

    below_x, below_y = table.x.sum() - above_x, table.y.sum() - above_y
    return Family(np.concatenate([above_x, below_x]), np.concatenate([above_y, below_y]), count, build)


def _unions(feature: Feature, table: ValueTable) -> Iterator[Family]:
    """Unions of the values likeliest on one side: no other sets of values distinguish the sides better."""
    order = np.argsort((table.y + 0.5) / (table.x + 0.5), kind="stable")
    for ranked in (order, order[::-1]):
        picked = ranked[: len(ranked) - 1]

        def build(i: int, ranked: Hits = ranked) -> Event:
            chosen = sorted(ranked[: i + 1].tolist())
            return Among(feature, tuple(table.values[j] for j in chosen))

        # The order itself is chosen on these runs: any of the sets of values might have come out.
        yield Family(table.x[picked].cumsum(), table.y[picked].cumsum(), 2 ** min(len(ranked), 24), build)


def _mixed(groups: list[Group]) -> bool:
    """Whether some outputs hold both categories and numbers, or come in several forms with numbers in them."""
    kinds = [set(group.shape.kinds) for group in groups]
    both = any(k & CATEGORICAL and k & NUMERIC for k in kinds)
    return both or (len({group.shape for group in groups}) > 1 and any(k & NUMERIC for k in kinds))


def _products(
    sides: Sides, cases: list[tuple[Feature, ValueTable]], numbers: dict[Feature, NumberTable]
) -> Iterator[Family]:
    """A value of a categorical feature and an interval of a numeric one, at the same time.

    Products that single out the same outputs as something simpler are left out: `len(output) = 3 and output[-1] < 2`
    says no more than `output[2] < 2` where lists end with their first number.
    """
    distinct: dict[tuple[int, int], Equals] = {}
    for feature, table in cases:
        for i in np.argsort(-(table.x + table.y), kind="stable")[:MOST_CASES]:
            distinct.setdefault((int(table.x[i]), int(table.y[i])), Equals(feature, table.values[i]))
    frequent = sorted(distinct, key=lambda hits: -sum(hits))
    seen = {table.signature for table in numbers.values()}
    for case in [distinct[hits] for hits in frequent if sum(hits) >= LEAST_CASE][:MOST_CASES]:
        kept = sides.where(case.of, case.value)
        for number, whole in numbers.items():
            parts = sides.parts(number, kept)
            # A case that leaves all of a feature's numbers, or none, adds nothing.
            if parts.runs in ((0, 0), (len(whole.x), len(whole.y))):
                continue
            inner = sides.table(parts)
            if isinstance(inner, NumberTable) and inner.signature not in seen:
                seen.add(inner.signature)
                for family in _intervals(number, inner):
                    yield replace(family, build=_both(case, family.build))


def _both(case: Equals, build: Callable[[int], Event]) -> Callable[[int], Event]:
    def product(i: int) -> Event:
        inner = build(i)
        return inner if isinstance(inner, Both) else Both(case, inner)

    return product
