"""Outputs to counts: how often each value, or each stretch of numbers, occurs on the two sides of a pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.events.features import Feature, Scalar
from refutedp.outputs import Array, Group, Outputs

Hits: TypeAlias = NDArray[np.int64]
Keep: TypeAlias = Callable[[Group], NDArray[np.bool_] | bool]


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


Part: TypeAlias = tuple[Array | Scalar, NDArray[np.int64] | None, int]


def everything(group: Group) -> bool:
    """Keep all rows."""
    return True


def tabulate(
    feature: Feature, first: Outputs, second: Outputs, *, keep: Keep = everything, most_values: int
) -> ValueTable | NumberTable | None:
    """The table of one feature; None when no output has it or its values are too many to list and no numbers."""
    parts_x, parts_y = _parts(feature, first, keep), _parts(feature, second, keep)
    if not parts_x and not parts_y:
        return None
    if any(
        c.dtype == np.float64 if isinstance(c, np.ndarray) else isinstance(c, float) for c, _, _ in parts_x + parts_y
    ):
        if any(not _is_numeric(c) for c, _, _ in parts_x + parts_y):
            parts_x, parts_y = ([p for p in parts if _is_numeric(p[0])] for parts in (parts_x, parts_y))
        return _numbers(parts_x, parts_y, first.size + second.size)
    counts: dict[tuple[bool, Scalar], list[int]] = {}
    for side, parts in enumerate((parts_x, parts_y)):
        for column, weights, size in parts:
            _count(counts, side, column, weights, size)
    if len(counts) > most_values:
        if all(_is_numeric(c) for c, _, _ in parts_x + parts_y):
            return _numbers(parts_x, parts_y, first.size + second.size)
        return None
    keys = list(counts)
    if all(isinstance(value, int) for _, value in keys):
        keys.sort(key=lambda key: (key[0], key[1]))
    hits = np.array([counts[key] for key in keys], dtype=np.int64).reshape(-1, 2)
    return ValueTable([value for _, value in keys], hits[:, 0], hits[:, 1])


def _numbers(parts_x: list[Part], parts_y: list[Part], runs: int) -> NumberTable:
    covered = sum(size for _, _, size in parts_x + parts_y)
    return NumberTable(_sorted_numbers(parts_x), _sorted_numbers(parts_y), complete=covered == runs)


def _parts(feature: Feature, outputs: Outputs, keep: Keep) -> list[Part]:
    parts: list[Part] = []
    for group in outputs.groups:
        kept = keep(group)
        if kept is False:
            continue
        column = feature.column(group)
        if column is None:
            continue
        weights = group.weights
        if kept is True:
            parts.append((column, weights, group.size))
            continue
        if isinstance(column, np.ndarray):
            column = column[kept]
        weights = None if weights is None else weights[kept]
        size = int(np.count_nonzero(kept)) if weights is None else int(weights.sum())
        if size:
            parts.append((column, weights, size))
    return parts


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
