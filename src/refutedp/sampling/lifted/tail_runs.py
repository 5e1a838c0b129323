"""Lifted runs whose noise is drawn within a half-space: their hits, and whether they do what their plan says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.model.importance import TailHits
from refutedp.model.outputs import Array
from refutedp.model.records import Event, Feature
from refutedp.sampling.lifted.lift import Lift
from refutedp.sampling.lifted.lifted_sampler import LiftedSampler, masks_of, values_on
from refutedp.sampling.lifted.noise.tail_noise import HalfSpace, TailNoise
from refutedp.sampling.sampler import CannotSample

Floats: TypeAlias = NDArray[np.float64]


def tail_hits(
    sampler: LiftedSampler, event: Event, spaces: Sequence[HalfSpace], runs: int, seeds: np.random.SeedSequence
) -> TailHits:
    """Half of the runs on d1 in its half-space, and a quarter on d2 in its own and outside of it each.

    Outside, the event is impossible on d2: where it happens, the plan is wrong, and `CannotSample` says so.
    """
    rng = np.random.default_rng(seeds)
    (first, second), (near, far) = sampler.lifts, spaces
    part = max(runs // 4, 1)
    x, y = _hits(first, event, near, runs - 2 * part, rng), _hits(second, event, far, part, rng)
    if _hits(second, event, far, part, rng, outside=True):
        raise CannotSample("the event happened on noise that was to make it impossible")
    return TailHits(x, runs - 2 * part, y, 2 * part)


def _hits(
    lift: Lift, event: Event, space: HalfSpace, runs: int, rng: np.random.Generator, *, outside: bool = False
) -> int:
    """How many of so many runs lie in the event."""
    hits = 0

    def see(_: Array | None, output: Any, n: int, __: Any) -> None:
        nonlocal hits
        (mask,) = masks_of(output, n, (event,), {})
        hits += int(np.count_nonzero(mask)) if isinstance(mask, np.ndarray) else n * bool(mask)

    for start in range(0, runs, lift.chunk):
        noise = TailNoise(min(lift.chunk, runs - start), space, rng, outside=outside)
        lift.visit(rng, noise.n, see, noise)
        if not noise.foreseen:
            raise CannotSample("it drew noise that its plan knows nothing of")
    return hits


def tail_values(
    sampler: LiftedSampler, feature: Feature, space: HalfSpace, runs: int, rng: np.random.Generator
) -> tuple[Floats, list[Floats]]:
    """Noise of so many runs in a half-space, a row for each draw, and the feature on it, on either side."""
    noise = TailNoise(runs, space, rng)
    values = values_on(sampler.lifts, feature, noise, rng)
    if not noise.foreseen:
        raise CannotSample("it drew noise that its plan knows nothing of")
    drawn = [column.reshape(runs, -1).T for column, _ in noise.columns.values()]
    return np.concatenate(drawn), values
