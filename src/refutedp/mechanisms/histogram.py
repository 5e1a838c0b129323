"""Noisy histograms: adjacent inputs differ in one count by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def histogram(queries: Sequence[float], epsilon: float, rng: np.random.Generator) -> list[float]:
    """Correct: Laplace noise of scale 1/ε on every count."""
    return [query + rng.laplace(scale=1 / epsilon) for query in queries]


def histogram_wrong_scale(queries: Sequence[float], epsilon: float, rng: np.random.Generator) -> list[float]:
    """Wrong: the scale is ε where it should be 1/ε, so that it provides 1/ε-differential privacy."""
    return [query + rng.laplace(scale=epsilon) for query in queries]
