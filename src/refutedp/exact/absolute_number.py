"""The absolute value of a number that was drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from refutedp.exact.drawn_number import DrawnNumber
from refutedp.exact.linear_sums import plain
from refutedp.tracing.rng_proxy import Traced


class AbsoluteNumber(Traced):
    """The absolute value of a number: compared with a plain one without asking for the sign, else by cases."""

    __slots__ = ("_case", "inner")
    __array_priority__ = 1000

    def __init__(self, inner: DrawnNumber) -> None:
        self.inner = inner
        self._case: Any = None

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self.inner.kind

    def cased(self) -> Any:
        """The number or its negative, whichever is positive on this path."""
        if self._case is None:
            self._case = self.inner if self.inner >= 0 else -self.inner
        return self._case

    def _within(self, end: float, strict: bool) -> bool:
        """Whether it is at most `end`, or below: a function of the draws may have steps there."""
        if end < 0 or (strict and end == 0):
            return False
        bounds = self.inner.bound(-end, not strict), self.inner.bound(end, strict)
        ends = sorted((bound, upwards) for _, bound, upwards, _ in bounds)
        return self.inner.trail.inside(self.inner.linear, ends[0][0], ends[1][0])

    def __abs__(self) -> AbsoluteNumber:
        return self


def _compared(name: str) -> Callable[[AbsoluteNumber, Any], Any]:
    def compare(self: AbsoluteNumber, other: Any) -> Any:
        number = plain(other)
        if number is None or math.isnan(number) or math.isinf(number) or self._case is not None:
            return getattr(self.cased(), name)(other)
        within = self._within(number, name in ("__lt__", "__ge__"))
        return within if name in ("__lt__", "__le__") else not within

    return compare


def _by_cases(name: str) -> Callable[..., Any]:
    def compute(self: AbsoluteNumber, *others: Any) -> Any:
        mine = self.cased()
        return getattr(mine, name)(
            *(other.cased() if isinstance(other, AbsoluteNumber) else other for other in others)
        )

    return compute


for _name in ("__lt__", "__le__", "__gt__", "__ge__"):
    setattr(AbsoluteNumber, _name, _compared(_name))
for _name in (
    *("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__", "__neg__"),
    *("__floordiv__", "__mod__", "__pow__", "__eq__", "__ne__", "__bool__", "__hash__", "__int__", "__float__"),
    *("__round__", "__floor__", "__ceil__", "__trunc__", "exp", "expm1", "log", "log1p", "sqrt", "rint", "round"),
    *("clip", "cast", "item"),
):
    setattr(AbsoluteNumber, _name, _by_cases(_name))
