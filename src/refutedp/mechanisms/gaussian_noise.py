"""Gaussian noise: the classical and the analytic calibration, and the composition of several releases.

Adjacent inputs differ in one query by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def gaussian_classical(
    queries: Sequence[float], epsilon: float, delta: float, rng: np.random.Generator
) -> list[float]:
    """The classical calibration sqrt(2 log(1.25/δ))/ε: (ε, δ)-DP for ε up to 1, too little noise for large ε.

    "The Algorithmic Foundations of Differential Privacy", Dwork & Roth 2014, Theorem A.1.
    """
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    return [query + rng.normal(scale=sigma) for query in queries]


def gaussian_analytic(
    queries: Sequence[float], epsilon: float, delta: float, rng: np.random.Generator
) -> list[float]:
    """Correct for every ε: the smallest sigma that is (ε, δ)-DP.

    "Improving the Gaussian Mechanism for Differential Privacy", Balle & Wang 2018.
    """
    sigma = analytic_sigma(epsilon, delta)
    return [query + rng.normal(scale=sigma) for query in queries]


def gaussian_analytic_variance(
    queries: Sequence[float], epsilon: float, delta: float, rng: np.random.Generator
) -> list[float]:
    """Wrong: passes the variance where NumPy wants the standard deviation; too little noise when sigma is below 1."""
    sigma = analytic_sigma(epsilon, delta)
    return [query + rng.normal(scale=sigma**2) for query in queries]


def gaussian_releases(queries: Sequence[float], mu: float, releases: int, rng: np.random.Generator) -> list[float]:
    """Correct: the first query released several times, with noise for all releases together: mu-GDP."""
    sigma = math.sqrt(releases) / mu
    return [queries[0] + rng.normal(scale=sigma) for _ in range(releases)]


def gaussian_releases_uncounted(
    queries: Sequence[float], mu: float, releases: int, rng: np.random.Generator
) -> list[float]:
    """Wrong: each release has the noise of a single one; together they are only mu sqrt(releases)-GDP."""
    return [queries[0] + rng.normal(scale=1 / mu) for _ in range(releases)]


def analytic_sigma(epsilon: float, delta: float) -> float:
    """The smallest sigma for sensitivity one, by bisection of delta(sigma).

    >>> round(analytic_sigma(1.0, 1e-5), 3)
    3.731
    """
    low, high = 1e-3, 1e3
    for _ in range(100):
        sigma = math.sqrt(low * high)
        first = _phi(1 / (2 * sigma) - epsilon * sigma)
        second = math.exp(epsilon) * _phi(-1 / (2 * sigma) - epsilon * sigma)
        low, high = (sigma, high) if first - second > delta else (low, sigma)
    return high


def _phi(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2
