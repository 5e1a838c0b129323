"""Calls that stand-ins cannot reach by name: sorting in place, and builtins that are read as types, too."""

import importlib

import numpy as np
import pytest

from refutedp.model.mechanism import describe
from refutedp.sampling.lifted import CannotLift
from refutedp.sampling.lifted.lift import Lift
from refutedp.sampling.lifted.rewrite.branches import joined_code


def smallest(data, rng):
    noisy = [value + rng.laplace() for value in data]
    noisy.sort()
    return noisy[0]


def two_largest(data, rng):
    noisy = [value + rng.laplace() for value in data]
    noisy.sort(reverse=True)
    return noisy[:2]


def sorted_by_key(data, rng):
    noisy = [(value + rng.laplace(), index) for index, value in enumerate(data[:3])]
    noisy.sort(key=lambda pair: -pair[0])
    return [index for _, index in noisy]


def median_of_array(data, rng):
    noisy = np.asarray(data, dtype=float) + rng.laplace(size=len(data))
    return float(np.sort(noisy)[len(data) // 2])


def float_as_dtype_too(data, rng):
    total = np.sum(np.asarray(data, dtype=float))
    return float(np.clip(total + rng.laplace(), 0, 5))


def int_as_dtype_too(data, rng):
    return int(np.asarray(data, dtype=int).sum() + rng.integers(0, 9))


def floats_of_its_own(data, rng):
    def float(x):
        return x + 100

    return [float(rng.laplace() + data[0]), float is None]


class Shelf:
    def __init__(self, items):
        self.items = items

    def sort(self):
        self.items = self.items[::-1]


def sorts_another_thing(data, rng):
    shelf = Shelf([value + rng.laplace() for value in data])
    shelf.sort()
    return shelf.items


LIFTED = [
    smallest,
    two_largest,
    sorted_by_key,
    median_of_array,
    float_as_dtype_too,
    int_as_dtype_too,
    floats_of_its_own,
    sorts_another_thing,
]


@pytest.mark.parametrize("mechanism", LIFTED)
def test_lifted_and_equal_to_the_plain_function(mechanism):
    lift = Lift(describe(mechanism), [0, 1, 2, 5, 3, 1, 0, 2], {})
    lift.prove(np.random.default_rng(0), 200)
    assert lift.sample(2000, np.random.default_rng(1)).size == 2000


def test_sorting_in_place_does_not_split_the_runs():
    lift = Lift(describe(smallest), [0] * 12, {})
    assert len(lift.sample(50_000, np.random.default_rng(0)).groups) == 1
    assert len(lift._proven) == 1


OWN_FLOAT = """
def float(x):
    return x if x != 0 else None


def mechanism(data, rng):
    kinds = [float]
    return [float(rng.laplace() + data[0]), len(kinds)]
"""


def test_a_modules_own_function_is_called_not_the_builtin(tmp_path, monkeypatch):
    (tmp_path / "has_its_own_float.py").write_text(OWN_FLOAT)
    monkeypatch.syspath_prepend(tmp_path)
    mechanism = importlib.import_module("has_its_own_float").mechanism
    assert joined_code(mechanism.__code__) is not None
    Lift(describe(mechanism), [3], {}).prove(np.random.default_rng(0), 50)


def test_code_that_calls_functions_of_an_imported_module_is_rewritten_too():
    assert joined_code(float_as_dtype_too.__code__) is not None
    assert joined_code(median_of_array.__code__) is not None


def not_a_number(data, rng):
    endless = rng.normal() * np.inf
    noisy = [endless - endless, rng.normal()]
    noisy.sort()
    return noisy[0]


def test_nan_among_sorted_values_is_refused():
    with pytest.raises(CannotLift, match="NaN"):
        Lift(describe(not_a_number), [0], {}).prove(np.random.default_rng(0), 50)
