"""What claims permit, against definitions and published conversions; what they print, save and refuse."""

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats

from refutedp.model.claims import (
    FDP,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Lines,
    PureDP,
    RenyiDP,
    claim_from_dict,
    gaussian_composition,
)
from refutedp.model.errors import UsageError


def gaussian_tradeoff(alpha):
    return special.ndtr(special.ndtri(1 - alpha) - 1.0)


CLAIMS = [
    PureDP(0.7),
    ApproxDP(1.0, 1e-3),
    ApproxDP(0.0, 0.1),
    ZCDP(0.1),
    ZCDP(3.0),
    RenyiDP(1.5, 0.3),
    RenyiDP(8, 2.0),
    GaussianDP(0.5),
    GaussianDP(3.0),
    FDP(gaussian_tradeoff, "unit Gaussian"),
    FDP(Lines(((0.0, 0.3), (1.0, 1e-3)))),
]
RATES = 1 / (1 + np.exp(-np.linspace(-18, 7, 60)))


def renyi(p, q, alpha):
    """D_alpha of two coins, by definition."""
    total = p**alpha * q ** (1 - alpha) + (1 - p) ** alpha * (1 - q) ** (1 - alpha)
    return math.log(total) / (alpha - 1)


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_the_bound_is_concave_does_not_fall_and_contains_the_diagonal(claim):
    grid = np.linspace(0, 1, 201)
    values = claim.largest(grid)
    assert np.all(np.diff(values) >= -1e-12)
    assert np.all(np.diff(values, 2) <= 1e-9)
    assert np.all(values >= grid - 1e-12)
    assert np.all(values <= 1)
    assert claim.largest(0.25) == pytest.approx(values[50], rel=1e-9)


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_the_bound_is_its_own_mirror_image_for_complements_with_the_inputs_exchanged(claim):
    p2 = np.linspace(0.001, 0.9, 50)
    p1 = claim.largest(p2)
    inside = p1 < 1 - 1e-6
    assert claim.largest(1 - p1[inside]) == pytest.approx(1 - p2[inside], abs=2e-6)


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_tangents_hold_all_that_is_permitted_and_touch_it(claim):
    permitted = claim.largest(RATES)
    for p2 in (1e-6, 1e-3, 0.05, 0.4):
        line = claim.tangent_at(p2)
        assert np.all(line.slope * RATES + line.intercept >= permitted * (1 - 1e-9))
        assert line.slope * p2 + line.intercept == pytest.approx(claim.largest(p2), rel=1e-4)
    for line in claim.tangents():
        assert np.all(line.slope * RATES + line.intercept >= permitted * (1 - 1e-9))


@given(st.floats(1e-4, 0.9), st.floats(1.1, 60), st.floats(0.01, 3))
@settings(max_examples=100, deadline=None)
def test_a_renyi_claim_permits_exactly_the_coins_within_its_divergence(p2, alpha, epsilon):
    p1 = RenyiDP(alpha, epsilon).largest(p2)

    def worst(p):
        pair = np.array([p]), np.array([p2])
        return float(RenyiDP(alpha, 1.0).least(*pair)[0])

    assert worst(p1 * (1 - 1e-6)) <= epsilon * (1 + 1e-9)
    if p1 < 1 - 1e-9:
        assert worst(p1) == pytest.approx(epsilon, rel=1e-4, abs=1e-9)
    if alpha < 8 and p1 < 0.999:
        assert max(renyi(p1, p2, alpha), renyi(p2, p1, alpha)) == pytest.approx(epsilon, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("rho", [0.01, 0.5, 4.0])
@pytest.mark.parametrize("p2", [1e-6, 1e-3, 0.2, 0.7])
def test_a_zcdp_claim_is_the_strictest_of_its_renyi_claims(rho, p2):
    orders = 1 + np.geomspace(1e-3, 1e3, 400)
    strictest = min(RenyiDP(alpha, rho * alpha).largest(p2) for alpha in orders)
    assert ZCDP(rho).largest(p2) == pytest.approx(strictest, rel=1e-3)
    assert ZCDP(rho).largest(p2) <= strictest * (1 + 1e-4)


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_gaussian_noise_obeys_each_notion_it_implies(mu):
    """A pair of Gaussians at distance mu is mu-GDP, mu^2/2-zCDP and (alpha, alpha mu^2/2)-Renyi DP."""
    real = GaussianDP(mu).largest(RATES)
    assert np.all(real <= ZCDP(mu**2 / 2).largest(RATES) * (1 + 1e-12))
    for alpha in (1.5, 2, 10):
        assert np.all(real <= RenyiDP(alpha, alpha * mu**2 / 2).largest(RATES) * (1 + 1e-12))
    # Corollary 2.13 of "Gaussian Differential Privacy"; Bun & Steinke 2016, Prop. 1.6.
    for claim in (ApproxDP(GaussianDP(mu).epsilon_at(1e-4), 1e-4), ZCDP(mu**2 / 2)):
        assert np.all(real <= claim.largest(RATES) * (1 + 1e-6))


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_the_profile_is_the_supremum_over_events(claim):
    grid = 1 / (1 + np.exp(-np.linspace(-20, 8, 561)))
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        naive = max(0.0, float(np.max(claim.largest(grid) - math.exp(epsilon) * grid)), claim.largest(0.0))
        assert naive * (1 - 1e-6) <= claim.delta_at(epsilon) <= naive * 1.05 + 1e-6


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_epsilon_and_delta_are_inverse_to_each_other(claim):
    for delta in (1e-5, 1e-2, 0.05):
        epsilon = claim.epsilon_at(delta)
        if 0 < epsilon < math.inf:
            assert claim.delta_at(epsilon) <= delta * (1 + 1e-4)
            assert claim.delta_at(epsilon - 1e-3) >= delta * (1 - 1e-4)


@pytest.mark.parametrize(("alpha", "epsilon"), [(2, 0.1), (8, 0.5), (64, 3.0)])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_the_conversion_is_no_weaker_than_the_published_ones(alpha, epsilon, delta):
    exact = RenyiDP(alpha, epsilon).epsilon_at(delta)
    mironov = epsilon + math.log(1 / delta) / (alpha - 1)
    canonne = epsilon + math.log1p(-1 / alpha) - math.log(delta * alpha) / (alpha - 1)
    assert exact <= min(mironov, max(canonne, 0)) + 1e-6


def test_the_conversion_at_order_two_is_the_closed_form():
    """(p - q)^2 / (q (1 - q)) <= e^epsilon - 1 =: c, so that for rare events delta = c / (4 (slope - 1)), nearly."""
    c = math.expm1(0.1)
    assert RenyiDP(2, 0.1).epsilon_at(1e-6) == pytest.approx(math.log1p(c / 4e-6), rel=1e-4)


def test_zcdp_conversion_is_no_weaker_than_bun_and_steinke():
    rho, delta = 0.5, 1e-6
    assert ZCDP(rho).epsilon_at(delta) <= rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert ZCDP(rho).epsilon_at(delta) >= GaussianDP(1.0).epsilon_at(delta)


def test_gaussian_delta_is_the_integral_of_the_densities():
    mu, epsilon = 1.3, 0.8
    naive = optimize.minimize_scalar(
        lambda t: -(stats.norm.sf(t - mu) - math.exp(epsilon) * stats.norm.sf(t)), bounds=(-5, 9), method="bounded"
    )
    assert GaussianDP(mu).delta_at(epsilon) == pytest.approx(-naive.fun, rel=1e-8)


def test_the_least_parameter_that_permits_a_point_is_found():
    p2 = np.array([1e-5, 0.01, 0.3])
    for rho in (0.05, 1.0):
        assert ZCDP(1.0).least(ZCDP(rho).largest(p2), p2) == pytest.approx(rho, rel=1e-3)
    assert RenyiDP(5, 1.0).least(RenyiDP(5, 0.7).largest(p2), p2) == pytest.approx(0.7, rel=1e-6)
    assert ZCDP(1.0).least(p2, p2) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_claims_survive_pickle_and_json(claim):
    again = pickle.loads(pickle.dumps(claim))
    assert np.array_equal(again.largest(RATES), claim.largest(RATES))
    saved = claim_from_dict(json.loads(json.dumps(claim.to_dict())))
    assert str(saved) == str(claim)
    if isinstance(claim, FDP):
        # A saved trade-off function never claims more than the function did, and hardly less.
        assert np.all(saved.largest(RATES) >= claim.largest(RATES) * (1 - 1e-6))
        assert saved.largest(RATES) == pytest.approx(claim.largest(RATES), rel=0.02, abs=1e-4)
    else:
        assert saved == claim


def test_unknown_and_damaged_claims_are_refused():
    with pytest.raises(UsageError, match="does not know"):
        claim_from_dict({"claim": "Secrecy"})
    with pytest.raises(UsageError, match="wrong fields"):
        claim_from_dict({"claim": "ZCDP", "epsilon": 1.0})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ApproxDP(-1, 0.1), "epsilon=-1 must not be negative"),
        (lambda: ApproxDP(1, 1.0), "delta=1.0 must be below 1"),
        (lambda: ApproxDP(0, 0), "make one positive"),
        (lambda: ApproxDP("1", 0), "must be a number, not a str"),
        (lambda: ZCDP(0), "rho=0 must be positive"),
        (lambda: RenyiDP(1, 0.5), "alpha=1 must be greater than 1"),
        (lambda: RenyiDP(2, math.nan), "epsilon=nan"),
        (lambda: GaussianDP(math.inf), "mu=inf must be finite"),
        (lambda: FDP(3), "must be a function"),
        (lambda: FDP(lambda a: 1.0), "between 0 and 1 - a"),
        (lambda: FDP(lambda a: (1 - a) * a), "convex"),
        (lambda: FDP.from_profile([1.0], []), "no profile"),
        (lambda: PureDP(0), "epsilon=0 must be positive"),
    ],
)
def test_wrong_numbers_are_refused_in_one_sentence(make, words):
    with pytest.raises(UsageError, match=words):
        make()


def test_a_trade_off_function_of_single_numbers_serves_too():
    claim = FDP(lambda a: max(0.0, 1 - 0.1 - a) if isinstance(a, float) else 1 / 0, "total variation")
    assert claim.largest(0.2) == pytest.approx(0.3)


def test_a_privacy_loss_distribution_becomes_a_claim():
    pytest.importorskip("dp_accounting")
    claim = gaussian_composition(sigma=2.0, steps=4)
    assert np.all(claim.largest(RATES) >= GaussianDP(1.0).largest(RATES) * (1 - 1e-9))
    assert claim.largest(0.01) == pytest.approx(GaussianDP(1.0).largest(0.01), rel=0.02)


def test_a_profile_object_is_enough():
    class Distribution:
        def get_delta_for_epsilon(self, epsilons):
            return np.array([GaussianDP(1.0).delta_at(float(e)) for e in epsilons])

    claim = FDP.from_pld(Distribution(), "unit Gaussian")
    assert claim.largest(0.01) == pytest.approx(GaussianDP(1.0).largest(0.01), rel=0.01)
    assert np.all(claim.largest(RATES) >= GaussianDP(1.0).largest(RATES) * (1 - 1e-9))


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_ever_weaker_claims_start_with_the_claim_and_permit_more(claim):
    ladder = list(claim.weaker())
    if not claim.parameter:
        assert not ladder
        return
    assert ladder[0] == (getattr(claim, claim.parameter), claim)
    permitted = np.array([weaker.largest(RATES) for _, weaker in ladder[:5]])
    assert np.all(np.diff(permitted, axis=0) >= -1e-9)
    assert all(getattr(weaker, claim.parameter) == value for value, weaker in ladder)


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_the_least_parameter_that_permits_the_border_is_the_claims_own(claim):
    if claim.parameter:
        rates = np.array([0.01, 0.2])
        assert claim.least(claim.largest(rates), rates) == pytest.approx(getattr(claim, claim.parameter), rel=1e-3)


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_the_command_line_states_the_claim(claim):
    words = claim.on_command_line()
    given = {name[2:]: value for name, value in zip(words[::2], words[1::2], strict=True)}
    assert set(given) == set(claim.options)
    if claim.options:
        numbers = {name: value if name == "renyi" else float(value) for name, value in given.items()}
        assert type(claim).from_options(**numbers) == claim


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_a_quick_upper_curve_is_never_below_the_bound_and_near_it(claim):
    rates = np.linspace(0.02, 0.1, 50)
    exact, quick = claim.largest(rates), claim.upper_curve(0.02, 0.1)(rates)
    assert np.all(quick >= exact * (1 - 1e-9))
    assert np.all(quick <= exact * 1.01)
