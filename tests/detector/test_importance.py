"""Violations that plain runs could not show within the budget, found by importance-sampled noise.

And what is said of them.
"""

from __future__ import annotations

import math
from html import unescape

import numpy as np
import pytest

from refutedp import (
    ALL_DIFFER,
    ONE_DIFFERS,
    ZCDP,
    ApproxDP,
    GaussianDP,
    RenyiDP,
    Verdict,
    check,
    load,
    recheck,
    replay,
)
from refutedp.api.saved.to_json import event_to_builtins
from refutedp.mechanisms import histogram, noisy_max_laplace_value, svt
from refutedp.mechanisms.added_noise import analytic_sigma
from refutedp.report.plots import plot_result

CLAIM = ApproxDP(1.0, 1e-5)
SIGMA = analytic_sigma(1.0, 1e-5)
BUDGET = {"search_runs": 20_000, "confirm_runs": 1_500_000, "lengths": (1,)}


def gaussian(scale):
    """Cut far out, so that the noise has to be drawn to be known (`test_tails.py` has noise that has not)."""

    def noisy(queries, rng):
        return [q + max(rng.normal(0.0, scale * SIGMA), -1e6) for q in queries]

    return noisy


def too_small(queries, rng):
    return [q + max(rng.normal(0.0, 0.9 * SIGMA), -1e6) for q in queries]


@pytest.fixture(scope="module")
def found():
    return check(too_small, CLAIM, adjacency=ONE_DIFFERS, seed=1, **BUDGET)


@pytest.mark.parametrize("seed", [2])
def test_noise_a_tenth_too_small_is_found(seed):
    # By bench.gaussian_gap plain runs need 20 million.
    result = check(gaussian(0.9), CLAIM, adjacency=ONE_DIFFERS, seed=seed, **BUDGET)
    assert result.verdict is Verdict.VIOLATION
    assert result.evidence.candidate.confirmation.name.endswith("importance")
    assert result.evidence.bound > 1.0


@pytest.mark.parametrize("seed", [1])
def test_noise_that_is_large_enough_is_not(seed):
    result = check(gaussian(1.0), CLAIM, adjacency=ONE_DIFFERS, seed=seed, **BUDGET)
    assert result.verdict is not Verdict.VIOLATION


def test_without_importance_sampling_the_same_budget_shows_nothing():
    result = check(too_small, CLAIM, adjacency=ONE_DIFFERS, seed=1, importance="never", paths=0, **BUDGET)
    assert result.verdict is not Verdict.VIOLATION
    assert result.evidence.estimates is None


def test_the_rates_of_importance_sampled_runs_are_the_real_ones(found):
    event = found.evidence.event
    edge = event.low if event.low is not None else event.high
    for data, rate, error in zip(
        (found.evidence.pair.d1, found.evidence.pair.d2),
        found.evidence.estimates.rates,
        found.evidence.estimates.errors,
        strict=True,
    ):
        centre = data[event.of.path[0]]
        beyond = (edge - centre) if event.low is not None else (centre - edge)
        real = math.erfc(beyond / (0.9 * SIGMA) / math.sqrt(2)) / 2
        assert abs(rate - real) < 5 * error


def test_other_claims_are_sampled_towards_as_well():
    mu = 1 / SIGMA
    result = check(gaussian(0.95), GaussianDP(mu), adjacency=ONE_DIFFERS, seed=1, goal="speed", **BUDGET)
    assert result.verdict is Verdict.VIOLATION
    assert result.evidence.bound_letter == "μ"
    assert mu <= result.evidence.bound < mu / 0.95


def test_the_number_of_processes_changes_nothing():
    budget = {
        "adjacency": ONE_DIFFERS,
        "goal": "speed",
        "search_runs": 5000,
        "confirm_runs": 200_000,
        "lengths": (1,),
    }
    one, two = (check(gaussian(0.6), CLAIM, jobs=jobs, **budget).evidence for jobs in (1, 2))
    assert one.estimates is not None
    assert one == two


def test_pilots_count_as_search_runs(found):
    plain = check(too_small, CLAIM, adjacency=ONE_DIFFERS, seed=1, importance="never", **BUDGET)
    assert found.effort.search_runs > plain.effort.search_runs + 10**6


def test_the_result_says_that_runs_were_importance_sampled(found):
    text = str(found)
    assert "their noise drawn towards the event" in text
    assert "a bet on importance-sampled runs by their weights" in text
    rate = found.evidence.estimates.rates[0]
    assert f"on d1 it happens in {rate:.5%} of runs" in text


def test_saved_and_loaded_it_is_the_same(found, tmp_path):
    found.save(tmp_path / "result.json")
    loaded = load(tmp_path / "result.json")
    assert loaded.evidence == found.evidence
    assert str(loaded) == str(found)


def test_it_is_replayed_on_other_importance_sampled_runs(found, tmp_path):
    found.save(tmp_path / "result.json")
    again = replay(tmp_path / "result.json", too_small)
    assert again.verdict is Verdict.VIOLATION
    assert again.evidence.estimates is not None
    assert again.evidence.counts != found.evidence.counts
    fixed = replay(tmp_path / "result.json", gaussian(1.0))
    assert fixed.verdict is not Verdict.VIOLATION


def test_it_can_be_written_out_and_rechecked(found):
    pair = found.evidence.pair
    again = recheck(
        too_small,
        claim=CLAIM,
        d1=pair.d1,
        d2=pair.d2,
        event=event_to_builtins(found.evidence.event),
        confirmation="importance",
        seed=5,
        confirm_runs=1_500_000,
    )
    assert again.verdict is Verdict.VIOLATION
    assert again.evidence.estimates is not None


@pytest.mark.parametrize("claim", [ZCDP(0.5), RenyiDP(2.0, 1.0), GaussianDP(1.0), ApproxDP(1.0, 0.1)], ids=str)
@pytest.mark.parametrize("confirmation", ["importance", None])
def test_a_recheck_without_a_line_finds_its_own(claim, confirmation):
    def small(queries, rng):
        return queries[0] + rng.normal(scale=0.7)

    event = {"event": "interval", "of": {"feature": "value", "path": []}, "low": None, "high": -0.17}
    again = recheck(small, claim=claim, d1=[0], d2=[1], event=event, confirm_runs=100_000, confirmation=confirmation)
    assert again.verdict is Verdict.VIOLATION


def test_a_replay_samples_by_importance_only_where_its_settings_let_it():
    fast = check(noisy_max_laplace_value, epsilon=0.2, seed=1, goal="speed", search_runs=5000, confirm_runs=50_000)
    assert fast.evidence.estimates is not None
    for options in ({"importance": "never"}, {"stop": "fixed"}, {"method": "fisher", "paired": False}):
        again = replay(fast, noisy_max_laplace_value, **options)
        assert again.evidence.estimates is None
        assert again.evidence.method == options.get("method", "allocation")


def test_a_replay_without_pairs_has_none():
    found = check(svt, epsilon=0.7, args={"threshold": 1, "bound": 1}, search_runs=5000, confirm_runs=5000)
    assert found.evidence.counts.both is not None
    for options in ({"paired": False}, {"method": "fisher"}):
        again = replay(found, svt, **options)
        assert again.evidence.counts.both is None


def test_last_digits_are_not_sampled_towards():
    """Importance-sampled noise has the distribution of NumPy's, but not its last digits.

    These two inputs give the same, bit for bit.
    """

    def tail(data, rng):
        u = rng.random()
        if data[0] == 0:
            return u if u < 2.0**-8 else 1.0
        return u - (1 - 2.0**-8) if u >= 1 - 2.0**-8 else 1.0

    event = {"event": "interval", "of": {"feature": "last_digit", "path": []}, "low": None, "high": -52}
    again = recheck(tail, epsilon=0.1, d1=[0], d2=[1], event=event, confirm_runs=200_000, confirmation="importance")
    assert again.evidence.estimates is None
    assert again.verdict is not Verdict.VIOLATION


def test_the_report_shows_weighted_rates(found, tmp_path):
    found.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "noise was drawn towards the event" in page
    assert "confirmation='importance'" in unescape(page).replace("<wbr>", "")
    plot_result(found, tmp_path / "plot.svg")
    assert "probability of the event" in (tmp_path / "plot.svg").read_text()


def test_a_rare_event_is_certified_more_sharply_where_asked_for():
    needed, always = (
        check(
            noisy_max_laplace_value,
            epsilon=0.2,
            adjacency=ALL_DIFFER,
            significance=0.05,
            seed=2,
            importance=importance,
            search_runs=20_000,
        )
        for importance in ("needed", "always")
    )
    assert needed.evidence.estimates is None
    assert always.evidence.estimates is not None
    # Ten queries that all move by one, each with half the budget a query: no event's ratio is larger.
    assert needed.evidence.epsilon_lower_bound < always.evidence.epsilon_lower_bound < 1.0
    # The p-value is against the claim, the stakes are for the bound.
    assert always.evidence.log_p_value < math.log(1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_events_that_do_not_break_the_claim_are_not_sampled_towards(seed):
    result = check(
        histogram,
        epsilon=0.7,
        adjacency=ONE_DIFFERS,
        importance="always",
        seed=seed,
        search_runs=5000,
        confirm_runs=50_000,
    )
    assert result.verdict is not Verdict.VIOLATION
    assert math.isfinite(result.detectable_epsilon)


def test_for_speed_a_blatant_bug_takes_fewer_runs():
    slow, fast = (
        check(noisy_max_laplace_value, epsilon=0.2, adjacency=ALL_DIFFER, goal=goal, seed=1, search_runs=20_000)
        for goal in ("bound", "speed")
    )
    assert slow.verdict is fast.verdict is Verdict.VIOLATION
    assert fast.evidence.decided_after <= slow.evidence.decided_after
    # It stops there.
    assert fast.effort.confirm_runs == fast.evidence.decided_after < 20_000
    assert slow.effort.confirm_runs == 1_000_000


@pytest.fixture(scope="module")
def fast():
    return check(noisy_max_laplace_value, epsilon=0.2, adjacency=ALL_DIFFER, goal="speed", seed=4, search_runs=20_000)


def test_where_noise_tells_the_event_each_run_is_of_one_side(fast):
    """`bench.claims` has the medians; pairs of importance-sampled runs would need twice as many."""
    evidence = fast.evidence
    assert fast.verdict is Verdict.VIOLATION
    assert evidence.candidate.confirmation.name == "unpaired importance" and evidence.decided_after < 5000
    counts = evidence.counts
    assert counts.n_x + counts.n_y == evidence.decided_after and counts.n_x < counts.n_y
    assert "on d2, away from it" in str(fast)
    event, real = evidence.event, []
    for data in (evidence.pair.d1, evidence.pair.d2):
        edges = [event.high - query for query in data]
        real.append(math.prod(0.5 * math.exp(e / 10) if e < 0 else 1 - 0.5 * math.exp(-e / 10) for e in edges))
    for rate, error, truth in zip(evidence.estimates.rates, evidence.estimates.errors, real, strict=True):
        assert abs(rate - truth) < 5 * error
    assert 0.2 < evidence.epsilon_lower_bound < math.log(real[0] / real[1])


def test_unpaired_runs_are_saved_replayed_and_written_out(fast, tmp_path):
    fast.save(tmp_path / "result.json")
    loaded = load(tmp_path / "result.json")
    assert loaded.evidence == fast.evidence
    again = replay(loaded, noisy_max_laplace_value, seed=8)
    assert again.verdict is Verdict.VIOLATION and again.evidence.candidate.confirmation.name == "unpaired importance"
    fast.to_html(tmp_path / "report.html")
    assert "confirmation='unpaired importance'" in unescape((tmp_path / "report.html").read_text()).replace(
        "<wbr>", ""
    )
    pair = fast.evidence.pair
    stated = recheck(
        noisy_max_laplace_value,
        epsilon=0.2,
        d1=pair.d1,
        d2=pair.d2,
        event=event_to_builtins(fast.evidence.event),
        confirmation="unpaired importance",
        goal="speed",
        seed=9,
    )
    assert (
        stated.verdict is Verdict.VIOLATION and stated.evidence.candidate.confirmation.name == "unpaired importance"
    )


@pytest.mark.parametrize("seed", range(2))
def test_for_speed_correct_mechanisms_stand(seed):
    result = check(
        histogram, epsilon=0.7, adjacency=ONE_DIFFERS, goal="speed", seed=seed, search_runs=5000, confirm_runs=50_000
    )
    assert result.verdict is not Verdict.VIOLATION


def test_for_speed_scalar_runs_do_as_ever():
    calls = [0]

    def leaky(queries, rng):
        calls[0] += 1  # Not lifted: it keeps state.
        return queries[0] + rng.laplace(scale=0.2)

    result = check(leaky, epsilon=1.0, goal="speed", search_runs=500, confirm_runs=20_000, lengths=(1,))
    assert result.verdict is Verdict.VIOLATION
    assert result.evidence.estimates is None
    assert result.effort.confirm_runs < 5000


def test_a_mechanism_that_raises_in_some_runs_can_be_importance_sampled():
    def fragile(queries, rng):
        noise = rng.normal(0.0, 0.8 * SIGMA)
        if noise > 3 * SIGMA:
            raise ValueError("too much")
        return queries[0] + noise

    result = check(fragile, CLAIM, adjacency=ONE_DIFFERS, seed=1, **BUDGET)
    assert result.verdict is Verdict.VIOLATION


def test_importance_sampled_runs_stand_beside_zero_hits():
    """An event that never happens on d2: bounds are finite, and nothing divides by zero."""

    def bounded(queries, rng):
        return float(np.clip(queries[0] + rng.laplace(), 0, None)) if queries[0] > 0.5 else 0.0

    result = check(bounded, ApproxDP(1.0, 1e-3), pairs=[([1.0], [0.0])], goal="speed", **BUDGET)
    assert result.verdict is Verdict.VIOLATION
    assert math.isfinite(result.evidence.bound)
    assert math.isfinite(result.evidence.epsilon_lower_bound)
    str(result)
