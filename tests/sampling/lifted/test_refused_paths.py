"""Paths that only some runs take and that cannot be lifted: plain calls finish those runs, none is drawn anew."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from refutedp import recheck
from refutedp.events.features.basic import Value
from refutedp.events.predicates import Equals
from refutedp.model.mechanism import describe
from refutedp.model.records import Pair
from refutedp.sampling.encode import Raised, encode
from refutedp.sampling.lifted import CannotLift, Lift
from refutedp.sampling.lifted.collect import equal_outputs
from refutedp.sampling.lifted.lifted_sampler import LiftedSampler


def rare_text(data, rng):
    x = rng.laplace()
    return repr(x) if x > 6 else x


def negative_powers(data, rng):
    return np.int64(2) ** rng.integers(-1, 1000)


def rare_state(data, rng):
    x = rng.laplace()
    if x > 6:
        SEEN.append(1)
    return x


SEEN: list[int] = []


def outcome_of(function, rng):
    try:
        return function([1, 2, 3], rng)
    except ValueError as error:
        return Raised(type(error).__name__)


@pytest.mark.parametrize("function", [rare_text, negative_powers], ids=lambda f: f.__qualname__)
def test_runs_on_a_rare_path_that_cannot_be_lifted_are_finished_by_plain_calls(function):
    lift = Lift(describe(function), [1, 2, 3], {})
    lift.prove(np.random.default_rng(1))
    lifted = lift.sample(20_000, np.random.default_rng(2))
    rng = np.random.default_rng(3)
    plain = encode([outcome_of(function, rng) for _ in range(20_000)])
    counts = [{group.shape.kinds: group.size for group in outputs.groups} for outputs in (lifted, plain)]
    assert counts[0].keys() == counts[1].keys()
    for kinds, count in counts[0].items():
        assert stats.fisher_exact([[count, 20_000 - count], [counts[1][kinds], 20_000 - counts[1][kinds]]])[1] > 1e-6


def test_a_path_that_cannot_be_lifted_does_not_become_rarer():
    """To draw a chunk again when the path is taken by many of its runs would leave too few of them: 22% here."""
    chance, pairs, chunks = 1e-3, 8_000, 100

    def told(data, rng):
        u = rng.random()
        return len(repr(u)) > 0 if u < chance else False

    sampler = LiftedSampler(describe(told), Pair([0], [1], "given"))
    hits = sum(
        sampler.paired((Equals(Value(), True),), pairs, np.random.SeedSequence(seed))[0].y for seed in range(chunks)
    )
    expected = chance * pairs * chunks
    assert abs(hits - expected) < 5 * math.sqrt(expected)


def test_state_that_only_rare_runs_keep_is_noticed():
    lift = Lift(describe(rare_state), [1], {})
    lift.prove(np.random.default_rng(1))
    with pytest.raises(CannotLift, match="keeps state between calls, in 'SEEN'"):
        lift.sample(20_000, np.random.default_rng(2))


def test_evidence_that_cannot_all_be_lifted_is_made_anew_by_plain_calls():
    event = {"event": "interval", "of": {"feature": "value", "path": []}, "low": 6.0, "high": None}
    SEEN.clear()
    result = recheck(rare_state, epsilon=1.0, d1=[0], d2=[1], event=event, confirm_runs=20_000, stop="fixed")
    counts = result.evidence.counts
    assert counts.both is None
    assert counts.n_x + counts.n_y == 40_000
    # The plain runs alone, and the proof of the lift before them.
    assert counts.x + counts.y <= len(SEEN) <= 3 * (counts.x + counts.y)


def _distinguished(x):
    return x if (x > 7.5) is True else x + 1


def rarely_by_identity(data, rng):
    x = data[0] + rng.laplace()
    return _distinguished(x) if x > 7 else x


def test_what_was_refused_before_does_not_tell_on_other_runs():
    used, fresh = (Lift(describe(rarely_by_identity), [0.0], {}) for _ in range(2))
    with pytest.raises(CannotLift, match="identity"):
        used.sample(100_000, np.random.default_rng(1))
    for seed in range(20):
        # About a run in 2,000 takes the rare path: few of these, which plain calls finish.
        again, first = (lift.sample(3000, np.random.default_rng(seed)) for lift in (used, fresh))
        assert [g.columns[0].tolist() for g in again.groups] == [g.columns[0].tolist() for g in first.groups]


def test_outputs_with_arrays_inside_lists_are_compared():
    lift = Lift(describe(lambda data, rng: [int(data[0]), np.array([rng.laplace(), 1.0])]), [0.0], {})
    lift.prove(np.random.default_rng(0))
    assert lift.sample(100, np.random.default_rng(1)).size == 100
    assert equal_outputs([1, np.array([1.0, 2.0])], [1, np.array([1.0, 2.0])])
    assert not equal_outputs([1, np.array([1.0, 2.0])], [1, np.array([1.0, 3.0])])
