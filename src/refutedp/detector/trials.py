"""Tries pairs out by a few runs: a mechanism that always fails is an error, and what calls take is noted."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from refutedp.detector.clock import Clock
from refutedp.events.predicates import nearly_all
from refutedp.model.errors import BeyondBoundsError, MechanismError
from refutedp.model.mechanism import Mechanism
from refutedp.model.outputs import Group
from refutedp.model.records import Pair
from refutedp.model.settings import TRIAL_STREAM, Progress, Settings, child
from refutedp.sampling.sampler import PlainSampler, Runs

TRIAL_RUNS = 9
TRIALS, ALL_TRIALS = 0.1, 0.2
"""The part of the time for trials as planned, and for trials that take longer than that."""
SILENCE = 0.5
"""Seconds after which trials are told of."""


def wants_arrays(mechanism: Mechanism) -> bool:
    """Whether the mechanism says that its data are arrays."""
    annotation = mechanism.data_annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return "ndarray" in text or "NDArray" in text


def as_arrays(pair: Pair) -> Pair:
    """Lists of numbers as arrays; what is something else already stays what it is."""
    if not all(isinstance(data, list | tuple) for data in (pair.d1, pair.d2)):
        return pair
    try:
        return replace(pair, d1=np.asarray(pair.d1, dtype=float), d2=np.asarray(pair.d2, dtype=float))
    except (TypeError, ValueError):  # records of another kind
        return pair


def try_out_pairs(
    samplers: list[PlainSampler],
    first: int,
    *,
    own_data: bool,
    settings: Settings,
    notes: list[str],
    clock: Clock,
    report: Callable[[Progress], None],
) -> tuple[list[PlainSampler], int, list[float], list[bool]]:
    """Run every pair a few times: a mechanism that always fails is an error, not an output.

    Returns the pairs, how many runs it took, what a call took on each, and whether all its runs released the same.
    Where calls are slow, runs are fewer; when the time for trials is up, the pairs that are left are left out.
    """
    calls = cut = 0

    def try_out(samplers: Sequence[PlainSampler]) -> tuple[list[PlainSampler], list[Runs], list[float]]:
        nonlocal calls, cut
        kept, tried, took, more = [], [], [], TRIAL_RUNS - 2
        spent, allowed = 0.0, TRIALS * clock.limit / max(len(samplers), 1)

        def timed(sampler: PlainSampler, runs: int, seeds: np.random.SeedSequence) -> tuple[Runs, float]:
            nonlocal calls, spent
            start = time.perf_counter()
            made = sampler.run(runs, runs, seeds)
            seconds = time.perf_counter() - start
            calls, spent = calls + 2 * runs, spent + seconds
            return made, seconds / runs

        def late() -> bool:
            return spent > ALL_TRIALS * clock.limit

        for number, sampler in clock.cut("pairs", enumerate(samplers), late):
            cut = number + 1
            seeds = child(settings.seed, TRIAL_STREAM, first + number)
            try:
                # A first call may load a library, and a machine may be busy with something else for a moment. Two are
                # made in any case: calls are counted, and a result must not depend on the machine.
                _, once = timed(sampler, 1, child(settings.seed, TRIAL_STREAM, first + number))
                runs, again = timed(sampler, 1, seeds)
                once = min(once, again)
            except BeyondBoundsError as error:
                if not sampler.pair.outside:
                    raise
                notes.append(f"A pair beyond your inputs was left out: {error}.")
                continue
            fitting = int(min(allowed / max(once, 1e-9), TRIAL_RUNS)) - 2
            more = clock.choose("trial runs", more, partial(max, fitting, 0))
            if more:
                runs, once = timed(sampler, more, seeds)
            kept.append(sampler)
            tried.append(runs)
            took.append(once / 2)
            if clock.spent > SILENCE:
                report(Progress("trials", 2 * (2 + more) * cut, 2 * (2 + more) * len(samplers)))
        return kept, tried, took

    asked = len(samplers)
    given = samplers
    samplers, tried, took = try_out(given)
    if _all_failed(tried) and first == 0 and not own_data and isinstance(samplers[0].pair.d1, list):
        # A mechanism that calls queries.sum() wants arrays, and fails on every list.
        numeric = _numeric(samplers[0].pair)
        arrays = [replace(one, pair=as_arrays(one.pair)) for one in given] if numeric else given
        arrays, again, seconds = try_out(arrays)
        if not _all_failed(again):
            notes.append("The mechanism fails on lists, so the inputs are NumPy arrays.")
            samplers, tried, took = arrays, again, seconds
    if _all_failed(tried) and first == 0:
        _explain_failure(samplers[0], settings)
    labels = {g.shape.label for g in _groups(tried) if not g.shape.error}
    if len(labels) > 1:
        notes.append(f"The type of the output differs from run to run: {', '.join(sorted(labels))}.")
    if cut < asked:
        notes.append(
            f"Calls are slow: of {asked} pairs, {cut} were tried. For all of them, say time_limit=inf "
            "(--time-limit inf)."
        )
    return samplers, calls, took, [nearly_all(runs.first, runs.second) != "" for runs in tried]


def _numeric(pair: Pair) -> bool:
    return all(isinstance(item, (int, float)) for item in [*pair.d1, *pair.d2])


def _groups(tried: list[Runs]) -> list[Group]:
    return [group for runs in tried for side in (runs.first, runs.second) for group in side.groups]


def _all_failed(tried: list[Runs]) -> bool:
    return all(group.shape.error for group in _groups(tried))


def _explain_failure(sampler: PlainSampler, settings: Settings) -> None:
    name = sampler.mechanism.name
    try:
        replace(sampler, on_error="raise").run(1, 1, child(settings.seed, TRIAL_STREAM, 0))
    except MechanismError as error:
        raise MechanismError(f"{name}() failed on every trial run, so nothing can be tested: {error}") from error
    raise MechanismError(f"{name}() failed on nearly every trial run: its outputs cannot be tested")
