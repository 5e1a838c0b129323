"""Outputs to counts: how often each value, or each stretch of numbers, occurs on the two sides of a pair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.events.catalogue import Feature
from refutedp.events.features import Scalar
from refutedp.events.predicates import Mask, equal
from refutedp.outputs import Array, Group, Outputs

Hits: TypeAlias = NDArray[np.int64]
Signature: TypeAlias = tuple[float, ...]
"""How many numbers there are on either side, and the least and the largest of each."""
Kept: TypeAlias = list[tuple[int, Mask]]
"""Groups by number, with the rows of each that are kept; groups of which nothing is kept are left out."""


@dataclass(frozen=True, slots=True)
class ValueTable:
    """Hits of each distinct value of a feature on either side; integers come sorted."""

    values: list[Scalar]
    x: Hits
    y: Hits


@dataclass(frozen=True, slots=True)
class NumberTable:
    """The numbers of a feature on either side, sorted, nan left out; `complete` when every run had a number."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    complete: bool = True

    @property
    def signature(self) -> Signature:
        """Tables of the same numbers have the same signature, and hardly any others do."""
        ends = (side[[0, -1]] if len(side) else () for side in (self.x, self.y))
        return (len(self.x), len(self.y), *(float(end) for pair in ends for end in pair))


FEW_ROWS = 256
"""So few rows are counted faster one by one than by NumPy."""

Part: TypeAlias = tuple[Array | Scalar, NDArray[np.int64] | None, int]


class Sides:
    """The outputs of a pair, each feature computed once however often it is asked for."""

    def __init__(self, first: Outputs, second: Outputs) -> None:
        self.outputs = (first, second)
        self.runs = first.size + second.size
        self._columns: dict[Feature, tuple[list[Array | Scalar], ...]] = {}
        self._numeric: dict[Feature, tuple[set[int], set[int]]] = {}
        self._whole: set[int] = set()
        self._ends: dict[int, tuple[float, float]] = {}

    def columns(self, feature: Feature) -> tuple[list[Array | Scalar], ...]:
        """The feature's column in every group of either side."""
        known = self._columns.get(feature)
        if known is None:
            known = tuple([_shared(feature.column(group)) for group in side.groups] for side in self.outputs)
            self._columns[feature] = known
            self._whole.update(id(column) for side in known for column in side)
        return known

    def ends(self, column: Array) -> tuple[float, float]:
        """The least and the largest number of a column, nan if it holds nan; found once for each whole column."""
        known = self._ends.get(id(column))
        if known is None:
            known = float(column.min()), float(column.max())
            if id(column) in self._whole:
                self._ends[id(column)] = known
        return known

    def where(self, feature: Feature, value: Scalar) -> tuple[Kept, Kept]:
        """Which rows of which groups have this value of a feature."""
        first, second = ([equal(column, value) for column in side] for side in self.columns(feature))
        return _nonempty(first), _nonempty(second)

    def has_numbers(self, feature: Feature, kept: tuple[Kept, Kept]) -> bool:
        """Whether the feature is a number in some of the kept rows."""
        numeric = self._numeric.get(feature)
        if numeric is None:
            first, second = ({i for i, c in enumerate(side) if _is_numeric(c)} for side in self.columns(feature))
            numeric = self._numeric[feature] = (first, second)
        return any(number in where for where, chosen in zip(numeric, kept, strict=True) for number, _ in chosen)

    def covered(self, feature: Feature, kept: tuple[Kept, Kept]) -> tuple[int, int]:
        """How many of the kept runs on either side have the feature."""
        sizes = []
        for outputs, columns, chosen in zip(self.outputs, self.columns(feature), kept, strict=True):
            total = 0
            for number, mask in chosen:
                group = outputs.groups[number]
                if columns[number] is None:
                    continue
                if mask is True:
                    total += group.size
                else:
                    total += int(np.count_nonzero(mask) if group.weights is None else group.weights[mask].sum())
            sizes.append(total)
        return sizes[0], sizes[1]

    def parts(self, feature: Feature, kept: tuple[Kept, Kept] | None = None) -> tuple[list[Part], list[Part]]:
        """The feature's values on either side, in the kept rows only."""
        found: tuple[list[Part], list[Part]] = ([], [])
        for side, outputs, columns in zip((0, 1), self.outputs, self.columns(feature), strict=True):
            chosen = kept[side] if kept is not None else [(i, True) for i in range(len(columns))]
            for number, mask in chosen:
                part = _part(outputs.groups[number], columns[number], mask)
                if part is not None:
                    found[side].append(part)
        return found


def _shared(column: Array | Scalar) -> Array | Scalar:
    """One value where a column of truth values or integers holds the same in all rows: most leaves of a path do."""
    if not isinstance(column, np.ndarray) or column.dtype not in (np.bool_, np.int64) or not len(column):
        return column
    if len(column) == 1:
        return column.item()  # type: ignore[no-any-return]
    if column.dtype == np.bool_:
        true = np.count_nonzero(column)
        return True if true == len(column) else column if true else False
    return int(column[0]) if column[0] == column[-1] and (column == column[0]).all() else column


def _nonempty(masks: list[Mask]) -> Kept:
    return [(i, mask) for i, mask in enumerate(masks) if mask is not False and (mask is True or np.any(mask))]


def _part(group: Group, column: Array | Scalar, mask: Mask) -> Part | None:
    if column is None:
        return None
    if mask is True:
        return column, group.weights, group.size
    weights = None if group.weights is None else group.weights[mask]
    size = int(np.count_nonzero(mask)) if weights is None else int(weights.sum())
    return (column[mask] if isinstance(column, np.ndarray) else column), weights, size


def signature(sides: Sides, parts: tuple[list[Part], list[Part]]) -> Signature | None:
    """The signature that a table of these parts would have, unless it takes a table to tell."""
    sizes: list[float] = []
    ends: list[float] = []
    for side in parts:
        numbers = [part for part in side if _is_numeric(part[0])]
        if not all(isinstance(c, np.ndarray) and c.dtype == np.float64 and w is None for c, w, _ in numbers):
            return None
        sizes.append(sum(size for _, _, size in numbers))
        if numbers:
            least, largest = zip(*(sides.ends(column) for column, _, _ in numbers), strict=True)  # type: ignore[arg-type]
            if math.isnan(sum(least) + sum(largest)):
                # Tables leave nan out.
                return None
            ends += [min(least), max(largest)]
    return (*sizes, *ends) if ends else None


def tabulate(
    sides: Sides, parts: tuple[list[Part], list[Part]], *, most_values: int
) -> ValueTable | NumberTable | None:
    """The table of `parts`; None when there are none, or when their values are too many to list and no numbers."""
    parts_x, parts_y = parts
    everything = parts_x + parts_y
    if not everything:
        return None
    if any(c.dtype == np.float64 if isinstance(c, np.ndarray) else isinstance(c, float) for c, _, _ in everything):
        parts_x, parts_y = ([p for p in parts if _is_numeric(p[0])] for parts in (parts_x, parts_y))
        return _numbers(parts_x, parts_y, sides.runs)
    counts: dict[tuple[bool, Scalar], list[int]] = {}
    for side, those in enumerate((parts_x, parts_y)):
        for column, weights, size in those:
            _count(counts, side, column, weights, size)
    if len(counts) > most_values:
        return _numbers(parts_x, parts_y, sides.runs) if all(_is_numeric(c) for c, _, _ in everything) else None
    keys = list(counts)
    if all(isinstance(value, int) for _, value in keys):
        keys.sort(key=lambda key: (key[0], key[1]))
    hits = np.array([counts[key] for key in keys], dtype=np.int64).reshape(-1, 2)
    return ValueTable([value for _, value in keys], hits[:, 0], hits[:, 1])


def _numbers(parts_x: list[Part], parts_y: list[Part], runs: int) -> NumberTable:
    covered = sum(size for _, _, size in parts_x + parts_y)
    return NumberTable(_sorted_numbers(parts_x), _sorted_numbers(parts_y), complete=covered == runs)


def _is_numeric(column: Array | Scalar) -> bool:
    if isinstance(column, np.ndarray):
        return column.dtype in (np.float64, np.int64)
    return isinstance(column, (int, float)) and not isinstance(column, bool)


def _sorted_numbers(parts: list[Part]) -> NDArray[np.float64]:
    numbers = []
    for column, weights, size in parts:
        if not isinstance(column, np.ndarray):
            numbers.append(np.full(size, column, dtype=np.float64))
        elif weights is None:
            numbers.append(np.asarray(column, dtype=np.float64))
        else:
            numbers.append(np.repeat(np.asarray(column, dtype=np.float64), weights))
    if not numbers:
        return np.empty(0)
    joined = np.sort(numbers[0]) if len(numbers) == 1 else np.concatenate(numbers)
    if len(numbers) > 1:
        joined.sort()
    return joined[: np.searchsorted(joined, np.nan)] if len(joined) and np.isnan(joined[-1]) else joined


def _count(
    counts: dict[tuple[bool, Scalar], list[int]],
    side: int,
    column: Array | Scalar,
    weights: NDArray[np.int64] | None,
    size: int,
) -> None:
    if not isinstance(column, np.ndarray):
        counts.setdefault((isinstance(column, bool), column), [0, 0])[side] += size
        return
    if column.dtype == np.bool_ and weights is None:
        true = int(np.count_nonzero(column))
        for value, hit in ((True, true), (False, len(column) - true)):
            if hit:
                counts.setdefault((True, value), [0, 0])[side] += hit
        return
    if weights is not None and len(column) <= FEW_ROWS:
        for value, weight in zip(column.tolist(), weights.tolist(), strict=True):
            counts.setdefault((isinstance(value, bool), value), [0, 0])[side] += weight
        return
    if weights is None:
        values, hits = np.unique(column, return_counts=True)
    else:
        values, inverse = np.unique(column, return_inverse=True)
        hits = np.zeros(len(values), dtype=np.int64)
        np.add.at(hits, inverse, weights)
    for value, hit in zip(values.tolist(), hits.tolist(), strict=True):
        counts.setdefault((isinstance(value, bool), value), [0, 0])[side] += hit
