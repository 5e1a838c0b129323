"""Gaussian noise whose tails are known by arithmetic: found at every ε, and never where the noise suffices."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy import special

from refutedp import (
    ONE_DIFFERS,
    ZCDP,
    AllDiffer,
    ApproxDP,
    GaussianDP,
    RenyiDP,
    Verdict,
    check,
    load,
    recheck,
    replay,
)
from refutedp.api.saved.to_json import event_to_builtins
from refutedp.detector.plan_tail import best_tail, plan_within
from refutedp.detector.tails import tail_plan
from refutedp.events.features.basic import Value
from refutedp.events.predicates import Interval
from refutedp.mechanisms.added_noise import analytic_sigma
from refutedp.model.mechanism import describe
from refutedp.model.records import Pair
from refutedp.model.settings import Settings, child
from refutedp.sampling.lifted import LiftedSampler
from refutedp.sampling.sampler import CannotSample
from refutedp.tracing.affine_runs import AffineTracer

BUDGET = {"search_runs": 2000, "confirm_runs": 100_000, "progress": False}


def towards(dimensions=20):
    direction = np.random.default_rng(3).normal(size=dimensions)
    return direction / np.linalg.norm(direction)


def one_number(sigma):
    return lambda queries, rng: queries[0] + rng.normal(0, sigma)


def python_noise(sigma):
    return lambda queries: [query + random.gauss(0.0, sigma) for query in queries]


def along_a_direction(sigma):
    direction = towards()
    return lambda queries, rng: queries[0] * direction + rng.normal(0.0, sigma, len(direction))


def of_a_claim(claim):
    """The least sigma that satisfies it."""
    if isinstance(claim, ApproxDP):
        return analytic_sigma(claim.epsilon, claim.delta)
    if isinstance(claim, GaussianDP):
        return 1 / claim.mu
    return math.sqrt(1 / (2 * claim.rho)) if isinstance(claim, ZCDP) else math.sqrt(claim.alpha / (2 * claim.epsilon))


def real(claim, sigma):
    if isinstance(claim, ApproxDP):
        return GaussianDP(1 / sigma).epsilon_at(claim.delta)
    if isinstance(claim, GaussianDP):
        return 1 / sigma
    return (claim.alpha if isinstance(claim, RenyiDP) else 1) / (2 * sigma**2)


CLAIMS = [ApproxDP(0.5, 1e-3), ApproxDP(10, 1e-5), ApproxDP(4, 1e-9), GaussianDP(1.0), ZCDP(0.5), RenyiDP(16, 8.0)]


@pytest.mark.parametrize(
    ("make", "claim"),
    [*((one_number, claim) for claim in CLAIMS), (along_a_direction, CLAIMS[2])],
    ids=lambda one: getattr(one, "__name__", str(one)),
)
def test_noise_that_is_hardly_too_small_is_found_and_nearly_all_certified(make, claim):
    sigma = 0.95 * of_a_claim(claim)
    result = check(make(sigma), claim=claim, adjacency=ONE_DIFFERS, **BUDGET)
    assert result.verdict is Verdict.VIOLATION
    assert max(0.9 * real(claim, sigma), getattr(claim, claim.parameter)) < result.evidence.bound < real(claim, sigma)


@pytest.mark.parametrize("seed", range(2))
def test_noise_that_suffices_is_not(seed):
    claim = ApproxDP(10, 1e-5)
    result = check(one_number(of_a_claim(claim)), claim=claim, adjacency=ONE_DIFFERS, seed=seed, **BUDGET)
    assert result.verdict is not Verdict.VIOLATION
    assert result.evidence.candidate.confirmation.name != "tail"


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
@pytest.mark.parametrize("make", [one_number, along_a_direction])
def test_noise_that_suffices_has_no_tail_that_breaks_the_claim(claim, make):
    for part, breaks in ((1.0, False), (1.01, False), (0.98, True)):
        tracer = AffineTracer(describe(make(part * of_a_claim(claim))))
        half = best_tail((tracer.output([1.0], {}), tracer.output([0.0], {})), claim)
        assert (half is not None) is breaks


def test_runs_on_the_border_say_nothing():
    claim, pair = ApproxDP(1.0, 1e-5), Pair([1.0], [0.0], "border")
    sigma = of_a_claim(claim)
    event = Interval(Value(), sigma**2 + 0.5, None)
    sampler = LiftedSampler(describe(one_number(sigma)), pair)
    plan = tail_plan(sampler, event, claim, Settings())
    assert plan.allowed == pytest.approx(plan.at_least, rel=1e-9)
    process = plan.start()
    for number in range(20):
        process = process.update(plan.task(sampler, event, 2000, child(0, number))())
        assert process.hits.x == process.hits.n_x and process.log_peak < 1e-3


def test_a_plan_for_less_noise_than_there_is_ends_where_it_is_seen():
    claim, pair = ApproxDP(1.0, 1e-5), Pair([1.0], [0.0], "border")
    event = Interval(Value(), 3.0, None)
    plan = tail_plan(LiftedSampler(describe(one_number(0.5)), pair), event, claim, Settings())
    with pytest.raises(CannotSample):
        plan.task(LiftedSampler(describe(one_number(5.0)), pair), event, 4000, child(0, 1))()


def test_the_rates_are_those_of_the_normal_distribution():
    result = check(one_number(1.0), claim=ApproxDP(1.0, 1e-9), adjacency=ONE_DIFFERS, **BUDGET)
    evidence = result.evidence
    for data, rate in zip((evidence.pair.d1, evidence.pair.d2), evidence.estimates.rates, strict=True):
        edge = evidence.event.low if evidence.event.low is not None else -evidence.event.high
        centre = data[0] if evidence.event.low is not None else -data[0]
        assert rate == pytest.approx(special.ndtr(centre - edge), rel=1e-6)


def test_data_that_decide_how_much_noise_there_is_tell_by_that():
    def uneven(queries, rng):
        return rng.normal(0.0, 1.0 + 0.2 * abs(queries[0]))

    result = check(uneven, claim=ApproxDP(2.0, 1e-5), adjacency=ONE_DIFFERS, **BUDGET)
    assert result.verdict is Verdict.VIOLATION and result.evidence.candidate.confirmation.name == "tail"


def test_several_numbers_with_noise_of_their_own_tell_together():
    claim = ApproxDP(1.0, 1e-5)
    sigma = 0.95 * of_a_claim(claim)

    def noisy(queries):
        return np.array(queries) + np.random.normal(0, sigma, len(queries))

    adjacency = AllDiffer(1 / math.sqrt(20))
    result = check(noisy, claim=claim, adjacency=adjacency, lengths=(20,), **BUDGET)
    assert result.verdict is Verdict.VIOLATION
    assert len(result.evidence.event.of.terms) == 20


@pytest.mark.parametrize("seed", range(8))
def test_mixed_noise_is_told_as_linear_algebra_tells_it(seed):
    """Any matrix of noise, any change of the data: the distance of the outputs is that of Mahalanobis."""
    rng = np.random.default_rng(seed)
    numbers, draws = (int(n) for n in rng.integers(1, 6, 2))
    mixed, change = rng.normal(size=(numbers, draws)), rng.normal(size=draws)

    def noisy(queries, rng):
        return mixed @ (queries[0] * change + rng.normal(size=draws))

    covariance = mixed @ mixed.T
    gap = mixed @ change
    mu = math.sqrt(gap @ np.linalg.pinv(covariance) @ gap)
    tracer = AffineTracer(describe(noisy))
    forms = tracer.output([1.0], {}), tracer.output([0.0], {})
    assert best_tail(forms, GaussianDP(mu)) is None
    half = best_tail(forms, GaussianDP(0.97 * mu))
    assert half is not None and 0.97 * mu < half.shown < mu
    sampler = LiftedSampler(describe(noisy), Pair([1.0], [0.0], "given"))
    sampler = sampler.swapped() if half.swapped else sampler
    plan = tail_plan(sampler, half.event, GaussianDP(0.97 * mu), Settings())
    hits = plan.task(sampler, half.event, 4000, child(seed, 1))()
    assert hits.x == hits.n_x


@pytest.mark.parametrize("low", [0.0, 3.0])
def test_the_event_lies_where_outputs_are_not_clipped(low):
    def kept(queries, rng):
        return max(queries[0] + rng.normal(0.0, 0.5), low)

    result = check(kept, claim=ApproxDP(3.0, 1e-5), adjacency=ONE_DIFFERS, **BUDGET)
    assert result.verdict is Verdict.VIOLATION and result.evidence.candidate.confirmation.name == "tail"
    event = result.evidence.event
    assert (event.low if event.high is None else event.high) > low
    assert result.evidence.bound < real(result.claim, 0.5)


@pytest.fixture(scope="module")
def found():
    return check(python_noise(0.3), claim=ApproxDP(10, 1e-9), adjacency=ONE_DIFFERS, **BUDGET)


def test_it_is_saved_replayed_and_written_out(found, tmp_path):
    assert found.verdict is Verdict.VIOLATION
    found.save(tmp_path / "r.json")
    loaded = load(tmp_path / "r.json")
    assert loaded.evidence == found.evidence and str(loaded) == str(found)
    again = replay(loaded, python_noise(0.3))
    assert again.verdict is Verdict.VIOLATION and again.evidence.candidate.confirmation.name == "tail"
    assert replay(loaded, python_noise(1.0)).verdict is not Verdict.VIOLATION
    pair = found.evidence.pair
    event = event_to_builtins(found.evidence.event)
    stated = recheck(
        python_noise(0.3), claim=found.claim, d1=pair.d1, d2=pair.d2, event=event, confirmation="tail", seed=9
    )
    assert stated.verdict is Verdict.VIOLATION and stated.evidence.estimates is not None


def test_the_report_says_where_noise_was_drawn(found):
    text = str(found)
    assert "their noise drawn from the tail in which the event lies" in text
    assert "a bet on runs within a tail whose probability is known up to rounding" in text
    assert "plain calls" in text


def half_the_noise(queries, rng):
    return queries[0] + rng.normal(0.0, 0.5)


def test_the_number_of_processes_changes_nothing():
    one, two = (
        check(half_the_noise, claim=GaussianDP(1.0), adjacency=ONE_DIFFERS, jobs=jobs, **BUDGET).evidence
        for jobs in (1, 2)
    )
    assert one.candidate.confirmation.name == "tail" and one == two


def test_settings_may_forbid_it():
    for options in ({"importance": "never"}, {"stop": "fixed"}):
        result = check(one_number(0.3), claim=ApproxDP(10, 1e-9), adjacency=ONE_DIFFERS, **BUDGET, **options)
        # Arithmetic alone may refute the claim, without runs.
        assert result.evidence is None or result.evidence.candidate.confirmation.name == "allocation"


# What must not pass for Gaussian.


def clipped(queries, rng):
    return queries[0] + max(rng.normal(0.0, 1.0), -50.0)


def swallowed(queries, rng):
    noise = rng.normal()
    try:
        noise = noise if noise < 9.0 else 0.0
    except BaseException:
        return queries[0] + noise
    return queries[0] + noise


def by_type(queries, rng):
    noise = rng.normal()
    return queries[0] + (noise if type(noise) is float else 0.0)


def rounded_coarsely(queries, rng):
    return np.float32(queries[0]) + rng.normal()


def with_uniform(queries, rng):
    return queries[0] + rng.normal() + rng.random()


def squared(queries, rng):
    noise = rng.normal()
    return queries[0] + noise * noise


def asked(queries, rng):
    noise = rng.normal()
    return queries[0] + (noise if math.isfinite(noise) else 0.0)


def rounded_to_whole(queries, rng):
    return round(queries[0] + rng.normal())


def by_attribute(queries, rng):
    noise = rng.normal()
    return queries[0] + (noise if hasattr(noise, "shape") else 0.0)


def formatted(queries, rng):
    return float(f"{queries[0] + rng.normal():.3f}")


def cancelled(queries, rng):
    return queries[0] + (rng.normal() + 1e17) - 1e17


@pytest.mark.parametrize(
    "mechanism",
    [
        clipped,
        swallowed,
        by_type,
        rounded_coarsely,
        with_uniform,
        squared,
        asked,
        formatted,
        rounded_to_whole,
        by_attribute,
    ],
    ids=lambda one: one.__name__,
)
def test_other_things_than_sums_are_not_followed(mechanism):
    assert AffineTracer(describe(mechanism)).output([1.0, 0.0], {}) is None


def test_what_floats_round_off_is_kept_account_of():
    output = AffineTracer(describe(cancelled)).output([1.0], {})
    assert output is not None and output.error[0] > 16
    # So there is no half-line of it that shows anything.
    other = AffineTracer(describe(cancelled)).output([0.0], {})
    plan = plan_within((output, other), Interval(Value(), 3.0, None), ApproxDP(0.1, 1e-9))
    assert plan is None or plan.at_least <= plan.allowed


def test_a_wrong_analysis_is_found_out_by_lifted_runs():
    """What is written to in place is not followed: the analysis is wrong, and lifted runs say so."""

    def written(queries, rng):
        noisy = queries[0] + rng.normal(0.0, 1.0, 2)
        same = noisy
        noisy += 3.0
        return same

    assert AffineTracer(describe(written)).output([1.0], {}).at.tolist() == [1.0, 1.0]
    sampler = LiftedSampler(describe(written), Pair([1.0], [0.0], "given"))
    assert tail_plan(sampler, Interval(Value((0,)), 3.0, None), ApproxDP(0.1, 1e-9), Settings()) is None


STYLES = {
    "a float": lambda queries, rng: float(queries[0] + rng.normal()),
    "NumPy's sum": lambda queries, rng: np.sum([query + rng.normal(0, 2.0) for query in queries]),
    "mean": lambda queries, rng: (np.array(queries) + rng.standard_normal(len(queries)) * 3).mean(),
    "matrix": lambda queries, rng: np.array([[1.0, 2.0], [0.0, 1.0]]) @ (np.array(queries) + rng.normal(0, 1, 2)),
    "scales": lambda queries, rng: rng.normal(queries, [1.0, 2.0]).tolist(),
    "dict": lambda queries, rng: {"sum": sum(queries) - rng.normal() / 2, "name": "a"},
    "legacy": lambda queries: np.random.normal(queries[0], 2) + np.random.standard_normal(),
    "ufunc": lambda queries, rng: np.add(queries, rng.normal(size=2)),
    "not negative": lambda queries, rng: round(max(sum(queries) + rng.normal(), 0.0), 5),
    "clipped array": lambda queries, rng: np.clip(np.array(queries) + rng.normal(size=2), -1.0, 9.0),
    "bounded": lambda queries, rng: min(max(0, float(queries[0] + rng.normal())), 10),
    "filled": lambda queries, rng: filled(queries, rng),
    "rounded": lambda queries, rng: [round(queries[0] + rng.normal(), 4), np.round(rng.normal(queries[1]), 3)],
}


def filled(queries, rng):
    out = np.zeros(len(queries))
    for place, query in enumerate(queries):
        out[place] = query + rng.normal(0.0, 2.0)
    out += 1.0
    return out


@pytest.mark.parametrize("style", STYLES)
def test_the_analysis_gives_the_numbers_of_lifted_runs(style):
    mechanism = describe(STYLES[style])
    outputs = [AffineTracer(mechanism).output(data, {}) for data in ([1.0, 4.0], [0.0, 3.0])]
    assert None not in outputs
    half = best_tail(tuple(outputs), ApproxDP(0.01, 1e-9))
    assert half is not None
    sampler = LiftedSampler(mechanism, Pair([1.0, 4.0], [0.0, 3.0], "given"))
    sampler = sampler.swapped() if half.swapped else sampler
    assert tail_plan(sampler, half.event, ApproxDP(0.01, 1e-9), Settings()) is not None
