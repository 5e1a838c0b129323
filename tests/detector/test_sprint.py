"""Where every run is a call, blatant violations take hundreds of calls, and correct mechanisms are let go."""

import statistics
from dataclasses import replace

import pytest
from scipy.stats import binom

from bench.anytime import BLATANT, CORRECT, SMALL, runs_of
from refutedp import Verdict, check
from refutedp.detector.prepare import Prepared, Request
from refutedp.detector.sprint import MOST_TRIES, SHARE, for_a_try
from refutedp.inputs import given
from refutedp.model.adjacency import ALL_DIFFER
from refutedp.model.claims import PureDP
from refutedp.model.mechanism import describe
from refutedp.model.settings import Settings
from refutedp.sampling.lifted import LiftedSampler
from refutedp.sampling.sampler import PlainSampler


def test_blatant_bugs_take_hundreds_of_calls():
    found = [runs_of(bug, seed=3) for bug in BLATANT]
    assert all(result.verdict is Verdict.VIOLATION for result, _ in found)
    assert statistics.median(runs for _, runs in found) < 1_000
    assert max(runs for _, runs in found) < 5_000


def test_all_tests_of_a_sprint_together_have_their_share_of_the_significance():
    settings = Settings(significance=0.01)
    assert MOST_TRIES * for_a_try(settings).significance == pytest.approx(SHARE * 0.01)


def test_correct_mechanisms_are_convicted_no_more_often_than_the_significance_says():
    checks = 18
    verdicts = [
        check(CORRECT[seed % 3], epsilon=0.5, significance=0.05, seed=seed, progress=False, **SMALL).verdict
        for seed in range(checks)
    ]
    # Exceeded with probability 1e-4 if each check has a false alarm with probability 5%.
    assert verdicts.count(Verdict.VIOLATION) <= binom.ppf(1 - 1e-4, checks, 0.05)


def test_every_call_is_counted():
    calls = []

    def counted(queries, epsilon, rng):
        calls.append(1)
        return queries[0] + rng.laplace(scale=1 / epsilon)

    result = check(counted, epsilon=0.5, seed=1, progress=False, **SMALL)
    assert result.verdict is not Verdict.VIOLATION
    assert result.effort.runs == len(calls)


def test_a_fixed_number_of_runs_means_no_sprint():
    result = check(BLATANT[0], epsilon=0.5, stop="fixed", lift=False, search_runs=300, confirm_runs=700, lengths=(1,))
    assert result.verdict is Verdict.VIOLATION and result.effort.confirm_runs == 1_400


def test_a_conviction_on_inputs_beyond_the_users_says_so(monkeypatch):
    """Where no ordinary pair is there to try, the sprint tries the others, and must not tell them as ordinary."""
    real = given.given_pairs
    outside = lambda *what: [replace(pair, outside="nan") for pair in real(*what)]  # noqa: E731
    monkeypatch.setattr(given, "given_pairs", outside)
    result = check(BLATANT[0], epsilon=0.5, pairs=[([1], [2])], lift=False, progress=False)
    assert result.verdict is Verdict.VIOLATION and result.effort.runs < 1_000
    remedy = "If they cannot occur, use odd=False in the adjacency (--no-odd)."
    assert f"Only inputs beyond those you gave show it: nan. {remedy}" in result.notes


def first_above(queries, epsilon, rng):
    threshold = 1.5 + rng.laplace(scale=2 / epsilon)
    return [place for place, query in enumerate(queries) if query + rng.laplace(scale=4 / epsilon) >= threshold][:1]


def all_above_and_a_query(queries, epsilon, rng):
    return queries[0], [place for place, query in enumerate(queries) if query + rng.laplace(scale=1 / epsilon) >= 1.5]


def test_lifted_runs_of_which_most_take_paths_of_their_own_count_as_calls():
    pairs = [([1] * 10, [2] * 10), ([1], [2])]
    request = Request(describe(all_above_and_a_query), PureDP(0.5), ALL_DIFFER, None, pairs)
    prepared = Prepared(request, Settings(), lambda _: None)
    assert prepared.costs_calls
    assert [type(sampler) for sampler in prepared.samplers] == [PlainSampler, LiftedSampler]
    assert prepared.notes == ["Every run on 1 of 2 pairs was one call: most runs take paths of their own there."]
    wrong = check(all_above_and_a_query, epsilon=0.5, pairs=pairs, seed=1, progress=False)
    assert wrong.verdict is Verdict.VIOLATION and wrong.effort.runs < 5_000
    budget = {"search_runs": 300, "confirm_runs": 1_000}
    right = check(first_above, epsilon=0.5, pairs=pairs, seed=1, progress=False, **budget)
    assert right.verdict is not Verdict.VIOLATION


def noisy_winner(queries, epsilon, rng):
    noisy = [query + rng.laplace(scale=2 / epsilon) for query in queries]
    return noisy.index(max(noisy))


BRIEF = {"sprint pairs (2)": 0, "sprint goes on": 0, "race": 0, "runs to confirm": 1_900, "test of rounding": 0}
"""What the clock decides where a call takes some milliseconds: one step of the sprint, and the verdict."""


@pytest.mark.parametrize("seed", range(3))
def test_without_a_race_an_event_is_tested_that_could_convict(seed):
    """What happens in most runs looks best after thirty, and refutes no claim, however the rest differs."""
    plan = BRIEF | {"sprint looks": 24}
    result = check(noisy_winner, epsilon=0.5, seed=seed, lift=False, progress=False, plan=plan)
    assert result.verdict is Verdict.NOT_FOUND and result.detectable_epsilon < 0.8
    leaky = check(
        lambda queries, epsilon, rng: noisy_winner(queries, 8 * epsilon, rng),
        epsilon=0.5,
        seed=seed,
        lift=False,
        progress=False,
        plan=plan,
    )
    assert leaky.verdict is Verdict.VIOLATION


def test_where_only_one_pair_fits_it_is_one_that_shows_something():
    """With one query, the winner is known: the first pair would say nothing."""
    plan = BRIEF | {"sprint pairs": 1}
    result = check(noisy_winner, epsilon=0.5, seed=0, lift=False, progress=False, plan=plan)
    assert result.verdict is Verdict.NOT_FOUND and len(result.evidence.pair.d1) > 1
