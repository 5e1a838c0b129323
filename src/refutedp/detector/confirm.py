"""Confirm: fresh runs for candidates that search fixed beforehand. Nothing is chosen here.

One loop serves every strategy (`confirmations`): batches of tasks, an e-process that watches them, and the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from refutedp.detector.clock import Clock
from refutedp.detector.confirmations import Confirmation, Stop, confirmation_of, judge
from refutedp.events.predicates import reads_digits
from refutedp.hypothesis.betting import anytime
from refutedp.model.claims import Claim
from refutedp.model.records import Candidate, Counts, Evidence
from refutedp.model.settings import ANEW, CONFIRM_STREAM, Progress, Settings, child
from refutedp.sampling.pool.tasks import Task, pool_for
from refutedp.sampling.sampler import CannotSample, Sampler, chunk_sizes

T = TypeVar("T")


def count_fresh(
    sampler: Sampler, candidate: Candidate, settings: Settings, report: Callable[[Progress], None]
) -> Counts:
    """Hits of the candidate's event on all confirmation runs."""
    strategy = confirmation_of(candidate)
    try:
        return _count(_strict(sampler, candidate), candidate, strategy, settings, report, CONFIRM_STREAM)
    except CannotSample:
        plain = strategy.by_plain_calls()
        return _count(sampler.by_plain_calls(), candidate, plain, settings, report, CONFIRM_STREAM + ANEW)


def _strict(sampler: Sampler, candidate: Candidate) -> Sampler:
    """For runs that are evidence, with noise that is right to the last digit where that is what they are to show."""
    return sampler.for_evidence(exact=reads_digits(candidate.event))


def _count(
    sampler: Sampler,
    candidate: Candidate,
    strategy: Confirmation,
    settings: Settings,
    report: Callable[[Progress], None],
    stream: int,
) -> Counts:
    total = 2 * settings.confirm_runs
    sizes = chunk_sizes(total, 2 * sampler.chunk)
    tasks = [
        strategy.task(sampler, (candidate.event,), size, child(settings.seed, stream, number))
        for number, size in enumerate(sizes)
    ]
    parts: list[tuple[Counts, ...]] = []
    done = 0
    for size, part in zip(sizes, pool_for(settings, costs_calls=sampler.costs_calls).run(tasks), strict=True):
        parts.append(part)
        done += size
        report(Progress("confirm", done, total))
    counts: Counts = strategy.joined(parts)
    return counts


def confirm(
    sampler: Sampler,
    candidate: Candidate,
    claim: Claim,
    settings: Settings,
    report: Callable[[Progress], None],
    *,
    stream: int = CONFIRM_STREAM,
    clock: Clock | None = None,
) -> Evidence:
    """Fresh runs for one candidate, and what they say about the claim.

    With `stop="early"` the runs come in growing batches and an e-process watches them: the claim is rejected as soon
    as it may be, with false alarms at most the significance over all stops and the end together. Runs that cost a
    call each stop there; cheap runs go on, so that the certified bound gets sharp. They also stop when the time is
    up; then the e-process alone speaks, which is valid whenever one stops.
    """
    clock = Clock() if clock is None else clock
    try:
        return _confirm(_strict(sampler, candidate), candidate, claim, settings, report, stream, clock)
    except CannotSample:
        # Lifting failed on a path that only these runs took. What they said so far counts for nothing.
        candidate = replace(candidate, confirmation=confirmation_of(candidate).by_plain_calls())
        plain = sampler.by_plain_calls()
        evidence = _confirm(plain, candidate, claim, settings, report, stream + ANEW, clock)
        return replace(evidence, fallback=True)


def _confirm(
    sampler: Sampler,
    candidate: Candidate,
    claim: Claim,
    settings: Settings,
    report: Callable[[Progress], None],
    stream: int,
    clock: Clock,
) -> Evidence:
    strategy = confirmation_of(candidate)
    if settings.method == "fisher" or (settings.stop == "fixed" and not strategy.needs_plan):
        return judge(candidate, _count(sampler, candidate, strategy, settings, report, stream), claim, settings)
    settings = strategy.budget(settings)
    total = 2 * settings.confirm_runs
    process = strategy.start(claim, candidate)
    done = decided = 0

    def tasks(size: int, number: int) -> list[Task[object]]:
        return [
            strategy.task(sampler, (candidate.event,), part, child(settings.seed, stream, number, chunk))
            for chunk, part in enumerate(chunk_sizes(size, 2 * sampler.chunk))
        ]

    try:
        planned = strategy.batches()
        sizes = list(_batches(settings, sampler.costs_calls)) if planned is None else planned
        made = _in_batches(tasks, sizes, settings, costs_calls=sampler.costs_calls)
        with closing(clock.cut("confirmation batches", made, lambda: clock.left == 0)) as batches:
            for size, parts in batches:
                process = process.update(strategy.joined(parts))
                done += size
                report(Progress("confirm", done, total))
                if settings.stop == "fixed" or decided:
                    continue
                if process.rejects(strategy.level(settings.significance)):
                    decided = process.hits.runs
                    if sampler.costs_calls or settings.goal == "speed":
                        break
    except CannotSample:
        if not strategy.stands_if_cut_short:
            raise
    return strategy.evidence(process, Stop(decided, done, early=done < total), candidate, claim, settings)


def _in_batches(
    tasks: Callable[[int, int], list[Task[T]]], sizes: Sequence[int], settings: Settings, *, costs_calls: bool
) -> Generator[tuple[int, list[T]], None, None]:
    """The size of each batch and what its tasks gave; those of the next batches are under way on other cores."""
    batches = [tasks(size, number) for number, size in enumerate(sizes)]
    results = pool_for(settings, costs_calls=costs_calls).run([task for batch in batches for task in batch])
    try:
        for size, batch in zip(sizes, batches, strict=True):
            yield size, list(islice(results, len(batch)))
    finally:
        results.close()


def _batches(settings: Settings, costs_calls: bool) -> Iterator[int]:
    total = 2 * settings.confirm_runs
    if settings.goal == "bound" and not costs_calls:
        return anytime.batches(total, growth=anytime.ANYWAY)
    if settings.goal == "speed":
        return anytime.batches(total, first=anytime.FIRST_SOON, growth=anytime.SOON)
    return anytime.batches(total)
