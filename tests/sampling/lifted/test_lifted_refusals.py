"""Mechanisms written to fool a lift: each is refused, at proof or on the first run that would go wrong."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from refutedp.events.features.basic import Type, Value
from refutedp.events.predicates import Equals, Interval
from refutedp.model.mechanism import describe
from refutedp.sampling.lifted import CannotLift, Lift
from refutedp.sampling.lifted.lifted_sampler import hit_alone, hit_paired
from tests.sampling.lifted.adversaries import (
    MEMO,
    REFUSED,
    cached,
    hexadecimal,
    uncopied_method,
    unknown_distribution,
)

EVENTS = (Interval(Value(), None, 0.5), Equals(Type(), "float"))
WAYS: dict[str, Callable[[Lift, np.random.Generator], object]] = {
    "gathered": lambda lift, rng: lift.sample(20_000, rng),
    "counted": lambda lift, rng: hit_alone(lift, EVENTS, 20_000, rng),
    "paired": lambda lift, rng: hit_paired((lift, lift), EVENTS, 20_000, rng),
}
"""What is done with lifted runs."""


@pytest.fixture(autouse=True)
def nothing_remembered():
    """What remembers its first draw is harmless from the second call on."""
    MEMO.clear()
    cached.cache_clear()


def prove_and_run(function: Any, way: str = "gathered") -> None:
    lift = Lift(describe(function), [1, 2, 3], {})
    lift.prove(np.random.default_rng(1))
    WAYS[way](lift, np.random.default_rng(2))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__qualname__)
def test_is_refused_with_one_sentence(function, way):
    with pytest.raises(CannotLift) as refusal:
        prove_and_run(function, way)
    sentence = str(refusal.value)
    assert sentence
    assert "\n" not in sentence


def test_refusal_names_the_line():
    with pytest.raises(CannotLift, match=rf"line {hexadecimal.__code__.co_firstlineno + 2}\)"):
        Lift(describe(hexadecimal), [1], {}).prove(np.random.default_rng(0))


def test_refusal_names_the_unknown_method():
    with pytest.raises(CannotLift, match="multivariate_normal"):
        Lift(describe(unknown_distribution), [1], {}).prove(np.random.default_rng(0))


def test_batched_mechanisms_are_not_lifted():
    with pytest.raises(CannotLift, match="batched"):
        Lift(describe(lambda data, *, size, rng: rng.laplace(size=size)), [1], {})


def test_a_refused_lift_gives_the_global_generators_back():
    before = np.random.get_state()[1].copy()
    with pytest.raises(CannotLift, match="global generator"):
        prove_and_run(uncopied_method)
    assert np.array_equal(np.random.get_state()[1], before)


def test_globals_of_the_user_are_left_alone():
    numpy_state, python_state = np.random.get_state()[1].copy(), random.getstate()

    def noisy(data):
        return np.random.laplace() + random.random()

    lift = Lift(describe(noisy), [1], {})
    lift.prove(np.random.default_rng(1))
    lift.sample(5000, np.random.default_rng(2))
    assert np.array_equal(np.random.get_state()[1], numpy_state)
    assert random.getstate() == python_state


def test_state_is_noticed_under_a_name_that_two_functions_use():
    def counting():
        seen = [1]

        def count():
            seen.append(1)
            return len(seen)

        return count

    count, seen = counting(), [0]

    def mechanism(data, rng):
        return data[0] + seen[0] + (count() > 10**9) + rng.laplace()

    with pytest.raises(CannotLift, match="keeps state between calls, in 'seen"):
        prove_and_run(mechanism)
