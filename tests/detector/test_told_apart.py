"""Outputs that print alike or compare equal, and are different outputs all the same."""

from __future__ import annotations

import pytest

from refutedp import Verdict, check, load

DIFFERENT = [
    ([True, [True]], [[True], True]),
    (-0.0, 0.0),
    ({1.5: 1}, {"1.5": 1}),
    ({(1, 2): 1}, {"(1, 2)": 1}),
    ({1: 1}, {"1": 1}),
    ({1: 1}, {True: 1}),
    (b"a", "a"),
    (b"a", "b'a'"),
    ({b"a": 1}, {"b'a'": 1}),
    (1, True),
    (1, 1.0),
    ([1], (1,)),
    ([[]], []),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=str)
@pytest.mark.parametrize("lift", [True, False])
def test_a_leak_by_such_outputs_is_found(one, other, lift, tmp_path):
    def leaks(queries, rng):
        return one if rng.random() < (0.2 if queries[0] == 1 else 0.8) else other

    result = check(leaks, epsilon=0.5, pairs=[([1], [2])], search_runs=1000, confirm_runs=1000, lift=lift)
    assert result.verdict is Verdict.VIOLATION
    result.save(tmp_path / "r.json")
    assert load(tmp_path / "r.json") == result


@pytest.mark.parametrize(("one", "other", "lift"), [((1,), 1, True), (1, "x", False)])
def test_types_are_named_with_the_right_article(one, other, lift):
    def of_two_types(queries, rng):
        return one if rng.random() < (0.2 if queries[0] == 1 else 0.8) else other

    result = check(of_two_types, epsilon=0.5, pairs=[([1], [2])], search_runs=1000, confirm_runs=1000, lift=lift)
    assert result.counterexample.event.words() == "the output is an int"


def test_zero_is_not_called_a_multiple_of_a_power():
    def zeros_or_noise(queries, rng):
        zero = rng.random() < (0.2 if queries[0] == 1 else 0.8)
        noise = rng.normal(size=4)
        return [0.0] * 4 if zero else list(noise)

    result = check(zeros_or_noise, epsilon=0.5, pairs=[([1], [2])], search_runs=1000, confirm_runs=1000, seed=1)
    assert result.float_leak.event.words() == "output[2] is zero or not finite"
    assert "5000" not in str(result)
