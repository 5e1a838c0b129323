"""A check that fits into a time limit: how fast the mechanism runs, and how many runs that leaves."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from refutedp.detector.race import LAST_ROUNDS
from refutedp.hypothesis.tests.ratio import can_ever_convict
from refutedp.model.claims.claim import bisected
from refutedp.model.errors import UsageError
from refutedp.model.settings import TIMING_STREAM, Settings, child
from refutedp.sampling.sampler import Sampler

USUAL_LIMIT = 60.0
"""Seconds for a check in which every run is a call, unless the user says otherwise."""
PART = 0.8
"""The part of the limit that is planned for: machines are not equally fast all the time."""
LOOKING = 1e-6
"""Seconds that looking for events takes for one search run, on an ordinary machine."""
LEAST_SEARCH, LEAST_CONFIRM = 100, 10
"""Runs a side, at least; of the verdict where there is no time for a race."""
_SURE = 4
"""The verdict gets at least this many times the runs with which the clearest of violations can convict."""
_MOST_TIMED = 16_384
_BESIDE = 40_000
"""Runs a side, at most, for what stands beside the verdict: figures, the test of rounding, the other adjacency."""


class TooShort(UsageError):
    """A time limit that the smallest check does not fit into."""


def seconds_per_run(samplers: Sequence[Sampler], settings: Settings, time_limit: float) -> tuple[float, int]:
    """Measure a run on the first, the middle and the last pair, and say how many runs that took.

    It spends a small part of the limit.
    """
    runs = 0
    numbers = sorted({0, len(samplers) // 2, len(samplers) - 1})
    enough = min(0.2, time_limit / 50)
    speeds = []
    for number in numbers:
        n, took = 4, 0.0
        while took < enough and n <= _MOST_TIMED:
            start = time.perf_counter()
            samplers[number].run(n, n, child(settings.seed, TIMING_STREAM, number, n))
            took = time.perf_counter() - start
            runs += 2 * n
            speed = took / (2 * n)
            n *= 4
        speeds.append(speed)
    return sum(speeds) / len(speeds), runs


def fit(
    settings: Settings,
    epsilon: float,
    pairs: int,
    seconds: float,
    limit: float,
    spent: float = 0.0,
    outside: int = 0,
) -> Settings:
    """The settings with as many runs as fit into a time limit, never more than they say.

    `seconds` is what one run takes, `spent` what has already passed, and `outside` how many of the pairs lie beyond
    the user's records. Search and verdict shrink alike, down to the
    fewest runs that can convict at all; a limit that does not allow even these gets a `UsageError`.

    >>> plan = fit(Settings(), epsilon=1.0, pairs=10, seconds=0.001, limit=60.0)
    >>> plan.search_runs, plan.confirm_runs
    (790, 3900)
    >>> fit(Settings(), epsilon=1.0, pairs=10, seconds=1e-7, limit=60.0) == Settings()
    True
    """
    allowed = PART * cores(settings) * max(limit - spent, 0.0)
    least = smallest(settings, epsilon)
    cost = partial(_cost, pairs=pairs, outside=outside, seconds=seconds)
    if cost(least) > allowed:
        needed = spent + cost(least) / (PART * cores(settings))
        raise TooShort(
            f"time_limit={limit:g} is too short: at {_speed(seconds)}, the smallest check of {pairs} "
            f"pairs that can convict takes about {math.ceil(needed)} seconds; give that, fewer pairs, or more jobs"
        )
    if cost(settings) <= allowed:
        return settings

    def too_long(part: float) -> bool:
        return cost(_scaled(settings, least, part)) > allowed

    return _scaled(settings, least, bisected(too_long, 0.0, 1.0, halvings=40)[0])


def smallest(settings: Settings, epsilon: float) -> Settings:
    """The fewest runs that can convict at all."""
    confirm_runs = min(_least_confirm(epsilon, settings), settings.confirm_runs)
    return replace(settings, search_runs=LEAST_SEARCH, confirm_runs=confirm_runs)


def usual_limit(limit: float | None) -> float:
    """The limit in seconds; that of a check in which every run is a call, unless one is given."""
    return USUAL_LIMIT if limit is None else limit


def _cost(settings: Settings, *, pairs: int, outside: int, seconds: float) -> float:
    """Seconds on one core: a pilot and a search of every pair, rounds of the best, the verdict, figures."""
    search = planned_search(settings, pairs, outside)
    verdict = 2 * settings.confirm_runs + 2 * min(settings.confirm_runs, _BESIDE)
    return search * (seconds + LOOKING) + verdict * seconds


def planned_search(settings: Settings, pairs: int, outside: int = 0) -> int:
    """The most runs that the search of so many pairs takes, on both sides together."""
    rounds = sum(units * min(n, places) for n in (pairs - outside, outside) for places, units in LAST_ROUNDS)
    return 2 * (max(settings.search_runs, 2 * LEAST_SEARCH) * pairs + settings.search_runs * rounds)


def _scaled(settings: Settings, least: Settings, factor: float) -> Settings:
    return replace(
        settings,
        search_runs=max(_round(settings.search_runs * factor), least.search_runs),
        confirm_runs=max(_round(settings.confirm_runs * factor), least.confirm_runs),
    )


def _round(runs: float) -> int:
    """Down to two digits, so that small differences in speed seldom change the plan."""
    if runs < 100:
        return int(runs)
    step = 10 ** (int(math.log10(runs)) - 1)
    return int(runs // step * step)


def _least_confirm(epsilon: float, settings: Settings) -> int:
    least = 1
    while not can_ever_convict(least, least, epsilon, settings.significance):
        least += max(least // 10, 1)
    return _SURE * least


def cores(settings: Settings) -> int:
    """On how many cores the runs are made for sure."""
    if settings.jobs == "auto":
        return 1
    return (os.cpu_count() or 1) if settings.jobs == -1 else settings.jobs


def fitted_note(settings: Settings, plan: Settings, epsilon: float, seconds: float) -> str:
    """What shrank, and what therefore was out of sight."""
    hits = _least_confirm(epsilon, settings) / _SURE
    rare, rarest = (hits / (3 * one.search_runs) for one in (plan, settings))
    runs = f"search_runs={plan.search_runs:,} instead of {settings.search_runs:,}, "
    runs += f"confirm_runs={plan.confirm_runs:,} instead of {settings.confirm_runs:,}. "
    if settings.time_limit is None:
        told = f"Runs are made call by call, so a minute was planned for, at {_speed(seconds)}: {runs}"
        told += "For the whole budget, say time_limit=inf (--time-limit inf). "
    else:
        told = f"Fitted to time_limit={settings.time_limit:g} at {_speed(seconds)}: {runs}"
    return told + (
        f"Events rarer than about 1 in {_round(max(1 / rare, 1.0)):,} were out of sight "
        f"(1 in {_round(max(1 / rarest, 1.0)):,} without the limit)."
    )


def _speed(seconds: float) -> str:
    if seconds > 1:
        return f"{seconds:.2g} seconds a run"
    return f"{_round(1 / max(seconds, 1e-9)):,} runs a second"
