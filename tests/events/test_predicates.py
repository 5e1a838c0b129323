"""Events as predicates: columns against the plain reading of one output at a time."""

import math
import re

import msgspec
import numpy as np
import pytest

from refutedp.events.features.basic import Count, Form, Hamming, Last, Length, Statistic, Type, Value
from refutedp.events.features.leaks import NO_LAST_DIGIT, LastDigit, Residue, Special
from refutedp.events.features.sums import Factor, Term, WeightedSum
from refutedp.events.predicates import Among, Both, Equals, Event, Exactly, Interval
from refutedp.model.records import count_hits
from refutedp.sampling.encode import Raised, encode

OUTPUTS = [
    [True, False, 2.5],
    [True, 1.5],
    [False, False],
    [False, False],
    [],
    3.5,
    7,
    1,
    True,
    None,
    "yes",
    math.nan,
    math.inf,
    {"a": 1, "b": [True, 2]},
    {"a": 1},
    Raised("ValueError"),
    np.array([1.0, 3.0]),
    [0, 1, 1],
]


def is_float(x):
    return isinstance(x, float)


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def numbers(w):
    return [x for x in w if is_number(x)]


def leaf(w, place):
    return w[place] if isinstance(w, (list, np.ndarray)) and len(w) > place else None


def plain_sum(w):
    """Twice the first number, less 3 where the second is False, and 1 where the length is 2 and the first is True."""
    first = leaf(w, 0)
    total = 2 * float(first) if isinstance(first, (bool, int, float)) else 0.0
    total -= 3 * (leaf(w, 1) is False)
    return total + (hasattr(w, "__len__") and not isinstance(w, str) and len(w) == 2 and first is True)


FIRST, SECOND = Factor(Value((0,))), Factor(Value((1,)), equals=False)
SUM = WeightedSum(
    (
        Term(2.0, (FIRST,)),
        Term(-3.0, (SECOND,)),
        Term(1.0, (Factor(Length(), equals=2), Factor(Value((0,)), equals=True))),
    )
)
COUNTED = WeightedSum((Term(1.0, (SECOND,)), Term(1.0, (Factor(Value((2,)), low=2.0, high=3.0),))))


CASES = [
    (Equals(Value(), 7), lambda w: type(w) is int and w == 7),
    (Equals(Value(), 1), lambda w: type(w) is int and w == 1),
    (Equals(Value(), True), lambda w: w is True),
    (Equals(Value(), "yes"), lambda w: isinstance(w, str) and w == "yes"),
    (Equals(Value((0,)), True), lambda w: isinstance(w, list) and len(w) > 0 and w[0] is True),
    (Equals(Value(("a",)), 1), lambda w: isinstance(w, dict)),
    (Equals(Value(("b", 1)), 2), lambda w: isinstance(w, dict) and "b" in w),
    (Equals(Length(), 2), lambda w: isinstance(w, (list, dict, np.ndarray)) and len(w) == 2),
    (Equals(Type(), "raises ValueError"), lambda w: isinstance(w, Raised)),
    (Equals(Type(), "NoneType"), lambda w: w is None),
    (Equals(Special(), "nan"), lambda w: is_float(w) and math.isnan(w)),
    (Equals(Special(), "inf"), lambda w: w == math.inf if is_float(w) else False),
    (Equals(Count(False), 2), lambda w: isinstance(w, list) and sum(x is False for x in w) == 2),
    (Equals(Count(1), 2), lambda w: isinstance(w, list) and sum(type(x) is int and x == 1 for x in w) == 2),
    (Equals(Last(), False), lambda w: isinstance(w, list) and len(w) > 0 and w[-1] is False),
    (Interval(Last(), 2.0, None), lambda w: isinstance(w, (list, np.ndarray)) and len(w) > 0 and w[-1] >= 2.0),
    (Interval(Value(), None, 5.0), lambda w: is_number(w) and w < 5),
    (Interval(Value(), 1.0, 5.0), lambda w: is_number(w) and 1 <= w < 5),
    (
        Interval(Statistic("mean"), 2.0, 3.0),
        lambda w: isinstance(w, (list, np.ndarray)) and bool(numbers(w)) and 2 <= np.mean(numbers(w)) < 3,
    ),
    (
        Interval(Statistic("max"), 3.0, None),
        lambda w: isinstance(w, (list, np.ndarray)) and bool(numbers(w)) and max(numbers(w)) >= 3,
    ),
    (Exactly("list", (False, False)), lambda w: isinstance(w, list) and w == [False, False]),
    (Equals(Hamming((False, False)), 0), lambda w: isinstance(w, list) and w == [False, False]),
    (Equals(Hamming((False, False)), 2), lambda w: isinstance(w, list) and w == []),
    (Among(Length(), (0, 3)), lambda w: isinstance(w, (list, dict, np.ndarray)) and len(w) in (0, 3)),
    (
        Both(Equals(Count(False), 1), Interval(Value((2,)), None, 3.0)),
        lambda w: isinstance(w, list) and len(w) == 3 and sum(x is False for x in w) == 1 and is_float(w[2]),
    ),
    (Interval(SUM, 2.5, None), lambda w: plain_sum(w) >= 2.5),
    (Interval(SUM, None, -1.0), lambda w: plain_sum(w) < -1),
    (Equals(SUM, 3.0), lambda w: plain_sum(w) == 3),
    (Interval(COUNTED, 2.0, None), lambda w: leaf(w, 1) is False and leaf(w, 2) == 2.5),
    (Interval(COUNTED, None, 1.0), lambda w: leaf(w, 1) is not False and leaf(w, 2) != 2.5),
    (Equals(Form(), "list[bool, float]"), lambda w: isinstance(w, list) and [type(x) for x in w] == [bool, float]),
]


@pytest.mark.parametrize(("event", "plain"), CASES, ids=[str(event) for event, _ in CASES])
def test_an_event_counts_what_its_sentence_says(event, plain):
    expected = [w for w in OUTPUTS if plain(w)]
    assert expected, "a case that never happens tests nothing"
    if isinstance(event, Interval) and isinstance(event.of, (Statistic,)):
        # Dicts have numbers too; they are distinguished in the plain reading above.
        outputs = encode([w for w in OUTPUTS if not isinstance(w, dict)])
    else:
        outputs = encode(OUTPUTS)
    assert count_hits(event, outputs) == len(expected)


@pytest.mark.parametrize("event", [event for event, _ in CASES], ids=[str(event) for event, _ in CASES])
def test_events_survive_json_as_the_same_predicate(event):
    assert msgspec.json.decode(msgspec.json.encode(event), type=Event) == event


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (Equals(Value((2,)), True), "output[2] = True"),
        (Equals(Type(), "raises ValueError"), "the mechanism raises ValueError"),
        (Equals(Type(), "int"), "the output is an int"),
        (Equals(Type(), "bool"), "the output is a bool"),
        (Interval(LastDigit(), NO_LAST_DIGIT, None), "the output is zero or not finite"),
        (Interval(LastDigit(), None, NO_LAST_DIGIT), "the output is finite and not zero"),
        (Interval(LastDigit(), -3, None), "the output is a multiple of 2^-3"),
        (Equals(Special((1,)), "nan"), "output[1] is nan"),
        (
            Interval(SUM, 2.5, None),
            "2*output[0] - (3 if output[1] = False) + (1 if len(output) = 2 and output[0] = True) >= 2.5",
        ),
        (Interval(COUNTED, 2.0, None), "output[1] = False and 2 <= output[2] < 3"),
        (Interval(COUNTED, 1.0, None), "at least 1 of these 2 hold: output[1] = False, 2 <= output[2] < 3"),
        (Interval(COUNTED, None, 1.0), "none of these 2 hold: output[1] = False, 2 <= output[2] < 3"),
        (Interval(Value(), 0.25, None), "the output >= 0.25"),
        (Interval(Value(), 0.0, 5e-324), "the output = 0"),
        (Interval(Value(), 5e-324, None), "the output > 0"),
        (Interval(Value(), None, np.nextafter(1.0, 2.0)), "the output <= 1"),
        (Interval(Value(), np.nextafter(1.0, 2.0), np.nextafter(3.0, 4.0)), "the output in (1, 3]"),
        (Interval(Value(), -5e-324, 2.5), "the output in [-4.94065645841247e-324, 2.5)"),
        (Interval(Value(), None, np.nextafter(1.0, 2.0), True), "the output is a number and <= 1"),
        (Interval(Statistic("mean"), 0, 1), "mean(output) in [0, 1)"),
        (Among(Count(True), (3, 4)), "the number of True in the output is one of 3, 4"),
        (Both(Equals(Length(), 3), Interval(Last(), None, 2.0)), "len(output) = 3 and output[-1] < 2"),
    ],
)
def test_sentences(event, words):
    assert str(event) == words


def test_sentences_and_predicates_agree_next_to_an_end():
    """What is said of an interval holds for the numbers just below its end, at it and just above."""
    for number in (0.0, 1.0, 0.1, 1e300):
        below, above = math.nextafter(number, -math.inf), math.nextafter(number, math.inf)
        outputs = encode([below, number, above])
        assert str(Interval(Value(), None, above)) == f"the output <= {number:.15g}"
        assert count_hits(Interval(Value(), None, above), outputs) == 2
        assert str(Interval(Value(), above, None)) == f"the output > {number:.15g}"
        assert count_hits(Interval(Value(), above, None), outputs) == 1


@pytest.mark.parametrize("number", [0.3, 123456789.125, 1.0, 1 / 3, -0.7, 1e-300])
@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_ends_that_look_the_same_to_fifteen_digits_are_said_in_full(number, width):
    """What the sentence says of the floats around is what the predicate says."""
    floats = [number]
    for _ in range(12):
        floats.append(math.nextafter(floats[-1], math.inf))
    for first in range(4):
        event = Interval(Value(), floats[first], floats[first + width])
        said = str(event).removeprefix("the output ")
        held = [count_hits(event, encode([x])) == 1 for x in floats]
        if said.startswith("= "):
            assert sum(held) == 1
            continue
        above, low, high, below = re.fullmatch(r"in ([\[(])(\S+), (\S+)([\])])", said).groups()
        after = [x >= float(low) if above == "[" else x > float(low) for x in floats]
        before = [x < float(high) if below == ")" else x <= float(high) for x in floats]
        assert held == [one and other for one, other in zip(after, before, strict=True)]


def test_to_count_true_is_not_to_count_one():
    features = [Count(True), Count(1), Hamming((True, False)), Hamming((1, 0))]
    assert len(set(features)) == len(features)
    assert Count(True) == Count(True) and Hamming((1, 0)) == Hamming((1, 0))
    (group,) = encode([[True, 1, 1], [False, 1, 0]]).groups
    known = {}
    of_true, of_one = (Equals(Count(value), 1).mask(group, known) for value in (True, 1))
    assert of_true.tolist() == group.columns[0].tolist()
    assert of_one.tolist() == (group.columns[2] == 0).tolist()


def test_integers_beyond_all_floats_have_a_mean_and_lie_in_intervals():
    outputs = encode([[1, 10**400], [2, -(10**400)], [3, 4]])
    assert count_hits(Interval(Statistic("mean"), None, None), outputs) == 1
    assert count_hits(Interval(Statistic("max"), 1e300, None), outputs) == 1
    assert count_hits(Interval(Value((1,)), None, 0.0), outputs) == 1
    assert count_hits(Equals(Residue(7, (1,)), 10**400 % 7), outputs) == 2  # 4 and 10**400
    assert count_hits(Equals(Residue(7), 0), encode(["text", "7"])) == 0


def test_events_on_the_same_feature_compute_it_once(monkeypatch):
    computed = []
    real = Statistic.column
    monkeypatch.setattr(Statistic, "column", lambda self, group: computed.append(self) or real(self, group))
    (group,) = encode([[1.0, 2.0], [3.0, 5.0], [0.0, 0.5]]).groups
    events = [
        Interval(Statistic("max"), None, 3.0),
        Equals(Statistic("max"), 5.0),
        Both(Interval(Statistic("max"), 1.0, None), Interval(Statistic("min"), None, 2.0)),
    ]
    known = {}
    masks = [event.mask(group, known).tolist() for event in events]
    assert computed == [Statistic("max"), Statistic("min")]
    assert masks == [event.mask(group).tolist() for event in events]
    assert masks == [[True, False, True], [False, True, False], [True, False, False]]
