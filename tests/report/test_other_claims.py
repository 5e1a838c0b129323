"""Reports, plots, JSON and text for claims that are not about a ratio."""

import numpy as np
import pytest

from refutedp import ONE_DIFFERS, ZCDP, ApproxDP, GaussianDP, RenyiDP, Verdict, check, load, recheck, replay

SMALL = {"search_runs": 3000, "confirm_runs": 20_000, "adjacency": ONE_DIFFERS, "lengths": (1,)}


def too_little_noise(queries, rng):
    return queries[0] + rng.normal(scale=0.5)


CLAIMS = [ApproxDP(1.0, 1e-3), ZCDP(0.2), RenyiDP(2.0, 0.5), GaussianDP(1.0)]


@pytest.fixture(scope="module", params=CLAIMS, ids=[type(claim).__name__ for claim in CLAIMS])
def result(request):
    # Its tails are known by arithmetic, and shown otherwise.
    return check(too_little_noise, request.param, importance="never", **SMALL)


def test_the_violation_is_found_and_told(result):
    assert result.verdict is Verdict.VIOLATION
    assert result.evidence.bound > 0
    assert f"claimed: {result.claim}; real {result.evidence.bound_letter} ≥" in str(result)


def test_it_survives_saving(result, tmp_path):
    path = tmp_path / "r.json"
    result.save(path)
    loaded = load(path)
    assert loaded.evidence == result.evidence
    assert str(loaded) == str(result)
    assert replay(path, too_little_noise).verdict is Verdict.VIOLATION


def test_reports_and_plots_show_the_certified_region(result, tmp_path):
    result.to_html(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "certified δ" in page
    figure = result.plot(tmp_path / "r.svg")
    assert figure.axes[1].get_ylabel() == "δ(ε)"
    certified, claimed = (line.get_ydata() for line in figure.axes[1].get_lines())
    assert np.any(np.asarray(certified) > np.asarray(claimed))


def test_the_claims_numbers_reach_the_mechanism():
    seen = []

    def takes_all(queries, epsilon, delta, rng):
        seen.append((epsilon, delta))
        return queries[0] + rng.normal(scale=5.0)

    check(takes_all, ApproxDP(1.0, 1e-3), lift=False, **{**SMALL, "search_runs": 100, "confirm_runs": 100})
    # A few calls at the end look at other values of ε.
    assert seen[0] == (1.0, 1e-3) and {delta for _, delta in seen} == {1e-3}


def seldom_tells(queries, rng):
    return queries[0] * (rng.random() < 0.05)


@pytest.mark.parametrize("tangent", [None, (2.718281828, 0.1)])
def test_paired_runs_are_no_test_of_a_claim_with_a_delta(tangent):
    """The pairs refute a ratio of e, which is not what was claimed."""
    event = {"event": "interval", "of": {"feature": "value", "path": []}, "low": 1.0, "high": None}
    known = {"d1": [1.0], "d2": [0.0], "event": event, "tangent": tangent}
    found = recheck(seldom_tells, claim=ApproxDP(1.0, 0.1), confirmation="paired", confirm_runs=5000, **known)
    assert found.evidence.counts.x > 100
    assert found.verdict is Verdict.NOT_FOUND
