"""The numbers that a feature has on one side of a pair: how many lie below an end, equal a value, repeat."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TypeAlias

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


class Numbers:
    """Numbers without nan, in increasing order as far as anyone asks.

    >>> numbers = Numbers(np.array([0.0, 1.0, 0.0, 0.0]))
    >>> numbers.below(np.array([0.5])).tolist(), numbers.equal_to(np.array([1.0])).tolist(), numbers.repeats
    ([3], [1], {0.0: 2})
    """

    def __init__(self, numbers: Floats) -> None:
        self._least = float(numbers.min(initial=np.inf))
        self._largest = float(numbers.max(initial=-np.inf))
        width = self._largest - self._least
        self._in_order = len(numbers) <= FEW or not 1e-290 < width < np.inf
        if self._in_order:
            self._numbers = np.sort(numbers)
            return
        self._per_width = (BINS - 1) / width
        bins = self._bins(numbers).astype(np.uint16)
        # Bins are in order whatever the rounding, for to subtract and to multiply never turn an order around.
        self._numbers = numbers[bins.argsort(kind="stable")]
        self._sizes = np.bincount(bins, minlength=BINS)
        self._stops = self._sizes.cumsum()
        self._bins_in_order: set[int] = set()

    def __len__(self) -> int:
        return len(self._numbers)

    def at(self, places: Hits) -> Floats:
        """The numbers at these places of the increasing order."""
        if not self._in_order:
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
        if not self._in_order:
            self._order(np.flatnonzero(self._sizes > least))
        numbers = self._numbers
        # Equal numbers are neighbours, wherever there are enough of them.
        last = np.flatnonzero(numbers[1:] != numbers[:-1])
        if len(last) >= len(numbers) - 1:
            return {}
        last = np.append(last, len(numbers) - 1)
        again = last.copy()
        again[1:] -= last[:-1] + 1
        often = np.flatnonzero(again >= least)
        return dict(zip(numbers[last[often]].tolist(), again[often].tolist(), strict=True))

    def _bins(self, numbers: Floats) -> Hits:
        bins: Hits = ((numbers - self._least) * self._per_width).astype(np.int64)
        return bins

    def _order_around(self, ends: Floats) -> None:
        """Put in order what a search for the ends must see so: numbers of other bins are all less, or all larger."""
        if not self._in_order:
            self._order(self._bins(np.clip(ends, self._least, self._largest)))

    def _order(self, bins: Iterable[int]) -> None:
        fresh = {*map(int, bins)} - self._bins_in_order
        if len(fresh) > BINS // 64:
            self._numbers.sort()
            self._in_order = True
            return
        for number in fresh:
            stop = self._stops[number]
            self._numbers[stop - self._sizes[number] : stop].sort()
        self._bins_in_order |= fresh
