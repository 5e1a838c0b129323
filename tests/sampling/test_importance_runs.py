"""Importance-sampled runs: weighed, they are plain runs. Oracles: closed forms, and plain lifted runs of the same
mechanism.

With fixed seeds, a bound of five standard errors fails by chance with probability below 1e-6 for each comparison,
once, when the seed is chosen.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from refutedp.detector.plan_importance import pilot_of
from refutedp.events.features.basic import Length, Statistic, Value
from refutedp.events.predicates import Equals, Interval
from refutedp.mechanisms import svt
from refutedp.model.mechanism import describe
from refutedp.model.records import Pair
from refutedp.model.settings import child
from refutedp.sampling.lifted.lifted_sampler import LiftedSampler
from refutedp.sampling.lifted.noise.importance_noise import MASSES, ImportanceNoise, Plan, plan_for
from refutedp.sampling.lifted.noise.shared_noise import Key, SharedNoise
from refutedp.tracing.distributions import DISTRIBUTIONS, Source

OUTPUT = Value()


def one(distribution, *parameters):
    def noisy(queries, rng):
        return queries[0] + getattr(rng, distribution)(*parameters)

    return noisy


def vector(queries, rng):
    return list(np.asarray(queries) + rng.normal(size=3))


def maximum(queries, rng):
    return max(q + rng.laplace(scale=2.0) for q in queries)


def sparse_vector(queries, rng):
    return svt(queries, 1.0, 1, 1, rng)


def more_noise_for_some(queries, rng):
    first = queries[0] + rng.laplace()
    return first + rng.laplace(scale=3.0) if first > 2 else first


def of_the_module(queries):
    return queries[0] + random.gauss(0.0, 1.0) + np.random.exponential()


def with_a_distribution_that_is_not_weighted(queries, rng):
    return queries[0] + rng.standard_t(5) + rng.laplace()


CASES = {
    "laplace": (one("laplace"), 1, Interval(OUTPUT, 6.0, None)),
    "normal": (one("normal"), 1, Interval(OUTPUT, None, -1.5)),
    "exponential": (one("exponential"), 1, Interval(OUTPUT, 6.0, None)),
    "gumbel": (one("gumbel"), 1, Interval(OUTPUT, 6.0, None)),
    "logistic": (one("logistic"), 1, Interval(OUTPUT, None, -4.0)),
    "uniform": (one("uniform", 0.0, 2.0), 1, Interval(OUTPUT, 2.9, None)),
    "random": (one("random"), 1, Interval(OUTPUT, 1.95, None)),
    "vector": (vector, 3, Interval(Statistic("max"), None, 0.0)),
    "maximum": (maximum, 3, Interval(OUTPUT, None, -1.0)),
    "sparse vector": (sparse_vector, 6, Equals(Length(), 6)),
    "noise for some": (more_noise_for_some, 1, Interval(OUTPUT, 9.0, None)),
    "modules": (of_the_module, 1, Interval(OUTPUT, 6.0, None)),
    "not importance-sampled": (with_a_distribution_that_is_not_weighted, 1, Interval(OUTPUT, 7.0, None)),
}


def runner_of(function, length):
    return LiftedSampler(describe(function), Pair([1.0] * length, [0.5] * length, "given"))


def plan_of(sampler, event, seed=0):
    """As `refutedp.detector.plan_importance` makes it: from runs that the plan before importance-sampled."""
    plan = Plan({})
    for number in range(3):
        pilot = pilot_of(sampler, event, plan, 50_000, child(seed, number))
        plan = plan_for(pilot.noise, pilot.noise.weights * (pilot.first + pilot.second))
        plan = Plan(plan.tables, plain=0.3)
    return plan


def assert_same_rates(weighted, plain):
    """Weighted rates are those of plain runs, within five standard errors."""
    for rate, error, hits, runs in zip(
        weighted.rates, weighted.spreads, (plain.x, plain.y), (plain.n_x, plain.n_y), strict=True
    ):
        seen = hits / runs
        assert abs(rate - seen) <= 5 * math.hypot(error, math.sqrt(seen * (1 - seen) / runs))


@pytest.mark.parametrize("name", CASES)
def test_weighed_they_are_plain_runs(name):
    function, length, event = CASES[name]
    sampler = runner_of(function, length)
    plan = plan_of(sampler, event)
    assert plan.tables
    weighted = sampler.weighted(event, plan, 100_000, np.random.SeedSequence(1))
    (plain,) = sampler.count((event,), 800_000, 0.5, np.random.SeedSequence(2))
    assert_same_rates(weighted, plain)
    assert weighted.hits[0] > 100_000 * plain.x / plain.n_x


@pytest.mark.parametrize(
    ("name", "real"),
    [
        ("laplace", math.exp(-5) / 2),
        ("normal", math.erfc(2.5 / math.sqrt(2)) / 2),
        ("exponential", math.exp(-5)),
        ("gumbel", -math.expm1(-math.exp(-5))),
        ("logistic", 1 / (1 + math.exp(5))),
        ("uniform", 0.05),
        ("random", 0.05),
    ],
)
def test_rates_are_those_of_the_law(name, real):
    function, length, event = CASES[name]
    sampler = runner_of(function, length)
    hits = sampler.weighted(event, plan_of(sampler, event), 400_000, np.random.SeedSequence(3))
    assert abs(hits.rates[0] - real) < 5 * hits.spreads[0]
    # Far sharper than as many plain runs.
    assert hits.spreads[0] < 0.6 * math.sqrt(real / 400_000)


@pytest.mark.parametrize("plain", [0.2, 0.9])
@pytest.mark.parametrize(
    "distribution", ["laplace", "normal", "exponential", "gumbel", "logistic", "uniform", "random"]
)
def test_weights_are_one_on_average_and_bounded_by_the_plain_part(distribution, plain):
    rng = np.random.default_rng(4)
    chances = rng.dirichlet(np.full(len(MASSES), 0.3)) * 0.9 + 0.1 * MASSES
    parameters = () if distribution == "random" else (1.0,) if distribution == "exponential" else (0.0, 1.0)
    noise = ImportanceNoise(200_000, Plan({Key(0, distribution, None): chances[None]}, plain), rng)
    values = noise.draw(0, DISTRIBUTIONS[distribution], parameters, None, None, Source(rng))
    assert values is not None
    weights = noise.weights
    assert weights.max() <= 1 / plain * (1 + 1e-12)
    assert abs(weights.mean() - 1) < 5 * weights.std() / math.sqrt(len(weights))
    # And so are those of any part of the range: here, of what lies below each of some values.
    plain_values = SharedNoise(200_000).draw(0, DISTRIBUTIONS[distribution], parameters, None, None, Source(rng))
    assert plain_values is not None
    for edge in np.quantile(plain_values, [0.001, 0.1, 0.4, 0.6, 0.9, 0.999]):
        told, seen = weights * (values < edge), plain_values < edge
        assert abs(told.mean() - seen.mean()) < 5 * math.hypot(told.std(), seen.std()) / math.sqrt(len(weights))


def test_draws_that_do_not_matter_are_left_alone():
    def two(queries, rng):
        return [queries[0] + rng.laplace(), rng.laplace()]

    event = Interval(Value((0,)), 6.0, None)
    sampler = runner_of(two, 1)
    assert [key.position for key in plan_of(sampler, event).tables] == [0]


def test_a_run_that_draws_in_parts_is_weighed_once_a_draw():
    """Only some runs draw twice; the others' weights are those of one draw."""
    function, length, event = CASES["noise for some"]
    sampler = runner_of(function, length)
    plan = plan_of(sampler, event)
    assert {key.position for key in plan.tables} == {0, 1}
    rng = np.random.default_rng(5)
    noise = ImportanceNoise(100_000, plan, rng)
    first = noise.draw(0, DISTRIBUTIONS["laplace"], (0.0, 1.0), None, None, Source(rng))
    assert first is not None
    some = np.flatnonzero(first > 1)
    before = noise.weights.copy()
    noise.draw(1, DISTRIBUTIONS["laplace"], (0.0, 3.0), None, some, Source(rng))
    changed = np.flatnonzero(noise.weights != before)
    assert np.isin(changed, some).all()
    assert len(changed) > 0.9 * len(some)
    assert abs(noise.weights.mean() - 1) < 5 * noise.weights.std() / math.sqrt(len(before))


def test_a_wrong_plan_only_costs():
    """A plan that was made for the other tail gives the same rates, with larger errors."""
    function, length, event = CASES["laplace"]
    sampler = runner_of(function, length)
    wrong = plan_of(sampler, Interval(OUTPUT, None, -4.0))
    hits = sampler.weighted(event, wrong, 400_000, np.random.SeedSequence(6))
    assert abs(hits.rates[0] - math.exp(-5) / 2) < 5 * hits.spreads[0]
