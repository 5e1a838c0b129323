"""Decisions of the clock are few, written down, and repeated by a plan."""

import time

import pytest

from refutedp import ONE_DIFFERS, PureDP, UsageError, Verdict, check
from refutedp.detector import budget
from refutedp.detector.clock import Clock
from refutedp.detector.prepare import Prepared, Request
from refutedp.model.mechanism import describe
from refutedp.model.settings import Settings


def test_what_cuts_nothing_is_not_written_down():
    clock = Clock(limit=10.0)
    assert clock.choose("runs", 5, lambda: 5) == 5
    assert list(clock.cut("looks", range(3), lambda: False)) == [0, 1, 2]
    assert clock.plan == {}


def test_the_same_kind_of_decision_is_told_apart_by_its_number():
    clock = Clock(limit=10.0)
    made = [clock.choose("runs", 5, lambda value=value: value) for value in (5, 4, 5, 3)]
    assert clock.plan == {"runs (2)": 4, "runs (4)": 3}
    again = Clock(limit=10.0, plan=clock.plan)
    assert [again.choose("runs", 5, lambda: 0) for _ in made] == made


def test_a_plan_cuts_where_the_clock_did_and_a_part_of_a_check_shares_it():
    clock = Clock(limit=10.0)
    late = iter([False, True])
    assert list(clock.cut("looks", range(9), lambda: next(late))) == [0, 1]
    assert clock.within(1.0).choose("runs", 5, lambda: 2) == 2
    again = Clock(limit=10.0, plan=clock.plan)
    assert list(again.cut("looks", range(9), lambda: False)) == [0, 1]
    assert again.within(1.0).choose("runs", 5, lambda: 9) == 2
    assert again.plan == clock.plan == {"looks": 2, "runs": 2}


def careful(queries, epsilon, rng):
    time.sleep(0.0002)
    return queries[0] + rng.laplace(scale=1 / epsilon)


def quick(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=1 / epsilon)


@pytest.mark.parametrize("saved", [False, True])
def test_a_plan_repeats_a_check_that_the_clock_shaped(monkeypatch, tmp_path, saved):
    monkeypatch.setattr(budget, "USUAL_LIMIT", 2.0)
    given = {"epsilon": 1.0, "adjacency": ONE_DIFFERS, "lengths": (1,)}
    first = check(careful, **given)
    assert first.settings.plan and first.verdict is not Verdict.VIOLATION
    plan = first
    if saved:
        plan = str(tmp_path / "r.json")
        first.save(plan)
    # The same function without its sleep: nothing but the plan says what to do.
    again = check(quick, lift=False, plan=plan, **given)
    assert again.evidence == first.evidence and again.settings.plan == first.settings.plan
    assert again.effort.search_runs == first.effort.search_runs
    assert again.effort.confirm_runs == first.effort.confirm_runs


def leak_or_slow(queries, epsilon, rng):
    if queries[0] > 5:
        time.sleep(0.02)
        return 0.0
    return queries[0] + rng.laplace(scale=0.1 / epsilon)


def careful_or_slow(queries, epsilon, rng):
    if queries[0] > 5:
        time.sleep(0.02)
        return rng.laplace()
    return queries[0] + rng.laplace(scale=1 / epsilon)


PAIRS = [([9.0], [10.0]), ([1.0], [2.0]), ([3.0], [2.0])]


def test_a_pair_that_is_much_slower_waits_and_no_other_is_charged_for_it():
    given = {"epsilon": 1.0, "pairs": PAIRS, "time_limit": 3, "lift": False}
    found = check(leak_or_slow, **given)
    assert found.verdict is Verdict.VIOLATION and found.effort.runs < 3_000
    correct = check(careful_or_slow, **given)
    assert correct.verdict is not Verdict.VIOLATION and correct.settings.plan["pair waits"] == 1
    assert any(note.startswith("1 of 3 pairs are much slower") for note in correct.notes)


def test_a_lifted_check_without_a_limit_has_no_plan():
    result = check(quick, epsilon=1.0, search_runs=500, confirm_runs=500, lengths=(1,))
    assert result.settings.plan is None


def test_what_is_no_plan_is_refused():
    with pytest.raises(
        UsageError, match=r"plan=3 must be a result, a file saved with --json, or the plan of a result"
    ):
        check(quick, epsilon=1.0, plan=3)


def test_results_that_were_made_elsewhere_do_not_make_calls_look_free():
    request = Request(describe(lambda data: data[0]), PureDP(1.0), ONE_DIFFERS, pairs=[([0], [1])])
    prepared = Prepared(request, Settings(jobs=4), lambda _: None)
    before = prepared.seconds_of(0)
    # Five results of ten seconds each, made by other processes, are there at once.
    assert list(prepared.timed(iter(range(5)), [10.0] * 5)) == [0, 1, 2, 3, 4]
    assert prepared.seconds_of(0) == pytest.approx(before / 4)
