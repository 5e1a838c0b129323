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


def test_words_are_grammatical_and_sane():
    def number_or_text(queries, rng):
        return 1 if rng.random() < (0.2 if queries[0] == 1 else 0.8) else "x"

    result = check(number_or_text, epsilon=0.5, pairs=[([1], [2])], search_runs=1000, confirm_runs=1000)
    assert result.counterexample.event.words() in ("the output is an int", "the output is a str")

    def exact_zero(queries, rng):
        return 0.0 if rng.random() < (0.2 if queries[0] == 1 else 0.8) else rng.random() + 1

    options = {"search_runs": 1000, "confirm_runs": 1000, "float_leaks": "convict"}
    result = check(exact_zero, epsilon=0.5, pairs=[([1], [2])], **options)
    assert "5000" not in result.counterexample.event.words()
