"""OpenDP measurements as they come from the package: claim, adjacency and inputs by themselves."""

import math
from contextlib import suppress

import cloudpickle
import pytest

pytest.importorskip("opendp", reason='needs OpenDP: pip install "refutedp[opendp]"')

import opendp.prelude as dp

from refutedp import AddRemove, AllDiffer, AnyTwo, OneDiffers, PureDP, Replace, UsageError, Verdict, check
from refutedp.adapters.opendp import KeyedCounts, check_stability, from_opendp
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
    assert isinstance(copied(0.0), float)


def test_numbers_stay_within_the_bounds_of_their_domain():
    bounded = dp.atom_domain(T=float, bounds=(0.0, 1.0), nan=False), dp.absolute_distance(T=float)
    adapted = from_opendp(bounded >> dp.m.then_laplace(scale=1.0))
    assert [(pair.d1, pair.d2) for pair in adapted.own.pairs] == [(0.0, 1.0)]


def test_what_is_no_measurement():
    with pytest.raises(UsageError, match="a transformation adds no noise: use check_stability"):
        from_opendp(dp.t.make_count(*records()))
    with pytest.raises(UsageError, match="promises nothing for d_in=-1"):
        from_opendp(laplace(), d_in=-1.0)


def test_bit_vectors_are_told_bit_by_bit():
    dp.enable_features("contrib")
    bits = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=2), dp.discrete_distance(), f=0.7)
    adapted = from_opendp(bits)
    assert isinstance(adapted.own.adjacency, AnyTwo)
    assert {data for pair in adapted.own.pairs for data in (pair.d1, pair.d2)} == {b"\x00", b"\x01", b"\x02"}
    assert len(adapted(b"\x01")) == 8
    assert check(adapted, **SMALL).verdict is not Verdict.VIOLATION
    assert check(adapted, epsilon=0.2, **SMALL).verdict is Verdict.VIOLATION


def test_counts_by_key():
    space = (
        dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int)),
        dp.l01inf_distance(dp.absolute_distance(T=int)),
    )
    adapted = from_opendp(dp.m.make_laplace_threshold(*space, scale=1.0, threshold=20))
    assert all(space[0].member(data) for pair in adapted.own.pairs for data in (pair.d1, pair.d2))
    assert check(adapted, **SMALL).verdict is not Verdict.VIOLATION
    counts = KeyedCounts((), 1, 1, 1)
    assert counts.difference({"a": 3}, {"a": 4}) is None and counts.difference({}, {"a": 1}) is None
    assert counts.difference({"a": 3}, {"a": 5}) is not None
    assert counts.difference({"a": 3, "b": 1}, {"a": 4}) is not None


def test_data_grow_until_a_threshold_lets_something_through():
    histogram = (
        (dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance())
        >> dp.t.then_count_by()
        >> dp.m.then_laplace_threshold(scale=1.0, threshold=20)
    )
    adapted = from_opendp(histogram)
    assert {len(pair.d1) for pair in adapted.own.pairs} == {30}
    assert check(adapted, claim=ApproxDP(0.3, 1e-6), **SMALL).verdict is Verdict.VIOLATION


INTS = dp.vector_domain(dp.atom_domain(T=int, bounds=(0, 10))), dp.symmetric_distance()
WORDS = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
REALS = dp.vector_domain(dp.atom_domain(T=float, bounds=(0.1, 0.7)), size=5), dp.symmetric_distance()
NUMBERS = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
STABLE = {
    "sum": lambda: INTS >> dp.t.then_sum(),
    "mean": lambda: REALS >> dp.t.then_mean(),
    "variance": lambda: REALS >> dp.t.then_variance(),
    "count": lambda: INTS >> dp.t.then_count(),
    "distinct": lambda: WORDS >> dp.t.then_count_distinct(),
    "count by": lambda: WORDS >> dp.t.then_count_by(),
    "count by categories": lambda: WORDS >> dp.t.then_count_by_categories(categories=["a", "b"]),
    "cast and clamp": lambda: WORDS >> dp.t.then_cast_default(TOA=int) >> dp.t.then_clamp((0, 1)) >> dp.t.then_sum(),
    "tree": lambda: (
        (dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int))
        >> dp.t.then_b_ary_tree(leaf_count=4, branching_factor=2)
    ),
}


@pytest.mark.parametrize("name", STABLE)
def test_stable_transformations(name):
    found = check_stability(STABLE[name]())
    assert found.holds and found.tried > 0 and str(found).startswith("No counterexample")


def test_a_transformation_that_chooses_at_random_is_refused_once_it_shows():
    resize = INTS >> dp.t.then_resize(size=4, constant=0)
    with suppress(UsageError):
        assert check_stability(resize).holds


@pytest.mark.parametrize(
    ("space", "function", "stated", "words"),
    [
        (INTS, lambda data: float(3 * sum(data)), 10.0, "apart: the map allows"),
        (INTS, lambda data: sum(data) / max(len(data), 1), 2.0, "apart: the map allows"),
        (INTS, lambda data: math.nan if not data else 0.0, 1.0, "nan lies outside the output domain"),
    ],
)
def test_transformations_that_are_not_stable(space, function, stated, words):
    dp.enable_features("honest-but-curious")
    wrong = dp.t.make_user_transformation(*space, *NUMBERS, function, lambda d_in: stated * d_in)
    found = check_stability(wrong)
    assert not found.holds and words in str(found)


def test_random_transformations_are_no_matter_of_distances():
    with pytest.raises(UsageError, match="draws its results at random"):
        check_stability(dp.t.make_ordered_random(*INTS))
    with pytest.raises(UsageError, match="no transformation of OpenDP"):
        check_stability(laplace())


def test_queries_of_a_context():
    context = dp.Context.compositor(
        data=[1, 2, 3],
        privacy_unit=dp.unit_of(contributions=3),
        privacy_loss=dp.loss_of(epsilon=3.0),
        split_evenly_over=1,
        domain=dp.vector_domain(dp.atom_domain(T=int)),
    )
    adapted = from_opendp(context.query().count().laplace())
    assert adapted.own.claim.epsilon == pytest.approx(1.0)  # of one record, where three may change
    assert check(adapted, **SMALL).verdict is not Verdict.VIOLATION
