"""Decides whether the confirmation runs are importance-sampled, and towards which event.

They are where plain runs would not convict within the budget and importance-sampled ones would; where the fastest
conviction is wanted; and, with `importance="always"`, where few hits on the rarer side would leave the bound loose.
The threshold of a half-line is then re-optimised.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from refutedp.detector.confirmations import ImportanceSampled, UnpairedImportanceSampled, WithinTail, confirmation_of
from refutedp.detector.plan_half_line import AIMS, LOWER, UPPER, HalfLine, aim_at, further
from refutedp.detector.plan_importance import (
    NO_PLAN,
    PLAIN_IN_PILOTS,
    HorizonPlan,
    ImportancePlan,
    line_of,
    pilots,
    sharpest,
    unpaired,
)
from refutedp.detector.tails import tail_plan
from refutedp.events.predicates import Interval, reads_digits
from refutedp.hypothesis.claim_test import claim_test
from refutedp.hypothesis.tests import ratio
from refutedp.model.claims import Claim, Tangent
from refutedp.model.records import Candidate, Counts
from refutedp.model.settings import Progress, Settings
from refutedp.sampling.lifted import LiftedSampler
from refutedp.sampling.lifted.noise.importance_noise import Plan
from refutedp.sampling.sampler import CannotSample, Sampler

MOST_ALONE = 0.1
"""No pilots where more of the runs take paths of their own: a discrete Gaussian by coins waited a minute for them."""
_RUNS_PER_SCORE = 60.0
_HOPE = 2
"""How far beyond the budget a conviction may be expected: pilots are rough, and plain runs would do no better."""
_SLACK = 1.5
"""log wealth that the spread of the stakes costs, about."""
RARE = 0.1
"""Events more likely than this on the rarer side are seen often enough in plain runs."""
HIDDEN = 0.005
"""The part of the log ratio that must stay unproven by plain runs before importance-sampled ones are tried."""
USUAL_PILOTS = 2 * AIMS + 2
SHARPER = 1.004
"""How much larger the bound of importance-sampled runs must promise to be: plain counts are easier to follow."""


@dataclass(frozen=True, slots=True)
class Aimed:
    """What to confirm, and by which strategy, which is part of the candidate."""

    sampler: Sampler
    candidate: Candidate
    runs: int = 0
    """Runs that the pilots took, on both sides."""


def aim(
    sampler: Sampler,
    candidate: Candidate,
    claim: Claim,
    settings: Settings,
    report: Callable[[Progress], None] = lambda _: None,
) -> Aimed:
    """The candidate as it shall be confirmed. Nothing is known of the confirmation runs here."""
    plain = Aimed(sampler, candidate)
    if confirmation_of(candidate).needs_plan:
        return plain
    lifted = _weighable(sampler, candidate, settings)
    if lifted is None:
        return plain
    counted = _Pilots(report)
    try:
        aimed = plain if lifted.scattered else _aim(lifted, plain, claim, settings, counted.done)
    except CannotSample:
        aimed = plain
    return replace(aimed, runs=counted.runs)


def _aim(
    sampler: LiftedSampler, plain: Aimed, claim: Claim, settings: Settings, tick: Callable[[int], None]
) -> Aimed:
    if not _for_a_bound(claim, settings):
        return _to_convict(sampler, plain, claim, settings, tick)
    return _to_sharpen(sampler, plain, claim, settings, tick) if settings.importance == "always" else plain


def _for_a_bound(claim: Claim, settings: Settings) -> bool:
    """Whether importance sampling is for a sharper bound, and not for a conviction."""
    return settings.goal == "bound" and claim_test(claim).importance_sharpens


def _weighable(sampler: Sampler, candidate: Candidate, settings: Settings) -> LiftedSampler | None:
    """The sampler, if it and the settings allow to weigh runs, and weighted runs can speak of the event at all.

    Their noise has the distribution of NumPy's, not its last digits.
    """
    asked = settings.importance == "always" or (settings.importance == "needed" and settings.stop == "early")
    allowed = asked and settings.method != "fisher"
    return sampler if allowed and isinstance(sampler, LiftedSampler) and not reads_digits(candidate.event) else None


def planned(sampler: Sampler, candidate: Candidate, claim: Claim, settings: Settings) -> Candidate:
    """The candidate with a plan, if its strategy wants one; where none can be made, with another strategy."""
    strategy = confirmation_of(candidate)
    if not strategy.needs_plan:
        return candidate
    if isinstance(strategy, WithinTail):
        strategy = replace(strategy, plan=tail_plan(sampler, candidate.event, claim, settings))
        return replace(candidate, confirmation=strategy.planned_by(None))
    lifted = _weighable(sampler, candidate, settings)
    try:
        piloted = None if lifted is None else pilots(lifted, candidate, claim, settings)
    except CannotSample:
        piloted = None
    made = strategy.planned_by(piloted)
    if isinstance(made, ImportanceSampled) and type(made.plan) is ImportancePlan and _for_a_bound(claim, settings):
        # As `aim` plans it.
        sharp = _sharpest(made.plan, settings)
        made = replace(made, plan=sharp) if math.isfinite(sharp.bound) else made
    return replace(candidate, confirmation=made)


class _Pilots:
    """Counts the runs of pilots, and tells how far they are, of about as many as it takes."""

    def __init__(self, report: Callable[[Progress], None]) -> None:
        self.runs = 0
        self._report = report

    def done(self, pairs: int) -> None:
        """So many more pairs of runs."""
        self.runs += 2 * pairs
        self._report(Progress("aim", self.runs, max(self.runs, 2 * USUAL_PILOTS * pairs)))


def _to_convict(
    sampler: LiftedSampler, plain: Aimed, claim: Claim, settings: Settings, tick: Callable[[int], None]
) -> Aimed:
    """Importance-sampled, where plain runs would not convict within the budget, or not soonest, and these would."""
    score = plain.candidate.score
    if settings.goal == "bound" and score > 0 and _RUNS_PER_SCORE / score**2 <= settings.confirm_runs:
        return plain
    if _costs_calls(sampler):
        return plain
    sampler, moved, plan = _moved(sampler, plain.candidate, claim, settings, tick)
    piloted = pilots(sampler, moved, claim, settings, plan, tick)
    if piloted is None:
        return plain
    budget = 2 * settings.confirm_runs / (math.log(1 / settings.significance) + _SLACK)
    pairs, other = piloted.pairs(), unpaired(piloted)
    # Once they have convicted, pairs go on to certify a little more.
    enough = settings.goal == "bound" and pairs.runs_needed <= budget
    found = pairs if other is None or enough or pairs.runs_needed <= other.runs_needed else other
    if found.runs_needed > _HOPE * budget:
        return plain
    kind = UnpairedImportanceSampled if found is other else ImportanceSampled
    strategy = kind(found, confirmation_of(plain.candidate))
    return Aimed(sampler, replace(moved, confirmation=strategy, tangent=found.line))


def _costs_calls(sampler: LiftedSampler) -> bool:
    """Whether many of the pilots' runs would be calls: such mechanisms mostly count coins."""
    return max(lift.alone for lift in sampler.lifts) > MOST_ALONE


def _moved(
    sampler: LiftedSampler, candidate: Candidate, claim: Claim, settings: Settings, tick: Callable[[int], None]
) -> tuple[LiftedSampler, Candidate, Plan]:
    """The candidate with the half-line where the claim breaks most clearly, if its event is an interval.

    Besides, a plan to start with. On plain runs chance decides which tail that is and which
    input is the likelier there. So both tails are drawn to and seen from both inputs.
    """
    event = candidate.event
    if not isinstance(event, Interval):
        return sampler, candidate, NO_PLAN
    line = line_of(candidate, claim)
    found = [aim_at(tail, sampler, event, line, claim, settings, tick) for tail in (UPPER, LOWER)]
    best = max((one for one in found if one is not None), key=lambda one: one.score, default=None)
    if best is None:
        return sampler, candidate, NO_PLAN
    if not best.swapped:
        return sampler, replace(candidate, event=best.event, tangent=best.line), best.plan
    pair = candidate.pair.swapped()
    turned = replace(candidate, pair=pair, event=best.event, search=candidate.search.swapped(), tangent=best.line)
    return sampler.swapped(), turned, best.plan


def _to_sharpen(
    sampler: LiftedSampler, plain: Aimed, claim: Claim, settings: Settings, tick: Callable[[int], None]
) -> Aimed:
    """Importance-sampled, if that certifies a larger ratio of a rare event that seems to break the claim."""
    candidate = plain.candidate
    told = _scaled(candidate.search, settings.confirm_runs)
    if not _leaves_much(told, claim, settings) or _costs_calls(sampler):
        return plain
    line = Tangent(math.exp(_plain_bound(told, settings)), 0.0)
    candidate = replace(candidate, tangent=line)
    piloted = pilots(sampler, candidate, claim, settings, tick=tick)
    if piloted is None:
        return plain
    found = _sharpest(piloted.pairs(), settings)
    weighted = [(found, candidate.event)]
    beyond = _further(sampler, candidate.event, found, settings, tick)
    if beyond is not None:
        further_out = replace(candidate, event=beyond.event, tangent=found.line)
        moved = pilots(sampler, further_out, claim, settings, beyond.plan, tick)
        if moved is not None:
            weighted.append((_sharpest(moved.pairs(), settings), beyond.event))
    best, event = max(weighted, key=lambda one: one[0].bound)
    if best.bound < SHARPER * _plain_bound(_told_by(found, settings), settings):
        return plain
    strategy = ImportanceSampled(best, confirmation_of(plain.candidate))
    return Aimed(sampler, replace(candidate, event=event, tangent=best.line, confirmation=strategy))


def _sharpest(found: ImportancePlan, settings: Settings) -> HorizonPlan:
    return sharpest(found, settings.confirm_runs, settings.significance)


def _leaves_much(told: Counts, claim: Claim, settings: Settings) -> bool:
    """Whether a rare event seems to break the claim, and plain runs would prove only a part of its log ratio."""
    if told.y == 0 or told.y > RARE * told.n_y:
        return False
    seen = math.log(told.x / told.y)
    return claim.largest(told.y / told.n_y) < told.x / told.n_x and _plain_bound(told, settings) < (1 - HIDDEN) * seen


def _further(
    sampler: LiftedSampler, event: object, found: ImportancePlan, settings: Settings, tick: Callable[[int], None]
) -> HalfLine | None:
    """A better half-line in the event's own tail, if the event is one and there is a better one."""
    if not isinstance(event, Interval) or (event.low is None) == (event.high is None):
        return None
    upper = event.high is None
    plan = replace(found.plan, plain=PLAIN_IN_PILOTS)
    best = further(upper, sampler, event, found.line, plan, settings, tick)
    return None if best is None or best.event == event or best.score <= 0 else best


def _plain_bound(counts: Counts, settings: Settings) -> float:
    return ratio.rough_bound(counts, settings.significance)


def _told_by(found: ImportancePlan, settings: Settings) -> Counts:
    """What as many plain paired runs would show, if the last pilot is right."""
    n = settings.confirm_runs
    x, y, both = (round(n * rate) for rate in (*found.pilot.rates, found.pilot.both))
    return Counts(x, y, n, n, both=min(both, x, y))


def _scaled(counts: Counts, runs: int) -> Counts:
    """What the confirmation runs would show, if they were as the runs of the search; paired runs, for simplicity."""
    x, y = (round(hits * runs / max(n, 1)) for hits, n in ((counts.x, counts.n_x), (counts.y, counts.n_y)))
    both = 0 if counts.both is None else round(counts.both * runs / max(counts.n_x, 1))
    return Counts(x, y, runs, runs, both=min(both, x, y))
