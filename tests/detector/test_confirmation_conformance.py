"""What every strategy of confirmation must do: hold its level, convict, repeat by seed, and come back from a file.

A new strategy is one more name in `_KINDS`, and runs through all of these.
"""

import math

import pytest
from scipy.stats import binom

from refutedp import ApproxDP, PureDP, Verdict, load, recheck
from refutedp.detector.confirmations import _KINDS, named

EVENT = {"event": "interval", "of": {"feature": "value", "path": []}, "low": 1.5, "high": None}
CLAIMS = [PureDP(1.0), ApproxDP(1.0, 1e-6)]


def laplace(queries, rng, scale):
    """Of scale 1 exactly at the border of ε = 1 on every half-line beyond both inputs."""
    return queries[0] + rng.laplace(scale=scale)


def heard(name, claim, scale, seed, **options):
    return recheck(
        laplace,
        claim=claim,
        d1=[1],
        d2=[0],
        event=EVENT,
        args={"scale": scale},
        confirmation=name,
        seed=seed,
        **{"confirm_runs": 2_000, "significance": 0.05, **options},
    )


def allowed(name, claim):
    """Pairs are for pure claims; what a strategy does with another claim is tested with the claims."""
    return not (_KINDS[name].needs_pairs and claim.pure_epsilon is None)


COMBINATIONS = [(name, claim) for name in _KINDS for claim in CLAIMS if allowed(name, claim)]


@pytest.mark.parametrize(("name", "claim"), COMBINATIONS)
def test_a_claim_at_its_border_is_rejected_no_more_often_than_the_significance(name, claim):
    checks = 40
    rejected = sum(heard(name, claim, 1.0, seed).verdict is Verdict.VIOLATION for seed in range(checks))
    # Exceeded with probability 1e-5 if each has a false alarm with probability 5%.
    assert rejected <= binom.ppf(1 - 1e-5, checks, 0.05)


@pytest.mark.parametrize(("name", "claim"), COMBINATIONS)
def test_a_broken_claim_is_rejected_and_the_bound_lies_between_the_claim_and_the_truth(name, claim):
    result = heard(name, claim, 0.4, 0, significance=0.001, confirm_runs=20_000)
    assert result.verdict is Verdict.VIOLATION
    # On half-lines beyond both inputs the ratio is e^2.5 exactly.
    assert 1.0 < result.evidence.epsilon_lower_bound < 2.5
    assert result.evidence.log_p_value <= math.log(0.001)
    assert 0 < result.evidence.decided_after <= result.effort.confirm_runs


@pytest.mark.parametrize(("name", "claim"), COMBINATIONS)
def test_the_same_seed_gives_the_same_evidence_on_one_core_and_on_two(name, claim):
    once, again = (heard(name, claim, 0.6, 3, jobs=jobs).evidence for jobs in (1, 2))
    assert once == again


@pytest.mark.parametrize(("name", "claim"), COMBINATIONS)
def test_it_comes_back_from_a_file(name, claim, tmp_path):
    result = heard(name, claim, 0.4, 1)
    result.save(tmp_path / "r.json")
    read = load(tmp_path / "r.json").evidence.candidate.confirmation
    assert read.name == result.evidence.candidate.confirmation.name
    assert 0 < read.share < 1


@pytest.mark.parametrize("name", list(_KINDS))
def test_plain_calls_can_take_its_place(name):
    plain = named(name, 0.3).by_plain_calls()
    assert plain.name == "allocation" and not plain.needs_plan and not plain.needs_pairs
    assert 0 < plain.share < 1
