"""A noisy count of a random sample of the records; adjacent inputs differ by one record added or removed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def sampled_count(records: Sequence[int], epsilon: float, sampling: float, rng: np.random.Generator) -> float:
    """Laplace noise of scale 1/ε on the number of records kept, each with probability `sampling`.

    It provides log(1 + sampling (e^ε - 1)), and not sampling times ε: "Privacy Amplification by Subsampling", Balle,
    Barthe & Gaboardi 2018, Theorem 8.
    """
    count = 0
    for _ in records:
        count = count + (rng.random() < sampling)
    return count + rng.laplace(scale=1 / epsilon)


def sampled_gaussian(records: Sequence[int], sigma: float, sampling: float, rng: np.random.Generator) -> float:
    """Gaussian noise on the number of records kept, each with probability `sampling`."""
    count = 0
    for _ in records:
        count = count + (rng.random() < sampling)
    return count + rng.normal(scale=sigma)
