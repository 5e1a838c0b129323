"""Runs that are counted as they are made: distributed as plain runs are, whatever the size of the stretches.

Oracle: the plain function called in a loop with a real generator, by Fisher's exact test. Of about 40 p-values one
falls below 1e-6 with probability 4e-5, once, when the seed is chosen.
"""

from __future__ import annotations

import numpy as np
import pytest

from refutedp.events.features.basic import Length, Value
from refutedp.events.predicates import Equals, Interval
from refutedp.model.mechanism import describe
from refutedp.model.records import Pair, count_hits
from refutedp.sampling.lifted import CannotLift, Lift
from refutedp.sampling.lifted import lift as lifting
from refutedp.sampling.lifted.lifted_sampler import LiftedSampler, hit_alone
from tests.sampling.paired_cases import (
    BY_CHANCE,
    CASES,
    NAMES,
    PLAIN,
    lifted_sampler,
    lifts_of,
    plain_hits,
    same_rate,
)

RUNS = 20_000


@pytest.mark.parametrize("name", NAMES)
def test_hits_are_those_of_plain_runs(name, monkeypatch):
    # Short stretches, so that several of them are counted.
    monkeypatch.setattr(lifting, "CACHED", 7_000)
    found = CASES[name]
    for side, (lift, data) in enumerate(zip(lifts_of(found), (found.d1, found.d2), strict=True)):
        counted = hit_alone(lift, found.events, RUNS, np.random.default_rng(41 + side))
        for hits, plain in zip(counted, plain_hits(found, data, 43 + side), strict=True):
            assert same_rate(hits, RUNS, plain, PLAIN) > BY_CHANCE


def straight(queries, rng):
    return np.asarray(queries) + rng.laplace(size=len(queries))


def forked(queries, rng):
    return [q + rng.laplace() for q in queries] if rng.random() < 0.5 else []


def test_stretches_fit_the_cache_where_all_runs_take_one_path():
    assert Lift(describe(straight), [1.0] * 64, {}).stretch == lifting.CACHED // 64
    assert Lift(describe(straight), [1.0], {}).stretch == lifting.LARGEST
    several_paths = Lift(describe(forked), [1.0] * 64, {})
    assert several_paths.stretch == several_paths.chunk > lifting.CACHED // 64


def test_what_all_runs_of_a_path_have_in_common_counts_for_all_of_them():
    lift = Lift(describe(forked), [1.0, 2.0], {})
    empty, both, number = (Equals(Length(), 0), Equals(Length(), 2), Interval(Value((0,)), None, None))
    counted = hit_alone(lift, (empty, both, number), 5000, np.random.default_rng(3))
    assert counted[0] + counted[1] == 5000
    assert counted[1] == counted[2]
    # Five standard deviations of a binomial of 5000 at a half.
    assert abs(counted[0] - 2500) < 5 * 35.4


def test_counting_runs_equals_counting_what_they_return():
    """One stretch on the same seed: the same runs, once kept and once not."""
    found = CASES["sparse_vector"]
    for one, other in zip(lifts_of(found), lifts_of(found), strict=True):
        outputs = one.sample(4000, np.random.default_rng(5))
        counted = hit_alone(other, found.events, 4000, np.random.default_rng(5))
        assert counted == [count_hits(event, outputs) for event in found.events]


@pytest.mark.parametrize("name", ["laplace_of_a_size", "sparse_vector", "geometric"])
def test_the_same_seed_gives_the_same_counts_after_other_runs(name):
    found = CASES[name]
    fresh, used = lifted_sampler(name), lifted_sampler(name)
    used.prove(np.random.SeedSequence(9))
    used.count(found.events, 3000, 0.3, np.random.SeedSequence(8))
    first, second = (each.count(found.events, 6000, 0.3, np.random.SeedSequence(7)) for each in (fresh, used))
    assert first == second


def keeps_state(queries, rng, seen=[]):  # noqa: B006
    seen.append(1)
    return queries[0] + rng.laplace()


def test_a_mechanism_that_cannot_be_lifted_is_counted_by_plain_calls_unless_that_is_an_error():
    here = LiftedSampler(describe(keeps_state), Pair([3.0], [2.0], "given"))
    event = Interval(Value(), None, 2.5)
    (counts,) = here.count((event,), 400, 0.5, np.random.SeedSequence(0))
    assert counts.n_x + counts.n_y == 400
    with pytest.raises(CannotLift):
        here.for_evidence(exact=False).count((event,), 400, 0.5, np.random.SeedSequence(0))
