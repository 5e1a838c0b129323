"""Finds the tail event (a half-line) that breaks a claim most clearly, by pilot runs that move into the tail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.detector.plan_importance import NO_PLAN, Pilot, size_of
from refutedp.events.predicates import Interval
from refutedp.hypothesis.betting.weighted import growth
from refutedp.hypothesis.claim_test import claim_test
from refutedp.model.claims import Claim, Tangent
from refutedp.model.importance import WeightedHits
from refutedp.model.settings import AIM_STREAM, Settings, child
from refutedp.sampling.lifted import LiftedSampler
from refutedp.sampling.lifted.lifted_sampler import values_on
from refutedp.sampling.lifted.noise.importance_noise import ImportanceNoise, Plan

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

AIMS = 4
"""Pilots for each tail."""
START = 0.001
"""Where in the tail the first plan aims."""
LEVELS = tuple(float(level) for level in np.geomspace(0.98, 2e-4, 48))
"""Where half-lines begin, as quantiles of the runs of a pilot."""
ENOUGH = 25
"""Hits from which a half-line can be judged."""
_COMMON = 0.5
"""What happens more often need not be drawn to."""
_PLAIN, _PARTS = 0.8, (0.05, 0.1, 0.2, 0.4, 0.8)
_DOUBT = 2.0
"""Standard errors by which the best of many half-lines may owe its rank to chance."""
UPPER, LOWER = True, False


@dataclass(frozen=True, slots=True)
class HalfLine:
    """A half-line, whether d2 is the likelier input there, and how clearly it breaks which line of the claim."""

    event: Interval
    swapped: bool
    line: Tangent
    score: float
    pilot: Pilot

    @property
    def plan(self) -> Plan:
        """How to draw noise for there."""
        return self.pilot.plan(self.line)


def aim_at(
    upper: bool,
    sampler: LiftedSampler,
    event: Interval,
    line: Tangent,
    claim: Claim,
    settings: Settings,
    tick: Callable[[int], None],
) -> HalfLine | None:
    """The best half-line of the event's feature into one tail, whichever input is likelier there."""
    plan, best = NO_PLAN, None
    for number in range(AIMS):
        rng = np.random.default_rng(child(settings.seed, AIM_STREAM, int(upper), number))
        noise = ImportanceNoise(size_of(sampler, settings), plan, rng)
        sides = values_on(sampler.lifts, event.of, noise, rng)
        tick(noise.n)
        if not plan.tables:
            # Somewhere in the tail, for a start.
            half = next(_half_lines(event, sides, upper, (START,)), None)
            if half is None:
                return None
            plan = Pilot(noise, *(_inside(half, side) for side in sides)).plan(line)
            continue
        best = _best(event, upper, noise, sides, line, (False, True))
        if best is None:
            return None
        line = claim_test(claim).line(*best.pilot.hits.rates)
        best = replace(best, line=line, score=score(best.pilot.hits, line))
        plan = best.plan
    return best


def further(
    upper: bool,
    sampler: LiftedSampler,
    event: Interval,
    line: Tangent,
    plan: Plan,
    settings: Settings,
    tick: Callable[[int], None],
) -> HalfLine | None:
    """The best half-line into the tail that a plan draws by importance to already, the likelier input being known.

    One pilot.
    """
    rng = np.random.default_rng(child(settings.seed, AIM_STREAM, int(upper), AIMS))
    noise = ImportanceNoise(size_of(sampler, settings), plan, rng)
    sides = values_on(sampler.lifts, event.of, noise, rng)
    tick(noise.n)
    return _best(event, upper, noise, sides, line, (False,))


def _best(
    event: Interval, upper: bool, noise: ImportanceNoise, sides: list[Floats], line: Tangent, ways: Sequence[bool]
) -> HalfLine | None:
    found = []
    for half in _half_lines(event, sides, upper, LEVELS):
        masks = [_inside(half, side) for side in sides]
        for swapped in ways:
            pilot = Pilot(noise, *(masks[::-1] if swapped else masks))
            hits = pilot.hits
            if hits.hits[0] >= ENOUGH and hits.rates[0] <= _COMMON:
                found.append(HalfLine(half, swapped, line, score(hits, line), pilot))
    return max(found, key=lambda one: one.score, default=None)


def score(hits: WeightedHits, line: Tangent) -> float:
    """About how fast confirmation would grow there, were the line broken by some standard errors less."""
    doubted = Tangent(line.slope, line.intercept + _DOUBT * hits.error(line))
    return growth(hits.expected(_PLAIN), doubted, _PARTS)


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
