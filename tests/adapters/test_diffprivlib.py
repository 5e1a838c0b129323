"""diffprivlib's own objects: mechanisms, tools and models, seeded for the suite and as they come."""

import numpy as np
import pytest

pytest.importorskip("diffprivlib", reason='needs diffprivlib: pip install "refutedp[diffprivlib]"')

from diffprivlib import mechanisms, models, tools

from refutedp import AddRemove, AllDiffer, OneDiffers, PureDP, Replace, UsageError, Verdict, check
from refutedp.adapters.diffprivlib import from_diffprivlib
from refutedp.model.claims import ApproxDP

SMALL = {"search_runs": 300, "confirm_runs": 1500}
MECHANISMS = {
    "laplace": (mechanisms.Laplace(epsilon=1.0, sensitivity=1.0), OneDiffers(1.0)),
    "truncated": (mechanisms.LaplaceTruncated(epsilon=1.0, sensitivity=1.0, lower=0, upper=3), OneDiffers(1.0)),
    "geometric": (mechanisms.Geometric(epsilon=1.0), OneDiffers(1)),
    "folded": (mechanisms.GeometricFolded(epsilon=1.0, lower=0, upper=4), OneDiffers(1)),
    "snapping": (mechanisms.Snapping(epsilon=1.0, sensitivity=1.0, lower=0, upper=10), OneDiffers(1.0)),
    "staircase": (mechanisms.Staircase(epsilon=1.0, sensitivity=1.0), OneDiffers(1.0)),
    "binary": (mechanisms.Binary(epsilon=1.0, value0="no", value1="yes"), Replace(("no", "yes"))),
    "exponential": (mechanisms.Exponential(epsilon=1.0, sensitivity=1.0, utility=[1, 2, 3]), AllDiffer(1.0)),
    "flip": (mechanisms.PermuteAndFlip(epsilon=1.0, sensitivity=1.0, utility=[1, 2]), AllDiffer(1.0)),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_claim_their_epsilon_and_keep_it(name):
    mechanism, adjacency = MECHANISMS[name]
    adapted = from_diffprivlib(mechanism, seeded=True)
    assert (adapted.own.claim, adapted.own.adjacency) == (PureDP(1.0), adjacency)
    assert check(adapted, **SMALL).verdict is not Verdict.VIOLATION


def test_seeded_runs_repeat():
    adapted = from_diffprivlib(MECHANISMS["laplace"][0], seeded=True)
    assert check(adapted, **SMALL).evidence == check(adapted, **SMALL).evidence


@pytest.mark.parametrize("name", ["laplace", "geometric", "binary", "exponential"])
def test_they_do_not_keep_half_of_it(name):
    assert (
        check(from_diffprivlib(MECHANISMS[name][0], seeded=True), epsilon=0.3, **SMALL).verdict is Verdict.VIOLATION
    )


def test_a_delta_makes_an_approximate_claim():
    gauss = mechanisms.Gaussian(epsilon=0.5, delta=0.01, sensitivity=1.0)
    assert from_diffprivlib(gauss).own.claim == ApproxDP(0.5, 0.01)


def test_secure_randomness_is_left_alone_and_said():
    adapted = from_diffprivlib(mechanisms.Laplace(epsilon=1.0, sensitivity=1.0))
    first, second = (adapted(0.0, rng=np.random.default_rng(0)) for _ in range(2))
    assert first != second
    assert "a seed cannot reproduce this result exactly" in " ".join(check(adapted, **SMALL).notes)


def test_a_mechanism_with_a_random_state_does_not_repeat_itself_in_every_chunk():
    adapted = from_diffprivlib(mechanisms.Laplace(epsilon=1.0, sensitivity=1.0, random_state=7))
    first, second = (adapted(0.0, rng=np.random.default_rng(seed)) for seed in (0, 1))
    assert first != second


TOOLS = {
    "mean": (tools.mean, {"bounds": (0, 10)}, Replace),
    "sum": (tools.sum, {"bounds": (0, 10)}, Replace),
    "count_nonzero": (tools.count_nonzero, {}, Replace),
    "histogram": (tools.histogram, {"bins": 3, "range": (0, 3)}, AddRemove),
}


@pytest.mark.parametrize("name", TOOLS)
def test_tools_keep_their_claim(name):
    tool, arguments, adjacency = TOOLS[name]
    # Ordinary records: mean and sum let nan through, which `test_default_inputs_show_what_breaks` shows.
    adapted = from_diffprivlib(tool, epsilon=1.0, seeded=True, records=(0.0, 1.0, 2.0), **arguments)
    assert adapted.own.claim == PureDP(1.0) and isinstance(adapted.own.adjacency, adjacency)
    options = {"search_runs": 200, "confirm_runs": 500}
    assert check(adapted, **options).verdict is not Verdict.VIOLATION


def test_a_count_leaks_the_number_of_records_where_that_is_secret():
    adapted = from_diffprivlib(tools.count_nonzero, epsilon=1.0, seeded=True, adjacency=AddRemove((0.0, 1.0)))
    found = check(adapted, pairs=[([1.0], [1.0, 1.0])], adjacency=AddRemove((0.0, 1.0)), **SMALL)
    assert found.verdict is Verdict.VIOLATION, "its noise is cut off at the number of records"


def test_a_classifier_reveals_which_classes_its_records_have():
    model = models.GaussianNB(epsilon=1.0, bounds=([0.0], [1.0]))
    adapted = from_diffprivlib(model, seeded=True)
    assert adapted.name == "diffprivlib GaussianNB" and adapted.own.claim == PureDP(1.0)
    crowd = [(0.0, 0.0)] * 4
    pairs = [([*crowd, (0.0, 0.0)], [*crowd, (1.0, 1.0)])]
    found = check(
        adapted, pairs=pairs, adjacency=Replace(((0.0, 0.0), (1.0, 1.0))), search_runs=100, confirm_runs=100
    )
    assert found.verdict is Verdict.VIOLATION
    output = adapted(pairs[0][1], rng=np.random.default_rng(0))
    assert output["classes_"] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("thing", "arguments", "sentence"),
    [
        (tools.mean, {"epsilon": 1.0}, r"mean needs bounds=\(low, high\)"),
        (tools.histogram, {"epsilon": 1.0}, r"histogram needs range=\(low, high\)"),
        (mechanisms.Laplace(epsilon=1.0, sensitivity=1.0), {"epsilon": 2.0}, "'epsilon' is for tools only"),
        (mechanisms.Vector(epsilon=1.0, function_sensitivity=1.0, dimension=2), {}, "does not know which inputs"),
        (len, {}, "is no mechanism, tool or model of diffprivlib"),
    ],
)
def test_what_cannot_be_adapted_says_why(thing, arguments, sentence):
    with pytest.raises(UsageError, match=sentence):
        from_diffprivlib(thing, **arguments)


@pytest.mark.parametrize(
    ("make", "verdict"),
    [
        (lambda: from_diffprivlib(tools.mean, epsilon=1.0, bounds=(0, 10), seeded=True), Verdict.VIOLATION),
        (lambda: from_diffprivlib(tools.nanmean, epsilon=1.0, bounds=(0, 10), seeded=True), Verdict.NOT_FOUND),
        (lambda: from_diffprivlib(models.GaussianNB(bounds=([0.0], [1.0])), seeded=True), Verdict.VIOLATION),
        (
            lambda: from_diffprivlib(models.StandardScaler(epsilon=1.0, bounds=([0.0], [1.0])), seeded=True),
            Verdict.NOT_FOUND,
        ),
        (lambda: from_diffprivlib(models.LinearRegression(epsilon=1.0), seeded=True), Verdict.VIOLATION),
        (  # issue 105 of diffprivlib 0.6.6; bench/real_packages/diffprivlib_regression.py has it repaired
            lambda: from_diffprivlib(
                models.LinearRegression(
                    epsilon=1.0, bounds_X=([0.1], [1.0]), bounds_y=(0.0, 1.0), fit_intercept=False
                ),
                seeded=True,
            ),
            Verdict.VIOLATION,
        ),
    ],
    ids=["mean and nan", "nanmean", "classes", "scaler", "bounds from the data", "lower bound taken twice"],
)
def test_default_inputs_show_what_breaks(make, verdict):
    found = check(make(), search_runs=100, confirm_runs=200).verdict
    assert found is verdict or (verdict is Verdict.NOT_FOUND and found is Verdict.INCONCLUSIVE)


def test_a_model_forgets_what_its_accountant_spent():
    model = models.GaussianNB(epsilon=1.0, bounds=([0.0], [1.0]))
    adapted = from_diffprivlib(model, seeded=True)
    people = [(0.2, 0), (0.4, 1), (0.6, 0)]
    for _ in range(20):
        adapted(people, rng=np.random.default_rng(0))
    assert model.accountant is None or len(model.accountant.spent_budget) == 0
