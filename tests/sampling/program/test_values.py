"""What crosses the pipe: values without loss, answers checked, errors as outputs."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refutedp import UsageError
from refutedp.sampling.encode import Raised, encode
from refutedp.sampling.program.protocol import Answer, BadValue, from_wire, read_answer, request_line, to_wire

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
KEYS = st.text(max_size=5) | st.integers(-3, 3)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=8
)


@given(VALUES)
@settings(max_examples=300, derandomize=True, deadline=None)
def test_a_value_survives_the_way_there_and_back(value):
    there = json.loads(json.dumps(to_wire(value, "the data"), allow_nan=False))
    assert repr(from_wire(there)) == repr(value)


def test_no_number_of_a_request_is_beyond_a_double():
    wire = to_wire([2**53, 2**53 + 1, -(2**70)], "the data")
    assert wire == [2**53, {"$int": str(2**53 + 1)}, {"$int": str(-(2**70))}]


def test_numpy_and_frames_are_sent_as_plain_lists():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"age": [1, 2]})
    assert to_wire(np.array([[1.5], [np.nan]]), "the data") == [[1.5], [{"$float": "nan"}]]
    assert to_wire(frame, "the data") == [{"age": 1}, {"age": 2}]


def test_what_has_no_json_form_is_named():
    with pytest.raises(UsageError, match="the data holds a set, which cannot be sent to a program as JSON"):
        to_wire([{1, 2}], "the data")


def test_a_request_is_one_line_whatever_the_text():
    line = request_line(3, ["a\nb", "é"], {"epsilon": math.inf}, seed=1, count=2)
    assert line.count(b"\n") == 1 and line.isascii()
    assert json.loads(line)["arguments"] == {"epsilon": {"$float": "inf"}}


def test_bare_nan_and_infinity_are_understood_too():
    (nan, inf) = read_answer(b'{"id": 1, "outputs": [NaN, -Infinity]}').outputs
    assert math.isnan(nan) and inf == -math.inf


def test_large_integers_are_exact_in_answers():
    assert read_answer(b'{"id": 1, "outputs": [9007199254740993]}').outputs == (2**53 + 1,)


def test_a_whole_float_can_be_marked_as_one():
    (value,) = read_answer(b'{"id": 1, "outputs": [{"$float": 2}]}').outputs
    assert type(value) is float and value == 2.0


def test_errors_become_outputs_of_their_own_shape():
    answer = read_answer(b'{"id": 1, "outputs": [1, {"$error": "ValueError"}], "done": true}')
    assert answer == Answer(1, (1, Raised("ValueError")), True)
    groups = encode(list(answer.outputs)).groups
    assert [(group.shape.label, group.shape.error) for group in groups] == [("int", False), ("ValueError", True)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "it is empty"),
        (b"{", "it is not JSON"),
        (b"\xff", "it is not UTF-8"),
        (b"[1]", "it must be an object with .* not a list"),
        (b'{"outputs": [1]}', 'it has no whole number as "id"'),
        (b'{"id": true, "outputs": [1]}', 'it has no whole number as "id"'),
        (b'{"id": 1}', "it holds no outputs"),
        (b'{"id": 1, "outputs": []}', "it holds no outputs"),
        (b'{"id": 1, "outputs": null}', '"outputs" must be a list .* not a null'),
        (b'{"id": 1, "outputs": [1], "done": 1}', '"done" must be true or false'),
        (b'{"id": 1, "output": [1]}', 'unknown key "output"'),
        (b'{"id": 1, "outputs": [{"$int": "x"}]}', "is not one of"),
        (b'{"id": 1, "outputs": [{"$dict": [1]}]}', "is not one of"),
        (b'{"id": 1, "outputs": [{"$what": 1}]}', "is not one of"),
        (b'{"id": 1, "outputs": [{"$int": "1", "b": 2}]}', "has other keys too"),
        (b'{"id": 1, "outputs": [{"$error": ""}]}', "must be the name of the error"),
    ],
)
def test_bad_lines_say_what_is_wrong(line, reason):
    with pytest.raises(BadValue, match=reason):
        read_answer(line)
