"""Half-lines of Gaussian outputs: where the claim breaks most clearly, and how likely they are, by arithmetic.

Where an output's numbers are affine in Gaussian noise (`tracing.affine_runs`), any weighted sum of them is Gaussian
on either input, and its tails are known however rare. So the event is found without runs, and runs are drawn within
its half-space of the noise. What the search has never seen is found here, and no budget bounds how rare it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.events.features.basic import Value
from refutedp.events.features.sums import Factor, Term, WeightedSum
from refutedp.events.predicates import Feature, Interval
from refutedp.hypothesis.betting.tail import TailProcess, start_tail
from refutedp.model.claims import Claim, Tangent
from refutedp.model.importance import TailHits
from refutedp.model.outputs import Path
from refutedp.model.records import Event
from refutedp.sampling.lifted import LiftedSampler
from refutedp.sampling.lifted.noise.tail_noise import HalfSpace
from refutedp.sampling.lifted.tail_runs import tail_hits
from refutedp.sampling.pool.tasks import Task
from refutedp.tracing.affine import FARTHEST
from refutedp.tracing.affine_runs import AffineOutput

Floats: TypeAlias = NDArray[np.float64]
Forms: TypeAlias = tuple[AffineOutput, AffineOutput]

EDGES = np.linspace(-6.0, 37.0, 861)
"""Where half-lines begin, in standard deviations from the centre on d1."""
RAREST = 1e-290
"""No half-line is rarer: floats end soon."""
MISSING = 1e-3
"""The part of P1 that runs are expected to leave unproven."""
NEAR = 0.97
"""Of the half-lines that show so much of what the best one does beyond the claim, the likeliest is taken."""
PURE = 2.0
"""Against a pure claim ever rarer tails show ever more: so many times its epsilon is enough."""
RUNS, MOST_RUNS = 40_000, 4_000_000
"""Runs on both sides: the more the narrower the gap between what the claim allows and what happens."""
NEEDED = 60.0
"""How many runs there are for each that a certain gap takes to show, at least."""
_ROUNDED = 3
_PLACES = 2
_ULP = 2.0**-51


@dataclass(frozen=True, slots=True)
class Projection:
    """A weighted sum of an output's numbers, a Gaussian number: its mean, deviation, and direction in the noise."""

    mean: float
    deviation: float
    error: float
    direction: Floats
    low: float
    high: float
    """Where it is clipped."""


@dataclass(frozen=True, slots=True, eq=False)
class TailPlan:
    """Within which half-space to draw the noise of either side, so that the event cannot be outside on d2.

    `at_least` is the probability of that of d1, where the event is certain but for rounding, `at_most` of that of d2.
    """

    near: HalfSpace
    far: HalfSpace
    at_least: float
    at_most: float
    allowed: float
    """The most that the claim allows for P1 where P2 is `at_most`."""

    @property
    def runs(self) -> int:
        """How many runs on both sides show it."""
        gap = max(1 - self.allowed / self.at_least, 1e-12)
        return int(min(max(RUNS, NEEDED / gap), MOST_RUNS))

    def start(self) -> TailProcess:
        """The evidence before the first run."""
        return start_tail(self.allowed / self.at_least)

    def task(self, sampler: LiftedSampler, event: Event, runs: int, seeds: np.random.SeedSequence) -> Task[TailHits]:
        """So many runs on both sides."""
        return Task(tail_hits, (sampler, event, (self.near, self.far), runs, seeds), sampler.what)


@dataclass(frozen=True, slots=True)
class TailEvent:
    """A half-line, whether d2 is the likelier input there, and what it shows of the claim's parameter."""

    event: Interval
    swapped: bool
    shown: float


def plan_within(forms: Forms, event: Event, claim: Claim) -> TailPlan | None:
    """How to draw runs for an event that is a half-line of a weighted sum, d1 being the likelier input."""
    if not isinstance(event, Interval) or (event.low is None) == (event.high is None):
        return None
    weights = weights_of(event.of)
    if weights is None or not all(path in form.paths for form in forms for path in weights):
        return None
    if list(weights.values()) != [1.0] and any(_is_clipped(form, path) for form in forms for path in weights):
        return None
    sign = 1.0 if event.high is None else -1.0
    edge = sign * (event.low if event.low is not None else event.high or 0.0)
    one, other = (_projection(form, weights, sign) for form in forms)
    if not min(one.deviation, other.deviation) > 0:
        return None
    if not all(side.low < edge - side.error and edge + side.error < side.high for side in (one, other)):
        return None
    near = HalfSpace(forms[0].draws, one.direction, (edge - one.mean + one.error) / one.deviation)
    far = HalfSpace(forms[1].draws, other.direction, (edge - other.mean - other.error) / other.deviation)
    # A little is taken off and put on for what the functions round.
    at_least = math.exp(near.log_probability) * (1 - 1e-9)
    at_most = max(math.exp(far.log_probability) * (1 + 1e-9), RAREST)
    if at_least < RAREST:
        return None
    return TailPlan(near, far, at_least, at_most, claim.largest(at_most))


def _is_clipped(form: AffineOutput, path: Path) -> bool:
    place = form.paths.index(path)
    return bool(form.low[place] > -math.inf or form.high[place] < math.inf)


def weights_of(feature: Feature) -> dict[Path, float] | None:
    """The numbers that a feature adds up, with their weights; None where it does something else."""
    if isinstance(feature, Value):
        return {feature.path: 1.0}
    if not isinstance(feature, WeightedSum):
        return None
    weights: dict[Path, float] = {}
    for term in feature.terms:
        if len(term.factors) != 1 or term.factors[0].is_condition or not isinstance(term.factors[0].of, Value):
            return None
        path = term.factors[0].of.path
        weights[path] = weights.get(path, 0.0) + term.weight
    return weights


def _projection(form: AffineOutput, weights: dict[Path, float], sign: float = 1.0) -> Projection:
    rows = [form.paths.index(path) for path in weights]
    vector = sign * np.array(list(weights.values()))
    per = vector @ form.per[rows]
    deviation = float(np.linalg.norm(per))
    largest = np.abs(vector) @ (np.abs(form.at[rows]) + FARTHEST * np.abs(form.per[rows]).sum(axis=1))
    # What the sum itself rounds, in the runs and here.
    error = float(np.abs(vector) @ form.error[rows] + 4 * (len(rows) + 2) * _ULP * largest)
    mean, direction = float(vector @ form.at[rows]), per / deviation if deviation else per
    low, high = float(form.low[rows].max()), float(form.high[rows].min())
    ends = (low, high) if sign > 0 else (-high, -low)
    return Projection(mean, deviation, error, direction, *ends)


def projection_of(form: AffineOutput, feature: Feature) -> Projection:
    """That of a feature that is a weighted sum."""
    weights = weights_of(feature)
    assert weights is not None, "a plan is made for these only"
    return _projection(form, weights)


def distance(forms: Forms) -> float:
    """How far apart the outputs are, in standard deviations along the direction that tells most; 0 if unclear."""
    one, other = forms
    if one.paths != other.paths:
        return 0.0
    towards = _towards(forms)
    return 0.0 if towards is None else math.sqrt(max(float((one.at - other.at) @ towards), 0.0))


def _towards(forms: Forms) -> Floats | None:
    """The direction along which means differ most, as measured by the noise; None where no noise covers it."""
    one, other = forms
    gap = one.at - other.at
    noisy = np.flatnonzero(one.per.any(axis=1) & other.per.any(axis=1))
    covariance = sum(form.per[noisy] @ form.per[noisy].T for form in forms) / 2
    towards = np.zeros(len(gap))
    if np.count_nonzero(covariance) == len(noisy):
        towards[noisy] = gap[noisy] / np.diag(covariance)
    else:
        towards[noisy] = np.linalg.pinv(covariance, hermitian=True) @ gap[noisy]
        missed = covariance @ towards[noisy] - gap[noisy]
        if np.abs(missed).max() > 1e-6 * np.abs(gap).max():
            return None
    return towards


def telling_sums(forms: Forms) -> list[tuple[dict[Path, float], Feature]]:
    """The weighted sums of the output's numbers that tell the inputs apart, by their weights and as features."""
    towards = _towards(forms) if forms[0].paths == forms[1].paths else None
    if towards is None:
        return []
    if any(np.isfinite([form.low, form.high]).any() for form in forms):
        # Sums of clipped numbers are not Gaussian: each by itself.
        towards = np.where(np.arange(len(towards)) == np.argmax(np.abs(towards)), towards, 0.0)
    weighted: list[tuple[dict[Path, float], Feature]] = [_feature(forms[0].paths, towards)] if towards.any() else []
    scales = [np.linalg.norm(form.per, axis=1) for form in forms]
    # Noise of which the data decide how much there is tells by itself.
    uneven = np.flatnonzero(np.abs(scales[0] - scales[1]) > 1e-9 * np.maximum(*scales))
    return weighted + [({forms[0].paths[i]: 1.0}, Value(forms[0].paths[i])) for i in uneven[:8]]


def best_tail(forms: Forms, claim: Claim) -> TailEvent | None:
    """The half-line that breaks the claim most clearly, whichever input is likelier there; None where none does."""
    found: list[TailEvent] = []
    for weights, feature in telling_sums(forms):
        one, other = (_projection(form, weights) for form in forms)
        ways = [(sign, swapped) for sign in (1.0, -1.0) for swapped in (False, True)]
        if abs(one.deviation - other.deviation) <= 1e-9 * one.deviation:
            ways = [(sign, (sign > 0) is not (one.mean > other.mean)) for sign in (1.0, -1.0)]
            ways = ways[:1] if not np.isfinite([one.low, one.high]).any() else ways
        for sign, swapped in ways:
            half = _half_line(feature, (other, one) if swapped else (one, other), sign, swapped, claim)
            found += [] if half is None else [half]
    return max(found, key=lambda one: one.shown, default=None)


def _feature(paths: Sequence[Path], towards: Floats) -> tuple[dict[Path, float], Feature]:
    """The weighted sum along a direction, its weights rounded."""
    rounded = np.round(towards / np.abs(towards).max(), _ROUNDED)
    order = [int(i) for i in np.argsort(-np.abs(rounded), kind="stable") if rounded[i]]
    if len(order) == 1:
        return {paths[order[0]]: 1.0}, Value(paths[order[0]])
    weights = {paths[i]: float(rounded[i]) for i in order}
    return weights, WeightedSum(tuple(Term(weight, (Factor(Value(path)),)) for path, weight in weights.items()))


def _half_line(
    feature: Feature, sides: tuple[Projection, Projection], sign: float, swapped: bool, claim: Claim
) -> TailEvent | None:
    """The likeliest of the half-lines into one tail that show nearly the most."""
    from scipy import special

    one, other = sides
    if not min(one.deviation, other.deviation) > 0:
        return None
    digits = _PLACES - math.floor(math.log10(one.deviation))
    edges = np.unique(np.round(sign * one.mean + EDGES * one.deviation, digits))
    low, high = (one.low, one.high) if sign > 0 else (-one.high, -one.low)
    edges = edges[(edges > low + one.error) & (edges < high - one.error)]
    if not len(edges):
        return None
    p1 = (1 - MISSING) * special.ndtr((sign * one.mean - edges) / one.deviation)
    p2 = np.maximum(special.ndtr((sign * other.mean - edges) / other.deviation), RAREST)
    breaks = (p1 > claim.largest(p2)) & (p1 > 100 * RAREST)
    if not breaks.any():
        return None
    own = float(getattr(claim, claim.parameter)) if claim.parameter else 0.0
    shown = claim.least(p1, p2) if claim.parameter else np.log(p1 / claim.largest(p2))
    most = float(shown[breaks].max())
    enough = own + NEAR * (most - own)
    if claim.pure_epsilon is not None:
        enough = min(enough, PURE * claim.pure_epsilon)
    best = int(np.flatnonzero(breaks & (shown >= enough))[0])
    edge = sign * float(edges[best]) + 0.0
    ends = (edge, None) if sign > 0 else (None, edge)
    return TailEvent(Interval(feature, *ends), swapped, float(shown[best]))


def tangent_for(plan: TailPlan, claim: Claim) -> Tangent | None:
    """The line of the claim's bound near the event, for claims that are not about a ratio."""
    return None if claim.pure_epsilon is not None else claim.tangent_at(max(plan.at_most, 1e-30))
