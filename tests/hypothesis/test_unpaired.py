"""Bets on importance-sampled runs of one side each.

Worth at most one on average where the claim holds, whatever the plan.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refutedp.hypothesis.betting.weighted import best_stake, start_unpaired, unpaired_log_wealths
from refutedp.model.claims import Tangent
from refutedp.model.importance import UnpairedHits, no_runs, weigh_first, weigh_second
from tests.hypothesis.test_weighted import assert_hardly_ever_rejects, assert_rejects_and_bounds

STAKES = ((0.1, 0.99), (0.5, 0.5), (0.98, 0.9), (1.0, 0.01))


def some(n, low):
    return st.lists(st.floats(low, 1), min_size=n, max_size=n).map(lambda values: np.array(values) / sum(values))


@st.composite
def worlds(draw: st.DrawFn):
    """Outcomes of the noise.

    Their distribution, how they are drawn on d1 and on d2, on which sides each is in the event.
    """
    n = draw(st.integers(2, 8))
    distribution, first_plan, second_plan = (draw(some(n, 1e-6)) for _ in range(3))
    first, second = (np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))) for _ in range(2))
    return distribution, first_plan, second_plan, first, second, draw(st.sampled_from([0.05, 0.5]))


@given(worlds(), st.floats(0.2, 20), st.floats(0.01, 0.95))
@settings(deadline=None, max_examples=100)
def test_no_bet_is_worth_more_than_one_where_the_claim_holds(world, slope, share):
    distribution, first_plan, second_plan, first, second, plain = world
    p1, p2 = distribution @ first, distribution @ second
    line = Tangent(slope, max(p1 - slope * p2, 0.0))
    mixed = plain * distribution + (1 - plain) * first_plan
    worth = np.zeros(len(STAKES))
    for k in range(len(distribution)):
        one = weigh_first(distribution[k : k + 1] / mixed[k], first[k : k + 1], plain)
        other = weigh_second(distribution[k : k + 1] / second_plan[k], second[k : k + 1], plain)
        for hits, chance in ((one, share * mixed[k]), (other, (1 - share) * second_plan[k])):
            wealth = unpaired_log_wealths(hits, line, share, STAKES)
            assert np.isfinite(wealth).all()
            worth += chance * np.exp(wealth)
    assert (worth <= 1 + 1e-9).all()
    # Nearly all of what is lost is lost in bins of a thousandth.
    gains = np.array([part * (1 - share * kept) / (slope + part * line.intercept) for kept, part in STAKES]) * (
        p1 - slope * p2 - line.intercept
    )
    assert worth == pytest.approx(1 + gains, rel=2e-3)


def sample(rng: np.random.Generator, runs: int, ratio: float, share: float = 0.2, p2: float = 0.03) -> UnpairedHits:
    """An event of probability p2 on d2, `ratio` times as likely on d1.

    Nine tenths right in importance sampling, either way.
    """
    n = int(rng.binomial(runs, share))
    plain, p1 = 0.05, ratio * p2
    inside = rng.random(n) < np.where(rng.random(n) < plain, p1, 0.9)
    weights = 1 / (plain + (1 - plain) * np.where(inside, 0.9 / p1, 0.1 / (1 - p1)))
    first = weigh_first(weights, inside, plain)
    kept = 1 - 0.9 * p2
    inside = rng.random(runs - n) < 0.1 * p2 / kept
    return first + weigh_second(kept / np.where(inside, 0.1, 1.0), inside, plain)


def started(rng, line, share=0.2):
    first, second = (sample(rng, 50_000, ratio=1.7, share=part) for part in (1 - 1e-12, 1e-12))
    _, _, stake = best_stake(first, second, line)
    return start_unpaired(line, 0.05, share, stake)


def test_weighted_rates_are_the_real_ones():
    hits = sample(np.random.default_rng(1), 200_000, ratio=2.0)
    for rate, error, real in zip(hits.rates, hits.spreads, (0.06, 0.03), strict=True):
        assert abs(rate - real) < 5 * error
        # As many plain runs would err by more.
        assert error < math.sqrt(real / 100_000)


def test_a_claim_on_its_border_is_hardly_ever_rejected():
    rng = np.random.default_rng(2)
    assert_hardly_ever_rejects(started(rng, Tangent(1.3, 0.0)), lambda: sample(rng, 400, ratio=1.3))


def test_a_broken_claim_is_rejected_and_its_bound_holds():
    rng = np.random.default_rng(3)
    start = started(rng, Tangent(1.3, 0.0))
    assert_rejects_and_bounds(start, lambda: sample(rng, 20_000, ratio=1.7), real=1.7)


def test_the_best_stake_grows_as_fast_as_it_says():
    rng, line = np.random.default_rng(4), Tangent(1.3, 0.0)
    first, second = (sample(rng, 50_000, ratio=1.7, share=part) for part in (1 - 1e-12, 1e-12))
    grown, share, stake = best_stake(first, second, line)
    fresh = sample(rng, 400_000, ratio=1.7, share=share)
    (wealth,) = unpaired_log_wealths(fresh, line, share, (stake,))
    assert wealth / fresh.runs == pytest.approx(grown, rel=0.2)


def test_without_runs_or_hits_nothing_is_said():
    process = start_unpaired(Tangent(1.5, 0.01), 0.05, 0.2, (0.5, 0.9))
    assert process.update(no_runs(0.05)).log_peak == 0
    none = np.zeros(400, bool)
    empty = weigh_first(np.ones(100), none[:100], 0.05) + weigh_second(np.ones(400), none, 0.05)
    after = process.update(empty)
    assert not after.rejects(0.5)
    assert after.epsilon_lower_bound(0.95) == -math.inf
    assert empty.rates == empty.spreads == (0, 0)
    assert no_runs(0.05).rates == no_runs(0.05).spreads == (0, 0)
