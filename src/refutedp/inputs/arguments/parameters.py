"""Which arguments are to be found, and what values each may take."""

from __future__ import annotations

import enum
import functools
import inspect
import numbers
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from refutedp.inputs.arguments.problem import Between, OneOf
from refutedp.model.errors import UsageError
from refutedp.model.mechanism import MISSING, Mechanism, Option

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
    return UsageError(f"{mechanism.name}() needs {listed}: pass {_it(names)} with args={{{given}}}{why}")


def _it(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"


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
