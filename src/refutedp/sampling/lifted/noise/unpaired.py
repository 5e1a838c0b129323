"""Importance-sampled unpaired runs.

Each is of one input only, its noise drawn towards the event on d1, away from it on d2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refutedp.model.importance import UnpairedHits, no_runs, weigh_first, weigh_second
from refutedp.model.records import Event
from refutedp.sampling.lifted.lift import Lift, watching
from refutedp.sampling.lifted.noise.importance_noise import ImportanceNoise, Plan
from refutedp.sampling.lifted.noise.paired_runs import Known, hits_on
from refutedp.sampling.lifted.noise.regions import AvoidingNoise, NoiseRegion


@dataclass(frozen=True, slots=True)
class UnpairedPlan:
    """Each run is of d1 with probability `share`, its noise drawn by a plan; else of d2, away from a region."""

    towards: Plan
    away: NoiseRegion
    share: float


def hit_unpaired(
    lifts: tuple[Lift, Lift], event: Event, plan: UnpairedPlan, n: int, rng: np.random.Generator
) -> UnpairedHits:
    """Hits of an event in `n` runs in all, with their weights; raises CannotLift."""
    first, second = lifts
    one = int(rng.binomial(n, plan.share))
    known: Known = {}
    found = no_runs(plan.towards.plain)
    with watching(*lifts):
        for start in range(0, one, first.chunk):
            weighted = ImportanceNoise(min(first.chunk, one - start), plan.towards, rng)
            hits = hits_on(first, event, weighted, rng, known)
            found += weigh_first(weighted.weights, hits, plan.towards.plain)
        for start in range(0, n - one, second.chunk):
            avoiding = AvoidingNoise(min(second.chunk, n - one - start), plan.away, rng)
            hits = hits_on(second, event, avoiding, rng, known)
            found += weigh_second(avoiding.weights, hits, plan.towards.plain)
    return found
