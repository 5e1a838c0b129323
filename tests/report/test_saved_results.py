"""Saved results: loaded they are the same; broken or newer files get a sentence."""

import json
import math
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refutedp import PureDP, load
from refutedp.api.saved.to_json import dumps, event_from_builtins, event_to_builtins, loads
from refutedp.events.features.basic import Count, Hamming, Statistic, Value
from refutedp.events.predicates import Among, Both, Equals, Exactly, Interval
from refutedp.model.errors import UsageError
from refutedp.sampling.encode import encode as encode_outputs

SCALAR = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
FEATURE = st.one_of(
    st.builds(Value, st.lists(st.integers(0, 9) | st.text(max_size=3), max_size=2).map(tuple)),
    st.builds(Count, SCALAR),
    st.builds(Hamming, st.lists(SCALAR, max_size=3).map(tuple)),
    st.just(Statistic("mean")),
)
END = st.none() | st.floats(allow_nan=False)
PART = st.one_of(
    st.builds(Equals, FEATURE, SCALAR),
    st.builds(Among, FEATURE, st.lists(SCALAR, max_size=3).map(tuple)),
    st.builds(Interval, FEATURE, END, END, st.booleans()),
    st.builds(Exactly, st.text(max_size=5), st.lists(SCALAR, max_size=3).map(tuple)),
)
EVENT = PART | st.builds(Both, PART, PART)


def test_a_loaded_result_is_the_same(any_result, tmp_path):
    any_result.save(tmp_path / "result.json")
    back = load(tmp_path / "result.json")
    assert str(back) == str(any_result)
    assert back == any_result


def test_a_loaded_sweep_is_the_same(curves, tmp_path):
    curves.save(tmp_path / "sweep.json")
    assert load(tmp_path / "sweep.json") == curves


def test_the_same_result_gives_the_same_bytes(violation):
    assert dumps(violation) == dumps(loads(dumps(violation)))


@settings(max_examples=150, deadline=None)
@given(EVENT)
def test_an_event_is_the_same_predicate_after_json(event):
    back = event_from_builtins(json.loads(json.dumps(event_to_builtins(event), allow_nan=False)))
    assert back == event
    assert msgspec.json.encode(back) == msgspec.json.encode(event)
    for group in encode_outputs([[True, 1.5], [False, 2.5], 7, "a", None, math.inf, [0, 1]]).groups:
        np.testing.assert_array_equal(back.mask(group), event.mask(group))


def test_what_is_no_event_is_refused_in_a_sentence():
    with pytest.raises(UsageError, match="is not an event"):
        event_from_builtins({"event": "nonsense"})


def test_odd_data_survives(violation):
    candidate = violation.evidence.candidate
    pair = replace(
        candidate.pair, d1=[math.nan, (1, None)], d2={"a": np.array([1.0, math.inf])}, arguments={"b": b"x"}
    )
    odd = replace(violation, evidence=replace(violation.evidence, candidate=replace(candidate, pair=pair)))
    back = loads(dumps(odd))
    assert str(back) == str(odd)
    assert back.evidence.pair.arguments == {"b": b"x"}


def test_what_cannot_be_saved_is_named(violation, tmp_path):
    candidate = violation.evidence.candidate
    pair = replace(candidate.pair, arguments={"key": object()})
    odd = replace(violation, evidence=replace(violation.evidence, candidate=replace(candidate, pair=pair)))
    with pytest.raises(UsageError, match="the argument 'key' holds a object, which cannot be saved"):
        odd.save(tmp_path / "result.json")
    assert list(tmp_path.iterdir()) == []


def test_everything_needed_to_replay_is_there(violation):
    saved = json.loads(dumps(violation))
    assert saved["format"] == 3 and saved["kind"] == "result"
    assert saved["origin"]["reference"] == "refutedp.mechanisms.noisy_max:noisy_max_laplace_value"
    assert len(saved["origin"]["sha256"]) == 64
    assert saved["claim"] == {"claim": "PureDP", "epsilon": 0.5}
    assert saved["settings"]["seed"] == 0
    assert set(saved["versions"]) == {"python", "refutedp", "numpy", "scipy"}
    assert "progress" not in saved["settings"]


def broken(text, change):
    data = json.loads(text)
    change(data)
    return json.dumps(data).encode()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda text: b"", "is not a saved RefuteDP result"),
        (lambda text: b"\xff\xfe\x00", "is not a saved RefuteDP result"),
        (lambda text: b"[1, 2]", "is not a saved RefuteDP result"),
        (lambda text: b'{"kind": "result"}', "is not a saved RefuteDP result"),
        (lambda text: text[: len(text) // 2], "is not a saved RefuteDP result"),
        (lambda text: broken(text, lambda d: d.update(format=99)), "was written by a newer RefuteDP .format 99"),
        (lambda text: broken(text, lambda d: d.update(kind="dream")), "is damaged"),
        (lambda text: broken(text, lambda d: d.update(verdict="private")), "is damaged"),
        (
            lambda text: broken(text, lambda d: d["claim"].update(claim="Hope")),
            "a claim that this version does not know",
        ),
        (
            lambda text: broken(text, lambda d: d["claim"].update(epsilon=-1)),
            "is damaged: epsilon=-1 must be positive",
        ),
        (lambda text: broken(text, lambda d: d["evidence"]["counts"].update(hits_d1=-1)), "is damaged"),
        (lambda text: broken(text, lambda d: d["evidence"]["candidate"].update(event={})), "is damaged"),
        (lambda text: broken(text, lambda d: d["evidence"]["candidate"]["pair"].update(d1={"x": 1})), "is damaged"),
        (lambda text: broken(text, lambda d: d["settings"].update(significance=7)), "is damaged: significance=7"),
        (lambda text: broken(text, lambda d: d.pop("effort")), "is damaged"),
    ],
)
def test_a_broken_file_gets_a_sentence(violation, tmp_path, make, sentence):
    path = tmp_path / "broken.json"
    path.write_bytes(make(dumps(violation)))
    with pytest.raises(UsageError, match=sentence) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path} ")
    assert "\n" not in str(caught.value)


def test_a_missing_file_gets_a_sentence(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        load(tmp_path / "nothing.json")


def test_an_unwritable_path_gets_a_sentence(violation, tmp_path):
    with pytest.raises(UsageError, match="does not exist, create it first"):
        violation.save(tmp_path / "no" / "result.json")
    with pytest.raises(UsageError, match="it is a folder"):
        violation.save(tmp_path)


def test_unknown_fields_of_a_later_minor_version_are_ignored(violation):
    text = broken(dumps(violation), lambda d: (d.update(mood="good"), d["settings"].update(mood=1)))
    assert loads(text) == violation
    assert loads(text).claim == PureDP(0.5)
