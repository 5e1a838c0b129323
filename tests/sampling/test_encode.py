import dataclasses
import datetime
import decimal
import enum
import fractions
import math
from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refutedp import UnsupportedOutputError
from refutedp.model.outputs import Group, compress, merge
from refutedp.sampling.encode import Raised, _Walk, encode, encode_array, shape_of

SCALARS = st.one_of(st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.none())
OUTPUTS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
    ),
    max_leaves=6,
)


def rows_of(group: Group):
    weights = [1] * group.rows if group.weights is None else group.weights.tolist()
    for i in range(group.rows):
        leaves = tuple(
            None if kind == "none" else column[i]
            for kind, column in zip(group.shape.kinds, group.columns, strict=True)
        )
        for _ in range(weights[i]):
            yield group.shape, leaves


def key(shape, leaves):
    return shape, tuple("nan" if isinstance(v, float) and math.isnan(v) else v for v in leaves)


@given(st.lists(OUTPUTS, max_size=12))
def test_nothing_is_lost_or_changed(results):
    expected = sorted(repr(key(*_plain(shape_of(r)))) for r in results)
    outputs = encode(results)
    found = sorted(repr(key(*_plain((s, leaves)))) for g in outputs.groups for s, leaves in rows_of(g))
    assert found == expected
    assert outputs.size == len(results)


def _plain(shaped):
    shape, leaves = shaped
    return shape, tuple(v.item() if isinstance(v, np.generic) else v for v in leaves)


@given(st.lists(st.lists(OUTPUTS, max_size=6), max_size=4))
def test_merging_chunks_equals_encoding_all_at_once(chunks):
    merged = merge(encode(chunk) for chunk in chunks)
    whole = encode([result for chunk in chunks for result in chunk])
    assert sorted(repr(key(*_plain(r))) for g in merged.groups for r in rows_of(g)) == sorted(
        repr(key(*_plain(r))) for g in whole.groups for r in rows_of(g)
    )


class Colour(enum.Enum):
    RED = 1


Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Answer:
    value: float
    flags: list


@pytest.mark.parametrize(
    ("output", "label", "kinds"),
    [
        (np.float64(1.5), "float", ("float",)),
        (np.bool_(True), "bool", ("bool",)),
        (np.int64(3), "int", ("int",)),
        (np.float32(1.5), "float32", ("float",)),
        (np.arange(3), "ndarray", ("int",) * 3),
        (np.ones((2, 2)), "ndarray", ("float",) * 4),
        (np.array([1.0, None], dtype=object), "ndarray(list)", ("float", "none")),
        (np.array([1 + 2j]), "ndarray", ("float", "float")),
        (1 + 2j, "complex", ("float", "float")),
        (Colour.RED, "Colour", ("str",)),
        (Point(1, 2.0), "Point", ("int", "float")),
        (Answer(0.5, [True]), "Answer(list)", ("float", "bool")),
        ({"b": 1, "a": "x"}, "dict", ("str", "int")),
        ({3, 1}, "set", ("int", "int")),
        (b"ab", "bytes", ("str",)),
        (decimal.Decimal("1.5"), "Decimal", ("float",)),
        (fractions.Fraction(1, 2), "Fraction", ("float",)),
        (datetime.date(2020, 1, 1), "date", ("str",)),
        ([], "list", ()),
        (Raised("ValueError"), "ValueError", ()),
    ],
)
def test_outputs_of_every_kind(output, label, kinds):
    shape, leaves = shape_of(output)
    assert (shape.label, shape.kinds) == (label, kinds)
    assert len(leaves) == len(kinds)


def test_what_cannot_be_compared_is_refused_with_the_type():
    with pytest.raises(UnsupportedOutputError, match="returned a object, which RefuteDP cannot look into"):
        encode([object()])


def test_integers_beyond_64_bits_survive():
    (group,) = encode([2**70, -(2**70), 5]).groups
    assert sorted(group.columns[0].tolist()) == [-(2**70), 5, 2**70]


def test_repeated_categorical_outputs_become_weights():
    (group,) = encode([[True, False]] * 50 + [[False, False]] * 30).groups
    assert group.rows == 2
    assert sorted(group.weights.tolist()) == [30, 50]


def test_arrays_of_outputs_need_no_python_object_a_run():
    batch = np.arange(12.0).reshape(4, 3)
    (group,) = encode_array(batch).groups
    assert [column.tolist() for column in group.columns] == batch.T.tolist()
    (flags,) = encode_array(np.array([True, True, False])).groups
    assert dict(zip(flags.columns[0].tolist(), flags.weights.tolist(), strict=True)) == {False: 1, True: 2}


@given(st.lists(st.tuples(st.booleans(), st.integers(-3, 3), st.sampled_from("ab")), min_size=2, max_size=60))
def test_compress_keeps_the_multiset(rows):
    (group,) = encode([list(row) for row in rows]).groups
    again = compress(group)
    assert sorted(repr(_plain(r)) for r in rows_of(again)) == sorted(repr(_plain(r)) for r in rows_of(group))


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.bool_])
@pytest.mark.parametrize("dimensions", [(), (0,), (3,), (2, 3), (2, 0)])
def test_arrays_are_encoded_as_if_they_were_walked(dtype, dimensions):
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 2, dimensions).astype(dtype) for _ in range(5)]
    walk = _Walk()
    label, leaves = walk._array(arrays[0], ()), walk.leaves
    shape, values = shape_of(arrays[0])
    assert (shape.label, shape.paths, shape.kinds) == (label, *(tuple(leaf[i] for leaf in leaves) for i in (0, 1)))
    assert shape.length == (dimensions[0] if dimensions else None)
    assert values == [leaf[2] for leaf in leaves]
    found = sorted(leaves for group in encode(arrays).groups for _, leaves in rows_of(group))
    assert found == sorted(tuple(array.ravel()) for array in arrays)


def test_arrays_of_other_kinds_keep_their_names():
    matrix = np.zeros((1, 2)).view(np.matrix)
    assert encode([matrix] * 3).groups[0].shape.paths == ((0, 0), (0, 1))
    assert shape_of(np.zeros(5000))[0].length == 5000
    assert shape_of(np.zeros(2, dtype=np.float32))[0].label == "ndarray[float32]"
    assert shape_of(np.ma.masked_array([1.0, 2.0]))[0].label == "ndarray"
    outputs = encode([np.zeros(2), np.zeros(2, dtype=np.float32), np.zeros(3), np.array(["a", "b"])])
    assert [(group.shape.label, group.shape.length) for group in outputs.groups] == [
        ("ndarray", 2),
        ("ndarray", 3),
        ("ndarray[float32]", 2),
        ("ndarray", 2),
    ]
