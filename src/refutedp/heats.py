"""Heats: the best events of the best pairs, ranked anew on fresh runs until one is left.

The best-looking of thousands of events owes part of its looks to luck. Only fresh runs count here, at a level divided
among the events that are still in the race.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from refutedp.events.select import HOPEFUL, Scored, complexity
from refutedp.records import Event, count_hits
from refutedp.sampling.pool import Pool, Task
from refutedp.sampling.runner import Runner
from refutedp.sampling.seeds import child
from refutedp.settings import Progress, Settings
from refutedp.stats.claim_scoring import LineScorer, RatioClaimScorer

HEAT_STREAM = 12
HEATS = ((6, 1), (3, 2))
"""How many pairs are in each heat, and on how many fresh runs in units of the search runs."""
LAST_CONTENDERS = 8
"""Events in every heat but the first: the fewer, the less luck has to be paid for."""
_NEAR = 0.003


@dataclass(frozen=True, slots=True)
class Contender:
    """An event of a pair with its hits on the fresh runs of the heats so far."""

    found: Scored
    x: int = 0
    y: int = 0
    score: float = -math.inf


@dataclass(frozen=True, slots=True)
class Finalist:
    """A pair with its contenders and the fresh runs a side they have been ranked on."""

    number: int
    runner: Runner
    contenders: tuple[Contender, ...]
    runs: int = 0

    @property
    def score(self) -> float:
        """That of its best event."""
        return max(one.score for one in self.contenders)


@dataclass(frozen=True, slots=True)
class Winner:
    """The event that won with all its hits, the fresh runs a side it was ranked on, and those of all heats."""

    runner: Runner
    event: Scored
    runs: int
    all_runs: int


def distinct(events: Sequence[Scored]) -> tuple[Contender, ...]:
    """One contender for all events with the same hits, which are the same event in other words: the shortest."""
    shortest: dict[tuple[int, int, bool], Scored] = {}
    for scored in sorted(events, key=lambda scored: complexity(scored.event)):
        shortest.setdefault((scored.x, scored.y, scored.swapped), scored)
    return tuple(Contender(scored) for scored in shortest.values())


def still_racing(finalists: Sequence[Finalist], pairs: int) -> list[Finalist]:
    """The best contenders, of the best pairs."""
    best = sorted(finalists, key=lambda one: -one.score)[:pairs]
    scores = sorted((contender.score for one in best for contender in one.contenders), reverse=True)
    least = scores[:LAST_CONTENDERS][-1]
    racing = []
    for one in best:
        contenders = tuple(contender for contender in one.contenders if contender.score >= least)
        if contenders:
            racing.append(replace(one, contenders=contenders))
    return racing


@dataclass(frozen=True, slots=True)
class Heats:
    """What all heats have in common."""

    scorer: RatioClaimScorer | LineScorer
    settings: Settings
    report: Callable[[Progress], None]

    def run(self, finalists: Sequence[Finalist]) -> Winner:
        """The event that holds up best, after heats on ever more fresh runs."""
        all_runs = 0
        pool = Pool(self.settings.jobs, self.settings.engine)
        for heat, (pairs, units) in enumerate(HEATS):
            if heat:
                finalists = still_racing(finalists, pairs)
            runs = units * self.settings.search_runs
            tasks = [
                Task(
                    count_events,
                    (
                        one.runner,
                        tuple(contender.found.event for contender in one.contenders),
                        runs,
                        child(self.settings.seed, HEAT_STREAM, heat, one.number),
                    ),
                    one.runner.what,
                )
                for one in finalists
            ]
            level = HOPEFUL / sum(len(one.contenders) for one in finalists)
            ranked = []
            for one, hits in zip(finalists, pool.run(tasks), strict=True):
                ranked.append(self._ranked(one, hits, runs, level))
                self.report(Progress("rank", 2 * runs * len(ranked), 2 * runs * len(tasks)))
            finalists = ranked
            all_runs += 2 * runs * len(tasks)
        return _choose(finalists, all_runs)

    def _ranked(self, one: Finalist, hits: Sequence[tuple[int, int]], runs: int, level: float) -> Finalist:
        """Score each event on its fresh runs alone: its search runs are why it is here, and flatter it."""
        contenders = []
        for old, (first, second) in zip(one.contenders, hits, strict=True):
            x, y = (second, first) if old.found.swapped else (first, second)
            x, y = old.x + x, old.y + y
            contenders.append(Contender(old.found, x, y, self._bound(x, y, one.runs + runs, level)))
        return Finalist(one.number, one.runner, tuple(contenders), one.runs + runs)

    def _bound(self, x: int, y: int, runs: int, level: float) -> float:
        return float(self.scorer.with_runs(runs).exact(np.array([x]), np.array([y]), level)[0])


def count_events(
    runner: Runner, events: tuple[Event, ...], n: int, seeds: np.random.SeedSequence
) -> list[tuple[int, int]]:
    """Hits of each event on n runs a side."""
    runs = runner.sample(n, seeds)
    return [(count_hits(event, runs.first), count_hits(event, runs.second)) for event in events]


def _choose(finalists: Sequence[Finalist], all_runs: int) -> Winner:
    """The best event of all; among those within three thousandths of it, the one that is shortest to explain."""
    ranked = [(one, contender) for one in finalists for contender in one.contenders]
    top = max(contender.score for _, contender in ranked)
    near = [(one, contender) for one, contender in ranked if contender.score >= top - _NEAR * abs(top)]
    one, best = min(near, key=lambda oc: (_length(oc[0].runner) + complexity(oc[1].found.event), -oc[1].score))
    found = best.found
    event = replace(found, x=found.x + best.x, y=found.y + best.y, score=best.score)
    return Winner(one.runner, event, one.runs, all_runs)


def _length(runner: Runner) -> int:
    try:
        return len(runner.pair.d1)
    except TypeError:
        return 1
