"""Numbers and sentences that figures, reports and notebooks share, all computed from the counts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from refutedp.detector.profile import Bin, Profile
from refutedp.detector.result import Result, Verdict
from refutedp.hypothesis.certify import confidence_region, deltas_at
from refutedp.hypothesis.claim_test import claim_test
from refutedp.hypothesis.tests.ratio import clopper_pearson
from refutedp.model.claims import Claim, PureDP
from refutedp.model.records import Evidence
from refutedp.report.exact_words import exact_sentence
from refutedp.report.readable import number_words, p_words, raised, ratio_words, shortened

CURVE_POINTS = 120
INTERVAL = 0.95
"""Confidence of the intervals around single rates; the verdict does not rest on them."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How often the event happened on one input, with an exact interval for its probability."""

    name: str
    hits: int
    runs: int
    low: float
    high: float
    weighted: float | None = None
    """The rate itself, where hits are of importance-sampled runs."""

    @property
    def value(self) -> float:
        """The observed rate."""
        return self.hits / max(self.runs, 1) if self.weighted is None else self.weighted


def rates(evidence: Evidence) -> tuple[Rate, Rate]:
    """The rates on d1 and d2 with intervals: Clopper-Pearson, or about two standard errors of weighted runs."""
    counts, weighted = evidence.counts, evidence.estimates
    sides = (("d1", counts.x, counts.n_x), ("d2", counts.y, counts.n_y))
    if weighted is None:
        one, other = (Rate(*side, *clopper_pearson(*side[1:], (1 - INTERVAL) / 2)) for side in sides)
        return one, other
    one, other = (
        Rate(*side, max(rate - 1.96 * error, 0.0), min(rate + 1.96 * error, 1.0), rate)
        for side, rate, error in zip(sides, weighted.rates, weighted.errors, strict=True)
    )
    return one, other


def ratio(evidence: Evidence) -> float | None:
    """The ratio of the two rates; None when the event never happened on d2."""
    one, other = rates(evidence)
    return one.value / other.value if other.hits else None


def shares(profile: Profile) -> list[tuple[Bin, float, float]]:
    """Each bar of a profile with its part of the runs on d1 and on d2."""
    return [(one, one.x / max(profile.n_x, 1), one.y / max(profile.n_y, 1)) for one in profile.bins]


def p_value_at(evidence: Evidence, epsilon: float) -> float:
    """The p-value of the same counts against another epsilon."""
    return math.exp(claim_test(PureDP(epsilon)).log_p_value(evidence.counts, method=evidence.method))


def p_value_curve(evidence: Evidence, claimed: float, points: int = CURVE_POINTS) -> list[tuple[float, float]]:
    """(test epsilon, p-value) from near zero to well beyond the claimed epsilon and the certified bound.

    Empty for importance-sampled runs: their counts alone give no p-value.
    """
    if evidence.estimates is not None:
        return []
    seen = ratio(evidence)
    reach = [2 * claimed, 1.5 * max(evidence.epsilon_lower_bound, 0.0)]
    reach.append(1.4 * math.log(seen) if seen is not None and seen > 1 else 0.0)
    step = max(reach) / points
    return [(i * step, p_value_at(evidence, i * step)) for i in range(1, points + 1)]


def bound_words(claim: Claim) -> str:
    """How the most that a claim allows on d1 follows from the rate on d2.

    >>> from refutedp.model.claims import PureDP
    >>> bound_words(PureDP(0.5))
    'most the claim allows for d1: e⁰·⁵ × d2'
    """
    formula = "" if claim.pure_epsilon is None else f": e{raised(claim.pure_epsilon)} × d2"
    return f"most the claim allows for d1{formula}"


def allowed_words(claim: Claim, rate: float) -> str:
    """What the claim allows, as a sentence."""
    if claim.pure_epsilon is not None:
        return f"For adjacent inputs, the claim allows at most {ratio_words(claim.pure_epsilon)} times as often."
    return f"At that rate on d2, the claim ({claim}) allows at most {percent(claim.largest(rate))} on d1."


def certified_curve(evidence: Evidence, claim: Claim, points: int = 24) -> list[tuple[float, float, float]]:
    """(epsilon, certified delta, claimed delta) from zero to where the certified delta ends.

    All points hold at once with the evidence's confidence; above the claimed curve they contradict the claim.
    Importance-sampled runs certify the claim's own currency alone: all their points are at zero.
    """
    if evidence.estimates is not None:
        return [(e, 0.0, claim.delta_at(e)) for e in np.linspace(0.0, 1.2 * _own_epsilon(claim), points).tolist()]
    line = evidence.candidate.tangent or claim.tangent_at(0.01)
    front = confidence_region(evidence.counts, evidence.confidence, line)
    most = max(1.2 * _own_epsilon(claim), 1.2 * max(evidence.epsilon_lower_bound, 0.0), 1.0)
    epsilons = np.linspace(0.0, most, points)
    certified = deltas_at(front, epsilons)
    return [(float(e), float(d), claim.delta_at(float(e))) for e, d in zip(epsilons, certified, strict=True)]


def _own_epsilon(claim: Claim) -> float:
    return float(getattr(claim, "epsilon", 0.0)) or 1.0


def percent(rate: float) -> str:
    """A rate as a percentage that keeps its digits however small.

    >>> percent(0.06157), percent(0.0000123), percent(0.0), percent(1.0)
    ('6.16%', '0.00123%', '0%', '100%')
    """
    return f"{100 * rate:.3g}%"


def in_a_sentence(result: Result) -> str:
    """What was seen, for a person who was not there."""
    evidence = result.evidence
    if result.exact is not None:
        return exact_sentence(result.exact, result.claim)
    if evidence is None:
        return (
            f"Every run of {result.mechanism} gave the same output, whatever the input: there is nothing to compare."
        )
    one, other = rates(evidence)
    seen = ratio(evidence)
    times = (
        "and never on d2"
        if seen is None
        else f"and on d2 in {percent(other.value)}: {number_words(seen)} times as often"
    )
    how_often = "happened in {} of the fresh runs" if evidence.estimates is None else "happens in {} of runs"
    start = (
        f"The event “{shortened(evidence.event.words())}” {how_often.format(percent(one.value))} on d1 {times}. "
        f"{allowed_words(result.claim, other.value)}"
    )
    match result.verdict:
        case Verdict.VIOLATION:
            p_value = p_words(evidence.log_p_value).removeprefix("< ")
            return f"{start} If the claim held, chance would show as much with probability at most {p_value}."
        case Verdict.INCONCLUSIVE if result.vacuous:
            return f"{start} In nearly every run, {result.vacuous}: nothing was tested."
        case Verdict.INCONCLUSIVE:
            return (
                f"{start} That is more than chance readily explains, yet not enough for a verdict: give it more runs."
            )
        case Verdict.NOT_FOUND:
            return f"{start} The claim and chance allow that: it is no violation, and no proof of privacy either."
