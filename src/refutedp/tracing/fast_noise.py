"""Standard noise by the column: the algorithms of NumPy's generators, done on whole arrays.

NumPy makes one number of Laplace noise from one uniform number and a logarithm of the C library. Here the same
uniform numbers go through the same operations an array at a time, which is several times faster. The values are
NumPy's own but for the logarithm, which on some processors differs in the last binary digit of one value in a few
hundred; who looks at last digits asks the generator itself (`Source.exact`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from refutedp.model.outputs import Array

BLOCK = 16_384
"""So many numbers at a time, which stay in the processor's cache while they are worked on."""
FEW = 256
"""Up to so many numbers the generator's own routine is faster."""


_SIGN = np.int64(-(2**63))


class Uniform(Protocol):
    """Whatever fills an array with uniform numbers, as NumPy's generators do."""

    def random(self, *, out: Array) -> Any:
        """Numbers of [0, 1)."""


def _laplace(u: Array, more: Array, sign: Array) -> None:
    np.subtract(2.0, u, out=more)
    more -= u
    np.subtract(u, 0.5, out=sign)
    u += u
    np.minimum(u, more, out=u)
    np.log(u, out=u)
    # What np.copysign does, in half the time.
    bits, signs = u.view(np.int64), sign.view(np.int64)
    signs &= _SIGN
    bits &= ~_SIGN
    bits |= signs


def _gumbel(u: Array, more: Array, _: Array) -> None:
    np.subtract(1.0, u, out=more)
    np.log(more, out=more)
    np.negative(more, out=more)
    np.log(more, out=more)
    np.negative(more, out=u)


def _logistic(u: Array, more: Array, _: Array) -> None:
    np.subtract(1.0, u, out=more)
    u /= more
    np.log(u, out=u)


def _exponential(u: Array, _: Array, __: Array) -> None:
    np.subtract(1.0, u, out=u)
    np.log(u, out=u)
    np.negative(u, out=u)


_TURN: dict[str, Callable[[Array, Array, Array], None]] = {
    "laplace": _laplace,
    "np.random.laplace": _laplace,
    "gumbel": _gumbel,
    "np.random.gumbel": _gumbel,
    "logistic": _logistic,
    "np.random.logistic": _logistic,
    # The new generators have a faster algorithm of their own for exponential noise.
    "np.random.exponential": _exponential,
    "np.random.standard_exponential": _exponential,
}
"""How each distribution turns uniform numbers, in place, into noise; with room for two numbers more for each."""


COLUMN_DISTRIBUTIONS = frozenset(_TURN)
"""The distributions that can be drawn by the column."""


def many(size: tuple[int, ...] | int) -> bool:
    """Whether so many numbers are wanted that columns are faster."""
    return (size if isinstance(size, int) else math.prod(size)) > FEW


def standard(distribution: str, generator: Uniform, size: tuple[int, ...] | int) -> Array:
    """Noise of location 0 and scale 1.

    >>> import numpy as np
    >>> ours = standard("laplace", np.random.default_rng(0), 1000)
    >>> bool(np.allclose(ours, np.random.default_rng(0).laplace(size=1000), rtol=1e-15))
    True
    """
    turn = _TURN[distribution]
    noise = np.empty(size)
    flat = noise.reshape(-1)
    aside, beside = np.empty((2, min(BLOCK, flat.size)))
    for start in range(0, flat.size, BLOCK):
        u = flat[start : start + BLOCK]
        generator.random(out=u)
        _without_zeros(u, generator)
        turn(u, aside[: u.size], beside[: u.size])
    return noise


def _without_zeros(u: Array, generator: Uniform) -> None:
    """Draw zeros anew, as NumPy does: their logarithm is infinite."""
    while u.min() == 0.0:
        zeros = np.flatnonzero(u == 0.0)
        fresh = np.empty(len(zeros))
        generator.random(out=fresh)
        u[zeros] = fresh
