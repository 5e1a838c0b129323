"""Which parameter is what: the claim's numbers, generators and seeds reach it, and no noise is made up."""

from __future__ import annotations

import random

import numpy as np
import pytest

from refutedp import ONE_DIFFERS, ApproxDP, PureDP, UsageError, Verdict, check
from refutedp.model.mechanism import describe

SMALL = {"search_runs": 2000, "confirm_runs": 10_000, "lengths": (1,), "adjacency": ONE_DIFFERS}


def privacy_budget(queries, privacy_budget, rng):
    return queries[0] + rng.laplace(scale=1 / privacy_budget)


def generator(queries, epsilon, generator):
    return queries[0] + generator.laplace(scale=1 / epsilon)


def annotated(queries, epsilon, source: np.random.Generator):
    return queries[0] + source.laplace(scale=1 / epsilon)


def random_state(queries, epsilon, random_state):
    return queries[0] + random_state.laplace(scale=1 / epsilon) + 0 * random_state.randn()


def python_random(queries, epsilon, source: random.Random):
    return queries[0] + source.expovariate(epsilon) - source.expovariate(epsilon)


def seed(queries, epsilon, seed):
    return queries[0] + np.random.default_rng(seed).laplace(scale=1 / epsilon)


def seed_or_none(queries, epsilon, seed=None):
    return queries[0] + np.random.default_rng(seed).laplace(scale=1 / epsilon)


@pytest.mark.parametrize(
    "function", [privacy_budget, generator, annotated, random_state, python_random, seed, seed_or_none]
)
def test_a_correct_mechanism_gets_what_it_needs_and_is_not_convicted(function):
    result = check(function, epsilon=0.5, **SMALL)
    assert result.verdict is not Verdict.VIOLATION
    assert result.evidence.epsilon_lower_bound > 0.2, "it was tested with the ε that it claims"
    assert result == check(function, epsilon=0.5, **SMALL), "a seed repeats it"


def fixed_seed(queries, epsilon, seed=42):
    return queries[0] + np.random.default_rng(seed).laplace(scale=1 / epsilon)


def test_a_seed_that_the_author_fixed_stays_fixed():
    assert check(fixed_seed, epsilon=0.5, **SMALL).verdict is Verdict.VIOLATION


def sigma(queries, sigma, rng):
    return queries[0] + rng.normal(scale=sigma)


def sigma_beside_epsilon(queries, epsilon, sigma, rng):
    return queries[0] + rng.normal(scale=sigma) + rng.laplace(scale=1 / epsilon)


def delta(queries, epsilon, delta, rng):
    return queries[0] + rng.normal(scale=np.sqrt(2 * np.log(1.25 / delta)) / epsilon)


def spread(queries, spread, rng):
    return queries[0] + rng.laplace(scale=spread)


@pytest.mark.parametrize(
    ("function", "says"),
    [(sigma, "'sigma'"), (sigma_beside_epsilon, "'sigma'"), (delta, "'delta'"), (spread, "'spread'")],
)
def test_nobody_but_the_user_chooses_the_noise(function, says):
    with pytest.raises(UsageError, match=says) as caught:
        check(function, epsilon=0.5, **SMALL)
    assert "args=" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_the_claim_has_is_handed_over():
    result = check(delta, ApproxDP(0.5, 1e-5), **SMALL)
    assert result.evidence.pair.arguments["delta"] == 1e-5
    assert result.verdict is not Verdict.VIOLATION


def test_an_argument_that_only_stretches_noise_is_found_where_epsilon_reaches_it():
    def stretched(queries, epsilon, sensitivity, rng):
        return queries[0] + rng.laplace(scale=sensitivity / epsilon)

    assert check(stretched, epsilon=0.5, **SMALL).evidence.pair.arguments["sensitivity"] == 1


def test_roles():
    assert describe(random_state).draws_from == "legacy"
    assert describe(python_random).rng == "source"
    assert describe(seed).seed == "seed"
    assert describe(fixed_seed).seed is None
    assert describe(privacy_budget).epsilon == "privacy_budget"
    assert check(generator, PureDP(0.5), **SMALL).evidence.pair.arguments == {"epsilon": 0.5}
