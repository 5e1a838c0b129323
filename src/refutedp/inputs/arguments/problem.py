"""What goes into the search for arguments (which to find, in which domains, at what cost) and what comes out."""

from __future__ import annotations

import enum
import functools
import inspect
import math
import numbers
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from refutedp.model.errors import UsageError
from refutedp.model.mechanism import MISSING, Mechanism, Option

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
        for name, value in asdict(self).items():
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
    """How much work one pair may cost; reaching a limit is said in `FoundArguments.notes`, never silent.

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
        for name, value in asdict(self).items():
            if not value > 0:
                raise UsageError(f"Limits({name}={value!r}) must be positive")


@dataclass(frozen=True, slots=True)
class FoundArguments:
    """The arguments found for one pair, and why these.

    `branches` counts the tests compared between the two noise-free runs and `diverging` those on which the runs part
    (see `paths.py` for the definition); `scales` are the distinct noise scales under the arguments. `notes` holds
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


Kind = Literal["real", "int", "bool", "cases"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """An argument to be found: its kind, its declared bounds, its cases.

    `typed` is False for a parameter without annotation: a whole value found for it is given as an int.
    """

    name: str
    kind: Kind
    low: float | None = None
    high: float | None = None
    cases: tuple[Any, ...] = ()
    typed: bool = True


def wanted_arguments(
    mechanism: Mechanism, known: Mapping[str, Any], domains: Mapping[str, Between | OneOf]
) -> tuple[Wanted, ...]:
    """Required options that are not known, and every option with a declared domain, in the order of the signature."""
    options = {option.name: option for option in mechanism.options}
    for name in domains:
        if name not in options:
            raise UsageError(
                f"args={{{name!r}: ...}} is not an argument of {mechanism.name}(): "
                f"it has {', '.join(options) or 'none'}"
            )
    hints = _hints(mechanism.function)
    return tuple(
        _wanted(mechanism, option, hints.get(option.name, option.annotation), domains.get(option.name))
        for option in mechanism.options
        if option.name in domains or (option.required and option.name not in known)
    )


def needs(mechanism: Mechanism, names: list[str], why: str = "") -> UsageError:
    """The error that tells which arguments to pass."""
    listed = ", ".join(f"'{name}'" for name in names)
    given = ", ".join(f'"{name}": ...' for name in names)
    it = "it" if len(names) == 1 else "them"
    return UsageError(f"{mechanism.name}() needs {listed}: pass {it} with args={{{given}}}{why}")


def _wanted(mechanism: Mechanism, option: Option, hint: Any, domain: Between | OneOf | None) -> Wanted:
    if isinstance(domain, OneOf):
        return Wanted(option.name, "cases", cases=domain.values)
    kind, cases = _kind(hint, option.default)
    if isinstance(domain, Between):
        if kind not in ("real", "int"):
            raise UsageError(
                f"args={{{option.name!r}: {domain}}} bounds a number, but {mechanism.name}() says that "
                f"'{option.name}' is {_name(hint)}"
            )
        return Wanted(option.name, kind, low=domain.low, high=domain.high, typed=hint is not MISSING)
    if domain is not None:
        raise UsageError(
            f"args={{{option.name!r}: {domain!r}}} is no domain: give a value, Between(low, high) or OneOf(values)"
        )
    if kind is None:
        raise needs(mechanism, [option.name], f" (it is {_name(hint)}, for which no values are known)")
    return Wanted(option.name, kind, cases=cases, typed=hint is not MISSING)


def _kind(hint: Any, default: Any) -> tuple[Kind | None, tuple[Any, ...]]:
    """The kind an annotation or a default tells, None for an object that cannot be searched."""
    if hint is MISSING or hint is Any:
        if isinstance(default, bool):
            return "bool", ()
        return ("int" if isinstance(default, int) else "real"), ()
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return _kind(typing.get_args(hint)[0], default)
    if origin is Literal:
        return "cases", typing.get_args(hint)
    if origin is typing.Union or origin is types.UnionType:
        kinds = [_kind(part, default) for part in typing.get_args(hint) if part is not type(None)]
        if {kind for kind, _ in kinds} <= {"real", "int"}:
            return ("real" if any(kind == "real" for kind, _ in kinds) else "int"), ()
        return kinds[0] if len(kinds) == 1 else (None, ())
    if isinstance(hint, typing.NewType):
        return _kind(hint.__supertype__, default)
    if not isinstance(hint, type):
        return None, ()
    if issubclass(hint, enum.Enum):
        return "cases", tuple(hint)
    if issubclass(hint, bool | np.bool_):
        return "bool", ()
    if issubclass(hint, int | np.integer) or hint is numbers.Integral:
        return "int", ()
    if issubclass(hint, float | np.floating) or hint in (numbers.Real, numbers.Number, complex, object):
        return "real", ()
    return None, ()


def _name(hint: Any) -> str:
    if isinstance(hint, str):
        return hint
    return getattr(hint, "__name__", None) or str(hint).replace("typing.", "")


def _hints(function: Any) -> dict[str, Any]:
    """Annotations with strings resolved; those that cannot be resolved are left to the signature's own text."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    if not inspect.isroutine(function):
        function = type(function).__call__
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception:  # a name that exists for type checkers only; the builtin ones can still be told
        simple = {"int": int, "float": float, "bool": bool, "str": str}
        written = getattr(function, "__annotations__", {})
        return {name: simple.get(hint, hint) for name, hint in written.items()}
