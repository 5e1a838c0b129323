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
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.hypothesis.tests.allocation import lower_bounds
from refutedp.hypothesis.tests.likelihood import deviance, likeliest
from refutedp.hypothesis.tests.paired import log_growth, nearer, rough_bound
from refutedp.model.claims import Tangent
from refutedp.model.records import Counts, Level

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

_HALVINGS = 40
_AT_ONCE = 200_000
_STAKES = 0.97 * np.geomspace(1e-3, 1.0, 60)


@dataclass(frozen=True, slots=True)
class RatioScorer:
    """Lower bounds on log(P1/P2) from equally many runs on both sides; one above `threshold` breaks the claim."""

    threshold: float = 0.0
    paired: bool = False
    scores_speed: ClassVar[bool] = False
    """Whether the event with the largest score is the one that convicts soonest."""

    def exact(self, x: Ints, y: Ints, level: Level) -> Floats:
        """Clopper-Pearson, as in the test itself."""
        return lower_bounds(x, y, level)

    def rough(self, x: Ints, y: Ints, level: Level) -> Floats:
        """Wilson's approximation, a hundred times cheaper."""
        # Wilson's bound on q = x / (x + y), as odds: what its two ends have in common cancels.
        half = normal_quantiles(level) ** 2 / 2
        hits, others = x.astype(np.float64), y.astype(np.float64)
        spread = np.sqrt(half * (2 * hits * others / np.maximum(hits + others, 1) + half))
        bounds = np.log(np.maximum(hits + half - spread, 1e-300) / (others + half + spread))
        bounds[x == 0] = -np.inf
        return bounds

    def optimistic_score(self, x: Ints, y: Ints, level: Level) -> Floats:
        """With paired runs, as if all hits of the side with fewer were in pairs that hit on both."""
        rough = self.rough(x, y, level)
        return nearer(x, y, np.minimum(x, y), rough) if self.paired else rough

    def on_fresh_runs(self, counts: Counts, level: float, paired: bool, speed: bool) -> float:
        """What confirmation could show of one event, on paired runs or not; its pace, where speed is wanted."""
        bound = rough_bound(counts, level) if paired else _one(self, counts, level)
        return self.threshold + self.pace(counts, bound) if speed and bound > self.threshold else bound

    def pace(self, counts: Counts, score: float) -> float:
        """How fast an event convicts if its ratio is the least that its score allows.

        Of events that might not convict at all, the one that comes nearest is the best.
        """
        if score <= self.threshold:
            return score - self.threshold
        return pace(counts, math.exp(min(max(score, 0.0), 30.0)), self.threshold)

    def on_runs(self, runs: int, paired: bool) -> RatioScorer:
        """The same for so many runs a side, and for events that can be confirmed on paired runs or not."""
        return replace(self, paired=paired)

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
    scores_speed: ClassVar[bool] = True

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

    def optimistic_score(self, x: Ints, y: Ints, level: Level) -> Floats:
        """As rough."""
        return self.rough(x, y, level)

    def on_fresh_runs(self, counts: Counts, level: float, paired: bool, speed: bool) -> float:
        """The score on these runs."""
        return _one(replace(self, runs=counts.n_x), counts, level)

    def pace(self, counts: Counts, score: float) -> float:
        """As the score says."""
        return score

    def on_runs(self, runs: int, paired: bool) -> LineScorer:
        """The same for another number of runs a side; only a ratio is confirmed on paired runs."""
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


ClaimScorer: TypeAlias = RatioScorer | LineScorer


def _one(scorer: ClaimScorer, counts: Counts, level: float) -> float:
    return float(scorer.exact(np.array([counts.x]), np.array([counts.y]), level)[0])


def best_share(epsilon: float) -> float:
    """The part of the runs that the likelier side should get for the sharpest bound on log(P1/P2).

    The variance of the log ratio is about 1/(share·P1) + 1/((1 - share)·P2), least at odds sqrt(P2/P1).

    >>> round(best_share(0.0), 2), round(best_share(1.5), 2)
    (0.5, 0.32)
    """
    odds = math.exp(-0.5 * min(max(epsilon, 0.0), 5.0))
    return odds / (1 + odds)


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
    u = likeliest(xf, yf, runs, runs, slope, intercept, _HALVINGS)
    ratio = 2 * (deviance(xf, runs, np.minimum(slope * u + intercept, 1.0)) + deviance(yf, runs, u))
    beyond = xf / runs > slope * yf / runs + intercept
    return np.asarray(np.where(beyond, 1.0, -1.0) * np.sqrt(np.minimum(ratio, 1e12)))


def pace(counts: Counts, ratio: float, epsilon: float) -> float:
    """log wealth a run against P1 <= e^epsilon P2, if P1 is `ratio` times P2 and P2 is as observed.

    Paired runs when the counts say how often both sides were hit, otherwise independent ones, half of them each side.

    >>> rare = Counts(10, 2, 10_000, 10_000)
    >>> common = Counts(1000, 500, 10_000, 10_000)
    >>> pace(common, 2.0, epsilon=0.2) > pace(rare, 5.0, epsilon=0.2)
    True
    """
    if ratio <= math.exp(epsilon):
        return 0.0
    p2 = (counts.y + 0.5) / (counts.n_y + 1)
    p1 = min(ratio * p2, 1.0)
    if counts.both is None:
        truth, claimed = p1 / (p1 + p2), 1 / (1 + math.exp(-epsilon))
        return (
            (p1 + p2) / 2 * (truth * math.log(truth / claimed) + (1 - truth) * math.log((1 - truth) / (1 - claimed)))
        )
    both = min(counts.both / max(counts.n_x, 1), p1, p2)
    return max(float(log_growth(p1 - both, p2 - both, both, _STAKES, epsilon).max()) / 2, 0.0)


def normal_quantiles(level: Level) -> Level:
    """Quantiles of the standard normal distribution at the levels, found once for each stretch of equal ones."""
    from scipy import special

    if not isinstance(level, np.ndarray) or len(level) < 2:
        return special.ndtri(level)  # type: ignore[no-any-return]
    fresh = np.flatnonzero(np.append(True, level[1:] != level[:-1]))
    return np.repeat(special.ndtri(level[fresh]), np.diff(np.append(fresh, len(level))))
