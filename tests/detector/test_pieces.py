"""Rényi claims of low order: no event of Gaussian noise shows enough, the pieces of a partition do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from refutedp import ONE_DIFFERS, ZCDP, RenyiDP, UsageError, Verdict, check, load, recheck, replay
from refutedp.api.saved.to_json import event_from_builtins, event_to_builtins
from refutedp.detector.cross_examine import Contradicted
from refutedp.detector.pieces import best_pieces, proof_by_pieces
from refutedp.events.features.basic import Value
from refutedp.events.predicates import Pieces
from refutedp.model.mechanism import describe
from refutedp.model.records import Pair, count_hits
from refutedp.model.settings import Settings
from refutedp.sampling.encode import encode
from refutedp.sampling.lifted import LiftedSampler
from refutedp.tracing.affine_runs import AffineTracer

BUDGET = {"search_runs": 2000, "confirm_runs": 100_000, "adjacency": ONE_DIFFERS, "progress": False}


def one_number(sigma):
    return lambda queries, rng: queries[0] + rng.normal(0, sigma)


def along_a_direction(sigma):
    direction = np.random.default_rng(3).normal(size=20)
    direction /= np.linalg.norm(direction)
    return lambda queries, rng: queries[0] * direction + rng.normal(0.0, sigma, 20)


def hardly_too_little(queries, rng):
    return queries[0] + rng.normal(0.0, 0.95)


def least(order, epsilon):
    return math.sqrt(order / (2 * epsilon))


@pytest.mark.parametrize("make", [one_number, along_a_direction])
@pytest.mark.parametrize(("order", "epsilon"), [(1.5, 0.5), (2.0, 1.0), (2.0, 10.0), (8.0, 0.5)])
def test_noise_that_is_hardly_too_small_is_refuted_and_nearly_all_certified(make, order, epsilon):
    claim, sigma = RenyiDP(order, epsilon), 0.95 * least(order, epsilon)
    result = check(make(sigma), claim=claim, **BUDGET)
    assert result.verdict is Verdict.VIOLATION and result.evidence is None
    assert max(epsilon, 0.96 * order / (2 * sigma**2)) < result.exact.bound(claim) <= order / (2 * sigma**2)


@pytest.mark.parametrize("make", [one_number, along_a_direction])
@pytest.mark.parametrize("order", [1.01, 2.0, 30.0])
def test_noise_that_suffices_shows_no_more_than_is_claimed(make, order):
    for epsilon in (1e-3, 1.0, 8.0):
        mechanism = describe(make(least(order, epsilon)))
        sampler = LiftedSampler(mechanism, Pair([1.0], [0.0], "given"))
        assert best_pieces([sampler], RenyiDP(order, epsilon)).shown < epsilon


@pytest.mark.parametrize("seed", range(8))
def test_mixed_noise_shows_nearly_what_linear_algebra_says(seed):
    """Any matrix of noise, any change of the data: order / 2 times the square of Mahalanobis' distance."""
    rng = np.random.default_rng(seed)
    numbers, draws = (int(n) for n in rng.integers(1, 6, 2))
    mixed, change, order = rng.normal(size=(numbers, draws)), rng.normal(size=draws), float(rng.uniform(1.1, 4))

    def noisy(queries, rng):
        return mixed @ (queries[0] * change + rng.normal(size=draws))

    gap = mixed @ change
    real = order / 2 * (gap @ np.linalg.pinv(mixed @ mixed.T) @ gap)
    claim = RenyiDP(order, 0.9 * real)
    best = best_pieces([LiftedSampler(describe(noisy), Pair([1.0], [0.0], "given"))], claim)
    assert 0.93 * real < best.shown < real
    exact, calls = proof_by_pieces(best.sampler, best.event, claim, Settings())
    assert exact.bound(claim) == pytest.approx(best.shown, rel=1e-6) and calls > 2000
    assert proof_by_pieces(best.sampler, best.event, RenyiDP(order, real), Settings()) == (None, 0)


def test_noise_that_suffices_is_not_refuted():
    result = check(one_number(least(2, 1)), claim=RenyiDP(2, 1.0), **BUDGET)
    assert result.verdict is not Verdict.VIOLATION and result.exact is None


def test_an_event_shows_too_little_where_the_pieces_do_not():
    """By Neyman and Pearson the best event is a half-line; of a small divergence it shows 2/pi."""
    order, epsilon = 2.0, 0.01
    ends = np.linspace(-6, 6, 4001)
    claim, mu = RenyiDP(order, epsilon), 1 / least(order, epsilon)
    assert claim.least(special.ndtr(-ends + mu), special.ndtr(-ends)).max() < 0.645 * epsilon


@pytest.mark.parametrize(("order", "scales"), [(2.0, (1.2, 1.0)), (2.5, (1.0, 1.1)), (1.5, (1.0, 1.0))])
def test_pieces_never_show_more_than_the_integral(order, scales):
    def mechanism(queries, rng):
        return rng.normal(queries[0], scales[0] if queries[0] else scales[1])

    first, second = stats.norm(1.0, scales[0]), stats.norm(0.0, scales[1])

    def integrand(x, one, other):
        return math.exp(order * one.logpdf(x) + (1 - order) * other.logpdf(x))

    real = max(
        math.log(integrate.quad(integrand, -30, 30, args=sides, points=(0.0, 1.0), limit=200)[0]) / (order - 1)
        for sides in ((first, second), (second, first))
    )
    shown = best_pieces([LiftedSampler(describe(mechanism), Pair([1.0], [0.0], "given"))], RenyiDP(order, 0.1)).shown
    assert 0.8 * real < shown < real


def test_the_probabilities_are_those_of_the_normal_distribution():
    result = check(one_number(0.7), claim=RenyiDP(2.0, 1.0), **BUDGET)
    exact = result.exact
    for side, data in enumerate((exact.pair.d1, exact.pair.d2)):
        ends = np.array([-math.inf, *exact.event.ends, math.inf])
        expected = np.diff(stats.norm(data[0], 0.7).cdf(ends))
        assert [bounds[side] for bounds in exact.pieces] == pytest.approx(expected, rel=1e-6)
        assert all(
            bounds[side] <= one if side == 0 else bounds[side] >= one
            for bounds, one in zip(exact.pieces, expected, strict=True)
        )


def test_pieces_are_a_partition():
    pieces = Pieces(Value(), (-1.0, 0.0, 2.0))
    outputs = encode([-1.5, -1.0, -0.5, 0.0, 1.0, 2.0, 7.0, math.nan])
    assert [count_hits(piece, outputs) for piece in pieces.intervals] == [1, 2, 2, 2]
    assert count_hits(pieces, outputs) == 7
    assert event_from_builtins(event_to_builtins(pieces)) == pieces
    for ends in ((), (1.0, 1.0), (2.0, 1.0), (math.nan,), (0.0, math.inf)):
        with pytest.raises(ValueError, match="must be finite and increase"):
            Pieces(Value(), ends)
    with pytest.raises(UsageError, match="not an event"):
        event_from_builtins({**event_to_builtins(pieces), "ends": [2.0, 1.0]})


def test_what_plain_calls_contradict_convicts_nobody(monkeypatch):
    real = AffineTracer.output

    def wrong(self, data, arguments):
        found = real(self, data, arguments)
        return None if found is None else type(found)(found.paths, 3 * found.at, *_rest(found))

    def _rest(found):
        return found.per, found.error + 100, found.low, found.high, found.draws

    sampler = LiftedSampler(describe(one_number(1.0)), Pair([1.0], [0.0], "given"))
    event, claim = Pieces(Value(), (-1.0, 0.0, 1.0, 2.0)), RenyiDP(2.0, 0.7)
    exact, _ = proof_by_pieces(sampler, event, claim, Settings())
    assert exact is not None and exact.bound(claim) < 1.0
    monkeypatch.setattr("refutedp.detector.pieces._told", lambda *_: ((0.9, 0.1),) * 5)
    with pytest.raises(Contradicted, match="plain calls on d1"):
        proof_by_pieces(sampler, event, claim, Settings())
    monkeypatch.setattr(AffineTracer, "output", wrong)
    assert proof_by_pieces(sampler, event, claim, Settings())[0] is None


@pytest.fixture(scope="module")
def found():
    return check(hardly_too_little, claim=RenyiDP(2.0, 1.0), **BUDGET)


def test_it_is_saved_replayed_and_written_out(found, tmp_path):
    found.save(tmp_path / "r.json")
    loaded = load(tmp_path / "r.json")
    assert loaded.exact == found.exact and str(loaded) == str(found)
    assert replay(loaded, one_number(0.95)).exact.pieces == pytest.approx(np.array(found.exact.pieces))
    assert replay(loaded, one_number(1.0)).verdict is Verdict.NOT_FOUND
    assert replay(loaded, lambda queries, rng: 1.0).verdict is Verdict.NOT_FOUND
    pair, event = found.exact.pair, event_to_builtins(found.exact.event)
    stated = {"d1": pair.d1, "d2": pair.d2, "event": event, "confirmation": "exact"}
    assert recheck(one_number(0.95), claim=found.claim, **stated).verdict is Verdict.VIOLATION
    assert recheck(one_number(0.95), claim=ZCDP(0.5), **stated).verdict is Verdict.NOT_FOUND
    found.to_html(tmp_path / "r.html")
    assert "which of 8 intervals the output lies in" in (tmp_path / "r.html").read_text()


def test_the_report_has_a_row_for_each_piece_and_a_remedy(found):
    text = str(found)
    assert "real ε ≥ 1.07 by arithmetic" in text
    told = [line for line in text.splitlines() if "  the output " in line]
    assert f"    and {8 - len(told)} pieces more" in text.splitlines()
    assert "with twice the noise" in text and "no violation was found on this pair (by arithmetic)" in text


def test_settings_may_forbid_it():
    result = check(one_number(0.6), claim=RenyiDP(2.0, 1.0), paths=0, **BUDGET)
    assert result.exact is None and result.verdict is Verdict.VIOLATION
    sampler = LiftedSampler(describe(one_number(0.6)), Pair([1.0], [0.0], "given"))
    event, claim = Pieces(Value(), (-1.0, 0.0, 1.0, 2.0)), RenyiDP(2.0, 1.0)
    assert proof_by_pieces(sampler, event, claim, Settings())[0] is not None
    assert proof_by_pieces(sampler, event, claim, Settings(importance="never"))[0] is None


def test_outputs_may_be_clipped_at_the_end():
    def kept(queries, rng):
        return min(max(queries[0] + rng.normal(0.0, 0.5), -0.5), 1.5)

    pair, claim = Pair([1.0], [0.0], "given"), RenyiDP(2.0, 2.0)
    best = best_pieces([LiftedSampler(describe(kept), pair)], claim)
    assert best.event.ends[0] > -0.5 and best.event.ends[-1] < 1.5
    assert 3.0 < best.shown < 4.0 and proof_by_pieces(best.sampler, best.event, claim, Settings())[0] is not None
    # A cut beyond the end of the output is none that the analysis knows.
    beyond = Pieces(Value(), (*best.event.ends, 1.6))
    assert proof_by_pieces(best.sampler, beyond, claim, Settings())[0] is None
