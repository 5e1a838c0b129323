"""Densities and probabilities of intervals by the column, for integrals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.exact.families import DrawFamily

Floats: TypeAlias = NDArray[np.float64]


def _erfc(x: Floats) -> Floats:
    from scipy.special import erfc

    return np.asarray(erfc(x))


_TAILS: Mapping[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "laplace": (
        lambda x: np.where(x < 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2),
        lambda x: np.where(x > 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2),
    ),
    "normal": (lambda x: _erfc(-x / math.sqrt(2)) / 2, lambda x: _erfc(x / math.sqrt(2)) / 2),
    "uniform": (lambda x: np.clip(x, 0, 1), lambda x: np.clip(1 - x, 0, 1)),
    "exponential": (lambda x: -np.expm1(-np.maximum(x, 0)), lambda x: np.exp(-np.maximum(x, 0))),
    "gumbel": (lambda x: np.exp(-np.exp(-x)), lambda x: -np.expm1(-np.exp(-x))),
    "logistic": (lambda x: 1 / (1 + np.exp(-x)), lambda x: 1 / (1 + np.exp(x))),
}
"""P(X <= x) and P(X > x)."""


def densities(family: DrawFamily, x: Floats) -> Floats:
    """The density of a family at many places."""
    assert family.density is not None, "whole numbers have no density"
    if family.name == "laplace":
        return np.asarray(np.exp(-np.abs(x)) / 2)
    if family.name == "normal":
        return np.asarray(np.exp(-x * x / 2) / math.sqrt(2 * math.pi))
    return np.array([family.density(value) for value in x.ravel().tolist()]).reshape(x.shape)


def masses(family: DrawFamily, start: Floats, end: Floats) -> Floats:
    """P(start < X <= end) for many pairs of ends: the difference of whichever tails are small."""
    tails = _TAILS.get(family.name)
    with np.errstate(all="ignore"):
        if tails is None:
            each = [sum(family.mass(*ends)) / 2 for ends in zip(start.ravel(), end.ravel(), strict=True)]
            return np.array(each).reshape(start.shape)
        cdf, sf = tails
        right = start >= family.middle
        return np.asarray(np.maximum(np.where(right, sf(start) - sf(end), cdf(end) - cdf(start)), 0.0))
