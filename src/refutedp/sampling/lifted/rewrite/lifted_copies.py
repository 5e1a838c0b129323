"""Builds the lifted copy: its replacement modules, and checks that it keeps no state between calls.

It sees stand-ins for `numpy`, `math` and builtins that know columns. What could keep state between calls is copied,
refused or watched, in the copy for replayed runs too.
"""

from __future__ import annotations

import copy
import functools
import math
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from refutedp.sampling.lifted.columns.array import ArrayColumn
from refutedp.sampling.lifted.columns.builtin import LIFTED_BUILTINS, lifted_math
from refutedp.sampling.lifted.columns.column import STANDARD, holds_column, knows, over_columns, stack_nested, wrap
from refutedp.sampling.lifted.columns.functions import FUNCTIONS
from refutedp.sampling.lifted.columns.scalar import Scalar
from refutedp.sampling.lifted.columns.scipy_noise import stand_in
from refutedp.sampling.lifted.drawer import LiftedDrawer
from refutedp.sampling.lifted.execution import CannotLift
from refutedp.sampling.lifted.rewrite.branches import helpers, joined_code
from refutedp.sampling.lifted.rewrite.expressions import helper_of
from refutedp.sampling.lifted.rewrite.joins import Joins
from refutedp.tracing.copier import (
    GENERATORS,
    Copier,
    ModuleProxy,
    Stage,
    instructions,
    is_library,
    names_only_called,
    names_read,
    names_read_for,
    nested_codes,
)

_MAKERS = (
    *("array", "asarray", "copy", "empty", "empty_like", "full", "full_like", "ones", "ones_like", "zeros"),
    "zeros_like",
)
_PLAIN = frozenset(
    {
        *(bool, int, float, complex, str, bytes, type(None), np.float64, np.int64, np.bool_),
        *(types.WrapperDescriptorType, types.MethodDescriptorType, types.BuiltinFunctionType),
        *(types.GetSetDescriptorType, types.MemberDescriptorType, types.ClassMethodDescriptorType),
    }
)
"""Types whose values hold no containers; to look for some in all that a type has takes long."""
_DEPTH = 4
"""Levels of attributes and items that are looked into for shared containers."""


class LiftedStage(Stage):
    """What the lifted copy of a mechanism sees of the world: modules and builtins that know columns, besides."""

    def __init__(self, drawer: LiftedDrawer) -> None:
        super().__init__(drawer)
        self.math = ModuleProxy(math, lifted_math)
        self._drawer = drawer
        self.helpers = helpers(Joins(drawer))
        """What rewritten code calls."""
        self.minds_warnings = False
        """Whether the mechanism could raise, count or read warnings, which NumPy gives run by run."""

    def module(self, value: Any) -> Any:
        """The stand-in of a module, or the module itself."""
        if value is warnings:
            self.minds_warnings = True
        if getattr(value, "__name__", None) in ("scipy", "scipy.stats"):
            return ModuleProxy(value, lambda name: self._member(getattr(value, name)))
        return self.math if value is math else super().module(value)

    def _member(self, value: Any) -> Any:
        """What stands for a member of a module."""
        return self.module(value) if isinstance(value, types.ModuleType) else self.name(value)

    def code(self, function: types.FunctionType) -> types.CodeType:
        """The function's code with simple branches joined and some calls redirected."""
        if "type" in names_read(function.__code__):
            raise CannotLift("it hands the builtin 'type' on, which would tell a column from a number")
        return joined_code(function.__code__) or function.__code__

    def builtins(self, function: types.FunctionType) -> dict[str, Any]:
        """Builtins that know columns, where they are only called."""
        only_called = names_only_called(function.__code__)
        known = {name: lifted for name, lifted in LIFTED_BUILTINS.items() if name in only_called}
        return super().builtins(function) | known

    def floating_point_error(self, kind: str, flag: int) -> None:
        """Called by NumPy when lifted values overflow, divide by zero or are invalid, if only in some runs."""
        if self.minds_warnings or _warnings_raise():
            self._drawer.refuse(f"a floating-point error ({kind}) gives a warning, which matters here, in some runs")

    def name(self, value: Any) -> Any:
        """The stand-in of what `from module import name` brought in, or the value itself."""
        distribution = stand_in(value, self._drawer)
        if distribution is not None:
            return distribution
        label = getattr(value, "__name__", None)
        if not isinstance(label, str):
            return value
        if getattr(value, "__module__", None) == "warnings":
            self.minds_warnings = True
        if callable(value):
            if getattr(np, label, None) is value:
                return getattr(self.numpy, label)
            if getattr(math, label, None) is value:
                return getattr(self.math, label)
        return super().name(value)

    def _numpy_attribute(self, name: str) -> Any:
        value = super()._numpy_attribute(name)
        if name == "errstate":
            return self.errstate
        if name == "random" or isinstance(value, type):
            return value
        if name in ("seterr", "geterr", "seterrcall", "geterrcall"):
            return self._state_of_errors
        if name in _MAKERS:
            return self._maker(value, name)
        if isinstance(value, np.ufunc) or value in FUNCTIONS:
            return _stacking(value)
        return value

    def errstate(self, **keywords: Any) -> Any:
        """`np.errstate`, unless it makes NumPy raise: one run's overflow would then end all runs."""
        if set(keywords.values()) - {"ignore", "warn"}:
            self._drawer.refuse("it makes NumPy raise floating-point errors")
        # Whoever wants warnings is asked whether they matter.
        asked: Any = {name: "call" if value == "warn" else value for name, value in keywords.items()}
        return np.errstate(call=self.floating_point_error, **asked)

    def _state_of_errors(self, *args: Any, **keywords: Any) -> Any:
        self._drawer.refuse("it reads or sets what NumPy does about floating-point errors")

    def _maker(self, real: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Arrays that the mechanism may assign draws to must be columns from the start."""
        drawer = self._drawer

        def make(*args: Any, **keywords: Any) -> Any:
            if args and holds_column(args[0]):
                if name not in ("array", "asarray", "copy"):
                    return _stacking(real)(*args, **keywords)
                column = stack_nested(args[0])
                dtype = keywords.pop("dtype", args[1] if len(args) > 1 else None)
                if keywords:
                    drawer.refuse(f"it calls np.{name} with {', '.join(sorted(keywords))}=")
                if dtype is not None:
                    column = column.astype(dtype, copy=False) if args[0] is column else column.astype(dtype)
                return column.copy("K") if name != "asarray" and isinstance(column, np.ndarray) else column
            if any(holds_column(arg) for arg in (*args, *keywords.values())):
                drawer.refuse(f"it calls np.{name} with a size or value that depends on draws")
            constant = real(*args, **keywords)
            # np.asarray(array) is that array itself, and not a new one to write to.
            same = name == "asarray" and isinstance(args[0], np.ndarray)
            if same or constant.ndim == 0 or constant.dtype not in STANDARD:
                return constant
            return ArrayColumn(drawer.run, np.asarray(constant)[None], True, constant.flags.c_contiguous)

        return make


def _warnings_raise() -> bool:
    """Whether a filter turns NumPy's warnings into exceptions."""
    return any(action == "error" and issubclass(RuntimeWarning, kind) for action, _, kind, *_ in warnings.filters)


def _stacking(real: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function that first stacks lists of columns, as `np.asarray` would stack the numbers."""
    first_is_sequence = real in (np.concatenate, np.stack, np.hstack)
    of_columns = knows(real) and real not in (np.any, np.all)

    def call(*args: Any, **keywords: Any) -> Any:
        if not any(type(arg) in (list, tuple) for arg in args):
            return real(*args, **keywords)
        if first_is_sequence:
            return (FUNCTIONS[real] if holds_column(args[0]) else real)(*args, **keywords)
        if of_columns and len(args) == 1 and not keywords and _drawn_floats(args[0]):
            return wrap(args[0][0].run, over_columns(real, [column.values() for column in args[0]]))
        stacked = [stack_nested(arg) for arg in args]
        lifted = any(s is not a for s, a in zip(stacked, args, strict=True))
        if lifted or any(holds_column(arg) for arg in args):
            stacked = [np.asarray(s) if type(s) in (list, tuple) else s for s in stacked]
        return real(*stacked, **keywords)

    # Called with at most so many arguments, and no keyword `out`, it writes to none of them.
    call.harmless = real.nin if isinstance(real, np.ufunc) else 3 if real in (np.where, np.clip) else 1  # type: ignore[attr-defined]
    return call


def _drawn_floats(values: Any) -> bool:
    """Whether these are a few drawn floats, of which a table need not be made."""
    return 1 <= len(values) <= 100 and all(type(value) is Scalar and value.kind == "f" for value in values)


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
        own = self.stage.helpers if isinstance(self.stage, LiftedStage) else {}
        return {**own, **super().names(function)}

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
        try:
            return copy.deepcopy(value, self._memo) if type(value) in (list, dict, set) else value
        except Exception:
            return value


def _containers_in(value: Any, depth: int) -> Iterator[Any]:
    """The lists, dicts and sets that an object holds."""
    if isinstance(value, (list, dict, set)):
        yield value
    if depth == 0 or type(value) in _PLAIN or isinstance(value, (types.ModuleType, types.FunctionType, np.ndarray)):
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
