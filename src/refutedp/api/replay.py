"""The same counterexample on fresh runs: from a saved result, or from its parts written out in a test."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from refutedp.api.check import agreed_claim, bounded, reporting
from refutedp.api.load import load_mechanism
from refutedp.api.saved.to_json import event_from_builtins, load
from refutedp.detector.confirm import confirm
from refutedp.detector.confirmations import confirmation_of, named
from refutedp.detector.cross_examine import Contradicted, cross_examine
from refutedp.detector.exactly import prove_again
from refutedp.detector.pieces import proof_by_pieces
from refutedp.detector.plan import planned
from refutedp.detector.profile import profile_runs
from refutedp.detector.result import Effort, Result, Sweep, Verdict
from refutedp.detector.trials import TRIAL_RUNS
from refutedp.detector.verdict import detectable, distrust_note, verdict_of
from refutedp.events.predicates import Pieces
from refutedp.explain.told import explained_later
from refutedp.hypothesis.claim_test import claim_test, search_rates
from refutedp.model.claims import Claim, Tangent, claim_from_dict
from refutedp.model.errors import MechanismError, UsageError
from refutedp.model.mechanism import Mechanism, describe, origin_of
from refutedp.model.records import Candidate, Counts, Event, Pair
from refutedp.model.settings import (
    LOOK_STREAM,
    PROOF_STREAM,
    TRIAL_STREAM,
    Options,
    Progress,
    Settings,
    child,
    settings_from,
)
from refutedp.sampling.pool.tasks import engine_running
from refutedp.sampling.sampler import Sampler, Samplers, as_written

LOOK_RUNS = 20_000


def replay(saved: str | os.PathLike[str] | Result, mechanism: Any = None, **options: Unpack[Options]) -> Result:
    """Test a saved counterexample on fresh runs: same inputs, arguments, event and direction, another seed.

    The mechanism is imported from the saved reference unless given. `seed` is the saved one plus one unless given,
    so that the runs are fresh and the replay repeats; other options override the saved settings.

    >>> from refutedp import check
    >>> from refutedp.mechanisms import isvt1
    >>> found = check(isvt1, epsilon=1.0, args={"threshold": 1}, search_runs=500, confirm_runs=500)
    >>> replay(found).verdict
    <Verdict.VIOLATION: 'violation'>
    """
    before, folders = _read(saved)
    if before.interrupted:
        raise UsageError(f"there is no event to replay: the check of {before.mechanism}() was interrupted")
    if before.evidence is None and before.exact is None:
        raise UsageError(f"there is no event to replay: {before.mechanism}() always gave the same output")
    function = load_mechanism(_reference(before), folders=folders) if mechanism is None else mechanism
    # The counterexample is one pair and one event: it needs neither the cluster nor the time limit of the search.
    fresh = replace(before.settings, seed=before.settings.seed + 1, engine="local", scheduler=None, time_limit=None)
    settings = settings_from(fresh, options, of=replay)
    origin = origin_of(function)
    if mechanism is None and before.origin is not None:
        origin = replace(origin, reference=before.origin.reference)
    described = describe(function, epsilon_name=settings.epsilon_name)
    if before.exact is not None:
        exact = before.exact
        result = _exactly_again(described, exact.pair, exact.event, before.claim, before.adjacency, settings)
    else:
        assert before.evidence is not None
        result = _again(described, before.evidence.candidate, before.claim, before.adjacency, settings)
    notes = result.notes
    if before.origin is not None and before.origin.source and before.origin.sha256 != origin.sha256:
        notes = (*notes, "The mechanism's source has changed since the result was saved.")
    return explained_later(replace(result, notes=notes, origin=origin), described)


def recheck(
    mechanism: Any,
    *,
    epsilon: float | None = None,
    claim: Mapping[str, Any] | Claim | None = None,
    d1: Any,
    d2: Any,
    event: Mapping[str, Any],
    args: Mapping[str, Any] | None = None,
    share: float = 0.5,
    confirmation: str | None = None,
    tangent: tuple[float, float] | None = None,
    settings: Settings | None = None,
    **options: Unpack[Options],
) -> Result:
    """Test one known counterexample on fresh runs, its parts written out; `Result.to_pytest` writes calls of it.

    The event is the data of a saved one, said to be likelier on `d1`. `confirmation` is how fresh runs are made and
    judged: "paired" (unless the settings or the claim forbid that), "allocation", of which `share` go to d1,
    "importance" or "unpaired importance"; "exact" enumerates the mechanism's paths instead. `tangent` is the line
    of the claim's bound that the test aims at, slope and intercept; without it, a few runs tell which.
    `claim` is any claim or its saved data, `epsilon` short for a pure one; when `args` lacks the mechanism's epsilon,
    it gets the claim's.

    >>> from refutedp.mechanisms import histogram
    >>> at_least = {"event": "interval", "of": {"feature": "value", "path": [0]}, "low": 2.0, "high": None}
    >>> recheck(histogram, epsilon=1.0, d1=[2], d2=[1], event=at_least, confirm_runs=2000, seed=1).verdict
    <Verdict.NOT_FOUND: 'not found'>
    """
    chosen = settings_from(settings, options, of=recheck)
    described = describe(mechanism, epsilon_name=chosen.epsilon_name)
    agreed = agreed_claim(claim_from_dict(claim) if isinstance(claim, Mapping) else claim, epsilon)
    arguments = dict(args or {})
    if described.epsilon is not None and hasattr(agreed, "epsilon"):
        arguments.setdefault(described.epsilon, agreed.epsilon)
    if confirmation == "exact":
        pair = Pair(d1, d2, "given", arguments)
        exact = _exactly_again(described, pair, event_from_builtins(event), agreed, "as given", chosen)
        return explained_later(exact, described)
    name = confirmation or ("paired" if _takes_pairs(agreed, chosen) else "allocation")
    candidate = Candidate(
        Pair(d1, d2, "given", arguments),
        event_from_builtins(event),
        named(name, share),
        0.0,
        Counts(0, 0, 0, 0, both=0 if name == "paired" else None),
        None if tangent is None else Tangent(*tangent),
    )
    return explained_later(_again(described, candidate, agreed, "as given", chosen), described)


def _read(saved: str | os.PathLike[str] | Result) -> tuple[Result, list[Path]]:
    if isinstance(saved, Result):
        return saved, []
    loaded = load(saved)
    if isinstance(loaded, Sweep):
        raise UsageError(f"{os.fspath(saved)} holds a sweep: only the result of a check can be replayed")
    return loaded, [Path(saved).resolve().parent]


def _reference(result: Result) -> str:
    if result.origin is None or result.origin.reference is None:
        raise UsageError(
            f"the saved result does not say where to import {result.mechanism}() from: "
            "replay it from Python with replay(path, mechanism)"
        )
    return result.origin.reference


def _again(mechanism: Mechanism, candidate: Candidate, claim: Claim, adjacency: str, settings: Settings) -> Result:
    running = engine_running(settings.engine, settings.scheduler)
    with reporting(settings.progress) as report, running, bounded(settings, mechanism):
        _try_out(mechanism, candidate.pair, settings)
        try:
            return _once(mechanism, candidate, claim, adjacency, settings, report)
        except Contradicted as trouble:
            plain = replace(settings, lift=False)
            again = _once(mechanism, candidate, claim, adjacency, plain, report)
            effort = replace(again.effort, other_runs=again.effort.other_runs + trouble.runs)
            return replace(again, effort=effort, notes=(*again.notes, distrust_note(trouble)))


def _exactly_again(
    mechanism: Mechanism, pair: Pair, event: Event, claim: Claim, adjacency: str, settings: Settings
) -> Result:
    """The same arithmetic anew: a violation, or none by this event."""
    notes: tuple[str, ...] = ()
    with bounded(settings, mechanism):
        if isinstance(event, Pieces):
            try:
                sampler, _ = Samplers(mechanism, settings.on_error, lift=settings.lift).of(
                    pair, child(settings.seed, PROOF_STREAM)
                )
                exact, calls = proof_by_pieces(sampler, event, claim, settings)
            except Contradicted as trouble:
                exact, calls, notes = None, trouble.runs, (distrust_note(trouble),)
        else:
            exact, calls = prove_again(mechanism, pair, event, claim, settings)
    return Result(
        verdict=Verdict.NOT_FOUND if exact is None else Verdict.VIOLATION,
        mechanism=mechanism.name,
        claim=claim,
        adjacency=adjacency,
        evidence=None,
        detectable_epsilon=math.inf,
        effort=Effort(pairs=1, events=1, search_runs=0, confirm_runs=0, other_runs=calls),
        settings=settings,
        notes=notes,
        origin=origin_of(mechanism.function),
        exact=exact,
    )


def _once(
    mechanism: Mechanism,
    candidate: Candidate,
    claim: Claim,
    adjacency: str,
    settings: Settings,
    report: Callable[[Progress], None],
) -> Result:
    samplers = Samplers(mechanism, settings.on_error, lift=settings.lift)
    sampler, refusal = samplers.of(candidate.pair, child(settings.seed, PROOF_STREAM))
    other = 2 * TRIAL_RUNS + samplers.calls
    candidate, looked = _aimed(sampler, candidate, claim, settings)
    candidate = _as_asked(planned(sampler, candidate, claim, settings), sampler, claim, settings)
    evidence = confirm(sampler, candidate, claim, settings, report)
    confirm_runs = evidence.counts.n_x + evidence.counts.n_y
    try:
        examination = cross_examine(sampler, evidence, claim, settings, report)
    except Contradicted as trouble:
        raise trouble.after(confirm_runs + other + looked) from None
    other += looked + (0 if examination is None else examination.calls)
    return Result(
        verdict=verdict_of(evidence, settings),
        mechanism=mechanism.name,
        claim=claim,
        adjacency=adjacency,
        evidence=evidence,
        detectable_epsilon=detectable(evidence, claim, settings),
        effort=Effort(pairs=1, events=1, search_runs=0, confirm_runs=confirm_runs, other_runs=other),
        settings=settings,
        notes=(f"Every run was one call, for the function cannot be lifted: {refusal}",) if refusal else (),
        origin=origin_of(mechanism.function),
        examination=examination,
        make_profile=partial(profile_runs, sampler, candidate, settings),
    )


def _aimed(sampler: Sampler, candidate: Candidate, claim: Claim, settings: Settings) -> tuple[Candidate, int]:
    """With the line of the claim's bound to aim at, which a few runs tell where it was not given; how many."""
    test = claim_test(claim)
    if candidate.tangent is not None or not test.carries_tangent:
        return candidate, 0
    (counts,) = sampler.count((candidate.event,), LOOK_RUNS, 0.5, child(settings.seed, LOOK_STREAM))
    line = test.line(*search_rates(counts), candidate.confirmation.share)
    return replace(candidate, search=counts, tangent=line), LOOK_RUNS


def _as_asked(candidate: Candidate, sampler: Sampler, claim: Claim, settings: Settings) -> Candidate:
    """Paired runs only where the claim, the settings, which may be new ones, and the mechanism allow them."""
    strategy = confirmation_of(candidate)
    if not strategy.needs_pairs or (sampler.shares_noise and _takes_pairs(claim, settings)):
        return candidate
    return replace(candidate, confirmation=strategy.by_plain_calls())


def _takes_pairs(claim: Claim, settings: Settings) -> bool:
    return settings.paired and settings.method != "fisher" and claim_test(claim).takes_pairs


def _try_out(mechanism: Mechanism, pair: Pair, settings: Settings) -> None:
    """A mechanism that now fails on every run is no fixed mechanism."""
    sampler = as_written(mechanism, pair, settings.on_error)
    seeds = child(settings.seed, TRIAL_STREAM)
    runs = sampler.run(TRIAL_RUNS, TRIAL_RUNS, seeds)
    if all(group.shape.error for side in (runs.first, runs.second) for group in side.groups):
        try:
            replace(sampler, on_error="raise").run(1, 1, seeds)
        except MechanismError as error:
            raise MechanismError(f"{mechanism.name}() failed on every trial run: {error}") from error
        raise MechanismError(f"{mechanism.name}() failed on nearly every trial run: its outputs cannot be tested")
