"""The paper's loop in the order in which it runs: prepare, race, plan, confirm, cross-examine, verdict."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from refutedp.detector.budget import fit, seconds_per_run
from refutedp.detector.confirm import confirm
from refutedp.detector.cross_examine import Contradicted, cross_examine
from refutedp.detector.notes import distrust_note, float_leak_note, other_adjacency_note, outside_note
from refutedp.detector.plan import aim
from refutedp.detector.prepare import Prepared, Request
from refutedp.detector.profile import profile_runs
from refutedp.detector.race import Found, search
from refutedp.detector.result import Effort, Result, Verdict
from refutedp.detector.verdict import detectable, verdict_of
from refutedp.hypothesis.claim_test import claim_test
from refutedp.model.adjacency import ONE_DIFFERS
from refutedp.model.claims import Claim
from refutedp.model.mechanism import origin_of
from refutedp.model.records import Candidate, Evidence, Examination
from refutedp.model.settings import ROUNDING_STREAM, Progress, Settings
from refutedp.sampling.sampler import Sampler

OTHER_RUNS, OTHER_CALLS = (10_000, 50_000), (500, 2_000)
"""Search and confirmation runs of the small check under the other adjacency: lifted ones, or calls."""
ROUNDING_CALLS = 4_000
"""Calls a side, at most, to confirm a leak through rounding, which is blatant when it is there."""
ROUNDING_LEVEL = 1e-9
"""Such calls go on until they are as sure as this: a few more make a better note."""


def detect(request: Request, settings: Settings, report: Callable[[Progress], None]) -> Result:
    """The paper's loop; once more by plain calls alone, if the function itself contradicts lifted runs."""
    try:
        return _detect_once(request, settings, report)
    except Contradicted as trouble:
        again = _detect_once(request, replace(settings, lift=False), report)
        effort = replace(again.effort, other_runs=again.effort.other_runs + trouble.runs)
        return replace(again, effort=effort, notes=(*again.notes, distrust_note(trouble)))


def tell_other_adjacency(result: Result, request: Request, report: Callable[[Progress], None]) -> Result:
    """The result, and what a small check says where only one query may change: the user did not say what is meant."""
    evidence = result.evidence
    assert evidence is not None
    length = len(evidence.pair.d1) if isinstance(evidence.pair.d1, list) else int(np.size(evidence.pair.d1))
    if length < 2:
        return result
    lifted = result.examination is not None
    search_runs, confirm_runs = OTHER_RUNS if lifted else OTHER_CALLS
    small = replace(
        result.settings,
        search_runs=min(search_runs, result.settings.search_runs),
        confirm_runs=min(confirm_runs, result.settings.confirm_runs),
        lengths=(length,),
        float_leaks="ignore",
        time_limit=None,
    )
    other = detect(replace(request, adjacency=ONE_DIFFERS), small, report)
    note = other_adjacency_note(other.verdict)
    effort = replace(result.effort, other_runs=result.effort.other_runs + other.effort.runs)
    return replace(result, notes=(note, *result.notes), effort=effort)


def _detect_once(request: Request, settings: Settings, report: Callable[[Progress], None]) -> Result:
    """The paper's loop, once; raises `Contradicted` if the function itself contradicts what lifted runs said."""
    described, claim, adjacency = request.mechanism, request.claim, request.adjacency
    prepared = Prepared(request, settings, report)
    settings = _within_time(prepared, claim, settings, request.started)
    found = search(prepared, claim, claim_test(claim).scorer(settings.search_runs), settings, report)
    result = Result(
        verdict=Verdict.INCONCLUSIVE,
        mechanism=described.name,
        claim=claim,
        adjacency=str(adjacency),
        evidence=None,
        detectable_epsilon=math.inf,
        effort=Effort(found.pairs, found.events, found.runs, 0, prepared.calls + found.noise_free),
        settings=settings,
        notes=(*prepared.notes, *request.notes),
        origin=origin_of(described.function),
        vacuous=found.same,
    )
    if found.candidate is None or found.sampler is None:
        return result
    chosen = [(found.candidate, found.sampler), *([] if found.outside is None else [found.outside])]
    # Where two are tested, each gets half of the significance.
    level = replace(settings, significance=settings.significance / len(chosen))
    tested: list[_Tested] = []
    for candidate, sampler in chosen:
        try:
            tested.append(_test(candidate, sampler, claim, level, report))
        except Contradicted as trouble:
            raise trouble.after(trouble.runs + result.effort.runs) from None
    convicted = [one for one in tested if one.verdict is Verdict.VIOLATION]
    best = convicted[0] if convicted else tested[0]
    float_leak, calls = _float_leak(found, claim, settings, report)
    besides = convicted[1].evidence if len(convicted) > 1 else None
    notes = [outside_note(best.evidence, besides, found.suspected)] if convicted else []
    notes += [] if float_leak is None else [float_leak_note(float_leak)]
    effort = Effort(
        found.pairs,
        found.events,
        found.runs + sum(one.aimed for one in tested),
        sum(one.confirm_runs for one in tested),
        result.effort.other_runs + calls + sum(one.calls for one in tested),
    )
    vacuous = found.same if best.verdict is Verdict.NOT_FOUND else ""
    return replace(
        result,
        verdict=Verdict.INCONCLUSIVE if vacuous else best.verdict,
        evidence=best.evidence,
        detectable_epsilon=detectable(best.evidence, claim, level),
        effort=effort,
        notes=(*result.notes, *filter(None, notes)),
        float_leak=float_leak,
        examination=best.examination,
        vacuous=vacuous,
        outside=besides,
        make_profile=partial(profile_runs, best.sampler, best.evidence.candidate, settings),
    )


@dataclass(frozen=True, slots=True)
class _Tested:
    """A candidate that was confirmed and cross-examined."""

    sampler: Sampler
    evidence: Evidence
    examination: Examination | None
    verdict: Verdict
    aimed: int
    """Runs that made a plan for the runs that confirm it."""

    @property
    def confirm_runs(self) -> int:
        return self.evidence.counts.n_x + self.evidence.counts.n_y

    @property
    def calls(self) -> int:
        return 0 if self.examination is None else self.examination.calls


def _test(
    candidate: Candidate, sampler: Sampler, claim: Claim, settings: Settings, report: Callable[[Progress], None]
) -> _Tested:
    aimed = aim(sampler, candidate, claim, settings, report)
    evidence = confirm(aimed.sampler, aimed.candidate, claim, settings, report)
    verdict = verdict_of(evidence, settings)
    tested = _Tested(aimed.sampler, evidence, None, verdict, aimed.runs)
    try:
        examination = cross_examine(aimed.sampler, evidence, claim, settings, report)
    except Contradicted as trouble:
        raise trouble.after(tested.aimed + tested.confirm_runs) from None
    return replace(tested, examination=examination)


def _float_leak(
    found: Found, claim: Claim, settings: Settings, report: Callable[[Progress], None]
) -> tuple[Evidence | None, int]:
    """What plain calls say of the event about rounding, if it convicts, and how many: a test beside the verdict's.

    Last digits are the evidence, so nothing but the function itself may draw them.
    """
    if found.rounding is None:
        return None, 0
    candidate, sampler = found.rounding
    brief = replace(
        settings,
        confirm_runs=min(settings.confirm_runs, ROUNDING_CALLS),
        significance=min(settings.significance, ROUNDING_LEVEL),
        method="allocation",
        stop="early",
    )
    evidence = confirm(sampler.by_plain_calls(), candidate, claim, brief, report, stream=ROUNDING_STREAM)
    convicts = evidence.log_p_value <= math.log(settings.significance)
    return (evidence if convicts else None), evidence.counts.n_x + evidence.counts.n_y


def _within_time(prepared: Prepared, claim: Claim, settings: Settings, started: float) -> Settings:
    """As many runs as the time limit allows, if there is one, and a note of what they could not see."""
    if settings.time_limit is None:
        return settings
    seconds, runs = seconds_per_run(prepared.samplers, settings, settings.time_limit)
    epsilon = float(getattr(claim, "epsilon", 1.0))
    outside = sum(bool(one.pair.outside) for one in prepared.samplers)
    spent = time.monotonic() - started
    plan, note = fit(settings, epsilon, len(prepared.samplers), seconds, spent, outside)
    prepared.notes += [note] if note else []
    prepared.add_calls(runs)
    prepared.settings = plan
    return plan
