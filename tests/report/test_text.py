import math

import numpy as np
import pytest

from refutedp import ADD_REMOVE, ANY_TWO, ONE_DIFFERS, REPLACE, AddRemove, RenyiDP, Verdict, check, sweep
from refutedp.detector.verdict import p_value_text
from refutedp.mechanisms import histogram, histogram_wrong_scale

SMALL = {"search_runs": 2000, "confirm_runs": 20_000, "adjacency": ONE_DIFFERS, "lengths": (3,)}


def test_a_violation_is_explained():
    text = str(check(histogram_wrong_scale, epsilon=0.2, **SMALL))
    lines = text.splitlines()
    assert lines[0] == "VIOLATION: histogram_wrong_scale does not satisfy 0.2-differential privacy."
    assert any(line.startswith("  d1 = [") for line in lines)
    assert any(line.strip().startswith("^") for line in lines)
    assert any("event: output[0]" in line for line in lines)
    assert "claimed ε = 0.2; real ε ≥" in text
    assert "with 99.9% confidence" in text
    assert "seed 0" in text
    assert "Next:" in text


def test_nothing_found_never_says_private():
    result = check(histogram, epsilon=1.0, **SMALL)
    text = str(result)
    assert result.verdict is Verdict.NOT_FOUND
    assert text.startswith("No violation found")
    assert "is private" not in text
    assert "would have caught a real ε of" in text
    assert result.detectable_epsilon > 1.0


def test_the_differing_entries_are_marked():
    result = check(histogram_wrong_scale, epsilon=0.2, **SMALL)
    d1, d2, marks = (next(line for line in str(result).splitlines() if key in line) for key in ("d1 =", "d2 =", "^"))
    assert marks.index("^") == next(i for i, (a, b) in enumerate(zip(d1, d2, strict=True)) if a != b and i > 3)
    assert marks.count("^") == 1


def test_records_of_different_lengths_are_shown():
    def count_exactly(records, epsilon):
        return len(records)

    result = check(
        count_exactly, epsilon=1.0, adjacency=AddRemove((1, 2)), search_runs=100, confirm_runs=100, significance=0.01
    )
    assert result.verdict is Verdict.VIOLATION
    assert "one input is 1 longer" in str(result)


def test_a_sweep_prints_a_table():
    text = str(sweep(histogram, claimed=[0.5, 1.0], test=[0.1, 2.0], **SMALL))
    assert "claimed 0.5" in text and "claimed 1" in text
    assert text.count("real ε ≥") == 2


@pytest.mark.parametrize(
    ("log_p", "text"),
    [(0.0, "1"), (math.log(0.0312), "0.0312"), (-2000.0, "2.6e-869"), (math.log(10) * -20, "1.0e-20")],
)
def test_p_values_read_well(log_p, text):
    assert p_value_text(log_p) == text


def test_a_mean_that_lets_nan_through_is_found_by_the_default_records():
    def mean(records, epsilon, rng):
        total = sum(min(max(value, 0.0), 1.0) if value == value else value for value in records)
        return total + rng.laplace(scale=1 / epsilon)

    result = check(mean, epsilon=1.0, adjacency=ADD_REMOVE, search_runs=1000, confirm_runs=2000)
    assert result.verdict is Verdict.VIOLATION
    assert "nan" in str(result)


@pytest.mark.parametrize(("name", "most"), [("violation", 30), ("categories", 30), ("mixed", 30), ("none_found", 15)])
def test_the_text_fits_on_a_screen(name, most, request):
    lines = str(request.getfixturevalue(name)).splitlines()
    wrapped = sum(max(math.ceil(len(line) / 120), 1) for line in lines)
    assert wrapped <= most, "\n".join(lines)


BRIEF = {"search_runs": 1000, "confirm_runs": 4000, "progress": False, "float_leaks": "ignore"}
PEOPLE = [
    {"name": f"person {i}", "age": 20 + i, "street": "a street whose name is not short", "income": 1000.5 * i}
    for i in range(40)
]


def noisy_age(frame, epsilon, rng, scale=1.0):
    return float(sum(frame["age"])) + rng.laplace(scale=scale / epsilon)


def _frames(adjacency, scale, gone):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(PEOPLE)
    return check(
        noisy_age, epsilon=1.0, adjacency=adjacency, pairs=[(frame, gone(frame))], args={"scale": scale}, **BRIEF
    )


def _array():
    def total(x, epsilon, rng):
        return x.sum() + rng.laplace(scale=0.1 / epsilon)

    return check(total, epsilon=1.0, adjacency=REPLACE, inputs=[np.arange(60.0).reshape(20, 3)], **BRIEF)


def _long_arguments():
    def total(queries, epsilon, rng, table, text):
        return sum(queries) + rng.laplace(scale=0.1 / epsilon)

    args = {"table": dict.fromkeys(range(60), "v" * 20), "text": "z" * 500}
    return check(total, epsilon=1.0, args=args, lengths=(3,), **BRIEF)


def _long_text():
    def shown(records, epsilon):
        return "x" * 5000 + records[0]

    return check(shown, epsilon=1.0, pairs=[(["a"], ["b" * 900])], adjacency=ANY_TWO, **BRIEF)


def _pieces():
    def noisy(queries, rng):
        return [query + rng.normal(0, 1.2) for query in queries]

    return check(noisy, RenyiDP(4.0, 0.5), lengths=(2,), **BRIEF)


def _rare():
    def tail(queries, epsilon, rng):
        noise = rng.laplace(scale=1 / epsilon)
        return "rare" if queries[0] > 1.5 and abs(noise) > 14 else queries[0] + noise

    return check(tail, epsilon=1.0, lengths=(1,), **BRIEF)


LONG = {
    "a frame": lambda: _frames(ADD_REMOVE, 1.0, lambda frame: frame.head(39)),
    "a correct mechanism of a frame": lambda: _frames(ADD_REMOVE, 1e6, lambda frame: frame.head(39)),
    "the records of a user": lambda: _frames(AddRemove(by="street"), 1.0, lambda frame: frame.head(0)),
    "an array": _array,
    "long arguments": _long_arguments,
    "a long text": _long_text,
    "pieces of a Gaussian": _pieces,
    "enumerated paths": _rare,
}


@pytest.mark.parametrize("name", LONG)
def test_the_text_of_what_is_long_fits_on_a_screen_too(name):
    result = LONG[name]()
    lines = str(result).splitlines()
    most = 30 if result.verdict is Verdict.VIOLATION else 15
    assert result.verdict is (Verdict.NOT_FOUND if "correct" in name else Verdict.VIOLATION)
    assert sum(max(math.ceil(len(line) / 120), 1) for line in lines) <= most, "\n".join(lines)
