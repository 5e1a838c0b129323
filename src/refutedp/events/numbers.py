"""The numbers that a feature has on one side of a pair, sorted: how many lie below an end, equal a value, repeat."""

from __future__ import annotations

from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Hits: TypeAlias = NDArray[np.int64]


class Numbers:
    """Sorted numbers without nan.

    >>> numbers = Numbers(np.array([0.0, 0.0, 0.0, 1.0]))
    >>> numbers.below(np.array([0.5])).tolist(), numbers.equal_to(np.array([1.0])).tolist(), numbers.repeats
    ([3], [1], {0.0: 2})
    """

    def __init__(self, ascending: Floats) -> None:
        self.ascending = ascending

    def __len__(self) -> int:
        return len(self.ascending)

    def below(self, ends: Floats) -> Hits:
        """How many are less than each of the ends."""
        return self.ascending.searchsorted(ends)

    def equal_to(self, values: Floats) -> Hits:
        """How many equal each of the values."""
        return self.ascending.searchsorted(values, "right") - self.ascending.searchsorted(values)

    @cached_property
    def repeats(self) -> dict[float, int]:
        """The numbers that occur again and again, and how often they do after the first time."""
        numbers = self.ascending
        # Equal numbers are neighbours.
        last = np.flatnonzero(numbers[1:] != numbers[:-1])
        if len(last) >= len(numbers) - 1:
            return {}
        last = np.append(last, len(numbers) - 1)
        again = last.copy()
        again[1:] -= last[:-1] + 1
        often = np.flatnonzero(again >= max(2, len(numbers) // 5000))
        return dict(zip(numbers[last[often]].tolist(), again[often].tolist(), strict=True))
