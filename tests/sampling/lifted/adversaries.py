"""Mechanisms written to fool a lift."""

from __future__ import annotations

import functools
import itertools
import json
import operator
import os
import pickle
import random
import secrets
import time
from typing import Any

import numpy as np

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
def cached(size):
    return np.random.laplace()


@refused
def cached_draw(data):
    return cached(len(data)) + np.random.laplace()


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
def rare_size_of_an_object(data, rng):
    x = rng.laplace()
    return x.__sizeof__() if x > 6 else x


@refused
def memory_address(data, rng):
    x = rng.laplace()
    return id(x) % 2 == 0 if x > 5 else x


@refused
def hash_of_float(data, rng):
    return hash(rng.laplace()) % 2


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
        return str(x)[:3]
    except BaseException:
        return "x"


@refused
def swallows_in_finally(data, rng):
    x = rng.laplace()
    try:
        return rng.multivariate_normal([x], [[1.0]])
    finally:
        return "x"  # noqa: B012, SIM107


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
def unknown_distribution(data, rng):
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
