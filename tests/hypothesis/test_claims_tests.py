"""The tests of every claim: against naive versions, on the border of the claim, and with zero hits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from refutedp.hypothesis.certify import confidence_region, deltas_at
from refutedp.hypothesis.claim_test import claim_test, search_rates
from refutedp.hypothesis.tests import line as nuisance
from refutedp.hypothesis.tests.line import critical, share_for, signed_root, statistic
from refutedp.model.claims import FDP, ZCDP, ApproxDP, GaussianDP, Lines, PureDP, RenyiDP, Tangent
from refutedp.model.records import Counts

CLAIMS = [
    ApproxDP(1.0, 0.01),
    ApproxDP(0.3, 1e-4),
    ZCDP(0.1),
    RenyiDP(4, 0.5),
    GaussianDP(0.5),
    FDP(Lines(((1.0, 0.01),))),
]


@st.composite
def small_counts(draw):
    n_x, n_y = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    return Counts(draw(st.integers(0, n_x)), draw(st.integers(0, n_y)), n_x, n_y)


LINES = st.builds(Tangent, st.floats(0.3, 8), st.floats(0.001, 0.4))


def naive_statistic(x, y, n_x, n_y, line):
    """Twice the least deviance over a fine grid of rates; zero within the line."""
    if x / n_x <= line.slope * y / n_y + line.intercept:
        return 0.0
    u = np.linspace(0, min((1 - line.intercept) / line.slope, 1.0), 4001)
    p1 = np.clip(line.slope * u + line.intercept, 0, 1)
    best = stats.binom.logpmf(x, n_x, x / n_x) + stats.binom.logpmf(y, n_y, y / n_y)
    return 2 * (best - np.max(stats.binom.logpmf(x, n_x, p1) + stats.binom.logpmf(y, n_y, u)))


@given(small_counts(), LINES)
@settings(max_examples=150, deadline=None)
def test_the_statistic_is_the_likelihood_ratio(counts, line):
    naive = naive_statistic(counts.x, counts.y, counts.n_x, counts.n_y, line)
    assert statistic(counts, line) == pytest.approx(naive, rel=1e-3, abs=1e-3)


@given(small_counts(), LINES)
@settings(max_examples=60, deadline=None)
def test_the_critical_values_are_the_outcomes_at_least_as_extreme(counts, line):
    level = statistic(counts, line)
    if level < 0.01:
        return
    y = np.arange(counts.n_y + 1, dtype=float)
    least = critical(y, counts.n_x, counts.n_y, line, level)
    assert least[counts.y] <= counts.x
    assert np.all(np.diff(least) >= 0)
    for yy in range(0, counts.n_y + 1, 7):
        for x in range(counts.n_x + 1):
            value = statistic(Counts(x, yy, counts.n_x, counts.n_y), line)
            if value >= level:
                assert x >= least[yy]
            elif value < level * (1 - 1e-6) and least[yy] <= counts.n_x:
                assert x < least[yy]


@given(small_counts(), LINES)
@settings(max_examples=60, deadline=None)
def test_the_p_value_is_at_least_the_naive_supremum_and_not_much_more(counts, line):
    region = nuisance.region(counts, line, 1e-3)
    level = statistic(counts, line)
    if region is None or level <= 0:
        return
    y = np.arange(counts.n_y + 1)
    least = critical(y.astype(float), counts.n_x, counts.n_y, line, level)
    naive = 0.0
    for u in np.linspace(region.low[0], region.high[-1], 200):
        p1 = min(line.slope * u + line.intercept, 1.0)
        naive = max(
            naive, float((stats.binom.pmf(y, counts.n_y, u) * stats.binom.sf(least - 1, counts.n_x, p1)).sum())
        )
    p = math.exp(region.log_p_value(lambda u: np.minimum(line.slope * u + line.intercept, 1.0)))
    assert p >= min(1.0, 1e-3 + naive) * (1 - 1e-9)
    assert p <= (1e-3 + naive) * 1.3 + 1e-6


def test_bounds_for_large_counts_exceed_the_exact_sum_by_little():
    counts, line = Counts(3119, 1000, 100_000, 100_000), Tangent(math.e, 1e-3)
    region = nuisance.region(counts, line, 1e-5)
    assert not region.exact
    u = 0.01
    y = np.arange(600, 1500)
    least = critical(y.astype(float), 100_000, 100_000, line, statistic(counts, line))
    tails = stats.binom.sf(least - 1, 100_000, line.slope * u + line.intercept)
    exact = float((stats.binom.pmf(y, 100_000, u) * tails).sum())
    p = math.exp(region.log_p_value(lambda p2: line.slope * p2 + line.intercept))
    assert exact <= p <= 1.5 * exact


@given(small_counts(), LINES)
@settings(max_examples=100, deadline=None)
def test_the_pair_rejects_exactly_when_two_clopper_pearson_bounds_do(counts, line):
    def largest(u):
        return np.minimum(line.slope * u + line.intercept, 1.0)

    p = math.exp(nuisance.two_bounds_log_p_value(counts, largest))
    for alpha in (0.2, 0.01):
        front = nuisance.two_bounds_frontier(counts, alpha)
        rejected = front.p1[0] > float(largest(front.high)[0])
        if abs(p - alpha) > 1e-6:
            assert rejected == (p < alpha)


def border(claim, p2, runs, share, simulations, seed):
    """Simulated confirmations with P1 = largest(P2) exactly."""
    rng = np.random.default_rng(seed)
    n_x = rng.binomial(runs, share, simulations)
    return n_x, rng.binomial(n_x, claim.largest(p2)), rng.binomial(runs - n_x, p2)


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
@pytest.mark.parametrize("p2", [0.002, 0.1])
def test_false_alarms_on_the_border_are_at_most_alpha(claim, p2):
    simulations, runs, share, alpha, calm = 300, 4000, 0.4, 0.05, 15
    test = claim_test(claim)
    tangent = test.line(min(1.2 * claim.largest(p2), 0.99), p2, share)
    n_x, x, y = border(claim, p2, runs, share, simulations, [5, int(1e4 * p2)])
    # From the largest excess down, until so many in a row raise no alarm: the others raise none either.
    alarms = quiet = 0
    for k in np.argsort(tangent.slope * y / (runs - n_x) - x / n_x):
        counts = Counts(int(x[k]), int(y[k]), int(n_x[k]), int(runs - n_x[k]), share)
        alarm = test.log_p_value(counts, tangent) <= math.log(alpha)
        alarms, quiet = alarms + alarm, 0 if alarm else quiet + 1
        if quiet == calm:
            break
    # More than this has probability below 1e-6 if each alarm has probability alpha.
    assert alarms <= stats.binom.isf(1e-6, simulations, alpha)


@pytest.mark.parametrize("claim", [ApproxDP(1.0, 0.01), GaussianDP(0.5), ZCDP(0.1)], ids=str)
def test_certified_bounds_cover_the_truth(claim):
    """The real rates lie on the border of the claim, so its own parameter is the truth of the event."""
    simulations, runs, p2, alpha = 8, 20_000, 0.03, 0.1
    tangent = claim_test(claim).line(claim.largest(p2), p2)
    n_x, x, y = border(claim, p2, runs, 0.5, simulations, 11)
    parameter = getattr(claim, claim.parameter)
    wrong, close = 0, 0
    for n, a, b in zip(n_x, x, y, strict=True):
        counts = Counts(int(a), int(b), int(n), int(runs - n))
        bound = claim_test(claim).bounds(counts, 1 - alpha, tangent).own
        wrong += bound > parameter
        close += bound > 0.4 * parameter
    assert wrong <= stats.binom.isf(1e-6, simulations, alpha)
    assert close >= simulations / 2


def test_the_bound_passes_the_claim_where_the_test_rejects():
    claim = ApproxDP(1.0, 1e-3)
    test = claim_test(claim)
    tangent = test.line(0.035, 0.01)
    for x in range(2900, 3400, 100):
        counts = Counts(x, 1000, 100_000, 100_000)
        p = test.log_p_value(counts, tangent)
        bound = test.bounds(counts, 0.999, tangent).epsilon
        assert (bound > 1.0) == (p <= math.log(0.001)) or abs(bound - 1) < 1e-3


@pytest.mark.parametrize("claim", [PureDP(1.0), *CLAIMS], ids=str)
@pytest.mark.parametrize(
    "counts",
    [
        *(Counts(x, y, 500, 500) for x, y in ((0, 0), (400, 0), (500, 0), (0, 400), (500, 500))),
        *(Counts(3, 0, 500_000, 500_000), Counts(1, 0, 1, 0), Counts(0, 0, 0, 5)),
    ],
)
def test_with_no_hits_on_a_side_everything_is_finite(claim, counts):
    found = claim_test(claim).bounds(counts, 0.999)
    (delta,) = deltas_at(confidence_region(counts, 0.999, claim.tangent_at(0.01)), [1.0])
    # A ratio's own bound is cut off at zero; its epsilon is told as it is.
    assert found.epsilon < math.inf
    assert 0 <= found.own < math.inf
    assert 0 <= delta < 1
    assert -math.inf < claim_test(claim).log_p_value(counts) <= 0
    if counts.x == 500 and counts.y == 0:
        assert found.epsilon > 3.5
    if counts.x <= counts.y:
        assert found.epsilon <= 0
        assert found.own == delta == 0


def test_the_certified_curve_falls_and_agrees_with_the_bounds():
    counts, claim = Counts(3000, 200, 10_000, 10_000), ApproxDP(1.0, 1e-3)
    front = confidence_region(counts, 0.99, claim.tangent_at(0.01))
    curve = deltas_at(front, np.linspace(0, 4, 30))
    assert np.all(np.diff(curve) <= 0)
    assert curve[0] > 0.22
    assert deltas_at(front, [claim_test(claim).bounds(counts, 0.99).epsilon])[0] == pytest.approx(claim.delta)


def test_deep_p_values_keep_their_size_and_order():
    claim = ApproxDP(1.0, 1e-3)
    values = [
        claim_test(claim).log_p_value(Counts(x, 100, 500_000, 500_000)) for x in (2_000, 20_000, 200_000, 450_000)
    ]
    assert values == sorted(values, reverse=True)
    assert math.isfinite(values[-1])
    assert values[-1] < -100_000


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_a_chosen_tangent_is_implied_by_the_claim(claim):
    rates = 1 / (1 + np.exp(-np.linspace(-15, 6, 50)))
    for p1, p2 in ((0.3, 0.01), (0.9, 0.5), (1e-4, 0.0), (1.0, 0.2)):
        line = claim_test(claim).line(p1, p2)
        assert np.all(line.slope * rates + line.intercept >= claim.largest(rates) * (1 - 1e-9))


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_rough_scores_rank_like_exact_ones(claim):
    rng = np.random.default_rng(0)
    x, y = rng.integers(500, 9000, 300), rng.integers(300, 5000, 300)
    scorer = claim_test(claim).scorer(10_000)
    exact, rough = scorer.exact(x, y, 1e-4), scorer.rough(x, y, 1e-4)
    near = np.abs(exact) < 0.5
    assert stats.spearmanr(exact, rough).statistic > 0.97
    assert np.all((exact[~near] > scorer.threshold) == (rough[~near] > scorer.threshold))


def test_scores_above_the_threshold_are_beyond_doubt():
    """On the border a score above zero at level 0.01 is about as rare as that."""
    claim = GaussianDP(0.7)
    n, x, y = 10_000, *(np.random.default_rng(3).binomial(10_000, p, 4000) for p in (claim.largest(0.05), 0.05))
    scores = claim_test(claim).scorer(n).exact(x, y, 0.01)
    assert np.mean(scores > 0) < 0.02


def test_the_signed_root_is_the_root_of_the_statistic():
    line = Tangent(2.0, 0.02)
    x, y = np.array([50, 300, 5]), np.array([3, 60, 0])
    roots = signed_root(x, y, 1000, np.full(3, line.slope), np.full(3, line.intercept))
    naive = [statistic(Counts(int(a), int(b), 1000, 1000), line) for a, b in zip(x, y, strict=True)]
    assert roots[roots > 0] ** 2 == pytest.approx([v for v in naive if v > 0], rel=1e-6)
    assert (roots > 0).tolist() == [v > 0 for v in naive]


def test_shares_favour_the_side_that_is_known_worse():
    p1, p2 = search_rates(Counts(3000, 0, 10_000, 10_000))
    assert share_for(Tangent(50.0, 0.01), p1, p2) < 0.7
    assert share_for(Tangent(1.0, 0.1), 0.5, 0.4) == pytest.approx(0.5, abs=0.02)
