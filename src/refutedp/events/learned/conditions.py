"""Outputs as a table of conditions that hold or do not: each number cut where the two inputs differ most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.events.features import basic
from refutedp.events.features.basic import Scalar, as_floats
from refutedp.events.features.leaks import Difference
from refutedp.events.features.sums import Factor, Summand
from refutedp.model.outputs import CATEGORICAL, NUMERIC, Array, Group, Outputs, Path, step_order

Bits: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Hits: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]
Column: TypeAlias = list[tuple[Array | Scalar, Group]]
"""A feature in each group of the outputs on one input; None where a group does not have it."""

MOST_CUT_ROWS = 8_000
"""Rows a side on which a number is cut."""
FEW_VALUES = 12
"""Distinct values of a feature that are each a condition."""
LEAST_PART = 200
"""At least one in so many numbers lies on either side of a cut."""
MOST_FEATURES = 400
"""Features that are cut; of more leaves, those that move most."""
NEARLY = 0.98
"""A cut may be rounded as long as it tells the inputs apart nearly as well."""


@dataclass(frozen=True)
class Conditions:
    """In which runs on either side each condition holds: a row for each condition, a column for each run."""

    factors: tuple[Factor, ...]
    x: Bits
    y: Bits

    def take(self, places: Sequence[int]) -> Conditions:
        """Some of them."""
        chosen = list(places)
        return Conditions(tuple(self.factors[place] for place in chosen), self.x[chosen], self.y[chosen])

    @cached_property
    def hits(self) -> tuple[Hits, Hits]:
        """In how many runs each condition holds."""
        return _row_sums(self.x), _row_sums(self.y)

    @cached_property
    def words(self) -> tuple[Words, Words]:
        """The same tables, 64 runs a number: conjunctions of conditions are counted fast so."""
        return packed(self.x), packed(self.y)

    @cached_property
    def lead(self) -> Floats:
        """By how many standard deviations of one run the rates differ: positive where d1 has more."""
        p1, p2 = self.hits[0] / self.x.shape[1], self.hits[1] / self.y.shape[1]
        middle = (p1 + p2) / 2
        return np.asarray((p1 - p2) / np.sqrt(np.maximum(middle * (1 - middle), 1e-9)))

    def one_a_feature(self, order: Iterable[int]) -> list[int]:
        """Of the conditions in this order, the first one about each feature."""
        first: dict[Summand, int] = {}
        for place in order:
            first.setdefault(self.factors[place].of, place)
        return list(first.values())


def encoded(first: Outputs, second: Outputs) -> Conditions:
    """The conditions that these outputs offer, and where they hold.

    >>> from refutedp.sampling.encode import encode
    >>> made = encoded(encode([[True, 1.0], [True, 2.0]]), encode([[False, 1.5], [True, 1.5]]))
    >>> [str(factor) for factor in made.factors][:2], made.hits[0].tolist()[:2], made.hits[1].tolist()[:2]
    (['output[0] = True', 'output[0] = False'], [2, 0], [1, 1])
    """
    kept: dict[bytes, tuple[Factor, Bits, Bits]] = {}
    for feature in summands([*first.groups, *second.groups]):
        sides = _values(feature, first), _values(feature, second)
        for factor in dict.fromkeys(_conditions(feature, *sides)):
            x, y = (_holds(factor, side) for side in sides)
            if 0 < np.count_nonzero(x) + np.count_nonzero(y) < len(x) + len(y):
                # Of conditions that always hold together, one is enough.
                kept.setdefault(np.packbits(x).tobytes() + np.packbits(y).tobytes(), (factor, x, y))
    x, y = (
        np.array([one[1 + side] for one in kept.values()], dtype=np.bool_).reshape(-1, outputs.size)
        for side, outputs in enumerate((first, second))
    )
    return Conditions(tuple(one[0] for one in kept.values()), x, y)


def summands(groups: Sequence[Group]) -> list[Summand]:
    """What conditions may be about: leaves, lengths, types, keys, and differences of neighbouring numbers."""
    shapes = {group.shape for group in groups}
    found: list[Summand] = []
    if len({(shape.label, shape.error) for shape in shapes}) > 1:
        found.append(basic.Type())
    if len({shape.length for shape in shapes}) > 1:
        found.append(basic.Length())
    kinds: dict[Path, set[str]] = {}
    for shape in shapes:
        for path, kind in zip(shape.paths, shape.kinds, strict=True):
            kinds.setdefault(path, set()).add(kind)
    paths = sorted(kinds, key=lambda path: tuple(map(step_order, path)))
    found += [basic.Kind(path) for path in paths if len(kinds[path]) > 1]
    keys = {path[0] for shape in shapes if not shape.is_sequence for path in shape.paths if path}
    if len(shapes) > 1:
        found += [basic.Has(key) for key in sorted(keys, key=step_order)]
    if len({shape.length for shape in shapes}) > 1:
        found.append(basic.Last())
    found += [basic.Value(path) for path in paths]
    numbers = [path for path in paths if kinds[path] & NUMERIC and not kinds[path] & (CATEGORICAL - {"none"})]
    found += [Difference(right, left) for left, right in pairwise(numbers) if left[:-1] == right[:-1]]
    return found[:MOST_FEATURES]


def _conditions(feature: Summand, *sides: Column) -> Iterable[Factor]:
    """Each value of a feature with few of them; above and below the cut, where it is a number."""
    values: dict[tuple[type, Scalar], None] = {}
    found: list[Factor] = []
    for column, _ in chain(*sides):
        if column is None:
            continue
        if isinstance(column, np.ndarray) and column.dtype == np.float64:
            break
        distinct = np.unique(column).tolist() if isinstance(column, np.ndarray) else [column]
        values.update(((type(value), value), None) for value in distinct)
        if len(values) > FEW_VALUES:
            break
    else:
        found += [Factor(feature, equals=value) for _, value in values]
        if len(found) < 3 or any(kind is not int for kind, _ in values):
            return found
    cuts = _cuts(*(_numbers(side) for side in sides))
    return [*found, *(factor for cut in cuts for factor in (Factor(feature, low=cut), Factor(feature, high=cut)))]


def _values(feature: Summand, outputs: Outputs) -> Column:
    return [(feature.column(group), group) for group in outputs.groups]


def _numbers(side: Column) -> tuple[Floats, Floats]:
    """Numbers and how many runs each stands for."""
    numbers, weights = [np.empty(0)], [np.empty(0)]
    step = -(-max(sum(group.rows for column, group in side if column is not None), 1) // MOST_CUT_ROWS)
    for column, group in side:
        if isinstance(column, np.ndarray) and column.dtype != np.bool_:
            numbers.append(as_floats(column[::step]))
            runs = np.ones(group.rows) if group.weights is None else group.weights.astype(np.float64)
            weights.append(runs[::step])
        elif isinstance(column, (int, float)) and not isinstance(column, bool):
            numbers.append(np.array([float(column)]))
            weights.append(np.array([group.size / step]))
    joined, weight = np.concatenate(numbers), np.concatenate(weights)
    kept = np.isfinite(joined)
    return joined[kept], weight[kept]


def _cuts(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> list[float]:
    """Where the parts of the runs below differ most, and where they do for their size in either tail."""
    (a, wa), (b, wb) = one, other
    if not len(a) or not len(b):
        return []
    numbers = np.concatenate([a, b])
    order = np.argsort(numbers, kind="stable")
    numbers = numbers[order]
    below_a, below_b = (
        np.append(0.0, np.cumsum(np.concatenate(weights)[order]))
        for weights in ((wa / wa.sum(), np.zeros(len(b))), (np.zeros(len(a)), wb / wb.sum()))
    )
    # A cut lies between distinct numbers, and leaves some on either side.
    ends = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    few = max(len(numbers) // LEAST_PART, 1)
    ends = ends[(ends >= few) & (ends <= len(numbers) - few)]
    if not len(ends):
        return []
    apart, part = np.abs(below_a - below_b), (below_a + below_b) / 2
    if apart[ends].max() < 1e-9:
        return [_short(numbers, apart, int(ends[len(ends) // 2]))]
    clear = [apart, apart / np.sqrt(part + 1e-9), apart / np.sqrt(1 - part + 1e-9)]
    return list(dict.fromkeys(_short(numbers, one, int(ends[np.argmax(one[ends])])) for one in clear))


def _short(numbers: Floats, clear: Floats, place: int) -> float:
    """A cut before the number at this place, or one with fewer digits that tells nearly as much."""
    middle = (float(numbers[place - 1]) + float(numbers[place])) / 2
    for digits in range(1, 8):
        short = float(f"{middle:.{digits}g}")
        there = int(numbers.searchsorted(short))
        if 0 < there < len(numbers) and clear[there] >= NEARLY * clear[place]:
            return short
    return float(numbers[place])


def _holds(factor: Factor, side: Column) -> Bits:
    """In which runs; the runs of a row with a weight are neighbours."""
    found = np.empty(sum(group.size for _, group in side), dtype=np.bool_)
    start = 0
    for column, group in side:
        held, end = factor.holds(column), start + group.size
        if group.weights is not None and isinstance(held, np.ndarray) and held.ndim:
            held = np.repeat(held, group.weights)
        found[start:end] = held
        start = end
    return found


def _row_sums(table: Bits) -> Hits:
    return np.array([np.count_nonzero(row) for row in table], dtype=np.int64)


def packed(table: Bits) -> Words:
    """Conditions, one a row, 64 runs a number."""
    padded = np.pad(table, ((0, 0), (0, -table.shape[1] % 64)))
    return np.ascontiguousarray(np.packbits(padded, axis=1)).view(np.uint64)


def held(words: Words) -> Hits:
    """In how many runs each row of packed conditions holds."""
    return np.asarray(np.bitwise_count(words).sum(axis=-1, dtype=np.int64))
