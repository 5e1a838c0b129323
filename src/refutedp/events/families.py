"""The search space: families of events that the outputs of a pair allow, each with its hits on both sides.

The paper's five cases come out of the features: categories and counts of lists of categories, lengths when they vary,
intervals of coordinates, mean, min and max for numbers, and products of the two for mixed outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from refutedp.events.edges import edges_of, repeated_numbers
from refutedp.events.features.basic import Scalar, Value
from refutedp.events.features.offered import Feature, features_for
from refutedp.events.numbers import Hits
from refutedp.events.predicates import Among, Both, Equals, Event, Exactly, Interval, paths_of
from refutedp.events.sides import Sides
from refutedp.events.tables import NumberTable, Signature, ValueTable, signature, tabulate
from refutedp.model.outputs import CATEGORICAL, NUMERIC, Group, Outputs, Shape

MOST_VALUES = 2048
"""Distinct values of a categorical or integer feature that are looked at one by one."""
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
class Family:
    """Events with their hits on either side; `tries` is how many independent choices the family amounts to."""

    x: Hits
    y: Hits
    tries: int
    build: Callable[[int], Event]


def families(
    first: Outputs,
    second: Outputs,
    references: Sequence[tuple[Scalar, ...]] = (),
    *,
    subtle: Sequence[Feature] = (),
    landmarks: Sequence[float] = (),
) -> Iterator[Family]:
    """Every family for the outputs of one pair.

    `references` are noise-free outputs, `subtle` the costly features to look at besides, and `landmarks` the numbers
    in the inputs, which a mechanism may let through.
    """
    groups = [*first.groups, *second.groups]
    features = list(dict.fromkeys((*features_for(groups, references), *subtle)))
    sides = Sides(first, second)
    tables = {f: tabulate(sides, sides.parts(f), most_values=MOST_VALUES) for f in features}
    for feature, table in tables.items():
        yield from _of_feature(feature, table)
        if isinstance(feature, Value) and isinstance(table, NumberTable):
            yield from _equal_to(feature, table, np.array(landmarks, dtype=np.float64))
    yield from _whole_outputs(first, second)
    if _mixed(groups):
        cases = [(f, t) for f, t in tables.items() if isinstance(t, ValueTable)]
        numbers = {f: t for f, t in tables.items() if isinstance(t, NumberTable) and f not in subtle}
        yield from _products(sides, cases, numbers)


def families_of(first: Outputs, second: Outputs, features: Sequence[Feature]) -> Iterator[Family]:
    """The families of these features alone."""
    sides = Sides(first, second)
    for feature in features:
        yield from _of_feature(feature, tabulate(sides, sides.parts(feature), most_values=MOST_VALUES))


def _of_feature(feature: Feature, table: ValueTable | NumberTable | None) -> Iterator[Family]:
    if isinstance(table, NumberTable):
        yield from _intervals(feature, table)
    elif isinstance(table, ValueTable) and len(table.values) > 1:
        values = table.values
        yield Family(table.x, table.y, len(values), lambda i: Equals(feature, values[i]))
        if (
            all(isinstance(v, int) and not isinstance(v, bool) and abs(v) < LARGEST for v in values)
            and len(values) > 2
        ):
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


def _equal_to(feature: Feature, table: NumberTable, values: NDArray[np.float64]) -> Iterator[Family]:
    """Exactly one of these numbers."""
    if len(values):
        x, y = table.x.equal_to(values), table.y.equal_to(values)
        yield Family(x, y, len(values), lambda i: Equals(feature, float(values[i])))


def _between(feature: Feature, edges: NDArray[np.float64], table: NumberTable) -> Iterator[Family]:
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


LONGEST_WHOLE = 256
"""Outputs of more leaves are not compared as a whole: nobody could read such an event."""


def _whole_outputs(first: Outputs, second: Outputs) -> Iterator[Family]:
    """Each whole output of several leaves, where outputs repeat."""
    hits: dict[tuple[Shape, tuple[Scalar, ...]], list[int]] = {}
    for side, outputs in enumerate((first, second)):
        for group in outputs.groups:
            if group.weights is None or "float" in group.shape.kinds or not 2 <= len(group.columns) <= LONGEST_WHOLE:
                continue
            rows = zip(*(_leaves(group, j) for j in range(len(group.columns))), strict=True)
            for leaves, weight in zip(rows, group.weights.tolist(), strict=True):
                hits.setdefault((group.shape, leaves), [0, 0])[side] += weight
    if hits:
        keys = list(hits)
        table = np.array([hits[key] for key in keys], dtype=np.int64)

        def build(i: int) -> Event:
            shape, leaves = keys[i]
            return Exactly(shape.label, leaves, paths_of(shape))

        yield Family(table[:, 0], table[:, 1], len(keys), build)


def _leaves(group: Group, leaf: int) -> list[Scalar]:
    if group.shape.kinds[leaf] == "none":
        return [None] * group.rows
    return group.columns[leaf].tolist()  # type: ignore[no-any-return]


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
    seen: set[Signature] = {table.signature for table in numbers.values()}
    for case in [distinct[hits] for hits in frequent if sum(hits) >= LEAST_CASE][:MOST_CASES]:
        kept = sides.where(case.of, case.value)
        for number, whole in numbers.items():
            # A case that leaves all of a feature's numbers, or none, adds nothing.
            if not sides.has_numbers(number, kept):
                continue
            if sides.covered(number, kept) in ((0, 0), (len(whole.x), len(whole.y))):
                continue
            parts = sides.parts(number, kept)
            # Most products single out what was seen before: that shows before the numbers are sorted.
            if signature(sides, parts) in seen:
                continue
            inner = tabulate(sides, parts, most_values=MOST_VALUES)
            if isinstance(inner, NumberTable) and inner.signature not in seen:
                seen.add(inner.signature)
                for family in _intervals(number, inner):
                    yield Family(family.x, family.y, family.tries, _both(case, family.build))


def _both(case: Equals, build: Callable[[int], Event]) -> Callable[[int], Event]:
    def product(i: int) -> Event:
        inner = build(i)
        return inner if isinstance(inner, Both) else Both(case, inner)

    return product
