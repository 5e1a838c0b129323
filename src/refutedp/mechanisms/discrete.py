"""Noise on integers; adjacent inputs differ in one query by one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

_REACH = 40
"""Beyond so many standard deviations a discrete Gaussian has less mass than a float can show."""


def discrete_laplace(queries: Sequence[int], epsilon: float, rng: np.random.Generator) -> list[int]:
    """Correct: the difference of two geometric variables with ratio e^-ε.

    "Universally Utility-Maximizing Privacy Mechanisms", Ghosh, Roughgarden & Sundararajan 2009.
    """
    p = 1 - math.exp(-epsilon)
    return [query + rng.geometric(p) - rng.geometric(p) for query in queries]


def discrete_laplace_one_sided(queries: Sequence[int], epsilon: float, rng: np.random.Generator) -> list[int]:
    """Wrong: one geometric variable only pushes upwards, so the smallest output distinguishes the inputs."""
    p = 1 - math.exp(-epsilon)
    return [query + rng.geometric(p) for query in queries]


def discrete_gaussian(queries: Sequence[int], rho: float, rng: np.random.Generator) -> list[int]:
    """Correct: P(k) proportional to exp(-k^2 / (2 sigma^2)) with sigma^2 = 1/(2 rho): rho-zCDP.

    "The Discrete Gaussian for Differential Privacy", Canonne, Kamath & Steinke 2020.
    """
    return _discrete_gaussian(queries, math.sqrt(1 / (2 * rho)), rng)


def discrete_gaussian_variance(queries: Sequence[int], rho: float, rng: np.random.Generator) -> list[int]:
    """Wrong: 1/(2 rho) is the variance, and is used as the standard deviation."""
    return _discrete_gaussian(queries, 1 / (2 * rho), rng)


def _discrete_gaussian(queries: Sequence[int], sigma: float, rng: np.random.Generator) -> list[int]:
    reach = math.ceil(_REACH * sigma)
    support = np.arange(-reach, reach + 1)
    weights = np.exp(-(support**2) / (2 * sigma**2))
    weights = weights / weights.sum()
    return [query + rng.choice(support, p=weights) for query in queries]
