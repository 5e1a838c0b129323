"""The paper's loop: inputs, search, confirmation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from refutedp.adapted import own_of
from refutedp.aiming import aim
from refutedp.budget import fit, seconds_per_run
from refutedp.claims import Claim, PureDP
from refutedp.confirm import confirm
from refutedp.detector.cross_examine import Contradicted, cross_examine
from refutedp.errors import UsageError
from refutedp.inputs.adjacency import ALL_DIFFER, ONE_DIFFERS, Adjacency
from refutedp.mechanism import Mechanism, describe
from refutedp.origin import origin_of
from refutedp.prepare import Prepared, prepare
from refutedp.profile import Profile, profile_of
from refutedp.records import Candidate, Counts, Evidence, Examination
from refutedp.report.progress import reporting
from refutedp.report.text import float_leak_note, p_value_text
from refutedp.results import Effort, Result, Verdict
from refutedp.sampling.pool import engine_running
from refutedp.sampling.runner import Runner
from refutedp.sampling.seeds import child
from refutedp.search import Found, search
from refutedp.settings import Options, Progress, Settings, settings_from
from refutedp.stats.claim_scoring import scorer_for
from refutedp.stats.power import can_ever_convict, detectable_epsilon
from refutedp.stats.verdict import is_ratio, log_p_value

_HINT = 0.05
PROFILE_STREAM, ROUNDING_STREAM = 20, 21
OTHER_RUNS, OTHER_CALLS = (10_000, 50_000), (500, 2_000)
"""Search and confirmation runs of the small check under the other adjacency: lifted ones, or calls."""
ROUNDING_CALLS = 4_000
"""Calls a side, at most, to confirm a leak through rounding, which is blatant when it is there."""
ROUNDING_LEVEL = 1e-9
"""Such calls go on until they are as sure as this: a few more make a better note."""
PROFILE_RUNS = {"lifted": 20_000, "batched": 20_000, "scalar": 1_000}
"""Runs a side for the figures of a report; few where each is a Python call."""
CHECK_KEYWORDS = ("claim", "epsilon", "adjacency", "args", "pairs", "inputs", "settings")
"""What `check` takes besides options, to suggest where one is misspelt."""


def check(
    mechanism: Any,
    claim: Claim | None = None,
    *,
    epsilon: float | None = None,
    adjacency: Adjacency | None = None,
    args: Mapping[str, Any] | None = None,
    pairs: Sequence[Any] | None = None,
    inputs: Any = None,
    settings: Settings | None = None,
    **options: Unpack[Options],
) -> Result:
    """Search for a counterexample to the claim, then test the best one on fresh runs.

    `epsilon=0.5` is short for the claim `PureDP(0.5)`. The claim's numbers are handed to the mechanism's parameters
    of the same names: `epsilon` (or `eps`), `delta`, `rho`, `mu`, `alpha`. The probability of a false alarm is at
    most `significance`, whatever was searched.

    `adjacency` says which inputs are neighbours: ALL_DIFFER unless it is given, and then a violation is also looked
    for under ONE_DIFFERS, and what was found there is told. `pairs` are tried as they are. `inputs` is a data set, a
    list of data sets or a Hypothesis strategy of them, and their neighbours are tried; without either, patterns that
    suit the adjacency are.

    >>> def leaky(queries, epsilon, rng):
    ...     return sum(queries) + rng.laplace(scale=1 / epsilon)      # five queries may change, noise for one
    >>> result = check(leaky, epsilon=1.0, search_runs=2000, confirm_runs=5000, lengths=(5,))
    >>> result.verdict.value
    'violation'
    """
    started = time.monotonic()
    chosen = settings_from(settings, dict(options), also=CHECK_KEYWORDS)
    own = own_of(mechanism)
    claim, adjacency, own_pairs = own.defaults(claim, epsilon, adjacency, pairs)
    pairs = own_pairs if inputs is None else pairs
    described = describe(mechanism, epsilon_name=chosen.epsilon_name)
    agreed = _claim(claim, epsilon)
    _require_enough(agreed, chosen)
    with reporting(chosen.progress) as report, engine_running(chosen.engine, chosen.scheduler):
        request = _Request(
            described, agreed, ALL_DIFFER if adjacency is None else adjacency, args, pairs, inputs, own.notes, started
        )
        result = _trusted(request, chosen, report)
        if adjacency is None and pairs is None and inputs is None and result.verdict is Verdict.VIOLATION:
            return _with_other_adjacency(result, request, report)
        return result


def _trusted(request: _Request, settings: Settings, report: Callable[[Progress], None]) -> Result:
    """The paper's loop; once more by plain calls alone, if the function itself contradicts lifted runs."""
    try:
        return _detect(request, settings, report)
    except Contradicted as trouble:
        again = _detect(request, replace(settings, lift=False), report)
        effort = replace(again.effort, other_runs=again.effort.other_runs + trouble.runs)
        return replace(again, effort=effort, notes=(*again.notes, distrust(trouble)))


def _with_other_adjacency(result: Result, request: _Request, report: Callable[[Progress], None]) -> Result:
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
    other = _trusted(replace(request, adjacency=ONE_DIFFERS), small, report)
    told = {
        Verdict.VIOLATION: f"{ONE_DIFFERS}, the claim breaks too",
        Verdict.NOT_FOUND: f"{ONE_DIFFERS}, no violation was found; if that is meant, say adjacency=ONE_DIFFERS",
        Verdict.INCONCLUSIVE: f"{ONE_DIFFERS}, a small check could not tell; try adjacency=ONE_DIFFERS",
    }[other.verdict]
    note = f"You did not say which inputs are neighbours, so {ALL_DIFFER}. Where {told}."
    runs = sum((other.effort.search_runs, other.effort.confirm_runs, other.effort.other_runs))
    effort = replace(result.effort, other_runs=result.effort.other_runs + runs)
    return replace(result, notes=(note, *result.notes), effort=effort)


@dataclass(frozen=True, slots=True)
class _Request:
    """What is to be checked."""

    mechanism: Mechanism
    claim: Claim
    adjacency: Adjacency
    args: Mapping[str, Any] | None
    pairs: Sequence[Any] | None
    inputs: Any
    notes: tuple[str, ...]
    started: float


def _detect(request: _Request, settings: Settings, report: Callable[[Progress], None]) -> Result:
    """The paper's loop, once; raises `Contradicted` if the function itself contradicts what lifted runs said."""
    described, claim, adjacency = request.mechanism, request.claim, request.adjacency
    prepared = prepare(described, claim, adjacency, request.args, request.pairs, request.inputs, settings, report)
    settings, prepared = _within_time(prepared, claim, settings, request.started)
    found = search(prepared, claim, scorer_for(claim, settings.search_runs), settings, report)
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
    if found.candidate is None or found.runner is None:
        return result
    chosen = [(found.candidate, found.runner), *([] if found.outside is None else [found.outside])]
    # Where two are tested, each gets half of the significance.
    level = replace(settings, significance=settings.significance / len(chosen))
    tested: list[_Tested] = []
    for candidate, runner in chosen:
        try:
            tested.append(_test(candidate, runner, claim, level, report))
        except Contradicted as trouble:
            raise trouble.after(trouble.runs + _all_runs(result.effort)) from None
    convicted = [one for one in tested if one.verdict is Verdict.VIOLATION]
    best = convicted[0] if convicted else tested[0]
    float_leak, calls = _float_leak(found, claim, settings, report)
    notes = _outside_notes(best, convicted[1:], found)
    if float_leak is not None:
        notes.append(float_leak_note(float_leak))
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
        notes=(*result.notes, *notes),
        float_leak=float_leak,
        examination=best.examination,
        vacuous=vacuous,
        outside=convicted[1].evidence if len(convicted) > 1 else None,
        make_profile=partial(profile, best.runner, best.evidence.candidate, settings),
    )


@dataclass(frozen=True, slots=True)
class _Tested:
    """A candidate that was confirmed and cross-examined."""

    runner: Runner
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
    candidate: Candidate, runner: Runner, claim: Claim, settings: Settings, report: Callable[[Progress], None]
) -> _Tested:
    aimed = aim(runner, candidate, claim, settings, report)
    evidence = confirm(aimed.runner, aimed.candidate, claim, settings, report, aimed.steering)
    verdict = verdict_of(evidence, settings)
    tested = _Tested(aimed.runner, evidence, None, verdict, aimed.runs)
    try:
        examination = cross_examine(aimed.runner, evidence, claim, settings, report, aimed.steering)
    except Contradicted as trouble:
        raise trouble.after(tested.aimed + tested.confirm_runs) from None
    return replace(tested, examination=examination)


def _all_runs(effort: Effort) -> int:
    return effort.search_runs + effort.confirm_runs + effort.other_runs


def _outside_notes(best: _Tested, besides: list[_Tested], found: Found) -> list[str]:
    """What there is to say about inputs beyond those that the user gave."""
    outside = best.evidence.pair.outside
    if best.verdict is Verdict.VIOLATION and outside:
        return [f"Only inputs beyond those you gave show it: {outside}. If they cannot occur, use odd=False."]
    for one in besides:
        told = p_value_text(one.evidence.log_p_value)
        return [f"Inputs beyond those you gave break it too: {one.evidence.pair.outside} (p-value {told})."]
    if best.verdict is Verdict.VIOLATION and found.suspected:
        return [f"Inputs beyond those you gave seem to break it too: {found.suspected}. That was not tested."]
    return []


def distrust(trouble: Contradicted) -> str:
    """The note on a lift that the function itself contradicts."""
    return (
        f"Lifted runs of this function were wrong: {trouble}. So every run was a call of the function itself. "
        "Please report the function: this is a bug in RefuteDP, not in it."
    )


def detectable(evidence: Evidence, claim: Claim, settings: Settings) -> float:
    """The smallest real epsilon that this budget would have caught for the event; infinite if it cannot be told."""
    if not is_ratio(claim) or evidence.steered is not None:
        return math.inf
    return detectable_epsilon(evidence.counts, claim.epsilon, settings.significance)  # type: ignore[attr-defined]


def _float_leak(
    found: Found, claim: Claim, settings: Settings, report: Callable[[Progress], None]
) -> tuple[Evidence | None, int]:
    """What plain calls say of the event about rounding, if it convicts, and how many: a test beside the verdict's.

    Last digits are the evidence, so nothing but the function itself may draw them.
    """
    if found.rounding is None:
        return None, 0
    candidate, runner = found.rounding
    brief = replace(
        settings,
        confirm_runs=min(settings.confirm_runs, ROUNDING_CALLS),
        significance=min(settings.significance, ROUNDING_LEVEL),
        method="allocation",
        stop="early",
    )
    evidence = confirm(runner.called_plainly(), candidate, claim, brief, report, stream=ROUNDING_STREAM)
    convicts = evidence.log_p_value <= math.log(settings.significance)
    return (evidence if convicts else None), evidence.counts.n_x + evidence.counts.n_y


def profile(runner: Runner, candidate: Candidate, settings: Settings) -> Profile:
    """How the event's feature is spread on both inputs, on runs that serve no other purpose."""
    runs = min(PROFILE_RUNS[runner.way], settings.confirm_runs)
    sample = runner.sample(runs, child(settings.seed, PROFILE_STREAM))
    return profile_of(candidate.event, sample.first, sample.second)  # type: ignore[arg-type]


def _claim(claim: Any, epsilon: Any) -> Claim:
    if claim is None and epsilon is None:
        raise UsageError("no claim was given: say what the mechanism promises, such as epsilon=0.5")
    if claim is None:
        return PureDP(epsilon)
    if not isinstance(claim, Claim):
        raise UsageError(
            f"claim={claim!r} is not a claim: use PureDP, ApproxDP, ZCDP, RenyiDP, GaussianDP or FDP, "
            "or epsilon=0.5 for short"
        )
    if epsilon is not None and epsilon != getattr(claim, "epsilon", None):
        raise UsageError(f"epsilon={epsilon!r} contradicts claim={claim!r}: give one of the two")
    return claim


def _require_enough(claim: Claim, settings: Settings) -> None:
    """Refuse a budget that could convict nobody, and name the least that could."""

    def enough(runs: int) -> bool:
        if is_ratio(claim):
            return can_ever_convict(runs, runs, claim.epsilon, settings.significance)  # type: ignore[attr-defined]
        return log_p_value(Counts(runs, 0, runs, runs), claim) <= math.log(settings.significance)

    n = settings.confirm_runs
    if enough(n):
        return
    least = n
    while not enough(least):
        least *= 2
        if least > 10**9:
            raise UsageError(f"no number of runs can refute {claim} by a single event: its bound is never exceeded")
    low = least // 2
    while least - low > 1:
        middle = (low + least) // 2
        low, least = (low, middle) if enough(middle) else (middle, least)
    told = f"epsilon={claim.epsilon:g}" if isinstance(claim, PureDP) else str(claim)
    raise UsageError(
        f"confirm_runs={n} can never convict {told} at significance={settings.significance:g}, "
        f"even if every run agreed: use at least {least}"
    )


def _within_time(prepared: Prepared, claim: Claim, settings: Settings, started: float) -> tuple[Settings, Prepared]:
    """As many runs as the time limit allows, if there is one, and a note of what they could not see."""
    if settings.time_limit is None:
        return settings, prepared
    seconds, runs = seconds_per_run(prepared.runners, settings, settings.time_limit)
    epsilon = float(getattr(claim, "epsilon", 1.0))
    plan, note = fit(settings, epsilon, len(prepared.runners), seconds, time.monotonic() - started)
    notes = (*prepared.notes, note) if note else prepared.notes
    return plan, replace(prepared, notes=notes, calls=prepared.calls + runs)


def verdict_of(evidence: Evidence, settings: Settings) -> Verdict:
    """Violation at the significance, inconclusive at 5%, otherwise not found."""
    if evidence.log_p_value <= math.log(settings.significance):
        return Verdict.VIOLATION
    if evidence.log_p_value <= math.log(_HINT):
        return Verdict.INCONCLUSIVE
    return Verdict.NOT_FOUND
