"""Steer the noise of lifted runs towards the event, where plain runs would not show a violation within the budget.

An event of probability 1e-4 happens in one of ten thousand plain runs, and most of them say nothing. Lifted runs know
the law of every draw, so they can be drawn where the event happens, and weighed (`sampling.lifted.steered`). A few
short pilots find where that is, move the ends of an interval to where the claim breaks most clearly, and tell
whether it pays. Whatever they choose is fixed before the first confirmation run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.claims import Claim, Tangent
from refutedp.events.predicates import Interval
from refutedp.records import Candidate, Event
from refutedp.sampling.lifted import CannotLift
from refutedp.sampling.lifted.steered import Plan, SteeredNoise, effective, plan_for
from refutedp.sampling.lifted.twins import plain_hits, values_on
from refutedp.sampling.runner import Runner
from refutedp.sampling.seeds import child
from refutedp.settings import Settings
from refutedp.stats.verdict import choose_tangent, is_ratio, search_rates
from refutedp.stats.weighted import best_part, growth
from refutedp.weights import WeightedHits, weigh_hits

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

AIM_STREAM, PLAN_STREAM = 22, 23
PILOT = 100_000
"""Pairs of runs in a pilot."""
LAST_PILOT = 200_000
"""Pairs of runs in the pilot that says what to expect."""
PLAINS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Parts of the confirmation runs that may be left plain: the more, the lighter the heaviest weight."""
PLAIN_IN_PILOTS = 0.2
"""Pilots prove nothing, so most of their runs are steered."""
AIMS = 4
"""Pilots for each tail."""
START = 0.001
"""Where in the tail the first plan aims."""
LEVELS = tuple(float(level) for level in np.geomspace(0.98, 2e-4, 48))
"""Where half-lines begin, as quantiles of the runs of a pilot."""
ENOUGH = 25
"""Hits from which an interval can be judged."""
FEWEST = 3
"""Hits from which a plan can be made."""
SETTLED = 1000
"""Hits, counted by what they say, from which a plan is good enough."""
MOST_PILOTS = 12
"""Pilots, each steered by the plan that the one before it made."""
_RUNS_PER_SCORE = 60.0
NO_PLAN = Plan({}, plain=1.0)
_COMMON = 0.5
"""What happens more often need not be steered to."""
_AIM_PLAIN, _AIM_PARTS = 0.8, (0.05, 0.1, 0.2, 0.4, 0.8)
_DOUBT = 2.0
"""Standard errors by which the best of many half-lines may owe its rank to luck."""
_HOPE = 2
"""How far beyond the budget a conviction may be expected: pilots are rough, and plain runs would do no better."""
_SLACK = 1.5
"""log wealth that the spread of the stakes costs, about."""


@dataclass(frozen=True, slots=True)
class Steering:
    """How to steer, the line of the claim to aim at, and a pilot that says what to expect."""

    plan: Plan
    line: Tangent
    pilot: WeightedHits
    runs: int
    """Runs that the pilots took, on both sides."""

    @property
    def pairs_needed(self) -> float:
        """About how many pairs of runs convict, per unit of log(1/significance) and the slack."""
        _, grown = best_part(self.pilot, self.line)
        return 1 / grown if grown > 0 else math.inf


@dataclass(frozen=True, slots=True)
class Aimed:
    """What to confirm, and how to steer its runs; no steering where plain ones will do, or nothing would."""

    runner: Runner
    candidate: Candidate
    steering: Steering | None = None
    runs: int = 0
    """Runs that the pilots took, on both sides."""


def aim(runner: Runner, candidate: Candidate, claim: Claim, settings: Settings) -> Aimed:
    """The candidate for steered runs, if plain ones would not do within the budget and steered ones would."""
    plain = Aimed(runner, candidate)
    if not _worth_a_try(runner, candidate, claim, settings):
        return plain
    try:
        if any(lift.scattered for lift in runner.lifts):
            return plain
        aimed, moved, plan, runs = _moved(runner, candidate, claim, settings)
        found = steering(aimed, moved, claim, settings, plan)
    except CannotLift:
        return plain
    if found is None:
        return plain
    runs += found.runs
    needed = (math.log(1 / settings.significance) + _SLACK) * found.pairs_needed
    if needed > _HOPE * settings.confirm_runs:
        return replace(plain, runs=runs)
    return Aimed(aimed, replace(moved, share=0.5, tangent=found.line, steered=True), found, runs)


def _worth_a_try(runner: Runner, candidate: Candidate, claim: Claim, settings: Settings) -> bool:
    if runner.way != "lifted" or not settings.steer or settings.stop != "early" or settings.method == "fisher":
        return False
    if settings.goal == "speed":
        return True
    within_budget = candidate.score > 0 and _RUNS_PER_SCORE / candidate.score**2 <= settings.confirm_runs
    return not is_ratio(claim) and not within_budget


def steering(
    runner: Runner, candidate: Candidate, claim: Claim, settings: Settings, plan: Plan = NO_PLAN
) -> Steering | None:
    """A plan for the candidate's event, from pilots of its own; None when the event is too rare to be seen.

    The first pilot is steered by `plan`, if one is at hand.
    """
    pilots = _Pilots(runner, candidate.event, settings.seed)
    line = _line(candidate, claim)
    made = 0
    for number in range(MOST_PILOTS):
        pilot = pilots(number, plan)
        if pilot.hits.hits[0] < FEWEST:
            continue
        plan, made = pilot.plan(line), made + 1
        if made > 1 and effective(pilot.worth(line)) >= SETTLED:
            break
    if not made:
        return None
    last = runner.steered(candidate.event, plan, LAST_PILOT, child(settings.seed, PLAN_STREAM, MOST_PILOTS))
    runs = 2 * ((number + 1) * _size(runner) + LAST_PILOT)
    expected = max((last.expected(plain) for plain in PLAINS), key=lambda hits: best_part(hits, line)[1])
    return Steering(replace(plan, plain=expected.plain), line, expected, runs)


@dataclass(frozen=True, slots=True)
class _Pilot:
    """Runs on some noise, and which of them lie in the event on either side."""

    noise: SteeredNoise
    first: Mask
    second: Mask

    @property
    def hits(self) -> WeightedHits:
        return weigh_hits(self.noise.weights, self.first, self.second, self.noise.plan.plain)

    def plan(self, line: Tangent) -> Plan:
        """Where d1 is in the event, or d2, which the claim counts `slope` times."""
        return replace(plan_for(self.noise, self.worth(line)), plain=PLAIN_IN_PILOTS)

    def worth(self, line: Tangent) -> Floats:
        """What each run says about the claim."""
        return np.asarray(self.noise.weights * (self.first + line.slope * self.second))


@dataclass(frozen=True, slots=True)
class _Pilots:
    runner: Runner
    event: Event
    seed: int

    def __call__(self, number: int, plan: Plan = NO_PLAN) -> _Pilot:
        rng = np.random.default_rng(child(self.seed, PLAN_STREAM, number))
        noise = SteeredNoise(_size(self.runner), plan, rng)
        return _Pilot(noise, *plain_hits(self.runner.lifts, self.event, noise, rng))


def _line(candidate: Candidate, claim: Claim) -> Tangent:
    if candidate.tangent is not None:
        return candidate.tangent
    return claim.tangents()[0] if is_ratio(claim) else choose_tangent(claim, *search_rates(candidate.search))


def _size(runner: Runner) -> int:
    return min(PILOT, *(lift.chunk for lift in runner.lifts))


def _moved(
    runner: Runner, candidate: Candidate, claim: Claim, settings: Settings
) -> tuple[Runner, Candidate, Plan, int]:
    """The candidate with a half-line where the claim breaks most clearly, if its event is an interval.

    Besides, a plan to start with, and the runs that it took.

    On plain runs luck decides which tail that is and which input is the likelier there. So both tails are steered to
    and seen from both inputs.
    """
    event = candidate.event
    if not isinstance(event, Interval):
        return runner, candidate, NO_PLAN, 0
    aims = [_aim_at(tail, runner, event, _line(candidate, claim), claim, settings) for tail in (UPPER, LOWER)]
    found = [one for one in aims if one is not None]
    runs = 2 * 2 * AIMS * _size(runner)
    if not found:
        return runner, candidate, NO_PLAN, runs
    best = max(found, key=lambda one: one.score)
    plan = best.pilot.plan(best.line)
    if not best.swapped:
        return runner, replace(candidate, event=best.half, tangent=best.line), plan, runs
    pair = candidate.pair.swapped()
    turned = replace(candidate, pair=pair, event=best.half, search=candidate.search.swapped(), tangent=best.line)
    return Runner(runner.mechanism, pair, runner.way, runner.on_error), turned, plan, runs


UPPER, LOWER = True, False


@dataclass(frozen=True, slots=True)
class _Aim:
    """A half-line, whether d2 is the likelier input there, and how clearly the claim breaks at which tangent."""

    score: float
    half: Interval
    swapped: bool
    line: Tangent
    pilot: _Pilot


def _aim_at(
    upper: bool, runner: Runner, event: Interval, line: Tangent, claim: Claim, settings: Settings
) -> _Aim | None:
    """The best half-line into one tail."""
    plan, best = NO_PLAN, None
    for number in range(AIMS):
        rng = np.random.default_rng(child(settings.seed, AIM_STREAM, int(upper), number))
        noise = SteeredNoise(_size(runner), plan, rng)
        sides = values_on(runner.lifts, event.of, noise, rng)
        if not plan.tables:
            # Somewhere in the tail, for a start.
            half = next(_half_lines(event, sides, upper, (START,)), None)
            if half is None:
                return None
            plan = _Pilot(noise, *(_inside(half, side) for side in sides)).plan(line)
            continue
        found = []
        for half in _half_lines(event, sides, upper, LEVELS):
            masks = [_inside(half, side) for side in sides]
            for swapped in (False, True):
                pilot = _Pilot(noise, *(masks[::-1] if swapped else masks))
                hits = pilot.hits
                if hits.hits[0] >= ENOUGH and hits.rates[0] <= _COMMON:
                    found.append(_Aim(_score(hits, line), half, swapped, line, pilot))
        if not found:
            return None
        best = max(found, key=lambda one: one.score)
        line = choose_tangent(claim, *best.pilot.hits.rates)
        best = replace(best, line=line, score=_score(best.pilot.hits, line))
        plan = best.pilot.plan(line)
    return best


def _score(hits: WeightedHits, line: Tangent) -> float:
    """About how fast confirmation would grow there, were the claim broken by some standard errors less."""
    doubted = Tangent(line.slope, line.intercept + _DOUBT * hits.error(line))
    return growth(hits.expected(_AIM_PLAIN), doubted, _AIM_PARTS)


def _half_lines(event: Interval, sides: list[Floats], upper: bool, levels: Sequence[float]) -> Iterator[Interval]:
    """Half-lines into a tail that begin at these quantiles of both sides."""
    seen = np.concatenate(sides)
    seen = seen[np.isfinite(seen)]
    if not len(seen):
        return
    edges = np.quantile(seen, 1 - np.array(levels) if upper else np.array(levels))
    for edge in _rounded(edges):
        ends: tuple[float | None, float | None] = (edge, None) if upper else (None, edge)
        yield Interval(event.of, ends[0], ends[1], event.among_others)


def _rounded(edges: Floats) -> list[float]:
    """Three digits are enough for a tail."""
    return list(dict.fromkeys(float(f"{edge:.3g}") for edge in edges.tolist()))


def _inside(event: Interval, values: Floats) -> Mask:
    inside = np.isfinite(values)
    if event.low is not None:
        inside &= values >= event.low
    if event.high is not None:
        inside &= values < event.high
    return inside
