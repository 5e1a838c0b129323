"""The guilty line is named, a correct mechanism is not explained, and a printed remedy mends the source."""

import pytest

from refutedp import ALL_DIFFER, ANY_TWO, ONE_DIFFERS, ApproxDP, Verdict, check
from refutedp.explain.edits import Edit
from refutedp.explain.interventions import Trials
from refutedp.mechanisms import histogram, isvt1, noisy_max_laplace_value
from refutedp.mechanisms.added_noise import truncated_laplace_too_short
from refutedp.model.mechanism import describe
from tests.explain.applying import check_again
from tests.explain.guilty import CASES

BRIEF = {"search_runs": 4_000, "confirm_runs": 20_000, "progress": False, "float_leaks": "ignore"}
NAMED = {
    *("one_noise_for_all", "broadcast", "seeded_for_tests", "seeded_globally", "inverted", "through_a_helper"),
    *("with_a_wrong_helper", "largest_beside_noise", "empty_is_left_out", "cached_above_a_hundred", "refuses_zero"),
    *("noise_that_only_adds", "gaussian_for_pure", "variance_for_deviation", "noise_for_one_of_five"),
    *("expovariate_of_the_scale", "three_rounds", "stops_when_enough", "second_place_is_exact", "scale_by_data"),
    *("noise_after_the_fact", "mean_and_total", "geometric_too_narrow", "standard_laplace"),
    *("asks_a_helper_for_too_little", "inverse_distribution_in_numpy", "largest_in_a_dataclass"),
    *("deviation_from_the_wrong_root", "deviation_for_another_order", "deviation_times_mu", "label_beside_noise"),
}
MENDED = {
    *("one_noise_for_all", "inverted", "with_a_wrong_helper", "expovariate_of_the_scale", "noise_for_one_of_five"),
    *(
        "inverse_distribution_in_numpy",
        "deviation_for_another_order",
        "deviation_times_mu",
        "asks_a_helper_for_too_little",
    ),
}
BY_NAME = {case.function.__name__: case for case in CASES}


def guilty_lines(function):
    with open(function.__code__.co_filename) as file:
        return {number for number, line in enumerate(file, start=1) if "# guilty" in line}


def explained(name):
    case = BY_NAME[name]
    result = check(
        case.function, case.claim, pairs=[(case.d1, case.d2)], args=case.args, adjacency=ALL_DIFFER, **BRIEF
    )
    assert result.verdict is Verdict.VIOLATION
    return result.explained()


@pytest.mark.parametrize("name", sorted(NAMED))
def test_the_guilty_line_is_named(name):
    result = explained(name)
    place = result.explanation.place
    assert place.line in guilty_lines(BY_NAME[name].function), result.explanation.statement
    assert place.file.endswith("guilty.py") and "# guilty" in place.text
    remedies = [remedy for remedy in result.explanation.remedies if remedy.mends]
    assert len(str(result).splitlines()) <= 30
    if name in MENDED:
        again = check_again(result, BY_NAME[name].function, remedies[0], ALL_DIFFER)
        assert again.verdict is not Verdict.VIOLATION


def test_the_same_seed_gives_the_same_explanation():
    assert explained("expovariate_of_the_scale").explanation == explained("expovariate_of_the_scale").explanation


def test_a_line_of_the_paper_is_named():
    options = {"epsilon": 1.0, "lengths": (5,), **BRIEF}
    told = check(isvt1, args={"threshold": 1.0}, **options).explained().explanation
    assert "query >= noisy_threshold" in told.place.text
    told = check(noisy_max_laplace_value, **options).explained().explanation
    assert (told.spent, told.claimed) == (2.5, 1.0)
    assert [row.cost for row in told.ledger] == [2.5] and told.ledger[0].hides == "query"


def test_a_correct_mechanism_is_told_in_fifteen_lines_and_not_explained():
    result = check(histogram, epsilon=1.0, adjacency=ONE_DIFFERS, **BRIEF)
    assert result.verdict is not Verdict.VIOLATION
    assert result.explained().explanation is None
    assert len(str(result).splitlines()) <= 15


def test_the_calls_of_an_explanation_are_among_the_other_runs():
    result = explained("inverted")
    assert f"{result.effort.other_runs + result.explanation.calls:,} further runs" in str(result)


def test_rejection_that_far_draws_never_leave_is_given_up():
    def cut(queries, epsilon, rng):
        while True:
            noise = rng.laplace(scale=1 / epsilon)
            if abs(noise) < 2:
                return queries[0] + noise

    result = check(cut, epsilon=1.0, pairs=[([0], [1])], **BRIEF).explained()
    assert result.verdict is Verdict.VIOLATION
    assert result.explanation.ledger[0].distribution == "laplace"


@pytest.mark.parametrize(("factor", "mends"), [(6.0, False), (12.0, True)])
def test_a_remedy_that_exact_probabilities_refute_does_not_mend(factor, mends):
    # At a sixth of epsilon the real delta is (e^(1/6) - 1)/18 = 0.01007: no 60,000 runs tell that from 0.01.
    options = {**BRIEF, "search_runs": 20_000, "lengths": (2,)}
    result = check(truncated_laplace_too_short, ApproxDP(1.0, 0.01), adjacency=ONE_DIFFERS, **options)
    trials = Trials(result, describe(truncated_laplace_too_short))
    assert trials.begin()
    remedy = trials.test(Edit("epsilon", None, factor, "less", None, None, {"epsilon": 1 / factor}))
    assert remedy.mends is mends and ("its paths were enumerated" in remedy.words) is not mends


def test_costs_are_told_in_the_currency_of_the_claim():
    assert "the scale is 1.495: ρ 0.224." in explained("deviation_from_the_wrong_root").explanation.statement
    assert explained("deviation_times_mu").explanation.statement.endswith(": μ 2.")


def test_a_coin_that_always_fell_alike_is_no_exact_value():
    def mostly(value, epsilon, rng):
        return value if rng.random() < 0.95 else "b"

    told = check(mostly, epsilon=1.0, pairs=[("c", "b")], adjacency=ANY_TWO, **BRIEF).explained().explanation
    assert "Nothing hides" not in told.statement
