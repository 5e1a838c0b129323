"""Arms of the race: pairs with what was seen of them, and which of their events go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from refutedp.detector.look import Contender, Looked
from refutedp.events.predicates import complexity
from refutedp.model.records import Counts
from refutedp.sampling.pool.tasks import Task
from refutedp.sampling.sampler import Sampler, chunk_sizes

LAST_EVENTS = 8
"""Events in the very last round: the fewer, the less chance has to be paid for."""
_NEAR = 0.003  # of the best score: the shortest of such events is chosen
_LONG, _NEAR_A_LONG_ONE = 8, 0.02
"""A learned sum of so many parts gives way to a shorter event that scores less by this part of it."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A pair in the race: what was seen of it so far, and its events in the last rounds."""

    number: int
    sampler: Sampler
    looked: Looked | None = None
    contenders: tuple[Contender, ...] = ()

    @property
    def seen(self) -> Looked:
        """What the last look saw."""
        assert self.looked is not None, "the pilot looks at every pair"
        return self.looked

    @property
    def score(self) -> float:
        """That of its best event, on the latest runs."""
        return max(one.score for one in self.contenders) if self.contenders else self.seen.score


def still_racing(arms: Sequence[Arm], pairs: int) -> list[Arm]:
    """The best contenders, of the best pairs."""
    best = sorted(arms, key=lambda arm: -arm.score)[:pairs]
    scores = sorted((one.score for arm in best for one in arm.contenders), reverse=True)
    least = scores[:LAST_EVENTS][-1]
    racing = [replace(arm, contenders=tuple(one for one in arm.contenders if one.score >= least)) for arm in best]
    return [arm for arm in racing if arm.contenders]


def tasks_of(arm: Arm, runs: int, seeds: np.random.SeedSequence) -> list[Task[tuple[Counts, ...]]]:
    """The runs of one pair: one task if they are lifted, else several, for as many cores."""
    events = tuple(one.found.event for one in arm.contenders)
    if arm.sampler.shares_noise:
        return [Task(arm.sampler.paired, (events, runs, seeds), arm.sampler.what)]
    sizes = chunk_sizes(runs, arm.sampler.chunk)
    return [
        Task(arm.sampler.paired, (events, size, part), arm.sampler.what)
        for size, part in zip(sizes, seeds.spawn(len(sizes)), strict=True)
    ]


def shortest_of_the_best(arms: Sequence[Arm]) -> tuple[Arm, Contender]:
    """Among the events that score nearly as much as the best one, the one that is shortest to explain."""
    ranked = [(arm, one) for arm in arms for one in arm.contenders]
    best = max((one for _, one in ranked), key=lambda one: one.score)
    less = _NEAR if complexity(best.found.event) <= _LONG else _NEAR_A_LONG_ONE
    near = [both for both in ranked if both[1].score >= best.score - less * abs(best.score)]
    return min(near, key=lambda both: (both[0].sampler.length + complexity(both[1].found.event), -both[1].score))
