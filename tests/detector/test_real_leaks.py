"""The leaks that real code has, found with default settings and no hint beyond the claim and the adjacency.

Each comes with its corrected twin, which is not refuted.
"""

import math

import numpy as np
import pytest

from refutedp import ADD_REMOVE, ALL_DIFFER, ONE_DIFFERS, AddRemove, Verdict, check

BUDGET = {"search_runs": 20_000, "confirm_runs": 50_000}


def clipped(value):
    return min(max(value, 0.0), 1.0)


def mean_with_nan(records, epsilon, rng):
    return sum(clipped(r) if r == r else r for r in records) + rng.laplace(scale=1 / epsilon)


def mean_without_nan(records, epsilon, rng):
    return sum(clipped(r) for r in records if r == r) + rng.laplace(scale=1 / epsilon)


def histogram_of_those_present(records, epsilon, rng):
    counts = {}
    for record in records:
        counts[str(record)] = counts.get(str(record), 0) + 1
    return {key: count + rng.laplace(scale=1 / epsilon) for key, count in counts.items()}


def histogram_of_all(records, epsilon, rng):
    counts = {"0.0": 0, "1.0": 0}
    for record in records:
        if str(record) in counts:
            counts[str(record)] += 1
    return {key: count + rng.laplace(scale=1 / epsilon) for key, count in counts.items()}


def counts_with_one_noise(queries, epsilon, rng):
    noise = rng.laplace(scale=1 / epsilon)
    return [count + noise for count in queries]


def counts_with_noise_for_evens_and_odds(queries, epsilon, rng):
    noise = [rng.laplace(scale=1 / epsilon) for _ in range(2)]
    return [count + noise[number % 2] for number, count in enumerate(queries)]


def counts_with_noise_each(queries, epsilon, rng):
    return [count + rng.laplace(scale=1 / epsilon) for count in queries]


def two_sided_geometric(rng, epsilon):
    p = 1 - math.exp(-epsilon)
    return int(rng.geometric(p)) - int(rng.geometric(p))


def periodic(queries, epsilon, rng):
    noise = two_sided_geometric(rng, epsilon)
    if noise % 3 == 1 and rng.random() < 0.5:
        noise -= 1  # every third value too likely
    return queries[0] + noise


def aperiodic(queries, epsilon, rng):
    return queries[0] + two_sided_geometric(rng, epsilon)


def textbook_laplace(queries, epsilon, rng):
    u = rng.random() - 0.5
    return queries[0] - (1 / epsilon) * np.sign(u) * np.log(1 - 2 * abs(u))


def snapped_laplace(queries, epsilon, rng):
    return float(round(textbook_laplace(queries, epsilon, rng) * 64) / 64)


def raises_on_one(queries, epsilon, rng):
    if queries[0] > 1.5:
        raise OverflowError("too many")
    return queries[0] + rng.laplace(scale=1 / epsilon)


def raises_on_none(queries, epsilon, rng):
    return min(queries[0], 1.5) + rng.laplace(scale=1 / epsilon)


class Model:
    def __init__(self, classes, weight):
        self.classes_ = classes
        self.weight_ = weight


def fit_with_classes(records, epsilon, rng):
    return Model(sorted({str(r) for r in records}), len(records) + rng.laplace(scale=1 / epsilon))


def fit_without_classes(records, epsilon, rng):
    return Model(["0.0", "1.0"], len(records) + rng.laplace(scale=1 / epsilon))


TWO = AddRemove((0.0, 1.0), odd=False)
CASES = [
    ("nan passes through", mean_with_nan, mean_without_nan, ADD_REMOVE, {}, "nan|number|finite"),
    (
        "keys depend on who is present",
        histogram_of_those_present,
        histogram_of_all,
        ADD_REMOVE,
        {},
        "key|form|len|in output",
    ),
    ("a periodic defect", periodic, aperiodic, ALL_DIFFER, {}, "mod|one of|="),
    (
        "an exception on one neighbour",
        raises_on_one,
        raises_on_none,
        ONE_DIFFERS,
        {},
        "raises|float|number",
    ),
    ("noise drawn once", counts_with_one_noise, counts_with_noise_each, ONE_DIFFERS, {}, " - "),
    (
        "noise drawn twice for five counts",
        counts_with_noise_for_evens_and_odds,
        counts_with_noise_each,
        ONE_DIFFERS,
        {},
        "max|min| - ",
    ),
    # Objects are run one call at a time, and this leak shows in every run.
    (
        "a learned attribute",
        fit_with_classes,
        fit_without_classes,
        TWO,
        {"search_runs": 2_000, "confirm_runs": 5_000},
        "",
    ),
]


@pytest.mark.parametrize(("leak", "bad", "good", "adjacency", "options", "words"), CASES, ids=[c[0] for c in CASES])
def test_the_leak_is_found_and_its_correction_is_not_refuted(leak, bad, good, adjacency, options, words):
    import re

    found = check(bad, epsilon=1.0, adjacency=adjacency, seed=1, **options)
    assert found.verdict is Verdict.VIOLATION, str(found)
    assert re.search(words, found.counterexample.event.words()), found.counterexample.event.words()
    for seed in (1, 2):
        twin = check(good, epsilon=1.0, adjacency=adjacency, seed=seed, **options)
        assert twin.verdict is not Verdict.VIOLATION, str(twin)


@pytest.mark.parametrize("mechanism", [textbook_laplace, lambda queries, epsilon, rng: queries[0] + rng.laplace()])
def test_textbook_noise_is_caught_by_the_grid_of_its_floats(mechanism):
    result = check(mechanism, epsilon=1.0, adjacency=ONE_DIFFERS, pairs=[([0.0], [1.0])], **BUDGET)
    assert result.verdict is not Verdict.VIOLATION
    assert "multiple of 2^" in result.float_leak.event.words()
    assert result.float_leak.p_value < 1e-9
    assert "Floats give the input away" in str(result)
    decided = check(
        mechanism, epsilon=1.0, adjacency=ONE_DIFFERS, pairs=[([0.0], [1.0])], float_leaks="convict", **BUDGET
    )
    assert decided.verdict is Verdict.VIOLATION


@pytest.mark.parametrize("float_leaks", ["report", "convict"])
def test_noise_snapped_to_a_grid_is_not_caught(float_leaks):
    for seed in (1, 2, 3):
        result = check(
            snapped_laplace,
            epsilon=1.0,
            adjacency=ONE_DIFFERS,
            pairs=[([0.0], [1.0])],
            float_leaks=float_leaks,
            seed=seed,
            **BUDGET,
        )
        assert result.verdict is not Verdict.VIOLATION
        assert result.float_leak is None


@pytest.mark.parametrize("factor", [1.0, 2.0**70])
def test_a_leak_of_rounded_outputs_is_not_blamed_on_floats(factor):
    """The last digits of numbers with one decimal, or of whole ones, tell no more than the numbers themselves."""

    def rounded(queries, epsilon, rng):
        return factor * round(queries[0] + rng.laplace(scale=0.1), 1 if factor == 1 else None)

    result = check(rounded, epsilon=1.0, adjacency=ONE_DIFFERS, pairs=[([0.0], [1.0])], **BUDGET)
    assert result.verdict is Verdict.VIOLATION
    assert result.float_leak is None
