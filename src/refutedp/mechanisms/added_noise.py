"""Noise added to queries: Gaussian, discrete, truncated Laplace and staircase, and on a random sample of records.

Adjacent inputs differ in one query by one; those of a sample by one record added or removed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

_REACH = 40
"""Beyond so many standard deviations a discrete Gaussian has less mass than a float can show."""


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


def _with_cut_laplace(
    queries: Sequence[float], epsilon: float, bound: float, rng: np.random.Generator
) -> list[float]:
    """Laplace noise of scale 1/ε for each query, given that it is at most `bound` in size."""
    kept = -math.expm1(-epsilon * bound)
    out = []
    for query in queries:
        size = -np.log1p(-kept * rng.random()) / epsilon
        sign = 1 - 2 * (rng.random() < 0.5)
        out.append(query + sign * size)
    return out


def truncated_laplace(
    queries: Sequence[float], epsilon: float, delta: float, rng: np.random.Generator
) -> list[float]:
    """(ε, δ)-DP: Laplace noise cut off at log(1 + (e^ε - 1)/(2δ))/ε. Not ε-DP for any ε.

    "Tight Analysis of Privacy and Utility Tradeoff in Approximate Differential Privacy", Geng et al. 2020.
    """
    bound = math.log1p(math.expm1(epsilon) / (2 * delta)) / epsilon
    return _with_cut_laplace(queries, epsilon, bound, rng)


def truncated_laplace_too_short(
    queries: Sequence[float], epsilon: float, delta: float, rng: np.random.Generator
) -> list[float]:
    """Wrong: cut off at log(1/δ)/(2ε), as if the tail were lighter than it is; it provides a delta far above δ."""
    bound = math.log(1 / delta) / (2 * epsilon)
    return _with_cut_laplace(queries, epsilon, bound, rng)


def staircase(queries: Sequence[float], epsilon: float, rng: np.random.Generator) -> list[float]:
    """Correct: the staircase density with the step where the expected size of the noise is least.

    "The Staircase Mechanism in Differential Privacy", Geng, Kairouz, Oh & Viswanath 2015, Algorithm 1.
    """
    return _with_stairs(queries, epsilon, 1, rng)


def staircase_from_one(queries: Sequence[float], epsilon: float, rng: np.random.Generator) -> list[float]:
    """Wrong: NumPy's geometric variables start at one, so that noise smaller than one never occurs."""
    return _with_stairs(queries, epsilon, 0, rng)


def _with_stairs(queries: Sequence[float], epsilon: float, first: int, rng: np.random.Generator) -> list[float]:
    """Staircase noise for each query, its steps a geometric variable less `first`."""
    b = math.exp(-epsilon)
    gamma = 1 / (1 + math.exp(epsilon / 2))
    out = []
    for query in queries:
        steps = rng.geometric(1 - b) - first
        low = rng.random() < gamma / (gamma + (1 - gamma) * b)
        u = rng.random()
        size = steps + low * gamma * u + (1 - low) * (gamma + (1 - gamma) * u)
        sign = 1 - 2 * (rng.random() < 0.5)
        out.append(query + sign * size)
    return out


def sampled_count(records: Sequence[int], epsilon: float, sampling: float, rng: np.random.Generator) -> float:
    """Laplace noise of scale 1/ε on the number of records kept, each with probability `sampling`.

    It provides log(1 + sampling (e^ε - 1)), and not sampling times ε: "Privacy Amplification by Subsampling", Balle,
    Barthe & Gaboardi 2018, Theorem 8.
    """
    return _sampled(records, sampling, rng) + rng.laplace(scale=1 / epsilon)


def sampled_gaussian(records: Sequence[int], sigma: float, sampling: float, rng: np.random.Generator) -> float:
    """Gaussian noise on the number of records kept, each with probability `sampling`."""
    return _sampled(records, sampling, rng) + rng.normal(scale=sigma)


def _sampled(records: Sequence[int], sampling: float, rng: np.random.Generator) -> int:
    count = 0
    for _ in records:
        count = count + (rng.random() < sampling)
    return count
