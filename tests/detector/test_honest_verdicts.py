"""Verdicts that say what they rest on: nothing tested, inputs beyond the user's, an adjacency that nobody stated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from refutedp import ALL_DIFFER, ONE_DIFFERS, AddRemove, PureDP, Replace, Verdict, check, load
from refutedp.mechanisms import histogram, histogram_wrong_scale
from refutedp.model.mechanism import Adapted, Own

SMALL = {"search_runs": 3000, "confirm_runs": 10_000}


# Nothing tested.


def constant(queries, epsilon, rng):
    return 3


def nearly_constant(queries, epsilon, rng):
    return bool(rng.random() < 1e-5)


def fails_on_all_data(data, epsilon, rng):
    if len(data) < 1000:
        raise LookupError("too little data")
    return len(data) + rng.laplace(scale=1 / epsilon)


@pytest.mark.parametrize(
    ("function", "says"), [(constant, "the output = 3"), (nearly_constant, "the output = False")]
)
def test_a_check_that_tested_nothing_is_inconclusive_and_says_why(function, says, tmp_path):
    result = check(function, epsilon=1.0, **SMALL)
    assert result.verdict is Verdict.INCONCLUSIVE
    first, *_, last = str(result).splitlines()
    assert "nothing was tested" in first
    assert says in first
    assert last.startswith("Next: ")
    result.save(tmp_path / "r.json")
    assert load(tmp_path / "r.json") == result


def test_a_mechanism_that_always_fails_is_named_with_its_exception():
    from refutedp import MechanismError

    with pytest.raises(MechanismError, match="LookupError: too little data"):
        check(fails_on_all_data, epsilon=1.0, adjacency=AddRemove([0, 1]), **SMALL)


def test_the_exception_that_nearly_every_run_raises_is_named():
    def fails_mostly(queries, epsilon, rng):
        if rng.random() < 0.9995:
            raise LookupError
        return 1

    result = check(fails_mostly, epsilon=1.0, seed=0, **SMALL)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "raises LookupError" in str(result).splitlines()[0]


class Spent:
    """Answers as often as its budget allows, which is less than a search asks, and fails from then on."""

    def __init__(self, answers):
        self.answers = answers

    def __call__(self, queries, epsilon, rng):
        self.answers -= 1
        if self.answers < 0:
            raise LookupError("the budget is spent")
        return queries[0] + rng.laplace(scale=1 / epsilon)


def test_a_mechanism_that_fails_once_its_budget_is_spent_is_not_cleared():
    result = check(Spent(200), epsilon=1.0, **SMALL)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "nothing was tested" in str(result).splitlines()[0]
    assert "raises LookupError" in str(result).splitlines()[0]


def test_outputs_that_vary_are_tested():
    result = check(lambda queries, epsilon, rng: rng.random() < 0.01, epsilon=1.0, **SMALL)
    assert result.verdict is Verdict.NOT_FOUND
    assert not result.vacuous


# Inputs beyond the user's.


def clamped_sum(data, epsilon, rng):
    """Private for records from 0 to 1; a nan passes through, and no data at all is an error."""
    if len(data) == 0:
        raise ValueError("no data")
    return sum(min(max(x, 0.0), 1.0) for x in data) + rng.laplace(scale=1 / epsilon)


def sum_with_half_the_noise(data, epsilon, rng):
    return clamped_sum(data, 2 * epsilon, rng)


RECORDS = AddRemove([0.25, 1.0])


def test_what_only_inputs_beyond_the_users_show_is_told_as_such():
    result = check(clamped_sum, epsilon=1.0, adjacency=RECORDS, **SMALL)
    assert result.verdict is Verdict.VIOLATION
    outside = result.counterexample.pair.outside
    assert outside in ("nan", "the empty data set")
    assert f"on inputs beyond those you gave ({outside})" in str(result).splitlines()[0]
    assert "use odd=False" in str(result)
    assert (
        check(clamped_sum, epsilon=1.0, adjacency=AddRemove([0.25, 1.0], odd=False), **SMALL).counterexample is None
    )


def tells(of):
    """Private, but for what it says of inputs that the user did not give."""

    def mechanism(data, epsilon, rng):
        if of(data):
            return "unexpected"
        return sum(min(max(x, 0.0), 1.0) for x in data) + rng.laplace(scale=1 / epsilon)

    return mechanism


@pytest.mark.parametrize(
    ("of", "records", "named"),
    [
        (lambda data: any(x != x for x in data), [0.25, 1.0], "nan"),
        (lambda data: math.inf in data, [0.25, 1.0], "inf"),
        (lambda data: -math.inf in data, [0.25, 1.0], "-inf"),
        (lambda data: 99 in data, list(range(10)), "99"),
        (lambda data: len(data) == 0, [0.25, 1.0], "the empty data set"),
    ],
)
def test_every_input_beyond_the_users_is_named_in_the_first_line(of, records, named):
    result = check(tells(of), epsilon=1.0, adjacency=AddRemove(records), **SMALL)
    assert f"on inputs beyond those you gave ({named})" in str(result).splitlines()[0]


def test_the_ordinary_counterexample_comes_first():
    result = check(sum_with_half_the_noise, epsilon=1.0, adjacency=RECORDS, **SMALL)
    assert result.verdict is Verdict.VIOLATION
    assert not result.counterexample.pair.outside
    assert "Inputs beyond those you gave" in str(result)


def test_both_are_tested_where_the_ordinary_one_is_in_doubt(tmp_path):
    def a_little_too_little_noise(data, epsilon, rng):
        return clamped_sum(data, 1.15 * epsilon, rng)

    result = check(a_little_too_little_noise, epsilon=1.0, adjacency=RECORDS, search_runs=3000, confirm_runs=200_000)
    assert result.verdict is Verdict.VIOLATION
    assert not result.counterexample.pair.outside
    assert result.outside.pair.outside
    assert "break it too" in str(result)
    result.save(tmp_path / "r.json")
    assert load(tmp_path / "r.json") == result


def counts_by_byte(data, epsilon, rng):
    """Private; fails on arrays of another type than it was written for."""
    if data.dtype != np.uint8:
        raise TypeError("bytes only")
    return int((data > 5).sum()) + rng.laplace(scale=1 / epsilon)


def test_odd_values_fit_the_type_of_the_data():
    data = np.array([1, 5, 9, 9, 0], dtype=np.uint8)
    result = check(counts_by_byte, epsilon=1.0, adjacency=AddRemove([0]), inputs=data, **SMALL)
    assert result.verdict is not Verdict.VIOLATION


def picks_a_counter(data, epsilon, rng):
    """Private for categories 0 to 9; others raise IndexError."""
    counts = [0] * 10
    for x in data:
        counts[x] += 1
    return [c + rng.laplace(scale=1 / epsilon) for c in counts]


def test_a_value_beyond_the_domain_is_told_as_such():
    result = check(picks_a_counter, epsilon=1.0, adjacency=AddRemove(list(range(10))), **SMALL)
    assert result.verdict is Verdict.VIOLATION
    assert result.counterexample.pair.outside == "99"


def test_lengths_are_those_of_the_records_too():
    def tried(lengths):
        seen = set()

        def watched(data, epsilon, rng):
            seen.add(len(data))
            return len(data) + rng.laplace(scale=1 / epsilon)

        adjacency = Replace([0, 1], odd=False)
        check(watched, epsilon=1.0, adjacency=adjacency, lengths=lengths, search_runs=200, confirm_runs=500)
        return seen

    assert tried((3, 7)) == {3, 7}


# An adjacency that nobody stated.


def test_the_other_adjacency_is_tried_where_none_was_stated():
    told = " ".join(check(histogram, epsilon=1.0, **SMALL).notes)
    assert "no violation was found" in told
    assert "adjacency=ONE_DIFFERS" in told
    told = " ".join(check(histogram_wrong_scale, epsilon=0.2, **SMALL).notes)
    assert "the claim breaks" in told


def test_a_stated_adjacency_is_taken_as_it_is():
    assert "neighbours" not in " ".join(check(histogram, epsilon=1.0, adjacency=ALL_DIFFER, **SMALL).notes)
    counting = Adapted(
        lambda data, rng: data[0] + rng.laplace(scale=2.0), "count", Own(PureDP(0.5), ONE_DIFFERS, pairs=[([0], [1])])
    )
    assert check(counting, **SMALL).adjacency == str(ONE_DIFFERS)
    assert check(counting, adjacency=ALL_DIFFER, **SMALL).adjacency == str(ALL_DIFFER)
