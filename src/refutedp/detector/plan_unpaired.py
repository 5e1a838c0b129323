"""Plan runs that are each of one side only: towards the event on d1, away from it on d2.

Paired runs tolerate rough proposals. Where the draws nearly determine the event, unpaired runs need fewer: d2 is
sampled away from the region where the event is likely. Both ways are judged by the same pilots.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from refutedp.detector.plan_importance import Pilot, Piloted
from refutedp.hypothesis.betting.weighted import UnpairedProcess, best_stake, start_unpaired
from refutedp.model.claims import Tangent
from refutedp.model.importance import UnpairedHits, weigh_first, weigh_second
from refutedp.model.records import Event
from refutedp.sampling.lifted import LiftedSampler
from refutedp.sampling.lifted.lifted_sampler import UnpairedPlan
from refutedp.sampling.lifted.noise.importance_noise import NoiseRegion, Plan, ratios, region_of
from refutedp.sampling.pool.tasks import Task

PLAIN = 0.05
"""The part of the runs on d1 that is not importance-sampled."""
ENOUGH = 100
"""Hits in a pilot from which a region can be told: to be drawn in, on d1, or else kept away from, on d2."""


@dataclass(frozen=True, slots=True)
class UnpairedImportancePlan:
    """How to draw noise for, the line that the stake is chosen for, and what the pilots say of it."""

    plan: UnpairedPlan
    line: Tangent
    stake: tuple[float, float]
    grown: float
    rates: tuple[float, float]

    @property
    def runs_needed(self) -> float:
        """About how many runs make a unit of log wealth against the line."""
        return 1 / self.grown if self.grown > 0 else math.inf

    @property
    def share(self) -> float:
        """The part of the runs that go to d1."""
        return self.plan.share

    @property
    def towards_event(self) -> Plan:
        """How noise is drawn towards the event, on d1."""
        return self.plan.towards

    def start(self, line: Tangent) -> UnpairedProcess:
        """The evidence against a line before the first run."""
        return start_unpaired(line, self.plan.towards.plain, self.plan.share, self.stake)

    def task(
        self, sampler: LiftedSampler, event: Event, runs: int, seeds: np.random.SeedSequence
    ) -> Task[UnpairedHits]:
        """So many runs of both sides together."""
        return Task(sampler.unpaired, (event, self.plan, runs, seeds), sampler.what)


def unpaired(piloted: Piloted) -> UnpairedImportancePlan | None:
    """Planned by one of the last pilots, judged by the other; None when they have too few hits on d1."""
    made, judge = piloted.last
    if min(int(pilot.first.sum()) for pilot in piloted.last) < ENOUGH:
        return None
    weights = made.noise.weights
    towards = region_of(made.noise, weights * made.first).plan(PLAIN)
    away = region_of(made.noise, weights * made.second) if made.second.sum() >= ENOUGH else NoiseRegion({})
    unshared = UnpairedPlan(towards, away, 0.5)
    first, second = expected(judge, unshared)
    grown, share, stake = best_stake(first, second, piloted.line)
    return UnpairedImportancePlan(
        UnpairedPlan(towards, away, share), piloted.line, stake, grown, (first + second).rates
    )


def expected(pilot: Pilot, plan: UnpairedPlan) -> tuple[UnpairedHits, UnpairedHits]:
    """What as many runs on d1 as the pilot has pairs, and as many on d2, would show on average."""
    stands_for, plain = pilot.noise.weights, plan.towards.plain
    weights = 1 / (plain + (1 - plain) * ratios(pilot.noise, plan.towards))
    first = weigh_first(weights, pilot.first, plain, often=stands_for / weights)
    kept, left = plan.away.kept, 1 - plan.away.chances(pilot.noise)
    often = stands_for * left / kept
    second = weigh_second(kept / left, pilot.second, plain, often)
    # Nearly all weights are `kept` exactly: only the others need an estimate.
    return first, replace(second, log_weights=second.n_y * math.log(kept) - float(often @ np.log(left)))
