"""Branches that choose between values are joined into one path; all others are taken as they were written."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

from refutedp.model.mechanism import describe
from refutedp.sampling.lifted import Lift
from refutedp.sampling.lifted.rewrite.branches import joined_code


def appends(data, rng):
    out = []
    for q in data:
        if q + rng.laplace() > 1:
            out.append(True)
        else:
            out.append(False)
    return out


def assigns(data, rng):
    best, index = rng.laplace(), 0
    for i, q in enumerate(data):
        value = q + rng.laplace()
        if value > best:
            best, index = value, i
    return index, best


def counts(data, rng):
    above = 0
    for q in data:
        if q + rng.laplace() > 1:
            above += 1
    return above


def conditional_expression(data, rng):
    return [1 if q + rng.laplace() > 1 else 0 for q in data]


def in_closure(scale):
    def inner(data, rng):
        out = []
        for q in data:
            if q + rng.laplace(scale=scale) > 1:
                out.append(1.0)
            else:
                out.append(-1.0)
        return out

    return inner


def decorated(function):
    return function


@decorated
def with_decorator(data, rng):
    x = rng.laplace()
    if x > 0:  # noqa: SIM108
        sign = 1
    else:
        sign = -1
    return sign


def nested_function(data, rng):
    def sign(x):
        if x > 0:  # noqa: SIM108
            result = 1
        else:
            result = -1
        return result

    return [sign(q + rng.laplace()) for q in data]


def order_matters(data, rng):
    a, b = 1, 2
    if rng.laplace() > 0:
        a = b
        b = a
    return a, b


JOINED = [
    order_matters,
    appends,
    assigns,
    counts,
    conditional_expression,
    in_closure(2.0),
    with_decorator,
    nested_function,
]


def paths(function: Any) -> int:
    lift = Lift(describe(function), [1, 0, 2, 1], {})
    lift.prove(np.random.default_rng(0), runs=200)
    assert lift.sample(1000, np.random.default_rng(1)).size == 1000
    return len(lift._proven)


@pytest.mark.parametrize("function", JOINED, ids=lambda f: f.__name__)
def test_values_are_chosen_without_a_second_path(function):
    assert paths(function) == 1


def mixed_types(data, rng):
    out = []
    if rng.laplace() > 0:
        out.append(True)
    else:
        out.append(1)
    return out


def unset_variable(data, rng):
    if rng.laplace() > 0:
        late = 1
    return late


def other_lists(data, rng):
    low, high = [], []
    if rng.laplace() > 0:
        high.append(1)
    else:
        low.append(1)
    return low, high


def own_container(data, rng):
    class Log(list):
        def append(self, item):
            super().append(item * 2)

    log = Log()
    if rng.laplace() > 0:
        log.append(1)
    else:
        log.append(2)
    return list(log)


def list_grows_in_place(data, rng):
    alias = data
    if rng.laplace() > 0:
        data += [1]
    return alias


def none_or_value(data, rng):
    best = None
    if rng.laplace() > 0:
        best = 1.0
    return best


SPLIT = [mixed_types, unset_variable, other_lists, own_container, list_grows_in_place, none_or_value]


@pytest.mark.parametrize("function", SPLIT, ids=lambda f: f.__name__)
def test_other_branches_split(function):
    assert paths(function) == 2


def test_a_source_that_is_not_the_functions_own_is_not_used():
    """A file edited after its import: the lines are still there, but they are not what runs."""
    stale = types.FunctionType(
        assigns.__code__.replace(co_firstlineno=appends.__code__.co_firstlineno), assigns.__globals__, "appends"
    )
    assert joined_code(appends.__code__) is not None
    assert joined_code(stale.__code__) is None


def test_functions_without_source_are_left_as_they_are():
    scope: dict[str, Any] = {}
    exec("def f(data, rng):\n    x = 0\n    if rng.laplace() > 0: x = 1\n    return x\n", scope)
    assert joined_code(scope["f"].__code__) is None
    assert paths(scope["f"]) == 2
