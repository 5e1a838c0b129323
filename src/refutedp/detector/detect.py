"""The paper's loop in the order in which it runs: prepare, race, plan, confirm, cross-examine, verdict."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from refutedp.detector.budget import (
    LEAST_CONFIRM,
    PART,
    TooShort,
    cores,
    fit,
    fitted_note,
    seconds_per_run,
    smallest,
    usual_limit,
)
from refutedp.detector.clock import Clock
from refutedp.detector.confirm import confirm
from refutedp.detector.cross_examine import Contradicted, cross_examine
from refutedp.detector.exactly import look_exactly
from refutedp.detector.pieces import broken_by_pieces
from refutedp.detector.plan import aim
from refutedp.detector.prepare import Prepared, Request
from refutedp.detector.profile import profile_runs
from refutedp.detector.race import Found, search
from refutedp.detector.result import Effort, Result, Verdict
from refutedp.detector.sprint import SHARE, Sprint, for_a_try
from refutedp.detector.tails import better, shortened, tail_candidate, taken
from refutedp.detector.verdict import (
    detectable,
    distrust_note,
    float_leak_note,
    no_race_note,
    other_adjacency_note,
    other_epsilon_note,
    outside_note,
    verdict_of,
    waiting_note,
)
from refutedp.hypothesis.claim_test import claim_test
from refutedp.model.adjacency import ONE_DIFFERS
from refutedp.model.claims import ApproxDP, Claim, PureDP
from refutedp.model.errors import RefuteDPError
from refutedp.model.mechanism import origin_of
from refutedp.model.records import Candidate, Evidence, Examination
from refutedp.model.settings import CONFIRM_STREAM, ROUNDING_STREAM, TRY_STREAM, Progress, Settings
from refutedp.sampling.sampler import Sampler
from refutedp.tracing.ledger import Ledger

OTHER_RUNS, OTHER_CALLS = (10_000, 50_000), (100, 500)
"""Search and confirmation runs of small checks beside the verdict: lifted ones, or calls."""
LEFT_OVER = 3.0
"""A look at another ε is taken if there is time for it so many times: the verdict comes first."""
OTHER_EPSILON_CALLS = 200
"""About how many calls that takes."""
OTHER_LEVEL = 1e-4
"""The significance of small checks, at most: what a note says is said without a p-value."""
OTHER_EPSILONS = (0.1, 10.0)
"""Multiples of the claimed ε at which the mechanism is looked at, too."""
HINT, BEYOND_CHANCE = 1.5, 0.3
"""How many times what the claim allows a pair must seem to cost there to be checked, and by how much more: sixteen
runs show an answer that differs in a few of them by chance."""
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
    other, result = _small_check(result, replace(request, adjacency=ONE_DIFFERS), (length,), report)
    return result if other is None else replace(result, notes=(other_adjacency_note(other.verdict), *result.notes))


def tell_other_epsilon(result: Result, request: Request, report: Callable[[Progress], None]) -> Result:
    """The result, and what a small check says at another ε, where a few calls hint that the claim breaks there.

    A mechanism that takes ε as a parameter claims to be private for every ε, and ε = 1 hides noise of scale ε. Where
    every run is a call, the calls are for the claim.
    """
    evidence, claim, name = result.evidence, request.claim, request.mechanism.epsilon
    bound = getattr(request.mechanism.function, "keywords", {})
    if result.verdict is not Verdict.NOT_FOUND or evidence is None or result.examination is None:
        return result
    if name is None or name in (request.args or {}) or name in bound or not isinstance(claim, ApproxDP | PureDP):
        return result
    clock, seconds = request.clock, request.clock.spent / max(result.effort.runs, 1)
    needed = LEFT_OVER * OTHER_EPSILON_CALLS * seconds
    if not clock.choose("other epsilon", 1, lambda: int(needed <= clock.left)):
        return result
    for factor in OTHER_EPSILONS:
        other_claim = replace(claim, epsilon=factor * claim.epsilon)
        arguments = {**evidence.pair.arguments, name: other_claim.epsilon}
        suspicious = max(HINT * other_claim.epsilon, other_claim.epsilon + BEYOND_CHANCE)
        with Ledger(request.mechanism, result.settings.seed).open() as ledger:
            loss = ledger.loss(evidence.pair.d1, evidence.pair.d2, arguments, beyond=suspicious)
        effort = replace(result.effort, other_runs=result.effort.other_runs + ledger.calls)
        result = replace(result, effort=effort)
        if loss.size > suspicious and not loss.raised:
            pairs = [(evidence.pair.d1, evidence.pair.d2)]
            there = replace(request, claim=other_claim, pairs=pairs, inputs=None, sources=())
            other, result = _small_check(result, there, None, report)
            if other is not None and other.verdict is Verdict.VIOLATION and other.evidence is not None:
                return replace(result, notes=(other_epsilon_note(other_claim, other.evidence), *result.notes))
    return result


def _small_check(
    result: Result, request: Request, lengths: tuple[int, ...] | None, report: Callable[[Progress], None]
) -> tuple[Result | None, Result]:
    """What a small check of something else says, and the result with its runs among the others.

    It is no part of the verdict: where it fails, or there is no time left for it, it says nothing.
    """
    lifted, limit = result.examination is not None, result.settings.time_limit
    search_runs, confirm_runs = OTHER_RUNS if lifted else OTHER_CALLS
    clock = request.clock
    if limit is not None or not lifted:
        limit = clock.left
        if not clock.choose("small check", 1, lambda: int(limit > 0)):
            return None, result
    small = replace(
        result.settings,
        search_runs=min(search_runs, result.settings.search_runs),
        confirm_runs=min(confirm_runs, result.settings.confirm_runs),
        significance=min(OTHER_LEVEL, result.settings.significance),
        lengths=lengths,
        float_leaks="ignore",
        time_limit=limit or None,
    )
    try:
        other = detect(replace(request, clock=clock.within(usual_limit(limit))), small, report)
    except RefuteDPError:
        return None, result
    effort = replace(result.effort, other_runs=result.effort.other_runs + other.effort.runs)
    return other, replace(result, effort=effort)


def _detect_once(request: Request, settings: Settings, report: Callable[[Progress], None]) -> Result:
    """The paper's loop, once; raises `Contradicted` if the function itself contradicts what lifted runs said."""
    described, claim, adjacency = request.mechanism, request.claim, request.adjacency
    prepared = Prepared(request, settings, report)
    clock = prepared.clock
    if settings.time_limit is None and not prepared.costs_calls:
        clock.limit = math.inf
    scorer = claim_test(claim).scorer(settings.search_runs)
    result = Result(
        verdict=Verdict.INCONCLUSIVE,
        mechanism=described.name,
        claim=claim,
        adjacency=str(adjacency),
        evidence=None,
        detectable_epsilon=math.inf,
        effort=Effort(0, 0, 0, 0),
        settings=settings,
        origin=origin_of(described.function),
    )
    left, quick, raced = 1.0, None, True
    if prepared.costs_calls and settings.stop == "early" and settings.method != "fisher":
        quick = Sprint(prepared, claim, scorer, settings, report)
        result, left = _sprinted(result, prepared, request, quick, report), 1 - SHARE
        if result.verdict is Verdict.VIOLATION:
            return result
    try:
        wanted = settings
        settings = _within_time(prepared, claim, settings)
        first = len(prepared.samplers)
        tail = tail_candidate(prepared.samplers, claim, settings)
        exact, calls = broken_by_pieces(prepared.samplers, claim, settings, 0.0 if tail is None else tail[0].score)
        if exact is not None:
            effort = Effort(len(prepared.samplers), 1, 0, 0, result.effort.runs + prepared.calls + calls)
            said = (*prepared.notes, *request.notes, *filter(None, [outside_note(exact, None, "")]))
            return replace(result, verdict=Verdict.VIOLATION, exact=exact, effort=effort, notes=said)
        found = search(prepared, claim, scorer, shortened(settings, tail), report)
        tail = better(tail, tail_candidate(prepared.samplers[first:], claim, settings))
        found = found if tail is None else taken(tail, found, claim, settings)
    except TooShort:
        if quick is None:
            raise
        found, raced = quick.found(), False
    if found.candidate is not None:
        runs = _runs_to_confirm(prepared, claim, wanted, 1 if found.outside is None else 2, raced=raced)
        settings = replace(settings, confirm_runs=runs)
    if not raced:
        prepared.notes.append(no_race_note(prepared.seconds_per_call, settings.confirm_runs))
    elif settings != wanted:
        prepared.notes.append(fitted_note(wanted, settings, claim.rough_epsilon, prepared.seconds_per_call))
    result = replace(
        result,
        settings=settings,
        effort=Effort(
            found.pairs,
            found.events,
            result.effort.search_runs + found.runs,
            result.effort.confirm_runs,
            result.effort.other_runs + prepared.calls + found.noise_free,
        ),
        notes=(*prepared.notes, *request.notes),
        vacuous=found.same,
    )
    pairs = [sampler.pair for sampler in prepared.samplers]
    if found.candidate is None or found.sampler is None:
        return look_exactly(result, described, pairs, claim)
    chosen = [(found.candidate, found.sampler), *([] if found.outside is None else [found.outside])]
    # Where two are tested, each gets half of the significance that is left.
    level = replace(settings, significance=left * settings.significance / len(chosen))
    tested: list[_Tested] = []
    for candidate, sampler in chosen:
        try:
            tested.append(_test(candidate, sampler, claim, level, report, clock=clock))
        except Contradicted as trouble:
            raise trouble.after(trouble.runs + result.effort.runs) from None
    convicted = [one for one in tested if one.verdict is Verdict.VIOLATION]
    best = convicted[0] if convicted else tested[0]
    seconds = 2 * ROUNDING_CALLS * prepared.seconds_per_call
    in_time = clock.choose("test of rounding", 1, lambda: int(seconds <= clock.left or not prepared.costs_calls))
    float_leak, calls = _float_leak(found, claim, settings, report) if in_time else (None, 0)
    besides = convicted[1].evidence if len(convicted) > 1 else None
    notes = [outside_note(best.evidence, besides, found.suspected)] if convicted else []
    # Beside a violation, rounding is no news: `float_leak` holds it.
    notes += [] if float_leak is None or convicted else [float_leak_note(float_leak)]
    effort = Effort(
        found.pairs,
        found.events,
        result.effort.search_runs + sum(one.aimed for one in tested),
        result.effort.confirm_runs + sum(one.confirm_runs for one in tested),
        result.effort.other_runs + calls + sum(one.calls for one in tested),
    )
    vacuous = found.same if best.verdict is Verdict.NOT_FOUND else ""
    result = replace(
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
    return look_exactly(result, described, pairs, claim)


def _sprinted(
    result: Result, prepared: Prepared, request: Request, quick: Sprint, report: Callable[[Progress], None]
) -> Result:
    """The result of a sprint: a violation, or what it took."""
    claim, settings = request.claim, result.settings
    confirm_runs = 0
    for number, (candidate, sampler) in enumerate(quick.proposals()):
        tried = _test(
            candidate, sampler, claim, for_a_try(settings), report, TRY_STREAM + number, clock=prepared.clock
        )
        confirm_runs += tried.confirm_runs
        if tried.verdict is Verdict.VIOLATION:
            other = prepared.calls + quick.noise_free
            outside = outside_note(tried.evidence, None, "")
            return replace(
                result,
                verdict=tried.verdict,
                evidence=tried.evidence,
                detectable_epsilon=detectable(tried.evidence, claim, for_a_try(settings)),
                effort=Effort(len(prepared.samplers), quick.events, quick.runs, confirm_runs, other),
                notes=(*prepared.notes, *request.notes, *filter(None, [outside])),
                make_profile=partial(profile_runs, tried.sampler, tried.evidence.candidate, settings),
            )
    return replace(result, effort=Effort(0, 0, quick.runs, confirm_runs, quick.noise_free))


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
    candidate: Candidate,
    sampler: Sampler,
    claim: Claim,
    settings: Settings,
    report: Callable[[Progress], None],
    stream: int = CONFIRM_STREAM,
    *,
    clock: Clock,
) -> _Tested:
    aimed = aim(sampler, candidate, claim, settings, report)
    evidence = confirm(aimed.sampler, aimed.candidate, claim, settings, report, stream=stream, clock=clock)
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


def _within_time(prepared: Prepared, claim: Claim, settings: Settings) -> Settings:
    """As many runs as the time limit allows, and a note of what they could not see."""
    clock = prepared.clock
    if not math.isfinite(clock.limit):
        return settings
    seconds, runs = prepared.core_seconds(cores(settings)), 0
    if not prepared.costs_calls and not clock.repeats:
        seconds, runs = seconds_per_run(prepared.samplers, settings, clock.limit)
        prepared.set_speed(seconds)
    prepared.add_calls(clock.choose("timing runs", 0, lambda: runs))
    racing = [one.pair for number, one in enumerate(prepared.samplers) if not prepared.waits(number)]
    outside = sum(bool(pair.outside) for pair in racing)
    try:
        plan = settings
        if not clock.repeats:
            plan = fit(settings, claim.rough_epsilon, len(racing), seconds, clock.limit, clock.spent, outside)
    except TooShort:
        clock.choose("race", 1, lambda: 0)
        raise
    if not clock.choose("race", 1, lambda: 1):
        raise TooShort(f"time_limit={clock.limit:g} was too short when the plan was made")
    plan = replace(
        settings,
        search_runs=clock.choose("search runs", settings.search_runs, lambda: plan.search_runs),
        confirm_runs=clock.choose("confirm runs", settings.confirm_runs, lambda: plan.confirm_runs),
    )
    if len(racing) < len(prepared.samplers):
        prepared.notes.append(waiting_note(len(prepared.samplers) - len(racing), len(prepared.samplers)))
    prepared.settings = plan
    return plan


def _runs_to_confirm(prepared: Prepared, claim: Claim, settings: Settings, candidates: int, *, raced: bool) -> int:
    """As many runs for the verdict as there is time for; this is planned before any of them."""
    clock = prepared.clock

    def allowed() -> int:
        if not math.isfinite(clock.limit):
            return settings.confirm_runs
        least = smallest(settings, claim.rough_epsilon).confirm_runs if raced else LEAST_CONFIRM
        runs = int(PART * clock.left / (2 * candidates * prepared.seconds_per_call))
        return min(settings.confirm_runs, max(runs, least))

    return clock.choose("runs to confirm", settings.confirm_runs, allowed)
