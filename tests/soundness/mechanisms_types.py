"""Type tests: what a value is decides whether it is cut.

`Generator.laplace()` returns a Python float, elements of arrays are NumPy floats, and comparisons of each give bools
of their kind. A lift that gets a type wrong skips the cut at 5 that makes the release private (see `exposed`).
"""

from __future__ import annotations

import functools
import math
import numbers
from typing import Protocol, runtime_checkable

import numpy as np

from refutedp import PureDP
from tests.soundness.registry import BITS, ONE, cases_of, exposed, exposed_vector

private = cases_of("types")


@private()
def type_equals_float(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    if type(noisy) == float:  # noqa: E721
        noisy = min(noisy, 5.0)
    return noisy


@private()
def isinstance_of_float(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    return min(noisy, 5.0) if isinstance(noisy, float) else noisy


@private()
def type_among_several(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    return min(noisy, 5.0) if type(noisy) in (int, float) else noisy


@private()
def class_attribute(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    return min(noisy, 5.0) if noisy.__class__ is float else noisy


@private()
def no_dtype_on_a_python_float(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    return noisy if hasattr(noisy, "dtype") else min(noisy, 5.0)


@private()
def dtype_on_an_element(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))[0]
    return min(noisy, 5.0) if hasattr(noisy, "dtype") else noisy


@private()
def numpy_floating(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))[0]
    return np.minimum(noisy, 5.0) if isinstance(noisy, np.floating) else noisy


@private()
def numpy_float_is_a_python_float_too(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))[0]
    return min(noisy, 5.0) if isinstance(noisy, float) and type(noisy) is not float else noisy


@private()
def matched_by_class(queries, rng):
    match exposed(queries[0], rng.laplace()):
        case int(value):
            return value
        case float(value):
            return min(value, 5.0)


@private()
def matched_as_a_sequence(queries, rng):
    match [exposed(queries[0], rng.laplace()), "count"]:
        case [float(value), str()]:
            return min(value, 5.0)
        case [value, _]:
            return value


@private()
def matched_as_a_mapping_with_a_guard(queries, rng):
    match {"kind": "count", "value": exposed(queries[0], rng.laplace())}:
        case {"kind": "count", "value": value} if value > 5:
            return 5.0
        case {"value": value}:
            return value


@private()
def a_number_of_the_tower(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    if isinstance(noisy, numbers.Number) and not isinstance(noisy, numbers.Integral):
        return min(noisy, 5.0)
    return noisy


@private()
def a_real_number_rounded_to_integral(queries, rng):
    rounded = round(exposed(queries[0], rng.laplace()))
    return min(rounded, 5) if isinstance(rounded, numbers.Integral) else rounded


@private(PureDP(math.log(3)), BITS)
def python_bool_from_a_python_float(data, rng):
    honest = rng.random() < 0.75
    # The comparison of two Python floats is a bool; a NumPy bool would give the secret away.
    if type(honest) is bool:
        return honest == bool(data[0])
    return bool(data[0])


@private(PureDP(math.log(3)), BITS)
def numpy_bool_from_an_element(data, rng):
    honest = rng.random(1)[0] < 0.75
    return bool(data[0]) if isinstance(honest, bool) else bool(honest) == bool(data[0])


@private(PureDP(math.log(3)), BITS)
def a_bool_is_an_int(data, rng):
    honest = rng.random() < 0.75
    return (data[0] + (1 - honest)) % 2 if isinstance(honest, int) else data[0]


@private()
def name_of_the_type(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    return {"float": min(noisy, 5.0)}.get(type(noisy).__name__, noisy)


@functools.singledispatch
def cut(value):
    return value


@cut.register
def _(value: float):
    return min(value, 5.0)


@cut.register
def _(value: np.ndarray):
    return np.minimum(value, 5.0)


@private()
def dispatched_on_a_float(queries, rng):
    return cut(exposed(queries[0], rng.laplace()))


@private()
def dispatched_on_an_array(queries, rng):
    return cut(exposed_vector(queries, rng.laplace(size=1)))[0]


@private()
def scalar_by_ndim(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    return min(noisy, 5.0) if np.isscalar(noisy) and np.ndim(noisy) == 0 else noisy


@private()
def array_or_list(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    if isinstance(noisy, (list, tuple)):
        return noisy
    return [min(x, 5.0) for x in noisy.tolist() if type(x) is float]


@private()
def item_where_there_is_one(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    try:
        noisy = noisy.item()
    except AttributeError:
        noisy = min(noisy, 5.0)
    return noisy


@private()
def whole_numbers_by_is_integer(queries, rng):
    floored = np.floor(exposed(queries[0], rng.laplace()))
    return min(floored, 4.0) if floored.is_integer() else queries[0]


@private()
def subclass_test(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    return min(noisy, 5.0) if issubclass(type(noisy), float) else noisy


@private()
def dtype_of_an_array(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    if np.issubdtype(noisy.dtype, np.floating) and noisy.dtype.kind == "f":
        noisy = np.minimum(noisy, 5)
    return noisy[0]


@private()
def floor_of_math_is_an_int(queries, rng):
    floored = math.floor(exposed(queries[0], rng.laplace()))
    return min(floored, 4) if type(floored) is int else floored


@private()
def floor_of_numpy_is_a_float(queries, rng):
    floored = np.floor(exposed(queries[0], rng.laplace()))
    return floored if isinstance(floored, int) else min(floored, 4.0)


@runtime_checkable
class Whole(Protocol):
    def is_integer(self) -> bool: ...


@private()
def protocol(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    return min(noisy, 5.0) if isinstance(noisy, Whole) else noisy


@private(PureDP(math.log(3)), BITS)
def integers_of_numpy_are_no_python_ints(data, rng):
    coin = rng.integers(4)
    # Generator.integers returns a NumPy integer unless dtype is int.
    if isinstance(coin, np.integer) and not isinstance(coin, int):
        return int(data[0] ^ int(coin == 0))
    return data[0]


@private(PureDP(math.log(3)), BITS)
def truth_of_an_integer(data, rng):
    return bool(rng.integers(4)) is bool(data[0])


@private(pair=ONE)
def type_of_a_sum_of_mixed_types(queries, rng):
    total = sum([queries[0], rng.laplace()])
    leaky = total + 1000 * (queries[0] - 1) * max(total - 5.0, 0.0)
    return min(leaky, 5.0) if type(leaky) is type(total) else leaky
