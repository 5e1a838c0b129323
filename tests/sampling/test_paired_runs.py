"""Paired runs: each side alone is distributed as plain runs are, pairs are independent, and the noise is NumPy's own.

Oracle: the plain function called in a loop with a real generator. Hits are compared by Fisher's exact test. With
fixed seeds and about 200 p-values, a bound of 1e-6 fails by chance with probability below 2e-4, once, when the seed
is chosen.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from refutedp.model.mechanism import describe
from refutedp.model.records import Pair, count_hits
from refutedp.sampling.encode import encode
from refutedp.sampling.lifted import CannotLift, Lift
from refutedp.sampling.lifted.lifted_sampler import LiftedSampler, _hits, hit_paired, sample_paired
from refutedp.sampling.lifted.noise.shared_noise import SharedNoise
from refutedp.sampling.sampler import PlainSampler
from tests.sampling.paired_cases import (
    BY_CHANCE,
    CASES,
    NAMES,
    PLAIN,
    below,
    lifted_sampler,
    lifts_of,
    plain_hits,
    same_rate,
)

PAIRS = 20_000


@pytest.mark.parametrize("name", NAMES)
def test_each_side_alone_is_distributed_as_plain_runs(name):
    found = CASES[name]
    lifts = lifts_of(found)
    counted = hit_paired(lifts, found.events, PAIRS, np.random.default_rng(21))
    sampled = sample_paired(lifts, PAIRS, np.random.default_rng(22))
    for side, data in enumerate((found.d1, found.d2)):
        assert sampled[side].size == PAIRS
        for event, hits, plain in zip(found.events, counted, plain_hits(found, data, 23 + side), strict=True):
            assert 0 < plain < PLAIN
            assert same_rate(hits[side], PAIRS, plain, PLAIN) > BY_CHANCE
            assert same_rate(count_hits(event, sampled[side]), PAIRS, plain, PLAIN) > BY_CHANCE


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """In standard deviations of what independent hits would show."""
    return float(np.corrcoef(a, b)[0, 1]) * math.sqrt(len(a))


@pytest.mark.parametrize("name", NAMES)
def test_pairs_are_independent_and_paired_runs_are_not(name):
    found = CASES[name]
    noise, rng = SharedNoise(PAIRS), np.random.default_rng(31)
    first, second = (_hits(lift, found.events, noise, rng, {}) for lift in lifts_of(found))
    # Normal deviates beyond 5.5 have probability 4e-8; there are about 250 of them.
    for one, other in zip(first, second, strict=True):
        for shift in (1, 2):
            assert abs(correlation(one[:-shift], other[shift:])) < 5.5
            assert abs(correlation(one[shift:], other[:-shift])) < 5.5
        assert abs(correlation(one[1:], one[:-1])) < 5.5
        assert abs(correlation(other[1:], other[:-1])) < 5.5
        if found.shares:
            assert abs(correlation(one, other)) > 10
        else:
            assert abs(correlation(one, other)) < 5.5


@pytest.mark.parametrize("name", NAMES)
def test_every_run_is_visited_once(name):
    found = CASES[name]
    noise, rng = SharedNoise(3000), np.random.default_rng(32)
    for lift in lifts_of(found):
        seen = np.zeros(noise.n, dtype=int)

        def see(ids: Any, output: Any, n: int, _: Any, seen: np.ndarray = seen) -> None:
            where = np.arange(noise.n) if ids is None else ids
            assert len(where) == n
            seen[where] += 1

        lift.visit(rng, noise.n, see, noise)
        assert (seen == 1).all()


def test_paired_runs_differ_by_their_inputs_alone():
    described = describe(lambda data, rng: data[0] + rng.laplace(scale=2.0))
    noise, rng, outputs = SharedNoise(1000), np.random.default_rng(3), []
    for query in (5.0, 2.0):
        lift = Lift(described, [query], {})
        lift.visit(rng, noise.n, lambda ids, output, n, _: outputs.append(output.values()), noise)
    np.testing.assert_allclose(outputs[0] - outputs[1], 3.0, rtol=1e-12)
    assert len(np.unique(outputs[0])) == 1000


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_counts(name):
    found = CASES[name]
    fresh, used = lifted_sampler(name), lifted_sampler(name)
    used.prove(np.random.SeedSequence(9))
    used.paired(found.events, 3000, np.random.SeedSequence(8))
    first, second = (each.paired(found.events, 6000, np.random.SeedSequence(7)) for each in (fresh, used))
    assert first == second
    assert first != used.paired(found.events, 6000, np.random.SeedSequence(6))


def test_chunks_add_up(monkeypatch):
    from refutedp.sampling.lifted import lift

    monkeypatch.setattr(lift, "LARGEST", 1500)
    found = CASES["laplace_in_a_loop"]
    (x, y, both), *_ = hit_paired(lifts_of(found), found.events, 4000, np.random.default_rng(1))
    # P(1 + 2 Laplace < 0) and P(2 + 2 Laplace < 0), nested.
    for hits, rate in ((x, math.exp(-0.5) / 2), (y, math.exp(-1) / 2)):
        assert stats.binomtest(hits, 4000, rate).pvalue > BY_CHANCE
    assert both == y


# Where runs cannot be lifted.

CALLS = [0]


def keeps_state(queries, rng):
    CALLS[0] += 1
    return queries[0] + rng.laplace()


def scattered(queries, rng):
    out = []
    for _ in range(14):
        if rng.random() < 0.5:
            out.append(rng.random())
    return sum(out) + queries[0] + rng.laplace() if out else None


@pytest.mark.parametrize(
    ("mechanism", "kind"),
    [
        (keeps_state, LiftedSampler),
        (scattered, LiftedSampler),
        (CASES["geometric"].function, PlainSampler),
    ],
)
def test_without_shared_noise_pairs_are_independent_runs(mechanism, kind):
    pair = Pair([3.0], [2.0], "given")
    lifted = kind(describe(mechanism), pair)
    if mechanism is keeps_state:
        with pytest.raises(CannotLift):
            lifted.prove(np.random.SeedSequence(0))
    elif mechanism is scattered:
        assert Lift(lifted.mechanism, pair.d1, {}).scattered
    events = below(3.2, 6.5) if mechanism is scattered else below(2.5, 3.2)
    pairs, repeats = 500, 12
    rng = np.random.default_rng(4)
    plain = [
        [
            count_hits(event, encode([describe(mechanism).call(data, {}, rng=rng) for _ in range(3000)]))
            for event in events
        ]
        for data in (pair.d1, pair.d2)
    ]
    parts = [lifted.paired(events, pairs, np.random.SeedSequence(seed)) for seed in range(repeats)]
    for number in range(len(events)):
        counts = sum((part[number] for part in parts[1:]), start=parts[0][number])
        n = counts.n_x
        assert (counts.n_x, counts.n_y) == (pairs * repeats, pairs * repeats)
        assert same_rate(counts.x, n, plain[0][number], 3000) > BY_CHANCE
        assert same_rate(counts.y, n, plain[1][number], 3000) > BY_CHANCE
        table = [
            [counts.both, counts.x - counts.both],
            [counts.y - counts.both, n - counts.x - counts.y + counts.both],
        ]
        assert stats.fisher_exact(table).pvalue > BY_CHANCE


def negative_scale(queries, rng):
    return queries[0] + rng.laplace(scale=-1.0 if queries[0] > 2 else 1.0)


def negative_in_some_runs(queries, rng):
    return queries[0] + rng.laplace(scale=rng.normal(1.5, 1.0))


def zero_scale(queries, rng):
    return queries[0] + rng.laplace(scale=0.0) + rng.normal()


def test_a_negative_scale_raises_as_in_plain_runs():
    pair = Pair([3.0], [2.0], "given")
    here = LiftedSampler(describe(negative_scale), pair)
    (counts,) = here.paired(below(2.5), 400, np.random.SeedSequence(0))
    assert (counts.x, counts.both) == (0, 0)
    assert stats.binomtest(counts.y, 400, 1 - math.exp(-0.5) / 2).pvalue > BY_CHANCE


def test_a_scale_that_is_negative_in_some_runs_only():
    pair = Pair([3.0], [2.0], "given")
    (counts,) = LiftedSampler(describe(negative_in_some_runs), pair).paired(
        below(math.inf), 2000, np.random.SeedSequence(0)
    )
    # A run that raises is in no interval.
    for hits in (counts.x, counts.y):
        assert stats.binomtest(hits, 2000, stats.norm.cdf(1.5)).pvalue > BY_CHANCE


def test_a_scale_of_zero_is_no_noise():
    pair = Pair([3.0], [2.0], "given")
    (counts,) = LiftedSampler(describe(zero_scale), pair).paired(below(3.0), 2000, np.random.SeedSequence(0))
    for hits, rate in ((counts.x, 0.5), (counts.y, stats.norm.cdf(1.0))):
        assert stats.binomtest(hits, 2000, rate).pvalue > BY_CHANCE
    # The draw after it is shared: the events are nested.
    assert counts.both == counts.x
