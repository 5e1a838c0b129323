"""Copies of a mechanism and of the helpers it calls, whose globals see a stage; no module is patched."""

from __future__ import annotations

import functools
import types
from typing import Any

from refutedp.tracing.bytecode import used_names
from refutedp.tracing.stage import Stage


class Copier:
    """Copies functions for one stage; each function once, so that recursion and shared helpers stay shared.

    >>> import numpy as np
    >>> from refutedp.tracing.without_noise import NoiseFree
    >>> stage = Stage(NoiseFree())
    >>> Copier(stage).copy(lambda data: np.random)(None) is stage.numpy_random
    True
    """

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.copies: dict[int, types.FunctionType] = {}
        """The copies, by the original's id."""
        self.originals: list[types.FunctionType] = []
        """The functions that were copied."""

    def copy(self, function: Any) -> Any:
        """A callable that runs the same code; callables without Python code are returned as they are."""
        if isinstance(function, types.FunctionType):
            return self.copy_function(function)
        if isinstance(function, types.MethodType):
            return self.copy_method(function.__func__, function.__self__)
        if isinstance(function, functools.partial):
            keywords = {name: self.bound(value) for name, value in function.keywords.items()}
            return functools.partial(self.copy(function.func), *map(self.bound, function.args), **keywords)
        call = getattr(type(function), "__call__")  # noqa: B004, B009 - the function itself is wanted
        return self.copy_method(call, function) if isinstance(call, types.FunctionType) else function

    def copy_method(self, function: Any, owner: Any) -> Any:
        """A copy of a function, bound to its object."""
        return types.MethodType(self.copy(function), owner)

    def copy_function(self, function: types.FunctionType) -> types.FunctionType:
        """The copy of a function, made when it is first asked for."""
        known = self.copies.get(id(function))
        if known is not None:
            return known
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        names = self.names(function)
        copied = types.FunctionType(self.stage.code(function), names, function.__name__, None, cells or None)
        if function.__defaults__ is not None:
            copied.__defaults__ = tuple(map(self.given, function.__defaults__))
        copied.__kwdefaults__ = {name: self.given(value) for name, value in (function.__kwdefaults__ or {}).items()}
        copied.__dict__.update(function.__dict__)
        copied.__qualname__ = function.__qualname__
        # Registered before what it refers to is copied: a recursive function refers to itself.
        self.copies[id(function)] = copied
        self.originals.append(function)
        self.check(function, copied)
        used = used_names(function.__code__)
        for name in used:
            if name in function.__globals__:
                self.bind(names, name, self.replacement(name, function.__globals__[name], used))
        for name, cell, original in zip(
            function.__code__.co_freevars, cells, function.__closure__ or (), strict=True
        ):
            try:
                cell.cell_contents = self.replacement(name, original.cell_contents, used)
            except ValueError:
                continue  # A cell that is still empty, as in a half-built recursion.
        return copied

    def names(self, function: types.FunctionType) -> dict[str, Any]:
        """The globals of the copy, before the names that it uses are bound."""
        return {"__builtins__": self.stage.builtins(function), "__name__": function.__module__}

    def bind(self, names: dict[str, Any], name: str, value: Any) -> None:
        """Let a global name of the copy mean this."""
        names[name] = value

    def given(self, value: Any) -> Any:
        """What stands for a default."""
        return value

    def bound(self, value: Any) -> Any:
        """What stands for an argument of a partial."""
        return value

    def check(self, function: types.FunctionType, copied: types.FunctionType) -> None:
        """Look at a function that is being copied, to refuse it if need be."""

    def replacement(self, name: str, value: Any, used: set[str]) -> Any:
        """What the copy sees under a name, of those that the function uses."""
        if isinstance(value, types.ModuleType):
            return self.stage.module(value)
        return self.stage.name(value)
