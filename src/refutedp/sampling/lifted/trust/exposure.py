"""Which code of libraries gets to see a column: where none does, it does the same as in a plain call, whatever it is.

A library may compare by identity, as pandas and SciPy do in many places. That matters only for drawn values. So
lifted runs of a function that calls such code are watched: each piece of it that could reach a column when it is
called, or when it returns, is named. What cannot be searched to the end counts as reaching one.
"""

from __future__ import annotations

import gc
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from refutedp.sampling.lifted.columns.column import Column
from refutedp.tracing.copier import is_internal, is_library, module_of
from refutedp.tracing.rng_proxy import RngProxy

_MOST = 5_000
"""So many values are looked at, at each call and each return."""
_COLLECTED = 1 << 14
"""The flag of types whose objects tell the garbage collector what they hold."""
_PLAIN = (bool, int, float, complex, str, bytes, type(None), range, np.generic, np.dtype, type, types.ModuleType)


class Exposure:
    """Calls functions and notes which code could reach a column, of that in which `matters` says that it would."""

    def __init__(self, matters: Callable[[types.FrameType], bool]) -> None:
        self._matters = matters
        self._known: dict[types.CodeType, bool] = {}
        self._found: set[types.CodeType] = set()

    def call(self, function: Callable[[], Any], note: Callable[[frozenset[types.CodeType]], None]) -> Any:
        """Call the function; `note` is told the code. Where another profiler is at work, it is told nothing."""
        if sys.getprofile() is not None:
            return function()
        self._found = set()
        sys.setprofile(self._event)
        try:
            return function()
        finally:
            sys.setprofile(None)
            note(frozenset(self._found))

    def _event(self, frame: types.FrameType, event: str, arg: Any) -> None:
        if event not in ("call", "return"):
            return
        code = frame.f_code
        matters = self._known.get(code)
        if matters is None:
            matters = not is_internal(code) and is_library(module_of(frame)) and self._matters(frame)
            self._known[code] = matters
        if matters and code not in self._found and (reaches_column(frame.f_locals) or reaches_column([arg])):
            self._found.add(code)


def reaches_column(value: Any) -> bool:
    """Whether a column can be reached from a value, or might be.

    >>> reaches_column([1.5, {"a": (2, "x")}, iter([])]), reaches_column(lambda: 0)
    (False, True)
    """
    waiting, seen, looked = [value], set[int](), 0
    while waiting:
        one = waiting.pop()
        if type(one) is not type and isinstance(one, Column):
            return True
        if isinstance(one, _PLAIN) or id(one) in seen:
            continue
        seen.add(id(one))
        looked += 1
        inner = None if looked > _MOST else _inside(one)
        if inner is None:
            return True
        waiting += inner
    return False


def _inside(value: Any) -> list[Any] | None:
    """What a value holds; None where that cannot be told, or where it could get hold of anything."""
    if isinstance(value, RngProxy):
        return None
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value) if len(value) <= _MOST else None
    if isinstance(value, dict):
        return [*value.keys(), *value.values()] if len(value) <= _MOST else None
    if isinstance(value, np.ndarray):
        return [] if value.dtype != object else list(value.ravel()[: _MOST + 1])
    if isinstance(value, types.FunctionType):
        if not is_library(str(value.__module__)):
            return None
        cells = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
        return [*cells, *(value.__defaults__ or ())]
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, (types.BuiltinFunctionType, types.MethodWrapperType)):
        return [value.__self__]
    if isinstance(value, types.GeneratorType):
        frame = value.gi_frame
        users = frame is not None and not is_library(module_of(frame))
        return None if users else [] if frame is None else list(frame.f_locals.values())
    if isinstance(value, weakref.ref):
        return [value()]
    if type(value).__flags__ & _COLLECTED:
        return gc.get_referents(value)
    # What is written in C and unknown to the garbage collector may hold things unseen.
    return None if _is_opaque(type(value)) else []


def _is_opaque(kind: type) -> bool:
    """Whether objects of a type can hold others unseen: those of libraries that are not written in C or Cython."""
    top = kind.__module__.partition(".")[0]
    return top not in ("numpy", "scipy", "pandas", "builtins") and top not in sys.stdlib_module_names


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
