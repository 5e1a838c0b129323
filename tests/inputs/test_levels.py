"""Thresholds far from zeros, ones and twos: bugs that only answers there show, and their correct twins."""

import functools

import numpy as np
import pytest

from refutedp import ADD_REMOVE, ALL_DIFFER, ONE_DIFFERS, REPLACE, Verdict, check
from refutedp.inputs.levels import Levels
from refutedp.inputs.source import SearchSpace, Seen, pairs_for
from refutedp.model.mechanism import describe
from refutedp.model.records import Pair

FULL = 100
QUIET = -273.15


def above(queries, epsilon, rng, noise):
    """The first answer above a hundred; half of the noise is the threshold's."""
    threshold = FULL + rng.laplace(scale=2 / epsilon)
    for place, answer in enumerate(queries):
        if answer + noise * rng.laplace(scale=1 / epsilon) >= threshold:
            return place
    return None


def alarm(queries, epsilon, rng, scale):
    return bool(max(queries) + rng.laplace(scale=scale / epsilon) > 5_000)


def grade(queries, epsilon, rng, scale):
    points = sum(queries) + rng.laplace(scale=scale / epsilon)
    if points >= 90:
        return "excellent"
    return "good" if points >= 60 else "try again"


def crowded(queries, epsilon, rng, scale):
    return [answer + rng.laplace(scale=scale / epsilon) > 400 for answer in queries]


def enough(data, epsilon, rng, scale):
    """Whether there are enough records, which only long data sets show."""
    return len(data) + rng.laplace(scale=scale / epsilon) > 64


def published(rows, epsilon, rng, scale):
    """A sum, if there are enough rows; the budget is spent on both."""
    if len(rows) + rng.laplace(scale=2 / epsilon) < 30:
        return "too few"
    return sum(min(max(row, 0), 1) for row in rows) + rng.laplace(scale=scale / epsilon)


def share_of_old(people, epsilon, rng, scale):
    """How many are old, told only if that is many."""
    old = sum(age > 65 for age in people) + rng.laplace(scale=scale / epsilon)
    return round(old) if old > 45 else None


CASES = {
    "above": (above, {"noise": 1}, {"noise": 4}, ALL_DIFFER, None),
    "alarm": (alarm, {"scale": 0.4}, {"scale": 1}, ALL_DIFFER, None),
    "grade": (grade, {"scale": 0.4}, {"scale": 1}, ONE_DIFFERS, None),
    "crowded": (crowded, {"scale": 0.4}, {"scale": 1}, ONE_DIFFERS, None),
    "enough": (enough, {"scale": 0.4}, {"scale": 1}, ADD_REMOVE, [[7, 8]]),
    "published": (published, {"scale": 1}, {"scale": 2}, ADD_REMOVE, [[1, 0]]),
    "share of old": (share_of_old, {"scale": 0.5}, {"scale": 1}, REPLACE, [[30, 80]]),
}
BUDGET = {"epsilon": 0.5, "search_runs": 20_000, "confirm_runs": 100_000, "progress": False}


def check_case(name, which, **more):
    function, bug, twin, adjacency, inputs = CASES[name]
    mechanism = functools.partial(function, **(bug if which == "bug" else twin))
    return check(mechanism, adjacency=adjacency, inputs=inputs, **BUDGET, **more)


@pytest.mark.parametrize("name", CASES)
def test_a_far_threshold_hides_nothing(name):
    result = check_case(name, "bug")
    assert result.verdict is Verdict.VIOLATION
    assert "where answers begin to vary" in result.evidence.pair.category


@pytest.mark.parametrize("name", CASES)
def test_the_correct_twin_is_tested_where_its_answers_vary_and_not_convicted(name):
    result = check_case(name, "twin")
    assert result.verdict is not Verdict.VIOLATION and result.vacuous == ""
    assert "where answers begin to vary" in result.evidence.pair.category


def proposed(function, adjacency, lengths=None, calls=10_000):
    source = Levels(SearchSpace(describe(function), adjacency, lengths=lengths, calls=calls))
    return source, source.propose([Seen(pair, -1.0) for pair in pairs_for(adjacency, lengths)[:3]])


@pytest.mark.parametrize("adjacency", [ALL_DIFFER, ONE_DIFFERS])
def test_pairs_are_adjacent_and_stand_about_the_threshold(adjacency):
    source, pairs = proposed(functools.partial(alarm, epsilon=1.0, scale=1), adjacency)
    assert pairs and source.calls <= 10_000
    for pair in pairs:
        assert adjacency.difference(pair.d1, pair.d2) is None
        assert all(4_980 < answer < 5_020 for answer in (*pair.d1, *pair.d2))


def test_mechanisms_that_want_arrays_get_arrays():
    def loud(queries, epsilon, rng):
        return bool(queries.max() + rng.laplace(scale=0.2 / epsilon) > 300)

    result = check(loud, adjacency=ONE_DIFFERS, **BUDGET)
    assert result.verdict is Verdict.VIOLATION and isinstance(result.evidence.pair.d1, np.ndarray)


def test_lengths_that_the_user_wants_are_kept():
    _, pairs = proposed(functools.partial(alarm, epsilon=1.0, scale=1), ALL_DIFFER, lengths=(3,))
    assert {len(pair.d1) for pair in pairs} == {3}


@pytest.mark.parametrize(
    "function",
    [
        lambda queries, rng: queries[0] + rng.laplace(),
        lambda queries, rng: round(sum(queries) + rng.laplace()),
        lambda queries, rng: 3 if queries[0] > QUIET else 4,
    ],
)
def test_mechanisms_whose_answers_vary_no_more_elsewhere_are_left_alone(function):
    source, pairs = proposed(function, ONE_DIFFERS)
    assert (pairs, source.told()) == ([], "levels: answers vary nowhere more than on the usual pairs")


def test_nothing_is_proposed_where_the_claim_is_broken_already():
    source = Levels(SearchSpace(describe(alarm), ALL_DIFFER))
    assert source.propose([Seen(Pair([1], [2], "One Above"), 0.5)]) == []
    assert source.told() == "levels were not needed"


def test_calls_are_bounded():
    source, _ = proposed(functools.partial(alarm, epsilon=1.0, scale=1), ALL_DIFFER, calls=200)
    assert source.calls <= 200
