"""A quick first search where every run is a call: blatant violations are convicted in hundreds of calls.

Each pair gets a few runs. As soon as an event promises a conviction within a few hundred fresh ones it is proposed,
to be tested at a small share of the significance; if that fails, the sprint goes on, and after it the race. What is
proposed does not depend on how the tests before it ended, so all of them together have a false alarm with at most
their share of the significance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import accumulate

from refutedp.detector.arms import Arm
from refutedp.detector.prepare import Prepared
from refutedp.detector.race import Found, Rounds
from refutedp.events.predicates import complexity
from refutedp.events.ranking import Scored
from refutedp.hypothesis.claim_test import ClaimScorer, claim_test
from refutedp.hypothesis.tests.ratio import clopper_pearson
from refutedp.inputs.source import Seen
from refutedp.model.claims import Claim
from refutedp.model.records import Candidate, Counts
from refutedp.model.settings import SPRINT_STREAM, Progress, Settings
from refutedp.sampling.sampler import Sampler

STEPS = ((30, 1.0), (120, 0.5), (480, 0.25))
"""Runs a side, and the part of the pairs that get so many: the better ones."""
TIME = 0.4
"""The part of the time, if it is limited, after which it ends."""
SHARE, MOST_TRIES = 0.2, 5
"""The share of the significance for all tests of what is proposed, and how many there may be."""
CONFIRM_RUNS = 1_000
"""Runs a side, at most, of each such test."""
SOON = 600.0
"""Runs on both sides within which an event must promise to convict."""
LEVEL = 1e-3
"""The level of the bounds on its rates by which it promises that: chance among thousands is not paid for in full."""
_NEARLY = 1.5
"""Of events that need up to so many times the fewest runs, the one that is shortest to explain is proposed."""
_RUNS_PER_SCORE = 60.0


def most_runs(pairs: int) -> int:
    """The most search runs of a sprint of so many pairs, on both sides together."""
    return sum(2 * runs * math.ceil(part * pairs) for runs, part in STEPS)


def for_a_try(settings: Settings) -> Settings:
    """The settings of one test: few runs, a small share of the significance, and a stop as soon as it may."""
    return replace(
        settings,
        significance=SHARE * settings.significance / MOST_TRIES,
        confirm_runs=min(CONFIRM_RUNS, settings.confirm_runs),
        goal="speed",
    )


class Sprint:
    """Looks at every ordinary pair with a few runs, and proposes what promises a conviction soon."""

    def __init__(
        self,
        prepared: Prepared,
        claim: Claim,
        scorer: ClaimScorer,
        settings: Settings,
        report: Callable[[Progress], None],
    ) -> None:
        self._prepared, self._scorer, self._settings = prepared, scorer, settings
        self._test = claim_test(claim)
        self._rounds = Rounds(claim, scorer, settings, prepared, report, {})
        self.runs = self.events = self.noise_free = 0
        """How much there was to it so far."""
        self._seen: dict[int, Arm] = {}

    def proposals(self) -> Iterator[tuple[Candidate, Sampler]]:
        """Candidates, as they are found; whoever has seen enough stops asking."""
        tries = 0
        for arm in self._looks():
            scored = _proposed(arm, self._scorer, for_a_try(self._settings).significance)
            if scored is not None:
                yield self._rounds.choice(arm, scored)
                tries += 1
                if tries == MOST_TRIES:
                    return

    def found(self) -> Found:
        """The best event of all that was seen, where there is no time for a race.

        After few runs, what happens nearly always looks best, and convicts nobody: what could convict goes first.
        """
        seen = [(arm, scored) for arm in self._seen.values() for scored in arm.seen.search.best]
        events = [one for one in seen if self._could_convict(*one)] or seen
        told = Found(None, None, len(self._prepared.samplers), self.events, 0)
        if not events:
            return told
        candidate, sampler = self._rounds.choice(*max(events, key=lambda one: one[1].score))
        return replace(told, candidate=candidate, sampler=sampler)

    def _could_convict(self, arm: Arm, scored: Scored) -> bool:
        """Whether a try would catch some ratio of this event, were it as frequent on d2 as it may well be."""
        y = math.ceil(CONFIRM_RUNS * clopper_pearson(scored.y, arm.seen.runs, LEVEL)[1])
        return math.isfinite(
            self._test.detectable(Counts(y, y, CONFIRM_RUNS, CONFIRM_RUNS), self._settings.significance)
        )

    def _looks(self) -> Iterator[Arm]:
        """Every arm after each of its steps."""
        arms: dict[int, Arm] = {}
        clock = self._prepared.clock
        fresh: Sequence[Sampler] = self._prepared.samplers
        while fresh:
            new = [Arm(len(arms) + place, sampler.by_plain_calls()) for place, sampler in enumerate(fresh)]
            ordinary = [arm for arm in new if not arm.sampler.pair.outside]
            running = new if not arms and not ordinary else ordinary
            arms |= {arm.number: arm for arm in new}
            for step, (runs, part) in enumerate(STEPS):
                best = sorted(running, key=lambda arm: -arm.score) if step else running
                runs = min(runs, self._settings.search_runs)
                # In the order of the sources, which know what is short to explain; slow pairs and silent ones wait.
                racing = sorted(best[: math.ceil(part * len(running))], key=self._turn)
                affordable = partial(self._affordable, racing, runs, 0 if step else 1)
                most = clock.choose("sprint pairs", len(racing), affordable)
                running = []
                looks = self._rounds.looks("sprint", racing[:most], runs, (SPRINT_STREAM, step))
                with closing(clock.cut("sprint looks", looks, lambda: self._left == 0)) as made:
                    for arm in made:
                        self.runs += 2 * runs
                        self.events += arm.seen.search.events
                        self.noise_free += arm.seen.noise_free
                        running.append(arm)
                        arms[arm.number] = self._seen[arm.number] = arm
                        yield arm
            seen = [arm for arm in arms.values() if arm.looked is not None]
            if clock.choose("sprint goes on", 1, lambda: int(self._left > 0)) == 0:
                return
            fresh = self._prepared.more([Seen(arm.sampler.pair, arm.score - self._scorer.threshold) for arm in seen])

    @property
    def _left(self) -> float:
        """Seconds until it ends."""
        return max(TIME * self._prepared.clock.limit - self._prepared.clock.spent, 0.0)

    def _turn(self, arm: Arm) -> tuple[bool, bool, int]:
        return self._prepared.waits(arm.number), self._prepared.shows_nothing(arm.number), arm.number

    def _affordable(self, arms: Sequence[Arm], runs: int, least: int) -> int:
        """How many of these pairs there is time for."""
        costs = accumulate(2 * runs * self._prepared.seconds_of(arm.number) for arm in arms)
        return max(sum(cost <= self._left for cost in costs), least)


def _proposed(arm: Arm, scorer: ClaimScorer, level: float) -> Scored | None:
    """The shortest of the events that promise to convict about soonest, if that is soon enough."""
    needed = [(_needed(scored, arm.seen.runs, scorer, level), scored) for scored in arm.seen.search.best]
    fewest = min((runs for runs, _ in needed), default=math.inf)
    if fewest > SOON:
        return None
    near = [(complexity(scored.event), runs, place) for place, (runs, scored) in enumerate(needed)]
    return needed[min(one for one in near if one[1] <= _NEARLY * fewest)[2]][1]


def _needed(scored: Scored, n: int, scorer: ClaimScorer, level: float) -> float:
    """About how many runs convict, if the rates of the event are as near to each other as they may well be."""
    if scorer.scores_speed:
        score = scorer.on_fresh_runs(Counts(scored.x, scored.y, n, n), LEVEL, paired=False, speed=True)
        return _RUNS_PER_SCORE / score**2 if score > 0 else math.inf
    p1, p2 = clopper_pearson(scored.x, n, LEVEL)[0], clopper_pearson(scored.y, n, LEVEL)[1]
    if p1 <= math.exp(scorer.threshold) * p2:
        return math.inf
    # Of the hits, a part q is on d1, where the claim allows c: each tells the divergence of the two.
    q, c = p1 / (p1 + p2), 1 / (1 + math.exp(-scorer.threshold))
    told = q * math.log(q / c) + (1 - q) * math.log((1 - q) / (1 - c))
    return -math.log(level) / (told * (p1 + p2) / 2)
