"""Noisy max: which query is the largest? Correct when it returns the index, wrong when it returns the value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def noisy_max_laplace(queries: Sequence[float], epsilon: float, rng: np.random.Generator) -> int:
    """Correct: the index of the largest query under Laplace noise of scale 2/ε."""
    noisy = [query + rng.laplace(scale=2 / epsilon) for query in queries]
    return int(np.argmax(noisy))


def noisy_max_exponential(queries: Sequence[float], epsilon: float, rng: np.random.Generator) -> int:
    """Correct: the index of the largest query under exponential noise of scale 2/ε."""
    noisy = [query + rng.exponential(scale=2 / epsilon) for query in queries]
    return int(np.argmax(noisy))


def noisy_max_laplace_value(queries: Sequence[float], epsilon: float, rng: np.random.Generator) -> float:
    """Wrong: returns the largest noisy value instead of its index."""
    noisy = [query + rng.laplace(scale=2 / epsilon) for query in queries]
    return max(noisy)


def noisy_max_exponential_value(queries: Sequence[float], epsilon: float, rng: np.random.Generator) -> float:
    """Wrong: returns the largest noisy value instead of its index; its support depends on the data."""
    noisy = [query + rng.exponential(scale=2 / epsilon) for query in queries]
    return max(noisy)
