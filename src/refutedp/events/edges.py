"""Where intervals begin and end: quantiles of the numbers seen, rounded, and numbers that occur again and again."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.events.tables import NumberTable

Floats: TypeAlias = NDArray[np.float64]

MOST_EDGES_REPEATED = 32
"""Repeated numbers that are ends of intervals, together with their right neighbours."""

_TAIL = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)
_MOST_DIGITS = 15
_POWERS = 10.0 ** np.arange(_MOST_DIGITS + 1)


def _levels(count: int) -> Floats:
    """Where the data-driven grid has its points: quantiles, dense in the tails for the sake of rare events.

    The fewer numbers there are, the fewer points: a fine grid on few numbers offers luck, not information.
    """
    middle = int(min(max(np.sqrt(count) / 4, 5), 33))
    return _grid(middle, sum(level * count >= 1 for level in _TAIL))


@lru_cache(maxsize=64)
def _grid(middle: int, tails: int) -> Floats:
    tail = _TAIL[len(_TAIL) - tails :]
    return np.array([0.0, *tail, *np.linspace(0.03, 0.97, middle), *(1 - level for level in reversed(tail)), 1.0])


def edges_of(table: NumberTable, repeated: Floats) -> Floats:
    """Endpoints for intervals: quantiles of both sides, rounded to as few digits as their distance allows.

    Where numbers repeat (clamped or integer outputs), the repeated numbers and their right neighbours are endpoints
    too, so that intervals can hold or leave out exactly them.

    >>> table = NumberTable(np.array([0.0, 0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0, 1.0]))
    >>> edges_of(table, repeated_numbers(table)[0]).tolist()[:2]
    [0.0, 5e-324]
    """
    quantiles = [
        side[np.minimum((_levels(len(side)) * len(side)).astype(np.int64), len(side) - 1)]
        for side in (table.x, table.y)
        if len(side)
    ]
    if not quantiles:
        return np.empty(0)
    smooth = _distinct(np.concatenate(quantiles))
    smooth = smooth[np.isfinite(smooth)]
    if not len(repeated):
        return _rounded(smooth)
    rounded = _rounded(smooth[~np.isin(smooth, repeated)])
    atoms = np.concatenate([repeated, np.nextafter(repeated, np.inf)])
    return _distinct(np.concatenate([rounded, atoms[np.isfinite(atoms)]]))


def repeated_numbers(table: NumberTable, *, most: int = 64) -> tuple[Floats, Floats]:
    """The numbers that occur again and again, in increasing order: those that may be edges, and `most` of all."""
    found: dict[float, int] = {}
    for side in (table.x, table.y):
        # The sides are sorted, so that equal numbers are neighbours.
        last = np.flatnonzero(np.append(side[1:] != side[:-1], True))[: len(side)]
        if len(last) == len(side):
            continue
        again = np.diff(last, prepend=-1) - 1
        often = again >= max(2, len(side) // 5000)
        for value, count in zip(side[last[often]].tolist(), again[often].tolist(), strict=True):
            found[value] = found.get(value, 0) + count
    top = sorted(found, key=lambda value: -found[value])
    edges, all_of_them = (np.array(sorted(top[:many]), dtype=np.float64) for many in (MOST_EDGES_REPEATED, most))
    return edges, all_of_them


def _distinct(numbers: Floats) -> Floats:
    """What np.unique gives where nothing is nan, at a third of the cost for few numbers."""
    numbers.sort()
    fresh = np.empty(len(numbers), dtype=np.bool_)
    fresh[:1] = True
    np.not_equal(numbers[1:], numbers[:-1], out=fresh[1:])
    return numbers[fresh]


def _rounded(edges: Floats) -> Floats:
    if len(edges) < 2:
        return edges
    gaps = edges[1:] - edges[:-1]
    nearest = np.empty(len(edges))
    nearest[0], nearest[-1] = gaps[0], gaps[-1]
    np.minimum(gaps[1:], gaps[:-1], out=nearest[1:-1])
    decimals = np.clip(np.ceil(-np.log10(np.maximum(nearest, 1e-300) * 0.5)), -300, 300).astype(int)
    # As np.round does it, each edge with its own number of digits; beyond fifteen there is nothing to round.
    power = _POWERS[np.minimum(np.abs(decimals), _MOST_DIGITS)]
    with np.errstate(over="ignore"):
        out = np.where(decimals >= 0, np.rint(edges * power) / power, np.rint(edges / power) * power)
    return _distinct(np.where(np.abs(decimals) <= _MOST_DIGITS, out, edges))
