"""Stopping early: e-processes on the border at the worst moment, their bounds, and what they save."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from refutedp.hypothesis.betting.anytime import (
    SPENT,
    RatioProcess,
    batches,
    early_alpha,
    log_mixture,
    log_p_any_time,
    log_p_at_the_end,
    lower_bound,
    prior_for,
    start_line,
)
from refutedp.hypothesis.certify import Certified
from refutedp.hypothesis.claim_test import claim_test
from refutedp.hypothesis.tests import ratio
from refutedp.model.claims import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP, Tangent
from refutedp.model.records import Counts

CLAIMS = [PureDP(0.7), ApproxDP(1.0, 0.01), ZCDP(0.1), RenyiDP(4, 0.5), GaussianDP(0.5)]


def path(process, p1, p2, share, total, rng):
    """The process after each batch of one simulation."""
    for size in batches(total, first=100):
        n_x = int(rng.binomial(size, share))
        x, y = int(rng.binomial(n_x, p1)), int(rng.binomial(size - n_x, p2))
        process = process.update(Counts(x, y, n_x, size - n_x, share))
        yield process


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
@pytest.mark.parametrize("p2", [0.02, 0.2])
def test_stopping_at_the_worst_moment_raises_few_false_alarms(claim, p2):
    """P1 on the border, bets on a violation; an alarm at any batch counts."""
    share, alpha, simulations = 0.4, 0.1, 400
    p1 = claim.largest(p2)
    search = Counts(round(min(1.3 * p1, 0.99) * 10_000), round(p2 * 10_000), 10_000, 10_000)
    begin = claim_test(claim).start(search, share)
    rng = np.random.default_rng([int(100 * p2), 7])
    alarms = sum(
        any(now.rejects(alpha) for now in path(begin, p1, p2, share, 5_000, rng)) for _ in range(simulations)
    )
    # More than this has probability below 1e-6 if each alarm has probability alpha.
    assert alarms <= stats.binom.isf(1e-6, simulations, alpha)


@pytest.mark.parametrize("p2", [0.01, 0.2])
def test_the_e_value_of_a_run_is_at_most_one_on_average_under_the_claim(p2):
    """Exactly, for each stake: the mean factor of one run with P1 within the line is at most one."""
    line, share = Tangent(math.e, 0.01), 0.3
    bets = start_line(line, 0.4, 0.05, share)
    for p1 in (0.0, 0.5 * (line.slope * p2 + line.intercept), line.slope * p2 + line.intercept):
        chances = [share * p1, share * (1 - p1), (1 - share) * p2, (1 - share) * (1 - p2)]
        runs = [(1, 0, 1, 0), (0, 0, 1, 0), (0, 1, 0, 1), (0, 0, 0, 1)]
        mean = sum(
            chance * math.exp(replace(bets, hits=Counts(*run, share)).log_e)
            for chance, run in zip(chances, runs, strict=True)
        )
        assert mean <= 1 + 1e-9


@given(st.integers(0, 40), st.integers(0, 40), st.floats(0.5, 30), st.floats(0.5, 30))
@settings(max_examples=50, deadline=None)
def test_the_mixture_is_the_integral_over_the_prior(x, y, a, b):
    prior = ((0.3, a, b), (0.7, 1.0, 1.0))

    def density(r):
        return (0.3 * stats.beta.pdf(r, a, b) + 0.7) * r**x * (1 - r) ** y

    naive = integrate.quad(density, 0, 1, limit=400, points=[0.01, 0.5, 0.99])[0]
    assert math.exp(log_mixture(x, y, prior)) == pytest.approx(naive, rel=1e-4)


@given(st.integers(1, 300), st.integers(0, 300), st.sampled_from([0.1, 0.001]))
@settings(max_examples=100, deadline=None)
def test_the_bound_is_where_the_e_process_crosses(x, y, alpha):
    prior = prior_for(1.0, 0.2, 0.5)
    q = lower_bound(x, y, prior, alpha)
    assert 0 < q < x / (x + y) or y == 0
    gain = log_mixture(x, y, prior) - x * math.log(q) - (y * math.log1p(-q) if y else 0.0)
    assert gain == pytest.approx(-math.log(alpha), abs=1e-6)


def test_bound_and_test_agree_for_ratios():
    begin = claim_test(PureDP(0.5)).start(Counts(300, 100, 1000, 1000), 0.4)
    for x in range(100, 400, 20):
        now = begin.update(Counts(x, 150, 1000, 1500, 0.4))
        assert (now.epsilon_lower_bound(0.999) > 0.5) == (now.log_e > math.log(1000))


def test_bounds_hold_at_every_stop_at_once():
    truth, p2, share, alpha, simulations = 1.0, 0.05, 0.4, 0.1, 300
    begin = claim_test(PureDP(0.5)).start(Counts(1400, 500, 10_000, 10_000), share)
    rng = np.random.default_rng(4)
    wrong = sum(
        any(
            now.epsilon_lower_bound(1 - alpha) > truth
            for now in path(begin, p2 * math.exp(truth), p2, share, 4000, rng)
        )
        for _ in range(simulations)
    )
    assert wrong <= stats.binom.isf(1e-6, simulations, alpha)


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_a_stopped_bound_is_not_below_the_rejected_claim(claim):
    search = Counts(5000, 300, 10_000, 10_000)
    now = claim_test(claim).start(search, 0.5).update(Counts(500, 30, 1000, 1000))
    assert now.rejects(0.001)
    found = claim_test(claim).bounds_when_stopped(now, 0.999, search)
    assert getattr(claim, claim.parameter) <= found.own < math.inf
    assert 0 <= found.epsilon < math.inf


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_no_hits_are_no_evidence(claim):
    search = Counts(50, 0, 1000, 1000)
    now = claim_test(claim).start(search, 0.5).update(Counts(0, 0, 500, 500))
    assert not now.rejects(0.05)
    assert claim_test(claim).bounds_when_stopped(now, 0.95, search) == Certified(0.0, 0.0)


def runs_to_convict(process, share, p1, p2, alpha, total, seed):
    """How many runs until the e-process convicts in one simulation at these true rates; `total` + 1 if never."""
    for now in path(process, p1, p2, share, total, np.random.default_rng(seed)):
        if now.rejects(alpha):
            return now.hits.runs
    return total + 1


def test_a_blatant_bug_is_convicted_within_two_thousand_runs():
    search = Counts(30_000, 0, 100_000, 100_000)
    for claim in (PureDP(0.5), ApproxDP(1.0, 1e-5)):
        begin = claim_test(claim).start(search, 0.3)
        runs = [runs_to_convict(begin, 0.3, 0.3, 0.001, early_alpha(0.001), 100_000, seed) for seed in range(20)]
        assert np.median(runs) < 2000


def test_borderline_cases_cost_at_most_a_quarter_more():
    """Power of the fixed-size test at n runs against that of the early-stopping one at 1.25 n."""
    epsilon, real, p2, alpha, runs = 0.5, 0.62, 0.2, 0.001, 19_000
    p1 = p2 * math.exp(real)
    share = 1 / (1 + math.exp(real / 2))
    rng = np.random.default_rng(2)
    fixed = early = 0
    for _ in range(200):
        n_x = int(rng.binomial(runs, share))
        counts = Counts(int(rng.binomial(n_x, p1)), int(rng.binomial(runs - n_x, p2)), n_x, runs - n_x, share)
        fixed += ratio.log_p_value(counts, epsilon) <= math.log(alpha)
        search = Counts(int(rng.binomial(10**5, p1)), int(rng.binomial(10**5, p2)), 10**5, 10**5)
        begin = claim_test(PureDP(epsilon)).start(search, share)
        for now in path(begin, p1, p2, share, round(1.25 * runs), rng):
            if now.rejects(early_alpha(alpha)):
                break
        early += log_p_at_the_end(now, ratio.log_p_value(now.hits, epsilon)) <= math.log(alpha)
    assert 100 < fixed < 195
    assert early >= fixed


def test_the_p_values_spend_alpha_once():
    process = RatioProcess(epsilon=0.5, prior=prior_for(1.0, 0.1, 0.5), hits=Counts(0, 0, 0, 0), log_peak=5.0)
    assert log_p_any_time(process) == pytest.approx(-5.0 - math.log(SPENT))
    assert log_p_at_the_end(process, -9.0) == pytest.approx(-9.0 - math.log(1 - SPENT))
    bets = start_line(Tangent(2.0, 0.1), 0.5, 0.1, 0.5)
    assert math.exp(log_p_any_time(bets)) == 1


@given(st.integers(1, 10**7))
@settings(max_examples=100, deadline=None)
def test_batches_add_up_and_grow(total):
    sizes = list(batches(total))
    assert sum(sizes) == total
    assert all(0 < size <= 200_000 + 500 for size in sizes)
    assert len(sizes) < 30 + total / 150_000
