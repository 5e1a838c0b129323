"""Gaussian noise drawn within a half-space: given that its part along some direction is at least a number, or less.

Independent Gaussian draws look the same from every direction. So the part along one is a Gaussian draw itself, drawn
here from its tail, and the rest is drawn as ever: these are plain runs, given that they lie there, and the weight of
all of them is the probability of the half-space. All of the noise is drawn before the run: a run that wants other
draws is not what its plan was made for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.noise.shared_noise import Key, SharedNoise
from refutedp.tracing.affine_runs import DrawMade
from refutedp.tracing.distributions import Source

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class HalfSpace:
    """All standard noise of some draws whose part along a direction, of length 1, is at least `edge`.

    >>> space = HalfSpace((DrawMade(0, "normal", None),), np.array([1.0]), 1.0)
    >>> drawn = TailNoise(1000, space, np.random.default_rng(0)).columns[Key(0, "normal", None)][0]
    >>> bool((drawn >= 1).all()), round(space.log_probability, 3)
    (True, -1.841)
    """

    draws: tuple[DrawMade, ...]
    direction: Floats
    edge: float

    @property
    def log_probability(self) -> float:
        """log of how likely noise lies there."""
        from scipy import special

        return float(special.log_ndtr(-self.edge))


class TailNoise(SharedNoise):
    """Noise of `n` runs within a half-space, or outside."""

    # Calls that finish a few runs get it, too.
    weighted = True

    def __init__(self, n: int, space: HalfSpace, rng: np.random.Generator, *, outside: bool = False) -> None:
        from scipy import special

        super().__init__(n)
        along = special.ndtr(space.edge if outside else -space.edge) * (1 - rng.random(n))
        along = (
            np.minimum(special.ndtri(along), space.edge) if outside else np.maximum(-special.ndtri(along), space.edge)
        )
        normal = rng.standard_normal((len(space.direction), n))
        normal += np.multiply.outer(space.direction, along - space.direction @ normal)
        start = 0
        for draw in space.draws:
            rows = normal[start : start + draw.size]
            start += draw.size
            values = rows[0] if draw.shape is None else rows.reshape(*draw.shape, n)
            self.columns[Key(*_fields(draw))] = (np.moveaxis(values, -1, 0), None)

    def fresh(self, key: Key, runs: Array | None, source: Source) -> Array:
        """Such a draw was not foreseen."""
        self.foreseen = False
        return super().fresh(key, runs, source)

    foreseen = True
    """Whether the runs asked for no other draws."""


def _fields(draw: DrawMade) -> tuple[int, str, tuple[int, ...] | None]:
    return draw.position, draw.distribution, draw.shape
