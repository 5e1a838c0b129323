"""Each statistical kernel against a naive version of itself."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from refutedp.hypothesis.claim_test import RatioScorer
from refutedp.hypothesis.tests import fisher, ratio
from refutedp.hypothesis.tests.ratio import (
    can_ever_convict,
    detectable_epsilon,
    log_binomial_upper,
    log_hypergeometric_upper,
)
from refutedp.model.records import Counts

SIZES = st.integers(1, 60)


@st.composite
def small_counts(draw):
    n_x, n_y = draw(SIZES), draw(SIZES)
    return Counts(
        draw(st.integers(0, n_x)), draw(st.integers(0, n_y)), n_x, n_y, draw(st.sampled_from([0.2, 0.5, 0.7]))
    )


@given(small_counts(), st.floats(0.01, 4))
@settings(max_examples=200, deadline=None)
def test_allocation_p_value_is_the_binomial_tail(counts, epsilon):
    odds = counts.share / (1 - counts.share) * math.exp(epsilon)
    naive = stats.binom.sf(counts.x - 1, counts.x + counts.y, odds / (1 + odds))
    assert math.exp(ratio.log_p_value(counts, epsilon)) == pytest.approx(naive, rel=1e-9)


@given(small_counts(), st.floats(0.01, 4))
@settings(max_examples=200, deadline=None)
def test_fisher_is_the_exact_average_over_the_thinning(counts, epsilon):
    k = np.arange(counts.x + 1)
    total = counts.n_x + counts.n_y
    tails = stats.hypergeom.sf(k - 1, total, counts.n_x, k + counts.y)
    naive = float((stats.binom.pmf(k, counts.x, math.exp(-epsilon)) * tails).sum())
    assert math.exp(fisher.log_p_value(counts, epsilon)) == pytest.approx(naive, rel=1e-8)


def test_fisher_agrees_with_monte_carlo_thinning_at_the_papers_size():
    counts = Counts(2600, 1500, 50_000, 50_000)
    rng = np.random.default_rng(1)
    kept = rng.binomial(counts.x, math.exp(-0.5), 4000)
    sampled = stats.hypergeom.sf(kept - 1, 100_000, 50_000, kept + counts.y)
    error = sampled.std() / math.sqrt(len(sampled))
    assert abs(math.exp(fisher.log_p_value(counts, 0.5)) - sampled.mean()) < 5 * error


@pytest.mark.parametrize("test", [ratio.log_p_value, fisher.log_p_value])
def test_p_values_far_below_a_float_stay_finite_and_ordered(test):
    values = [test(Counts(x, 100, 500_000, 500_000), 0.1) for x in (100, 5_000, 100_000, 400_000)]
    assert all(math.isfinite(v) for v in values)
    assert values == sorted(values, reverse=True)
    assert values[-1] < -50_000


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 40))
@settings(max_examples=200, deadline=None)
def test_hypergeometric_tail(k, good, draws):
    total = 60
    naive = stats.hypergeom.sf(k - 1, total, good, draws)
    assert math.exp(
        float(log_hypergeometric_upper(np.array([k]), total, good, np.array([draws]))[0])
    ) == pytest.approx(naive, rel=1e-9, abs=1e-15)


def test_the_deep_binomial_tail_joins_the_ordinary_one_smoothly():
    k = np.arange(300, 1000, 7)
    values = log_binomial_upper(k, 1000, 0.1)
    exact = stats.binom.logpmf(k, 1000, 0.1)
    assert np.all(np.diff(values) < 0)
    assert np.all(values >= exact)
    assert np.all(values[k > 500] - exact[k > 500] < 0.2)


@given(small_counts(), st.sampled_from([0.9, 0.95, 0.999]))
@settings(max_examples=200, deadline=None)
def test_the_bound_is_where_the_p_value_crosses_the_significance(counts, confidence):
    bound = ratio.epsilon_lower_bound(counts, confidence)
    if counts.x == 0:
        assert bound == -math.inf
        return
    assert math.isfinite(bound)
    for shift, compare in ((-1e-6, lambda p: p < 1 - confidence), (1e-6, lambda p: p > 1 - confidence)):
        odds = counts.share / (1 - counts.share) * math.exp(bound + shift)
        p = stats.binom.sf(counts.x - 1, counts.x + counts.y, odds / (1 + odds))
        assert compare(p)


def test_no_hits_on_the_other_side_still_gives_a_finite_bound():
    bound = ratio.epsilon_lower_bound(Counts(47_710, 0, 500_000, 500_000), 0.95)
    assert bound == pytest.approx(math.log(0.05 ** (1 / 47_710) / -math.expm1(math.log(0.05) / 47_710)), rel=1e-9)


def test_rough_scores_rank_like_exact_ones():
    rng = np.random.default_rng(0)
    x, y = rng.integers(200, 5000, 400), rng.integers(200, 5000, 400)
    scorer = RatioScorer()
    assert np.max(np.abs(scorer.rough(x, y, 1e-5) - scorer.exact(x, y, 1e-5))) < 0.02


@pytest.mark.parametrize(("rate", "epsilon"), [(0.01, 0.5), (0.2, 0.2), (0.001, 1.0)])
def test_the_detectable_epsilon_is_caught_four_times_in_five(rate, epsilon):
    runs = 50_000
    counts = Counts(round(rate * runs), round(rate * runs), runs, runs)
    real = detectable_epsilon(counts, epsilon, 0.001)
    rng = np.random.default_rng(7)
    n_x = rng.binomial(2 * runs, 0.5, 2000)
    x = rng.binomial(n_x, rate * math.exp(real))
    y = rng.binomial(2 * runs - n_x, rate)
    q = math.exp(epsilon) / (1 + math.exp(epsilon))
    caught = np.mean(log_binomial_upper(x, x + y, q) <= math.log(0.001))
    # Within four standard errors of 0.8 (0.009 each).
    assert abs(caught - 0.8) < 0.036


def test_a_budget_that_cannot_convict_is_recognised():
    assert not can_ever_convict(10, 10, 0.5, 0.001)
    assert can_ever_convict(20, 20, 0.5, 0.001)
