"""Noise in common: the same for every pair of a round, whoever asks first, and wherever it is drawn."""

from __future__ import annotations

import numpy as np

from refutedp.mechanism import describe
from refutedp.records import Pair
from refutedp.sampling.lifted import CommonNoise
from refutedp.sampling.lifted.common import MOST_KEPT
from refutedp.sampling.lifted.laws import LAWS, Source
from refutedp.sampling.lifted.shared import Key
from refutedp.sampling.runner import Runner

LAPLACE = LAWS["laplace"]


def common(seed=3):
    return CommonNoise(np.random.SeedSequence(seed))


def draw(noise, position, runs=None, seed=0):
    return noise.draw(position, LAPLACE, (0.0, 1.0), None, runs, Source(np.random.default_rng(seed)))


def test_pairs_see_the_same_noise_whatever_their_own_source_is_and_whoever_asks_first():
    shared = common()
    one, other = shared.of(0, 0, 500), shared.of(0, 0, 500)
    some = np.arange(100, 400)
    ours = draw(one, 0, seed=1)
    assert np.array_equal(draw(other, 0, some, seed=2), ours[some])
    assert np.array_equal(draw(common().of(0, 0, 500), 0, some, seed=3), ours[some])


def test_places_draws_and_seeds_have_noise_of_their_own():
    shared = common()
    columns = [draw(shared.of(*place, 500), position) for place in ((0, 0), (1, 0), (0, 500)) for position in (0, 1)]
    columns += [draw(common(4).of(0, 0, 500), 0)]
    # Of independent columns, correlations of 500 numbers exceed 5 standard errors once in two million.
    assert np.max(np.abs(np.corrcoef(columns) - np.eye(len(columns)))) < 5 / np.sqrt(500)


def test_what_few_runs_draw_is_their_own():
    shared, few = common(), np.arange(100)
    assert not np.array_equal(draw(shared.of(0, 0, 500), 0, few, seed=1), draw(shared.of(0, 0, 500), 0, few, seed=2))


def test_it_travels_without_what_it_keeps_and_is_the_same_there():
    import pickle

    shared = common()
    key = Key(0, "laplace", (4,))
    here = shared.column((0, 0, 5000), key)
    packed = pickle.dumps(shared)
    assert len(packed) < 2000
    assert np.array_equal(pickle.loads(packed).column((0, 0, 5000), key), here)


def test_it_keeps_no_more_than_it_may():
    shared = common()
    wide = MOST_KEPT // 1000 - 1
    first, second = (Key(position, "random", (wide,)) for position in (0, 1))
    kept = shared.column((0, 0, 1000), first)
    assert shared.column((0, 0, 1000), first) is kept
    drawn = shared.column((0, 0, 1000), second)
    again = shared.column((0, 0, 1000), second)
    assert again is not drawn
    assert np.array_equal(again, drawn)


def test_a_pair_does_not_depend_on_the_pairs_before_it():
    def first_above(queries, rng):
        for number, query in enumerate(queries):
            if query + rng.laplace(scale=2.0) > 1:
                return number
        return -1

    mechanism, seeds = describe(first_above), np.random.SeedSequence(5)

    def tally(shared, pair):
        runs = Runner(mechanism, pair, "lifted").sample(4000, np.random.SeedSequence(5), shared)
        return [
            sorted(zip(g.columns[0].tolist(), [] if g.weights is None else g.weights.tolist(), strict=False))
            for side in (runs.first, runs.second)
            for g in side.groups
        ]

    pair, before = Pair([0, 1, 2], [1, 2, 1], "a"), Pair([3, 0], [2, 0], "b")
    used = CommonNoise(seeds)
    tally(used, before)
    assert tally(used, pair) == tally(CommonNoise(seeds), pair)
