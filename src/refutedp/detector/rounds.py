"""Rounds: the best events of the best pairs, ranked anew on fresh runs until one is left.

The best-looking of thousands of events owes part of its looks to chance. Only fresh runs count here, at a level
divided among the events that are still in the race.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from operator import add

import numpy as np

from refutedp.events.ranking import OPTIMISTIC, Scored, complexity
from refutedp.hypothesis.scoring import ClaimScorer
from refutedp.hypothesis.tests import paired
from refutedp.model.records import Counts
from refutedp.model.settings import ROUND_STREAM, Progress, Settings, child
from refutedp.sampling.pool.tasks import Pool, Task
from refutedp.sampling.sampler import Sampler, chunk_sizes

ROUNDS = ((6, 1), (2, 2))
"""How many pairs are in each round, and on how many fresh runs in units of the search runs."""
LAST_CONTENDERS = 8
"""Events in every round but the first: the fewer, the less chance has to be paid for."""
ALIKE = 0.02
"""Events whose hits differ by no more than this part have the same prospects: one of them is enough."""
_NEAR = 0.003


@dataclass(frozen=True, slots=True)
class Contender:
    """An event of a pair with its hits on the fresh runs of its last round."""

    found: Scored
    counts: Counts | None = None
    score: float = -math.inf


@dataclass(frozen=True, slots=True)
class Finalist:
    """A pair with its contenders."""

    number: int
    sampler: Sampler
    contenders: tuple[Contender, ...]

    @property
    def score(self) -> float:
        """That of its best event."""
        return max(one.score for one in self.contenders)


@dataclass(frozen=True, slots=True)
class Winner:
    """The event that won, with its hits in search and those in the last round, and the runs of all rounds."""

    sampler: Sampler
    event: Scored
    counts: Counts
    all_runs: int


def distinct(events: Sequence[Scored]) -> tuple[Contender, ...]:
    """One contender for all events with about the same hits, which promise the same: the shortest."""
    kept: list[Scored] = []
    for scored in sorted(events, key=lambda scored: (complexity(scored.event), -scored.optimistic_score)):
        hits = (scored.x, scored.y)
        if not any(one.swapped == scored.swapped and _alike(hits, (one.x, one.y)) for one in kept):
            kept.append(scored)
    return tuple(Contender(scored) for scored in kept)


def _alike(some: tuple[int, ...], others: tuple[int, ...]) -> bool:
    return all(abs(a - b) <= ALIKE * max(a, b) for a, b in zip(some, others, strict=True))


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
class Rounds:
    """What all rounds have in common."""

    scorer: ClaimScorer
    settings: Settings
    report: Callable[[Progress], None]

    def run(self, finalists: Sequence[Finalist]) -> Winner:
        """The event that holds up best, after rounds on ever more fresh runs."""
        all_runs = 0
        pool = Pool(self.settings.jobs, self.settings.engine)
        for stage, (pairs, units) in enumerate(ROUNDS):
            if stage:
                finalists = still_racing(finalists, pairs)
            runs = units * self.settings.search_runs
            batches = [
                _tasks(one, runs, child(self.settings.seed, ROUND_STREAM, stage, one.number)) for one in finalists
            ]
            level = OPTIMISTIC / sum(len(one.contenders) for one in finalists)
            ranked = []
            results = pool.run([task for batch in batches for task in batch])
            for one, batch in zip(finalists, batches, strict=True):
                parts = list(islice(results, len(batch)))
                hits = [reduce(add, counts) for counts in zip(*parts, strict=True)]
                ranked.append(self._ranked(one, hits, level))
                self.report(Progress("rank", 2 * runs * len(ranked), 2 * runs * len(finalists)))
            all_runs += 2 * runs * len(finalists)
            finalists = ranked
        return _choose(finalists, all_runs)

    def _ranked(self, one: Finalist, hits: Sequence[Counts], level: float) -> Finalist:
        """Score each event on the runs of this round alone: its earlier ones are why it is here, and flatter it."""
        contenders = []
        for old, fresh in zip(one.contenders, hits, strict=True):
            counts = fresh.swapped() if old.found.swapped else fresh
            score = self.scorer.on_fresh_runs(
                counts, level, paired=pays_here(counts, self.settings), speed=self.settings.goal == "speed"
            )
            contenders.append(Contender(old.found, counts, score))
        return Finalist(one.number, one.sampler, tuple(contenders))


def _tasks(one: Finalist, runs: int, seeds: np.random.SeedSequence) -> list[Task[tuple[Counts, ...]]]:
    """The runs of one pair: one task if they are lifted, else several, for as many cores."""
    events = tuple(contender.found.event for contender in one.contenders)
    if one.sampler.shares_noise:
        return [Task(one.sampler.paired, (events, runs, seeds), one.sampler.what)]
    sizes = chunk_sizes(runs, one.sampler.chunk)
    return [
        Task(one.sampler.paired, (events, size, part), one.sampler.what)
        for size, part in zip(sizes, seeds.spawn(len(sizes)), strict=True)
    ]


def pays_here(counts: Counts, settings: Settings) -> bool:
    """Whether confirmation is to be on paired runs."""
    return settings.paired and settings.method != "fisher" and paired.pays(counts)


def _choose(finalists: Sequence[Finalist], all_runs: int) -> Winner:
    """The best event of all; among those within three thousandths of it, the one that is shortest to explain."""
    ranked = [(one, contender) for one in finalists for contender in one.contenders]
    top = max(contender.score for _, contender in ranked)
    near = [(one, contender) for one, contender in ranked if contender.score >= top - _NEAR * abs(top)]
    one, best = min(near, key=lambda oc: (oc[0].sampler.length + complexity(oc[1].found.event), -oc[1].score))
    found = best.found
    assert best.counts is not None, "all contenders have run"
    event = replace(found, x=found.x + best.counts.x, y=found.y + best.counts.y, score=best.score)
    return Winner(one.sampler, event, best.counts, all_runs)
