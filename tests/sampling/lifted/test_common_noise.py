"""Noise in common: the same for every pair of a round, whoever asks first, and wherever it is drawn."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from refutedp.model.mechanism import describe
from refutedp.model.outputs import Outputs
from refutedp.model.records import Pair
from refutedp.sampling.lifted import CommonNoise, Lift
from refutedp.sampling.lifted.lifted_sampler import LiftedSampler, sample_paired
from refutedp.sampling.lifted.noise.shared_noise import MOST_FEW, MOST_KEPT, RECENT, Key, NoiseInCommon, NoisePlace
from refutedp.tracing.distributions import DISTRIBUTIONS, Source

LAPLACE = DISTRIBUTIONS["laplace"]


def common(seed=3):
    return CommonNoise(np.random.SeedSequence(seed))


def draw(noise, position, runs=None, seed=0):
    return noise.draw(position, LAPLACE, (0.0, 1.0), None, runs, Source(np.random.default_rng(seed)))


def test_pairs_see_the_same_noise_whatever_their_own_source_is_and_whoever_asks_first():
    shared = common()
    one, other = (NoiseInCommon(shared, NoisePlace(0, 0, 500)) for _ in range(2))
    some = np.arange(100, 400)
    ours = draw(one, 0, seed=1)
    assert np.array_equal(draw(other, 0, some, seed=2), ours[some])
    assert np.array_equal(draw(NoiseInCommon(common(), NoisePlace(0, 0, 500)), 0, some, seed=3), ours[some])


def test_places_draws_and_seeds_have_noise_of_their_own():
    shared = common()
    places = [NoisePlace(chunk, start, 500) for chunk, start in ((0, 0), (1, 0), (0, 500))]
    columns = [draw(NoiseInCommon(shared, place), position) for place in places for position in (0, 1)]
    columns += [draw(NoiseInCommon(common(4), NoisePlace(0, 0, 500)), 0)]
    # Of independent columns, correlations of 500 numbers exceed 5 standard errors once in two million.
    assert np.max(np.abs(np.corrcoef(columns) - np.eye(len(columns)))) < 5 / np.sqrt(500)


def test_it_travels_without_what_it_keeps_and_is_the_same_there():
    import pickle

    shared = common()
    key = Key(0, "laplace", (4,))
    here = shared.column(NoisePlace(0, 0, 5000), key)
    packed = pickle.dumps(shared)
    assert len(packed) < 2000
    assert np.array_equal(pickle.loads(packed).column(NoisePlace(0, 0, 5000), key), here)


def test_it_keeps_no_more_than_it_may():
    shared = common()
    wide = MOST_KEPT // 1000 - 1
    first, second = (Key(position, "random", (wide,)) for position in (0, 1))
    kept = shared.column(NoisePlace(0, 0, 1000), first)
    assert shared.column(NoisePlace(0, 0, 1000), first) is kept
    drawn = shared.column(NoisePlace(0, 0, 1000), second)
    again = shared.column(NoisePlace(0, 0, 1000), second)
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
        runs = LiftedSampler(mechanism, pair).sample(4000, np.random.SeedSequence(5), shared)
        return [
            sorted(zip(g.columns[0].tolist(), [] if g.weights is None else g.weights.tolist(), strict=False))
            for side in (runs.first, runs.second)
            for g in side.groups
        ]

    pair, before = Pair([0, 1, 2], [1, 2, 1], "a"), Pair([3, 0], [2, 0], "b")
    used = CommonNoise(seeds)
    tally(used, before)
    assert tally(used, pair) == tally(CommonNoise(seeds), pair)


def straight(queries, rng):
    return [q + x for q, x in zip(queries, rng.laplace(size=len(queries)), strict=True)]


def sparse(queries, rng):
    """The later a draw, the fewer runs make it, and how few depends on the input."""
    threshold = rng.laplace()
    for number, query in enumerate(queries):
        if query + rng.laplace(scale=2.0) > threshold:
            return number
    return -1


def seldom(queries, rng):
    """Only large queries need noise of their own, which the other side then finds drawn."""
    x = queries[0] + rng.normal()
    return x + rng.exponential() if x > 2 else x


def discrete(queries, rng):
    return [int(q + rng.geometric(0.5)) for q in queries]


def by_input(queries, rng):
    """Most runs of one input make the second draw, few of the other."""
    return rng.normal() if rng.random() < queries[0] / 4 else 0.0


def rarely(queries, rng):
    """Few runs draw more than once."""
    total = 0.0
    while rng.random() < 0.05:
        total += rng.normal()
    return total


INPUTS = [[1.0, 1.0], [2.0, 1.0], [0.0, 1.0], [3.0, 0.0]]
ORDERS = [
    [(0, 1), (0, 2), (0, 3), (1, 0), (2, 3)],
    [(3, 0), (0, 3), (1, 3), (3, 1), (0, 1)],
    [(2, 2), (0, 2), (2, 0), (3, 2), (1, 2), (0, 1)],
]


def rows(outputs: Outputs):
    """Everything there is to say about outputs, in order."""
    return [
        (group.shape, [c.tolist() for c in group.columns], None if group.weights is None else group.weights.tolist())
        for group in outputs.groups
    ]


@pytest.mark.parametrize("mechanism", [straight, sparse, seldom, discrete, by_input])
@pytest.mark.parametrize("order", ORDERS)
def test_samples_that_pairs_share_are_those_they_would_make_alone(mechanism, order):
    """Bit for bit: one process that remembers, and one for each pair that cannot."""
    described = describe(mechanism)
    known = [Lift(described, data, {}, number=number) for number, data in enumerate(INPUTS)]
    shared = common()
    for number, (first, second) in enumerate(order):
        remembering = sample_paired((known[first], known[second]), 3000, np.random.default_rng(number), (shared, 0))
        anew = (Lift(described, INPUTS[first], {}, number=first), Lift(described, INPUTS[second], {}, number=second))
        alone = sample_paired(anew, 3000, np.random.default_rng(number), (common(), 0))
        assert [rows(side) for side in remembering] == [rows(side) for side in alone]


@pytest.mark.parametrize("mechanism", [straight, sparse, seldom, discrete, by_input])
def test_an_input_that_pairs_share_is_run_once(mechanism):
    shared = common()
    first, *others = (Lift(describe(mechanism), data, {}, number=i) for i, data in enumerate(INPUTS[:3]))
    once, again = (sample_paired((first, other), 3000, np.random.default_rng(1), (shared, 0))[0] for other in others)
    assert once is again


def test_both_sides_have_the_same_noise_where_few_runs_draw():
    """The race scores the sides as pairs: independent draws in the tail made chance look like a violation."""
    first, second = (Lift(describe(rarely), data, {}, number=i) for i, data in enumerate(([0.0], [1.0])))
    sides = sample_paired((first, second), 30_000, np.random.default_rng(0), (common(), 0))
    one, other = (np.sort(np.concatenate([group.columns[0] for group in side.groups])) for side in sides)
    # Parts of at most eight runs are finished by calls: there is one here.
    assert len(np.setdiff1d(one, other)) <= 8 and len(np.unique(one)) > 1000


def test_draws_beyond_those_that_few_runs_may_have_in_common_are_paired_too():
    """And such a sample is made anew for each pair, so that it does not matter who came first."""

    def long(queries, rng):
        total = 0.0
        if rng.random() < 0.05:
            for _ in range(MOST_FEW + 3):
                total += rng.normal()
        return total + 0 * queries[0]

    lifts = [Lift(describe(long), [float(i)], {}, number=i) for i in range(3)]
    shared = common()
    pairs = [sample_paired((lifts[0], other), 4_000, np.random.default_rng(0), (shared, 0)) for other in lifts[1:]]
    assert pairs[0][0] is not pairs[1][0]
    assert all(rows(first) == rows(second) for first, second in pairs)


def test_whole_numbers_are_shared_by_sides_that_ask_for_the_same_and_by_no_others():
    """Geometric noise by inversion: the answers of neighbours differ seldom, on the same number."""

    def inverted(queries, rng, high=1000):
        return int(rng.integers(high)) + 0 * int(queries[0]), rng.choice([3, 5, 7])

    def by_input(queries, rng):
        return int(rng.integers(1000 + int(queries[0])))

    first, second = sample_paired(
        tuple(Lift(describe(inverted), data, {}) for data in INPUTS[:2]), 3000, np.random.default_rng(0)
    )
    assert rows(first) == rows(second)
    first, second = sample_paired(
        tuple(Lift(describe(by_input), data, {}) for data in INPUTS[:2]), 3000, np.random.default_rng(0)
    )
    assert rows(first) != rows(second)


def test_samples_of_several_places_are_shared_too():
    shared = common()
    first, *others = (Lift(describe(straight), data, {}) for data in INPUTS)
    for place in (0, 1):
        sample_paired((first, others[0]), 500, np.random.default_rng(1), (shared, place))
    kept = [shared.recall(NoisePlace(place, 0, 500), first).outputs for place in (0, 1)]
    again = [sample_paired((first, others[1]), 500, np.random.default_rng(2), (shared, p))[0] for p in (0, 1)]
    assert all(one is other for one, other in zip(kept, again, strict=True))


def test_few_samples_are_remembered():
    shared = common()
    lifts = [Lift(describe(straight), [float(i), 0.0], {}) for i in range(RECENT + 3)]
    for one, other in pairwise(lifts):
        sample_paired((one, other), 100, np.random.default_rng(0), (shared, 0))
    assert len(shared._samples) == RECENT
