"""OpenDP measurements as they come from the package: claim, adjacency and inputs by themselves."""

import math

import cloudpickle
import pytest

pytest.importorskip("opendp", reason='needs OpenDP: pip install "refutedp[opendp]"')

import opendp.prelude as dp

from refutedp import AddRemove, AllDiffer, AnyTwo, OneDiffers, PureDP, Replace, UsageError, Verdict, check
from refutedp.adapters.opendp import from_opendp
from refutedp.model.claims import ZCDP, ApproxDP

dp.enable_features("contrib")
FLOAT = dp.atom_domain(T=float, nan=False)
NUMBER = FLOAT, dp.absolute_distance(T=float)
# Secure randomness cannot be seeded: the significance makes a false alarm a matter of one suite in a million.
SMALL = {"search_runs": 300, "confirm_runs": 1500, "significance": 1e-7}


def laplace(scale=1.0):
    return NUMBER >> dp.m.then_laplace(scale=scale)


def records(**options):
    return dp.vector_domain(dp.atom_domain(T=int), **options), dp.symmetric_distance()


CASES = {
    "number": (laplace, None, PureDP(1.0), OneDiffers(1.0)),
    "number, farther apart": (laplace, 3.0, PureDP(3.0), OneDiffers(3.0)),
    "vector": (
        lambda: (dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)) >> dp.m.then_laplace(scale=2.0),
        None,
        PureDP(0.5),
        OneDiffers(1),
    ),
    "noisy max": (
        lambda: (
            (dp.vector_domain(FLOAT), dp.linf_distance(T=float))
            >> dp.m.then_noisy_max(dp.max_divergence(), scale=4.0)
        ),
        None,
        PureDP(0.5),
        AllDiffer(1.0),
    ),
    "count": (lambda: records() >> dp.t.then_count() >> dp.m.then_laplace(scale=1.0), None, PureDP(1.0), AddRemove),
    "mean of a fixed number": (
        lambda: (
            (dp.vector_domain(dp.atom_domain(T=float, bounds=(0.0, 10.0)), size=5), dp.symmetric_distance())
            >> dp.t.then_mean()
            >> dp.m.then_laplace(scale=2.0)
        ),
        None,
        None,
        Replace,
    ),
    "randomised response": (
        lambda: dp.m.make_randomized_response_bool(prob=0.75),
        None,
        PureDP(math.log(3)),
        AnyTwo,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_claim_and_adjacency_are_read_off_and_the_claim_stands(case):
    make, d_in, claim, adjacency = CASES[case]
    adapted = from_opendp(make(), d_in)
    if claim is not None:
        assert adapted.own.claim.epsilon == pytest.approx(claim.epsilon)
    stated = adapted.own.adjacency
    assert isinstance(stated, adjacency) if isinstance(adjacency, type) else stated == adjacency
    result = check(adapted, **SMALL)
    assert result.verdict is not Verdict.VIOLATION
    assert "a seed cannot reproduce this result exactly" in " ".join(result.notes)


def test_bounds_of_the_domain_are_tried():
    pairs = from_opendp(CASES["mean of a fixed number"][0]()).own.pairs
    assert ([0.0] * 5, [10.0, *[0.0] * 4]) in [(pair.d1, pair.d2) for pair in pairs]


def test_a_claim_that_the_measurement_does_not_make_is_refuted():
    assert check(from_opendp(laplace()), epsilon=0.2, **SMALL).verdict is Verdict.VIOLATION


def test_other_measures_become_other_claims():
    gauss = NUMBER >> dp.m.then_gaussian(scale=2.0)
    assert from_opendp(gauss).own.claim == ZCDP(0.125)
    profile = dp.c.make_zCDP_to_approxDP(gauss)
    assert isinstance(from_opendp(profile).own.claim, ApproxDP)
    fixed = from_opendp(dp.c.make_fix_delta(profile, delta=1e-6)).own.claim
    assert fixed.delta == 1e-6 and fixed == from_opendp(profile).own.claim


def test_it_travels_to_other_processes():
    copied = cloudpickle.loads(cloudpickle.dumps(from_opendp(laplace())))
    assert len(copied(0.0, size=3)) == 3


def test_numbers_stay_within_the_bounds_of_their_domain():
    bounded = dp.atom_domain(T=float, bounds=(0.0, 1.0), nan=False), dp.absolute_distance(T=float)
    adapted = from_opendp(bounded >> dp.m.then_laplace(scale=1.0))
    assert [(pair.d1, pair.d2) for pair in adapted.own.pairs] == [(0.0, 1.0)]


def test_what_is_no_measurement():
    with pytest.raises(UsageError, match="a transformation adds no noise: use check_stability"):
        from_opendp(dp.t.make_count(*records()))
    with pytest.raises(UsageError, match="promises nothing for d_in=-1"):
        from_opendp(laplace(), d_in=-1.0)
