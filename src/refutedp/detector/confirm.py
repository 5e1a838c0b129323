"""Confirm: fresh runs for candidates that search fixed beforehand. Nothing is chosen here."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import reduce
from itertools import islice
from operator import add
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from refutedp.events.features.leaks import reads_digits
from refutedp.hypothesis.betting import anytime
from refutedp.hypothesis.betting.anytime import Process
from refutedp.hypothesis.betting.stopped import certify_steered, certify_stopped
from refutedp.hypothesis.certify import bound_of, certify
from refutedp.hypothesis.claim_test import is_ratio, log_p_value
from refutedp.hypothesis.tests import fisher, ratio
from refutedp.model.claims import Claim
from refutedp.model.records import Candidate, Counts, Event, Evidence, Steered
from refutedp.model.settings import Progress, Settings
from refutedp.model.streams import CONFIRM_STREAM, child
from refutedp.sampling.pool.tasks import Pool, Task
from refutedp.sampling.runner import CHUNK, Runner, Way, chunk_sizes

if TYPE_CHECKING:
    from refutedp.detector.plan_importance import Steering
    from refutedp.detector.plan_unpaired import ApartSteering
    from refutedp.hypothesis.betting.importance_bets import SteeredProcess

    How: TypeAlias = Steering | ApartSteering

T = TypeVar("T")

ANEW = 100
"""Added to a stream whose runs could not all be lifted, and are all made again by plain calls."""


def count_fresh(
    runner: Runner,
    candidates: Sequence[Candidate],
    settings: Settings,
    report: Callable[[Progress], None],
    stream: int = CONFIRM_STREAM,
) -> list[Counts]:
    """Hits of each candidate's event on one set of fresh runs; all candidates share the runner's pair and a share."""
    from refutedp.sampling.lifted import CannotLift

    try:
        return _count(_firm(runner, *candidates), candidates, settings, report, stream)
    except CannotLift:
        plain = [replace(candidate, twins=False) for candidate in candidates]
        return _count(replace(runner, way="scalar"), plain, settings, report, stream + ANEW)


def _firm(runner: Runner, *candidates: Candidate) -> Runner:
    """For runs that are evidence, with noise that is right to the last digit where that is what they are to show."""
    return runner.made_firm(exact=any(reads_digits(candidate.event) for candidate in candidates))


def _count(
    runner: Runner,
    candidates: Sequence[Candidate],
    settings: Settings,
    report: Callable[[Progress], None],
    stream: int,
) -> list[Counts]:
    total = 2 * settings.confirm_runs
    sizes = chunk_sizes(total, 2 * CHUNK[runner.way])
    events = tuple(candidate.event for candidate in candidates)
    tasks = [
        _task(runner, candidates[0], events, size, child(settings.seed, stream, number))
        for number, size in enumerate(sizes)
    ]
    parts: list[tuple[Counts, ...]] = []
    done = 0
    for size, part in zip(sizes, Pool(settings.jobs, settings.engine).run(tasks), strict=True):
        parts.append(part)
        done += size
        report(Progress("confirm", done, total))
    return [reduce(add, (part[i] for part in parts)) for i in range(len(events))]


def confirm(
    runner: Runner,
    candidate: Candidate,
    claim: Claim,
    settings: Settings,
    report: Callable[[Progress], None],
    how: How | None = None,
    *,
    stream: int = CONFIRM_STREAM,
) -> Evidence:
    """Fresh runs for one candidate, and what they say about the claim; `how` to steer them, if it is known already.

    With `stop="early"` the runs come in growing batches and an e-process watches them: the claim is rejected as soon
    as it may be, with false alarms at most the significance over all stops and the end together. Runs that cost a
    call each stop there; cheap runs go on, so that the certified bound gets sharp.
    """
    from refutedp.sampling.lifted import CannotLift

    try:
        return _confirm(_firm(runner, candidate), candidate, claim, settings, report, how, stream)
    except CannotLift:
        # Lifting failed on a path that only these runs took. What they said so far counts for nothing.
        candidate, runner = replace(candidate, twins=False, steered=False, apart=False), replace(runner, way="scalar")
        evidence = _confirm(runner, candidate, claim, settings, report, None, stream + ANEW)
        return replace(evidence, fallback=True)


def _confirm(
    runner: Runner,
    candidate: Candidate,
    claim: Claim,
    settings: Settings,
    report: Callable[[Progress], None],
    how: How | None,
    stream: int,
) -> Evidence:
    if candidate.steered:
        if how is not None:
            return _confirm_steered(runner, candidate, claim, settings, report, how)
        candidate = replace(candidate, steered=False, apart=False)
    if settings.method == "fisher" or settings.stop == "fixed":
        (counts,) = _count(runner, [candidate], settings, report, stream)
        return judge(candidate, counts, claim, settings)
    total = 2 * settings.confirm_runs
    process = anytime.start_for(claim, candidate)
    done = decided = 0

    def tasks(size: int, number: int) -> list[Task[tuple[Counts, ...]]]:
        return [
            _task(runner, candidate, (candidate.event,), part, child(settings.seed, stream, number, chunk))
            for chunk, part in enumerate(chunk_sizes(size, 2 * CHUNK[runner.way]))
        ]

    with closing(_in_batches(tasks, settings, runner.way)) as batches:
        for size, parts in batches:
            process = process.update(reduce(add, (counts for (counts,) in parts)))
            done += size
            report(Progress("confirm", done, total))
            if not decided and process.rejects(anytime.early_alpha(settings.significance)):
                decided = process.counts.n_x + process.counts.n_y
                if runner.way == "scalar" or settings.goal == "speed":
                    break
    if decided and done < total:
        return _stopped(process, candidate, claim, settings, decided)
    # The e-process has used up a part of the significance; the bound is at what is left of it.
    at_end = anytime.bound_confidence(settings.significance, early=False)
    whole = judge(candidate, process.counts, claim, settings, at_end)
    return replace(
        whole,
        log_p_value=anytime.log_p_at_the_end(process, whole.log_p_value),
        rule="early" if decided else "fixed",
        decided_after=decided or done,
    )


def _in_batches(
    tasks: Callable[[int, int], list[Task[T]]], settings: Settings, way: Way
) -> Generator[tuple[int, list[T]], None, None]:
    """The size of each batch and what its tasks gave; those of the next batches are under way on other cores."""
    sizes = list(_batches(settings, way))
    batches = [tasks(size, number) for number, size in enumerate(sizes)]
    results = Pool(settings.jobs, settings.engine).run([task for batch in batches for task in batch])
    try:
        for size, batch in zip(sizes, batches, strict=True):
            yield size, list(islice(results, len(batch)))
    finally:
        results.close()


def _batches(settings: Settings, way: Way) -> Iterator[int]:
    total = 2 * settings.confirm_runs
    if settings.goal == "bound" and way != "scalar":
        return anytime.batches(total, growth=anytime.ANYWAY)
    if settings.goal == "speed":
        return anytime.batches(total, first=anytime.FIRST_SOON, growth=anytime.SOON)
    return anytime.batches(total)


def steering_for(runner: Runner, candidate: Candidate, claim: Claim, settings: Settings) -> How | None:
    """How to steer the runs of a candidate that wants that, where it is not known yet; None if it cannot be done."""
    if not candidate.steered:
        return None
    from refutedp.detector.plan_importance import pilots
    from refutedp.detector.plan_unpaired import apart
    from refutedp.sampling.lifted import CannotLift

    try:
        piloted = pilots(runner, candidate, claim, settings)
    except CannotLift:
        return None
    if piloted is None:
        return None
    return (apart(piloted) if candidate.apart else None) or piloted.pairs()


def _confirm_steered(
    runner: Runner,
    candidate: Candidate,
    claim: Claim,
    settings: Settings,
    report: Callable[[Progress], None],
    how: How,
) -> Evidence:
    """Fresh runs whose noise is drawn towards the event, and weighed."""
    from refutedp.sampling.lifted import CannotLift

    total = 2 * settings.confirm_runs
    process: SteeredProcess[Any] = how.start(claim.tangents()[0] if is_ratio(claim) else how.line)
    done = decided = 0

    def tasks(size: int, number: int) -> list[Task[Any]]:
        return [
            how.task(runner, candidate.event, part, child(settings.seed, CONFIRM_STREAM, number, chunk))
            for chunk, part in enumerate(chunk_sizes(size, 2 * CHUNK["lifted"]))
        ]

    try:
        with closing(_in_batches(tasks, settings, runner.way)) as batches:
            for size, parts in batches:
                process = process.update(reduce(add, parts))
                done += size
                report(Progress("confirm", done, total))
                if not decided and process.rejects(settings.significance):
                    decided = process.hits.runs
                    if settings.goal == "speed":
                        break
    except CannotLift:
        pass  # A path that only now shows itself cannot be lifted: the evidence so far stands, and a second test
        # after it would have a second chance of a false alarm.
    certified = certify_steered(process, 1 - settings.significance, claim, how.rates)
    letter, bound = bound_of(certified, claim)
    return Evidence(
        candidate=replace(candidate, share=how.share),
        counts=replace(process.hits.counts, share=how.share),
        method=settings.method,
        log_p_value=min(0.0, -process.log_peak),
        log_p_reverse=0.0,
        epsilon_lower_bound=certified.epsilon,
        confidence=1 - settings.significance,
        rule="early" if decided else "fixed",
        decided_after=decided or process.hits.runs,
        bound_letter=letter,
        bound=bound,
        steered=Steered(process.hits.rates, process.hits.spreads),
    )


def _task(
    runner: Runner, candidate: Candidate, events: tuple[Event, ...], runs: int, seeds: np.random.SeedSequence
) -> Task[tuple[Counts, ...]]:
    """One chunk of `runs` runs in all, in the way that was chosen with the candidate."""
    if candidate.twins:
        return Task(runner.twins, (events, runs // 2, seeds), runner.what)
    return Task(runner.count, (events, runs, candidate.share, seeds), runner.what)


def _stopped(process: Process, candidate: Candidate, claim: Claim, settings: Settings, decided: int) -> Evidence:
    """The evidence at an early stop: everything in it is valid whenever one stops."""
    confidence = anytime.bound_confidence(settings.significance, early=True)
    certified = certify_stopped(process, confidence, claim, candidate.search)
    letter, bound = bound_of(certified, claim)
    return Evidence(
        candidate=candidate,
        counts=process.counts,
        method=settings.method,
        log_p_value=anytime.log_p_any_time(process),
        log_p_reverse=0.0,
        epsilon_lower_bound=certified.epsilon,
        confidence=1 - settings.significance,
        rule="early",
        decided_after=decided,
        bound_letter=letter,
        bound=bound,
    )


def judge(
    candidate: Candidate, counts: Counts, claim: Claim, settings: Settings, confidence: float | None = None
) -> Evidence:
    """The test of a fixed number of runs against the claim, in the candidate's direction.

    Its bounds hold with `confidence`, where that is not the one that the settings promise.
    """
    promised = 1 - settings.significance
    epsilon, letter, bound = _bounds(counts, promised if confidence is None else confidence, claim, candidate)
    if is_ratio(claim):
        evidence = weigh(candidate, counts, claim.epsilon, settings, epsilon)  # type: ignore[attr-defined]
        return replace(evidence, bound_letter=letter, bound=bound)
    return Evidence(
        candidate=candidate,
        counts=counts,
        method=settings.method,
        log_p_value=log_p_value(counts, claim, candidate.tangent),
        log_p_reverse=0.0,
        epsilon_lower_bound=epsilon,
        confidence=promised,
        decided_after=counts.n_x + counts.n_y,
        bound_letter=letter,
        bound=bound,
    )


def _bounds(counts: Counts, confidence: float, claim: Claim, candidate: Candidate) -> tuple[float, str, float]:
    """Epsilon at the claim's delta, and the claim's own currency with its letter."""
    if is_ratio(claim):
        epsilon = ratio.epsilon_lower_bound(counts, confidence)
        return epsilon, "ε", max(epsilon, 0.0)
    certified = certify(counts, confidence, claim, candidate.tangent)
    return certified.epsilon, *bound_of(certified, claim)


def weigh(
    candidate: Candidate, counts: Counts, epsilon: float, settings: Settings, bound: float | None = None
) -> Evidence:
    """The verdict of the counts on P1 <= e^epsilon P2, in the candidate's direction; `bound` if it is known."""
    test = fisher.log_p_value if settings.method == "fisher" else ratio.log_p_value
    confidence = 1 - settings.significance
    return Evidence(
        candidate=candidate,
        counts=counts,
        method=settings.method,
        log_p_value=test(counts, epsilon),
        log_p_reverse=test(counts.swapped(), epsilon),
        epsilon_lower_bound=ratio.epsilon_lower_bound(counts, confidence) if bound is None else bound,
        confidence=confidence,
        decided_after=counts.n_x + counts.n_y,
    )
