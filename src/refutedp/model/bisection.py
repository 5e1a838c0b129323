"""Bisection of real intervals, for one number and for many at once; `bisect.bisect_left` with a key does integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


def _mean(low: float, high: float) -> float:
    return (low + high) / 2


def bisected(
    beyond: Callable[[float], bool],
    low: float,
    high: float,
    halvings: int = 80,
    close: float = 0.0,
    mean: Callable[[float, float], float] = _mean,
) -> tuple[float, float]:
    """The ends of the interval in which `beyond` turns true, after so many halvings or once it is `close`.

    >>> low, high = bisected(lambda x: x * x > 2, 0.0, 2.0, close=0.01)
    >>> low**2 <= 2 < high**2, high - low <= 0.01
    (True, True)
    """
    while halvings and high - low > close:
        middle = mean(low, high)
        low, high = (low, middle) if beyond(middle) else (middle, high)
        halvings -= 1
    return low, high


def all_bisected(
    beyond: Callable[[Floats], NDArray[np.bool_]], low: Floats, high: Floats, halvings: int
) -> tuple[Floats, Floats]:
    """The same for every element of two arrays."""
    for _ in range(halvings):
        middle = (low + high) / 2
        past = beyond(middle)
        low, high = np.where(past, low, middle), np.where(past, middle, high)
    return low, high
