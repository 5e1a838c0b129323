"""Bets for the bound after pairs whose number is known: valid at the border, sharper than bets for any moment."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from refutedp.hypothesis.betting import horizon
from refutedp.hypothesis.betting.horizon import batches, expected_bound, log_ratio, start_horizon
from refutedp.hypothesis.betting.weighted import log_wealths, start_weighted
from refutedp.model.claims import Tangent
from refutedp.model.importance import no_hits, weigh_hits


def pairs(rng, n, p1, log_ratio, nested=True):
    """Pairs of plain runs with these rates; nested: the event on d2 only where it is on d1."""
    p2 = p1 * math.exp(-log_ratio)
    cells = [p1 - p2, p2, 0.0] if nested else [p1 * (1 - p2), p1 * p2, p2 * (1 - p1)]
    *seen, _ = rng.multinomial(n, [*cells, 1 - sum(cells)])
    found = no_hits(1.0)
    table = found.table.copy()
    table[:, 0] = seen
    return replace(found, pairs=n, table=table)


def at_the_end(process, rng, n, *world):
    for size in batches(n):
        process = process.update(pairs(rng, size, *world))
    return process


@pytest.mark.parametrize("world", [(0.003, 0.5, True), (0.02, 0.2, False)])
def test_a_true_line_is_ruled_out_no_more_often_than_the_level(world):
    rng, alpha, n, checks = np.random.default_rng(5), 0.1, 10_000, 25
    start = start_horizon(world[1], pairs(rng, 4000, *world), n, alpha)
    own = start.own
    alone = replace(start, epsilons=world[1:2], own=0, spreads=start.spreads[own : own + 1], log_hedged=(0.0,))
    wrong = sum(at_the_end(alone, rng, n, *world).rejects(alpha) for _ in range(checks))
    # Exceeded with probability 1e-5 if each is wrong with probability alpha.
    assert wrong <= stats.binom.ppf(1 - 1e-5, checks, alpha)


def test_stakes_do_not_depend_on_the_batch_that_they_are_on():
    """What two batches that differ make of one start differs by what they pay alone."""
    rng = np.random.default_rng(0)
    start = start_horizon(0.0, pairs(rng, 4000, 0.3, 0.2), 20_000, 0.05)
    one, other = pairs(rng, 1000, 0.3, 0.2), pairs(rng, 1000, 0.3, 0.2)
    doubled = start.update(one).log_hedged, start.update(other).log_hedged
    both = start.update(replace(one, table=one.table + other.table)).log_hedged
    assert np.allclose(np.add(*doubled), both)


def test_bets_pay_what_bets_on_one_line_pay():
    rng = np.random.default_rng(1)
    first, second = rng.random((2, 5000)) < [[0.3], [0.1]]
    hits = weigh_hits(0.2 + 3 * rng.random(5000), first, second, plain=0.3)
    slopes, stakes = np.exp([-0.2, 0.0, 0.5, 2.0]), np.array([0.1, 0.2, 0.05, 0.03])
    naive = [
        float(log_wealths(hits, Tangent(slope, 0.0), np.array([stake * slope / 0.3]))[0])
        for slope, stake in zip(slopes.tolist(), stakes.tolist(), strict=True)
    ]
    assert np.allclose(horizon._grown(hits, slopes, stakes), naive)


@pytest.mark.parametrize("alpha", [0.1, 0.001])
def test_the_bound_at_the_end_is_nearly_that_of_a_normal_mean(alpha):
    """Bets that may stop at any moment need sqrt(2 log(1/alpha)) standard errors; one normal mean needs fewer."""
    world, n = (0.2, 0.25), 50_000
    gaps, others, told = [], [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        pilot = pairs(rng, 25_000, *world)
        end = at_the_end(start_horizon(0.0, pilot, n, alpha), rng, n, *world)
        seen, error = log_ratio(end.hits, n)
        gaps.append((seen - end.epsilon_lower_bound(1 - alpha)) / error)
        stopped = start_weighted(Tangent(1.0, 0.0), pilot, Tangent(math.exp(0.25), 0.0)).update(end.hits)
        others.append((seen - stopped.epsilon_lower_bound(1 - alpha)) / error)
        told.append((log_ratio(pilot, n)[0] - expected_bound(pilot, n, alpha)) / error)
    best = stats.norm.isf(alpha)
    assert best < np.median(gaps) < best + 0.5
    assert np.median(gaps) < math.sqrt(2 * math.log(1 / alpha)) < np.median(others)
    assert abs(np.median(told) - np.median(gaps)) < 0.3


def test_evidence_against_the_claim_grows_beyond_the_level():
    rng = np.random.default_rng(2)
    end = at_the_end(start_horizon(0.0, pairs(rng, 4000, 0.3, 0.5), 20_000, 0.05), rng, 20_000, 0.3, 0.5)
    assert end.log_peak > 100


def test_batches_make_up_the_pairs():
    for n in (1, 2, 7, 100, 500_001):
        assert sum(batches(n)) == n and min(batches(n)) > 0
