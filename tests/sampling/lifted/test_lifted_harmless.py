"""Mechanisms that look dangerous and are equal all the same, run by run: they are lifted."""

from __future__ import annotations

import enum
import math
from collections import Counter, OrderedDict
from dataclasses import dataclass, field

import numpy as np
import pytest

from refutedp.model.mechanism import describe
from refutedp.sampling.lifted import Lift


def isinstance_test(data, rng):
    x = rng.laplace()
    if isinstance(x, float) and not isinstance(x, int):
        return x
    return "not a float"


def rare_isinstance_test(data, rng):
    x = rng.laplace()
    if x > 5:
        return isinstance(x, float), isinstance(x > 5, bool), isinstance(x, (int, str))
    return x


def rare_type_test(data, rng):
    x, y = rng.laplace(), rng.laplace(size=2)
    if x > 5:
        kinds = (type(x).__name__, type(x) is float, type(x) in (int, float))
        return *kinds, type(y) == np.ndarray, type(y[0]).__name__  # noqa: E721
    return x


def drawn_keys(data, rng):
    return Counter([int(rng.integers(3)), int(rng.integers(3))]), OrderedDict([(int(rng.integers(2)), 1)])


def mutates_input(data, rng):
    data.sort()
    data[0] += rng.laplace()
    return data


class Mode(enum.Enum):
    LOW = 1
    HIGH = 2


@dataclass
class Journal:
    entries: list[float] = field(default_factory=list)


def identity_with_enum(data, rng):
    x = rng.laplace()
    mode = Mode.HIGH if x > 0 else Mode.LOW
    return x if mode is Mode.HIGH else None


def dataclass_with_factory(data, rng):
    journal = Journal()
    journal.entries.append(rng.laplace())
    return journal.entries


def deterministic(data, rng):
    return None if len(data) == 3 else rng.laplace()


def swallows_own_error(data, rng):
    x = rng.laplace()
    try:
        return 1 / round(x)
    except ZeroDivisionError:
        return "zero"
    finally:
        data.clear()


def inner_state(data, rng):
    total = 0.0

    def add(x):
        nonlocal total
        total += x

    for _ in data:
        add(rng.laplace())
    return total


def accepts_none(data, rng=None):
    rng = np.random.default_rng(rng)
    return rng.laplace()


def checks_the_rng(data, rng):
    if not isinstance(rng, np.random.Generator):
        raise TypeError("rng must be a Generator")
    return rng.laplace()


def membership(data, rng):
    return rng.integers(5) in data


def dictionary_by_draw(data, rng):
    return {0: "a", 1: "b", 2: "c"}[int(rng.integers(3))]


def nan_max(data, rng):
    x = rng.laplace()
    nan = (x - x) / np.float64(0) if False else float("nan")
    return max(nan, x), max(x, nan), min([x, nan, 1.0])


def many_errors(data, rng):
    """Parts that retrace a path must find its decisions where they left them, whatever errors they hold."""
    x, y = rng.normal(scale=3), rng.normal()
    try:
        a = math.log(x)
    except ValueError:
        a = -1.0
    try:
        b = math.exp(x * 400)
    except OverflowError:
        b = 2.0
    c = x ** -(2.0 if y > 0 else 3.0)
    if y > 0.5:
        return a
    return math.sqrt(b) if y < -0.5 else c


def long_sum_after_a_branch(data, rng):
    x = rng.laplace()
    if x > 0:
        data.append(1)
    total = rng.laplace()
    for _ in range(2000):
        total = total + 0.001
    if x > 0.5:
        data.append(2)
    return total + len(data)


def keys_by_draw(data, rng):
    return dict(Counter(int(rng.integers(3)) for _ in range(3)))


def set_by_draw(data, rng):
    return [{int(rng.integers(3)), int(rng.integers(3))}, rng.laplace()]


EQUAL = [
    keys_by_draw,
    set_by_draw,
    identity_with_enum,
    dataclass_with_factory,
    many_errors,
    long_sum_after_a_branch,
    isinstance_test,
    rare_isinstance_test,
    rare_type_test,
    drawn_keys,
    mutates_input,
    deterministic,
    swallows_own_error,
    inner_state,
    accepts_none,
    checks_the_rng,
    membership,
    dictionary_by_draw,
    nan_max,
]


@pytest.mark.parametrize("function", EQUAL, ids=lambda f: f.__name__)
def test_is_proven_equal(function):
    data = [1, 2, 3]
    lift = Lift(describe(function), data, {})
    lift.prove(np.random.default_rng(1), runs=300)
    assert lift.sample(20_000, np.random.default_rng(2)).size == 20_000
    assert data == [1, 2, 3]
