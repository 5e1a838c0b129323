"""The race: successive halving over pairs. Each round keeps the better ones and gives them more runs.

In the first two rounds every event of the outputs is looked at (`look.py`): a pilot of all pairs, and the rest of the
search runs for the pairs that are left. In the last rounds the best events of the best pairs are counted on fresh
runs, for the best-looking of thousands of events owes part of its looks to chance. Everything here may be peeked at
and repeated: confirmation is fresh.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Container, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from operator import add
from typing import TYPE_CHECKING, TypeAlias

from refutedp.detector.arms import Arm, shortest_of_the_best, still_racing, tasks_of
from refutedp.detector.confirmations import Allocation, Paired
from refutedp.detector.look import MOST_CELLS, MOST_OPTIMISTIC, Contender, distinct, look_at
from refutedp.detector.prepare import Prepared
from refutedp.events.ranking import OPTIMISTIC, Scored
from refutedp.hypothesis.claim_test import ClaimScorer, claim_test
from refutedp.hypothesis.tests import ratio
from refutedp.inputs.source import Seen
from refutedp.model.claims import Claim
from refutedp.model.records import Candidate, Counts, Pair
from refutedp.model.settings import (
    LEARN_STREAM,
    MAIN_STREAM,
    PILOT_STREAM,
    ROUND_STREAM,
    SHORTEN_STREAM,
    Progress,
    Settings,
    child,
)
from refutedp.sampling.pool.tasks import Pool, Task, pool_for
from refutedp.sampling.sampler import Sampler

if TYPE_CHECKING:
    from refutedp.sampling.lifted import CommonNoise

    NoiseByStream: TypeAlias = dict[int, CommonNoise]

PILOT_SHARE = 10
"""The pilot takes one in this many of the runs of a pair."""
SURE_PAIRS = 6
"""Pairs that stay in the race once a violation is beyond doubt."""
LAST_ROUNDS = ((6, 1), (2, 2))
"""How many pairs are in each of the last rounds, and on how many fresh runs in units of the search runs."""
PARTS = {"pilot": 0.3, "search": 0.6, "rank": 0.3, "shorten": 0.3}
"""Of the time that is left, if it is limited, the part that a round may take at most."""
LEAST_RUNS = 100
"""Runs a side that a round makes in any case."""
LEARNING_PAIRS = 3
"""Pairs on which events of several coordinates are learned, which is half of the time of a look at few numbers."""


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
    race = Rounds(claim, scorer, settings, prepared, report, {} if noise is None else noise)
    pilot_runs = max(settings.search_runs // PILOT_SHARE, 100)
    arms: list[Arm] = []
    fresh: Sequence[Sampler] = prepared.samplers
    proposed = range(len(fresh), sys.maxsize)
    while fresh:
        last = len(prepared.samplers)
        numbers = [number for number in range(last - len(fresh), last) if not prepared.waits(number)]
        new = [Arm(number, prepared.samplers[number]) for number in numbers]
        arms += race.look("pilot", new, race.affordable("pilot", new, pilot_runs), PILOT_STREAM)
        fresh = prepared.more([Seen(arm.sampler.pair, arm.score - scorer.threshold) for arm in arms])
    found = Found(
        None,
        None,
        len(prepared.samplers),
        0,
        2 * pilot_runs * len(arms),
        race.rounding(arms),
        noise_free=sum(arm.seen.noise_free for arm in arms),
        same=arms[0].seen.same if all(arm.seen.same for arm in arms) else "",
    )
    arms, suspected = _ordinary_first(arms, scorer.threshold, proposed)
    arms = race.after_the_pilot(arms, promising)
    rest = race.affordable("search", arms, max(settings.search_runs - pilot_runs, 100))
    arms = race.look("search", arms, rest, MAIN_STREAM, learn=race.worth_learning(arms))
    found = replace(
        found,
        events=sum(arm.seen.search.events for arm in arms),
        runs=found.runs + 2 * sum(arm.seen.runs for arm in arms),
        noise_free=found.noise_free + sum(arm.seen.noise_free for arm in arms),
    )
    arms, more = _ordinary_first(arms, scorer.threshold)
    found = replace(found, suspected=suspected or more)
    for outside in (False, True):
        finalists = race.finalists([arm for arm in arms if bool(arm.sampler.pair.outside) is outside])
        if finalists:
            best, runs = race.last_rounds(finalists)
            found = replace(found, runs=found.runs + runs)
            if found.candidate is None:
                found = replace(found, candidate=best[0], sampler=best[1])
            else:
                found = replace(found, outside=best)
    if found.candidate is not None and found.candidate.score > scorer.threshold:
        found = race.shortened(found, found.candidate.pair)
    return replace(
        found, promising=frozenset(arm.number for arm in arms if arm.seen.optimistic_score >= _reach(arms))
    )


def _ordinary_first(arms: list[Arm], threshold: float, proposed: Container[int] = ()) -> tuple[list[Arm], str]:
    """The pairs that race on: those within the user's records, if they show a violation beyond doubt.

    Else those beyond them that do stay in the race, too, and those that a source `proposed` for what they cost: the
    pilot sees no events of several numbers. What seems to break the claim there besides is told.
    """
    ordinary = [arm for arm in arms if not arm.sampler.pair.outside]
    beyond = [arm for arm in arms if arm.sampler.pair.outside]
    outside = [arm for arm in beyond if arm.score > threshold]
    if not ordinary:
        return arms, ""
    if max(arm.score for arm in ordinary) > threshold:
        return ordinary, outside[0].sampler.pair.outside if outside else ""
    return [*ordinary, *(arm for arm in beyond if arm in outside or arm.number in proposed)], ""


def _reach(arms: Sequence[Arm]) -> float:
    """What an event that were the only one would have to show to come near the best."""
    best = max(arm.seen.score for arm in arms)
    return best / 2 if best > 0 else best - 0.1


@dataclass(frozen=True, slots=True)
class Rounds:
    """What all rounds have in common."""

    claim: Claim
    scorer: ClaimScorer
    settings: Settings
    prepared: Prepared
    report: Callable[[Progress], None]
    noise: NoiseByStream

    def affordable(self, stage: str, arms: Sequence[Arm], runs: int) -> int:
        """So many runs a side on each of these pairs, or as many as there is time for, in steps of a tenth.

        The plan was made before: this is for machines that became slower than the trials made them look.
        """
        clock = self.prepared.clock

        def allowed() -> int:
            seconds = 2 * sum(self.prepared.seconds_of(arm.number) for arm in arms)
            most = PARTS[stage] * clock.left / max(seconds, 1e-9)
            return runs if most >= runs else max(int(10 * most / runs) * runs // 10, min(LEAST_RUNS, runs))

        return clock.choose(f"{stage} runs", runs, allowed)

    def look(
        self, stage: str, arms: Sequence[Arm], runs: int, stream: int, learn: frozenset[int] = frozenset()
    ) -> list[Arm]:
        """The arms with the best events of each, on `runs` runs a side; some are to `learn` events."""
        numbers = [arm.number for arm in arms]
        # The longest first, lest all cores wait for the last one.
        ordered = sorted(arms, key=lambda arm: -arm.sampler.length)
        return sorted(self.looks(stage, ordered, runs, (stream,), learn), key=lambda arm: numbers.index(arm.number))

    def looks(
        self,
        stage: str,
        arms: Sequence[Arm],
        runs: int,
        stream: tuple[int, ...],
        learn: frozenset[int] = frozenset(),
    ) -> Generator[Arm, None, None]:
        """The same, one by one in their order; to close the iterator ends the runs."""
        common = self._common(stream[0])
        tasks = [
            Task(
                look_at,
                (
                    arm.sampler,
                    runs if arm.looked is None else min(runs, max(MOST_CELLS // max(arm.seen.leaves, 1), 100)),
                    child(self.settings.seed, *stream, arm.number),
                    len(self.prepared.samplers),
                    self.claim,
                    self.scorer,
                    self.settings,
                    arm.looked,
                    common,
                    child(self.settings.seed, LEARN_STREAM, arm.number) if arm.number in learn else None,
                ),
                arm.sampler.what,
            )
            for arm in arms
        ]
        best, words = 0.0, ""
        with closing(self._pool.run(tasks)) as results:
            timed = self.prepared.timed(results, [2 * runs * self.prepared.seconds_of(arm.number) for arm in arms])
            for done, (arm, looked) in enumerate(zip(arms, timed, strict=True), start=1):
                if looked.score > best:
                    best = looked.score
                    shown = f"{arm.sampler.pair.category}: {looked.search.best[0].event.words()}"
                    words = f"{self.scorer.words(best)} on {shown}"
                self.report(Progress(stage, 2 * runs * done, 2 * runs * len(tasks), words))
                yield replace(arm, looked=looked)

    def after_the_pilot(self, arms: list[Arm], promising: frozenset[int]) -> list[Arm]:
        """Those that race on: a few, once a violation is beyond doubt."""
        best = sorted(arms, key=lambda arm: -self._rank(arm))[:SURE_PAIRS]
        if max(arm.score for arm in arms) > self.scorer.threshold:
            return best
        chosen = promising | {arm.number for arm in best}
        return [arm for arm in arms if arm.number in chosen] if promising else arms

    def worth_learning(self, arms: Sequence[Arm]) -> frozenset[int]:
        """The pairs on which events of several coordinates are learned: the best of those that may get far."""
        return frozenset(arm.number for arm in sorted(arms, key=lambda arm: -self._rank(arm))[:LEARNING_PAIRS])

    def finalists(self, arms: Sequence[Arm]) -> list[Arm]:
        """The arms of the last rounds, each with the events that have a chance to win.

        Half of the places are for the best pairs beyond doubt, half for the most optimistic of the others. Events
        that would not come near the best even if they were the only ones stay behind. Where speed is wanted, the
        fastest are chosen.
        """
        if not arms:
            return []
        places = LAST_ROUNDS[0][0]
        chosen = sorted(arms, key=lambda arm: -self._rank(arm))
        if not self._for_speed:
            chosen, rest = chosen[: places // 2], chosen[places // 2 :]
            chosen += sorted(rest, key=lambda arm: -arm.seen.optimistic_score)
        reach = _reach(arms)
        finalists = []
        for arm in chosen[:places]:
            events = arm.seen.search.best
            if self._for_speed:
                near = sorted(events, key=lambda scored: -self._pace(scored, arm.seen.runs))[:MOST_OPTIMISTIC]
            else:
                near = [scored for scored in events if scored.optimistic_score >= reach]
            if near:
                finalists.append(replace(arm, contenders=distinct(near)))
        return finalists

    def last_rounds(self, arms: Sequence[Arm]) -> tuple[tuple[Candidate, Sampler], int]:
        """The event that holds up best on ever more fresh runs, as a candidate, and how many runs that took."""
        all_runs = 0
        for stage, (pairs, units) in enumerate(LAST_ROUNDS):
            if stage:
                arms = still_racing(arms, pairs)
            runs = self.affordable("rank", arms, units * self.settings.search_runs)
            seeds = [child(self.settings.seed, ROUND_STREAM, stage, arm.number) for arm in arms]
            batches = [tasks_of(arm, runs, one) for arm, one in zip(arms, seeds, strict=True)]
            level = OPTIMISTIC / sum(len(arm.contenders) for arm in arms)
            results = self._pool.run([task for batch in batches for task in batch])
            ranked: list[Arm] = []
            for arm, batch in zip(arms, batches, strict=True):
                parts = list(islice(results, len(batch)))
                hits = [reduce(add, counts) for counts in zip(*parts, strict=True)]
                ranked.append(self._ranked(arm, hits, level))
                self.report(Progress("rank", 2 * runs * len(ranked), 2 * runs * len(arms)))
            all_runs += 2 * runs * len(arms)
            arms = ranked
        arm, best = shortest_of_the_best(arms)
        found, counts = best.found, best.counts
        assert counts is not None, "all contenders have run"
        scored = replace(found, x=found.x + counts.x, y=found.y + counts.y, score=best.score)
        return self.choice(arm, scored, arm.seen.runs + counts.n_x, counts), all_runs

    def _ranked(self, arm: Arm, hits: Sequence[Counts], level: float) -> Arm:
        """Score each event on the runs of this round alone: its earlier ones are why it is here, and flatter it."""
        contenders = []
        for old, fresh in zip(arm.contenders, hits, strict=True):
            counts = fresh.swapped() if old.found.swapped else fresh
            score = self.scorer.on_fresh_runs(
                counts, level, paired=self._pairs_pay(counts), speed=self.settings.goal == "speed"
            )
            contenders.append(Contender(old.found, counts, score))
        return replace(arm, contenders=tuple(contenders))

    def shortened(self, found: Found, pair: Pair) -> Found:
        """The same with a shorter pair, if a source knows one, and fresh runs on it break the claim beyond doubt."""
        sampler = self.prepared.shorter(pair)
        if sampler is None:
            return found
        short = Arm(len(self.prepared.samplers) - 1, sampler)
        runs = self.affordable("shorten", [short], self.settings.search_runs)
        (arm,) = self.look("shorten", [short], runs, SHORTEN_STREAM)
        found = replace(
            found,
            pairs=len(self.prepared.samplers),
            runs=found.runs + 2 * runs,
            noise_free=found.noise_free + arm.seen.noise_free,
        )
        if arm.score <= self.scorer.threshold:
            return found
        candidate, sampler = self.choice(arm, arm.seen.search.best[0])
        return replace(found, candidate=candidate, sampler=sampler)

    def rounding(self, arms: Sequence[Arm]) -> tuple[Candidate, Sampler] | None:
        """The best event about the rounding of floats, if it looks like a violation."""
        ordinary = [arm for arm in arms if not arm.sampler.pair.outside] or arms
        seen = [(arm, arm.seen.rounding) for arm in ordinary if arm.seen.rounding is not None]
        if not seen:
            return None
        arm, best = max(seen, key=lambda one: one[1].score)
        if best.score <= self.scorer.threshold:
            return None
        return self.choice(arm, best)

    def choice(
        self, arm: Arm, scored: Scored, n: int | None = None, latest: Counts | None = None
    ) -> tuple[Candidate, Sampler]:
        """A candidate in full: what the test aims at and how it shares out its runs is fixed here, too.

        Its hits are on `n` runs a side, those of the last look unless told.
        """
        sampler = arm.sampler.swapped() if scored.swapped else arm.sampler
        test = claim_test(self.claim)
        if latest is not None and test.takes_pairs and sampler.shares_noise and self._pairs_pay(latest):
            return Candidate(sampler.pair, scored.event, Paired(), scored.score, latest), sampler
        n = arm.seen.runs if n is None else n
        counts = Counts(scored.x, scored.y, n, n)
        tangent, share = test.tangent_and_share(counts, scored.score, self.settings.method)
        return Candidate(sampler.pair, scored.event, Allocation(share), scored.score, counts, tangent), sampler

    def _pairs_pay(self, counts: Counts) -> bool:
        """Whether confirmation is to be on paired runs."""
        return self.settings.paired and self.settings.method != "fisher" and ratio.pairing_pays(counts)

    def _common(self, stream: int) -> CommonNoise:
        from refutedp.sampling.lifted import CommonNoise

        return self.noise.setdefault(stream, CommonNoise(child(self.settings.seed, stream)))

    @property
    def _for_speed(self) -> bool:
        """Whether the event is wanted that convicts soonest, which scores do not say."""
        return self.settings.goal == "speed" and not self.scorer.scores_speed

    def _rank(self, arm: Arm) -> float:
        """What makes a pair worth more runs."""
        if not self._for_speed:
            return arm.seen.score
        return max((self._pace(scored, arm.seen.runs) for scored in arm.seen.search.best), default=-math.inf)

    def _pace(self, scored: Scored, runs: int) -> float:
        """How fast an event would convict, by its hits in so many runs."""
        return self.scorer.pace(Counts(scored.x, scored.y, runs, runs), scored.score)

    @property
    def _pool(self) -> Pool:
        return pool_for(self.settings, costs_calls=self.prepared.costs_calls)
