"""Chooses the test and the event score for a claim: a ratio for pure DP, tangent lines for all others.

A pure claim, P1 <= e^epsilon P2, has exact tests without a nuisance parameter. Every other claim is the statement
P1 <= largest(P2), tested by `tests.line` in an order that one tangent gives; the tangent is chosen on search runs and
carried along. It directs the power and cannot harm validity: the claim's whole bound is the null hypothesis.

Search ranks events by lower bounds on how clearly each would break the claim. Against a pure claim that is a bound on
log(P1/P2). Against any other claim it is signal to noise: with z the signed root of the likelihood ratio against the
claim's best tangent, (z - z_level) / sqrt(runs) bounds the standard deviations by which an event lies beyond the
claim for each run. The number of runs that convict is about the inverse square of it, so the largest score needs the
fewest runs: for a small delta it finds the tail, for Gaussian noise the half-line with the best threshold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.hypothesis import certify
from refutedp.hypothesis.betting import anytime
from refutedp.hypothesis.betting.anytime import EProcess, PairedProcess, RatioProcess
from refutedp.hypothesis.certify import Certified
from refutedp.hypothesis.tests import fisher, ratio
from refutedp.hypothesis.tests import line as line_test
from refutedp.hypothesis.tests.line import GAMMAS, WEIGHTS
from refutedp.model.claims import Claim, Tangent
from refutedp.model.errors import UsageError
from refutedp.model.records import Counts, Level

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

_AT_ONCE = 200_000
_STAKES = 0.97 * np.geomspace(1e-3, 1.0, 60)


def claim_test(claim: Claim) -> ClaimTest:
    """The test of a claim.

    >>> from refutedp.model.claims import ApproxDP, PureDP
    >>> claim_test(PureDP(0.5))
    RatioTest(claim=PureDP(epsilon=0.5), epsilon=0.5)
    >>> claim_test(ApproxDP(1.0, 0.2)).log_p_value(Counts(60, 50, 1000, 1000))
    0.0
    """
    epsilon = claim.pure_epsilon
    return ClaimTest(claim) if epsilon is None else RatioTest(claim, epsilon)


def search_rates(search: Counts) -> tuple[float, float]:
    """Rates of search runs with half a hit added, so that an event unseen on one side is merely rare there."""
    return (search.x + 0.5) / (search.n_x + 1), (search.y + 0.5) / (search.n_y + 1)


@dataclass(frozen=True, slots=True)
class ClaimTest:
    """The test of P1 <= largest(P2), the lower envelope of the claim's tangents: right for every claim."""

    claim: Claim
    takes_pairs: ClassVar[bool] = False
    """Whether paired runs can confirm a candidate."""
    carries_tangent: ClassVar[bool] = True
    """Whether a candidate carries the tangent that the test aims at."""
    importance_sharpens: ClassVar[bool] = False
    """Whether importance sampling is for a sharper bound, and not for a conviction."""

    def scorer(self, runs: int) -> ClaimScorer:
        """How search ranks events on so many runs a side: by standard deviations a run beyond the nearest tangent."""
        return LineScorer(self.claim.tangents(), runs)

    def line(self, p1: float, p2: float, share: float = 0.5) -> Tangent:
        """The line to bet against: the tangent that rates near these violate most clearly, in standard deviations.

        Call it with `search_rates` of search runs: the choice must not depend on the runs that are tested.

        >>> from refutedp.model.claims import ApproxDP
        >>> ClaimTest(ApproxDP(1.0, 0.01)).line(0.5, 0.1).intercept
        0.01
        """
        p1, p2 = min(max(p1, 1e-12), 1 - 1e-12), min(max(p2, 1e-12), 1 - 1e-12)

        def clearness(line: Tangent) -> float:
            spread = p1 * (1 - p1) / share + line.slope**2 * p2 * (1 - p2) / (1 - share)
            return line.excess(p1, p2) / math.sqrt(spread)

        return max(self.claim.tangents_near(p2), key=clearness)

    def line_of_bets(self, aimed: Tangent) -> Tangent:
        """The line that importance-sampled runs are tested against, if their plan aims at this one."""
        return aimed

    def tangent_and_share(self, search: Counts, score: float, method: str) -> tuple[Tangent | None, float]:
        """What a candidate with these search runs aims at, and the part of the confirmation runs that go to d1."""
        rates = search_rates(search)
        tangent = self.line(*rates)
        return tangent, line_test.share_for(tangent, *rates)

    def start(self, search: Counts, share: float, tangent: Tangent | None = None) -> EProcess[Counts]:
        """The e-process for independent runs, of which `share` go to d1, betting on what search runs showed."""
        p1, p2 = search_rates(search)
        line = self.line(p1, p2, share) if tangent is None else tangent
        return anytime.start_line(line, p1, p2, share)

    def start_paired(self, search: Counts) -> EProcess[Counts]:
        """The e-process for paired runs."""
        raise UsageError(f"confirmation='paired' cannot test {self.claim}: use 'allocation'")

    def log_p_value(self, counts: Counts, tangent: Tangent | None = None, method: str = "allocation") -> float:
        """log of a valid p-value for "the claim holds", at every sample size.

        In the order of the tangent; without one, of a tangent that looks at no counts.

        >>> from refutedp.model.claims import ApproxDP
        >>> ClaimTest(ApproxDP(1.0, 0.2)).log_p_value(Counts(600, 50, 1000, 1000)) < math.log(1e-8)
        True
        """
        line = self._fixed(tangent)
        if line.excess(counts.x / max(counts.n_x, 1), counts.y / max(counts.n_y, 1)) <= 0:
            return 0.0
        best = 0.0
        for gamma, weight in zip(GAMMAS, WEIGHTS, strict=True):
            region = line_test.region(counts, line, gamma)
            if region is None:
                return 0.0
            log_p = region.log_p_value(self.claim.upper_curve(region.low[0], region.high[-1]))
            best = min(best, log_p - math.log(weight))
            if log_p > math.log(10 * gamma):
                return best
        deep = line_test.two_bounds_log_p_value(counts, self.claim.largest)
        return min(best, deep - math.log(1 - sum(WEIGHTS)))

    def _fixed(self, tangent: Tangent | None) -> Tangent:
        return self.claim.tangent_at(0.01) if tangent is None else tangent

    def log_p_reverse(self, counts: Counts, method: str = "allocation") -> float:
        """The same with the sides exchanged, where the paper's two p-values make sense; else zero."""
        return 0.0

    def bounds(self, counts: Counts, confidence: float, tangent: Tangent | None = None) -> Certified:
        """What a fixed number of runs certifies: bounds from the region that holds both rates."""
        return certify.bounds_from(certify.confidence_region(counts, confidence, self._fixed(tangent)), self.claim)

    def bounds_when_stopped(self, process: Any, confidence: float, search: Counts) -> Certified:
        """What the counted runs of an e-process certify, at whatever moment it was stopped.

        From confidence sequences of the rates; the claim's own parameter by testing ever weaker claims.
        """
        error, rates, share = 1 - confidence, search_rates(search), process.hits.share

        def rejected(weaker: Claim) -> bool:
            against = anytime.start_line(ClaimTest(weaker).line(*rates, share), *rates, share)
            return replace(against, hits=process.hits).log_e >= -math.log(error)

        reached = certify.last_rejected(self.claim, rejected) if process.rejects(error) else None
        return certify.bounds_from(certify.region_when_stopped(process.hits, error, rates), self.claim, reached)

    def bounds_by_weight(self, process: Any, confidence: float, rates: tuple[float, float]) -> Certified:
        """What importance-sampled runs certify by testing ever weaker claims, at the `rates` that the pilots said."""

        def rejected(weaker: Claim) -> bool:
            return bool(process.log_e_against(ClaimTest(weaker).line(*rates)) >= -math.log(1 - confidence))

        reached = certify.last_rejected(self.claim, rejected) if process.rejects(1 - confidence) else None
        return certify.bounds_from(certify.NOTHING, self.claim, reached)

    def could_convict(self, runs: int, significance: float) -> bool:
        """Whether so many runs a side reject the claim if every one on d1 is a hit, and none on d2."""
        return self.log_p_value(Counts(runs, 0, runs, runs)) <= math.log(significance)

    def detectable(self, counts: Counts, significance: float) -> float:
        """The smallest real epsilon that this event and budget would have caught; infinite if it cannot be told."""
        return math.inf


@dataclass(frozen=True, slots=True)
class RatioTest(ClaimTest):
    """P1 <= e^epsilon P2: sharper tests without a nuisance parameter, on allocated or on paired runs."""

    epsilon: float
    takes_pairs: ClassVar[bool] = True
    carries_tangent: ClassVar[bool] = False
    importance_sharpens: ClassVar[bool] = True

    def scorer(self, runs: int) -> RatioScorer:
        """Bounds on log(P1/P2)."""
        return RatioScorer(self.epsilon)

    def line(self, p1: float, p2: float, share: float = 0.5) -> Tangent:
        """The claim's own."""
        return Tangent(math.exp(min(self.epsilon, 700.0)), 0.0)

    def line_of_bets(self, aimed: Tangent) -> Tangent:
        """The claim's own: plans may aim at a larger ratio, to sharpen the bound."""
        return self.line(0.0, 0.0)

    def tangent_and_share(self, search: Counts, score: float, method: str) -> tuple[None, float]:
        """No tangent, and the best share for that ratio; half for the paper's test."""
        return None, 0.5 if method == "fisher" else ratio.best_share(score)

    def start(self, search: Counts, share: float, tangent: Tangent | None = None) -> RatioProcess:
        """A mixture of likelihoods near the ratio that search saw.

        >>> from refutedp.model.claims import PureDP
        >>> claim_test(PureDP(1.0)).start(Counts(400, 50, 1000, 1000), share=0.3).log_e
        0.0
        """
        p1, p2 = search_rates(search)
        spread = math.sqrt(1 / (search.x + 0.5) + 1 / (search.y + 0.5))
        prior = anytime.prior_for(math.log(p1 / p2), spread, share)
        return RatioProcess(epsilon=self.epsilon, prior=prior, hits=Counts(0, 0, 0, 0, share))

    def start_paired(self, search: Counts) -> PairedProcess:
        """Bets on each pair."""
        stakes = anytime.stakes_for(search, self.epsilon)
        return PairedProcess(epsilon=self.epsilon, stakes=stakes, hits=Counts(0, 0, 0, 0, both=0))

    def log_p_value(self, counts: Counts, tangent: Tangent | None = None, method: str = "allocation") -> float:
        """By the paper's thinned Fisher test, if asked for; else the exact one for allocated or for paired runs.

        >>> from refutedp.model.claims import PureDP
        >>> test = claim_test(PureDP(0.5))
        >>> test.log_p_value(Counts(60, 20, 100, 100, both=20)) < test.log_p_value(Counts(60, 20, 100, 100))
        True
        """
        test = fisher.log_p_value if method == "fisher" else ratio.log_p_value
        return test(counts, self.epsilon)

    def log_p_reverse(self, counts: Counts, method: str = "allocation") -> float:
        """The paper's second p-value."""
        return self.log_p_value(counts.swapped(), method=method)

    def bounds(self, counts: Counts, confidence: float, tangent: Tangent | None = None) -> Certified:
        """The largest epsilon that the same test rejects; one below zero is told as epsilon alone."""
        epsilon = ratio.epsilon_lower_bound(counts, confidence)
        return Certified(epsilon, max(epsilon, 0.0))

    def bounds_when_stopped(self, process: Any, confidence: float, search: Counts) -> Certified:
        """The confidence sequence of the ratio."""
        epsilon = max(0.0, process.epsilon_lower_bound(confidence))
        return Certified(epsilon, epsilon)

    def bounds_by_weight(self, process: Any, confidence: float, rates: tuple[float, float]) -> Certified:
        """The confidence sequence of the ratio."""
        return self.bounds_when_stopped(process, confidence, process.hits.counts)

    def could_convict(self, runs: int, significance: float) -> bool:
        """If every run on d1 were a hit, and none on d2."""
        return ratio.can_ever_convict(runs, runs, self.epsilon, significance)

    def detectable(self, counts: Counts, significance: float) -> float:
        """With power 0.8."""
        return ratio.detectable_epsilon(counts, self.epsilon, significance)


@dataclass(frozen=True, slots=True)
class RatioScorer:
    """Lower bounds on log(P1/P2) from equally many runs on both sides; one above `threshold` breaks the claim."""

    threshold: float = 0.0
    paired: bool = False
    scores_speed: ClassVar[bool] = False
    """Whether the event with the largest score is the one that convicts soonest."""

    def exact(self, x: Ints, y: Ints, level: Level) -> Floats:
        """Clopper-Pearson, as in the test itself."""
        return ratio.lower_bounds(x, y, level)

    def rough(self, x: Ints, y: Ints, level: Level) -> Floats:
        """Wilson's approximation, a hundred times cheaper."""
        # Wilson's bound on q = x / (x + y), as odds: what its two ends have in common cancels.
        half = ratio.normal_quantiles(level) ** 2 / 2
        hits, others = x.astype(np.float64), y.astype(np.float64)
        spread = np.sqrt(half * (2 * hits * others / np.maximum(hits + others, 1) + half))
        bounds = np.log(np.maximum(hits + half - spread, 1e-300) / (others + half + spread))
        bounds[x == 0] = -np.inf
        return bounds

    def optimistic_score(self, x: Ints, y: Ints, level: Level) -> Floats:
        """With paired runs, as if all hits of the side with fewer were in pairs that hit on both."""
        rough = self.rough(x, y, level)
        return ratio.nearer(x, y, np.minimum(x, y), rough) if self.paired else rough

    def on_fresh_runs(self, counts: Counts, level: float, paired: bool, speed: bool) -> float:
        """What confirmation could show of one event, on paired runs or not; its pace, where speed is wanted."""
        if paired:
            bound = ratio.rough_bound(counts, level)
        else:
            bound = float(self.exact(np.array([counts.x]), np.array([counts.y]), level)[0])
        return self.threshold + self.pace(counts, bound) if speed and bound > self.threshold else bound

    def pace(self, counts: Counts, score: float) -> float:
        """How fast an event convicts if its ratio is the least that its score allows: log wealth a run.

        P2 is taken as observed. Paired runs when the counts say how often both sides were hit, otherwise independent
        ones, half of them each side. Of events that might not convict at all, the one that comes nearest is the best.

        >>> rare, common = Counts(10, 2, 10_000, 10_000), Counts(1000, 500, 10_000, 10_000)
        >>> RatioScorer(0.2).pace(common, math.log(2)) > RatioScorer(0.2).pace(rare, math.log(5))
        True
        """
        epsilon, least = self.threshold, math.exp(min(max(score, 0.0), 30.0))
        if score <= epsilon:
            return score - epsilon
        if least <= math.exp(epsilon):
            return 0.0
        p2 = (counts.y + 0.5) / (counts.n_y + 1)
        p1 = min(least * p2, 1.0)
        if counts.both is not None:
            both = min(counts.both / max(counts.n_x, 1), p1, p2)
            return max(float(anytime.log_growth(p1 - both, p2 - both, both, _STAKES, epsilon).max()) / 2, 0.0)
        truth, claimed = p1 / (p1 + p2), 1 / (1 + math.exp(-epsilon))
        divergence = truth * math.log(truth / claimed) + (1 - truth) * math.log((1 - truth) / (1 - claimed))
        return (p1 + p2) / 2 * divergence

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
        slope, intercept = np.array([(line.slope, line.intercept) for line in self.lines]).T
        z = line_test.signed_root(x, y, self.runs, slope[best], intercept[best])
        return self._scaled(z, x, level)

    def rough(self, x: Ints, y: Ints, level: Level) -> Floats:
        """The normal approximation, with the variance that the tangent allows."""
        stretches = [slice(i, i + _AT_ONCE) for i in range(0, max(len(x), 1), _AT_ONCE)]
        return self._scaled(np.concatenate([self._nearest(x[some], y[some])[1] for some in stretches]), x, level)

    def optimistic_score(self, x: Ints, y: Ints, level: Level) -> Floats:
        """As rough."""
        return self.rough(x, y, level)

    def on_fresh_runs(self, counts: Counts, level: float, paired: bool, speed: bool) -> float:
        """The score on these runs."""
        return float(replace(self, runs=counts.n_x).exact(np.array([counts.x]), np.array([counts.y]), level)[0])

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
        return np.where(x > 0, (z + ratio.normal_quantiles(level)) / math.sqrt(self.runs), -np.inf)

    def _nearest(self, x: Ints, y: Ints) -> tuple[Ints, Floats]:
        """The clearest tangent for each event, and by how many standard deviations."""
        best = np.zeros(len(x), dtype=np.int64)
        top = np.full(len(x), -np.inf)
        n = self.runs
        for number, line in enumerate(self.lines):
            # On the line both rates are estimated together; half a hit keeps the spread positive.
            p2 = (y + 0.5) / n
            p1 = np.minimum(np.maximum(line.slope * p2 + line.intercept, (x + 0.5) / n), 1.0)
            spread = np.sqrt((p1 * (1 - p1) + line.slope**2 * p2 * np.maximum(1 - p2, 0.0)) / n + 1e-300)
            z = (x / n - line.slope * y / n - line.intercept) / spread
            better = z > top
            best, top = np.where(better, number, best), np.where(better, z, top)
        return best, top


ClaimScorer: TypeAlias = RatioScorer | LineScorer
