"""What lifted runs show: those of one input, or of two on the same noise, where run number i of both draws it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refutedp.model.importance import WeightedHits, no_hits, weigh_hits
from refutedp.model.outputs import Array, Outputs, join
from refutedp.model.records import Event, Feature
from refutedp.sampling.lifted.collect import group_of, quick_key, row_of
from refutedp.sampling.lifted.lift import Lift, watching
from refutedp.sampling.lifted.noise.common_noise import CommonNoise
from refutedp.sampling.lifted.noise.importance_noise import ImportanceNoise, Plan
from refutedp.sampling.lifted.noise.shared_noise import SharedNoise

Hits = NDArray[np.bool_]
Floats = NDArray[np.float64]
Known = dict[Any, list[bool]]
"""Whether an output lies in each of the events."""


def sample_paired(
    lifts: tuple[Lift, Lift], n: int, rng: np.random.Generator, common: tuple[CommonNoise, int] | None = None
) -> tuple[Outputs, Outputs]:
    """`n` runs of either lift on the same noise, which may be a chunk of what other pairs have too.

    Raises CannotLift.
    """
    parts: tuple[list[Outputs], list[Outputs]] = ([], [])
    chunk = min(lift.chunk for lift in lifts)
    with watching(*lifts):
        for start in range(0, n, chunk):
            size = min(chunk, n - start)
            if common is None:
                alone = SharedNoise(size)
                both = [lift.sample(size, rng, alone) for lift in lifts]
            else:
                noise = common[0].of(common[1], start, size)
                both = [noise.outputs(lift, rng, partial(lift.sample, size, rng, noise)) for lift in lifts]
            for outputs, made in zip(parts, both, strict=True):
                outputs.append(made)
    return join(parts[0]), join(parts[1])


def hit_paired(
    lifts: tuple[Lift, Lift], events: Sequence[Event], n: int, rng: np.random.Generator
) -> list[tuple[int, int, int]]:
    """Hits of each event on the first input, on the second, and on both, in `n` pairs of runs; raises CannotLift."""
    totals = np.zeros((len(events), 3), dtype=np.int64)
    known: Known = {}
    with watching(*lifts):
        stretch = min(lift.stretch for lift in lifts)
        for start in range(0, n, stretch):
            noise = SharedNoise(min(stretch, n - start))
            first, second = (_hits(lift, events, noise, rng, known) for lift in lifts)
            for total, x, y in zip(totals, first, second, strict=True):
                total += [np.count_nonzero(hits) for hits in (x, y, x & y)]
    return [(int(x), int(y), int(both)) for x, y, both in totals]


def hit_alone(lift: Lift, events: Sequence[Event], n: int, rng: np.random.Generator) -> list[int]:
    """Hits of each event in `n` runs; raises CannotLift."""
    totals = [0] * len(events)
    known: Known = {}

    def see(_: Array | None, output: Any, runs: int, __: Any) -> None:
        for number, mask in enumerate(masks_of(output, runs, events, known)):
            totals[number] += int(np.count_nonzero(mask)) if isinstance(mask, np.ndarray) else runs * bool(mask)

    with watching(lift):
        for start in range(0, n, lift.stretch):
            lift.visit(rng, min(lift.stretch, n - start), see)
    return totals


def hit_weighted(
    lifts: tuple[Lift, Lift], event: Event, plan: Plan, n: int, rng: np.random.Generator
) -> WeightedHits:
    """Hits of an event in `n` pairs of runs whose noise is drawn by a plan, with their weights."""
    found = no_hits(plan.plain)
    chunk = min(lift.chunk for lift in lifts)
    known: Known = {}
    with watching(*lifts):
        for start in range(0, n, chunk):
            noise = ImportanceNoise(min(chunk, n - start), plan, rng)
            first, second = (hits_on(lift, event, noise, rng, known) for lift in lifts)
            found += weigh_hits(noise.weights, first, second, plan.plain)
    return found


def plain_hits(lifts: tuple[Lift, Lift], event: Event, noise: SharedNoise, rng: np.random.Generator) -> list[Hits]:
    """Which pairs of runs on this noise lie in the event, on either side."""
    known: Known = {}
    return [hits_on(lift, event, noise, rng, known) for lift in lifts]


def hits_on(lift: Lift, event: Event, noise: SharedNoise, rng: np.random.Generator, known: Known) -> Hits:
    """Which runs of one lift on this noise lie in the event; see `_hits` for `known`."""
    return np.asarray(_hits(lift, (event,), noise, rng, known)[0])


def values_on(
    lifts: tuple[Lift, Lift], feature: Feature, noise: SharedNoise, rng: np.random.Generator
) -> list[Floats]:
    """A feature of the outputs of either side, run by run; nan where it is no number."""
    sides = []
    for lift in lifts:
        values = np.full(noise.n, np.nan)

        def see(ids: Array | None, output: Any, n: int, _: Any, values: Floats = values) -> None:
            column = feature.column(group_of(output, n) or row_of(output))
            kind = np.asarray(column).dtype.kind
            if column is not None and kind in "if":
                values[slice(None) if ids is None else ids] = column

        lift.visit(rng, noise.n, see, noise)
        sides.append(values)
    return sides


def _hits(lift: Lift, events: Sequence[Event], noise: SharedNoise, rng: np.random.Generator, known: Known) -> Hits:
    """Which runs lie in which event; what is known of outputs that whole paths have in common is added to `known`."""
    hits = np.zeros((len(events), noise.n), dtype=np.bool_)

    def see(ids: Array | None, output: Any, n: int, _: Any) -> None:
        where = slice(None) if ids is None else ids
        for number, mask in enumerate(masks_of(output, n, events, known)):
            if mask is not False:
                hits[number, where] = mask

    lift.visit(rng, noise.n, see, noise)
    return hits


def masks_of(output: Any, n: int, events: Sequence[Event], known: Known) -> Sequence[Any]:
    """Which of the `n` runs of a part lie in each event, or whether all or none do."""
    group = group_of(output, n)
    if group is None:
        return _of_one(output, events, known)
    columns: dict[Any, Any] = {}
    return [event.mask(group, columns) for event in events]


def _of_one(output: Any, events: Sequence[Event], known: Known) -> list[bool]:
    key = quick_key(output)
    found = None if key is None else known.get(key)
    if found is None:
        row = row_of(output)
        found = [bool(np.any(event.mask(row))) for event in events]
        if key is not None:
            known[key] = found
    return found
