"""Pairs of neighbours in user-level privacy and in local DP."""

import pandas as pd
import polars as pl
import pytest

from refutedp import ANY_TWO, AddRemove, AnyTwo, Replace, UsageError
from refutedp.inputs.neighbours import MOST_PAIRS, two_of
from refutedp.inputs.source import sources_for
from refutedp.inputs.users import user_neighbours

ROWS = [("ann", "Rome", 1.5), ("ann", "Bonn", 2.5), ("bob", "Rome", 3.5), ("cy", "Rome", 0.5)]
COLUMNS = ("who", "city", "pay")
DATA = {
    "list": (ROWS, 0),
    "dicts": ([dict(zip(COLUMNS, row, strict=True)) for row in ROWS], "who"),
    "pandas": (pd.DataFrame(ROWS, columns=COLUMNS), "who"),
    "polars": (pl.DataFrame(ROWS, schema=list(COLUMNS), orient="row"), "who"),
}


@pytest.mark.parametrize("kind", [AddRemove, Replace])
@pytest.mark.parametrize("data", DATA)
def test_every_pair_is_adjacent_and_users_with_very_much_come(data, kind):
    given, by = DATA[data]
    adjacency = kind(by=by)
    pairs = user_neighbours(adjacency, [given]).pairs
    assert all(adjacency.difference(pair.d1, pair.d2) is None for pair in pairs)
    told = " ".join(pair.category for pair in pairs)
    assert "a copy of another user" in told and "a user with 50 records" in told
    assert "a user in 50 new groups" in told and "a user in every group" in told and "an odd record" in told
    if kind is AddRemove:
        assert pairs[0].category == "remove 'ann', with 2 records"


def test_without_odd_records_users_are_like_the_given_ones():
    assert not [pair for pair in user_neighbours(AddRemove(by=0, odd=False), [ROWS]).pairs if pair.outside]


def test_ids_that_count_go_on():
    pairs = user_neighbours(AddRemove(by=0), [[(1, 5), (2, 6)]]).pairs
    assert {row[0] for pair in pairs for row in pair.d2} == {1, 2, 3}


def test_a_small_domain_is_tried_whole_and_a_large_one_is_thinned():
    assert {frozenset((pair.d1, pair.d2)) for pair in two_of("abcd").pairs} == {
        frozenset(two) for two in ("ab", "ac", "ad", "bc", "bd", "cd")
    }
    large = two_of(range(200))
    assert len(large.pairs) <= MOST_PAIRS and (large.pairs[0].d1, large.pairs[0].d2) == (0, 199)
    assert len(large.pairs) + large.left_out == 200 * 199 // 2


@pytest.mark.parametrize(
    "inputs", [["yes", "no"], ("yes", "no"), [["yes"], ["no"]], [("yes", 1), ("no", 2)], {"a", "b"}]
)
def test_inputs_of_local_dp_are_values(inputs):
    (source,) = sources_for(ANY_TWO, inputs=inputs)
    assert len(source.pairs) == 1 and {repr(source.pairs[0].d1), repr(source.pairs[0].d2)} == set(map(repr, inputs))


def test_values_may_stand_in_the_adjacency():
    assert sources_for(AnyTwo((1, 2)))[0].pairs == sources_for(ANY_TWO, inputs=[1, 2])[0].pairs


@pytest.mark.parametrize(
    ("adjacency", "given", "words"),
    [
        (ANY_TWO, {}, "ANY_TWO needs to know which inputs there are"),
        (ANY_TWO, {"inputs": "yes"}, "inputs='yes' must list the values"),
        (ANY_TWO, {"inputs": ["yes", "yes"]}, "holds no two different values"),
        (ANY_TWO, {"pairs": [("yes", "yes")]}, "holds the same input twice"),
        (AddRemove(by=0), {}, "by=0 needs data that have such ids"),
        (AddRemove(by="who"), {"inputs": [("ann", 1)]}, "by='who'"),
    ],
)
def test_refusals(adjacency, given, words):
    with pytest.raises(UsageError, match=words):
        sources_for(adjacency, **given)
