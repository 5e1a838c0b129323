"""Constants of a mechanism's code: the numbers, lengths and words at which it may do something else."""

from __future__ import annotations

import datetime
import functools
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from refutedp.tracing.copier import instructions, is_library, used_names

MOST = 24
"""Numbers, and words, that are kept."""
LONGEST = 120
"""Numbers up to this may be lengths."""
_DEPTH = 4
_DULL = frozenset({0, 1, -1, 2, 0.5})
"""Numbers that patterns have anyway."""


@dataclass(frozen=True, slots=True)
class Mined:
    """What was found, each in the order in which the code has it."""

    numbers: tuple[float, ...]
    words: tuple[str, ...]
    dates: tuple[datetime.date, ...] = ()

    @property
    def lengths(self) -> tuple[int, ...]:
        """Whole numbers that could be numbers of records, and their neighbours."""
        whole = [int(n) for n in self.numbers if float(n).is_integer() and 1 < n <= LONGEST]
        return tuple(dict.fromkeys(n + step for n in whole for step in (1, 0, 2) if n + step > 1))


def mine(function: Any) -> Mined:
    """The constants of a function and of the user's functions that it can reach.

    >>> def special(queries, rng):
    ...     return rng.laplace() + (sum(queries) if sum(queries) > 100 else 0) * (queries[0] == "x")
    >>> mine(special)
    Mined(numbers=(100,), words=('x',), dates=())
    """
    found: dict[tuple[type, Any], None] = {}
    seen: set[int] = set()

    def keep(value: Any, depth: int) -> None:
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, bool) or value is None:
            return
        if isinstance(value, int | float | str | datetime.date):
            found.setdefault((type(value), value))
        elif isinstance(value, types.CodeType):
            look(value, depth)
        elif isinstance(value, list | tuple | set | frozenset | range) and len(value) <= MOST:
            # Sets have an order of their own in every process.
            for item in sorted(value, key=repr) if isinstance(value, set | frozenset) else value:
                keep(item, depth - 1)
        elif isinstance(value, Mapping) and len(value) <= MOST:
            for key, item in value.items():
                keep(key, depth - 1)
                keep(item, depth - 1)

    def look(code: types.CodeType, depth: int) -> None:
        for constant in _constants(code):
            keep(constant, depth)

    def visit(value: Any, depth: int) -> None:
        if depth == 0 or id(value) in seen:
            return
        seen.add(id(value))
        for part, inner in _parts(value):
            if isinstance(part, types.CodeType):
                look(part, depth)
            elif callable(part) or inner:
                visit(part, depth - 1)
            else:
                keep(part, depth)

    visit(function, _DEPTH)
    plain = [value for kind, value in found if kind in (int, float)]
    numbers = [value for value in plain if value not in _DULL and abs(value) < 1e12]
    dates = [value for kind, value in found if issubclass(kind, datetime.date)]
    words = [value for kind, value in found if kind is str and value and len(value) <= 40]
    return Mined(tuple(dict.fromkeys(numbers))[:MOST], tuple(words)[:MOST], tuple(dates)[:MOST])


def _parts(value: Any) -> Iterator[tuple[Any, bool]]:
    """What a function, method or object reaches: its code, its defaults, its globals; whether to look into each."""
    if isinstance(value, functools.partial):
        yield value.func, True
        for bound in (*value.args, *value.keywords.values()):
            yield bound, False
    elif isinstance(value, types.MethodType):
        yield value.__func__, True
        yield value.__self__, True
    elif isinstance(value, types.FunctionType):
        if is_library(value.__module__ or ""):
            return
        yield value.__code__, False
        for default in (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()):
            yield default, False
        reached = [cell.cell_contents for cell in value.__closure__ or () if _filled(cell)]
        reached += [
            value.__globals__[name] for name in sorted(used_names(value.__code__)) if name in value.__globals__
        ]
        for one in reached:
            yield one, isinstance(one, types.FunctionType)
    elif isinstance(value, type):
        if not is_library(value.__module__):
            for name, one in vars(value).items():
                if not name.startswith("__") or isinstance(one, types.FunctionType):
                    yield one, isinstance(one, types.FunctionType)
    elif not is_library(type(value).__module__) and type(value).__module__ != "builtins":
        yield type(value), True
        for one in getattr(value, "__dict__", {}).values():
            yield one, isinstance(one, types.FunctionType)


def _constants(code: types.CodeType) -> Iterator[Any]:
    """What the code loads and compares with: no docstrings and other sentences, and no names of keywords."""
    listed = instructions(code)
    for one, following in zip(listed, [*listed[1:], listed[-1]], strict=True):
        if (
            not one.opname.startswith(("LOAD_CONST", "LOAD_SMALL_INT", "RETURN_CONST"))
            or following.opname == "CALL_KW"
        ):
            continue
        value = one.argval
        if not (isinstance(value, str) and " " in value.strip() and len(value) > 24):
            yield value


def _filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False
