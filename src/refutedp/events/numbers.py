"""A feature's numeric values on d1 and d2, and the candidate end points of interval events.

Ends are quantiles of the numbers seen, rounded, and numbers that occur again and again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Hits: TypeAlias = NDArray[np.int64]

BINS = 2**16
"""Numbers are put into so many bins of one width, and a bin in order when it is looked at: a few in a hundred are.

NumPy sorts 16-bit integers fast on every processor; its sort of floats takes up to six times as long on those that
are slow at one instruction of AVX-512 (AMD's since 2022)."""
FEW = 2**15
"""So few numbers are sorted at once."""
MOST_EDGES_REPEATED = 32
"""Repeated numbers that are ends of intervals, together with their right neighbours."""
MOST_REPEATED = 64
"""Repeated numbers that outputs are compared with."""

_TAIL = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)
_MOST_DIGITS = 15
_POWERS = 10.0 ** np.arange(_MOST_DIGITS + 1)


class Numbers:
    """Numbers without nan, in increasing order as far as anyone asks.

    >>> numbers = Numbers(np.array([0.0, 1.0, 0.0, 0.0]))
    >>> numbers.below(np.array([0.5])).tolist(), numbers.equal_to(np.array([1.0])).tolist(), numbers.repeats
    ([3], [1], {0.0: 2})
    """

    def __init__(self, numbers: Floats) -> None:
        self.least = float(numbers.min(initial=np.inf))
        self.largest = float(numbers.max(initial=-np.inf))
        self._numbers = numbers
        self._in_order = np.empty(0, dtype=np.bool_)
        """Which bins are in order, once there are any."""

    def __len__(self) -> int:
        return len(self._numbers)

    def at(self, places: Hits) -> Floats:
        """The numbers at these places of the increasing order."""
        if self._stops is not None:
            self._order(self._stops.searchsorted(places, "right"))
        return self._numbers[places]

    def below(self, ends: Floats) -> Hits:
        """How many are less than each of the ends."""
        self._order_around(ends)
        return self._numbers.searchsorted(ends)

    def equal_to(self, values: Floats) -> Hits:
        """How many equal each of the values."""
        self._order_around(values)
        return self._numbers.searchsorted(values, "right") - self._numbers.searchsorted(values)

    @cached_property
    def repeats(self) -> dict[float, int]:
        """The numbers that occur again and again, and how often they do after the first time."""
        least = max(2, len(self) // 5000)
        if self._stops is not None:
            self._order(np.flatnonzero(self._sizes > least))
        numbers = self._numbers
        # Equal numbers are neighbours, wherever there are enough of them.
        differ = numbers[1:] != numbers[:-1]
        if differ.all():
            return {}
        last = np.append(np.flatnonzero(differ), len(numbers) - 1)
        again = last.copy()
        again[1:] -= last[:-1] + 1
        often = np.flatnonzero(again >= least)
        return dict(zip(numbers[last[often]].tolist(), again[often].tolist(), strict=True))

    @cached_property
    def _stops(self) -> Hits | None:
        """Put the numbers into bins when first looked at; where each bin ends, None once all are in order."""
        width = self.largest - self.least
        if len(self) <= FEW or not 1e-290 < width < np.inf:
            self._numbers = np.sort(self._numbers)
            return None
        bins = self._bins(self._numbers)
        # Bins are in order whatever the rounding, for to subtract and to multiply never turn an order around.
        self._numbers = self._numbers[bins.argsort(kind="stable")]
        self._sizes = np.bincount(bins, minlength=BINS)
        self._in_order = self._sizes < 2
        return self._sizes.cumsum()

    def _bins(self, numbers: Floats) -> NDArray[np.uint16]:
        per_width = (BINS - 1) / (self.largest - self.least)
        return ((numbers - self.least) * per_width).astype(np.uint16)

    def _order_around(self, ends: Floats) -> None:
        """Put in order what a search for the ends must see so: numbers of other bins are all less, or all larger."""
        if self._stops is not None:
            self._order(self._bins(np.clip(ends, self.least, self.largest)))

    def _order(self, bins: NDArray[Any]) -> None:
        fresh = _distinct(bins[~self._in_order[bins]])
        if not len(fresh):
            return
        assert self._stops is not None
        sizes, stops = self._sizes[fresh], self._stops[fresh]
        if len(fresh) > BINS // 64:
            self._numbers.sort()
            self._stops = None
            return
        # All at once: no number of a bin is larger than one of the next.
        places = np.repeat(stops - sizes.cumsum(), sizes) + np.arange(sizes.sum())
        self._numbers[places] = np.sort(self._numbers[places])
        self._in_order[fresh] = True


@dataclass(frozen=True, slots=True)
class NumberTable:
    """The numbers of a feature on either side; `complete` when every run had a number."""

    x: Numbers
    y: Numbers
    complete: bool = True

    @property
    def signature(self) -> tuple[float, ...]:
        """How many numbers there are, and the least and the largest: hardly ever the same for other numbers."""
        return tuple(float(part) for side in (self.x, self.y) for part in (len(side), side.least, side.largest))


@lru_cache(maxsize=256)
def _places(count: int) -> Hits:
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
    nearest = repeated[np.minimum(repeated.searchsorted(smooth), len(repeated) - 1)]
    rounded = _rounded(smooth[nearest != smooth])
    with np.errstate(over="ignore"):
        neighbours = np.nextafter(repeated, np.inf)
    return _finite(_distinct(np.concatenate([rounded, repeated, neighbours])))


def repeated_numbers(table: NumberTable) -> tuple[Floats, Floats]:
    """The numbers that occur again and again, in increasing order: those that may be edges, and twice as many."""
    found = dict(table.x.repeats)
    for value, count in table.y.repeats.items():
        found[value] = found.get(value, 0) + count
    top = sorted(found, key=lambda value: -found[value])
    edges, values = (np.array(sorted(top[:most]), dtype=np.float64) for most in (MOST_EDGES_REPEATED, MOST_REPEATED))
    return edges, values


def _finite(numbers: Floats) -> Floats:
    """Sorted numbers without the infinite ones, which are at their ends."""
    if len(numbers) and math.isfinite(numbers[0]) and math.isfinite(numbers[-1]):
        return numbers
    return numbers[np.isfinite(numbers)]


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
    nearest = np.minimum(np.append(gaps, gaps[-1]), np.insert(gaps, 0, gaps[0]))
    decimals = np.clip(np.ceil(-np.log10(np.maximum(nearest, 1e-300) * 0.5)), -300, 300).astype(int)
    # As np.round does it, each edge with its own number of digits; beyond fifteen there is nothing to round.
    power = _POWERS[np.minimum(np.abs(decimals), _MOST_DIGITS)]
    with np.errstate(over="ignore"):
        out = np.where(decimals >= 0, np.rint(edges * power) / power, np.rint(edges / power) * power)
    return _distinct(np.where(np.abs(decimals) <= _MOST_DIGITS, out, edges))
