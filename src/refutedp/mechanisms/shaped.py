"""Noise of other shapes: truncated Laplace and staircase. Adjacent inputs differ in one query by one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


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
    b = math.exp(-epsilon)
    gamma = 1 / (1 + math.exp(epsilon / 2))
    out = []
    for query in queries:
        steps = rng.geometric(1 - b) - 1
        low = rng.random() < gamma / (gamma + (1 - gamma) * b)
        u = rng.random()
        size = steps + low * gamma * u + (1 - low) * (gamma + (1 - gamma) * u)
        sign = 1 - 2 * (rng.random() < 0.5)
        out.append(query + sign * size)
    return out


def staircase_from_one(queries: Sequence[float], epsilon: float, rng: np.random.Generator) -> list[float]:
    """Wrong: NumPy's geometric variables start at one, so that noise smaller than one never occurs."""
    b = math.exp(-epsilon)
    gamma = 1 / (1 + math.exp(epsilon / 2))
    out = []
    for query in queries:
        steps = rng.geometric(1 - b)
        low = rng.random() < gamma / (gamma + (1 - gamma) * b)
        u = rng.random()
        size = steps + low * gamma * u + (1 - low) * (gamma + (1 - gamma) * u)
        sign = 1 - 2 * (rng.random() < 0.5)
        out.append(query + sign * size)
    return out
