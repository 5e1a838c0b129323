"""Search: run every pair, look at every event, and fix one candidate (pair, event, direction) for confirmation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from refutedp.claims import PureDP
from refutedp.events.select import Scored, Search, complexity, search_events
from refutedp.prepare import Prepared
from refutedp.records import Candidate, Counts, Scorer
from refutedp.sampling.noise_free import noise_free_leaves
from refutedp.sampling.pool import run_all
from refutedp.sampling.runner import Runner
from refutedp.sampling.seeds import child
from refutedp.settings import Progress, Settings

SEARCH_STREAM = 1
_NEAR = 0.01


@dataclass(frozen=True, slots=True)
class Found:
    """What search chose, and how much it looked at; no candidate when no event was seen at all."""

    candidate: Candidate | None
    runner: Runner | None
    pairs: int
    events: int
    runs: int


def search(
    prepared: Prepared, claim: PureDP, scorer: Scorer, settings: Settings, report: Callable[[Progress], None]
) -> Found:
    """Choose the candidate; everything here may be re-used, peeked at and repeated, for confirmation is fresh."""
    runners = prepared.runners
    tasks = [
        (search_pair, (runner, number, len(runners), claim, scorer, settings))
        for number, runner in enumerate(runners)
    ]
    total = 2 * settings.search_runs * len(runners)
    found: list[tuple[Runner, Search]] = []
    best = ""
    for runner, searched in zip(runners, run_all(tasks, settings.jobs), strict=True):
        found.append((runner, searched))
        chosen = _choose(found)
        if chosen is not None and chosen[1].score > 0:
            best = f"ε ≥ {chosen[1].score:.3g} on {chosen[0].pair.category}"
        report(Progress("search", 2 * settings.search_runs * len(found), total, best))
    events = sum(searched.events for _, searched in found)
    chosen = _choose(found)
    if chosen is None:
        return Found(None, None, len(runners), events, total)
    runner, scored = chosen
    candidate = _candidate(runner, scored, settings)
    oriented = Runner(runner.mechanism, candidate.pair, runner.way, runner.on_error)
    return Found(candidate, oriented, len(runners), events, total)


def search_pair(runner: Runner, number: int, pairs: int, claim: PureDP, scorer: Scorer, settings: Settings) -> Search:
    """The best events of one pair."""
    first, second = runner.sample(settings.search_runs, child(settings.seed, SEARCH_STREAM, number))
    pair = runner.pair
    references = [
        noise_free_leaves(runner.mechanism, data, pair.arguments, outputs)
        for data, outputs in ((pair.d1, first), (pair.d2, second))
    ]
    least = 0.0 if settings.rarity is None else settings.rarity * settings.search_runs * math.exp(claim.epsilon)
    return search_events(
        first,
        second,
        [reference for reference in dict.fromkeys(references) if reference is not None],
        scorer=scorer,
        significance=settings.significance,
        pairs=pairs,
        least_hits=least,
    )


def _choose(found: list[tuple[Runner, Search]]) -> tuple[Runner, Scored] | None:
    """The best event of all pairs; among those within a hundredth of it, the one that is shortest to explain."""
    everything = [(runner, scored) for runner, searched in found for scored in searched.best]
    if not everything:
        return None
    top = max(scored.score for _, scored in everything)
    near = [(r, s) for r, s in everything if s.score >= top - _NEAR * abs(top)]
    return min(near, key=lambda rs: (_length(rs[0]) + complexity(rs[1].event), -rs[1].score))


def _length(runner: Runner) -> int:
    try:
        return len(runner.pair.d1)
    except TypeError:
        return 1


def _candidate(runner: Runner, scored: Scored, settings: Settings) -> Candidate:
    n = settings.search_runs
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
