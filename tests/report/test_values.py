"""Values survive being saved, whatever they are; what cannot be saved is refused in a sentence."""

import datetime
import decimal
import fractions
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refutedp.api.saved.values import decode, encode
from refutedp.model.errors import UsageError
from refutedp.report.python_code import literal

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers()
KEYS = st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=12,
)


def same(one, other):
    """Equal in type and value, nan being equal to nan and -0.0 not to 0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return same(list(one.items()), list(other.items()))
    if isinstance(one, complex):
        return same(one.real, other.real) and same(one.imag, other.imag)
    if isinstance(one, float):
        return repr(one) == repr(other)
    return one == other


@settings(max_examples=150, deadline=None)
@given(VALUES)
def test_a_value_is_the_same_after_json(value):
    assert same(decode(json.loads(json.dumps(encode(value), allow_nan=False))), value)


@pytest.mark.parametrize(
    "value",
    [
        {1, 2},
        frozenset({"a"}),
        bytearray(b"ab"),
        2**200,
        "\ud800",
        datetime.date(2026, 1, 2),
        datetime.datetime(2026, 1, 2, 3, 4, 5),
        decimal.Decimal("0.1"),
        fractions.Fraction(1, 3),
    ],
)
def test_other_builtins(value):
    back = decode(json.loads(json.dumps(encode(value))))
    assert type(back) is type(value) and back == value


@pytest.mark.parametrize(
    "array",
    [
        np.array([1.0, math.nan, -math.inf]),
        np.array([[1, 2], [3, 4]], dtype=np.int32),
        np.array([True, False]),
        np.array(["a", "bcd"]),
        np.array([None, "x", 2**80], dtype=object),
        np.zeros((0, 3)),
        np.array(3.5),
        np.array([1, 2], dtype=np.uint8),
    ],
)
def test_arrays(array):
    back = decode(json.loads(json.dumps(encode(array))))
    assert back.dtype == array.dtype and back.shape == array.shape
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("scalar", [np.float64(1.5), np.float32(0.1), np.int64(3), np.bool_(True), np.float64("nan")])
def test_numpy_scalars(scalar):
    back = decode(json.loads(json.dumps(encode(scalar))))
    assert type(back) is type(scalar) and repr(back) == repr(scalar)


def test_what_cannot_be_saved_is_refused_in_a_sentence():
    with pytest.raises(UsageError, match="the input d1 holds a object, which cannot be saved"):
        encode([1, object()], "the input d1")
    with pytest.raises(UsageError, match="cannot be saved"):
        encode(np.zeros(1, dtype=[("age", "i8")]))


@pytest.mark.parametrize(
    "saved",
    [
        {"what": 1},
        {"float": "x"},
        {"tuple": 3},
        {"array": {}},
        {"array": {"dtype": "<f8", "shape": [3], "values": [1]}},
        {"array": {"dtype": "V8", "shape": [1], "values": [1]}},
        {"a": 1, "b": 2},
        {"dict": [[[], 1]]},
    ],
)
def test_broken_values_are_refused_in_a_sentence(saved):
    with pytest.raises(UsageError, match="is no saved value"):
        decode(saved)


@settings(max_examples=80, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(), st.lists, max_leaves=6
    )
)
def test_a_literal_is_the_value(value):
    assert same(eval(literal(value), {"np": np}), value)


def test_literals_of_arrays():
    array = np.array([[1.0, math.nan]])
    np.testing.assert_array_equal(eval(literal(array), {"np": np}), array)
