"""How hard to look, and how sure to be: each setting once, with its type, default, meaning, check and option.

One of them is the seed: every chunk of runs has a stream of its own under it, whoever makes it and in whatever order.
"""

# ruff: noqa: RUF009 - `_setting` makes a field
from __future__ import annotations

import difflib
import inspect
import math
import os
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias, TypedDict, get_args, get_origin, get_type_hints

import numpy as np

from refutedp.model.errors import UsageError

Method: TypeAlias = Literal["allocation", "fisher"]
Stop: TypeAlias = Literal["early", "fixed"]
Goal: TypeAlias = Literal["bound", "speed"]
Engine: TypeAlias = Literal["local", "dask", "ray"]
OnError: TypeAlias = Literal["output", "raise"]
OnLimit: TypeAlias = Literal["raise", "output"]
FloatLeaks: TypeAlias = Literal["report", "convict", "ignore"]
Importance: TypeAlias = Literal["needed", "always", "never"]
GlobalState: TypeAlias = tuple[Any, Any]
"""Those of `np.random` and `random`."""

TRIAL_STREAM, CONFIRM_STREAM, PROOF_STREAM, TIMING_STREAM = 0, 2, 3, 4
PILOT_STREAM, MAIN_STREAM, ROUND_STREAM, SPRINT_STREAM, LEARN_STREAM = 10, 11, 12, 13, 14
PROFILE_STREAM, ROUNDING_STREAM, AIM_STREAM, PLAN_STREAM, LOOK_STREAM, TAIL_STREAM = 20, 21, 22, 23, 24, 25
EXAMINE_STREAM, REPEAT_STREAM, COMPARE_STREAM, TRY_STREAM = 30, 31, 32, 50
EXACT_STREAM = 33
LEDGER_STREAM, EVOLVE_STREAM, SHORTEN_STREAM, EXPLAIN_STREAM = 40, 41, 42, 60
"""The first number of every key, one for each purpose: no two purposes share runs."""
ANEW = 100
"""Added to a stream whose runs could not all be lifted, and are all made again by plain calls."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a check stands: `done` of `total` runs in this stage, and the best finding so far in words.

    `told` is a line for those who want to know more; it is no progress. The first one of a check brings `calls`,
    which says how many calls were made so far and may be asked at any time.
    """

    stage: str
    done: int
    total: int
    best: str = ""
    told: str = ""
    calls: Callable[[], int] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Spelling:
    """A setting as an option of the command line, where that is not `--its-name` with a value of its own type."""

    option: str
    type: Any
    help: str
    read: Callable[[Any], Any] = lambda given: given


@dataclass(frozen=True, slots=True)
class Setting:
    """What a setting means, in a sentence; `check` gives the value to keep, or raises a `UsageError`.

    Without a check of its own, the type decides: a bool, one of the words of a Literal, or anything.
    """

    meaning: str
    check: Callable[[str, Any], Any] | None = None
    spelling: Spelling | None = None


def _setting(default: Any, *said: Any, **named: Any) -> Any:
    """A field of `Settings` with its default and what its `Setting` says."""
    return field(default=default, metadata={"setting": Setting(*said, **named)})


def _whole(least: int, why: str, *, but: int | None = None) -> Callable[[str, Any], Any]:
    def check(name: str, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise UsageError(f"{name}={value!r} must be a whole number of at least {least}")
        if value < least and value != but:
            raise UsageError(f"{name}={value!r} must be at least {least}: {why}")
        return value

    return check


def _jobs(name: str, value: Any) -> Any:
    if isinstance(value, str) and value != "auto" and value.lstrip("-").isdigit():
        value = int(value)
    if isinstance(value, str) and value != "auto":
        raise UsageError(f"{name}={value!r} must be a number of processes, -1 for all cores, or 'auto'")
    return value if value == "auto" else _whole(1, "-1 means all cores", but=-1)(name, value)


def _plan(name: str, value: Any) -> Any:
    """A plan, or where one is: a result, or a saved file."""
    value = getattr(getattr(value, "settings", value), "plan", value)
    if value is None or isinstance(value, str | os.PathLike):
        return value
    if isinstance(value, Mapping) and all(isinstance(one, int) for one in value.values()):
        return dict(value)
    raise UsageError(f"{name}={value!r} must be a result, a file saved with --json, or the plan of a result")


def _inside(name: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise UsageError(f"{name}={value!r} must lie strictly between 0 and 1, such as 0.001")
    return value


def _seconds(name: str, value: Any) -> Any:
    """Seconds, or what people type: 90, 60s, 5m or 1.5h."""
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    seconds = value
    if isinstance(value, str):
        number, unit = (value[:-1], units[value[-1]]) if value[-1:] in units else (value, 1.0)
        try:
            seconds = float(number) * unit
        except ValueError:
            seconds = None
    if isinstance(seconds, bool) or not isinstance(seconds, Real) or not float(seconds) > 0:
        raise UsageError(f"{name}={value!r} must be a positive number of seconds, such as 60, or 5m, or inf")
    return seconds


def _lengths(name: str, value: Any) -> tuple[int, ...]:
    items = (value,) if isinstance(value, int) else tuple(value)
    if not items:
        raise UsageError(f"{name}=() is empty: give at least one length of input, such as (1, 5, 10)")
    each = _whole(1, "inputs hold at least one query or record")
    return tuple(each(name, item) for item in items)


@dataclass(frozen=True, slots=True)
class Settings:
    """Budgets and rules of a check; every field is also a keyword of `check` and `sweep`, and an option.

    None of `jobs`, `engine` and `scheduler` changes the result.

    >>> Settings(confirm_runs=1000).search_runs
    100000
    >>> Settings(significance=2)
    Traceback (most recent call last):
        ...
    refutedp.model.errors.UsageError: significance=2 must lie strictly between 0 and 1, such as 0.001
    """

    search_runs: int = _setting(
        100_000,
        "Search runs per pair and side; further rounds of the best pairs and, where every run is a call, a sprint "
        "come on top.",
        _whole(100, "fewer cannot choose an event"),
    )
    confirm_runs: int = _setting(
        500_000, "Fresh runs per side for the verdict.", _whole(1, "a verdict needs fresh runs")
    )
    significance: float = _setting(
        0.001,
        "Largest p-value on fresh runs that counts as a violation; bounds hold with confidence 1 - significance.",
        _inside,
    )
    method: Method = _setting("allocation", "The exact test, or the paper's.")
    stop: Stop = _setting(
        "early",
        "Convict as soon as an anytime-valid test does (cheap runs go on to sharpen the bound), or test once "
        "after all runs.",
    )
    goal: Goal = _setting(
        "bound", "Look for the event that certifies the largest bound, or that convicts after the fewest runs."
    )
    seed: int = _setting(0, "Same seed, same result.", _whole(0, "seeds are not negative"))
    jobs: int | Literal["auto"] = _setting(
        "auto",
        "Processes to run on; -1 for all cores, auto for all cores where every run is a call and that pays.",
        _jobs,
        Spelling(
            "--jobs",
            str,
            "Processes to run on; -1 for all cores, auto for all of them where every run is a call and that pays.",
            lambda given: given if given is None else _jobs("--jobs", given),
        ),
    )
    engine: Engine = _setting("local", "Where the runs are made: here, or on a cluster.")
    scheduler: str | None = _setting(None, "Address of the cluster; a local one is started unless given.")
    lengths: tuple[int, ...] | None = _setting(
        None,
        "Lengths of the inputs that are made: query answers (1, 5 and 10 unless given), or records besides the "
        "one that changes (1 and 5).",
        _lengths,
        Spelling("--length", list[int], "Length of inputs to try; repeat it.  [default: 1, 5 and 10]"),
    )
    rarity: float | None = _setting(
        None,
        "The paper's rule to skip events seen fewer than rarity·n·e^ε times (it uses 0.001); unless given, rare "
        "events are left to the score, which serves small budgets better.",
        _inside,
    )
    on_error: OnError = _setting(
        "output",
        "Take an exception of the mechanism as an output, or stop at the first one.",
        spelling=Spelling(
            "--fail-on-error",
            bool,
            "Stop at the first exception instead of taking it as an output.",
            lambda given: "raise" if given else "output",
        ),
    )
    float_leaks: FloatLeaks = _setting(
        "report",
        "Noise added to floats leaks through their last digits, even where the mechanism on real numbers is "
        "private: note it beside the verdict, let it decide, or do not look.",
    )
    lift: bool = _setting(True, "Run many samples in one call where that is proven equal.")
    paired: bool = _setting(True, "Confirm on pairs of runs with the same noise where that is sharper, or never.")
    importance: Importance = _setting(
        "needed",
        "Draw noise within tails that are known, and towards rare events, weighing the runs: where plain runs would "
        "not refute the claim, and for speed; wherever it certifies more; or never.",
    )
    paths: int = _setting(
        200,
        "Paths of the mechanism that are enumerated on each input, with their exact probabilities, where sampling "
        "finds nothing; 0 for none.",
        _whole(0, "0 enumerates none"),
    )
    epsilon_name: str | None = _setting(None, "The parameter that takes epsilon; epsilon or eps unless given.")
    time_limit: float | None = _setting(
        None,
        "Seconds to fit the runs into: the speed is measured, and the budgets shrink. Unless given, a minute where "
        "every run is a call; inf for the whole budget.",
        _seconds,
        Spelling("--time-limit", str, "Fit the runs into a time such as 60s, 5m or 1h; inf for the whole budget."),
    )
    call_limit: float | None = _setting(
        None,
        "Seconds that one call may take before it counts as one that does not return: 20, or half of the time limit, "
        "unless given.",
        _seconds,
        Spelling("--call-limit", str, "Seconds that one call may take, such as 20 or 5m."),
    )
    on_limit: OnLimit = _setting(
        "raise", "Stop at a call that goes beyond its time, memory or size, or take that as an output."
    )
    plan: Any = _setting(
        None,
        "Repeat what the clock decided in an earlier check: its result, or the file that --json saved. Then the same "
        "seed gives the same counts, however fast the machine is.",
        _plan,
        Spelling("--plan", str, "Repeat the plan of a result saved with --json: the same counts on any machine."),
    )
    progress: Callable[[Progress], None] | bool | None = _setting(
        None,
        "True, False or a function that gets a `Progress` record now and then; unless given, a terminal decides.",
    )

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not None or one.default is not None:
                object.__setattr__(self, one.name, checked(one.name, value))


def checked(name: str, value: Any) -> Any:
    """The value as `Settings` keeps it; a `UsageError` says what is wrong with it."""
    kind, setting = SETTINGS[name]
    if setting.check is not None:
        return setting.check(name, value)
    if kind is bool and not isinstance(value, bool):
        raise UsageError(f"{name}={value!r} must be True or False")
    if get_origin(kind) is Literal and value not in get_args(kind):
        raise UsageError(f"{name}={value!r} must be one of {', '.join(map(repr, get_args(kind)))}")
    return value


SETTINGS: Mapping[str, tuple[Any, Setting]] = {
    one.name: (get_type_hints(Settings)[one.name], one.metadata["setting"]) for one in fields(Settings)
}
"""The type of each setting, and what is said of it."""


class Options(TypedDict, total=False):
    """The fields of `Settings` as keywords, for type checkers."""

    search_runs: int
    confirm_runs: int
    significance: float
    method: Method
    stop: Stop
    goal: Goal
    seed: int
    jobs: int | Literal["auto"]
    engine: Engine
    scheduler: str | None
    lengths: tuple[int, ...] | None
    rarity: float | None
    on_error: OnError
    float_leaks: FloatLeaks
    lift: bool
    paired: bool
    importance: Importance
    paths: int
    epsilon_name: str | None
    time_limit: float | None
    call_limit: float | None
    on_limit: OnLimit
    plan: Any
    progress: Callable[[Progress], None] | bool | None


def settings_from(base: Settings | None, options: Mapping[str, Any], *, of: Callable[..., Any]) -> Settings:
    """`base` with the options; one that neither it nor the function `of` takes gets the nearest name told."""
    own = [name for name, one in inspect.signature(of).parameters.items() if one.kind is not one.VAR_KEYWORD]
    known = [*own, *(one.name for one in fields(Settings))]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(known)}"
            raise UsageError(f"unknown keyword argument '{name}': {hint}")
    if base is not None and not isinstance(base, Settings):
        raise UsageError(f"settings={base!r} must be a Settings record, such as Settings(seed=1)")
    return replace(base or Settings(), **options)


def child(seed: int, *key: int) -> np.random.SeedSequence:
    """The stream named by `key` under `seed`; distinct keys give independent streams.

    >>> child(0, 1, 2).generate_state(1).tolist() == child(0, 1, 2).generate_state(1).tolist()
    True
    >>> child(0, 1, 2).generate_state(1).tolist() == child(0, 2, 1).generate_state(1).tolist()
    False
    """
    return np.random.SeedSequence(entropy=seed, spawn_key=key)


@contextmanager
def kept_globals() -> Iterator[None]:
    """Give `np.random` and `random` back their states after the block."""
    before = np.random.get_state(), random.getstate()
    try:
        yield
    finally:
        set_globals(before)


@contextmanager
def seeded_globals(seeds: np.random.SeedSequence) -> Iterator[None]:
    """The same, and seed them for the block.

    This is how a function that takes no rng but calls `np.random.*` or `random.*` reproduces too.
    """
    with kept_globals():
        words = seeds.generate_state(16)
        np.random.seed(words[:8])
        random.seed(int.from_bytes(words[8:].tobytes(), "little"))
        yield


def global_state(seeds: np.random.SeedSequence) -> GlobalState:
    """The states of the global generators that these seeds give."""
    with seeded_globals(seeds):
        return np.random.get_state(), random.getstate()


def set_globals(state: GlobalState) -> None:
    """Put `np.random` and `random` into these states."""
    np.random.set_state(state[0])
    random.setstate(state[1])


def positive_number(name: str, value: Any) -> float:
    """`value` as a float if it is a positive finite number; otherwise one sentence that says what is wrong."""
    return _number(name, value, "a positive number", lambda number: number > 0, "must be positive")


def number_from_zero(name: str, value: Any) -> float:
    """`value` as a float if it is zero or positive and finite."""
    return _number(name, value, "a number of at least zero", lambda number: number >= 0, "must not be negative")


def small_probability(name: str, value: Any) -> float:
    """`value` as a float if it lies in [0, 1)."""
    number = number_from_zero(name, value)
    if number >= 1:
        raise UsageError(f"{name}={value!r} must be below 1: with {name} of 1 everything is permitted")
    return number


def order_above_one(name: str, value: Any) -> float:
    """`value` as a float if it is a finite Rényi order, greater than one."""
    otherwise = "must be greater than 1, as the order of a Rényi divergence"
    return _number(name, value, "a number above 1", lambda number: number > 1, otherwise)


def _number(name: str, value: Any, wanted: str, fits: Callable[[float], bool], otherwise: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(f"{name}={value!r} must be a number, not a {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        raise UsageError(f"{name}=nan must be {wanted}")
    if math.isinf(number):
        raise UsageError(f"{name}={value!r} must be finite: nothing can violate an infinite privacy budget")
    if not fits(number):
        raise UsageError(f"{name}={value!r} {otherwise}")
    return number
