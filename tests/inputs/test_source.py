"""Sources of pairs: what they propose, and a source that learns plugged into a whole check."""

import math
from dataclasses import replace

import pytest

from refutedp import ADD_REMOVE, ALL_DIFFER, PureDP, Settings, UsageError, Verdict
from refutedp.detector.detect import detect
from refutedp.detector.prepare import Request
from refutedp.inputs.source import sources_for
from refutedp.model.mechanism import describe
from refutedp.model.records import Pair


def only_far_out(queries, epsilon, rng):
    """Leaks at one power of two, which the code does not name, and which no solver can see through its logarithm."""
    noisy = queries[0] + rng.laplace(scale=2 / epsilon)
    return noisy if math.log2(max(queries[0], 1)) != int("1100", base=2) else (noisy, queries[0])


class Doubling:
    """Doubles the first query of the pair that it proposed last, until something breaks."""

    calls = 0

    def __init__(self):
        self.heard = []

    def shorter(self, pair):
        return None

    def told(self):
        return "doubling"

    def propose(self, seen):
        self.heard.append(len(seen))
        if not seen or seen[-1].score > 0 or len(seen) > 30:
            return []
        last = max(pair.d1[0] for pair, _ in seen)
        return [Pair([2 * last], [2 * last + 1], "doubled")]


def test_a_source_that_learns_finds_what_the_patterns_do_not():
    settings = Settings(lengths=(1,), search_runs=2_000, confirm_runs=5_000)
    request = Request(describe(only_far_out), PureDP(1.0), ALL_DIFFER)
    assert detect(request, settings, lambda _: None).verdict is Verdict.NOT_FOUND
    learning = Doubling()
    result = detect(replace(request, sources=(learning,)), settings, lambda _: None)
    assert result.verdict is Verdict.VIOLATION
    assert result.evidence.pair.category == "doubled"
    assert 4096 in (*result.evidence.pair.d1, *result.evidence.pair.d2)
    assert result.effort.pairs == max(learning.heard)


@pytest.mark.parametrize(
    ("given", "categories"),
    [
        ({}, {"One Above", "One Below"}),
        ({"pairs": [([3], [4])]}, {"given"}),
        ({"inputs": [7]}, {"All Above", "All Below", "One Above", "One Below"}),
    ],
)
def test_each_pair_has_its_reason(given, categories):
    (source,) = sources_for(ALL_DIFFER, **given, lengths=(1,))
    assert {pair.category for pair in source.propose([])} <= categories
    assert source.note == ""


def test_what_was_left_out_is_told():
    (source,) = sources_for(ADD_REMOVE, inputs=[[i, i + 1, i + 2] for i in range(30)])
    assert "were tried: give fewer data sets" in source.note


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"adjacency": "one"}, "adjacency='one' is not an adjacency"),
        ({"adjacency": ALL_DIFFER, "pairs": [([1], [2])], "inputs": [1]}, "pairs= and inputs= were both given"),
    ],
)
def test_refusals_are_one_sentence(given, says):
    with pytest.raises(UsageError, match=says):
        sources_for(**given)
