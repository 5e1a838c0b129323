"""Certified bounds against the exact ε of the pair: no more of them lie above it than their confidence permits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from refutedp import check
from refutedp.exact.pair_loss import pair_loss
from refutedp.exact.path_list import Enumerator
from refutedp.model.mechanism import describe

SIGNIFICANCE = 0.05
"""At the usual .001 hardly any bound would be tested."""
BUDGET = {"search_runs": 500, "confirm_runs": 3000, "significance": SIGNIFICANCE, "paths": 0, "float_leaks": "ignore"}


def randomized_response(data, rng):
    return data[0] if rng.random() < 0.75 else 1 - data[0]


def counting(data, rng):
    return data[0] + rng.laplace(scale=1 / 0.7)


def geometric(data, rng):
    p = 1 - math.exp(-0.3)
    return data[0] + int(rng.geometric(p)) - int(rng.geometric(p))


def exponential(data, rng):
    weights = np.exp(0.35 * np.array(data))
    return int(rng.choice(len(data), p=weights / weights.sum()))


def noisy_max(data, rng):
    return int(np.argmax([query + rng.laplace(scale=2.0) for query in data]))


def sparse_vector(data, rng):
    threshold, answers = 1 + rng.laplace(scale=2.0), []
    for query in data:
        above = query + rng.laplace(scale=4.0) >= threshold
        answers.append(bool(above))
        if above:
            break
    return answers


CASES = {
    randomized_response: ([0], [1]),
    counting: ([1], [2]),
    geometric: ([1], [2]),
    exponential: ([1, 1, 1], [2, 0, 0]),
    noisy_max: ([1, 1, 1], [0, 2, 2]),
    sparse_vector: ([1, 1, 1], [2, 2, 2]),
}


def contradictions(function, pair, seeds, part):
    """How many bounds lie above the exact ε, of which a part is claimed; valid ones pass the limit once in 10⁶."""
    enumerator = Enumerator(describe(function))
    exact = pair_loss(*(enumerator.paths(data, {}) for data in pair), 0.0).epsilon
    above, claimed = 0, part * exact.high
    for seed in range(seeds):
        evidence = check(function, epsilon=claimed, pairs=[pair], seed=seed, progress=False, **BUDGET).evidence
        assert evidence.confidence >= 1 - SIGNIFICANCE
        above += evidence.epsilon_lower_bound > exact.high
    return above, int(stats.binom(seeds, SIGNIFICANCE).isf(1e-6))


@pytest.mark.parametrize(
    ("function", "part", "seeds"),
    [(randomized_response, 0.5, 30), (randomized_response, 1.0, 30), (noisy_max, 1.0, 10)],
)
def test_bounds_do_not_contradict_the_exact_epsilon(function, part, seeds):
    """`python -m bench.exact_bounds` has 200 seeds of all of them."""
    above, limit = contradictions(function, CASES[function], seeds, part)
    assert above <= limit
