"""Bets on importance-sampled runs.

Never worth more than one on average where the claim holds, whatever the plan; and bounds.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from refutedp.hypothesis.betting.weighted import best_part, growth, log_wealths, start_weighted
from refutedp.model.claims import Tangent
from refutedp.model.importance import no_hits, weigh_hits

PARTS = np.array([0.01, 0.2, 0.5, 0.97])


@st.composite
def worlds(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """Outcomes of the noise: their probabilities, those under a plan, on which sides each is in the event; plain."""
    n = draw(st.integers(2, 8))
    distribution, plan = (np.array(draw(st.lists(st.floats(1e-6, 1), min_size=n, max_size=n))) for _ in range(2))
    first, second = (np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))) for _ in range(2))
    return (
        distribution / distribution.sum(),
        plan / plan.sum(),
        first,
        second,
        draw(st.sampled_from([0.2, 0.5, 0.8, 0.95])),
    )


@given(worlds(), st.floats(0.2, 20))
@settings(deadline=None, max_examples=100)
def test_no_bet_is_worth_more_than_one_where_the_claim_holds(world, slope):
    distribution, plan, first, second, plain = world
    p1, p2 = distribution @ first, distribution @ second
    line = Tangent(slope, max(p1 - slope * p2, 0.0))
    mixed = plain * distribution + (1 - plain) * plan
    worth = np.zeros(len(PARTS))
    for k in range(len(distribution)):
        one = weigh_hits(distribution[k : k + 1] / mixed[k], first[k : k + 1], second[k : k + 1], plain)
        wealth = log_wealths(one, line, PARTS)
        assert np.isfinite(wealth).all()
        worth += mixed[k] * np.exp(wealth)
    assert (worth <= 1 + 1e-9).all()


@given(worlds(), st.floats(0.2, 20), st.floats(0, 0.3))
@settings(deadline=None, max_examples=100)
def test_bins_of_weights_only_ever_lose(world, slope, intercept):
    distribution, plan, first, second, plain = world
    weights = distribution / (plain * distribution + (1 - plain) * plan)
    line = Tangent(slope, intercept)
    stakes = PARTS / (slope / plain + intercept)
    payoffs = weights * (first - slope * second) - intercept
    exact = np.log1p(stakes[:, None] * payoffs[None]).sum(axis=1)
    binned = log_wealths(weigh_hits(weights, first, second, plain), line, PARTS)
    assert (binned <= exact + 1e-9).all()
    # At most a thousandth of each weight.
    assert (
        binned >= np.log1p(stakes[:, None] * (payoffs - 0.0011 * weights * max(1, slope))).sum(axis=1) - 1e-9
    ).all()


def sample(rng: np.random.Generator, pairs: int, ratio: float, plain: float = 0.5):
    """An event of probability 0.001 on d2, `ratio` times as likely on d1; half of the weighted runs are in it."""
    p2, cap = 0.001, 0.5
    weighted = rng.random(pairs) >= plain
    inside = rng.random(pairs) < np.where(weighted, cap, ratio * p2)
    likelier = np.where(inside, cap / (ratio * p2), (1 - cap) / (1 - ratio * p2))
    second = inside & (rng.random(pairs) < 1 / ratio)
    return weigh_hits(1 / (plain + (1 - plain) * likelier), inside, second, plain)


def test_weighted_rates_are_the_real_ones():
    hits = sample(np.random.default_rng(1), 200_000, ratio=2.0)
    for rate, error, real in zip(hits.rates, hits.spreads, (0.002, 0.001), strict=True):
        assert abs(rate - real) < 5 * error
        # A plain sample of this size would err by several times as much.
        assert error < math.sqrt(real / 200_000) / 5


def assert_hardly_ever_rejects(start, batch, alpha=0.05, simulations=250):
    """An e-process that looks four times at batches from the border of its claim."""
    alarms = 0
    for _ in range(simulations):
        process = start
        for _ in range(4):
            process = process.update(batch())
        alarms += process.rejects(alpha)
    # More than this has probability below 1e-6 if each alarm has probability alpha.
    assert alarms <= stats.binom.isf(1e-6, simulations, alpha)


def assert_rejects_and_bounds(start, batch, real):
    """An e-process that looks once at enough runs of this real ratio, thirty times."""
    missed = 0
    for _ in range(30):
        process = start.update(batch())
        assert process.rejects(0.001)
        bound = process.epsilon_lower_bound(0.95)
        missed += bound > math.log(real)
        assert math.log(start.line.slope) < bound
    # Binomial(30, 0.05) exceeds 7 with probability 1e-4.
    assert missed <= 7


def test_a_claim_on_its_border_is_hardly_ever_rejected():
    rng = np.random.default_rng(2)
    start = start_weighted(Tangent(2.0, 0.0), sample(rng, 20_000, ratio=3.0))
    assert_hardly_ever_rejects(start, lambda: sample(rng, 300, ratio=2.0))


def test_a_broken_claim_is_rejected_and_its_bound_holds():
    rng = np.random.default_rng(3)
    start = start_weighted(Tangent(2.0, 0.0), sample(rng, 20_000, ratio=3.0))
    assert_rejects_and_bounds(start, lambda: sample(rng, 80_000, ratio=3.0), real=3.0)


def test_without_hits_nothing_is_said():
    process = start_weighted(Tangent(1.5, 0.01), sample(np.random.default_rng(4), 5000, ratio=3.0))
    assert process.update(no_hits(0.5)).log_peak == 0
    empty = weigh_hits(np.ones(100), np.zeros(100, bool), np.zeros(100, bool), plain=0.5)
    after = process.update(empty)
    assert not after.rejects(0.5)
    assert after.epsilon_lower_bound(0.95) == -math.inf
    assert empty.rates == empty.spreads == (0, 0)


@pytest.mark.parametrize("plain", [0.3, 0.9])
def test_a_pilot_tells_what_another_plain_part_would_show(plain):
    rng, line = np.random.default_rng(5), Tangent(2.0, 0.0)
    told = sample(rng, 400_000, ratio=3.0).expected(plain)
    seen = sample(rng, 400_000, ratio=3.0, plain=plain)
    assert told.rates == pytest.approx(seen.rates, rel=0.05)
    assert best_part(told, line)[1] == pytest.approx(best_part(seen, line)[1], rel=0.15)
    assert growth(told, line, (0.2,)) <= best_part(told, line)[1]
