"""Among equally good values, the one a person would choose: small whole numbers, then halves, then few decimals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

# Beyond this width the middle of an interval means nothing to a reader; values near zero are simpler.
_WIDE = 20
_STEPS = (Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 10), Fraction(1, 100), Fraction(1, 10_000))


@dataclass(frozen=True, slots=True)
class Bounds:
    """Values from `low` to `high`, None where it is unbounded; whether an end belongs to it is not said."""

    low: Fraction | None
    high: Fraction | None

    def inside(self, value: Fraction) -> bool:
        """Whether the value lies strictly inside."""
        return (self.low is None or value > self.low) and (self.high is None or value < self.high)


def readable_reals(interval: Bounds) -> Iterator[Fraction]:
    """Values to try in order: strictly inside first, since a value on the edge separates the two inputs worst.

    >>> next(readable_reals(Bounds(Fraction(1), Fraction(2))))
    Fraction(3, 2)
    >>> next(readable_reals(Bounds(None, None)))
    Fraction(1, 1)
    """
    low, high = interval.low, interval.high
    if low is not None and low == high:
        yield low
        return
    if low is None or high is None or high - low > _WIDE:
        if interval.inside(Fraction(1)):
            yield Fraction(1)
        target = Fraction(0)
        if low is not None and low >= 0:
            target = low + 1
        elif high is not None and high <= 0:
            target = high - 1
    else:
        target = (low + high) / 2
    for step in _STEPS:
        nearest = round(target / step) * step
        around = sorted((nearest - step, nearest, nearest + step), key=lambda v: (abs(v - target), abs(v)))
        yield from (value for value in around if interval.inside(value))
    yield target
    yield from (end for end in (high, low) if end is not None)


def readable_integers(reach: int = 64) -> Iterator[int]:
    """1, 2, 3, ... first (a bound of 0 is rarely meant), then 0, -1, -2, ...

    >>> list(readable_integers(2))
    [1, 2, 0, -1, -2]
    """
    yield from range(1, reach + 1)
    yield from range(0, -reach - 1, -1)
