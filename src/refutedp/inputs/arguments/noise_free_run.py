"""Runs a copy of the mechanism without noise and records every use of its arguments; line numbers are its own."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import operator
import random
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import numpy as np

from refutedp.inputs.arguments import terms
from refutedp.inputs.arguments.explore import Tracing
from refutedp.inputs.arguments.paths import location
from refutedp.inputs.arguments.watched import CannotFollow, Number, Truth, combine, compute, plain, watched
from refutedp.inputs.arguments.watched_arrays import filled, largest, smallest
from refutedp.model.mechanism import Mechanism
from refutedp.tracing.copier import OwnCodeCopier, Stage
from refutedp.tracing.distributions import Distribution, Noise
from refutedp.tracing.watchdog import one_call
from refutedp.tracing.without_noise import NoiseFree


class FollowedDraws(NoiseFree):
    """Gives noise-free values, as noisy numbers of the current run."""

    __slots__ = ("_current",)

    def __init__(self, current: Callable[[], Tracing]) -> None:
        self._current = current

    def draw(self, distribution: Distribution, params: tuple[Any, ...], size: Any) -> Any:
        """A noisy number, or an array of them; counted against the limits."""
        self._current().tick()
        return super().draw(distribution, params, size)

    def choose(self, distribution: str, options: Any, size: Any, p: Any, replace: bool) -> Any:
        """A watched element, or an array of them; counted against the limits."""
        self._current().tick()
        return super().choose(distribution, options, size, p, replace)

    def record(self, noise: Noise, rows: list[tuple[Any, ...]]) -> None:
        """Record each scale once."""
        if noise.scale is None:
            return
        widths: dict[Any, Any] = {}
        for row in rows:
            width = noise.scale(*row)
            inner = width.value if type(width) is Number else width
            widths.setdefault(inner.get_id() if terms.is_term(inner) else inner, width)
        for width in widths.values():
            if not watched(width) and width < 0:
                raise ValueError("scale < 0")
            self._current().record_scale(width)

    def number(self, value: Any, convert: Callable[[Any], Any] | None = None) -> Any:
        """A noisy number; what is none, as it is."""
        if isinstance(value, np.generic):
            value = value.item()
        inner = plain(value)
        return value if inner is NotImplemented else Number(self._current(), inner, noisy=True)

    def array(self, values: list[Any], shape: tuple[int, ...]) -> Any:
        """An array of watched numbers."""
        return filled(values, shape)

    def refuse(self, why: str) -> NoReturn:
        """Give up the path."""
        raise CannotFollow(f"{location()} {why.removeprefix('it ')}")


_ABSENT: Any = object()


def _extreme(builtin: Callable[..., Any], better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def extreme(*values: Any, key: Any = None, default: Any = _ABSENT) -> Any:
        items = list(values[0]) if len(values) == 1 else list(values)
        if key is not None or not items or not any(watched(item) for item in items):
            extra = {} if default is _ABSENT or len(values) != 1 else {"default": default}
            return builtin(items, key=key, **extra)
        return functools.reduce(better, items)

    return extreme


def _quantifier(builtin: Callable[[Any], bool], how: str) -> Callable[[Any], Any]:
    def quantifier(values: Any) -> Any:
        items = list(values)
        if not any(type(item) is Truth for item in items):
            return builtin(items)
        return functools.reduce(lambda left, right: combine(how, left, right), items)

    return quantifier


_BUILTINS = {
    "max": _extreme(max, largest),
    "min": _extreme(min, smallest),
    "any": _quantifier(any, "or"),
    "all": _quantifier(all, "and"),
}


class _StandIn(type):
    """The type of a class that stands for its `original` in calls and in isinstance."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, vars(cls)["original"])


class _Float(float, metaclass=_StandIn):
    """`float` that leaves a watched number watched."""

    original = float

    def __new__(cls, value: Any = 0.0) -> Any:
        return compute(operator.add, value, 0.0) if watched(value) else float(value)


class FollowedStage(Stage):
    """What a followed copy sees: any generator is noise-free, and `max`, `min`, `any` and `all` do not fork.

    With `own_float` the copy's `float` keeps watched numbers; NumPy then takes `dtype=float` for objects, which is
    why it is a second resort.
    """

    def __init__(self, draws: FollowedDraws, *, own_float: bool) -> None:
        super().__init__(draws)
        names = {"__new__": lambda *_: self.rng, "original": np.random.Generator}
        self.numpy_random.Generator = _StandIn("Generator", (), names)
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


class FollowedCopier(OwnCodeCopier):
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

    def names(self, function: types.FunctionType) -> dict[str, Any]:
        """A copy of the module's globals, shared by its functions, in which each replaces the names it uses."""
        module = function.__globals__
        if id(module) not in self._globals:
            self._globals[id(module)] = {**module, "__builtins__": self.stage.builtins(function)}
        return self._globals[id(module)]


class NoiseFreeRunner:
    """A noise-free copy of a mechanism; the original and its modules stay untouched."""

    def __init__(self, mechanism: Mechanism, known: Mapping[str, Any], *, own_float: bool = False) -> None:
        self._original = mechanism
        self.calls = 0
        """How often the mechanism was called."""
        self._float: NoiseFreeRunner | None = None
        self._tracing: Tracing | None = None
        stage = FollowedStage(FollowedDraws(self._current), own_float=own_float)
        self._rng = None if mechanism.rng is None else stage.generator(mechanism.draws_from)
        copied = FollowedCopier(stage).copy(mechanism.function)
        self._mechanism = dataclasses.replace(mechanism, function=copied)
        self._known = dict(known)

    def keeping_floats(self) -> NoiseFreeRunner:
        """The same, with a `float` that keeps values under watch (see `FollowedStage`)."""
        if self._float is None:
            self._float = NoiseFreeRunner(self._original, self._known, own_float=True)
        return self._float

    @property
    def all_calls(self) -> int:
        """How often the mechanism was called, with either `float`."""
        return self.calls + (0 if self._float is None else self._float.calls)

    def __call__(self, tracing: Tracing, data: Any, found: Mapping[str, Any], *, watching: bool = True) -> Any:
        """One run on a copy of the data; without `watching` only draws are watched, not the arguments."""
        self._tracing = tracing
        self.calls += 1
        arguments = {**self._known, **found}
        if watching:
            epsilon = self._mechanism.epsilon
            arguments = {n: value if n == epsilon else watch(tracing, value) for n, value in arguments.items()}
        size = 1 if self._mechanism.batched else None
        with one_call():
            output = self._mechanism.call(copy.deepcopy(data), arguments, rng=self._rng, size=size)
            if inspect.isgenerator(output):
                output = list(output)
        _test_returned(tracing, output)
        return output

    def _current(self) -> Tracing:
        assert self._tracing is not None
        return self._tracing


def _test_returned(tracing: Tracing, output: Any) -> None:
    """A truth that is returned is seen by the world as much as one that decides a branch: it counts as one."""
    if type(output) is Truth:
        if output.site is not None and not output.asked:
            tracing.test(output, output.site)
        return
    elements: Iterable[Any] = ()
    if type(output) in (list, tuple, set, frozenset):
        elements = output
    elif type(output) is dict:
        elements = output.values()
    elif isinstance(output, np.ndarray) and output.dtype == object:
        elements = output.flat
    for element in elements:
        _test_returned(tracing, element)


def watch(tracing: Tracing, value: Any) -> Any:
    """A plain number or truth under watch; anything else as it is."""
    if watched(value):
        return value
    if isinstance(value, bool | np.bool_):
        return Truth(tracing, bool(value))
    if isinstance(value, np.number):
        value = value.item()
    # An Enum whose members are ints must stay an Enum.
    return Number(tracing, value) if type(value) in (int, float) else value
