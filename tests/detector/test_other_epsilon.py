"""A mechanism that takes ε claims to be private for every ε: where it breaks at another one, the result says so."""

import functools

import pytest

from refutedp import Verdict, check

SMALL = {"search_runs": 5_000, "confirm_runs": 20_000, "lengths": (1,), "progress": False}


def inverted(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=epsilon)


def regardless(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=1)


def floored(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=1 / max(epsilon, 0.5))


def capped(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=1 / min(epsilon, 2.0))


def right(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=1 / epsilon)


@pytest.mark.parametrize("mechanism", [inverted, regardless, floored])
def test_what_breaks_at_another_epsilon_is_told_and_does_not_convict(mechanism):
    result = check(mechanism, epsilon=1.0, **SMALL)
    assert result.verdict is Verdict.NOT_FOUND
    assert "At another ε it breaks: a small check of 0.1-differential privacy" in result.notes[0]


@pytest.mark.parametrize("mechanism", [right, capped])
def test_what_holds_at_every_epsilon_gets_no_such_note(mechanism):
    result = check(mechanism, epsilon=1.0, **SMALL)
    assert not any("another ε" in note for note in result.notes)


def test_an_epsilon_that_the_user_fixed_is_left_alone():
    result = check(inverted, epsilon=1.0, args={"epsilon": 1.0}, **SMALL)
    assert not any("another ε" in note for note in result.notes)


def test_an_epsilon_that_partial_binds_is_the_users():
    result = check(functools.partial(inverted, epsilon=1.0), epsilon=1.0, **SMALL)
    assert result.verdict is Verdict.NOT_FOUND


def refuses_others(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=1.0) if epsilon == 1.0 else object()


def test_a_small_check_that_fails_does_not_take_the_verdict_along():
    assert check(refuses_others, epsilon=1.0, **SMALL).verdict is Verdict.NOT_FOUND
