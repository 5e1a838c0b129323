"""What every sampler has to do, whichever way it runs: a new one goes into SAMPLERS and passes all of this."""

from __future__ import annotations

import json
import pickle
import sys

import numpy as np
import pytest
from scipy import stats

from refutedp.api.command import Command
from refutedp.events.features.basic import Value
from refutedp.events.predicates import Interval
from refutedp.model.mechanism import describe
from refutedp.model.records import Pair, count_hits
from refutedp.sampling.lifted.lifted_sampler import LiftedSampler
from refutedp.sampling.sampler import BatchedSampler, PlainSampler, Samplers

PAIR = Pair([1.0], [0.0], "given")
RUNS = 4_000
EVENTS = tuple(Interval(Value(()), None, end) for end in (-0.5, 0.5, 2.0))
BY_CHANCE = 1e-6
"""Of fewer than a hundred p-values one falls below with probability 1e-4, once, when the seeds are chosen."""


def noisy(data, rng):
    return data[0] + rng.laplace()


def noisy_batch(data, rng, *, size):
    return data[0] + rng.laplace(size=size)


def noisy_if_it_formats(data, rng):
    """Cannot be lifted, and says so only in a few runs of ten thousand."""
    value = data[0] + rng.laplace()
    return float(f"{value:.17g}") if value > 8.0 else value


PROGRAM = """
import json, math, random, sys
for line in sys.stdin:
    request = json.loads(line)
    rng = random.Random(request["seed"])
    outputs = [
        request["data"][0] + rng.choice([-1, 1]) * rng.expovariate(1.0) for _ in range(request["count"])
    ]
    print(json.dumps({"id": request["id"], "outputs": outputs, "done": True}), flush=True)
"""

SAMPLERS = {
    "plain": lambda: PlainSampler(describe(noisy), PAIR),
    "batched": lambda: BatchedSampler(describe(noisy_batch), PAIR),
    "program": lambda: BatchedSampler(describe(Command([sys.executable, "-c", PROGRAM])), PAIR),
    "lifted": lambda: LiftedSampler(describe(noisy), PAIR),
    "lifted in part": lambda: LiftedSampler(describe(noisy_if_it_formats), PAIR),
}


@pytest.fixture(params=SAMPLERS)
def sampler(request):
    return SAMPLERS[request.param]()


def seeds(number=0):
    return np.random.SeedSequence(number)


def values(outputs):
    """All numbers of outputs in which each is one, whatever the groups."""
    columns = [np.repeat(group.columns[0], 1 if group.weights is None else group.weights) for group in outputs.groups]
    return np.concatenate([np.empty(0), *columns])


def assert_distributed(outputs, centre):
    assert stats.kstest(values(outputs), stats.laplace(centre).cdf).pvalue > BY_CHANCE


def assert_rate(hits, runs, event, centre):
    assert stats.binomtest(hits, runs, stats.laplace(centre).cdf(event.high)).pvalue > BY_CHANCE


def test_runs_are_as_many_as_asked_and_distributed_as_the_mechanism_is(sampler):
    runs = sampler.run(RUNS, RUNS // 2, seeds())
    assert (runs.first.size, runs.second.size) == (RUNS, RUNS // 2)
    assert_distributed(runs.first, 1.0)
    assert_distributed(runs.second, 0.0)


def test_none_is_none(sampler):
    runs = sampler.run(0, 5, seeds())
    assert (runs.first.size, runs.second.size) == (0, 5)


def test_runs_to_look_at_are_as_many_as_asked_on_either_side(sampler):
    runs = sampler.sample(RUNS, seeds(1))
    assert runs.first.size == runs.second.size == RUNS
    assert_distributed(runs.first, 1.0)
    assert_distributed(runs.second, 0.0)


def test_counts_are_allocated_at_random(sampler):
    for counts, event in zip(sampler.count(EVENTS, RUNS, 0.3, seeds(2)), EVENTS, strict=True):
        assert counts.n_x + counts.n_y == RUNS
        assert counts.share == 0.3
        assert stats.binomtest(counts.n_x, RUNS, 0.3).pvalue > BY_CHANCE
        assert_rate(counts.x, counts.n_x, event, 1.0)
        assert_rate(counts.y, counts.n_y, event, 0.0)


def test_pairs_count_what_happens_on_both_sides(sampler):
    for counts, event in zip(sampler.paired(EVENTS, RUNS, seeds(3)), EVENTS, strict=True):
        assert (counts.n_x, counts.n_y) == (RUNS, RUNS)
        assert max(0, counts.x + counts.y - RUNS) <= counts.both <= min(counts.x, counts.y)
        assert_rate(counts.x, RUNS, event, 1.0)
        assert_rate(counts.y, RUNS, event, 0.0)


def test_noise_is_shared_where_a_sampler_says_so(sampler):
    for counts in sampler.paired(EVENTS, RUNS, seeds(4)):
        together = stats.hypergeom(RUNS, counts.x, counts.y).sf(counts.both - 1)
        assert (together <= BY_CHANCE) == sampler.shares_noise


@pytest.mark.parametrize(
    "made",
    [
        lambda one: values(one.run(50, 50, seeds(5)).first).tolist(),
        lambda one: values(one.sample(50, seeds(5)).second).tolist(),
        lambda one: one.count(EVENTS, 200, 0.5, seeds(5)),
        lambda one: one.paired(EVENTS, 200, seeds(5)),
    ],
    ids=["run", "sample", "count", "paired"],
)
def test_the_seed_decides_whoever_runs_it_and_whatever_ran_before(sampler, made):
    first = made(sampler)
    sampler.run(100, 100, seeds(6))
    assert made(sampler) == first
    assert made(pickle.loads(pickle.dumps(sampler))) == first


def test_swapped_is_the_other_way_round(sampler):
    other = sampler.swapped()
    assert (other.pair.d1, other.pair.d2) == (PAIR.d2, PAIR.d1)
    runs = other.run(RUNS, RUNS, seeds(7))
    assert_distributed(runs.first, 0.0)
    assert_distributed(runs.second, 1.0)


def test_plain_calls_have_the_same_distribution(sampler):
    plain = sampler.by_plain_calls()
    assert not isinstance(plain, LiftedSampler)
    assert_distributed(plain.run(RUNS, 0, seeds(8)).first, 1.0)


def test_evidence_is_made_in_one_way_or_not_at_all(sampler):
    strict = sampler.for_evidence(exact=True)
    (counts, *_) = strict.count(EVENTS, 400, 0.5, seeds(9))
    assert counts.n_x + counts.n_y == 400


def test_errors_say_what_was_run_on_what(sampler):
    assert sampler.what.endswith("() on [1.0] and [0.0]")
    assert sampler.length == 1


@pytest.mark.parametrize(
    ("function", "lift", "kind"),
    [
        (noisy, True, LiftedSampler),
        (noisy, False, PlainSampler),
        (noisy_batch, True, BatchedSampler),
        (lambda data, rng: json.dumps(data[0] + rng.laplace()), True, PlainSampler),
    ],
)
def test_the_fastest_that_is_proven_is_chosen(function, lift, kind):
    samplers = Samplers(describe(function), "output", lift=lift)
    chosen, refusal = samplers.of(PAIR, seeds())
    assert type(chosen) is kind
    assert (refusal is not None) == (lift and kind is PlainSampler)
    assert (samplers.calls > 0) == (lift and kind is not BatchedSampler)


def test_hits_are_counted_as_outputs_are(sampler):
    runs = sampler.run(300, 300, seeds(10))
    for event in EVENTS:
        assert count_hits(event, runs.first) == int((values(runs.first) < event.high).sum())
