"""How hard to look, and how sure to be."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Any, Literal, TypedDict

from refutedp.model.errors import UsageError


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a check stands: `done` of `total` runs in this stage, and the best finding so far in words."""

    stage: str
    done: int
    total: int
    best: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """Budgets and rules of a check; every field is also a keyword of `check` and `sweep`.

    `search_runs` are per pair and side in the main round of the search; a pilot, and further rounds of the best few
    pairs, come on top, and a result's effort counts them all. `confirm_runs` are per side. A violation is reported
    when the p-value on fresh runs is at most `significance`; certified bounds hold with confidence 1 - significance.
    `method` is the exact "allocation" test or the paper's "fisher". `stop="early"` convicts as soon as an
    anytime-valid test does: runs that are calls of Python end there, cheap lifted and batched runs go on to sharpen
    the certified bound; "fixed" tests once, after all runs. `goal` "bound" looks for the event that certifies the
    largest epsilon, "speed" for the one that convicts after the fewest fresh runs, and stops there. `rarity` is the
    paper's rule to skip events seen fewer than rarity·n·e^ε times (it uses 0.001); None leaves rare events to the
    score, which serves small budgets better. `lengths` are those of the inputs that are made: query answers (1, 5 and
    10 unless given), or records besides the one that changes (1 and 5). `jobs` processes run on this machine (-1: one
    a core); `engine` "dask" or "ray" runs on a cluster instead, the one at `scheduler` or a local one. None of this
    changes the result. Noise added to floats leaks through their last digits, even where the same mechanism on real
    numbers is private: `float_leaks` "report" says so beside the verdict, "convict" lets it decide, "ignore" does not
    look. `paired` lets lifted runs on both inputs share their noise where that is the sharper way to confirm (see
    `refutedp.hypothesis.tests.paired`); without it each run is allocated to an input at random. `importance` lets
    them draw their noise where a rare event happens, weighed (see `refutedp.detector.plan`): "needed" where a claim
    about more than a ratio could not be refuted within the budget otherwise, and for speed; "always" also where much
    of a large ratio would stay unproven, which takes a second or two more; "never" not at all. `on_error="raise"`
    stops at the first exception of the mechanism instead of taking it as an output. `time_limit` is in seconds: the
    speed of the mechanism is measured, and the budgets shrink until they fit.

    >>> Settings(confirm_runs=1000).search_runs
    100000
    >>> Settings(significance=2)
    Traceback (most recent call last):
        ...
    refutedp.model.errors.UsageError: significance=2 must lie strictly between 0 and 1, such as 0.001
    """

    search_runs: int = 100_000
    confirm_runs: int = 500_000
    significance: float = 0.001
    method: Literal["allocation", "fisher"] = "allocation"
    stop: Literal["early", "fixed"] = "early"
    goal: Literal["bound", "speed"] = "bound"
    seed: int = 0
    jobs: int = 1
    engine: Literal["local", "dask", "ray"] = "local"
    scheduler: str | None = None
    lengths: tuple[int, ...] | None = None
    rarity: float | None = None
    on_error: Literal["output", "raise"] = "output"
    float_leaks: Literal["report", "convict", "ignore"] = "report"
    lift: bool = True
    paired: bool = True
    importance: Literal["needed", "always", "never"] = "needed"
    epsilon_name: str | None = None
    time_limit: float | None = None
    progress: Callable[[Progress], None] | bool | None = None

    def __post_init__(self) -> None:
        _whole("search_runs", self.search_runs, least=100, why="fewer cannot choose an event")
        _whole("confirm_runs", self.confirm_runs, least=1, why="a verdict needs fresh runs")
        _whole("seed", self.seed, least=0, why="seeds are not negative")
        if self.jobs != -1:
            _whole("jobs", self.jobs, least=1, why="-1 means all cores")
        _inside("significance", self.significance)
        _one_of("method", self.method, ("allocation", "fisher"))
        _one_of("stop", self.stop, ("early", "fixed"))
        _one_of("goal", self.goal, ("bound", "speed"))
        _one_of("importance", self.importance, ("needed", "always", "never"))
        _one_of("engine", self.engine, ("local", "dask", "ray"))
        _one_of("on_error", self.on_error, ("output", "raise"))
        _one_of("float_leaks", self.float_leaks, ("report", "convict", "ignore"))
        if self.lengths is not None:
            object.__setattr__(self, "lengths", _lengths(self.lengths))
        if self.rarity is not None:
            _inside("rarity", self.rarity)
        if self.time_limit is not None:
            _seconds("time_limit", self.time_limit)


class Options(TypedDict, total=False):
    """The fields of `Settings` as keywords."""

    search_runs: int
    confirm_runs: int
    significance: float
    method: Literal["allocation", "fisher"]
    stop: Literal["early", "fixed"]
    goal: Literal["bound", "speed"]
    seed: int
    jobs: int
    engine: Literal["local", "dask", "ray"]
    scheduler: str | None
    lengths: tuple[int, ...] | None
    rarity: float | None
    on_error: Literal["output", "raise"]
    float_leaks: Literal["report", "convict", "ignore"]
    lift: bool
    paired: bool
    importance: Literal["needed", "always", "never"]
    epsilon_name: str | None
    time_limit: float | None
    progress: Callable[[Progress], None] | bool | None


def settings_from(base: Settings | None, options: dict[str, Any], *, also: tuple[str, ...]) -> Settings:
    """`base` with the given options; an unknown one gets a sentence with the nearest name, `also` being known too."""
    known = [field.name for field in fields(Settings)]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, [*known, *also], n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join((*also, *known))}"
            raise UsageError(f"unknown keyword argument '{name}': {hint}")
    if base is not None and not isinstance(base, Settings):
        raise UsageError(f"settings={base!r} must be a Settings record, such as Settings(seed=1)")
    return replace(base or Settings(), **options)


def _whole(name: str, value: Any, *, least: int, why: str) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise UsageError(f"{name}={value!r} must be a whole number of at least {least}")
    if value < least:
        raise UsageError(f"{name}={value!r} must be at least {least}: {why}")


def _inside(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise UsageError(f"{name}={value!r} must lie strictly between 0 and 1, such as 0.001")


def _seconds(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < float("inf"):
        raise UsageError(f"{name}={value!r} must be a positive number of seconds, such as 60")


def _one_of(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageError(f"{name}={value!r} must be one of {', '.join(map(repr, choices))}")


def _lengths(value: Any) -> tuple[int, ...]:
    items = (value,) if isinstance(value, int) else tuple(value)
    if not items:
        raise UsageError("lengths=() is empty: give at least one length of input, such as (1, 5, 10)")
    for item in items:
        _whole("lengths", item, least=1, why="inputs hold at least one query or record")
    return items
