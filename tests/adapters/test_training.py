"""One step of private training: right ones stand, and the usual mistakes are found without a model."""

import numpy as np
import pytest

from refutedp import FDP, ApproxDP, GaussianDP, PureDP, UsageError, Verdict, check
from refutedp.adapters.training import from_training_step

BATCH = np.random.default_rng(7).normal(size=(6, 4)) / 4
NOISE = 2.0


def clipped(gradients, clip=1.0):
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    return gradients * np.minimum(1.0, clip / np.maximum(norms, 1e-12))


def noisy(total, gradients, rng, size, noise=NOISE, divided=None):
    return (total + rng.normal(scale=noise, size=(size, total.size))) / (divided or 6)


def right(gradients, *, rng, size):
    return noisy(clipped(gradients).sum(axis=0), gradients, rng, size)


def half_the_noise(gradients, *, rng, size):
    return noisy(clipped(gradients).sum(axis=0), gradients, rng, size, NOISE / 2)


def not_clipped(gradients, *, rng, size):
    return noisy(gradients.sum(axis=0), gradients, rng, size)


def clipped_together(gradients, *, rng, size):
    return noisy(clipped(gradients.sum(axis=0, keepdims=True))[0], gradients, rng, size)


def clipped_by_coordinate(gradients, *, rng, size):
    return noisy(np.clip(gradients, -1, 1).sum(axis=0), gradients, rng, size)


def noise_on_the_first_layer(gradients, *, rng, size):
    total = clipped(gradients).sum(axis=0)
    return {"one": noisy(total[:2], gradients, rng, size), "two": np.tile(total[2:], (size, 1))}


def one_draw_for_all(gradients, *, rng, size):
    return clipped(gradients).sum(axis=0) + rng.normal(scale=NOISE, size=(size, 1))


def divided_by_the_real_size(gradients, *, rng, size):
    return noisy(clipped(gradients).sum(axis=0), gradients, rng, size, divided=len(gradients))


BUDGET = {"search_runs": 500, "confirm_runs": 5_000, "jobs": 1}


@pytest.mark.parametrize(
    ("step", "verdict"),
    [
        (right, Verdict.NOT_FOUND),
        (half_the_noise, Verdict.VIOLATION),
        (not_clipped, Verdict.VIOLATION),
        (clipped_together, Verdict.VIOLATION),
        (clipped_by_coordinate, Verdict.VIOLATION),
        (noise_on_the_first_layer, Verdict.VIOLATION),
        (one_draw_for_all, Verdict.VIOLATION),
    ],
)
def test_a_step(step, verdict):
    # What the Gaussian claim implies at this delta.
    claim = ApproxDP(GaussianDP(1 / NOISE).epsilon_at(1e-2) + 1e-6, 1e-2)
    assert check(from_training_step(step, BATCH, claim=claim), **BUDGET).verdict is verdict


@pytest.mark.parametrize("seed", range(1))
def test_a_right_step_stands(seed):
    small = {"search_runs": 300, "confirm_runs": 1000, "jobs": 1, "seed": seed}
    assert check(from_training_step(right, BATCH, claim=GaussianDP(1 / NOISE)), **small).verdict is Verdict.NOT_FOUND


@pytest.mark.parametrize(
    ("step", "neighbours", "mu", "verdict"),
    [
        (right, "add", 1 / NOISE, Verdict.NOT_FOUND),
        (right, "replace", 2 / NOISE, Verdict.NOT_FOUND),
        (right, "replace", 1 / NOISE, Verdict.VIOLATION),  # a record that changes moves the sum twice as far
        (divided_by_the_real_size, "zero", 1 / NOISE, Verdict.NOT_FOUND),
    ],
)
def test_neighbours(step, neighbours, mu, verdict):
    audited = from_training_step(step, BATCH, claim=GaussianDP(mu), neighbours=neighbours)
    assert check(audited, **BUDGET).verdict is verdict


def test_a_step_that_runs_once_and_updates_in_layers():
    def plain(gradients, rng):
        total = gradients.reshape(len(gradients), -1).sum(axis=0)
        return {"weights": total[:4] + rng.normal(size=4), "bias": [total[4:] + rng.normal(size=2)]}

    audited = from_training_step(plain, np.ones((3, 6)), claim=GaussianDP(1.0))
    assert check(audited, search_runs=200, confirm_runs=500).verdict is Verdict.VIOLATION


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"batch": np.ones(3)}, "give an array with a record"),
        ({"neighbours": "swap"}, "neighbours='swap' must be"),
        ({"canaries": [np.ones(5)]}, r"has one of shape \(5,\)"),
    ],
)
def test_refusals(given, words):
    with pytest.raises(UsageError, match=words):
        from_training_step(right, given.pop("batch", BATCH), claim=GaussianDP(1.0), **given)


def test_claims_of_an_accountant():
    dpa = pytest.importorskip("dp_accounting", reason='needs dp-accounting: pip install "refutedp[accounting]"')
    from refutedp.adapters.accounting import claim_from

    assert claim_from(dpa.GaussianDpEvent(2.0)) == GaussianDP(0.5)
    assert claim_from(dpa.LaplaceDpEvent(4.0)) == PureDP(0.25)
    twice = dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(2.0), 2)
    curve = claim_from(twice)
    assert isinstance(curve, FDP)
    # Two releases of noise 2 are one of noise sqrt 2; the accountant is an upper bound.
    exact = GaussianDP(0.5**0.5)
    assert all(0 <= curve.delta_at(e) - exact.delta_at(e) < 2e-3 for e in (0.0, 0.5, 1.0, 2.0))
    stated = claim_from(dpa.rdp.RdpAccountant().compose(twice), delta=1e-5)
    assert stated.delta == 1e-5 and stated.epsilon > exact.epsilon_at(1e-5)
    with pytest.raises(UsageError, match="was given a float"):
        claim_from(1.0)
    with pytest.raises(UsageError, match="no accountant of dp_accounting knows"):
        claim_from(dpa.UnsupportedDpEvent())


def test_a_sampled_step_against_its_event():
    dpa = pytest.importorskip("dp_accounting", reason='needs dp-accounting: pip install "refutedp[accounting]"')
    from refutedp.adapters.accounting import claim_from

    def sampled(gradients, *, rng, size, noise=1.0):
        kept = rng.random((size, len(gradients))) < 0.5
        return kept @ clipped(gradients) + rng.normal(scale=noise, size=(size, gradients.shape[1]))

    def less_noise(gradients, *, rng, size):
        return sampled(gradients, rng=rng, size=size, noise=0.7)

    claim = claim_from(dpa.PoissonSampledDpEvent(0.5, dpa.GaussianDpEvent(1.0)))
    quiet = BATCH / 100
    for step, verdict in ((sampled, Verdict.NOT_FOUND), (less_noise, Verdict.VIOLATION)):
        audited = from_training_step(step, quiet, claim=claim, neighbours="add")
        assert check(audited, search_runs=300, confirm_runs=12_000, jobs=1).verdict is verdict
