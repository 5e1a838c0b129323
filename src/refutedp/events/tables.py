"""Outputs to counts: how often each value, or each stretch of numbers, occurs on the two sides of a pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.events.catalogue import Feature
from refutedp.events.features import Scalar
from refutedp.events.predicates import Mask, equal
from refutedp.outputs import Array, Group, Outputs

Hits: TypeAlias = NDArray[np.int64]
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


FEW_ROWS = 256
"""So few rows are counted faster one by one than by NumPy."""

Part: TypeAlias = tuple[Array | Scalar, NDArray[np.int64] | None, int]


class Sides:
    """The outputs of a pair, each feature computed once however often it is asked for."""

    def __init__(self, first: Outputs, second: Outputs) -> None:
        self.outputs = (first, second)
        self.runs = first.size + second.size
        self._columns: dict[Feature, tuple[list[Array | Scalar], ...]] = {}

    def columns(self, feature: Feature) -> tuple[list[Array | Scalar], ...]:
        """The feature's column in every group of either side."""
        known = self._columns.get(feature)
        if known is None:
            known = tuple([feature.column(group) for group in side.groups] for side in self.outputs)
            self._columns[feature] = known
        return known

    def where(self, feature: Feature, value: Scalar) -> tuple[Kept, Kept]:
        """Which rows of which groups have this value of a feature."""
        first, second = ([equal(column, value) for column in side] for side in self.columns(feature))
        return _nonempty(first), _nonempty(second)

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


def tabulate(
    sides: Sides, feature: Feature, *, kept: tuple[Kept, Kept] | None = None, most_values: int
) -> ValueTable | NumberTable | None:
    """The table of one feature; None when no output has it or its values are too many to list and no numbers."""
    parts_x, parts_y = sides.parts(feature, kept)
    everything = parts_x + parts_y
    if not everything:
        return None
    if any(c.dtype == np.float64 if isinstance(c, np.ndarray) else isinstance(c, float) for c, _, _ in everything):
        parts_x, parts_y = ([p for p in parts if _is_numeric(p[0])] for parts in (parts_x, parts_y))
        return _numbers(parts_x, parts_y, sides.runs)
    counts: dict[tuple[bool, Scalar], list[int]] = {}
    for side, parts in enumerate((parts_x, parts_y)):
        for column, weights, size in parts:
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
    joined = np.sort(np.concatenate(numbers))
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


_TAIL = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)


def _levels(count: int) -> NDArray[np.float64]:
    """Where the data-driven grid has its points: quantiles, dense in the tails for the sake of rare events.

    The fewer numbers there are, the fewer points: a fine grid on few numbers offers luck, not information.
    """
    middle = int(np.clip(np.sqrt(count) / 4, 5, 33))
    tail = [level for level in _TAIL if level * count >= 1]
    return np.array([0.0, *tail, *np.linspace(0.03, 0.97, middle), *(1 - level for level in reversed(tail)), 1.0])


def edges_of(table: NumberTable, *, most: int = 128) -> NDArray[np.float64]:
    """Endpoints for intervals: quantiles of both sides, rounded to as few digits as their distance allows.

    Where numbers repeat (clamped or integer outputs), the repeated numbers and their right neighbours are endpoints
    too, so that intervals can hold or leave out exactly them.

    >>> edges_of(NumberTable(np.array([0.0, 0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0, 1.0]))).tolist()[:2]
    [0.0, 5e-324]
    """
    pooled = np.concatenate([table.x, table.y])
    if len(pooled) == 0:
        return pooled
    repeated = repeated_numbers(table, most=most // 4)
    quantiles = [
        side[np.minimum((_levels(len(side)) * len(side)).astype(np.int64), len(side) - 1)]
        for side in (table.x, table.y)
        if len(side)
    ]
    smooth = np.unique(np.concatenate(quantiles))
    smooth = smooth[np.isfinite(smooth)]
    rounded = _rounded(smooth[~np.isin(smooth, repeated)])
    atoms = np.concatenate([repeated, np.nextafter(repeated, np.inf)])
    return np.unique(np.concatenate([rounded, atoms[np.isfinite(atoms)]]))


def repeated_numbers(table: NumberTable, *, most: int) -> NDArray[np.float64]:
    """The numbers that occur again and again, most frequent first choice, in increasing order."""
    found: dict[float, int] = {}
    for side in (table.x, table.y):
        same = side[1:] == side[:-1]
        if not same.any():
            continue
        values, counts = np.unique(side[1:][same], return_counts=True)
        often = counts >= max(2, len(side) // 5000)
        for value, count in zip(values[often].tolist(), counts[often].tolist(), strict=True):
            found[value] = found.get(value, 0) + count
    top = sorted(found, key=lambda value: -found[value])[:most]
    return np.array(sorted(top), dtype=np.float64)


def _rounded(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(edges) < 2:
        return edges
    gaps = np.diff(edges)
    nearest = np.minimum(np.append(gaps, gaps[-1]), np.insert(gaps, 0, gaps[0]))
    decimals = np.clip(np.ceil(-np.log10(np.maximum(nearest, 1e-300) * 0.5)), -300, 300).astype(int)
    out = edges.copy()
    for places in np.unique(decimals):
        if abs(places) <= 15:
            here = decimals == places
            out[here] = np.round(edges[here], places)
    return np.unique(out)
