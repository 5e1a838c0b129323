"""Mechanisms written as people write NumPy: noise in one call, then arithmetic on whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def noisy_argmax(queries: Sequence[float], epsilon: float, rng: np.random.Generator) -> int:
    """Report noisy max with Laplace noise."""
    return int(np.argmax(np.asarray(queries) + rng.laplace(scale=2 / epsilon, size=len(queries))))


def noisy_argmax_exponential(queries: Sequence[float], epsilon: float, rng: np.random.Generator) -> int:
    """Report noisy max with exponential noise."""
    return int(np.argmax(np.asarray(queries) + rng.exponential(scale=2 / epsilon, size=len(queries))))


def noisy_counts(queries: Sequence[float], epsilon: float, rng: np.random.Generator) -> Any:
    """A histogram, rounded and cut off at zero."""
    return np.maximum(np.round(np.asarray(queries) + rng.laplace(scale=1 / epsilon, size=len(queries))), 0)


def first_above(queries: Sequence[float], epsilon: float, rng: np.random.Generator) -> int:
    """The first query above a noisy threshold, or -1."""
    noisy = np.asarray(queries) + rng.laplace(scale=4 / epsilon, size=len(queries))
    above = noisy >= 1 + rng.laplace(scale=2 / epsilon)
    return int(np.argmax(above)) if above.any() else -1


def clipped_sum(queries: Sequence[float], epsilon: float, rng: np.random.Generator) -> float:
    """A sum of clipped values, clipped again once it is noisy."""
    total = np.sum(np.clip(np.asarray(queries, dtype=float), 0, 1))
    return float(np.clip(total + rng.laplace(scale=1 / epsilon), 0, len(queries)))


def exponential_choice(queries: Sequence[float], epsilon: float, rng: np.random.Generator) -> int:
    """The exponential mechanism."""
    scores = np.asarray(queries, dtype=float)
    weights = np.exp(epsilon * (scores - scores.max()) / 2)
    return int(rng.choice(len(queries), p=weights / weights.sum()))


ARRAY_STYLE: tuple[Callable[..., Any], ...] = (
    noisy_argmax,
    noisy_argmax_exponential,
    noisy_counts,
    first_above,
    clipped_sum,
    exponential_choice,
)
