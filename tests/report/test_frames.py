"""Frames and dates in saved results, in Python source and in print."""

import datetime
import decimal
import json
import math

import numpy as np
import pytest

from refutedp.api.saved.values import decode, encode
from refutedp.model.errors import UsageError
from refutedp.model.records import Pair
from refutedp.report.exhibits import side_by_side
from refutedp.report.pairs_as_text import pair_lines
from refutedp.report.python_code import literal

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

NAMES = {"np": np, "pd": pd, "pl": pl, "datetime": datetime, "decimal": decimal, "float": float}
PANDAS = {
    "numbers": pd.DataFrame({"a": [1, 2], "b": [0.5, math.nan], "c": [math.inf, -0.0], "d": [True, False]}),
    "small numbers": pd.DataFrame({"a": np.array([1, 2], "i1"), "b": np.array([1, 2], "f4")}),
    "strings": pd.DataFrame({"a": ["x", None], "b": pd.array(["x", None], dtype="string")}),
    "objects": pd.DataFrame({"a": np.array([None, (1, "x")], dtype=object), "b": np.array([True, None], object)}),
    "dates": pd.DataFrame({"a": pd.to_datetime(["2020-01-01T00:00:00.123456789", None])}),
    "time zones": pd.DataFrame({"a": pd.to_datetime(["2020-06-01T12:00", None]).tz_localize("Europe/Zurich")}),
    "durations": pd.DataFrame({"a": pd.to_timedelta([1, None], unit="s")}),
    "masked": pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": pd.array([True, None], dtype="boolean")}),
    "categories": pd.DataFrame({"a": pd.Categorical(["x", None], categories=["y", "x"], ordered=True)}),
    "labels": pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="who")),
    "no rows": pd.DataFrame({"a": np.array([], dtype="i8"), "b": pd.Series([], dtype="str")}),
    "numbered columns": pd.DataFrame([[1, 2.5]]),
}
POLARS = {
    "numbers": pl.DataFrame({"a": [1, None], "b": [0.5, math.nan], "c": [math.inf, -0.0], "d": [True, None]}),
    "small numbers": pl.DataFrame({"a": [1, 2]}, schema={"a": pl.UInt8}),
    "strings": pl.DataFrame({"a": ["x", None], "b": [b"x", None]}),
    "dates": pl.DataFrame({"a": [datetime.date(2020, 1, 1), None], "b": [datetime.datetime(2020, 1, 1, 12), None]}),
    "durations": pl.DataFrame({"a": [datetime.timedelta(seconds=1), None], "b": [datetime.time(12), None]}),
    "decimals": pl.DataFrame({"a": [decimal.Decimal("1.50"), None]}),
    "categories": pl.DataFrame(
        {"a": ["x", None], "b": ["y", None]}, schema={"a": pl.Categorical, "b": pl.Enum(["x", "y"])}
    ),
    "lists": pl.DataFrame({"a": [[1, 2], None]}),
    "nothing": pl.DataFrame({"a": [None, None]}),
    "no rows": pl.DataFrame(schema={"a": pl.Int64, "b": pl.String}),
}
UNWRITTEN = {"durations"}


def through_json(value):
    return decode(json.loads(json.dumps(encode(value), allow_nan=False)))


@pytest.mark.parametrize("name", PANDAS)
def test_a_pandas_frame_is_the_same_after_json(name):
    pd.testing.assert_frame_equal(through_json(PANDAS[name]), PANDAS[name], check_freq=False)


@pytest.mark.parametrize("name", PANDAS)
def test_a_pandas_frame_is_the_same_as_python_source(name):
    made = eval(literal(PANDAS[name]), NAMES)
    pd.testing.assert_frame_equal(made, PANDAS[name], check_names=False, check_index_type=False)


@pytest.mark.parametrize("name", POLARS)
def test_a_polars_frame_is_the_same_after_json(name):
    back = through_json(POLARS[name])
    assert back.schema == POLARS[name].schema
    assert back.equals(POLARS[name], null_equal=True) or repr(back.rows()) == repr(POLARS[name].rows())


@pytest.mark.parametrize("name", sorted(set(POLARS) - UNWRITTEN))
def test_a_polars_frame_is_the_same_as_python_source(name):
    made = eval(literal(POLARS[name]), NAMES)
    assert made.schema == POLARS[name].schema and repr(made.rows()) == repr(POLARS[name].rows())


@pytest.mark.parametrize("dtype", ["datetime64[D]", "datetime64[ns]", "timedelta64[s]"])
def test_an_array_of_times_is_the_same_after_json_and_as_source(dtype):
    array = np.array([5, -7], dtype="i8").view(dtype)
    for back in (through_json(array), eval(literal(array), NAMES)):
        np.testing.assert_array_equal(back, array)
        assert back.dtype == array.dtype
    assert through_json(array[0]) == array[0]


def test_what_has_no_saved_form_is_refused_in_a_sentence():
    with pytest.raises(UsageError, match="the input d1 has a column of the type period"):
        encode(pd.DataFrame({"a": pd.period_range("2020", periods=1)}), "the input d1")
    with pytest.raises(UsageError, match="labels in several levels"):
        encode(pd.DataFrame({"a": [1]}, index=pd.MultiIndex.from_tuples([(1, 2)])))
    with pytest.raises(UsageError, match="a column of the type Struct"):
        encode(pl.DataFrame({"a": [{"b": 1}]}))


@pytest.mark.parametrize(
    "change",
    [
        lambda saved: saved["pandas"].update(rows=7),
        lambda saved: saved["pandas"]["data"][0].update(dtype="V8"),
        lambda saved: saved["pandas"].pop("columns"),
    ],
)
def test_a_broken_frame_is_refused_in_a_sentence(change):
    saved = encode(PANDAS["numbers"])
    change(saved)
    with pytest.raises(UsageError, match="is no saved value"):
        decode(saved)


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    saved = encode(POLARS["numbers"])
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(UsageError, match=r'pip install "refutedp\[polars\]"'):
        decode(saved)


def test_frames_print_as_tables_with_marks_where_they_differ():
    frame = pd.DataFrame({"age": [30, 41], "city": ["Bern", "Genf"]})
    assert pair_lines(Pair(frame, frame.iloc[:1], "remove record 1")) == [
        f"  d1 = pandas DataFrame (age int64, city {frame.city.dtype}), 2 rows",
        "      age    city",
        "       30  'Bern'",
        "   >   41  'Genf'",
        f"  d2 = pandas DataFrame (age int64, city {frame.city.dtype}), 1 row",
        "      age    city",
        "       30  'Bern'",
        "  (remove record 1)",
    ]
    long = pl.DataFrame({"x": list(range(40))})
    lines = pair_lines(Pair(long, long.head(39), "given"))
    assert "   >  39" in lines and "      and 39 rows that both inputs have" in lines
    rows = side_by_side(Pair(frame, frame.iloc[1:], "given")).rows
    assert [(row.d1, row.d2, row.differs) for row in rows] == [
        ("age=30, city='Bern'", None, True),
        ("age=41, city='Genf'", "age=41, city='Genf'", False),
    ]


def test_a_record_taken_from_the_middle_leaves_a_gap():
    assert pair_lines(Pair([1, 20, 3], [1, 3], "given")) == [
        "  d1 = [1, 20, 3]",
        "  d2 = [1,     3]",
        "            ^      (given; one input is 1 longer)",
    ]
    assert pair_lines(Pair(np.zeros((1, 2)), np.ones((1, 2)), "given"))[0] == "  d1 = NumPy array of float64, 1 row"
