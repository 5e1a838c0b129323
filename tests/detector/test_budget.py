"""The plan fits the time limit, keeps what convicts, and says what it could not see."""

import math
import time

import pytest

from refutedp import ONE_DIFFERS, AddRemove, Settings, UsageError, Verdict, check, sweep
from refutedp.detector import budget
from refutedp.detector.budget import LEAST_SEARCH, PART, fit, fitted_note, planned_search
from refutedp.detector.sprint import most_runs
from refutedp.hypothesis.tests.ratio import can_ever_convict
from refutedp.inputs.source import pairs_for


def planned_runs(plan, pairs):
    search = planned_search(plan, pairs)
    return search + 2 * plan.confirm_runs + 2 * min(plan.confirm_runs, 40_000)


@pytest.mark.parametrize(("given", "pairs"), [({"pairs": [([1], [2])]}, 1), ({"lengths": (5,)}, 11)])
def test_the_search_takes_no_more_runs_than_are_planned(given, pairs):
    def plain(queries, epsilon, rng):
        return queries[0] + rng.laplace(scale=1 / epsilon)

    result = check(plain, epsilon=1.0, lift=False, search_runs=5000, confirm_runs=1000, time_limit=10_000, **given)
    assert result.effort.search_runs <= planned_search(result.settings, pairs) + most_runs(pairs)


def test_pairs_beyond_the_records_have_rounds_of_their_own_and_these_are_planned_too():
    def count(data, epsilon, rng):
        # Program analysis would propose one more pair: it does not follow an arctangent.
        usual = math.atan(min(data, default=0)) > math.atan(-10)
        return len(data) + rng.laplace(scale=1 / epsilon) if usual else None

    result = check(
        count,
        epsilon=1.0,
        adjacency=AddRemove(tuple(range(8))),
        lift=False,
        search_runs=1000,
        confirm_runs=1000,
    )
    assert result.evidence.pair.outside
    pairs = pairs_for(AddRemove(tuple(range(8))))
    outside = sum(bool(pair.outside) for pair in pairs)
    assert len(pairs) == result.effort.pairs
    planned = planned_search(result.settings, len(pairs), outside) + most_runs(len(pairs))
    assert result.effort.search_runs <= planned


@pytest.mark.parametrize("limit", [1.0, 10.0, 60.0, 3600.0])
@pytest.mark.parametrize("seconds", [1e-6, 1e-4, 1e-3])
@pytest.mark.parametrize("pairs", [1, 4, 40])
def test_the_plan_fits_and_never_asks_for_more_than_the_settings(limit, seconds, pairs):
    settings = Settings()
    try:
        plan = fit(settings, 0.5, pairs, seconds, limit)
    except UsageError:
        assert 2 * LEAST_SEARCH * 2 * pairs * seconds > PART * limit / 4
        return
    assert LEAST_SEARCH <= plan.search_runs <= settings.search_runs
    assert plan.confirm_runs <= settings.confirm_runs
    assert planned_runs(plan, pairs) * seconds <= PART * limit * 1.001


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
@pytest.mark.parametrize("seconds", [1e-4, 1e-3, 1e-2])
def test_even_the_smallest_plan_can_convict(epsilon, seconds):
    plan = fit(Settings(), epsilon, 1, seconds, 60.0)
    assert can_ever_convict(plan.confirm_runs, plan.confirm_runs, epsilon, plan.significance)


def test_a_limit_too_short_for_any_verdict_says_what_would_do():
    with pytest.raises(
        UsageError, match=r"time_limit=1 is too short: at 10 runs a second, .* takes about \d+ seconds"
    ):
        fit(Settings(), 0.5, 4, 0.1, 1.0)


def test_a_longer_limit_and_more_cores_give_more_runs():
    def runs(limit, **options):
        return fit(Settings(**options), 0.5, 10, 1e-3, limit).search_runs

    assert runs(60.0) < runs(120.0)
    assert runs(60.0) == runs(60.0, jobs=1) < runs(60.0, jobs=4)


def test_what_has_passed_is_gone():
    half = fit(Settings(), 0.5, 10, 1e-3, 30.0)
    late = fit(Settings(), 0.5, 10, 1e-3, 60.0, spent=30.0)
    assert (late.search_runs, late.confirm_runs) == (half.search_runs, half.confirm_runs)


def test_the_note_says_what_was_cut_and_what_stayed_out_of_sight():
    settings = Settings(time_limit=60.0)
    note = fitted_note(settings, fit(settings, 0.5, 10, 1e-3, 60.0), 0.5, 1e-3)
    assert note.startswith("Fitted to time_limit=60 at 1,000 runs a second: search_runs=")
    assert "instead of 100,000" in note and "were out of sight" in note


def slow(queries, epsilon, rng):
    time.sleep(0.0002)
    return queries[0] + rng.laplace(scale=0.25 / epsilon)


def test_a_slow_mechanism_is_caught_by_a_sprint_before_anything_is_planned():
    result = check(slow, epsilon=1.0, adjacency=ONE_DIFFERS, lengths=(1,), time_limit=4.0)
    assert result.verdict is Verdict.VIOLATION
    assert result.effort.runs < 3_000 and result.settings.search_runs == 100_000


def careful(queries, epsilon, rng):
    time.sleep(0.0002)
    return queries[0] + rng.laplace(scale=1 / epsilon)


@pytest.mark.parametrize(
    ("limit", "told"),
    [({"time_limit": 4.0}, "Fitted to time_limit=4"), ({}, "Runs are made call by call, so")],
)
def test_a_correct_mechanism_is_fitted_to_the_limit_or_to_a_minute(monkeypatch, limit, told):
    monkeypatch.setattr(budget, "USUAL_LIMIT", 4.0)
    result = check(careful, epsilon=1.0, adjacency=ONE_DIFFERS, lengths=(1,), **limit)
    assert result.verdict is not Verdict.VIOLATION
    # On a very busy machine there is no time for a race at all.
    raced = (result.settings.plan or {}).get("race") != 0
    assert (result.settings.search_runs if raced else result.settings.confirm_runs) < 100_000
    assert any(note.startswith(told if raced else "A call takes about") for note in result.notes)


@pytest.mark.parametrize("limit", [0, -1, math.nan, "soon", True])
def test_bad_limits(limit):
    with pytest.raises(UsageError, match=r"time_limit=.* must be a positive number of seconds, such as 60"):
        Settings(time_limit=limit)


def test_a_sweep_has_no_time_limit():
    with pytest.raises(UsageError, match="time_limit=5 is for check"):
        sweep(slow, claimed=[1.0], test=[1.0], time_limit=5)


@pytest.mark.parametrize(
    ("text", "seconds"), [("60", 60), ("60s", 60), ("2m", 120), ("0.5h", 1800), ("inf", math.inf)]
)
def test_times_as_people_type_them(text, seconds):
    assert Settings(time_limit=text).time_limit == seconds


@pytest.mark.parametrize("text", ["", "s", "ten", "5d", "-3s", "nan"])
def test_times_that_are_none(text):
    with pytest.raises(UsageError, match=r"time.limit"):
        Settings(time_limit=text)
