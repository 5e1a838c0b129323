"""Mechanisms that answer with a choice: exponential mechanism, randomized response, RAPPOR, propose-test-release."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def exponential_mechanism(queries: Sequence[float], epsilon: float, rng: np.random.Generator) -> int:
    """Correct: index i with probability proportional to exp(ε q_i / 2); every query may change by one.

    "Mechanism Design via Differential Privacy", McSherry & Talwar 2007.
    """
    return _pick(queries, epsilon / 2, rng)


def exponential_mechanism_no_half(queries: Sequence[float], epsilon: float, rng: np.random.Generator) -> int:
    """Wrong: exp(ε q_i) forgets that the normaliser changes too; it provides 2ε."""
    return _pick(queries, epsilon, rng)


def _pick(queries: Sequence[float], rate: float, rng: np.random.Generator) -> int:
    top = max(queries)
    weights = [math.exp(rate * (query - top)) for query in queries]
    u = rng.random() * sum(weights)
    for index, weight in enumerate(weights[:-1]):
        if u < weight:
            return index
        u = u - weight
    return len(weights) - 1


def randomized_response(bits: Sequence[int], epsilon: float, rng: np.random.Generator) -> list[bool]:
    """Correct: each bit told truly with probability e^ε/(1 + e^ε); one bit may change."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    return [(rng.random() < truth) == bool(bit) for bit in bits]


def randomized_response_coins(bits: Sequence[int], epsilon: float, rng: np.random.Generator) -> list[bool]:
    """Wrong below log 3: Warner's two coins (the truth with probability 3/4), whatever ε was asked for."""
    return [(rng.random() < 0.75) == bool(bit) for bit in bits]


def rappor(values: Sequence[int], epsilon: float, categories: int, rng: np.random.Generator) -> list[bool]:
    """Correct: the value as one bit of many, each bit told with ε/2, for two bits change with the value.

    "RAPPOR", Erlingsson, Pihur & Korolova 2014, permanent response with one hash function.
    """
    return _unary(values, epsilon / 2, categories, rng)


def rappor_one_bit(values: Sequence[int], epsilon: float, categories: int, rng: np.random.Generator) -> list[bool]:
    """Wrong: each bit told with ε, as if one bit changed; it provides 2ε."""
    return _unary(values, epsilon, categories, rng)


def _unary(values: Sequence[int], epsilon: float, categories: int, rng: np.random.Generator) -> list[bool]:
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    return [(rng.random() < truth) == (value == category) for value in values for category in range(categories)]


def propose_test_release(
    queries: Sequence[float], epsilon: float, delta: float, rng: np.random.Generator
) -> int | None:
    """Correct: the largest query's index, if a noisy distance says that no neighbour has another; else None.

    "Differential Privacy and Robust Statistics", Dwork & Lei 2009. One query may change by one, the gap by one.
    """
    ranked = sorted(queries, reverse=True)
    distance = ranked[0] - ranked[1] - 1
    if distance + rng.laplace(scale=1 / epsilon) > math.log(1 / (2 * delta)) / epsilon:
        return int(np.argmax(queries))
    return None


def propose_test_release_plain(
    queries: Sequence[float], epsilon: float, delta: float, rng: np.random.Generator
) -> int | None:
    """Wrong: forgets the margin for neighbours and for delta, and asks only for a positive noisy gap."""
    ranked = sorted(queries, reverse=True)
    if ranked[0] - ranked[1] + rng.laplace(scale=1 / epsilon) > 0:
        return int(np.argmax(queries))
    return None
