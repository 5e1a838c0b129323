"""Make a plan that steers the noise of lifted runs towards an event, by short pilots.

An event of probability 1e-4 happens in one of ten thousand plain runs, and most of them say nothing. Lifted runs know
the law of every draw, so they can be drawn where the event happens, and weighed (`sampling.lifted.steered`). Each
pilot draws by the plan that the one before it made. Whatever they choose is fixed before the first confirmation run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.claims import Claim, Tangent
from refutedp.records import Candidate, Event
from refutedp.sampling.lifted.steered import Plan, SteeredNoise, effective, plan_for
from refutedp.sampling.lifted.twins import plain_hits
from refutedp.sampling.runner import Runner
from refutedp.sampling.seeds import child
from refutedp.settings import Settings
from refutedp.stats.verdict import choose_tangent, is_ratio, search_rates
from refutedp.stats.weighted import best_part
from refutedp.weights import WeightedHits, weigh_hits

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

PLAN_STREAM = 23
PILOT, SMALLEST_PILOT = 100_000, 10_000
"""Pairs of runs in a pilot: a fifth of the confirmation runs, within these limits."""
PLAINS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Parts of the confirmation runs that may be left plain: the more, the lighter the heaviest weight."""
PLAIN_IN_PILOTS = 0.2
"""Pilots prove nothing, so most of their runs are steered."""
FEWEST = 3
"""Hits from which a plan can be made."""
SETTLED = 1000
"""Hits, counted by what they say, from which a plan is good enough."""
MOST_PILOTS = 12
NO_PLAN = Plan({}, plain=1.0)


@dataclass(frozen=True, slots=True)
class Steering:
    """How to steer, the line that the stakes are chosen for, and a pilot that says what to expect."""

    plan: Plan
    line: Tangent
    pilot: WeightedHits

    @property
    def pairs_needed(self) -> float:
        """About how many pairs of runs make a unit of log wealth against the line."""
        _, grown = best_part(self.pilot, self.line)
        return 1 / grown if grown > 0 else math.inf

    def against(self, line: Tangent) -> Steering:
        """The same plan aimed at another line, with the part of the runs left plain that serves there."""
        expected = max((self.pilot.expected(plain) for plain in PLAINS), key=lambda hits: best_part(hits, line)[1])
        return Steering(replace(self.plan, plain=expected.plain), line, expected)


def _silent(_: int) -> None:
    """Nobody wants to know that a pilot is done."""


def steering(
    runner: Runner,
    candidate: Candidate,
    claim: Claim,
    settings: Settings,
    plan: Plan = NO_PLAN,
    tick: Callable[[int], None] = _silent,
) -> Steering | None:
    """A plan for the candidate's event, from pilots of its own; None when the event is too rare to be seen.

    The first pilot is steered by `plan`, if one is at hand; `tick` is told after each how many pairs it took.
    """
    line, size = line_of(candidate, claim), size_of(runner, settings)
    made = 0
    for number in range(MOST_PILOTS):
        pilot = pilot_of(runner, candidate.event, plan, size, child(settings.seed, PLAN_STREAM, number))
        tick(size)
        if pilot.hits.hits[0] < FEWEST:
            continue
        plan, made = pilot.plan(line), made + 1
        if made > 1 and effective(pilot.worth(line)) >= SETTLED:
            break
    if not made:
        return None
    # The last one says what to expect, and so is longer.
    last = runner.steered(candidate.event, plan, 2 * size, child(settings.seed, PLAN_STREAM, MOST_PILOTS))
    tick(2 * size)
    return Steering(plan, line, last).against(line)


@dataclass(frozen=True, slots=True)
class Pilot:
    """Runs on some noise, and which of them lie in the event on either side."""

    noise: SteeredNoise
    first: Mask
    second: Mask

    @property
    def hits(self) -> WeightedHits:
        """The hits by their weights."""
        return weigh_hits(self.noise.weights, self.first, self.second, self.noise.plan.plain)

    def plan(self, line: Tangent) -> Plan:
        """Where d1 is in the event, or d2, which the line counts `slope` times."""
        return replace(plan_for(self.noise, self.worth(line)), plain=PLAIN_IN_PILOTS)

    def worth(self, line: Tangent) -> Floats:
        """What each run says about the line."""
        return np.asarray(self.noise.weights * np.abs(self.first - line.slope * self.second))


def pilot_of(runner: Runner, event: Event, plan: Plan, size: int, seeds: np.random.SeedSequence) -> Pilot:
    """A pilot on noise steered by a plan."""
    rng = np.random.default_rng(seeds)
    noise = SteeredNoise(size, plan, rng)
    return Pilot(noise, *plain_hits(runner.lifts, event, noise, rng))


def line_of(candidate: Candidate, claim: Claim) -> Tangent:
    """The line that the candidate aims at: its own, or the claim's."""
    if candidate.tangent is not None:
        return candidate.tangent
    return claim.tangents()[0] if is_ratio(claim) else choose_tangent(claim, *search_rates(candidate.search))


def size_of(runner: Runner, settings: Settings) -> int:
    """Pairs of runs in a pilot."""
    wanted = max(settings.confirm_runs // 5, SMALLEST_PILOT)
    return min(wanted, PILOT, *(lift.chunk for lift in runner.lifts))
