"""The paper's loop: inputs, search, confirmation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from refutedp.adapted import own_of
from refutedp.aiming import aim
from refutedp.budget import fit, seconds_per_run
from refutedp.claims import Claim, PureDP
from refutedp.confirm import confirm, count_fresh, judge
from refutedp.errors import UsageError
from refutedp.inputs.adjacency import ALL_DIFFER, Adjacency
from refutedp.mechanism import Mechanism, describe
from refutedp.origin import origin_of
from refutedp.prepare import Prepared, prepare
from refutedp.profile import Profile, profile_of
from refutedp.records import Candidate, Counts, Evidence
from refutedp.report.progress import reporting
from refutedp.report.text import float_leak_note
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
ROUNDING_RUNS = 50_000
"""Confirmation runs a side for a leak through rounding, which is blatant when it is there."""
PROFILE_RUNS = {"lifted": 20_000, "batched": 20_000, "scalar": 4_000}
"""Runs a side for the figures of a report; few where each is a Python call."""
CHECK_KEYWORDS = ("claim", "epsilon", "adjacency", "args", "pairs", "inputs", "settings")
"""What `check` takes besides options, to suggest where one is misspelt."""


def check(
    mechanism: Any,
    claim: Claim | None = None,
    *,
    epsilon: float | None = None,
    adjacency: Adjacency = ALL_DIFFER,
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

    `pairs` are tried as they are. `inputs` is a data set, a list of data sets or a Hypothesis strategy of them, and
    their neighbours are tried; without either, patterns that suit the adjacency are.

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
        prepared = prepare(described, agreed, adjacency, args, pairs, inputs, chosen, report)
        chosen, prepared = _within_time(prepared, agreed, chosen, started)
        prepared = replace(prepared, notes=(*prepared.notes, *own.notes))
        found = search(prepared, agreed, scorer_for(agreed, chosen.search_runs), chosen, report)
        if found.candidate is None or found.runner is None:
            return _constant(described, agreed, adjacency, found, prepared.notes, chosen)
        aimed = aim(found.runner, found.candidate, agreed, chosen, report)
        evidence = confirm(aimed.runner, aimed.candidate, agreed, chosen, report, aimed.steering)
        float_leak = _float_leak(found, agreed, chosen, report)
    notes = prepared.notes if float_leak is None else (*prepared.notes, float_leak_note(float_leak))
    return Result(
        verdict=verdict_of(evidence, chosen),
        mechanism=described.name,
        claim=agreed,
        adjacency=str(adjacency),
        evidence=evidence,
        detectable_epsilon=detectable(evidence, agreed, chosen),
        effort=Effort(found.pairs, found.events, found.runs + aimed.runs, evidence.counts.n_x + evidence.counts.n_y),
        settings=chosen,
        notes=notes,
        origin=origin_of(described.function),
        profile=profile(aimed.runner, aimed.candidate, chosen),
        float_leak=float_leak,
    )


def detectable(evidence: Evidence, claim: Claim, settings: Settings) -> float:
    """The smallest real epsilon that this budget would have caught for the event; infinite if it cannot be told."""
    if not is_ratio(claim) or evidence.steered is not None:
        return math.inf
    return detectable_epsilon(evidence.counts, claim.epsilon, settings.significance)  # type: ignore[attr-defined]


def _float_leak(
    found: Found, claim: Claim, settings: Settings, report: Callable[[Progress], None]
) -> Evidence | None:
    """What fresh runs say of the event about rounding, if it convicts: a test of its own, beside the verdict's."""
    if found.rounding is None:
        return None
    candidate, runner = found.rounding
    brief = replace(settings, confirm_runs=min(settings.confirm_runs, ROUNDING_RUNS), method="allocation")
    (counts,) = count_fresh(runner, [candidate], brief, report, ROUNDING_STREAM)
    evidence = judge(candidate, counts, claim, brief)
    return evidence if evidence.log_p_value <= math.log(settings.significance) else None


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
    seconds = seconds_per_run(prepared.runners, settings, settings.time_limit)
    epsilon = float(getattr(claim, "epsilon", 1.0))
    plan, note = fit(settings, epsilon, len(prepared.runners), seconds, time.monotonic() - started)
    return plan, replace(prepared, notes=(*prepared.notes, note) if note else prepared.notes)


def verdict_of(evidence: Evidence, settings: Settings) -> Verdict:
    """Violation at the significance, inconclusive at 5%, otherwise not found."""
    if evidence.log_p_value <= math.log(settings.significance):
        return Verdict.VIOLATION
    if evidence.log_p_value <= math.log(_HINT):
        return Verdict.INCONCLUSIVE
    return Verdict.NOT_FOUND


def _constant(
    mechanism: Mechanism,
    claim: Claim,
    adjacency: Adjacency,
    found: Found,
    notes: tuple[str, ...],
    settings: Settings,
) -> Result:
    """Every run on every pair gave the same output: no event has two rates to compare."""
    return Result(
        verdict=Verdict.NOT_FOUND,
        mechanism=mechanism.name,
        claim=claim,
        adjacency=str(adjacency),
        evidence=None,
        detectable_epsilon=math.inf,
        effort=Effort(found.pairs, found.events, found.runs, 0),
        settings=settings,
        notes=(*notes, "Every run gave the same output, whatever the input."),
        origin=origin_of(mechanism.function),
    )
