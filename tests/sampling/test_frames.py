"""Frames and series as outputs: columns, dtypes, keys, order and number of rows are all seen."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from refutedp import ADD_REMOVE, AddRemove, Verdict, check
from refutedp.model.outputs import OtherKey
from refutedp.sampling.encode import encode, shape_of
from refutedp.sampling.frames import ORDER


def leaves(output):
    shape, values = shape_of(output)
    return dict(zip(shape.paths, values, strict=True))


@pytest.mark.parametrize("library", [pd, pl])
def test_cells_are_found_by_the_words_of_their_row(library):
    frame = library.DataFrame({"city": ["Rome", "Bonn"], "n": [2, 1]})
    other = library.DataFrame({"city": ["Bonn", "Rome"], "n": [1, 2]})
    assert leaves(frame) == {(ORDER, 0): "Rome", (ORDER, 1): "Bonn", ("Rome", "n"): 2, ("Bonn", "n"): 1}
    assert shape_of(frame)[0].length == 2
    # The order is a value, not another shape; the cells stay with their group.
    assert leaves(other)[("Rome", "n")] == 2
    assert len(encode([other, other]).groups) == 1


@pytest.mark.parametrize("library", [pd, pl])
def test_cells_without_keys_are_found_by_number(library):
    frame = library.DataFrame({"city": ["Rome", "Rome"], "n": [2, 1]})
    assert leaves(frame) == {(0, "city"): "Rome", (1, "city"): "Rome", (0, "n"): 2, (1, "n"): 1}


def test_labels_of_rows_are_keys():
    assert leaves(pd.Series([1, 2], index=["x", "y"]))[("y",)] == 2
    pairs = pd.DataFrame({"n": [1]}, index=pd.MultiIndex.from_tuples([("a", 1)]))
    assert leaves(pairs)[(OtherKey("('a', 1)"), "n")] == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pd.DataFrame({"n": [1]}), pd.DataFrame({"n": [1.0]})),
        (pd.DataFrame({"n": [1]}), pd.DataFrame({"m": [1]})),
        (pd.DataFrame({"n": [1]}), pd.DataFrame({"n": [1, 1]})),
        (pd.DataFrame({"n": [1]}), pl.DataFrame({"n": [1]})),
        (pl.DataFrame({"n": [1]}), pl.DataFrame({"n": [1]}, schema={"n": pl.Int32})),
        (pl.Series([1]), pl.Series([1, None])),
        (pd.Series([1], index=["x"]), pd.Series([1], index=["y"])),
    ],
)
def test_shapes_differ_by_columns_dtypes_keys_and_rows(one, other):
    assert shape_of(one)[0] != shape_of(other)[0]


def test_missing_values_and_inner_frames():
    assert leaves(pd.Series([1, None], dtype="Int64")) == {(0,): 1, (1,): None}
    assert math.isnan(leaves(pd.Series([None, 1.5]))[(0,)])
    assert leaves({"a": pl.DataFrame({"n": [1]})}) == {("a", 0, "n"): 1}
    assert leaves(pl.LazyFrame({"n": [1]})) == {(0, "n"): 1}
    assert shape_of(pd.DataFrame())[0].length == 0


ROWS = [(1, "Rome"), (1, "Bonn"), (2, "Rome"), (3, "Rome")]
BUDGET = {"epsilon": 1.0, "search_runs": 300, "confirm_runs": 1000}


def people(data, city):
    return len({who for who, where in data if where == city})


def counts(data, rng):
    return pl.DataFrame({"city": ["Bonn", "Rome"], "n": [people(data, c) + rng.laplace() for c in ("Bonn", "Rome")]})


def open_domain(data, rng):
    cities = sorted({city for _, city in data})
    return pd.Series([people(data, city) + rng.laplace() for city in cities], index=cities)


def ranked(data, rng):
    cities = sorted(("Bonn", "Rome"), key=lambda city: people(data, city))
    return pd.DataFrame({"city": cities, "n": rng.laplace(size=2)})


@pytest.mark.parametrize(
    ("release", "adjacency", "d2", "verdict", "words"),
    [
        (counts, ADD_REMOVE, [ROWS[0], *ROWS[2:]], Verdict.NOT_FOUND, ""),
        (open_domain, ADD_REMOVE, [ROWS[0], *ROWS[2:]], Verdict.VIOLATION, "len(output) = 1"),  # a group that appears
        (counts, AddRemove(by=0), ROWS[2:], Verdict.VIOLATION, ""),  # who is in two groups counts in both
        (ranked, ADD_REMOVE, [ROWS[1]], Verdict.VIOLATION, ORDER),
    ],
)
def test_a_query_with_groups(release, adjacency, d2, verdict, words):
    d1 = ROWS if release is not ranked else ROWS[:2]
    result = check(release, adjacency=adjacency, pairs=[(d1, d2)], **BUDGET)
    assert result.verdict is verdict
    assert not words or words in result.counterexample.event.words()


def test_floats_of_a_frame_are_columns():
    outputs = encode([pd.DataFrame({"n": np.array([i, 2.0 * i])}) for i in range(3)])
    assert [column.tolist() for column in outputs.groups[0].columns] == [[0, 1, 2], [0, 2, 4]]
