"""Confirm: fresh runs for candidates that search fixed beforehand. Nothing is chosen here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add

from refutedp.records import Candidate, Counts, Evidence
from refutedp.sampling.pool import Pool, Task
from refutedp.sampling.runner import CHUNK, Runner, chunk_sizes
from refutedp.sampling.seeds import child
from refutedp.settings import Progress, Settings
from refutedp.stats import allocation, fisher

CONFIRM_STREAM = 2


def count_fresh(
    runner: Runner,
    candidates: Sequence[Candidate],
    settings: Settings,
    report: Callable[[Progress], None],
    stream: int = CONFIRM_STREAM,
) -> list[Counts]:
    """Hits of each candidate's event on one set of fresh runs; all candidates share the runner's pair and a share."""
    total = 2 * settings.confirm_runs
    sizes = chunk_sizes(total, 2 * CHUNK[runner.way])
    events = tuple(candidate.event for candidate in candidates)
    share = candidates[0].share
    tasks = [
        Task(runner.count, (events, size, share, child(settings.seed, stream, number)), runner.what)
        for number, size in enumerate(sizes)
    ]
    parts: list[tuple[Counts, ...]] = []
    done = 0
    for size, part in zip(sizes, Pool(settings.jobs, settings.engine).run(tasks), strict=True):
        parts.append(part)
        done += size
        report(Progress("confirm", done, total))
    return [reduce(add, (part[i] for part in parts)) for i in range(len(events))]


def weigh(candidate: Candidate, counts: Counts, epsilon: float, settings: Settings) -> Evidence:
    """The verdict of the counts on P1 <= e^epsilon P2, in the candidate's direction."""
    test = fisher.log_p_value if settings.method == "fisher" else allocation.log_p_value
    reverse = Counts(counts.y, counts.x, counts.n_y, counts.n_x, 1 - counts.share)
    confidence = 1 - settings.significance
    return Evidence(
        candidate=candidate,
        counts=counts,
        method=settings.method,
        log_p_value=test(counts, epsilon),
        log_p_reverse=test(reverse, epsilon),
        epsilon_lower_bound=allocation.epsilon_lower_bound(counts, confidence),
        confidence=confidence,
    )
