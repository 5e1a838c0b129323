"""Lets the function repeat lifted runs: in an event on either input, as many others, and those with extreme draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from refutedp.model.mechanism import Mechanism
from refutedp.model.outputs import Array
from refutedp.model.records import Event
from refutedp.sampling.lifted.collect import equal_outputs, example
from refutedp.sampling.lifted.execution import Run
from refutedp.sampling.lifted.lift import Lift
from refutedp.sampling.lifted.lifted_sampler import masks_of
from refutedp.sampling.lifted.noise.shared_noise import SharedNoise
from refutedp.sampling.lifted.trust.plain_calls import Recorded, recorded_draws
from refutedp.sampling.lifted.trust.witness import Witness, retold

EXTREME = 4
"""Runs with the smallest, and with the largest, values of a draw that the function repeats."""
MOST_DRAWS, MOST_ELEMENTS = 12, 4
"""Draws of a run, and elements of a draw, whose extreme values are looked at."""


class Told(NamedTuple):
    """What a lift says of one run: its draws, its output, whether that lies in the event, and its number."""

    draws: list[Recorded]
    output: Any
    hit: bool
    number: int


class Heard(NamedTuple):
    """How many runs the function repeated, how many in the event on either side, and what it contradicts first."""

    repeated: int
    hits: tuple[int, int]
    contradiction: str | None = None


def hear_runs(
    lifts: tuple[Lift, Lift],
    mechanism: Mechanism,
    inputs: tuple[Any, Any],
    arguments: Mapping[str, Any],
    event: Event,
    noise: SharedNoise,
    rng: np.random.Generator,
    most: int,
) -> Heard:
    """Let the function repeat lifted runs on both inputs: so many in the event on either side, and as many others.

    Runs of both inputs are on the same noise, and where one lies in the event, the other is repeated too: a wrong
    lift that loses the event on one side loses it there. Besides, runs with extreme draws are repeated on either
    side, for what happens rarely mostly happens there.
    """
    repeated, hits = 0, [0, 0]
    wanted: set[int] = set()
    for side, room in ((0, most), (1, most), (0, 0)):
        told = _told_runs(lifts[side], event, noise, rng, room, wanted)
        wanted = {one.number for one in told if one.hit} - wanted
        for one in told:
            repeated += 1
            hits[side] += one.hit and room > 0
            trouble = _contradicted(one, mechanism, inputs[side], arguments, lifts[side])
            if trouble is not None:
                return Heard(repeated, (hits[0], hits[1]), trouble)
    return Heard(repeated, (hits[0], hits[1]))


def _told_runs(
    lift: Lift, event: Event, noise: SharedNoise, rng: np.random.Generator, most: int, wanted: set[int]
) -> list[Told]:
    """Runs of a lift: those wanted by number, the first in the event, the first that are not, and extreme ones."""
    told: list[Told] = []
    room = {True: most, False: most}
    left = most
    numbers = np.array(sorted(wanted), dtype=np.int64)

    def see(ids: Array | None, output: Any, n: int, draws: Run | list[Recorded]) -> None:
        nonlocal left
        (mask,) = masks_of(output, n, (event,), {})
        inside = np.broadcast_to(np.asarray(mask, dtype=np.bool_), n)
        runs = np.arange(n) if ids is None else ids
        chosen = dict.fromkeys(np.flatnonzero(np.isin(runs, numbers)).tolist())
        for hit in (True, False):
            found = np.flatnonzero(inside == hit)[: room[hit]].tolist()
            room[hit] -= len(found)
            chosen.update(dict.fromkeys(found))
        if isinstance(draws, Run) and left > 0:
            extreme = _extreme_runs(draws)[:left]
            left -= len(extreme)
            chosen.update(dict.fromkeys(extreme))
        for index in chosen:
            own = recorded_draws(draws, index) if isinstance(draws, Run) else draws
            told.append(Told(own, example(output, index), bool(inside[index]), int(runs[index])))

    lift.visit(rng, noise.n, see, noise)
    return told


def _extreme_runs(run: Run) -> list[int]:
    """Runs with the smallest and the largest values of each draw, so many of either for each of its elements."""
    found: dict[int, None] = {}
    for draw in run.draws[:MOST_DRAWS]:
        values = draw.values()
        alive = values if draw.epoch == run.epoch else run.shrink(values, draw.epoch)
        if alive.dtype.kind not in "biuf" or len(alive) != run.n:
            continue
        for column in alive.reshape(run.n, -1).T[:MOST_ELEMENTS]:
            order = np.argsort(column, kind="stable")
            found.update(dict.fromkeys([*order[:EXTREME].tolist(), *order[-EXTREME:].tolist()]))
    return list(found)


def _contradicted(one: Told, mechanism: Mechanism, data: Any, arguments: Mapping[str, Any], lift: Lift) -> str | None:
    """What the function itself does otherwise than a lifted run said; None if nothing.

    The last digits of floats may differ: NumPy computes some functions of many numbers otherwise than of one.
    """
    witness = Witness(one.draws)
    got = retold(witness, mechanism, data, arguments, lift.functions)
    if witness.trouble is not None:
        return witness.trouble
    if not equal_outputs(got, one.output, up_to_rounding=True):
        return f"a lifted run returned {one.output!r} where the function itself returns {got!r}"
    return None
