"""Data sets of every kind: which records they hold, and what comes of taking one out or putting one in."""

import datetime
import math

import numpy as np
import pytest

from refutedp import ADD_REMOVE, REPLACE, NotAdjacentError
from refutedp.model.adjacency import require_adjacent
from refutedp.model.datasets import CannotHold, container_of, one_line

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

ROWS = {"age": [30, 41, 70], "city": ["Bern", "Bern", "Genf"]}
KINDS = {
    "list": [1, 2, 3],
    "tuple": (1, 2, 3),
    "records": [("Bern", 1), ("Genf", 2)],
    "dicts": [{"age": 1}, {"age": 2}],
    "flat array": np.array([1, 2, 3]),
    "rows": np.array([[1.0, 2.0], [3.0, 4.0]]),
    "strings": np.array(["a", "bc"]),
    "dates": np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"),
    "pandas": pd.DataFrame(ROWS),
    "pandas with labels": pd.DataFrame(ROWS, index=["x", "y", "z"]),
    "polars": pl.DataFrame(ROWS),
}


@pytest.mark.parametrize("data", KINDS.values(), ids=KINDS)
def test_taking_and_joining_keep_the_kind_and_the_types(data):
    container = container_of(data)
    records = container.records(data)
    keys = [container.key(record) for record in records]
    taken = container.take(data, [1, 0])
    assert type(taken) is type(data)
    assert [container.key(record) for record in container.records(taken)] == [keys[1], keys[0]]
    assert container.records(container.take(data, [])) == []
    more = container.joined(data, records[0])
    assert type(more) is type(data)
    assert [container.key(record) for record in container.records(more)] == [*keys, keys[0]]
    assert str(getattr(more, "dtype", None)) == str(getattr(data, "dtype", None))
    assert container.fields(more) == container.fields(data)
    assert [container.key(record) for record in container.records(data)] == keys


@pytest.mark.parametrize(
    ("data", "record", "dtype"),
    [
        (np.array([1, 2]), math.nan, "float64"),
        (np.array([1, 2], dtype=np.int32), 2**40, "int64"),
        (np.array(["a"]), "long", "<U4"),
        (np.array([1.0], dtype=np.float32), 0.5, "float32"),
    ],
)
def test_an_array_widens_as_numpy_would(data, record, dtype):
    container = container_of(data)
    made = container.joined(data, record)
    assert made.dtype == np.dtype(dtype)
    assert container.key(container.records(made)[-1]) == container.key(record)


@pytest.mark.parametrize("record", ["a", None, 2**53 + 1])
def test_what_an_array_of_floats_cannot_hold_is_refused(record):
    with pytest.raises(CannotHold):
        container_of(np.array([1.5])).joined(np.array([1.5]), record)


def test_a_pandas_frame_widens_as_concat_would():
    frame = pd.DataFrame({"age": [1], "ok": [True], "kind": pd.Categorical(["a"]), "when": [pd.Timestamp("2020")]})
    made = container_of(frame).joined(frame, (math.nan, None, "b", None))
    assert [str(dtype) for dtype in made.dtypes][:2] == ["float64", "object"]
    assert made["kind"].tolist() == ["a", "b"]
    assert made["when"].isna().tolist() == [False, True]
    assert made.index.tolist() == [0, 1]


def test_a_polars_frame_keeps_its_schema_or_refuses():
    frame = pl.DataFrame({"age": [1], "when": [datetime.date(2020, 1, 1)]})
    assert container_of(frame).joined(frame, (None, None)).schema == frame.schema
    for record in ((math.nan, None), (2**63, None), ("a", None), (1,)):
        with pytest.raises(CannotHold):
            container_of(frame).joined(frame, record)


def test_labels_of_rows_are_no_part_of_a_record():
    frame = KINDS["pandas with labels"]
    require_adjacent(ADD_REMOVE, frame, frame.drop("y").reset_index(drop=True), 0)
    assert container_of(frame).take(frame, [2]).index.tolist() == ["z"]


def test_what_is_adjacent():
    frame = KINDS["pandas"]
    require_adjacent(ADD_REMOVE, frame, frame.iloc[1:], 0)
    require_adjacent(ADD_REMOVE, frame, frame.sample(frac=1, random_state=0).iloc[:2], 0)
    widened = frame.astype({"age": float})
    widened.loc[1, "age"] = math.nan
    require_adjacent(REPLACE, frame, widened, 0)
    require_adjacent(ADD_REMOVE, KINDS["polars"], KINDS["polars"].head(2), 0)
    require_adjacent(REPLACE, np.array([[1, 2], [3, 4]]), np.array([[3, 4], [1, 9]]), 0)
    require_adjacent(ADD_REMOVE, np.array([1, 2]), [1], 0)


@pytest.mark.parametrize(
    ("adjacency", "d1", "d2", "says"),
    [
        (ADD_REMOVE, KINDS["pandas"], KINDS["pandas"], "the inputs hold the same records"),
        (ADD_REMOVE, KINDS["pandas"], KINDS["pandas"].iloc[2:], "holds [(30, 'Bern'), (41, 'Bern')] and only the"),
        (REPLACE, KINDS["polars"], KINDS["polars"].head(2), "only the first input holds [(70, 'Genf')]"),
        (ADD_REMOVE, KINDS["polars"], KINDS["polars"].select("age"), "the columns ['age', 'city'] and ['age']"),
        (ADD_REMOVE, KINDS["pandas"], KINDS["polars"], "a pandas DataFrame and the second a Polars DataFrame"),
        (ADD_REMOVE, KINDS["pandas"], [1, 2], "a pandas DataFrame and the second a list"),
        (REPLACE, np.zeros((3, 2)), np.ones((3, 2)), "only the second [(1, 1), (1, 1), (1, 1)]"),
        (ADD_REMOVE, list(range(50)), [], "0, 1, 2, 3, and 46 more"),
        (ADD_REMOVE, 3, 4, "3 is no data set"),
        (REPLACE, "abc", "abd", "'abc' is no data set"),
    ],
)
def test_a_pair_that_is_not_adjacent_is_refused_with_the_place(adjacency, d1, d2, says):
    with pytest.raises(NotAdjacentError) as caught:
        require_adjacent(adjacency, d1, d2, 0)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_null_and_nan_differ_in_polars_only():
    assert ADD_REMOVE.difference(pl.DataFrame({"x": [None, 1.0]}), pl.DataFrame({"x": [math.nan]})) is not None
    assert ADD_REMOVE.difference(pd.DataFrame({"x": [None, 1.0]}), pd.DataFrame({"x": [math.nan]})) is None


@pytest.mark.parametrize("data", [*KINDS.values(), np.zeros((40, 40)), [np.zeros((3, 3))], {"a": 1}])
def test_every_data_set_fits_in_a_line(data):
    assert "\n" not in one_line(data)
