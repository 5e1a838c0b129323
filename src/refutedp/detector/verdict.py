"""From evidence to a verdict, and the sentences that stand beside it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from refutedp.detector.result import Verdict
from refutedp.hypothesis.claim_test import claim_test
from refutedp.inputs.source import NEGATIVE
from refutedp.model.adjacency import ALL_DIFFER
from refutedp.model.claims import Claim
from refutedp.model.records import Evidence, ExactEvidence
from refutedp.model.settings import Settings

if TYPE_CHECKING:
    from refutedp.detector.cross_examine import Contradicted

_HINT = 0.05
"""A p-value up to this is told as inconclusive: a hint that more runs may confirm."""


def verdict_of(evidence: Evidence, settings: Settings) -> Verdict:
    """Violation at the significance, inconclusive at 5%, otherwise not found."""
    if evidence.log_p_value <= math.log(settings.significance):
        return Verdict.VIOLATION
    if evidence.log_p_value <= math.log(_HINT):
        return Verdict.INCONCLUSIVE
    return Verdict.NOT_FOUND


def detectable(evidence: Evidence, claim: Claim, settings: Settings) -> float:
    """The smallest real epsilon that this budget would have caught for the event; infinite if it cannot be told."""
    if evidence.estimates is not None:
        return math.inf
    return claim_test(claim).detectable(evidence.counts, settings.significance)


def outside_note(evidence: Evidence | ExactEvidence, besides: Evidence | None, suspected: str) -> str:
    """What there is to say about inputs beyond those that the user gave, where there is a violation; or nothing.

    `besides` is evidence that convicts on such inputs, too, and `suspected` names one that was not tested.
    """
    outside = evidence.pair.outside
    if outside:
        odd = "use odd=False in the adjacency (--no-odd)"
        remedy = "give answers that can with inputs=" if outside == NEGATIVE else odd
        return f"Only inputs beyond those you gave show it: {outside}. If they cannot occur, {remedy}."
    if besides is not None:
        told = p_value_text(besides.log_p_value)
        return f"Inputs beyond those you gave break it too: {besides.pair.outside} (p-value {told})."
    if suspected:
        return f"Inputs beyond those you gave seem to break it too: {suspected}. That was not tested."
    return ""


def distrust_note(trouble: Contradicted) -> str:
    """The note on a lift that the function itself contradicts."""
    return (
        f"Lifted runs of this function were wrong: {trouble}. So every run was a call of the function itself. "
        "Please report the function: this is a bug in RefuteDP, not in it."
    )


def other_adjacency_note(verdict: Verdict) -> str:
    """What a small check under the other adjacency says, where the user stated none."""
    told = {
        Verdict.VIOLATION: "the claim breaks with adjacency=ONE_DIFFERS, too",
        Verdict.NOT_FOUND: "with adjacency=ONE_DIFFERS, no violation was found",
        Verdict.INCONCLUSIVE: "with adjacency=ONE_DIFFERS, a small check could not tell",
    }[verdict]
    return f"No adjacency was given, so {ALL_DIFFER}; {told}."


def other_epsilon_note(claim: Claim, evidence: Evidence) -> str:
    """What a small check at another ε found, which the user did not ask about."""
    return (
        f"At another ε it breaks: a small check of {claim} found a real ε of at least "
        f"{evidence.epsilon_lower_bound:.3g}. Check that claim."
    )


def no_race_note(seconds: float, confirm_runs: int) -> str:
    """Why only a sprint chose what was tested."""
    return (
        f"A call takes about {seconds:.2g} seconds, so each pair got a few runs, and {confirm_runs:,} confirmation "
        "runs a side at most: time_limit=inf lifts that."
    )


def waiting_note(waiting: int, pairs: int) -> str:
    """What became of pairs that are much slower than others."""
    return (
        f"{waiting} of {pairs} pairs are much slower than the others, and got few runs: give them alone with "
        "pairs=, or say time_limit=inf."
    )


def p_value_text(log_p: float) -> str:
    """A p-value from its logarithm, readable however small.

    >>> p_value_text(-2000.0)
    '2.6e-869'
    """
    if log_p > -11:
        return f"{math.exp(log_p):.3g}"
    exponent = math.floor(log_p / math.log(10))
    digits = f"{math.exp(log_p - exponent * math.log(10)):.1f}"
    return f"1.0e{exponent + 1}" if digits == "10.0" else f"{digits}e{exponent}"


def float_leak_note(evidence: Evidence) -> str:
    """One sentence on a leak through the last digits of floats."""
    told = p_value_text(evidence.log_p_value)
    return f"Floats give the input away (p = {told}), real numbers would not: round the output; see float_leaks."
