"""The battery of rare leaks: found by exact probabilities, their twins not; a part of it by whole checks."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from refutedp import ApproxDP, PureDP, Verdict, check, load, replay
from refutedp.exact.chances import chance, worst_breach
from refutedp.exact.path_list import Enumerator
from refutedp.model.mechanism import describe
from tests.battery.rare_cases import CASES

BUDGET = {"search_runs": 1_000, "confirm_runs": 20_000, "lengths": (1,)}
"""What rare leaks need of sampling is nothing."""


def lists(case, function):
    enumerator = Enumerator(describe(function))
    arguments = {"epsilon": 1.0}
    return tuple(enumerator.paths(data, arguments) for data in case.witness)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_bug_breaks_the_claim_on_its_witness_and_the_twin_does_not(case):
    claim = case.kwargs.get("claim", PureDP(1.0))
    bug = worst_breach(*lists(case, case.bug), claim)
    assert bug is not None
    assert bug.low > float(claim.largest(bug.high))
    twin = lists(case, case.twin)
    # What is not known of the twin is too little to hide a breach in the common outputs.
    assert max(paths.missing for paths in twin) < 1e-3
    assert worst_breach(*twin, claim) is None


@pytest.mark.parametrize("name", ["paper", "retries", "sum_of_two", "rare_exception", "standard_library", "delta"])
def test_whole_checks(name):
    case = next(case for case in CASES if case.name == name)
    found = check(case.bug, **{**case.kwargs, **BUDGET})
    assert found.verdict is Verdict.VIOLATION
    assert found.exact is not None
    assert found.counterexample is found.exact
    assert found.evidence is None
    assert found.exact.low > float(found.claim.largest(found.exact.high))
    assert "there is no p-value" in str(found)
    assert check(case.twin, **{**case.kwargs, **BUDGET}).verdict is not Verdict.VIOLATION


@pytest.mark.parametrize("power", [9, 15, 20, 30, 50])
def test_the_example_of_the_paper(power):
    def rare(queries, epsilon, rng):
        return int(queries[0] == 1 and rng.random() < 2.718281828459045**-power)

    def blind(queries, epsilon, rng):
        return int(queries[0] > -1e9 and rng.random() < 2.718281828459045**-power)

    listed = [Enumerator(describe(rare)).paths(data, {"epsilon": 1.0}) for data in ([1], [2])]
    breach = worst_breach(*listed, PureDP(1.0))
    assert breach.high == 0
    assert breach.low == pytest.approx(2.718281828459045**-power, rel=1e-9)
    same = [Enumerator(describe(blind)).paths(data, {"epsilon": 1.0}) for data in ([1], [2])]
    assert worst_breach(*same, PureDP(1.0)) is None


def test_it_is_saved_replayed_and_written_as_a_test(tmp_path):
    case = next(case for case in CASES if case.name == "paper")
    found = check(case.bug, **{**case.kwargs, **BUDGET})
    found.save(tmp_path / "rare.json")
    assert str(load(tmp_path / "rare.json")) == str(found)
    assert load(tmp_path / "rare.json").exact == found.exact
    again = replay(tmp_path / "rare.json", case.bug)
    assert again.verdict is Verdict.VIOLATION
    assert again.exact.low == found.exact.low
    assert replay(tmp_path / "rare.json", case.twin).verdict is Verdict.NOT_FOUND
    found.to_html(tmp_path / "rare.html")
    assert "exact probabilities" in (tmp_path / "rare.html").read_text()
    found.to_pytest(tmp_path / "test_rare.py")
    assert "confirmation='exact'" in (tmp_path / "test_rare.py").read_text()


def test_wrong_paths_convict_nobody(monkeypatch):
    # As if the table of distributions were wrong: everything that is decided by a coin seems rare.
    from refutedp.exact import enumerated_run, families

    wrong = families._from_table("coin", 0, (1.0 - 1e-6, 1e-6))
    monkeypatch.setitem(enumerated_run._PLACED, "integers", lambda low, high: (low, 1, wrong))

    def coin(queries, epsilon, rng):
        return queries[0] if rng.integers(0, 2) == 1 else 5

    result = check(coin, claim=ApproxDP(1.0, 0.6), **BUDGET)
    assert result.verdict is not Verdict.VIOLATION
    result = check(lambda queries, epsilon, rng: bool(rng.integers(0, 2)), epsilon=1.0, **BUDGET)
    assert result.verdict is not Verdict.VIOLATION


def test_no_paths_are_enumerated_unless_wanted():
    case = next(case for case in CASES if case.name == "paper")
    assert check(case.bug, **case.kwargs, **BUDGET, paths=0).verdict is not Verdict.VIOLATION


def test_what_is_missing_counts_against_a_violation():
    def endless(data, rng):
        tries = 0
        while rng.random() < 0.5:
            tries += 1
        return tries == 3 and data[0] == 1

    listed = [Enumerator(describe(endless)).paths([one], {}, most=10) for one in (1, 2)]
    breach = worst_breach(*listed, PureDP(1.0))
    assert breach.high >= listed[1].missing > 0
    assert chance(breach.event, listed[1]).high == breach.high


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 10.0])
def test_normal_noise_of_too_small_a_scale(epsilon):
    # The exact scale for a delta of 1e-5, by the formula of Balle and Wang; nine tenths of it break the claim.
    def delta(scale):
        return norm.cdf(0.5 / scale - epsilon * scale) - math.exp(epsilon) * norm.cdf(-0.5 / scale - epsilon * scale)

    scale = brentq(lambda one: delta(one) - 1e-5, 0.1, 20.0)
    for part, broken in ((0.9, True), (1.0 + 1e-6, False)):
        enumerator = Enumerator(describe(lambda data, rng, noise=part * scale: data[0] + rng.normal(scale=noise)))
        listed = [enumerator.paths(data, {}) for data in ([1], [2])]
        assert (worst_breach(*listed, ApproxDP(epsilon, 1e-5)) is not None) is broken


def test_draws_that_no_generator_makes_convict_nobody():
    def far(queries, epsilon, rng):
        return queries[0] if rng.laplace() > 60 else None

    def near(queries, epsilon, rng):
        return queries[0] if rng.laplace() > 30 else None

    for function, broken in ((far, False), (near, True)):
        listed = [Enumerator(describe(function)).paths(data, {"epsilon": 1.0}) for data in ([1], [2])]
        assert (worst_breach(*listed, PureDP(1.0)) is not None) is broken


def test_a_long_chain_of_functions_is_given_up():
    def collatz(data, rng):
        value, steps = data[0] + int(rng.geometric(0.1)), 0
        while value > 1:
            value, steps = (value // 2 if value % 2 == 0 else 3 * value + 1), steps + 1
        return steps

    assert Enumerator(describe(collatz)).paths([3], {}, steps=2_000).missing > 0


def test_the_exact_epsilon_of_a_pair_is_told_and_never_of_wrong_paths():
    def answer(queries, epsilon, rng):
        return queries[0] + rng.laplace(scale=1 / epsilon)

    def types(queries, epsilon, rng):
        coin = rng.integers(4)
        return int(queries[0] > 1) ^ int(isinstance(coin, np.integer) and coin == 0)

    def methods(queries, epsilon, rng):
        coin = rng.integers(4)
        return int(queries[0] > 1) ^ int(hasattr(coin, "is_integer") and coin == 0)

    told = check(answer, epsilon=0.7, **BUDGET)
    assert told.verdict is not Verdict.VIOLATION
    assert told.loss.epsilon[0] <= 0.7 <= told.loss.epsilon[1] < 0.7 + 1e-9
    assert "the exact ε of this pair is 0.7, up to rounding" in str(told)
    told = check(types, epsilon=2.0, **BUDGET)
    assert told.verdict is not Verdict.VIOLATION
    assert told.loss.epsilon[0] <= np.log(3) <= told.loss.epsilon[1] < np.log(3) + 1e-9
    told = check(methods, epsilon=2.0, **BUDGET)
    assert told.verdict is not Verdict.VIOLATION
    assert told.loss is None
