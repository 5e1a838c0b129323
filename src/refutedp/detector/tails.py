"""Looks for the half-line of a Gaussian output that breaks the claim, over all pairs, without runs.

It takes the place of what search found where it shows more, but only after lifted runs, in the tail and elsewhere,
gave the numbers that the analysis of the noise says: two ways to follow the function that share no code.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from refutedp.detector.confirmations import WithinTail
from refutedp.detector.plan_tail import (
    TailEvent,
    TailPlan,
    best_tail,
    distance,
    plan_within,
    projection_of,
    tangent_for,
)
from refutedp.detector.race import Found
from refutedp.events.predicates import Interval
from refutedp.hypothesis.claim_test import claim_test
from refutedp.model.claims import Claim
from refutedp.model.records import Candidate, Counts, Event
from refutedp.model.settings import TAIL_STREAM, Settings, child
from refutedp.sampling.lifted import LiftedSampler
from refutedp.sampling.lifted.noise.tail_noise import HalfSpace
from refutedp.sampling.lifted.tail_runs import tail_values
from refutedp.sampling.sampler import CannotSample, Sampler
from refutedp.tracing.affine_runs import AffineOutput, AffineTracer

BLATANT = 10_000
"""Search runs where a tail breaks the claim."""
COMPARED = 1000
"""Lifted runs of each kind that must give the numbers of the analysis."""
CLOSEST = 4
"""Pairs of which half-lines are looked at: those whose outputs lie farthest apart."""
GIVE_UP = 2
"""After so many inputs in a row without such an output there will be none."""
MORE = 1.02
"""How much more of the claim's parameter the tail of a longer pair must show."""
MUCH_MORE = 1.5
"""How much more the search's own event must seem to show to be kept: search runs flatter, and no event of an output
that is Gaussian throughout shows more than its best half-line."""
_AGREE = 1e-9


Tail: TypeAlias = tuple[Candidate, Sampler]


def tail_candidate(samplers: list[Sampler], claim: Claim, settings: Settings) -> Tail | None:
    """The half-line that breaks the claim most clearly, on some pair, and how to confirm it; None where none does."""
    if not _allowed(settings):
        return None
    lifted = [one for one in samplers if isinstance(one, LiftedSampler)]
    ordinary = [one for one in lifted if not one.pair.outside] or lifted
    best: tuple[TailEvent, LiftedSampler] | None = None
    for sampler, forms in closest(ordinary):
        half = best_tail(forms, claim)
        if half is not None and (best is None or half.shown > best[0].shown * MORE):
            best = half, sampler
    if best is None:
        return None
    half, sampler = best
    sampler = sampler.swapped() if half.swapped else sampler
    plan = tail_plan(sampler, half.event, claim, settings)
    if plan is None:
        return None
    candidate = Candidate(
        sampler.pair, half.event, WithinTail(plan), half.shown, Counts(0, 0, 0, 0), tangent_for(plan, claim)
    )
    return candidate, sampler


def better(one: Tail | None, other: Tail | None) -> Tail | None:
    """That which shows more; on an ordinary pair, if there is one."""
    known = [tail for tail in (one, other) if tail is not None]
    return max(known, key=lambda tail: (not tail[0].pair.outside, tail[0].score), default=None)


def shortened(settings: Settings, tail: Tail | None) -> Settings:
    """The settings of the search: where a tail is at hand already, it need only find what is blatant."""
    return settings if tail is None else replace(settings, search_runs=min(settings.search_runs, BLATANT))


def taken(tail: Tail, found: Found, claim: Claim, settings: Settings) -> Found:
    """What search found, with the tail as the candidate unless its own shows more."""
    candidate, sampler = tail
    if _shown_by(found, claim, settings) > candidate.score:
        return found
    return replace(found, candidate=candidate, sampler=sampler)


def tail_plan(sampler: Sampler | None, event: Event, claim: Claim, settings: Settings) -> TailPlan | None:
    """How to confirm an event within the tail in which it lies; None where there is no such way."""
    if not _allowed(settings) or not isinstance(sampler, LiftedSampler):
        return None
    tracer = AffineTracer(sampler.mechanism)
    pair = sampler.pair
    forms = [tracer.output(data, pair.arguments) for data in (pair.d1, pair.d2)]
    if forms[0] is None or forms[1] is None:
        return None
    plan = plan_within((forms[0], forms[1]), event, claim)
    try:
        agreed = plan is not None and _agrees(sampler, event, (forms[0], forms[1]), plan, settings)
    except CannotSample:
        agreed = False
    return plan if agreed else None


def _allowed(settings: Settings) -> bool:
    return settings.importance != "never" and settings.stop == "early" and settings.method != "fisher"


def closest(samplers: list[LiftedSampler]) -> Iterator[tuple[LiftedSampler, tuple[AffineOutput, AffineOutput]]]:
    """The pairs whose outputs are affine in Gaussian noise, and lie farthest apart; the shortest of equals."""
    if not samplers:
        return
    tracer, failed = AffineTracer(samplers[0].mechanism), 0
    ranked: list[tuple[bool, float, LiftedSampler, tuple[AffineOutput, AffineOutput]]] = []
    for sampler in samplers:
        pair = sampler.pair
        one = tracer.output(pair.d1, pair.arguments)
        other = None if one is None else tracer.output(pair.d2, pair.arguments)
        if one is None or other is None:
            failed += 1
            if failed == GIVE_UP and not ranked:
                return
        else:
            apart = distance((one, other))
            uneven = not np.allclose(np.abs(one.per).sum(axis=1), np.abs(other.per).sum(axis=1), rtol=1e-9)
            ranked.append((uneven, round(apart, 6), sampler, (one, other)))
    ranked.sort(key=lambda each: (-each[0], -each[1], each[2].length))
    for _, _, sampler, forms in ranked[:CLOSEST]:
        yield sampler, forms


def _shown_by(found: Found, claim: Claim, settings: Settings) -> float:
    """What the search's own candidate shows of the claim's parameter, less what may flatter it."""
    candidate = found.candidate
    if candidate is None or candidate.score <= 0 or not claim.parameter:
        return 0.0
    if claim.pure_epsilon is not None:
        return candidate.score
    seen = candidate.search
    x, y, n = (round(hits * settings.confirm_runs / max(seen.n_x, 1)) for hits in (seen.x, seen.y, seen.n_x))
    shown = claim_test(claim).bounds(Counts(x, y, n, n), 1 - settings.significance, candidate.tangent).own
    return shown / MUCH_MORE


def _agrees(
    sampler: LiftedSampler, event: Event, forms: tuple[AffineOutput, AffineOutput], plan: TailPlan, settings: Settings
) -> bool:
    """Whether lifted runs in either tail, and anywhere, have the numbers that the forms say, on both inputs."""
    assert isinstance(event, Interval)
    rng = np.random.default_rng(child(settings.seed, TAIL_STREAM))
    anywhere = HalfSpace(plan.near.draws, plan.near.direction, -math.inf)
    for space in (plan.near, plan.far, anywhere):
        noise, values = tail_values(sampler, event.of, space, COMPARED, rng)
        for form, seen in zip(forms, values, strict=True):
            told = projection_of(form, event.of)
            said = np.clip(told.mean + told.deviation * (told.direction @ noise), told.low, told.high)
            if not (np.abs(seen - said) <= told.error + _AGREE * told.deviation).all():
                return False
    return True
