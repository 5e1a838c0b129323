"""Search: run every pair, look at every event, and fix one candidate (pair, event, direction) for confirmation.

Three rounds. A pilot looks at every pair with a tenth of the budget; if it already shows a violation beyond doubt,
only the best pairs stay in the race. The main round spends the budget on the pairs that are left. The last round
ranks the best events of the best pairs anew with fresh runs, for the best-looking of thousands of events owes part of
its looks to luck. Everything here may be peeked at and repeated: confirmation is fresh.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from refutedp.claims import PureDP
from refutedp.events.select import Scored, Search, complexity, search_events
from refutedp.prepare import Prepared
from refutedp.records import Candidate, Counts, Event, Scorer, count_hits
from refutedp.sampling.noise_free import noise_free_leaves
from refutedp.sampling.pool import Pool, Task
from refutedp.sampling.runner import Runner, Runs, join
from refutedp.sampling.seeds import child
from refutedp.settings import Progress, Settings

PILOT_STREAM, MAIN_STREAM, RANKING_STREAM = 10, 11, 12
PILOT_SHARE = 10
"""The pilot takes one in this many of the runs of a pair."""
RACERS = 6
"""Pairs that stay in the race once a violation is beyond doubt."""
FINALISTS = 3
"""Pairs whose best events are ranked anew."""
RANKING_LEVEL = 0.005
"""Level of the bounds that rank the finalists: strict enough for luck among dozens, mild enough for rare events."""
_NEAR = 0.01


@dataclass(frozen=True, slots=True)
class Found:
    """What search chose, and how much it looked at; no candidate when no event was seen at all."""

    candidate: Candidate | None
    runner: Runner | None
    pairs: int
    events: int
    runs: int


@dataclass(frozen=True, slots=True)
class _Racer:
    """A pair about to run, with the runs of the pilot."""

    number: int
    runner: Runner
    earlier: Runs | None = None


@dataclass(frozen=True, slots=True)
class _Looked:
    """A pair with its best events after a round, and the runs if they are kept for the next."""

    number: int
    runner: Runner
    search: Search
    runs: Runs | None

    @property
    def score(self) -> float:
        return self.search.best[0].score if self.search.best else -math.inf


def search(
    prepared: Prepared, claim: PureDP, scorer: Scorer, settings: Settings, report: Callable[[Progress], None]
) -> Found:
    """Choose the candidate."""
    everyone = [_Racer(number, runner) for number, runner in enumerate(prepared.runners)]
    pilot_runs = max(settings.search_runs // PILOT_SHARE, 100)
    look = _Round(claim, scorer, settings, len(everyone), report)
    looked = look("pilot", everyone, pilot_runs, PILOT_STREAM, keep=True)
    runs = 2 * pilot_runs * len(looked)
    if max(one.score for one in looked) > claim.epsilon:
        looked = sorted(looked, key=lambda one: -one.score)[:RACERS]
    rest = max(settings.search_runs - pilot_runs, 100)
    racing = [_Racer(one.number, one.runner, one.runs) for one in looked]
    looked = look("search", racing, rest, MAIN_STREAM, keep=False)
    runs += 2 * rest * len(looked)
    events = sum(one.search.events for one in looked)
    finalists = [one for one in sorted(looked, key=lambda one: -one.score)[:FINALISTS] if one.search.best]
    if not finalists:
        return Found(None, None, len(everyone), events, runs)
    ranked = look.rank_anew(finalists)
    runs += 2 * look.ranking_runs * len(finalists)
    runner, scored = _choose(ranked)
    candidate = _candidate(runner, scored, settings.search_runs + look.ranking_runs, settings)
    oriented = Runner(runner.mechanism, candidate.pair, runner.way, runner.on_error)
    return Found(candidate, oriented, len(everyone), events, runs)


@dataclass(frozen=True, slots=True)
class _Round:
    """What all rounds have in common."""

    claim: PureDP
    scorer: Scorer
    settings: Settings
    pairs: int
    report: Callable[[Progress], None]

    @property
    def ranking_runs(self) -> int:
        return 2 * self.settings.search_runs

    def __call__(self, stage: str, racing: Sequence[_Racer], runs: int, stream: int, *, keep: bool) -> list[_Looked]:
        """The best events of each pair that races, on `runs` more runs a side."""
        tasks = [
            Task(
                search_pair,
                (
                    racer.runner,
                    racer.earlier,
                    runs,
                    child(self.settings.seed, stream, racer.number),
                    self.pairs,
                    self.claim,
                    self.scorer,
                    self.settings,
                    keep,
                ),
                racer.runner.what,
            )
            for racer in racing
        ]
        looked: list[_Looked] = []
        best = -math.inf
        words = ""
        for racer, (found, kept) in zip(racing, self._pool.run(tasks), strict=True):
            looked.append(_Looked(racer.number, racer.runner, found, kept))
            if looked[-1].score > max(best, 0.0):
                best = looked[-1].score
                words = f"ε ≥ {best:.3g} on {racer.runner.pair.category}: {found.best[0].event.words()}"
            self.report(Progress(stage, 2 * runs * len(looked), 2 * runs * len(tasks), words))
        return looked

    @property
    def _pool(self) -> Pool:
        return Pool(self.settings.jobs, self.settings.engine)

    def rank_anew(self, finalists: Sequence[_Looked]) -> list[tuple[Runner, Scored]]:
        """The finalists' events, scored on the search runs and twice as many fresh ones together."""
        tasks = [
            Task(
                count_events,
                (
                    one.runner,
                    tuple(scored.event for scored in one.search.best),
                    self.ranking_runs,
                    child(self.settings.seed, RANKING_STREAM, one.number),
                ),
                one.runner.what,
            )
            for one in finalists
        ]
        ranked: list[tuple[Runner, Scored]] = []
        for one, hits in zip(finalists, self._pool.run(tasks), strict=True):
            for old, (first, second) in zip(one.search.best, hits, strict=True):
                x, y = (second, first) if old.swapped else (first, second)
                x, y = x + old.x, y + old.y
                score = float(self.scorer.exact(np.array([x]), np.array([y]), RANKING_LEVEL)[0])
                ranked.append((one.runner, Scored(old.event, x, y, old.swapped, score)))
        return ranked


def search_pair(
    runner: Runner,
    earlier: Runs | None,
    n: int,
    seeds: np.random.SeedSequence,
    pairs: int,
    claim: PureDP,
    scorer: Scorer,
    settings: Settings,
    keep: bool,
) -> tuple[Search, Runs | None]:
    """The best events of one of `pairs` pairs, on n runs a side and the earlier ones; the runs too if `keep`."""
    runs = runner.sample(n, seeds)
    if earlier is not None:
        runs = join([earlier, runs])
    pair = runner.pair
    references = [
        noise_free_leaves(runner.mechanism, data, pair.arguments, outputs)
        for data, outputs in ((pair.d1, runs.first), (pair.d2, runs.second))
    ]
    least = 0.0 if settings.rarity is None else settings.rarity * runs.first.size * math.exp(claim.epsilon)
    found = search_events(
        runs.first,
        runs.second,
        [reference for reference in dict.fromkeys(references) if reference is not None],
        scorer=scorer,
        significance=settings.significance,
        pairs=pairs,
        least_hits=least,
    )
    return found, runs if keep else None


def count_events(
    runner: Runner, events: tuple[Event, ...], n: int, seeds: np.random.SeedSequence
) -> list[tuple[int, int]]:
    """Hits of each event on n runs a side."""
    runs = runner.sample(n, seeds)
    return [(count_hits(event, runs.first), count_hits(event, runs.second)) for event in events]


def _choose(ranked: list[tuple[Runner, Scored]]) -> tuple[Runner, Scored]:
    """The best event of all; among those within a hundredth of it, the one that is shortest to explain."""
    top = max(scored.score for _, scored in ranked)
    near = [(r, s) for r, s in ranked if s.score >= top - _NEAR * abs(top)]
    return min(near, key=lambda rs: (_length(rs[0]) + complexity(rs[1].event), -rs[1].score))


def _length(runner: Runner) -> int:
    try:
        return len(runner.pair.d1)
    except TypeError:
        return 1


def _candidate(runner: Runner, scored: Scored, n: int, settings: Settings) -> Candidate:
    pair = runner.pair.swapped() if scored.swapped else runner.pair
    share = 0.5 if settings.method == "fisher" else best_share(scored.score)
    return Candidate(pair, scored.event, share, scored.score, Counts(scored.x, scored.y, n, n))


def best_share(epsilon: float) -> float:
    """The part of the runs that the likelier side should get for the sharpest bound on log(P1/P2).

    The variance of the log ratio is about 1/(share·P1) + 1/((1 - share)·P2), least at odds sqrt(P2/P1).

    >>> round(best_share(0.0), 2), round(best_share(1.5), 2)
    (0.5, 0.32)
    """
    odds = math.exp(-0.5 * min(max(epsilon, 0.0), 4.0))
    return odds / (1 + odds)
