"""Mechanisms that used to crash the check, or whose calls went uncounted."""

from __future__ import annotations

import functools
import math
import sys
import threading
from collections import Counter, OrderedDict
from fractions import Fraction

import numpy as np
import pytest

from refutedp import (
    FDP,
    AddRemove,
    MechanismError,
    OneDiffers,
    RefuteDPError,
    UnsupportedOutputError,
    UsageError,
    Verdict,
    check,
    load,
)
from refutedp.detector.sprint import most_runs
from refutedp.model.settings import SETTINGS

SMALL = {"search_runs": 500, "confirm_runs": 1000}
ONE = {"pairs": [([1], [2])], **SMALL}


def counter(queries, rng):
    return Counter(int(rng.integers(3)) for _ in range(3))


def ordered(queries, rng):
    return OrderedDict((int(rng.integers(3)), i) for i in range(3))


def huge(queries, rng):
    return 10**400 + int(rng.integers(3))


@pytest.mark.parametrize("function", [counter, ordered, huge])
@pytest.mark.parametrize("lift", [True, False])
def test_outputs_of_every_kind_are_searched(function, lift):
    assert check(function, epsilon=1.0, lift=lift, **ONE).verdict is not Verdict.VIOLATION


def nested(queries, rng):
    output = [rng.random()]
    for _ in range(2000):
        output = [output]
    return output


def holds_itself(queries, rng):
    output = [rng.random()]
    output.append(output)
    return output


@pytest.mark.parametrize("function", [nested, holds_itself])
def test_what_cannot_be_compared_is_refused_with_a_sentence(function):
    with pytest.raises(UnsupportedOutputError, match="return something flatter"):
        check(function, epsilon=1.0, **ONE)


def test_a_claim_that_no_run_can_refute_is_refused_with_a_sentence():
    with pytest.raises(UsageError, match="1000"):
        check(lambda queries, epsilon, rng: rng.laplace(scale=1 / epsilon), epsilon=1000, **ONE)


def test_a_closure_that_cannot_be_sent_is_named_with_the_reason():
    lock = threading.Lock()

    def guarded(queries, rng):
        with lock:
            return queries[0] + rng.laplace()

    with pytest.raises(UsageError, match=r"cannot pickle.*jobs=1"):
        check(guarded, epsilon=1.0, jobs=2, lift=False, **SMALL)


@pytest.mark.parametrize("lift", [True, False])
def test_a_tradeoff_function_is_refuted_on_lifted_runs_and_on_plain_calls(lift):
    def half_the_noise(queries):
        return queries[0] + np.random.laplace(scale=0.5)

    claim = FDP(lambda a: max(0.0, 1 - math.e * a, (1 - a) / math.e))
    assert check(half_the_noise, claim, lift=lift, **ONE, seed=1).verdict is Verdict.VIOLATION


@pytest.mark.parametrize("noise", [1.0, 0.4])
@pytest.mark.parametrize("keywords", [{}, {"inputs": [[1.0, 2.0]], "adjacency": AddRemove([0.5])}, {"time_limit": 2}])
def test_every_call_of_the_function_is_counted(noise, keywords):
    calls = 0

    def counted(queries):
        nonlocal calls
        calls += 1
        return queries[0] + np.random.default_rng(calls).laplace(scale=noise) if len(queries) else 0.0

    effort = check(counted, epsilon=1.0, lengths=(1,), **{**SMALL, **keywords}).effort
    counted_runs = effort.search_runs + effort.confirm_runs + effort.other_runs
    # On either input of a pair, a try to lift the function and one to follow its paths are counted, too.
    assert calls <= counted_runs <= calls + 4 * effort.pairs


def test_search_runs_are_what_every_description_says():
    def plain(queries, epsilon, rng):
        return queries[0] + rng.laplace(scale=1 / epsilon)

    # Per side: pilot and main round are one unit of `search_runs`; the two rounds on top are one and two more.
    rounds = 2 * (1 + 1 + 2) * SMALL["search_runs"]
    assert check(plain, epsilon=1.0, stop="fixed", lift=False, **ONE).effort.search_runs == rounds
    assert check(plain, epsilon=1.0, lift=False, **ONE).effort.search_runs == rounds + most_runs(1)
    _, setting = SETTINGS["search_runs"]
    assert "come on top" in setting.meaning


def test_many_lengths_are_looked_at_by_a_few_features():
    def lengths(queries, rng):
        return [0] * int(rng.integers(400 if queries[0] == 1 else 1200))

    result = check(lengths, epsilon=1.0, pairs=[([1], [2])], search_runs=3000, confirm_runs=1000)
    assert result.verdict is Verdict.VIOLATION
    assert result.counterexample.event.words().startswith("len(output)")
    # Values one by one would make ten thousand events, and every feature of all shapes takes most of a minute.
    assert result.effort.events < 6_000


def laplace(data, epsilon, rng):
    return data[0] + rng.laplace(scale=1 / epsilon)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: check(laplace, epsilon=1.0, pairs=[([1], [1])]), "same input twice"),
        (lambda: check(functools.partial(laplace, epsilon=20.0), epsilon=1.0), "binds epsilon=20.0"),
        (lambda: check(laplace, epsilon=1.0, adjacency=OneDiffers(1e-300)), "no two different inputs"),
        (lambda: check(laplace, epsilon=10**400), "must be finite"),
        (lambda: check(laplace, epsilon=1.0, pairs=[([10**400], [10**400 + 1])]), "not both lists of numbers"),
        (lambda: FDP(lambda a: 1 / 0), "tradeoff fails"),
        (lambda: FDP(lambda a: "x"), "tradeoff fails"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(call, says):
    with pytest.raises(RefuteDPError, match=says):
        call()


def exits_now_and_then(queries, rng):
    if rng.random() < 0.01:
        sys.exit(0)
    return queries[0]


def test_a_mechanism_that_exits_does_not_end_the_check():
    assert check(exits_now_and_then, epsilon=1.0, **ONE).verdict is Verdict.VIOLATION
    with pytest.raises(MechanismError, match="SystemExit"):
        check(lambda queries, rng: sys.exit(0), epsilon=1.0, **ONE)


def numpy_text(queries, rng):
    return rng.choice(["a", "bb"], p=[0.5, 0.5] if queries[0] == 1 else [0.1, 0.9])


def huge_or_larger(queries, rng):
    return 10**400 * int(rng.integers(1, 3))


def huge_fraction(queries, rng):
    return Fraction(10**400, 7 + int(rng.integers(2)))


@pytest.mark.parametrize("function", [numpy_text, huge_or_larger, huge_fraction])
def test_results_of_odd_outputs_can_be_saved_and_shown(function, tmp_path):
    result = check(function, epsilon=0.5, lift=False, **ONE)
    result.save(tmp_path / "r.json")
    assert load(tmp_path / "r.json") == result
    result.to_html(tmp_path / "r.html")
