"""Outputs to counts: how often each value, or each stretch of numbers, occurs on the two sides of a pair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.events.features.basic import Scalar
from refutedp.events.numbers import Hits, Numbers
from refutedp.events.sides import Parts, Sides, is_numeric
from refutedp.model.outputs import Array

Signature: TypeAlias = tuple[float, ...]
"""How many numbers there are on either side, and the least and the largest of each."""


@dataclass(frozen=True, slots=True)
class ValueTable:
    """Hits of each distinct value of a feature on either side; integers come sorted."""

    values: list[Scalar]
    x: Hits
    y: Hits


@dataclass(frozen=True, slots=True)
class NumberTable:
    """The numbers of a feature on either side; `complete` when every run had a number."""

    x: Numbers
    y: Numbers
    complete: bool = True

    @property
    def signature(self) -> Signature:
        """Tables of the same numbers have the same signature, and hardly any others do."""
        ends = (side.at(np.array([0, len(side) - 1])) if len(side) else () for side in (self.x, self.y))
        return (len(self.x), len(self.y), *(float(end) for pair in ends for end in pair))


FEW_ROWS = 256
"""So few rows are counted faster one by one than by NumPy."""


def signature(sides: Sides, parts: Parts) -> Signature | None:
    """The signature that a table of these parts would have, unless it takes a table to tell."""
    sizes: list[float] = []
    ends: list[float] = []
    for side, those in zip(sides.both, (parts.x, parts.y), strict=True):
        numbers = [part for part in those if is_numeric(part[0])]
        if not all(isinstance(c, np.ndarray) and c.dtype == np.float64 and w is None for c, w, _ in numbers):
            return None
        sizes.append(sum(size for _, _, size in numbers))
        if numbers:
            least, largest = zip(*(side.ends(column) for column, _, _ in numbers), strict=True)  # type: ignore[arg-type]
            if math.isnan(sum(least) + sum(largest)):
                # Tables leave nan out.
                return None
            ends += [min(least), max(largest)]
    return (*sizes, *ends) if ends else None


def tabulate(sides: Sides, parts: Parts, *, most_values: int) -> ValueTable | NumberTable | None:
    """The table of `parts`; None when there are none, or when their values are too many to list and no numbers."""
    everything = parts.x + parts.y
    if not everything:
        return None
    if any(c.dtype == np.float64 if isinstance(c, np.ndarray) else isinstance(c, float) for c, _, _ in everything):
        return _numbers(sides, parts)
    counts: dict[tuple[bool, Scalar], list[int]] = {}
    for side, those in enumerate((parts.x, parts.y)):
        for column, weights, size in those:
            _count(counts, side, column, weights, size)
    if len(counts) > most_values:
        return _numbers(sides, parts) if all(is_numeric(c) for c, _, _ in everything) else None
    keys = list(counts)
    if all(isinstance(value, int) for _, value in keys):
        keys.sort(key=lambda key: (key[0], key[1]))
    hits = np.array([counts[key] for key in keys], dtype=np.int64).reshape(-1, 2)
    return ValueTable([value for _, value in keys], hits[:, 0], hits[:, 1])


def _numbers(sides: Sides, parts: Parts) -> NumberTable:
    covered = sum(size for column, _, size in parts.x + parts.y if is_numeric(column))
    first, second = sides.both
    x, y = first.numbers(parts.x, parts.whole), second.numbers(parts.y, parts.whole)
    return NumberTable(x, y, complete=covered == sides.runs)


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
