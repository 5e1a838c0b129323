"""From evidence to a verdict."""

from __future__ import annotations

import math

from refutedp.detector.result import Verdict
from refutedp.hypothesis.claim_test import claim_test
from refutedp.model.claims import Claim
from refutedp.model.records import Evidence
from refutedp.model.settings import Settings

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
