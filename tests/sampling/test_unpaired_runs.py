"""Importance-sampled runs of one side each: weighed, they are plain runs. Oracles: closed forms, and plain lifted
runs.

With fixed seeds, a bound of five standard errors fails by chance with probability below 1e-6 for each comparison,
once, when the seed is chosen.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from refutedp.detector.plan_importance import pilot_of
from refutedp.sampling.lifted.lifted_sampler import UnpairedPlan
from refutedp.sampling.lifted.noise.importance_noise import (
    MASSES,
    STRICT,
    AvoidingNoise,
    ImportanceNoise,
    NoiseRegion,
    Plan,
    ratios,
    region_of,
)
from refutedp.sampling.lifted.noise.shared_noise import Key, SharedNoise
from refutedp.tracing.distributions import DISTRIBUTIONS, Source
from tests.sampling.test_importance_runs import CASES, assert_same_rates, plan_of, runner_of

LAPLACE = Key(0, "laplace", None)


def unpaired_of(sampler, event, share=0.3):
    """As `refutedp.detector.plan_importance` makes it."""
    pilot = pilot_of(sampler, event, plan_of(sampler, event), 50_000, np.random.SeedSequence(9))
    weights = pilot.noise.weights
    towards = region_of(pilot.noise, weights * pilot.first).plan(0.05)
    return UnpairedPlan(towards, region_of(pilot.noise, weights * pilot.second), share)


@pytest.mark.parametrize("name", CASES)
def test_weighed_they_are_plain_runs(name):
    function, length, event = CASES[name]
    sampler = runner_of(function, length)
    plan = unpaired_of(sampler, event)
    never = name in ("uniform", "random")  # on d2
    assert plan.towards.tables and bool(plan.away.tables) != never
    weighted = sampler.unpaired(event, plan, 200_000, np.random.SeedSequence(1))
    (plain,) = sampler.count((event,), 800_000, 0.5, np.random.SeedSequence(2))
    assert_same_rates(weighted, plain)
    # Towards the event on d1, and away from it on d2.
    assert weighted.counts.x / weighted.n_x > 5 * plain.x / plain.n_x
    assert never or weighted.counts.y / weighted.n_y < 0.8 * plain.y / plain.n_y


@pytest.mark.parametrize(
    "distribution", ["laplace", "normal", "exponential", "gumbel", "logistic", "uniform", "random"]
)
def test_weights_of_noise_that_keeps_away_are_one_on_average(distribution):
    rng = np.random.default_rng(4)
    parameters = () if distribution == "random" else (1.0,) if distribution == "exponential" else (0.0, 1.0)
    noise = AvoidingNoise(200_000, NoiseRegion({Key(0, distribution, None): rng.random((1, len(MASSES)))}), rng)
    values = noise.draw(0, DISTRIBUTIONS[distribution], parameters, None, None, Source(rng))
    plain = SharedNoise(200_000).draw(0, DISTRIBUTIONS[distribution], parameters, None, None, Source(rng))
    assert values is not None and plain is not None
    weights = noise.weights
    assert abs(weights.mean() - 1) < 5 * weights.std() / math.sqrt(len(weights))
    for edge in np.quantile(plain, [0.001, 0.1, 0.4, 0.6, 0.9, 0.999]):
        told, seen = weights * (values < edge), plain < edge
        assert abs(told.mean() - seen.mean()) < 5 * math.hypot(told.std(), seen.std()) / math.sqrt(len(weights))


def test_noise_keeps_away_from_what_belongs():
    upper = np.concatenate([np.zeros(len(MASSES) // 2), np.ones(len(MASSES) // 2)])
    region = NoiseRegion({LAPLACE: upper[None], Key(1, "normal", (2,)): np.array([upper, upper])})
    assert region.kept == pytest.approx(1 - STRICT / 8)
    rng = np.random.default_rng(5)
    noise = AvoidingNoise(100_000, region, rng)
    one = noise.draw(0, DISTRIBUTIONS["laplace"], (3.0, 2.0), None, None, Source(rng))
    two = noise.draw(1, DISTRIBUTIONS["normal"], (0.0, 1.0), (2,), None, Source(rng))
    assert one is not None and two is not None
    inside = (one > 3) & (two > 0).all(axis=1)
    # An eighth of plain noise, of which one in a hundred is kept.
    assert 0 < inside.mean() < 0.125 / 50
    assert noise.weights[inside] == pytest.approx(region.kept / (1 - STRICT))
    assert noise.weights[~inside] == pytest.approx(region.kept)


def test_without_a_region_noise_is_plain():
    rng = np.random.default_rng(6)
    noise = AvoidingNoise(10, NoiseRegion({}), rng)
    assert NoiseRegion({}).kept == 1 and (noise.weights == 1).all()
    assert not noise.columns


def test_a_region_is_told_from_runs_and_draws_that_do_not_matter_are_left_out():
    rng = np.random.default_rng(7)
    noise, source = SharedNoise(100_000), Source(rng)
    first = noise.draw(0, DISTRIBUTIONS["laplace"], (0.0, 1.0), None, None, source)
    noise.draw(1, DISTRIBUTIONS["laplace"], (0.0, 1.0), None, None, source)
    region = region_of(noise, (first > 1).astype(float))
    assert list(region.tables) == [LAPLACE]
    # A probability of e^-1 / 2 lies above 1.
    assert 1 - region.kept == pytest.approx(STRICT * math.exp(-1) / 2, rel=0.15)
    plan = region.plan(plain=0.2)
    assert plan.tables[LAPLACE].sum() == pytest.approx(1)
    weighted = ImportanceNoise(100_000, plan, rng)
    values = weighted.draw(0, DISTRIBUTIONS["laplace"], (0.0, 1.0), None, None, source)
    assert (values > 1).mean() > 0.7
    # The same noise, seen as if it had been drawn otherwise.
    again = 1 / (0.2 + 0.8 * ratios(weighted, plan))
    assert again == pytest.approx(weighted.weights)
    assert region.chances(noise)[first < 0.5].max() == 0


@pytest.mark.parametrize("name", ["sparse vector", "noise for some", "vector", "modules"])
def test_few_runs_are_importance_sampled_as_many_are(name):
    """Parts of few runs are finished by plain calls: their noise is that of the plan all the same."""
    function, length, event = CASES[name]
    sampler = runner_of(function, length)
    plan = plan_of(sampler, event)
    many = sampler.weighted(event, plan, 60_000, np.random.SeedSequence(8))
    parts = [sampler.weighted(event, plan, 5, np.random.SeedSequence([8, part])) for part in range(300)]
    hits = sum(part.hits[0] for part in parts)
    rate = many.hits[0] / many.pairs
    (plain,) = sampler.count((event,), 60_000, 0.5, np.random.SeedSequence(9))
    assert rate > 0.1 and rate > 2 * plain.x / plain.n_x
    assert abs(hits / 1500 - rate) < 5 * math.sqrt(rate * (1 - rate) * (1 / 1500 + 1 / 60_000))


def test_a_plan_that_is_wrong_only_costs():
    function, length, event = CASES["laplace"]
    sampler = runner_of(function, length)
    rng = np.random.default_rng(10)
    table = rng.dirichlet(np.full(len(MASSES), 0.5))[None]
    plan = UnpairedPlan(
        Plan({LAPLACE: 0.9 * table + 0.1 * MASSES}, 0.3), NoiseRegion({LAPLACE: rng.random((1, len(MASSES)))}), 0.5
    )
    hits = sampler.unpaired(event, plan, 400_000, np.random.SeedSequence(6))
    for rate, error, real in zip(hits.rates, hits.spreads, (math.exp(-5) / 2, math.exp(-5.5) / 2), strict=True):
        assert abs(rate - real) < 5 * error
