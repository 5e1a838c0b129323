"""Claims of one Rényi order: the pieces of a Gaussian output, whose probabilities break the claim together.

An event is a coin, and two coins may differ far less than the outputs: of the Rényi divergence of Gaussian noise an
event shows 2/π where ε is small. By the data-processing inequality the divergence between the probabilities of the
pieces of any partition is at most that of the outputs, too, and eight intervals show nearly all of it. Where the
output is affine in Gaussian noise these probabilities are known, so the evidence is arithmetic, after three checks:
lifted runs give the numbers that the analysis says, the function itself repeats such runs, and plain calls agree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.detector.cross_examine import Contradicted
from refutedp.detector.exactly import LEVEL, calls_of, contradicts
from refutedp.detector.plan_tail import RAREST, Forms, Projection, TailPlan, projection_of, telling_sums
from refutedp.detector.tails import closest, tail_plan
from refutedp.events.predicates import Interval, Pieces
from refutedp.exact.chances import MARGIN
from refutedp.model.claims import Claim
from refutedp.model.mechanism import Mechanism
from refutedp.model.records import ExactEvidence, Pair, count_hits
from refutedp.model.settings import EXACT_STREAM, Settings, child
from refutedp.sampling.lifted import LiftedSampler
from refutedp.sampling.lifted.noise.shared_noise import SharedNoise
from refutedp.sampling.lifted.noise.tail_noise import TailNoise
from refutedp.sampling.lifted.trust.repeated_runs import hear_runs
from refutedp.sampling.sampler import CannotSample, Sampler, run_plain
from refutedp.tracing.affine_runs import AffineTracer

Floats: TypeAlias = NDArray[np.float64]

PIECES = 8
"""More would show at most 4% more of Gaussian noise, and are harder to read; four show 88%."""
CENTRES, WIDTHS = np.linspace(-8.0, 8.0, 129), (1.0, 1.4, 1.8, 2.4, 3.2)
"""Where the cuts lie: quantiles of a normal distribution about one of these, in deviations from the mean on d1. No
cut lies farther out than they do: generators that end at nine deviations have the noise that counts."""
MORE = 1.02
"""How much more than by the best half-line the pieces must show: that one rests on a test."""
RUNS, REPEATED = 500, 50
"""Lifted runs, in a tail and anywhere, and how many of them the function repeats on either side of an end."""


@dataclass(frozen=True, slots=True)
class Telling:
    """A partition that shows so much of the claim's parameter on the pair of a sampler, of d1 against d2."""

    shown: float
    sampler: LiftedSampler
    event: Pieces


def broken_by_pieces(
    samplers: Sequence[Sampler], claim: Claim, settings: Settings, beyond: float
) -> tuple[ExactEvidence | None, int]:
    """Evidence that a claim is broken, by a partition that shows more than `beyond`; and the calls it took."""
    best = best_pieces(samplers, claim) if claim.by_pieces and settings.paths > 0 else None
    if best is None or best.shown <= MORE * beyond:
        return None, 0
    return proof_by_pieces(best.sampler, best.event, claim, settings)


def best_pieces(samplers: Sequence[Sampler], claim: Claim) -> Telling | None:
    """The partition that shows the most, on some pair; None where no output is known to be Gaussian."""
    best: Telling | None = None
    lifted = [one for one in samplers if isinstance(one, LiftedSampler)]
    for sampler, forms in closest([one for one in lifted if not one.pair.outside] or lifted):
        for _, feature in telling_sums(forms):
            for swapped in (False, True):
                ends, shown = best_cuts(feature, forms[::-1] if swapped else forms, claim)
                if len(ends) and (best is None or shown > MORE * best.shown):
                    best = Telling(shown, sampler.swapped() if swapped else sampler, Pieces(feature, tuple(ends)))
    return best


def best_cuts(feature: Any, forms: Forms, claim: Claim) -> tuple[list[float], float]:
    """The ends between pieces that show the most, among quantiles of normal distributions, and how much that is."""
    from scipy import special

    one, other = (projection_of(form, feature) for form in forms)
    spread = special.ndtri(np.arange(1, PIECES) / PIECES)
    units = np.stack([centre + width * spread for centre in CENTRES for width in WIDTHS])
    digits = 2 - math.floor(math.log10(one.deviation)) if one.deviation > 0 else 0
    ends = np.round(one.mean + np.clip(units, CENTRES[0], CENTRES[-1]) * one.deviation, digits)
    low, high = max(one.low, other.low), min(one.high, other.high)
    inside = ((ends > low + one.error + other.error) & (ends < high - one.error - other.error)).all(axis=1)
    ends = ends[inside & (np.diff(ends, axis=1) > 0).all(axis=1)]
    if not len(ends) or not min(one.deviation, other.deviation) > 0:
        return [], 0.0
    shown = claim.least_for_pieces(_at_least(one, ends), _at_most(other, ends))
    best = int(np.argmax(shown))
    return ends[best].tolist(), float(shown[best])


def _at_least(side: Projection, ends: Floats) -> Floats:
    """Lower bounds on the probabilities of the pieces: each end is right to the error of the side."""
    return np.asarray(np.maximum(_masses(side, ends, side.error), 0.0) * (1 - 1e-9))


def _at_most(side: Projection, ends: Floats) -> Floats:
    """Upper bounds."""
    return np.asarray(np.minimum(np.maximum(_masses(side, ends, -side.error) * (1 + 1e-9), RAREST), 1.0))


def _masses(side: Projection, ends: Floats, shrink: float) -> Floats:
    """Probabilities of the pieces, each end moved inwards."""
    from scipy import special

    edge = np.full((*ends.shape[:-1], 1), np.inf)
    low = (np.concatenate([-edge, ends], axis=-1) - side.mean + shrink) / side.deviation
    high = (np.concatenate([ends, edge], axis=-1) - side.mean - shrink) / side.deviation
    # Of two tails that of smaller numbers keeps its digits.
    above = low > 0
    return np.asarray(
        np.where(above, special.ndtr(-low) - special.ndtr(-high), special.ndtr(high) - special.ndtr(low))
    )


def proof_by_pieces(
    sampler: Sampler, event: Pieces, claim: Claim, settings: Settings
) -> tuple[ExactEvidence | None, int]:
    """What the analysis says of a pair and a partition, where that breaks the claim; and the calls that checked it.

    A plan for either half-line beyond the cuts says that lifted runs agree with the analysis, and that nothing is
    clipped between. Raises `Contradicted` where the function does something else.
    """
    if not isinstance(sampler, LiftedSampler) or sampler.scattered:
        return None, 0
    told, calls = None, 0
    for half in (Interval(event.of, None, event.ends[0]), Interval(event.of, event.ends[-1], None)):
        plan = tail_plan(sampler, half, claim, settings)
        told = None if plan is None else _told(sampler, event, claim)
        if plan is None or told is None:
            return None, calls
        try:
            calls += _repeated(sampler, half, plan, settings)
        except CannotSample:
            return None, calls
    assert told is not None
    pair = sampler.pair
    calls += _require_agreement(sampler.mechanism, pair, event, told, settings)
    lows, highs = np.transpose(told)
    evidence = ExactEvidence(
        pair=pair,
        event=event,
        low=float(lows.sum()),
        high=min(float(highs.sum()), 1.0),
        paths=(1, 1),
        missing=(0.0, 0.0),
        witnesses=(),
        calls=calls_of(settings),
        pieces=told,
    )
    return evidence, calls


def _told(sampler: Sampler, event: Pieces, claim: Claim) -> tuple[tuple[float, float], ...] | None:
    """Bounds on the probabilities of the pieces, P1 from below and P2 from above, if they break the claim."""
    tracer, pair = AffineTracer(sampler.mechanism), sampler.pair
    forms = [tracer.output(data, pair.arguments) for data in (pair.d1, pair.d2)]
    if forms[0] is None or forms[1] is None:
        return None
    one, other = (projection_of(form, event.of) for form in forms if form is not None)
    lows, highs = _at_least(one, np.array(event.ends)), _at_most(other, np.array(event.ends))
    if not float(claim.least_for_pieces(lows, highs)) > float(getattr(claim, claim.parameter)) * (1 + MARGIN):
        return None
    return tuple(zip(lows.tolist(), highs.tolist(), strict=True))


def _repeated(sampler: LiftedSampler, half: Interval, plan: TailPlan, settings: Settings) -> int:
    """How many lifted runs the function repeated: in the half-line's tail on d1, and anywhere."""
    pair, rng, calls = sampler.pair, np.random.default_rng(child(settings.seed, EXACT_STREAM, 3)), 0
    inputs = pair.d1, pair.d2
    for noise in (TailNoise(RUNS, plan.near, rng), SharedNoise(RUNS)):
        heard = hear_runs(sampler.lifts, sampler.mechanism, inputs, pair.arguments, half, noise, rng, REPEATED)
        calls += heard.repeated
        if heard.contradiction is not None:
            raise Contradicted(heard.contradiction).after(calls)
    return calls


def _require_agreement(
    mechanism: Mechanism, pair: Pair, event: Pieces, told: Sequence[tuple[float, float]], settings: Settings
) -> int:
    """Plain calls must not contradict the bounds on either side; how many there were.

    What is known of P1 from below and of P2 from above is all that the evidence needs.
    """
    calls = calls_of(settings)
    level = LEVEL - math.log(4 * len(told))
    for side, data in enumerate((pair.d1, pair.d2)):
        seeds = child(settings.seed, EXACT_STREAM, side)
        outputs = run_plain(mechanism, (data,), pair.arguments, np.zeros(calls, dtype=np.int64), seeds)[0]
        for piece, (low, high) in zip(event.intervals, told, strict=True):
            bounds = (low, 1.0) if side == 0 else (0.0, high)
            hits = count_hits(piece, outputs)
            if contradicts(hits, calls, bounds, level):
                told_as = f"{piece.words()}, which was to have a probability of {bounds[side]:.4g}"
                raise Contradicted(f"{hits:,} of {calls:,} plain calls on d{side + 1} had {told_as}")
    return 2 * calls
