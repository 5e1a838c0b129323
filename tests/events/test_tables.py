"""Tables and edges: shortcuts give what the long way gives."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from refutedp.events import whole
from refutedp.events.features.basic import Count, Last, Length, Value
from refutedp.events.numbers import Numbers, NumberTable, _distinct, _rounded, edges_of, repeated_numbers
from refutedp.events.tables import Sides
from refutedp.events.whole import whole_outputs
from refutedp.hypothesis.tests.ratio import normal_quantiles
from refutedp.model.outputs import Group, Outputs
from refutedp.sampling.encode import encode

numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)


def rounded_one_by_one(edges):
    """The same by np.round, with one call for each number of digits."""
    gaps = np.diff(edges)
    nearest = np.minimum(np.append(gaps, gaps[-1]), np.insert(gaps, 0, gaps[0]))
    decimals = np.clip(np.ceil(-np.log10(np.maximum(nearest, 1e-300) * 0.5)), -300, 300).astype(int)
    out = [np.round(x, places) if abs(places) <= 15 else x for x, places in zip(edges, decimals, strict=True)]
    return np.unique(out)


@settings(deadline=None)
@given(st.lists(numbers, min_size=2, max_size=30, unique=True))
@pytest.mark.filterwarnings("ignore:overflow")
def test_edges_are_rounded_as_np_round_does(values):
    edges = np.sort(np.array(values)) + 0.0
    assert _rounded(edges).tolist() == rounded_one_by_one(edges).tolist()


@given(st.lists(numbers, max_size=30))
def test_distinct_numbers_are_those_of_np_unique(values):
    assert _distinct(np.array(values)).tolist() == np.unique(np.array(values)).tolist()


def test_edges_of_no_numbers_and_of_one_side():
    empty = NumberTable(Numbers(np.empty(0)), Numbers(np.empty(0)))
    assert len(edges_of(empty, repeated_numbers(empty)[0])) == 0
    one = NumberTable(Numbers(np.array([1.0, 2.0])), Numbers(np.empty(0)))
    assert edges_of(one, repeated_numbers(one)[0]).tolist() == [1.0, 2.0]


def mixed(seed, n=500):
    """Lists that end with their first number, as a sparse vector that leaks returns them."""
    rng = np.random.default_rng(seed)
    return [[False] * int(rng.integers(0, 4)) + [float(rng.normal())] for _ in range(n)]


def test_a_signature_is_the_size_and_the_ends_of_both_sides():
    sides = Sides(encode(mixed(0)), encode(mixed(1)))
    compared = 0
    for feature in (Last(), *(Value((i,)) for i in range(4))):
        for case, value in ((Length(), 2), (Length(), 3), (Count(False), 1), (Value((0,)), False)):
            table = sides.table(sides.parts(feature, sides.where(case, value)))
            if isinstance(table, NumberTable):
                ends = ((len(side), *side.at(np.array([0, len(side) - 1]))) for side in (table.x, table.y))
                assert table.signature == tuple(part for side in ends for part in side)
                compared += 1
    assert compared > 5


def test_missing_numbers_are_left_out():
    outputs = encode([[1.0, float("nan")], [2.0, 3.0]])
    sides = Sides(outputs, outputs)
    assert sides.table(sides.parts(Value((1,)))).signature == (1, 3.0, 3.0, 1, 3.0, 3.0)
    assert sides.table(sides.parts(Value((0,)))).signature == (2, 1.0, 2.0, 2, 1.0, 2.0)


def test_leaves_that_all_rows_share_count_like_any_others():
    rng = np.random.default_rng(0)
    outputs = [
        [True, False, int(k), float(x)] for k, x in zip(rng.integers(0, 2, 300), rng.normal(size=300), strict=True)
    ]
    sides = Sides(encode(outputs), encode(outputs[:10]))
    shared, varying = (sides.table(sides.parts(Value((i,)))) for i in (0, 2))
    assert (shared.values, shared.x.tolist(), shared.y.tolist()) == ([True], [300], [10])
    assert varying.values == [0, 1]
    assert varying.x.tolist() == [sum(output[2] == k for output in outputs) for k in (0, 1)]
    assert sides.where(Value((0,)), True)[0] == [(0, True)]
    assert sides.where(Value((0,)), 1)[0] == []  # True is not 1


def test_normal_quantiles_of_stretches_are_those_of_each_level():
    level = np.repeat([0.01, 0.2, 0.01, 1e-9], [3, 1, 4, 2])
    assert normal_quantiles(level).tolist() == special.ndtri(level).tolist()
    assert normal_quantiles(0.05) == special.ndtri(0.05)


def test_whole_outputs_are_counted_on_both_sides_whether_their_rows_are_weighed_or_not():
    """A side without weights counted as one without hits, and the race took that for a violation."""
    first, second = encode([[True, False]] * 3), encode([[True, False]] * 2 + [[False, True]])
    rows = [(group.shape, [column.repeat(group.weights) for column in group.columns]) for group in second.groups]
    plain = Outputs(tuple(Group(shape, len(columns[0]), tuple(columns)) for shape, columns in rows))
    found, same = whole_outputs(first, plain), whole_outputs(first, second)
    assert (
        dict(zip(found.outputs, zip(found.x, found.y, strict=True), strict=True)).items()
        >= {
            (shape, leaves): (x, y) for (shape, leaves), x, y in zip(same.outputs, same.x, same.y, strict=True) if x
        }.items()
    )


def test_of_very_many_whole_outputs_the_frequent_ones_are_counted(monkeypatch):
    rng = np.random.default_rng(3)
    sides = [[rng.integers(0, 6, 3).tolist() for _ in range(900)] + [[7, 7]] * repeats for repeats in (40, 3)]
    first, second = (encode(rows) for rows in sides)
    everything = whole_outputs(first, second)
    monkeypatch.setattr(whole, "MOST_OUTPUTS", 100)
    found = whole_outputs(first, second)
    naive = [Counter(map(tuple, rows)) for rows in sides]
    for some in (everything, found):
        for (_, leaves), x, y in zip(some.outputs, some.x, some.y, strict=True):
            assert (naive[0][leaves], naive[1][leaves]) == (x, y)
    kept = {leaves for leaves in naive[0] | naive[1] if max(one[leaves] for one in naive) >= whole.FREQUENT}
    assert {leaves for _, leaves in found.outputs} == kept
    assert 0 < len(kept) < len(everything.outputs) <= found.seen
