"""Certified lower bounds in every currency of privacy, from the counts of one event.

A confidence region for (P1, P2) is found once (`tests.line.Frontier`): with the stated confidence P2 lies in one of
its cells and P1 above the cell's `p1`. In every notion the privacy that permits (p1, p2) grows with p1 and falls with
p2 (for p1 >= p2), so its least value over the corners of the cells is a lower bound on the mechanism's real
parameter. All these bounds hold at once. For a pure claim, epsilon at delta = 0 comes from the sharper bound of
`ratio`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.hypothesis.claim_test import GAMMAS, WEIGHTS, is_ratio
from refutedp.hypothesis.tests import line as line_test
from refutedp.hypothesis.tests import ratio, two_bounds
from refutedp.hypothesis.tests.line import Frontier
from refutedp.model.claims import Claim, RenyiDP, Tangent, smallest_renyi, smallest_rho
from refutedp.model.errors import UsageError
from refutedp.model.records import Counts

Floats: TypeAlias = NDArray[np.float64]

DELTA = 1e-5
"""The delta at which epsilon is certified for claims that name none."""
ORDER = 2.0
"""The Rényi order for claims that name none."""
_NEARLY_ONE = 1 - 1e-15


@dataclass(frozen=True, slots=True)
class Certified:
    """Lower bounds on the mechanism's real privacy, each right with probability `confidence`; zero says nothing.

    `epsilon` holds at `at_delta`, `delta` at `at_epsilon`, `renyi` at order `at_alpha`.
    """

    confidence: float
    epsilon: float
    at_delta: float
    delta: float
    at_epsilon: float
    rho: float
    mu: float
    renyi: float
    at_alpha: float


def certify(counts: Counts, confidence: float, claim: Claim, tangent: Tangent | None = None) -> Certified:
    """Bounds from one region; `tangent` is the one fixed before the runs, as in `verdict.log_p_value`.

    The bound in the claim's own currency exceeds the claim when the test rejects it at 1 - confidence, but for the
    accuracy with which the region is found (0.005 standard deviations).

    >>> from refutedp.model.claims import ApproxDP
    >>> found = certify(Counts(x=900, y=0, n_x=5000, n_y=5000), 0.999, ApproxDP(1.0, 1e-3))
    >>> round(found.epsilon, 1), round(found.delta, 2), round(found.mu, 1)
    (4.3, 0.16, 1.9)
    """
    front = confidence_region(counts, confidence, claim, tangent)
    sharper = max(0.0, ratio.epsilon_lower_bound(counts, confidence)) if is_ratio(claim) else None
    return certified_from(front, confidence, claim, sharper)


def certified_from(front: Frontier, confidence: float, claim: Claim, epsilon: float | None = None) -> Certified:
    """Every currency from a region that holds (P1, P2) with this confidence; `epsilon` when a sharper is known."""
    at_delta = float(getattr(claim, "delta", 0.0 if is_ratio(claim) else DELTA))
    at_epsilon = _epsilon_of(claim, at_delta)
    at_alpha = claim.alpha if isinstance(claim, RenyiDP) else ORDER
    return Certified(
        confidence=confidence,
        epsilon=float(epsilons_at(front, at_delta).min()) if epsilon is None else epsilon,
        at_delta=at_delta,
        delta=float(deltas_at(front, np.array([at_epsilon]))[0]),
        at_epsilon=at_epsilon,
        rho=float(smallest_rho(front.p1, front.high).min()),
        mu=float(_mus(front).min()),
        renyi=float(smallest_renyi(front.p1, front.high, at_alpha).min()),
        at_alpha=at_alpha,
    )


def confidence_region(counts: Counts, confidence: float, claim: Claim, tangent: Tangent | None = None) -> Frontier:
    """Where (P1, P2) lie with this confidence, as cells; one trivial cell when the counts say nothing.

    The split of the error is fixed: nine tenths for the interval of failure probability 1e-5, one twentieth for that
    of 1e-10 when the confidence is too high for it, the rest for a pair of Clopper-Pearson bounds at any confidence.
    """
    if not 0 < confidence < 1:
        raise UsageError(f"confidence={confidence!r} must lie strictly between 0 and 1")
    line = tangent if tangent is not None else claim.tangent_at(0.01)
    error = 1 - confidence
    if counts.both is not None:
        # The sides of paired runs are not independent: a bound for either, which needs no more than each alone.
        return two_bounds.frontier(counts, error)
    for gamma, weight in zip(GAMMAS, WEIGHTS, strict=True):
        if weight * error >= 2 * gamma:
            found = line_test.region(counts, line, gamma)
            return found.frontier(weight * error) if found is not None else _nothing()
    return two_bounds.frontier(counts, (1 - sum(WEIGHTS)) * error)


def epsilons_at(front: Frontier, delta: float) -> Floats:
    """For each cell the least epsilon >= 0 of an (epsilon, delta)-claim that permits its corner."""
    p1, p2 = _corners(front)
    own = np.log(np.maximum(p1 - delta, 1e-300)) - np.log(np.maximum(p2, 1e-300))
    complement = np.log(np.maximum(1 - p2 - delta, 1e-300)) - np.log1p(-p1)
    return np.asarray(np.maximum(np.maximum(own, complement), 0.0))


def deltas_at(front: Frontier, epsilons: Sequence[float] | Floats) -> Floats:
    """The certified curve: for each epsilon a lower bound on the mechanism's delta(epsilon), all at once."""
    p1, p2 = _corners(front)
    grow = np.exp(np.minimum(np.asarray(epsilons, dtype=np.float64), 700.0))[:, None]
    excess = np.maximum(p1 - grow * p2, (1 - p2) - grow * (1 - p1))
    return np.asarray(np.maximum(excess.min(axis=1), 0.0))


@lru_cache(maxsize=64)
def _epsilon_of(claim: Claim, delta: float) -> float:
    """The claim's epsilon at a delta; one when it has none there, for its delta at one is as good a question."""
    epsilon = float(claim.epsilon_at(delta))
    return epsilon if math.isfinite(epsilon) else 1.0


def _mus(front: Frontier) -> Floats:
    from scipy import special

    p1, p2 = _corners(front)
    mu = special.ndtri(np.maximum(p1, 1e-300)) - special.ndtri(np.clip(p2, 1e-300, _NEARLY_ONE))
    return np.asarray(np.maximum(mu, 0.0))


def _corners(front: Frontier) -> tuple[Floats, Floats]:
    # A rate of exactly one would make the complement's bound infinite; the region never excludes every other rate.
    return np.minimum(front.p1, _NEARLY_ONE), front.high


def _nothing() -> Frontier:
    return Frontier(np.array([0.0]), np.array([1.0]), np.array([0.0]))


def bound_of(certified: Certified, claim: Claim) -> tuple[str, float]:
    """The bound in the claim's own currency, with its letter.

    >>> from refutedp.model.claims import GaussianDP
    >>> claim = GaussianDP(1.0)
    >>> bound_of(certify(Counts(x=0, y=0, n_x=50, n_y=50), 0.95, claim), claim)
    ('μ', 0.0)
    """
    match type(claim).__name__:
        case "ZCDP":
            return "ρ", certified.rho
        case "GaussianDP":
            return "μ", certified.mu
        case "RenyiDP":
            return "ε", certified.renyi
        case _:
            return "ε", certified.epsilon if math.isfinite(certified.epsilon) else 0.0
