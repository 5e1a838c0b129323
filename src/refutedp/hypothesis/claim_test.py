"""How a claim is tested: as a bound on a ratio, or as a bound on lines. Chosen once, by `claim_test`.

A pure claim, P1 <= e^epsilon P2, has exact tests without a nuisance parameter. Every other claim is the statement
P1 <= largest(P2), tested by `tests.line` in an order that one tangent gives; the tangent is chosen on search runs and
carried along. It directs the power and cannot harm validity: the claim's whole bound is the null hypothesis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from refutedp.hypothesis.betting.anytime import EProcess
from refutedp.hypothesis.betting.counted import LineProcess, RatioProcess, bets_for, prior_for
from refutedp.hypothesis.certify import (
    NOTHING,
    Certified,
    bounds_from,
    confidence_region,
    last_rejected,
    region_when_stopped,
)
from refutedp.hypothesis.power import can_ever_convict, detectable_epsilon
from refutedp.hypothesis.scoring import ClaimScorer, LineScorer, RatioScorer, best_share, share_for
from refutedp.hypothesis.tests import allocation, fisher, paired
from refutedp.hypothesis.tests import line as line_test
from refutedp.hypothesis.tests.line import GAMMAS, WEIGHTS
from refutedp.hypothesis.tests.paired import PairedProcess, stakes_for
from refutedp.model.claims import Claim, Tangent
from refutedp.model.errors import UsageError
from refutedp.model.records import Counts


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
        return tangent, share_for(tangent, *rates)

    def start(self, search: Counts, share: float, tangent: Tangent | None = None) -> EProcess[Counts]:
        """The e-process for independent runs, of which `share` go to d1, betting on what search runs showed."""
        p1, p2 = search_rates(search)
        line = self.line(p1, p2, share) if tangent is None else tangent
        return LineProcess(bets=bets_for(line, p1, p2, share), hits=Counts(0, 0, 0, 0, share))

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
        return bounds_from(confidence_region(counts, confidence, self._fixed(tangent)), self.claim)

    def bounds_when_stopped(self, process: Any, confidence: float, search: Counts) -> Certified:
        """What the counted runs of an e-process certify, at whatever moment it was stopped.

        From confidence sequences of the rates; the claim's own parameter by testing ever weaker claims.
        """
        error, rates, share = 1 - confidence, search_rates(search), process.hits.share

        def rejected(weaker: Claim) -> bool:
            bets = bets_for(ClaimTest(weaker).line(*rates, share), *rates, share)
            return bets.log_wealth(process.hits) >= -math.log(error)

        reached = last_rejected(self.claim, rejected) if process.rejects(error) else None
        return bounds_from(region_when_stopped(process.hits, error, rates), self.claim, reached)

    def bounds_by_weight(self, process: Any, confidence: float, rates: tuple[float, float]) -> Certified:
        """What importance-sampled runs certify: the claim's own parameter, by testing ever weaker claims.

        `rates` are what the pilots said.
        """

        def rejected(weaker: Claim) -> bool:
            return bool(process.log_e_against(ClaimTest(weaker).line(*rates)) >= -math.log(1 - confidence))

        reached = last_rejected(self.claim, rejected) if process.rejects(1 - confidence) else None
        return bounds_from(NOTHING, self.claim, reached)

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
        return None, 0.5 if method == "fisher" else best_share(score)

    def start(self, search: Counts, share: float, tangent: Tangent | None = None) -> RatioProcess:
        """A mixture of likelihoods near the ratio that search saw.

        >>> from refutedp.model.claims import PureDP
        >>> claim_test(PureDP(1.0)).start(Counts(400, 50, 1000, 1000), share=0.3).log_e
        0.0
        """
        p1, p2 = search_rates(search)
        spread = math.sqrt(1 / (search.x + 0.5) + 1 / (search.y + 0.5))
        prior = prior_for(math.log(p1 / p2), spread, share)
        return RatioProcess(epsilon=self.epsilon, prior=prior, hits=Counts(0, 0, 0, 0, share))

    def start_paired(self, search: Counts) -> PairedProcess:
        """Bets on each pair."""
        stakes = stakes_for(search, self.epsilon)
        return PairedProcess(epsilon=self.epsilon, stakes=stakes, hits=Counts(0, 0, 0, 0, both=0))

    def log_p_value(self, counts: Counts, tangent: Tangent | None = None, method: str = "allocation") -> float:
        """By the paper's thinned Fisher test, if asked for; else the exact one for allocated or for paired runs.

        >>> from refutedp.model.claims import PureDP
        >>> test = claim_test(PureDP(0.5))
        >>> test.log_p_value(Counts(60, 20, 100, 100, both=20)) < test.log_p_value(Counts(60, 20, 100, 100))
        True
        """
        if method == "fisher":
            return fisher.log_p_value(counts, self.epsilon)
        test = allocation.log_p_value if counts.both is None else paired.log_p_value
        return test(counts, self.epsilon)

    def log_p_reverse(self, counts: Counts, method: str = "allocation") -> float:
        """The paper's second p-value."""
        return self.log_p_value(counts.swapped(), method=method)

    def bounds(self, counts: Counts, confidence: float, tangent: Tangent | None = None) -> Certified:
        """The largest epsilon that the same test rejects; one below zero is told as epsilon alone."""
        epsilon = epsilon_lower_bound(counts, confidence)
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
        return can_ever_convict(runs, runs, self.epsilon, significance)

    def detectable(self, counts: Counts, significance: float) -> float:
        """With power 0.8."""
        return detectable_epsilon(counts, self.epsilon, significance)


def epsilon_lower_bound(counts: Counts, confidence: float) -> float:
    """The largest epsilon that P1 > e^epsilon P2 exceeds with this confidence, for allocated or for paired runs."""
    bound = allocation.epsilon_lower_bound if counts.both is None else paired.epsilon_lower_bound
    return bound(counts, confidence)
