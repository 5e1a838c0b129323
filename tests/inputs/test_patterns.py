import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refutedp import ALL_DIFFER, ONE_DIFFERS, AddRemove, AllDiffer, NotAdjacentError, OneDiffers, Replace, UsageError
from refutedp.inputs.source import LENGTHS, pairs_for
from refutedp.model.adjacency import ADD_REMOVE, REPLACE, require_adjacent
from refutedp.model.settings import Settings

PAPERS_TABLE = {
    "One Above": ([1, 1, 1, 1, 1], [2, 1, 1, 1, 1]),
    "One Below": ([1, 1, 1, 1, 1], [0, 1, 1, 1, 1]),
    "One Above Rest Below": ([1, 1, 1, 1, 1], [2, 0, 0, 0, 0]),
    "One Below Rest Above": ([1, 1, 1, 1, 1], [0, 2, 2, 2, 2]),
    "Half Half": ([1, 1, 1, 1, 1], [0, 0, 0, 2, 2]),
    "All Above": ([1, 1, 1, 1, 1], [2, 2, 2, 2, 2]),
    "All Below": ([1, 1, 1, 1, 1], [0, 0, 0, 0, 0]),
    "X Shape": ([1, 1, 0, 0, 0], [0, 0, 1, 1, 1]),
}


def test_the_papers_table_is_there_word_for_word():
    made = {pair.category: (pair.d1, pair.d2) for pair in pairs_for(ALL_DIFFER, (5,))}
    assert {name: made[name] for name in PAPERS_TABLE} == PAPERS_TABLE


def test_both_lengths_of_the_paper_and_one_query_by_default():
    assert {len(pair.d1) for pair in pairs_for(ALL_DIFFER)} == {1, 5, 10}
    assert Settings().lengths is None
    assert LENGTHS == (1, 5, 10)


def test_no_pair_comes_twice_in_either_order():
    both = [(tuple(pair.d1), tuple(pair.d2)) for pair in pairs_for(ALL_DIFFER, (1, 2, 3))]
    assert len({frozenset(pair) for pair in both}) == len(both)


@pytest.mark.parametrize("kind", [AllDiffer, OneDiffers])
@given(sensitivity=st.floats(0.01, 100), length=st.integers(1, 12))
def test_every_pair_is_adjacent_and_some_query_moves_by_the_whole_sensitivity(kind, sensitivity, length):
    adjacency = kind(sensitivity)
    pairs = pairs_for(adjacency, (length,))
    assert pairs
    for pair in pairs:
        assert adjacency.difference(pair.d1, pair.d2) is None
        gap = max(abs(a - b) for a, b in zip(pair.d1, pair.d2, strict=True))
        assert gap == pytest.approx(sensitivity)


def test_histograms_change_one_count():
    for pair in pairs_for(ONE_DIFFERS):
        assert sum(a != b for a, b in zip(pair.d1, pair.d2, strict=True)) == 1


@pytest.mark.parametrize("adjacency", [AddRemove((3, 7)), Replace((3, 7)), ADD_REMOVE, REPLACE])
def test_record_pairs_are_adjacent_and_distinct(adjacency):
    pairs = pairs_for(adjacency)
    assert pairs
    assert len({(repr(p.d1), repr(p.d2)) for p in pairs}) == len(pairs)
    for pair in pairs:
        assert adjacency.difference(pair.d1, pair.d2) is None


def test_records_include_the_empty_data_set_and_odd_values():
    pairs = pairs_for(ADD_REMOVE)
    assert any(pair.d1 == [] for pair in pairs)
    assert any(isinstance(r, float) and math.isnan(r) for pair in pairs for r in pair.d2)


@pytest.mark.parametrize(
    ("adjacency", "d1", "d2", "says"),
    [
        (ALL_DIFFER, [1, 1, 1], [1, 1, 3], "at position 2 the inputs are 1 and 3, which differ by more than 1"),
        (ALL_DIFFER, [1, 1], [1, 1, 1], "2 and 3 queries"),
        (ALL_DIFFER, ["a"], ["b"], "not both lists of numbers"),
        (ALL_DIFFER, [1, math.nan], [1, 1], "at position 1 there is a nan"),
        (ONE_DIFFERS, [1, 1, 1], [2, 1, 2], "differ at positions [0, 2]"),
        (ADD_REMOVE, [1, 2], [1, 2, 3, 4], "only the second [3, 4]"),
        (ADD_REMOVE, [1, 2], [2, 1], "the same records"),
        (REPLACE, [1, 2], [3, 4], "only the first input holds [1, 2] and only the second [3, 4]"),
        (REPLACE, [1, 2], [1], "exactly one record may be replaced"),
    ],
)
def test_a_pair_that_is_not_adjacent_is_refused_with_the_place(adjacency, d1, d2, says):
    with pytest.raises(NotAdjacentError) as caught:
        require_adjacent(adjacency, d1, d2, 3)
    assert str(caught.value).startswith("pairs[3] is not adjacent: ")
    assert says in str(caught.value)


def test_order_is_free_for_records_and_nan_equals_nan():
    require_adjacent(ADD_REMOVE, [1, math.nan], [math.nan, 5, 1], 0)
    require_adjacent(REPLACE, [1, 2], [3, 1], 0)


@pytest.mark.parametrize("records", [(), "abc", 7])
def test_a_bad_universe_is_refused(records):
    with pytest.raises(UsageError, match="records="):
        AddRemove(records)
