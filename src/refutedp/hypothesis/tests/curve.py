"""A claim's bound on a stretch of rates, evaluated often: exact where that is cheap, by its tangents where not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.model.claims import ZCDP, Claim, RenyiDP

Floats: TypeAlias = NDArray[np.float64]

_NODES = 25


def upper_curve(claim: Claim, low: float, high: float) -> Callable[[Floats], Floats]:
    """A function that is never below `claim.largest`, and hardly above it for rates between `low` and `high`.

    >>> from refutedp.model.claims import GaussianDP
    >>> float(upper_curve(GaussianDP(1.0), 0.0, 1.0)(np.array([0.5]))[0]) == GaussianDP(1.0).largest(0.5)
    True
    """
    if not isinstance(claim, (ZCDP, RenyiDP)):
        return claim.largest
    nodes = np.sin(np.linspace(math.asin(math.sqrt(max(low, 1e-9 * high))), math.asin(math.sqrt(high)), _NODES)) ** 2
    slopes, intercepts = claim.tangents_at(np.clip(nodes, 1e-300, 1 - 1e-9))

    def bound(p2: Floats) -> Floats:
        return np.asarray(np.minimum((slopes * p2[..., None] + intercepts).min(axis=-1), 1.0))

    return bound
