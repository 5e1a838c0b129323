"""Neighbours of data sets that are given: plain moves, records that break code, and strategies of data sets."""

import datetime
import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from refutedp import ADD_REMOVE, ALL_DIFFER, ONE_DIFFERS, REPLACE, AddRemove, OneDiffers, Replace, UsageError
from refutedp.inputs.given import KEPT, drawn, pairs_around
from refutedp.inputs.hostile import odd_records, odd_values
from refutedp.inputs.neighbours import MOST_PAIRS
from refutedp.inputs.source import MOST_RECORD_PAIRS, pairs_for
from refutedp.model.datasets import container_of

PEOPLE = [("Bern", 30), ("Bern", 41), ("Genf", 70)]


def pairs(adjacency, inputs, seed=0):
    return pairs_around(adjacency, inputs, seed).pairs


def added(made):
    """What came in, over all pairs."""
    found = []
    for pair in made:
        rest = [repr(record) for record in pair.d1]
        for record in pair.d2:
            if repr(record) in rest:
                rest.remove(repr(record))
            else:
                found.append(record)
    return found


def test_every_kind_of_odd_number_is_there():
    floats = odd_values([0.25, 0.5])
    assert any(math.isnan(value) for value in floats)
    assert {math.inf, -math.inf, sys.float_info.max, 5e-324} <= set(floats)
    assert all(type(value) is float for value in floats)
    assert "-0.0" in map(repr, floats)
    assert max(v for v in floats if abs(v) < 1e6) > 5 and min(v for v in floats if abs(v) < 1e6) < -5
    whole = odd_values([0, 100])
    assert [type(value) for value in whole] == [int] * 4
    assert {1100, -1000, 2**53 + 1, 2**63} <= set(whole)


def test_odd_words_dates_and_missing_values():
    assert odd_values(["other", "a"]) == ["other2", ""]
    assert odd_values([True, False]) == [] and odd_values([True], nullable=True) == [None]
    assert odd_values([None, "a"]) == ["other", ""], "a missing value is nothing new here"
    late, early = odd_values([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)])
    assert late.year == 2121 and early.year == 1920
    assert odd_values([datetime.date.max])[0].year == 9899
    assert odd_values([object()]) == []
    (day,) = odd_values(np.array(["2020-01-01"], dtype="datetime64[D]"))[:1]
    assert str(day) == "2120-01-02" and day.dtype == "datetime64[D]"


@pytest.mark.parametrize("record", [("a", 1), ["a", 1], {"name": "a", "age": 1}])
def test_one_part_of_a_record_changes_at_a_time(record):
    odds = odd_records([record])
    assert odds
    for odd in odds:
        assert type(odd.record) is type(record)
        if isinstance(record, dict):
            parts = [(record[key], odd.record[key]) for key in record]
        else:
            parts = list(zip(record, odd.record, strict=True))
        assert sum(repr(a) != repr(b) for a, b in parts) == 1
    changed = {odd.words.partition(" = ")[0] for odd in odds[:3]}
    assert len(changed) == 2, "the first few vary all parts"


def test_examples_get_odd_neighbours_after_the_plain_ones():
    plain = pairs_for(AddRemove((0, 100), odd=False))
    both = pairs_for(AddRemove((0, 100)))
    assert both[: len(plain)] == plain
    assert {1100, -1000, 2**53 + 1, 2**63} <= set(added(both[len(plain) :]))
    assert set(added(plain)) == {0, 100}
    many = pairs_for(AddRemove(tuple(range(100))))
    assert len(many) == MOST_RECORD_PAIRS and 2**63 in added(many)


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE])
@settings(max_examples=30, deadline=None)
@given(data=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9)), min_size=1, max_size=30))
def test_every_pair_is_adjacent_and_different(adjacency, data):
    made = pairs(adjacency, data)
    assert 0 < len(made) <= MOST_PAIRS
    for pair in made:
        assert adjacency.difference(pair.d1, pair.d2) is None
        assert sorted(map(repr, pair.d1)) != sorted(map(repr, pair.d2))
    assert len({(repr(p.d1), repr(p.d2)) for p in made}) == len(made)


def test_the_moves_that_tell_most_are_there():
    made = pairs(ADD_REMOVE, PEOPLE)
    sides = [(pair.d1, pair.d2) for pair in made]
    assert (PEOPLE, PEOPLE[:2]) in sides, "a category goes with its only record"
    assert ([PEOPLE[2]], []) in sides, "the empty data set"
    assert any(len(d2) > len(set(d2)) for _, d2 in sides), "a duplicated record"
    assert any(record[0] == "other" for record in added(made)), "a new category"
    replaced = [(pair.d1, pair.d2) for pair in pairs(REPLACE, PEOPLE)]
    assert (PEOPLE, [*PEOPLE[:2], PEOPLE[0]]) in replaced
    assert all(len(d1) == len(d2) for d1, d2 in replaced)


def test_without_odd_records_only_given_ones_come_in():
    for record in added(pairs(AddRemove(odd=False), PEOPLE)):
        assert record in PEOPLE
    assert ("Chur", 5) in added(pairs(AddRemove((("Chur", 5),), odd=False), PEOPLE))


def test_large_data_is_also_tried_in_pieces():
    made = pairs(Replace(odd=False), list(range(1000)))
    sizes = {len(pair.d1) for pair in made}
    assert {1, 5, 1000} <= sizes
    assert any(999 in pair.d1 and len(pair.d1) == 5 for pair in made)


@pytest.mark.parametrize(
    "data", [np.array([1, 2, 3], dtype=np.int16), np.array([[0.5, 1.5], [2.5, 3.5]]), np.array(["a", "b"])]
)
def test_neighbours_of_arrays_are_arrays(data):
    for adjacency in (ADD_REMOVE, REPLACE):
        made = pairs(adjacency, data)
        for pair in made:
            assert isinstance(pair.d1, np.ndarray) and isinstance(pair.d2, np.ndarray)
            assert pair.d1.dtype == data.dtype
            assert pair.d2.dtype.kind == data.dtype.kind or pair.d2.dtype == np.float64
            assert pair.d1.shape[1:] == pair.d2.shape[1:] == data.shape[1:]
    assert made[0].d1 is not data


def test_neighbours_of_frames_keep_their_columns():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    rows = {"city": [city for city, _ in PEOPLE], "age": [age for _, age in PEOPLE]}
    for data in (pd.DataFrame(rows), pl.DataFrame(rows)):
        for adjacency in (ADD_REMOVE, REPLACE, AddRemove(({"age": 5, "city": "Chur"}, ("Chur", 6)))):
            made = pairs(adjacency, data)
            words = " ".join(pair.category for pair in made)
            assert "city = 'other'" in words and "city = None" in words and "age = 770" in words
            for pair in made:
                assert type(pair.d2) is type(data) and list(pair.d2.columns) == ["city", "age"]
                assert adjacency.difference(pair.d1, pair.d2) is None
        assert any(("Chur", 5) in container_of(data).records(pair.d2) for pair in made)
    # A missing age would turn all ages into floats; a missing pay would not.
    assert "age = nan" not in " ".join(pair.category for pair in pairs(ADD_REMOVE, pd.DataFrame(rows)))
    paid = pd.DataFrame({"pay": [1.5, 2.5]})
    assert "pay = nan" in " ".join(pair.category for pair in pairs(ADD_REMOVE, paid))


def test_several_data_sets_lend_each_other_records():
    made = pairs(AddRemove(odd=False), [[1, 2], [7]])
    assert ([1, 2], [1, 2, 7]) in [(pair.d1, pair.d2) for pair in made]
    derived = pairs_around(ADD_REMOVE, [[i, i + 1, i + 2] for i in range(30)], 0)
    assert len(derived.pairs) == MOST_PAIRS and derived.left_out > 0
    assert len({repr(pair.d1) for pair in derived.pairs}) > 15, "data sets take turns"


def test_queries_move_by_the_sensitivity_and_keep_their_kind():
    assert [pair.d2 for pair in pairs(OneDiffers(2), [5, 7])] == [[7, 7], [3, 7], [5, 9], [5, 5]]
    assert [pair.d2 for pair in pairs(ONE_DIFFERS, 3)] == [4, 2]
    moved = [int(np.flatnonzero(pair.d1 != pair.d2)[0]) for pair in pairs(ONE_DIFFERS, np.zeros(5000))]
    assert len(moved) == MOST_PAIRS and {0, 4999} <= set(moved)
    vectors = pairs(ALL_DIFFER, [np.array([1.5, 2.5]), np.array([0, 0, 0])])
    for pair in vectors:
        assert isinstance(pair.d2, np.ndarray)
        assert ALL_DIFFER.difference(pair.d1, pair.d2) is None
        assert abs(pair.d1 - pair.d2).max() == 1
    assert pairs(ALL_DIFFER, st.lists(st.integers(0, 5), min_size=1))
    with pytest.raises(UsageError, match="not both lists of numbers"):
        pairs(ALL_DIFFER, ["a"])


STRATEGY = st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 1)), max_size=20)


def test_the_same_seed_draws_the_same_data_sets_and_says_nothing(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, again, other = drawn(STRATEGY, 1), drawn(STRATEGY, 1), drawn(STRATEGY, 2)
    assert first == again != other
    assert 1 < len(first) <= KEPT
    sizes = [len(data) for data in first]
    assert sizes[0] == 0 and sizes[:4] == sorted(sizes[:4]), "small ones first"
    assert capsys.readouterr() == ("", "")


def test_a_strategy_may_be_drawn_from_inside_a_test_of_hypothesis():
    def inner(seed):
        assert drawn(STRATEGY, 5) == drawn(STRATEGY, 5)

    few = {"max_examples": 2, "database": None, "deadline": None}
    settings(**few, suppress_health_check=[HealthCheck.nested_given])(given(st.integers(0, 3))(inner))()
    with pytest.raises(UsageError, match="cannot be drawn from: Nesting @given tests"):
        settings(**few, phases=[Phase.generate])(given(st.integers(0, 3))(inner))()


def test_another_program_draws_the_same_and_nothing_is_stored(tmp_path):
    # Hypothesis by itself draws constants of the modules that are loaded, and stores them in a folder.
    code = "from hypothesis import strategies as st; from refutedp.inputs.given import drawn; print(drawn({}, 3))"
    strategy = "st.lists(st.integers())"
    modules = ("import refutedp.api.check, refutedp.cli.app; ", "")
    runs = [[sys.executable, "-c", loaded + code.format(strategy)] for loaded in modules]
    one, two = (subprocess.run(run, capture_output=True, text=True, check=True, cwd=tmp_path).stdout for run in runs)
    assert one == two == f"{drawn(st.lists(st.integers()), 3)}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ([], "inputs=[] is empty"),
        (3, "inputs=3, a int, which is no data set"),
        ("abc", "inputs='abc', a str, which is no data set"),
        ({1, 2}, "a set, which is no data set"),
        ([[1], 2], "inputs[1]=2 is no data set, though others of the list are"),
        (np.empty(0, dtype="V8"), "has no neighbours to try"),
        (st.nothing(), "cannot be drawn from"),
        (st.integers().filter(lambda _: False), "cannot be drawn from"),
        (st.integers(), "gave 0, a int, which is no data set"),
    ],
)
def test_bad_inputs_get_a_sentence(inputs, says):
    adjacency = AddRemove((0,), odd=False) if isinstance(inputs, np.ndarray) else ADD_REMOVE
    with pytest.raises(UsageError) as caught:
        pairs(adjacency, inputs)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_bad_records_for_a_frame_get_a_sentence():
    pd = pytest.importorskip("pandas")
    with pytest.raises(UsageError, match="records has 5, which is no row of a pandas DataFrame"):
        pairs(AddRemove((5,)), pd.DataFrame({"a": [1], "b": [2]}))
    with pytest.raises(UsageError, match="odd=1 must be True or False"):
        AddRemove(odd=1)
