"""Mechanisms written to fool a lift: each is refused, at proof or on the first run that would go wrong."""

from __future__ import annotations

import enum
import functools
import itertools
import json
import math
import operator
import os
import pickle
import random
import secrets
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from refutedp.mechanism import describe
from refutedp.sampling.lifted import CannotLift, Lift, prove_lift

GENERATOR = np.random.default_rng(5)
BOX = {"generators": [np.random.default_rng(6)]}
COUNTER = [0]
MEMO: dict[int, float] = {}
TICKS = itertools.count()
CALLS = 0
REFUSED: list[Any] = []


def refused(function: Any) -> Any:
    REFUSED.append(function)
    return function


@refused
def captured_generator(data, rng):
    return rng.laplace() + GENERATOR.laplace()


@refused
def generator_in_a_box(data, rng):
    return rng.laplace() + BOX["generators"][0].laplace()


@refused
def operating_system(data, rng):
    return rng.laplace() + secrets.randbelow(2)


@refused
def rare_operating_system(data, rng):
    x = rng.laplace()
    return x + os.urandom(1)[0] % 2 if x > 4 else x


@refused
def clock(data, rng):
    return rng.laplace() + time.time() % 1


@refused
def rare_clock(data, rng):
    x = rng.laplace()
    return bool(time.perf_counter() > 0) if x > 4 else x


@refused
def counter_in_a_list(data, rng):
    COUNTER[0] += 1
    return rng.laplace() if COUNTER[0] < 10_000 else 0.0


@refused
def counter_in_a_global(data, rng):
    global CALLS
    CALLS += 1
    return rng.laplace() if CALLS < 10_000 else 0.0


@refused
def memo(data, rng):
    return MEMO.setdefault(len(data), rng.laplace())


@refused
def iterator(data, rng):
    return rng.laplace() if next(TICKS) < 10_000 else 0.0


@refused
def mutable_default(data, rng, seen=[]):  # noqa: B006
    seen.append(len(data))
    return rng.laplace() + (len(seen) > 10_000)


@refused
def function_attribute(data, rng):
    function_attribute.calls = getattr(function_attribute, "calls", 0) + 1
    return rng.laplace()


@functools.lru_cache
def _cached(size):
    return np.random.laplace()


@refused
def cached_draw(data):
    return _cached(len(data)) + np.random.laplace()


class Stateful:
    total = 0

    def __init__(self):
        self.calls = 0

    def method(self, data, rng):
        self.calls += 1
        return rng.laplace()

    def on_class(self, data, rng):
        Stateful.total += 1
        return rng.laplace()


REFUSED += [Stateful().method, Stateful().on_class]


class Owner:
    def __init__(self):
        self.rng = np.random.default_rng(1)

    def own(self, data, rng):
        return rng.laplace() + self.rng.laplace()

    def noise(self):
        return np.random.laplace()


REFUSED.append(Owner().own)
OWNER = Owner.__new__(Owner)


@refused
def uncopied_method(data, rng):
    return rng.laplace() + OWNER.noise()


def _nonlocal():
    calls = 0

    def count(data, rng):
        nonlocal calls
        calls += 1
        return rng.laplace() if calls < 10_000 else 0.0

    return count


REFUSED.append(_nonlocal())


@refused
def identity_with_true(data, rng):
    return "rare" if (rng.laplace() > 6) is True else "common"


@refused
def identity_by_operator(data, rng):
    return "rare" if operator.is_(rng.laplace() > 6, True) else "common"


@refused
def identity_in_match(data, rng):
    match rng.laplace() > 6:
        case True:
            return "rare"
        case _:
            return "common"


@refused
def rare_type_name(data, rng):
    x = rng.laplace()
    return type(x).__name__ if x > 6 else x


@refused
def type_identity(data, rng):
    x = rng.laplace()
    return x if type(x) is float else 0.0


@refused
def memory_address(data, rng):
    x = rng.laplace()
    return id(x) % 2 == 0 if x > 5 else x


@refused
def hash_of_float(data, rng):
    return hash(rng.laplace()) % 2


@refused
def formatted(data, rng):
    return f"{rng.laplace():.1f}"


@refused
def percent(data, rng):
    return "%.1f" % rng.laplace()  # noqa: UP031


@refused
def text(data, rng):
    return str(rng.laplace())[:3]


@refused
def as_json(data, rng):
    return json.loads(json.dumps([rng.laplace()]))


@refused
def pickled(data, rng):
    return pickle.loads(pickle.dumps(rng.laplace()))


@refused
def hexadecimal(data, rng):
    return rng.laplace().hex()


@refused
def ratio(data, rng):
    return rng.laplace().as_integer_ratio()[1] % 2


@refused
def float_method(data, rng):
    return float.__add__(rng.laplace(), 1.0)


@refused
def swallows(data, rng):
    x = rng.laplace()
    try:
        return str(x)
    except BaseException:
        return "x"


@refused
def swallows_in_finally(data, rng):
    x = rng.laplace()
    try:
        return str(x)
    finally:
        return "x"  # noqa: B012, SIM107


@refused
def view_of_array(data, rng):
    noise = rng.laplace(size=3)
    tail = noise[1:]
    tail += 1.0
    return noise


@refused
def seeded_generator(data):
    return np.random.default_rng(0).laplace()


@refused
def seeds_the_module(data):
    np.random.seed(0)
    return np.random.laplace()


@refused
def seeds_random(data):
    random.seed(3)
    return random.random()


@refused
def unknown_law(data, rng):
    return rng.multivariate_normal([0, 0], [[1, 0], [0, 1]])


@refused
def bit_generator(data, rng):
    return rng.bit_generator.random_raw()


@refused
def shuffles(data, rng):
    rng.shuffle(data)
    return data


@refused
def random_bits(data):
    return random.getrandbits(3)


@refused
def set_of_floats(data, rng):
    return len({rng.laplace(), rng.laplace()})


class Holder:
    def __init__(self, value):
        self.value = value


@refused
def opaque_object(data, rng):
    return Holder(rng.laplace())


@refused
def subclass_of_dict(data, rng):
    return Counter({rng.integers(3): 1})


@refused
def draws_nothing(data):
    return len(data)


@refused
def evaluates(data, rng):
    return eval("rng.laplace()")


@refused
def writes_into_input(data, rng):
    noisy = np.frombuffer(np.array(data, dtype=float).tobytes()).copy()
    noisy[0] = rng.laplace()
    return noisy


@refused
def complex_root(data, rng):
    return abs((rng.laplace() ** 0.5) ** 2)


@refused
def big_integers(data, rng):
    x = rng.geometric(0.5)
    return (x + 1) ** 8 * 10**15


@refused
def single_precision(data, rng):
    return rng.laplace() + np.float32(0.1)


@refused
def numpy_scalar(data, rng):
    return np.float64(rng.laplace())


@refused
def raising_numpy(data, rng):
    with np.errstate(divide="raise"):
        return np.float64(1.0) / rng.integers(0, 1000)


@refused
def sorts_nan(data, rng):
    x = rng.laplace()
    return sorted([x, float("nan") * x, 1.0 * x])


@refused
def unknown_function(data, rng):
    return np.linalg.norm(rng.laplace(size=3))


@refused
def invalid_scale(data, rng):
    return rng.laplace(scale=rng.normal())


@refused
def batched_object_array(data, rng):
    return np.array([rng.laplace(), None], dtype=object)


def prove_and_sample(function: Any) -> None:
    lift = Lift(describe(function), [1, 2, 3], {})
    lift.prove(np.random.default_rng(1))
    lift.sample(20_000, np.random.default_rng(2))


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__qualname__)
def test_is_refused_with_one_sentence(function):
    with pytest.raises(CannotLift) as refusal:
        prove_and_sample(function)
    sentence = str(refusal.value)
    assert sentence
    assert "\n" not in sentence


def test_refusal_names_the_line():
    with pytest.raises(CannotLift, match=rf"line {formatted.__code__.co_firstlineno + 2}\)"):
        prove_lift(describe(formatted), [1], {}, np.random.default_rng(0))


def test_refusal_names_the_unknown_method():
    with pytest.raises(CannotLift, match="multivariate_normal"):
        prove_lift(describe(unknown_law), [1], {}, np.random.default_rng(0))


def test_batched_mechanisms_are_not_lifted():
    with pytest.raises(CannotLift, match="batched"):
        Lift(describe(lambda data, *, size, rng: rng.laplace(size=size)), [1], {})


# What looks dangerous and is equal all the same, run by run.


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


def test_a_refused_lift_gives_the_global_generators_back():
    before = np.random.get_state()[1].copy()
    with pytest.raises(CannotLift, match="global generator"):
        prove_and_sample(uncopied_method)
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
