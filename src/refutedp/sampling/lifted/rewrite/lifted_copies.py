"""A copy of the mechanism whose globals see stand-ins, with copies of the helpers it calls; no module is patched."""

from __future__ import annotations

import builtins
import copy
import functools
import random
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from refutedp.sampling.lifted.refusal import CannotLift
from refutedp.sampling.lifted.rewrite.branches import HELPERS, joined_code
from refutedp.sampling.lifted.rewrite.bytecode import instructions, nested_codes
from refutedp.sampling.lifted.rewrite.calls import helper_of
from refutedp.sampling.lifted.rewrite.modules import Stage
from refutedp.tracing.users_code import is_library

_FOREIGN = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)


class Copier:
    """Copies functions for one stage; each function once, so that recursion and shared helpers stay shared."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._copies: dict[int, Any] = {}
        self._draws_through: set[str] = set()
        self._memo: dict[int, Any] = {}
        """What was copied of containers, by the original's id: what shares a container goes on sharing its copy."""
        self._kept: dict[str, Any] = {}
        """Objects that are not copied, by name."""
        self.originals: list[types.FunctionType] = []
        """The functions that were copied."""
        self.roots: dict[str, Any] = {}
        """Everything that the copied code can reach, and so could keep state in, by name."""

    @property
    def codes(self) -> frozenset[types.CodeType]:
        """The code of all copied functions, with the functions defined inside them."""
        return frozenset(part for copied in self._copies.values() for part in nested_codes(copied.__code__))

    def copy(self, function: Any) -> Any:
        """A callable that runs the same code; callables without Python code are returned as they are."""
        if isinstance(function, types.FunctionType):
            return self._function(function)
        if isinstance(function, types.MethodType):
            self.roots[f"{function.__qualname__}.__self__"] = function.__self__
            return types.MethodType(self.copy(function.__func__), function.__self__)
        if isinstance(function, functools.partial):
            return functools.partial(self.copy(function.func), *function.args, **function.keywords)
        call = vars(type(function)).get("__call__")
        if isinstance(call, types.FunctionType):
            self.roots[type(function).__name__] = function
            return types.MethodType(self._function(call), function)
        return function

    def _function(self, function: types.FunctionType) -> Any:
        known = self._copies.get(id(function))
        if known is not None:
            return known
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        code = (joined_code(function.__code__) if self._stage.joins_branches else None) or function.__code__
        names: dict[str, Any] = {
            **HELPERS,
            "__builtins__": self._builtins(function),
            "__name__": function.__module__,
        }
        copied = types.FunctionType(
            code, names, function.__name__, self._own_all(function.__defaults__), cells or None
        )
        copied.__kwdefaults__ = {name: self._own(value) for name, value in (function.__kwdefaults__ or {}).items()}
        copied.__dict__.update(function.__dict__)
        copied.__qualname__ = function.__qualname__
        self._copies[id(function)] = copied
        self.originals.append(function)
        _refuse_outer_state(function)
        if self._stage.joins_branches and "type" in names_read(function.__code__):
            raise CannotLift("it hands the builtin 'type' on, which would tell a column from a number")
        label = function.__qualname__
        self.roots[f"{label}()"] = [
            (one.__defaults__, one.__kwdefaults__, one.__dict__) for one in (copied, function)
        ]
        used = used_names(function.__code__)
        self._draws_through |= names_read_for(function.__code__, "random")
        for name in used:
            if name in function.__globals__:
                names[name] = self._substitute(name, function.__globals__[name], used)
                # A module's own `float` is what calls of that name mean.
                names[helper_of(name)] = names[name]
        for name, cell, original in zip(
            function.__code__.co_freevars, cells, function.__closure__ or (), strict=True
        ):
            try:
                cell.cell_contents = self._substitute(name, original.cell_contents, used)
            except ValueError:
                continue  # A cell that is still empty, as in a half-built recursion.
        return copied

    def _reach_into(self, module: types.ModuleType, used: set[str]) -> None:
        """What the code may read from a user's module can hold state, or a generator, too."""
        if not is_library(module.__name__):
            for name in used & vars(module).keys():
                value = vars(module)[name]
                if not isinstance(value, (types.ModuleType, types.FunctionType)):
                    self.roots[f"{module.__name__}.{name}"] = value

    def _substitute(self, name: str, value: Any, used: set[str]) -> Any:
        if isinstance(value, types.ModuleType):
            self._reach_into(value, used)
            if value is np and name in self._draws_through:
                self._stage.draws_from_modules = True
            return self._stage.module(value)
        if isinstance(value, _FOREIGN):
            raise CannotLift(f"it draws from a generator of its own, '{name}'")
        stand_in = self._stage.name(value)
        if stand_in is not value:
            return stand_in
        if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)) and _is_users(value):
            return self.copy(value)
        if isinstance(value, types.FunctionType):
            return value
        own = self._own(value)
        if own is value:
            self._kept[name] = value
        # Plain calls reach the original.
        self.roots[name] = own if own is value else (own, value)
        return own

    def refuse_shared(self) -> None:
        """Refuse an object that shares a container with a variable: the variable's is a copy, the object's is not."""
        copied = self._memo.keys() - {id(self._memo)}
        for name, value in self._kept.items():
            if any(id(inner) in copied for inner in _containers_in(value, _DEPTH)):
                raise CannotLift(f"'{name}' shares a container with another variable")

    def _own_all(self, values: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        return None if values is None else tuple(self._own(value) for value in values)

    def _own(self, value: Any) -> Any:
        """A copy of a plain container, so that a lifted call cannot leave columns in the user's."""
        if type(value) in (list, dict, set):
            try:
                return copy.deepcopy(value, self._memo)
            except Exception:
                return value
        return value

    def _builtins(self, function: types.FunctionType) -> dict[str, Any]:
        table = dict(vars(builtins))
        only_called = names_only_called(function.__code__)
        for name, stand_in in self._stage.builtins.items():
            if name in only_called:
                table[name] = stand_in
        table["__import__"] = self._import
        return table

    def _import(self, name: str, *args: Any, **keywords: Any) -> Any:
        """`import numpy` inside the function finds the stand-in too."""
        module = builtins.__import__(name, *args, **keywords)
        if name.partition(".")[0] in ("numpy", "random", "math", "warnings"):
            return self._stage.module(module)
        return module


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


def used_names(code: types.CodeType) -> set[str]:
    """Every name that the code may look up in its globals."""
    return {name for part in nested_codes(code) for name in part.co_names}


def names_read_for(code: types.CodeType, attribute: str) -> set[str]:
    """Names of outer variables of which the code reads the attribute: `np` for `np.random.laplace()`."""
    found: set[str] = set()
    for part in nested_codes(code):
        previous = None
        for instruction in instructions(part):
            if instruction.opname == "LOAD_ATTR" and instruction.argval == attribute and previous is not None:
                found.add(previous)
            loads = instruction.opname in ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME")
            previous = str(instruction.argval) if loads else None
    return found


def names_only_called(code: types.CodeType) -> set[str]:
    """Global names that are called wherever they are read: `int(x)`, not `dtype=int`."""
    loads = [i for part in nested_codes(code) for i in instructions(part) if i.opname == "LOAD_GLOBAL"]
    return {str(load.argval) for load in loads} - names_read(code)


def names_read(code: types.CodeType) -> set[str]:
    """Global names that are read otherwise than to be called on the spot."""
    read: set[str] = set()
    for part in nested_codes(code):
        for instruction in instructions(part):
            # Since Python 3.11 the low bit says that the value is about to be called.
            called = instruction.opname == "LOAD_GLOBAL" and (instruction.arg or 0) & 1
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and not called:
                read.add(str(instruction.argval))
    return read


def copy_function(function: Callable[..., Any], stage: Stage) -> Callable[..., Any]:
    """The mechanism's function, seeing the stage instead of the real modules.

    >>> import numpy as np
    >>> from refutedp.sampling.lifted.trust.replay_draws import Replay
    >>> stage = Stage(Replay([]), None)
    >>> copy_function(lambda data: np.random, stage)(None) is stage.numpy_random
    True
    """
    copied: Callable[..., Any] = Copier(stage).copy(function)
    return copied
