"""Choose an importance-sampling proposal for the noise of lifted runs, by short pilot runs.

An event of probability 1e-4 happens in one of ten thousand plain runs, and most of them say nothing. Lifted runs know
the distribution of every draw, so they can be drawn where the event happens, and weighed
(`sampling.lifted.noise.importance_noise`). Each pilot draws by the plan that the one before it made. Whatever they
choose is fixed before the first confirmation run.

Paired runs tolerate rough proposals. Where the draws nearly determine the event, unpaired runs need fewer: d1 is
sampled towards the event, and d2 away from the region where it is likely. Both ways are judged by the same pilots.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.hypothesis.betting import horizon
from refutedp.hypothesis.betting.horizon import HorizonProcess
from refutedp.hypothesis.betting.weighted import (
    UnpairedProcess,
    WeightedProcess,
    best_part,
    best_stake,
    start_unpaired,
    start_weighted,
)
from refutedp.hypothesis.claim_test import claim_test, search_rates
from refutedp.model.claims import Claim, Tangent
from refutedp.model.importance import UnpairedHits, WeightedHits, weigh_first, weigh_hits, weigh_second
from refutedp.model.records import Candidate, Event
from refutedp.model.settings import PLAN_STREAM, Settings, child
from refutedp.sampling.lifted import LiftedSampler
from refutedp.sampling.lifted.lifted_sampler import UnpairedPlan, plain_hits
from refutedp.sampling.lifted.noise.importance_noise import (
    ImportanceNoise,
    NoiseRegion,
    Plan,
    effective,
    plan_for,
    ratios,
    region_of,
)
from refutedp.sampling.pool.tasks import Task

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

PILOT, SMALLEST_PILOT = 100_000, 10_000
"""Pairs of runs in a pilot: a fifth of the confirmation runs, within these limits."""
PLAINS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Parts of the confirmation runs that may be left plain: the more, the lighter the heaviest weight."""
FEW_PLAIN = (0.1, 0.2)
"""So few may be where all runs are made anyway, for stakes are smaller then."""
PLAIN_IN_PILOTS = 0.2
"""Pilots prove nothing, so most of their runs are importance-sampled."""
FEWEST = 3
"""Hits from which a plan can be made."""
SETTLED = 1000
"""Hits, counted by what they say, from which a plan is good enough."""
MOST_PILOTS = 12
NO_PLAN = Plan({}, plain=1.0)
PLAIN_ON_D1 = 0.05
"""The part of the runs on d1 that is not importance-sampled."""
REGION_HITS = 100
"""Hits in a pilot from which a region can be told: to be drawn in, on d1, or else kept away from, on d2."""


@dataclass(frozen=True, slots=True)
class ImportancePlan:
    """How to draw noise for, the line that the stakes are chosen for, and a pilot that says what to expect."""

    plan: Plan
    line: Tangent
    pilot: WeightedHits

    @property
    def runs_needed(self) -> float:
        """About how many runs, on both sides together, make a unit of log wealth against the line."""
        _, grown = best_part(self.pilot, self.line)
        return 2 / grown if grown > 0 else math.inf

    @property
    def share(self) -> float:
        """The part of the runs that go to d1."""
        return 0.5

    @property
    def batches(self) -> Sequence[int] | None:
        """Runs of both sides in each batch, where bets are for batches of known sizes."""
        return None

    @property
    def towards_event(self) -> Plan:
        """How noise is drawn towards the event."""
        return self.plan

    @property
    def rates(self) -> tuple[float, float]:
        """What the pilot says of P1 and P2."""
        return self.pilot.rates

    def start(self, line: Tangent) -> WeightedProcess:
        """The evidence against a line before the first run."""
        return start_weighted(line, self.pilot, self.line)

    def task(
        self, sampler: LiftedSampler, event: Event, runs: int, seeds: np.random.SeedSequence
    ) -> Task[WeightedHits]:
        """So many runs of both sides together."""
        return Task(sampler.weighted, (event, self.plan, runs // 2, seeds), sampler.what)

    def against(self, line: Tangent) -> ImportancePlan:
        """The same plan aimed at another line, with the part of the runs left plain that serves there."""
        expected = max((self.pilot.expected(plain) for plain in PLAINS), key=lambda hits: best_part(hits, line)[1])
        return ImportancePlan(replace(self.plan, plain=expected.plain), line, expected)


@dataclass(frozen=True, slots=True)
class HorizonPlan(ImportancePlan):
    """The same for the sharpest bound on a ratio at the end of so many pairs, at this level."""

    pairs: int
    alpha: float

    @property
    def bound(self) -> float:
        """About what they certify, if they are as the pilot."""
        return horizon.expected_bound(self.pilot, self.pairs, self.alpha)

    @property
    def batches(self) -> Sequence[int]:
        """Runs of both sides in each batch."""
        return [2 * size for size in horizon.batches(self.pairs)]

    def start(self, line: Tangent) -> HorizonProcess:  # type: ignore[override]
        """The evidence against a line before the first run."""
        return horizon.start_horizon(math.log(line.slope), self.pilot, self.pairs, self.alpha)


def sharpest(found: ImportancePlan, pairs: int, alpha: float) -> HorizonPlan:
    """The same plan, with the plain part that promises the largest bound of so many pairs."""
    expected = (found.pilot.expected(plain) for plain in (*FEW_PLAIN, *PLAINS))
    plans = [HorizonPlan(replace(found.plan, plain=one.plain), found.line, one, pairs, alpha) for one in expected]
    return max(plans, key=lambda one: one.bound)


@dataclass(frozen=True, slots=True)
class Pilot:
    """Runs on some noise, and which of them lie in the event on either side."""

    noise: ImportanceNoise
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


@dataclass(frozen=True, slots=True)
class Piloted:
    """A plan, the line that it serves against, and two pilots drawn by it, which chose nothing in it."""

    plan: Plan
    line: Tangent
    last: tuple[Pilot, Pilot]

    def pairs(self) -> ImportancePlan:
        """How to draw noise for pairs of runs."""
        one, other = self.last
        return ImportancePlan(self.plan, self.line, one.hits + other.hits).against(self.line)


def _silent(_: int) -> None:
    """Progress callback that does nothing."""


def pilots(
    sampler: LiftedSampler,
    candidate: Candidate,
    claim: Claim,
    settings: Settings,
    plan: Plan = NO_PLAN,
    tick: Callable[[int], None] = _silent,
) -> Piloted | None:
    """A plan for the candidate's event, from pilots of its own; None when the event is too rare to be seen.

    The first pilot is drawn by `plan`, if one is at hand; `tick` is told after each how many pairs it took.
    """
    line, size = line_of(candidate, claim), size_of(sampler, settings)

    def next_pilot(number: int) -> Pilot:
        pilot = pilot_of(sampler, candidate.event, plan, size, child(settings.seed, PLAN_STREAM, number))
        tick(size)
        return pilot

    made = 0
    for number in range(MOST_PILOTS):
        pilot = next_pilot(number)
        if pilot.hits.hits[0] < FEWEST:
            continue
        plan, made = pilot.plan(line), made + 1
        if made > 1 and effective(pilot.worth(line)) >= SETTLED:
            break
    if not made:
        return None
    # Two more say what to expect.
    return Piloted(plan, line, (next_pilot(MOST_PILOTS), next_pilot(MOST_PILOTS + 1)))


def pilot_of(sampler: LiftedSampler, event: Event, plan: Plan, size: int, seeds: np.random.SeedSequence) -> Pilot:
    """A pilot on noise drawn by a plan."""
    rng = np.random.default_rng(seeds)
    noise = ImportanceNoise(size, plan, rng)
    return Pilot(noise, *plain_hits(sampler.lifts, event, noise, rng))


def line_of(candidate: Candidate, claim: Claim) -> Tangent:
    """The line that the candidate aims at: its own, or the claim's."""
    return candidate.tangent or claim_test(claim).line(*search_rates(candidate.search))


def size_of(sampler: LiftedSampler, settings: Settings) -> int:
    """Pairs of runs in a pilot."""
    wanted = max(settings.confirm_runs // 5, SMALLEST_PILOT)
    return min(wanted, PILOT, *(lift.chunk for lift in sampler.lifts))


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
    def batches(self) -> Sequence[int] | None:
        """Of any size."""
        return None

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
    if min(int(pilot.first.sum()) for pilot in piloted.last) < REGION_HITS:
        return None
    weights = made.noise.weights
    towards = region_of(made.noise, weights * made.first).plan(PLAIN_ON_D1)
    away = region_of(made.noise, weights * made.second) if made.second.sum() >= REGION_HITS else NoiseRegion({})
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
