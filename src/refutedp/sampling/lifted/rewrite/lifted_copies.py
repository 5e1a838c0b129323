"""Copies for lifted and replayed runs: what could keep state between calls is copied, refused or watched."""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from refutedp.sampling.lifted.refusal import CannotLift
from refutedp.sampling.lifted.rewrite.branches import HELPERS
from refutedp.sampling.lifted.rewrite.calls import helper_of
from refutedp.tracing.copier import GENERATORS, Copier, Stage, instructions, is_library, names_read_for, nested_codes


class LiftedCopier(Copier):
    """Copies functions so that no run leaves anything behind, and tells what could keep state between calls."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._draws_through: set[str] = set()
        self._memo: dict[int, Any] = {}
        """What was copied of containers, by the original's id: what shares a container goes on sharing its copy."""
        self._pairs: dict[int, tuple[Any, Any]] = {}
        """Copies of containers with their originals, by the original's id."""
        self._kept: list[tuple[str, Any]] = []
        """Objects that are not copied, by name."""
        self.roots: dict[str, Any] = {}
        """Everything that the copied code can reach, and so could keep state in, by name."""

    @property
    def codes(self) -> frozenset[types.CodeType]:
        """The code of all copied functions, with the functions defined inside them."""
        return frozenset(part for copied in self.copies.values() for part in nested_codes(copied.__code__))

    def copy_method(self, function: Any, owner: Any) -> Any:
        """A copy of a function, bound to its object, which could keep state."""
        called = function.__name__ == "__call__"
        self._watch(type(owner).__name__ if called else f"{function.__qualname__}.__self__", owner)
        return super().copy_method(function, owner)

    def names(self, function: types.FunctionType) -> dict[str, Any]:
        """The globals of the copy: what rewritten code calls, and the stage's builtins."""
        return {**HELPERS, **super().names(function)}

    def bind(self, names: dict[str, Any], name: str, value: Any) -> None:
        """Let a global name mean this: a module's own `float` is what rewritten calls of that name mean."""
        names[name] = names[helper_of(name)] = value

    def check(self, function: types.FunctionType, copied: types.FunctionType) -> None:
        """Refuse state in an outer function; note what else could keep state, and what draws from NumPy."""
        _refuse_outer_state(function)
        parts = [(one.__defaults__, one.__kwdefaults__, one.__dict__) for one in (copied, function)]
        self._watch(f"{function.__qualname__}()", parts)
        self._draws_through |= names_read_for(function.__code__, "random")

    def _reach_into(self, module: types.ModuleType, used: set[str]) -> None:
        """What the code may read from a user's module can hold state, or a generator, too."""
        if not is_library(module.__name__):
            for name in used & vars(module).keys():
                value = vars(module)[name]
                if not isinstance(value, (types.ModuleType, types.FunctionType)):
                    self._watch(f"{module.__name__}.{name}", value)

    def replacement(self, name: str, value: Any, used: set[str]) -> Any:
        """A stand-in, a copy of a function or container, or the value itself, which is then watched."""
        if isinstance(value, types.ModuleType):
            self._reach_into(value, used)
            if value is np and name in self._draws_through:
                self.stage.draws_from_modules = True
            return self.stage.module(value)
        if isinstance(value, GENERATORS):
            raise CannotLift(f"it draws from a generator of its own, '{name}'")
        stand_in = self.stage.name(value)
        if stand_in is not value:
            return stand_in
        if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)) and _is_users(value):
            return self.copy(value)
        if isinstance(value, types.FunctionType):
            return value
        own = self.given(value)
        if own is value:
            self._kept.append((name, value))
        # Plain calls reach the original.
        self._watch(name, own if own is value else self._pairs.setdefault(id(value), (own, value)))
        return own

    def _watch(self, name: str, value: Any) -> None:
        """Add a root; one of the same name that another function uses stays watched."""
        while name in self.roots and self.roots[name] is not value:
            name += "'"
        self.roots[name] = value

    def refuse_shared(self) -> None:
        """Refuse an object that shares a container with a variable: the variable's is a copy, the object's is not."""
        copied = self._memo.keys() - {id(self._memo)}
        for name, value in self._kept:
            if any(id(inner) in copied for inner in _containers_in(value, _DEPTH)):
                raise CannotLift(f"'{name}' shares a container with another variable")

    def given(self, value: Any) -> Any:
        """A copy of a plain container, so that a lifted call cannot leave columns in the user's."""
        if type(value) in (list, dict, set):
            try:
                return copy.deepcopy(value, self._memo)
            except Exception:
                return value
        return value


_DEPTH = 4
"""Levels of attributes and items that are looked into for shared containers."""


def _containers_in(value: Any, depth: int) -> Iterator[Any]:
    """The lists, dicts and sets that an object holds."""
    if isinstance(value, (list, dict, set)):
        yield value
    if depth == 0 or isinstance(value, (types.ModuleType, types.FunctionType, str, bytes, np.ndarray)):
        return
    if isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, (list, tuple, set, frozenset)):
        inner = list(value)
    else:
        owner = value if isinstance(value, type) else type(value)
        inner = [*getattr(value, "__dict__", {}).values(), *vars(owner).values()]
    for item in inner[:1000]:
        yield from _containers_in(item, depth - 1)


def _refuse_outer_state(function: types.FunctionType) -> None:
    """Refuse `nonlocal` variables of an outer function: they outlive the call."""
    outer = function.__code__.co_freevars
    for part in nested_codes(function.__code__):
        for instruction in instructions(part):
            if instruction.opname == "STORE_DEREF" and instruction.argval in outer:
                raise CannotLift(f"it keeps state between calls, in '{instruction.argval}' of an outer function")


def _is_users(function: Any) -> bool:
    """Whether the function is the user's: the code of libraries is run as it is."""
    inner = getattr(function, "func", function)
    return not is_library(str(getattr(inner, "__module__", None) or ""))
