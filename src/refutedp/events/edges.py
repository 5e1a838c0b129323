"""Where intervals begin and end: quantiles of the numbers seen, rounded, and numbers that occur again and again."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from refutedp.events.numbers import Floats
from refutedp.events.tables import NumberTable

MOST_EDGES_REPEATED = 32
"""Repeated numbers that are ends of intervals, together with their right neighbours."""

_TAIL = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)
_MOST_DIGITS = 15
_POWERS = 10.0 ** np.arange(_MOST_DIGITS + 1)


@lru_cache(maxsize=256)
def _places(count: int) -> NDArray[np.int64]:
    """Which of so many sorted numbers are points of the grid: quantiles, dense in the tails for rare events' sake.

    The fewer numbers there are, the fewer points: a fine grid on few numbers offers chance, not information.
    """
    middle = int(min(max(np.sqrt(count) / 4, 5), 33))
    tail = [level for level in _TAIL if level * count >= 1]
    levels = [0.0, *tail, *np.linspace(0.03, 0.97, middle), *(1 - level for level in reversed(tail)), 1.0]
    return np.minimum((np.array(levels) * count).astype(np.int64), count - 1)


def edges_of(table: NumberTable, repeated: Floats) -> Floats:
    """Endpoints for intervals: quantiles of both sides, rounded to as few digits as their distance allows.

    Where numbers repeat (clamped or integer outputs), the repeated numbers and their right neighbours are endpoints
    too, so that intervals can hold or leave out exactly them.

    >>> from refutedp.events.numbers import Numbers
    >>> table = NumberTable(Numbers(np.array([0.0, 0.0, 0.0, 1.0])), Numbers(np.array([0.0, 1.0, 1.0, 1.0])))
    >>> edges_of(table, repeated_numbers(table)[0]).tolist()[:2]
    [0.0, 5e-324]
    """
    quantiles = [side.at(_places(len(side))) for side in (table.x, table.y) if len(side)]
    if not quantiles:
        return np.empty(0)
    smooth = _finite(_distinct(np.concatenate(quantiles)))
    if not len(repeated):
        return _rounded(smooth)
    rounded = _rounded(_without(smooth, repeated))
    with np.errstate(over="ignore"):
        neighbours = np.nextafter(repeated, np.inf)
    return _finite(_distinct(np.concatenate([rounded, repeated, neighbours])))


def repeated_numbers(table: NumberTable, *, most: int = 64) -> tuple[Floats, Floats]:
    """The numbers that occur again and again, in increasing order: those that may be edges, and `most` of all."""
    found = dict(table.x.repeats)
    for value, count in table.y.repeats.items():
        found[value] = found.get(value, 0) + count
    top = list(found) if len(found) <= MOST_EDGES_REPEATED else sorted(found, key=lambda value: -found[value])
    edges = np.array(sorted(top[:MOST_EDGES_REPEATED]), dtype=np.float64)
    return edges, edges if len(top) <= MOST_EDGES_REPEATED else np.array(sorted(top[:most]), dtype=np.float64)


def _finite(numbers: Floats) -> Floats:
    """Sorted numbers without the infinite ones, which are at their ends."""
    if len(numbers) and math.isfinite(numbers[0]) and math.isfinite(numbers[-1]):
        return numbers
    return numbers[np.isfinite(numbers)]


def _without(numbers: Floats, others: Floats) -> Floats:
    """The numbers that are none of the others, both sorted."""
    nearest: Floats = others[np.minimum(others.searchsorted(numbers), len(others) - 1)]
    fresh: Floats = numbers[nearest != numbers]
    return fresh


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
