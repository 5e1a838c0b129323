"""Counts against a claim: a valid p-value for every notion of privacy, for an event and direction fixed beforehand.

Pure claims have an exact test without a nuisance parameter (`allocation`). Every other claim is the statement
P1 <= largest(P2), tested by `tests.line` in an order that one tangent gives; the tangent is chosen on search runs and
carried along. It directs the power and cannot harm validity: the claim's whole bound is the null hypothesis.
"""

from __future__ import annotations

import math

import numpy as np

from refutedp.hypothesis.tests import line as line_test
from refutedp.hypothesis.tests import ratio, two_bounds
from refutedp.hypothesis.tests.curve import upper_curve
from refutedp.model.claims import ApproxDP, Claim, PureDP, Tangent
from refutedp.model.records import Counts

GAMMAS = (1e-5, 1e-10)
"""Probability with which the interval for P2 may fail: for ordinary levels, and for very strict ones."""
WEIGHTS = (0.9, 0.05)
"""Parts of alpha for the two; the rest is for the Clopper-Pearson pair, which alone reaches any depth."""
_REST = 1 - sum(WEIGHTS)


def choose_tangent(claim: Claim, p1: float, p2: float, share: float = 0.5) -> Tangent:
    """The tangent of the claim that rates near (p1, p2) violate most clearly, in standard deviations.

    Call it with `search_rates` of search runs: the choice must not depend on the runs that are tested.

    >>> choose_tangent(ApproxDP(1.0, 0.01), 0.5, 0.1).intercept
    0.01
    """
    p1, p2 = min(max(p1, 1e-12), 1 - 1e-12), min(max(p2, 1e-12), 1 - 1e-12)
    if isinstance(claim, (PureDP, ApproxDP)):
        lines = claim.tangents()
    else:
        middle = math.log(p2) - math.log1p(-p2)
        slopes, intercepts = claim.tangents_at(1 / (1 + np.exp(-(middle + np.linspace(-2.5, 2.5, 11)))))
        lines = tuple(Tangent(float(s), float(t)) for s, t in zip(slopes, intercepts, strict=True))

    def clearness(line: Tangent) -> float:
        spread = p1 * (1 - p1) / share + line.slope**2 * p2 * (1 - p2) / (1 - share)
        return line.excess(p1, p2) / math.sqrt(spread)

    return max(lines, key=clearness)


def search_rates(search: Counts) -> tuple[float, float]:
    """Rates of search runs with half a hit added, so that an event unseen on one side is merely rare there."""
    return (search.x + 0.5) / (search.n_x + 1), (search.y + 0.5) / (search.n_y + 1)


def is_ratio(claim: Claim) -> bool:
    """Whether the claim is about the ratio P1/P2 alone, so that the allocation test needs no nuisance parameter."""
    return isinstance(claim, PureDP) or (isinstance(claim, ApproxDP) and claim.delta == 0)


def log_p_value(counts: Counts, claim: Claim, tangent: Tangent | None = None) -> float:
    """log of a valid p-value for "the claim holds", at every sample size.

    `tangent` comes from `choose_tangent`; without it, one is chosen that looks at no counts.

    >>> log_p_value(Counts(600, 50, 1000, 1000), ApproxDP(1.0, 0.2)) < math.log(1e-8)
    True
    >>> log_p_value(Counts(60, 50, 1000, 1000), ApproxDP(1.0, 0.2))
    0.0
    """
    if is_ratio(claim):
        return ratio.log_p_value(counts, claim.epsilon)  # type: ignore[attr-defined]
    line = tangent if tangent is not None else claim.tangent_at(0.01)
    if line.excess(counts.x / max(counts.n_x, 1), counts.y / max(counts.n_y, 1)) <= 0:
        return 0.0
    best = 0.0
    for gamma, weight in zip(GAMMAS, WEIGHTS, strict=True):
        region = line_test.region(counts, line, gamma)
        if region is None:
            return 0.0
        log_p = region.log_p_value(upper_curve(claim, region.low[0], region.high[-1]))
        best = min(best, log_p - math.log(weight))
        if log_p > math.log(10 * gamma):
            return best
    deep = two_bounds.log_p_value(counts, claim.largest)
    return min(best, deep - math.log(_REST))
