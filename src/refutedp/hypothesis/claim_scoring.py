"""How search ranks events against a claim: lower bounds on how clearly each would break it.

A pure claim is about a ratio: events are ranked by a lower bound on log(P1/P2), as always. Against any other claim
they are ranked by signal to noise: with z the signed root of the likelihood ratio against the claim's best tangent,
(z - z_level) / sqrt(runs) is a lower bound on the standard deviations an event lies beyond the claim for each run.
The number of runs that convict is about the inverse square of it, so the largest score needs the fewest runs: for a
small delta it finds the tail, for Gaussian noise the half-line with the best threshold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.hypothesis.claim_test import is_ratio
from refutedp.hypothesis.scoring import RatioScorer, normal_quantiles
from refutedp.hypothesis.tests.likelihood import deviance
from refutedp.hypothesis.tests.paired import nearer
from refutedp.model.claims import Claim, Tangent
from refutedp.model.records import Level

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

_HALVINGS = 40
_AT_ONCE = 200_000


@dataclass(frozen=True, slots=True)
class RatioClaimScorer:
    """Lower bounds on log(P1/P2) against a claimed epsilon; a score above `threshold` breaks it beyond doubt."""

    threshold: float
    paired: bool = False

    @property
    def of_ratio(self) -> bool:
        """Whether scores are bounds on log(P1/P2)."""
        return True

    def exact(self, x: Ints, y: Ints, level: Level) -> Floats:
        """Clopper-Pearson, as in the test itself."""
        return RatioScorer().exact(x, y, level)

    def rough(self, x: Ints, y: Ints, level: Level) -> Floats:
        """Wilson's approximation."""
        return RatioScorer().rough(x, y, level)

    def upper_bound(self, x: Ints, y: Ints, level: Level) -> Floats:
        """Clopper-Pearson from above."""
        return RatioScorer().upper_bound(x, y, level)

    def optimistic_score(self, x: Ints, y: Ints, level: Level) -> Floats:
        """With paired runs, as if all hits of the side with fewer were in pairs that hit on both."""
        rough = self.rough(x, y, level)
        return nearer(x, y, np.minimum(x, y), rough) if self.paired else rough

    def with_runs(self, runs: int) -> RatioClaimScorer:
        """The same: a ratio of hits from equally many runs needs no more."""
        return self

    def with_pairs(self) -> RatioClaimScorer:
        """The same for events that can be confirmed on paired runs."""
        return replace(self, paired=True)

    def words(self, score: float) -> str:
        """What a score says, for people."""
        return f"ε ≥ {score:.3g}"


@dataclass(frozen=True, slots=True)
class LineScorer:
    """Lower bounds on the standard deviations a run by which events lie beyond the nearest of some tangents.

    >>> scorer = LineScorer((Tangent(math.e, 0.01),), runs=10_000)
    >>> bool(scorer.exact(np.array([900]), np.array([100]), 0.001)[0] > scorer.threshold)
    True
    """

    lines: tuple[Tangent, ...]
    runs: int
    threshold: float = 0.0

    @property
    def of_ratio(self) -> bool:
        """Whether scores are bounds on log(P1/P2)."""
        return False

    def exact(self, x: Ints, y: Ints, level: Level) -> Floats:
        """The likelihood ratio against the tangent that the events violate most clearly."""
        best, _ = self._nearest(x, y)
        slope, intercept = self._table()
        z = signed_root(x, y, self.runs, slope[best], intercept[best])
        return self._scaled(z, x, level)

    def rough(self, x: Ints, y: Ints, level: Level) -> Floats:
        """The normal approximation, with the variance that the tangent allows."""
        parts = [
            self._nearest(x[i : i + _AT_ONCE], y[i : i + _AT_ONCE])[1] for i in range(0, max(len(x), 1), _AT_ONCE)
        ]
        return self._scaled(np.concatenate(parts), x, level)

    def upper_bound(self, x: Ints, y: Ints, level: Level) -> Floats:
        """None: these claims are confirmed in more ways than one, in which events rank differently."""
        return np.full(len(x), np.inf)

    def optimistic_score(self, x: Ints, y: Ints, level: Level) -> Floats:
        """As rough."""
        return self.rough(x, y, level)

    def with_pairs(self) -> LineScorer:
        """The same: only a ratio is confirmed on paired runs."""
        return self

    def with_runs(self, runs: int) -> LineScorer:
        """The same for another number of runs a side."""
        return replace(self, runs=runs)

    def words(self, score: float) -> str:
        """What a score says, for people."""
        if score <= 0:
            return "within the claim, as far as can be seen"
        return f"beyond the claim; about {math.ceil(60 / score**2):,} runs would convict"

    def _scaled(self, z: Floats, x: Ints, level: Level) -> Floats:
        return np.where(x > 0, (z + normal_quantiles(level)) / math.sqrt(self.runs), -np.inf)

    def _table(self) -> tuple[Floats, Floats]:
        return np.array([line.slope for line in self.lines]), np.array([line.intercept for line in self.lines])

    def _nearest(self, x: Ints, y: Ints) -> tuple[NDArray[np.int64], Floats]:
        """The clearest tangent for each event, and by how many standard deviations."""
        best = np.zeros(len(x), dtype=np.int64)
        top = np.full(len(x), -np.inf)
        n = self.runs
        for number, line in enumerate(self.lines):
            excess = x / n - line.slope * y / n - line.intercept
            # On the line both rates are estimated together; half a hit keeps the spread positive.
            p2 = (y + 0.5) / n
            p1 = np.minimum(np.maximum(line.slope * p2 + line.intercept, (x + 0.5) / n), 1.0)
            spread = np.sqrt((p1 * (1 - p1) + line.slope**2 * p2 * np.maximum(1 - p2, 0.0)) / n + 1e-300)
            z = excess / spread
            better = z > top
            best, top = np.where(better, number, best), np.where(better, z, top)
        return best, top


def scorer_for(claim: Claim, runs: int) -> RatioClaimScorer | LineScorer:
    """The scorer for a claim and `runs` runs a side.

    >>> from refutedp.model.claims import PureDP
    >>> scorer_for(PureDP(0.5), 1000).threshold
    0.5
    """
    if is_ratio(claim):
        return RatioClaimScorer(claim.epsilon)  # type: ignore[attr-defined]
    return LineScorer(claim.tangents(), runs)


def share_for(tangent: Tangent, p1: float, p2: float) -> float:
    """The part of the confirmation runs that the x side should get, from `search_rates` of search runs.

    The variance p1 (1 - p1) / share + slope^2 p2 (1 - p2) / (1 - share) is least at odds of the standard deviations.

    >>> round(share_for(Tangent(math.e, 1e-5), 0.05, 0.01), 2)
    0.45
    """
    first = math.sqrt(max(p1 * (1 - p1), 1e-12))
    second = tangent.slope * math.sqrt(max(p2 * (1 - p2), 1e-12))
    return min(max(first / (first + second), 0.05), 0.95)


def signed_root(x: Ints, y: Ints, runs: int, slope: Floats, intercept: Floats) -> Floats:
    """The signed root of the likelihood ratio against lines, one an event: about standard normal on the line."""
    xf, yf = x.astype(np.float64), y.astype(np.float64)
    top = np.minimum((1 - intercept) / slope, 1.0)
    line_p2 = np.clip((xf / runs - intercept) / slope, 0.0, top)
    low, high = np.minimum(np.minimum(yf / runs, top), line_p2), np.minimum(np.maximum(yf / runs, line_p2), top)
    for _ in range(_HALVINGS):
        u = (low + high) / 2
        p1 = slope * u + intercept
        with np.errstate(divide="ignore", invalid="ignore"):
            pull = slope * (xf - runs * p1) / (p1 * (1 - p1)) + (yf - runs * u) / (u * (1 - u))
        low, high = np.where(pull > 0, u, low), np.where(pull > 0, high, u)
    u = (low + high) / 2
    ratio = 2 * (deviance(xf, runs, np.minimum(slope * u + intercept, 1.0)) + deviance(yf, runs, u))
    beyond = xf / runs > slope * yf / runs + intercept
    return np.asarray(np.where(beyond, 1.0, -1.0) * np.sqrt(np.minimum(ratio, 1e12)))
