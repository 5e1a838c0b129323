"""What a round of the race does with one pair: run both inputs, and score the events of their outputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from refutedp.events.predicates import complexity, nearly_all
from refutedp.events.ranking import Scored, Search, search_events, search_rounding
from refutedp.events.tables import rounding_features, subtle_features
from refutedp.hypothesis.claim_test import ClaimScorer
from refutedp.model.claims import Claim
from refutedp.model.datasets import container_of
from refutedp.model.records import Counts
from refutedp.model.settings import Settings
from refutedp.sampling.sampler import Runs, Sampler, noise_free_leaves

if TYPE_CHECKING:
    from refutedp.sampling.lifted import CommonNoise

MOST_OPTIMISTIC = 12
"""Events of a pair that come along though only more runs will tell."""
MOST_LANDMARKS = 16
"""Numbers of the inputs that outputs are compared with."""
MOST_CELLS = 20_000_000
"""Runs of a look times leaves of an output, on either side: what bounds memory where outputs are long."""
ALIKE = 0.02
"""Events whose hits differ by no more than this part have the same prospects: one of them is enough."""


@dataclass(frozen=True, slots=True)
class Contender:
    """An event with its hits on the fresh runs of its last round."""

    found: Scored
    counts: Counts | None = None
    score: float = -math.inf


@dataclass(frozen=True, slots=True)
class Looked:
    """The best events of a pair on some runs; of the first look, also the best one about rounding."""

    runs: int
    """On either side."""
    search: Search
    rounding: Scored | None = None
    references: tuple[tuple[Any, ...], ...] = ()
    """The noise-free outputs that events compare with."""
    noise_free: int = 0
    """Calls without noise that these took."""
    same: str = ""
    """What nearly all runs did, if they did."""
    leaves: int = 1
    """Of the longest output."""

    @property
    def score(self) -> float:
        """That of the best event."""
        return self.search.best[0].score if self.search.best else -math.inf

    @property
    def optimistic_score(self) -> float:
        """The best that any of the events may come to."""
        return max((scored.optimistic_score for scored in self.search.best), default=-math.inf)


def look_at(
    sampler: Sampler,
    n: int,
    seeds: np.random.SeedSequence,
    pairs: int,
    claim: Claim,
    scorer: ClaimScorer,
    settings: Settings,
    before: Looked | None,
    common: CommonNoise,
    learn: np.random.SeedSequence | None = None,
) -> Looked:
    """The best events of one of `pairs` pairs on n runs a side.

    The first look, the pilot, tells later ones which subtle features show something, and the noise-free outputs.
    Lifted runs are made on the `common` noise of all pairs. With a seed to `learn`, events of several coordinates are
    learned, too.
    """
    pilot, subtle = before is None, None if before is None else before.search.promising
    runs = sampler.sample(n, seeds, common)
    pair = sampler.pair
    references, calls = _references(sampler, runs) if before is None else (before.references, 0)
    scorer = scorer.on_runs(runs.first.size, sampler.shares_noise and settings.paired and settings.method != "fisher")
    least = 0.0
    if settings.rarity is not None:
        least = settings.rarity * runs.first.size * math.exp(getattr(claim, "epsilon", 0.0))
    if settings.float_leaks == "convict" and subtle is None:
        groups = [*runs.first.groups, *runs.second.groups]
        subtle = (*subtle_features(groups), *rounding_features(groups))
    found = search_events(
        runs.first,
        runs.second,
        references,
        subtle=subtle,
        landmarks=_numbers_in(pair.d1, pair.d2),
        scorer=scorer,
        significance=settings.significance,
        pairs=pairs,
        least_hits=least,
        # The pilot only says who races on, and is too short to tell a rare event from chance.
        optimists=0 if pilot else MOST_OPTIMISTIC,
    )
    if learn is not None:
        from refutedp.events.learned.learn import learned_events

        learned = learned_events(
            runs.first,
            runs.second,
            found.best,
            scorer_on=lambda size: scorer.on_runs(size, getattr(scorer, "paired", False)),
            significance=settings.significance / pairs,
            seed=learn,
        )
        found = replace(found, best=tuple(sorted([*found.best, *learned], key=lambda one: -one.score)))
    rounding = None
    if pilot and settings.float_leaks == "report":
        rounding = search_rounding(
            runs.first, runs.second, scorer=scorer, significance=settings.significance, pairs=pairs
        )
    leaves = max((len(group.columns) for outputs in runs for group in outputs.groups), default=1)
    return Looked(n, found, rounding, references, calls, nearly_all(runs.first, runs.second), leaves)


def _references(sampler: Sampler, runs: Runs) -> tuple[tuple[tuple[Any, ...], ...], int]:
    """The noise-free outputs on both inputs, and how many calls that took."""
    pair = sampler.pair
    sides = ((pair.d1, runs.first), (pair.d2, runs.second))
    found = [noise_free_leaves(sampler.mechanism, data, pair.arguments, outputs) for data, outputs in sides]
    return tuple(dict.fromkeys(leaves for leaves, _ in found if leaves is not None)), sum(calls for _, calls in found)


def _numbers_in(*inputs: Any) -> list[float]:
    """The distinct finite numbers of the inputs, a few at most: a mechanism may let them through."""
    found: dict[float, None] = {}
    for data in inputs:
        container = container_of(data)
        for record in () if container is None else container.records(data):
            cells = record.values() if isinstance(record, Mapping) else record
            cells = cells if isinstance(cells, Iterable) and not isinstance(cells, (str, bytes)) else (cells,)
            numbers = (cell for cell in cells if isinstance(cell, (int, float)) and not isinstance(cell, bool))
            found.update((float(n), None) for n in numbers if abs(n) < 1e300)
    return sorted(found)[:MOST_LANDMARKS]


def distinct(events: Sequence[Scored]) -> tuple[Contender, ...]:
    """One contender for all events with about the same hits, which promise the same: the shortest."""
    kept: list[Scored] = []
    for scored in sorted(events, key=lambda scored: (complexity(scored.event), -scored.optimistic_score)):
        if not any(one.swapped == scored.swapped and _alike(scored, one) for one in kept):
            kept.append(scored)
    return tuple(Contender(scored) for scored in kept)


def _alike(one: Scored, other: Scored) -> bool:
    return all(abs(a - b) <= ALIKE * max(a, b) for a, b in ((one.x, other.x), (one.y, other.y)))
