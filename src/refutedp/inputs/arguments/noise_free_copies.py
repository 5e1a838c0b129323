"""Copies of the mechanism whose draws are noise-free and watched; they share its code, so lines stay the same."""

from __future__ import annotations

import copy
import functools
import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from refutedp.inputs.arguments.arrays_of_terms import largest, smallest
from refutedp.inputs.arguments.noise_free_draws import FollowedDraws
from refutedp.inputs.arguments.terms_of_a_run import Number, Truth, combine, watched
from refutedp.tracing.copier import Copier, Stage, is_library

_ABSENT: Any = object()


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


class _IsGenerator(type):
    """The type of a `Generator` that can be called as well as asked for by isinstance."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, np.random.Generator)


class FollowedStage(Stage):
    """What a followed copy sees: any generator is noise-free, and `max`, `min`, `any` and `all` do not fork.

    With `own_float` the copy's `float` keeps watched numbers; NumPy then takes `dtype=float` for objects, which is
    why it is a second resort.
    """

    def __init__(self, draws: FollowedDraws, *, own_float: bool) -> None:
        super().__init__(draws)
        self.numpy_random.Generator = _IsGenerator("Generator", (), {"__new__": lambda *_: self.rng})
        self._builtins = {**_BUILTINS, "float": _Float} if own_float else _BUILTINS

    def builtins(self, function: types.FunctionType) -> dict[str, Any]:
        """Builtins that keep watched numbers."""
        return super().builtins(function) | self._builtins

    def name(self, value: Any) -> Any:
        """The proxy of a generator, a method of it, or the value itself."""
        for kind, proxy in (
            (np.random.Generator, self.rng),
            (np.random.RandomState, self.numpy_random),
            (random.Random, self.standard_random),
        ):
            if isinstance(value, kind):
                return proxy
            method = isinstance(value, types.BuiltinMethodType | types.MethodType)
            if method and isinstance(value.__self__, kind):
                return getattr(proxy, value.__name__)
        return super().name(value)


class FollowedCopier(Copier):
    """Copies functions and what they refer to; one copier per search, so that helpers are copied once."""

    def __init__(self, stage: FollowedStage) -> None:
        super().__init__(stage)
        self._globals: dict[int, dict[str, Any]] = {}

    def copy_method(self, function: Any, owner: Any) -> Any:
        """A copy of a method, and of the object's other methods, on a fresh copy of the object at each call."""
        if not isinstance(function, types.FunctionType) or isinstance(owner, type):
            return super().copy_method(function, owner)
        copied = self.copy_function(function)
        methods = {
            name: self.copy_function(value)
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
                fresh.__dict__[name] = self.given(value)
            return copied(fresh, *arguments, **keywords)

        return call

    def copy_function(self, function: types.FunctionType) -> types.FunctionType:
        """The copy of a function of the user's own modules; a library's is run as it is."""
        return function if is_library(function.__module__ or "") else super().copy_function(function)

    def names(self, function: types.FunctionType) -> dict[str, Any]:
        """A copy of the module's globals, shared by its functions, in which each replaces the names it uses."""
        module = function.__globals__
        if id(module) not in self._globals:
            self._globals[id(module)] = {**module, "__builtins__": self.stage.builtins(function)}
        return self._globals[id(module)]

    def given(self, value: Any) -> Any:
        """What stands for a default, an attribute, or an argument of a partial."""
        return self.replacement("", value, set())

    bound = given

    def replacement(self, name: str, value: Any, used: set[str]) -> Any:
        """A proxy, the copy of a function, or the value itself."""
        if isinstance(value, types.FunctionType):
            return self.copy_function(value)
        return super().replacement(name, value, used)
