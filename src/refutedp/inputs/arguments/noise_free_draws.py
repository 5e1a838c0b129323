"""Draws of a run that is followed: noise-free and watched, their scales recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from refutedp.inputs.arguments.arrays_of_terms import filled
from refutedp.inputs.arguments.explore import Tracing
from refutedp.inputs.arguments.following import CannotFollow
from refutedp.inputs.arguments.sites import location
from refutedp.inputs.arguments.terms_of_a_run import Number, Truth, watched
from refutedp.tracing.distributions import Distribution, Noise
from refutedp.tracing.without_noise import NoiseFree


class FollowedDraws(NoiseFree):
    """Gives noise-free values, as noisy numbers of the current run."""

    __slots__ = ("_current",)

    def __init__(self, current: Callable[[], Tracing]) -> None:
        self._current = current

    def draw(self, distribution: Distribution, params: tuple[Any, ...], size: Any) -> Any:
        """A noisy number, or an array of them; counted against the limits."""
        self._current().tick()
        return super().draw(distribution, params, size)

    def choose(self, distribution: str, options: Any, size: Any, p: Any, replace: bool) -> Any:
        """A watched element, or an array of them; counted against the limits."""
        self._current().tick()
        return super().choose(distribution, options, size, p, replace)

    def record(self, noise: Noise, rows: list[tuple[Any, ...]]) -> None:
        """Record each scale once."""
        if noise.scale is None:
            return
        for width in _distinct([noise.scale(*row) for row in rows]):
            if not watched(width) and width < 0:
                raise ValueError("scale < 0")
            self._current().record_scale(width)

    def number(self, value: Any, convert: Callable[[Any], Any] | None = None) -> Any:
        """A noisy number; what is none, as it is."""
        if type(value) is Truth:
            value = value.number()
        if type(value) is Number:
            return Number(self._current(), value.value, noisy=True)
        if isinstance(value, np.generic):
            value = value.item()
        return Number(self._current(), value, noisy=True) if isinstance(value, int | float) else value

    def array(self, values: list[Any], shape: tuple[int, ...]) -> Any:
        """An array of watched numbers."""
        return filled(values, shape)

    def refuse(self, why: str) -> NoReturn:
        """Give up the path."""
        raise CannotFollow(f"{location()} {why.removeprefix('it ')}")


def _distinct(values: list[Any]) -> list[Any]:
    seen: dict[Any, Any] = {}
    for value in values:
        inner = value.value if type(value) is Number else value
        seen.setdefault(inner.get_id() if hasattr(inner, "get_id") else inner, value)
    return list(seen.values())
