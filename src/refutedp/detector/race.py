"""Search: run every pair, look at every event, and fix one candidate (pair, event, direction) for confirmation.

A pilot looks at every pair with a tenth of the budget; if it already shows a violation beyond doubt, only the best
pairs stay in the race. The main round spends the rest on runs of the pairs that are left. Two ranking rounds then
compare the best events of the best pairs on fresh runs (`rounds.py`). Everything here may be peeked at and repeated:
confirmation is fresh.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from refutedp.detector.confirmations import Allocation, Paired
from refutedp.detector.prepare import Prepared
from refutedp.detector.rounds import ROUNDS, Finalist, Rounds, distinct, pays_here
from refutedp.events.features.offered import Feature, rounding_features, subtle_features
from refutedp.events.ranking import Scored, Search, search_events, search_rounding
from refutedp.events.sameness import nearly_all
from refutedp.hypothesis.claim_test import claim_test
from refutedp.hypothesis.scoring import ClaimScorer
from refutedp.inputs.source import Seen
from refutedp.model.claims import Claim
from refutedp.model.datasets import container_of
from refutedp.model.records import Candidate, Counts
from refutedp.model.settings import MAIN_STREAM, PILOT_STREAM, Progress, Settings, child
from refutedp.sampling.pool.tasks import Pool, Task
from refutedp.sampling.sampler import Sampler, noise_free_leaves

if TYPE_CHECKING:
    from refutedp.sampling.lifted import CommonNoise

    NoiseByStream: TypeAlias = dict[int, CommonNoise]

PILOT_SHARE = 10
"""The pilot takes one in this many of the runs of a pair."""
RACERS = 6
"""Pairs that stay in the race once a violation is beyond doubt."""
MOST_OPTIMISTIC = 12
"""Events of a pair that come along though only time will tell."""
MOST_LANDMARKS = 16
"""Numbers of the inputs that outputs are compared with."""


@dataclass(frozen=True, slots=True)
class Found:
    """What search chose, and how much it looked at; no candidate when no event was seen at all.

    `rounding` is the best event about the rounding of floats, if it looks like a violation too. `promising` are the
    numbers of the pairs that had a chance to win, as far as the whole budget could tell.
    """

    candidate: Candidate | None
    sampler: Sampler | None
    pairs: int
    events: int
    runs: int
    rounding: tuple[Candidate, Sampler] | None = None
    promising: frozenset[int] = frozenset()
    noise_free: int = 0
    """Calls without noise, for events that compare with their outputs."""
    outside: tuple[Candidate, Sampler] | None = None
    """What inputs beyond the user's show beyond doubt, where ordinary ones show no such thing."""
    suspected: str = ""
    """What seems to break the claim besides, of inputs beyond the user's; it was not tested."""
    same: str = ""
    """What nearly every run did on every input, in words; "" where outputs vary."""


@dataclass(frozen=True, slots=True)
class _Racer:
    """A pair about to run, with the costly features that showed something in the pilot; None before it."""

    number: int
    sampler: Sampler
    subtle: tuple[Feature, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Looked:
    """A pair with its best events after a round; after the pilot, also the best one about rounding."""

    number: int
    sampler: Sampler
    runs: int
    """On either side."""
    search: Search
    rounding: Scored | None = None
    noise_free: int = 0
    same: str = ""

    @property
    def score(self) -> float:
        return self.search.best[0].score if self.search.best else -math.inf

    @property
    def optimistic_score(self) -> float:
        return max((scored.optimistic_score for scored in self.search.best), default=-math.inf)


def search(
    prepared: Prepared,
    claim: Claim,
    scorer: ClaimScorer,
    settings: Settings,
    report: Callable[[Progress], None],
    promising: frozenset[int] = frozenset(),
    noise: NoiseByStream | None = None,
) -> Found:
    """Choose the candidate.

    `promising` are the pairs that had a chance when the same pairs were searched for another claim: if there are
    any, of the others only those race on that do well in the pilot. `noise` is what that search was made on.
    """
    pilot_runs = max(settings.search_runs // PILOT_SHARE, 100)
    look = _Round(claim, scorer, settings, prepared, report, {} if noise is None else noise)
    looked: list[_Looked] = []
    fresh: Sequence[Sampler] = prepared.samplers
    while fresh:
        racing = [_Racer(len(looked) + number, sampler) for number, sampler in enumerate(fresh)]
        looked += look("pilot", racing, pilot_runs, PILOT_STREAM)
        fresh = prepared.more([Seen(one.sampler.pair, one.score - scorer.threshold) for one in looked])
    runs = 2 * pilot_runs * len(looked)
    rounding = _rounding(looked, look, pilot_runs)
    noise_free = sum(one.noise_free for one in looked)
    same = looked[0].same if all(one.same for one in looked) else ""
    looked, suspected = _ordinary_first(looked, scorer.threshold)
    best = sorted(looked, key=lambda one: -look.rank(one))[:RACERS]
    if max(one.score for one in looked) > scorer.threshold:
        looked = best
    elif promising:
        racing_on = promising | {one.number for one in best}
        looked = [one for one in looked if one.number in racing_on]
    rest = max(settings.search_runs - pilot_runs, 100)
    racing = [_Racer(one.number, one.sampler, one.search.promising) for one in looked]
    looked = look("search", racing, rest, MAIN_STREAM)
    runs += 2 * rest * len(looked)
    noise_free += sum(one.noise_free for one in looked)
    events = sum(one.search.events for one in looked)
    looked, more = _ordinary_first(looked, scorer.threshold)
    found = Found(
        None,
        None,
        len(prepared.samplers),
        events,
        runs,
        rounding,
        noise_free=noise_free,
        suspected=suspected or more,
        same=same,
    )
    outside = [one for one in looked if one.sampler.pair.outside]
    ordinary = [one for one in looked if not one.sampler.pair.outside]
    for among in (ordinary, outside):
        finalists = _fastest(among, look) if look.for_speed else _finalists(among, look.needed_upper_bound(among))
        if finalists:
            winner = Rounds(scorer, settings, report).run(finalists)
            candidate = look.candidate(winner.sampler, winner.event, rest + winner.counts.n_x, winner.counts)
            oriented = _oriented(winner.sampler, winner.event)
            found = replace(found, runs=found.runs + winner.all_runs)
            if found.candidate is None:
                found = replace(found, candidate=candidate, sampler=oriented)
            else:
                found = replace(found, outside=(candidate, oriented))
    optimists = frozenset(one.number for one in looked if one.optimistic_score >= _reach(looked))
    return replace(found, promising=optimists)


def _ordinary_first(looked: list[_Looked], threshold: float) -> tuple[list[_Looked], str]:
    """The pairs that race on: those within the user's records, if they show a violation beyond doubt.

    Else those beyond them that do stay in the race, too. What seems to break the claim there besides is told.
    """
    ordinary = [one for one in looked if not one.sampler.pair.outside]
    outside = [one for one in looked if one.sampler.pair.outside and one.score > threshold]
    if not ordinary:
        return looked, ""
    if max(one.score for one in ordinary) > threshold:
        return ordinary, outside[0].sampler.pair.outside if outside else ""
    return [*ordinary, *outside], ""


def _finalists(looked: Sequence[_Looked], needed_upper_bound: float) -> list[Finalist]:
    """Half of the places for the best pairs beyond doubt, half for the most optimistic of the others.

    Events that would not come near the best even if they were the only ones stay behind, and so do those that cannot
    reach `needed_upper_bound` however many runs they get.
    """
    places = ROUNDS[0][0]
    if not looked:
        return []
    by_score = sorted(looked, key=lambda one: -one.score)
    chosen, rest = by_score[: places // 2], by_score[places // 2 :]
    chosen += sorted(rest, key=lambda one: -one.optimistic_score)[: places - len(chosen)]
    reach = _reach(looked)
    finalists = []
    for one in chosen:
        near = [
            scored
            for scored in one.search.best
            if scored.optimistic_score >= reach and scored.upper_bound >= needed_upper_bound
        ]
        if near:
            finalists.append(Finalist(one.number, one.sampler, distinct(near)))
    return finalists


def _reach(looked: Sequence[_Looked]) -> float:
    """What an event that were the only one would have to show to come near the best."""
    best = max(one.score for one in looked)
    return best / 2 if best > 0 else best - 0.1


def _fastest(looked: Sequence[_Looked], look: _Round) -> list[Finalist]:
    """The pairs and events that promise a conviction soonest."""
    chosen = sorted(looked, key=lambda one: -look.rank(one))[: ROUNDS[0][0]]
    finalists = []
    for one in chosen:
        ahead = sorted(one.search.best, key=lambda scored: -look.pace(scored, one.runs))[:MOST_OPTIMISTIC]
        if ahead:
            finalists.append(Finalist(one.number, one.sampler, distinct(ahead)))
    return finalists


def _rounding(looked: Sequence[_Looked], look: _Round, n: int) -> tuple[Candidate, Sampler] | None:
    ordinary = [one for one in looked if not one.sampler.pair.outside] or looked
    seen = [(one, one.rounding) for one in ordinary if one.rounding is not None]
    if not seen:
        return None
    one, best = max(seen, key=lambda pair: pair[1].score)
    if best.score <= look.scorer.threshold:
        return None
    candidate = look.candidate(one.sampler, best, n)
    return candidate, _oriented(one.sampler, best)


def _oriented(sampler: Sampler, scored: Scored) -> Sampler:
    return sampler.swapped() if scored.swapped else sampler


@dataclass(frozen=True, slots=True)
class _Round:
    """What all rounds have in common."""

    claim: Claim
    scorer: ClaimScorer
    settings: Settings
    prepared: Prepared
    report: Callable[[Progress], None]
    noise: NoiseByStream

    def __call__(self, stage: str, racing: Sequence[_Racer], runs: int, stream: int) -> list[_Looked]:
        """The best events of each pair that races, on `runs` runs a side."""
        common = self._common(stream)
        # The longest first, lest all cores wait for the last one.
        ordered = sorted(racing, key=lambda racer: -racer.sampler.length)
        tasks = [
            Task(
                search_pair,
                (
                    racer.sampler,
                    runs,
                    child(self.settings.seed, stream, racer.number),
                    len(self.prepared.samplers),
                    self.claim,
                    self.scorer,
                    self.settings,
                    racer.subtle,
                    common,
                ),
                racer.sampler.what,
            )
            for racer in ordered
        ]
        looked: list[_Looked] = []
        best = -math.inf
        words = ""
        for racer, (found, rounding, noise_free, same) in zip(ordered, self._pool.run(tasks), strict=True):
            looked.append(_Looked(racer.number, racer.sampler, runs, found, rounding, noise_free, same))
            if looked[-1].score > max(best, 0.0):
                best = looked[-1].score
                shown = f"{racer.sampler.pair.category}: {found.best[0].event.words()}"
                words = f"{self.scorer.words(best)} on {shown}"
            self.report(Progress(stage, 2 * runs * len(looked), 2 * runs * len(tasks), words))
        places = {racer.number: place for place, racer in enumerate(racing)}
        return sorted(looked, key=lambda one: places[one.number])

    def candidate(self, sampler: Sampler, scored: Scored, n: int, latest: Counts | None = None) -> Candidate:
        """The choice in full: what the test aims at and how it shares out its runs is fixed here, too."""
        pair = sampler.pair.swapped() if scored.swapped else sampler.pair
        counts = Counts(scored.x, scored.y, n, n)
        test = claim_test(self.claim)
        pairs = test.takes_pairs and sampler.shares_noise
        if latest is not None and pairs and pays_here(latest, self.settings):
            return Candidate(pair, scored.event, Paired(), scored.score, latest)
        tangent, share = test.tangent_and_share(counts, scored.score, self.settings.method)
        return Candidate(pair, scored.event, Allocation(share), scored.score, counts, tangent)

    def _common(self, stream: int) -> CommonNoise:
        from refutedp.sampling.lifted import CommonNoise

        return self.noise.setdefault(stream, CommonNoise(child(self.settings.seed, stream)))

    @property
    def for_speed(self) -> bool:
        """Whether the event is wanted that convicts soonest, which scores do not say."""
        return self.settings.goal == "speed" and not self.scorer.scores_speed

    def needed_upper_bound(self, looked: Sequence[_Looked]) -> float:
        """What the best event will certify in any case; a smaller ratio than that can never do better.

        It will if confirmation has no fewer runs than search.
        """
        sure = self.settings.confirm_runs >= self.settings.search_runs
        return max((one.score for one in looked), default=-math.inf) if sure else -math.inf

    def rank(self, one: _Looked) -> float:
        """What makes a pair worth more runs."""
        if not self.for_speed:
            return one.score
        return max((self.pace(scored, one.runs) for scored in one.search.best), default=-math.inf)

    def pace(self, scored: Scored, runs: int) -> float:
        """How fast an event would convict, by its hits in so many runs."""
        return self.scorer.pace(Counts(scored.x, scored.y, runs, runs), scored.score)

    @property
    def _pool(self) -> Pool:
        return Pool(self.settings.jobs, self.settings.engine)


def search_pair(
    sampler: Sampler,
    n: int,
    seeds: np.random.SeedSequence,
    pairs: int,
    claim: Claim,
    scorer: ClaimScorer,
    settings: Settings,
    subtle: tuple[Feature, ...] | None,
    common: CommonNoise,
) -> tuple[Search, Scored | None, int, str]:
    """The best events of one of `pairs` pairs on n runs a side; in the pilot also the best event about rounding.

    Then comes how many calls without noise it took, and what nearly all runs did, if they did. It is the pilot while
    it is not known which `subtle` features show something. Lifted runs are made on the `common` noise of all pairs.
    """
    pilot = subtle is None
    runs = sampler.sample(n, seeds, common)
    pair = sampler.pair
    references, calls = zip(
        *(
            noise_free_leaves(sampler.mechanism, data, pair.arguments, outputs)
            for data, outputs in ((pair.d1, runs.first), (pair.d2, runs.second))
        ),
        strict=True,
    )
    pairs_of_runs = sampler.shares_noise and settings.paired and settings.method != "fisher"
    scorer = scorer.on_runs(runs.first.size, pairs_of_runs)
    least = 0.0
    if settings.rarity is not None:
        least = settings.rarity * runs.first.size * math.exp(getattr(claim, "epsilon", 0.0))
    if settings.float_leaks == "convict" and subtle is None:
        groups = [*runs.first.groups, *runs.second.groups]
        subtle = (*subtle_features(groups), *rounding_features(groups))
    found = search_events(
        runs.first,
        runs.second,
        [reference for reference in dict.fromkeys(references) if reference is not None],
        subtle=subtle,
        landmarks=_numbers_in(pair.d1, pair.d2),
        scorer=scorer,
        significance=settings.significance,
        pairs=pairs,
        least_hits=least,
        # The pilot only says who races on, and is too short to tell a rare event from chance.
        optimists=0 if pilot else MOST_OPTIMISTIC,
    )
    rounding = None
    if pilot and settings.float_leaks == "report":
        rounding = search_rounding(
            runs.first, runs.second, scorer=scorer, significance=settings.significance, pairs=pairs
        )
    return found, rounding, sum(calls), nearly_all(runs.first, runs.second)


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
