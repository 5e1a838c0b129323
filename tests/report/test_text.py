import math

import pytest

from refutedp import ADD_REMOVE, ONE_DIFFERS, AddRemove, Verdict, check, sweep
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


def test_the_first_screen_holds_what_is_found_and_notes_are_a_line_each():
    def narrow(queries, epsilon, rng):
        return queries[0] + rng.laplace(scale=0.5 / epsilon)

    def wide(queries, epsilon, rng):
        return queries[0] + rng.laplace(scale=1 / epsilon)

    options = {"search_runs": 2_000, "confirm_runs": 20_000}
    found, nothing = (str(check(one, epsilon=1.0, **options)).splitlines() for one in (narrow, wide))
    assert found[0].startswith("VIOLATION") and len(found) <= 30
    assert nothing[0].startswith("No violation") and len(nothing) <= 15
    notes = [line for line in (*found, *nothing) if line.startswith("Note: ")]
    assert all(len(note) <= 160 for note in notes), notes
    # Floats are told where they are the finding, and not beside a claim that breaks on real numbers.
    assert not any("Floats" in line for line in found)
    assert sum("Floats give the input away" in line for line in nothing) == 1
