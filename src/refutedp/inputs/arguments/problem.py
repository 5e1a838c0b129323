"""What goes into the search for arguments and what comes out of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from refutedp.model.errors import UsageError

Preference = Literal["divergence", "noise"]


@dataclass(frozen=True, slots=True)
class Between:
    """A numeric argument may take any value from `low` to `high`, both included.

    >>> Between(0, 10)
    Between(low=0, high=10)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise UsageError(f"Between({name}={value!r}) must be a finite number")
        if self.low > self.high:
            raise UsageError(f"Between({self.low!r}, {self.high!r}) is empty: low must not exceed high")


@dataclass(frozen=True, slots=True)
class OneOf:
    """An argument takes one of these values, tried in this order.

    >>> OneOf(("laplace", "gauss")).values
    ('laplace', 'gauss')
    """

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values:
            raise UsageError("OneOf(()) is empty: give at least one value")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much work one pair may cost; reaching a limit is said in `Found.notes`, never silent.

    `paths` a run, `branches` (tests and draws) a path, `units` of the solver's own count of its work (Z3's `rlimit`;
    some millions take a second), `events` (tests and draws) of all paths together, `values` an argument is tried with
    where it must become a plain integer, `cases` combinations of `OneOf` arguments. All are counts: results do not
    depend on how fast a machine is.

    >>> Limits(paths=16).branches
    500
    """

    paths: int = 256
    branches: int = 500
    units: int = 20_000_000
    events: int = 50_000
    values: int = 24
    cases: int = 32

    def __post_init__(self) -> None:
        for name in ("paths", "branches", "units", "events", "values", "cases"):
            value = getattr(self, name)
            if not value > 0:
                raise UsageError(f"Limits({name}={value!r}) must be positive")


@dataclass(frozen=True, slots=True)
class FoundArguments:
    """The arguments found for one pair, and why these.

    `branches` counts the tests compared between the two noise-free runs and `diverging` those on which the runs part
    (see `compare.py` for the definition); `scales` are the distinct noise scales under the arguments. `notes` holds
    one sentence for each limit reached and each thing that could not be followed, with file and line. `calls` says
    how often the mechanism was called, without noise; `scaling` names the arguments that some noise depends on.

    >>> found = FoundArguments({"bound": 1}, diverging=5, branches=5, scales=(8.0,))
    >>> found.arguments, found.diverging == found.branches
    ({'bound': 1}, True)
    """

    arguments: dict[str, Any] = field(default_factory=dict)
    diverging: int = 0
    branches: int = 0
    scales: tuple[float, ...] = ()
    why: str = ""
    notes: tuple[str, ...] = ()
    calls: int = 0
    scaling: frozenset[str] = frozenset()
