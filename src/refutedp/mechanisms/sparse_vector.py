"""The sparse vector technique: which queries lie above a threshold? One correct version, four published mistakes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def svt(
    queries: Sequence[float],
    epsilon: float,
    threshold: float,
    bound: int,
    rng: np.random.Generator,
    sensitivity: float = 1.0,
) -> list[bool]:
    """Correct: noise on the threshold and on every query, and a stop after `bound` answers above."""
    out: list[bool] = []
    noisy_threshold = threshold + rng.laplace(scale=2 * sensitivity / epsilon)
    count = 0
    for query in queries:
        if query + rng.laplace(scale=4 * bound * sensitivity / epsilon) >= noisy_threshold:
            out.append(True)
            count += 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


def isvt1(
    queries: Sequence[float],
    epsilon: float,
    threshold: float,
    rng: np.random.Generator,
    sensitivity: float = 1.0,
) -> list[bool]:
    """Wrong: adds no noise to the queries, and never stops."""
    out: list[bool] = []
    noisy_threshold = threshold + rng.laplace(scale=2 * sensitivity / epsilon)
    for query in queries:
        if query >= noisy_threshold:
            out.append(True)
        else:
            out.append(False)
    return out


def isvt2(
    queries: Sequence[float],
    epsilon: float,
    threshold: float,
    rng: np.random.Generator,
    sensitivity: float = 1.0,
) -> list[bool]:
    """Wrong: never stops, however many answers lie above."""
    out: list[bool] = []
    noisy_threshold = threshold + rng.laplace(scale=2 * sensitivity / epsilon)
    for query in queries:
        if query + rng.laplace(scale=2 * sensitivity / epsilon) >= noisy_threshold:
            out.append(True)
        else:
            out.append(False)
    return out


def isvt3(
    queries: Sequence[float],
    epsilon: float,
    threshold: float,
    bound: int,
    rng: np.random.Generator,
    sensitivity: float = 1.0,
) -> list[bool]:
    """Wrong: the noise on the queries does not grow with `bound`; it provides (1 + 6 bound)/4 times ε."""
    out: list[bool] = []
    noisy_threshold = threshold + rng.laplace(scale=4 * sensitivity / epsilon)
    count = 0
    for query in queries:
        if query + rng.laplace(scale=4 * sensitivity / (3 * epsilon)) >= noisy_threshold:
            out.append(True)
            count += 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


def isvt4(
    queries: Sequence[float],
    epsilon: float,
    threshold: float,
    bound: int,
    rng: np.random.Generator,
    sensitivity: float = 1.0,
) -> list[bool | float]:
    """Wrong: answers above the threshold are returned as noisy values, with the noise that decided on them."""
    out: list[bool | float] = []
    noisy_threshold = threshold + rng.laplace(scale=2 * sensitivity / epsilon)
    count = 0
    for query in queries:
        noisy_query = query + rng.laplace(scale=2 * bound * sensitivity / epsilon)
        if noisy_query >= noisy_threshold:
            out.append(noisy_query)
            count += 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out
