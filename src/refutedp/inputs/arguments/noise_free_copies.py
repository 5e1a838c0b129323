"""Run a copy of the mechanism whose globals lead to noise-free draws; no module is ever changed.

The copy shares the code objects (so lines and tests stay the same) and gets its own globals, in which `numpy`,
`numpy.random`, `random`, their functions and any generator are replaced by stand-ins, functions of the user's own
modules by copies, and `max`, `min`, `any` and `all` by versions that do not fork.
"""

from __future__ import annotations

import builtins
import copy
import functools
import random
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from refutedp.inputs.arguments.arrays_of_terms import largest, smallest
from refutedp.inputs.arguments.noise_free_draws import NoiseFree, PlainRandom
from refutedp.inputs.arguments.terms_of_a_run import Number, Truth, combine, watched
from refutedp.tracing.users_code import is_library

_ABSENT: Any = object()


class _Numpy:
    """NumPy with another `random`."""

    def __init__(self, rng: NoiseFree) -> None:
        self.random = rng

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def _extreme(plain: Callable[..., Any], better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def extreme(*values: Any, key: Any = None, default: Any = _ABSENT) -> Any:
        items = list(values[0]) if len(values) == 1 else list(values)
        if key is not None or not items or not any(watched(item) for item in items):
            extra = {} if default is _ABSENT or len(values) != 1 else {"default": default}
            return plain(items, key=key, **extra)
        return functools.reduce(better, items)

    return extreme


def _quantifier(plain: Callable[[Any], bool], how: str) -> Callable[[Any], Any]:
    def quantifier(values: Any) -> Any:
        items = list(values)
        if not any(type(item) is Truth for item in items):
            return plain(items)
        return functools.reduce(lambda left, right: combine(how, left, right), items)

    return quantifier


_BUILTINS = {
    **vars(builtins),
    "max": _extreme(max, largest),
    "min": _extreme(min, smallest),
    "any": _quantifier(any, "or"),
    "all": _quantifier(all, "and"),
}


class _IsFloat(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, float)


class _Float(float, metaclass=_IsFloat):
    """`float` that leaves a watched number watched."""

    def __new__(cls, value: Any = 0.0) -> Any:
        if type(value) is Truth:
            value = value.number()
        return value + 0.0 if type(value) is Number else float(value)


class NoiseFreeCopier:
    """Copies functions and what they refer to; one copier per search, so that helpers are copied once.

    With `own_float` the copy's `float` keeps watched numbers; NumPy then takes `dtype=float` for objects, which is
    why it is a second resort.
    """

    def __init__(self, rng: NoiseFree, *, own_float: bool = False) -> None:
        self._rng = rng
        self._builtins = {**_BUILTINS, "float": _Float} if own_float else _BUILTINS
        self._plain_random = PlainRandom(rng)
        self._numpy = _Numpy(rng)
        self._globals: dict[int, dict[str, Any]] = {}
        self._functions: dict[int, Any] = {}
        self._originals: list[Any] = []

    def copy(self, function: Any) -> Any:
        """A callable that behaves as `function` without randomness; what is not plain Python is returned as it is."""
        if isinstance(function, functools.partial):
            arguments = [self._replacement(value) for value in function.args]
            keywords = {name: self._replacement(value) for name, value in function.keywords.items()}
            return functools.partial(self.copy(function.func), *arguments, **keywords)
        if isinstance(function, types.MethodType):
            return self._method(function.__func__, function.__self__)
        if isinstance(function, types.FunctionType):
            return self._function(function)
        method = getattr(type(function), "__call__")  # noqa: B004, B009 - the function itself is wanted
        return self._method(method, function) if isinstance(method, types.FunctionType) else function

    def _method(self, function: Any, owner: Any) -> Any:
        if not isinstance(function, types.FunctionType) or isinstance(owner, type):
            return types.MethodType(self.copy(function), owner)
        copied = self._function(function)
        methods = {
            name: self._function(value)
            for base in reversed(type(owner).__mro__)
            for name, value in vars(base).items()
            if isinstance(value, types.FunctionType)
        }
        # Its other methods draw too, and what they leave on the object must not reach the next run.
        try:
            kind = type(type(owner).__name__, (type(owner),), {**methods, "__slots__": ()})
            object.__setattr__(copy.copy(owner), "__class__", kind)
        except Exception:  # a class that does not let itself be derived or copied is run as it is
            return types.MethodType(copied, owner)

        def call(*arguments: Any, **keywords: Any) -> Any:
            fresh = copy.copy(owner)
            object.__setattr__(fresh, "__class__", kind)
            for name, value in list(getattr(fresh, "__dict__", {}).items()):
                fresh.__dict__[name] = self._replacement(value)
            return copied(fresh, *arguments, **keywords)

        return call

    def _function(self, function: types.FunctionType) -> Any:
        if is_library(function.__module__ or ""):
            return function
        if id(function) in self._functions:
            return self._functions[id(function)]
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        copied = types.FunctionType(
            function.__code__,
            self._global_names(function.__globals__),
            function.__name__,
            tuple(self._replacement(value) for value in function.__defaults__ or ()) or None,
            cells or None,
        )
        copied.__kwdefaults__ = {
            name: self._replacement(value) for name, value in (function.__kwdefaults__ or {}).items()
        }
        copied.__qualname__ = function.__qualname__
        # Registered before what it refers to is copied: a recursive function refers to itself.
        self._functions[id(function)] = copied
        self._originals.append(function)
        for new, old in zip(cells, function.__closure__ or (), strict=True):
            try:
                new.cell_contents = self._replacement(old.cell_contents)
            except ValueError:  # an empty cell stays empty
                continue
        for name in _names(function.__code__):
            if name in function.__globals__:
                copied.__globals__[name] = self._replacement(function.__globals__[name])
        return copied

    def _global_names(self, names: dict[str, Any]) -> dict[str, Any]:
        """A copy of a module's globals, in which each copied function replaces the names it uses."""
        if id(names) not in self._globals:
            self._globals[id(names)] = {**names, "__builtins__": self._builtins}
            self._originals.append(names)
        return self._globals[id(names)]

    def _replacement(self, value: Any) -> Any:
        if isinstance(value, types.ModuleType):
            known = {np: self._numpy, np.random: self._rng, random: self._plain_random}
            return known.get(value, value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, np.random.Generator | np.random.RandomState):
            return self._rng
        if isinstance(value, random.Random):
            return self._plain_random
        if value is np.random.default_rng:
            return self._rng.default_rng
        owner = (
            getattr(value, "__self__", None)
            if isinstance(value, types.BuiltinMethodType | types.MethodType)
            else None
        )
        if isinstance(owner, np.random.Generator | np.random.RandomState):
            return getattr(self._rng, value.__name__)
        if isinstance(owner, random.Random):
            return getattr(self._plain_random, value.__name__)
        return value


def _names(code: types.CodeType) -> Iterator[str]:
    """Names a function may look up globally, those of the functions and comprehensions inside it too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
