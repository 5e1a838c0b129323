"""Stand-ins for the modules a mechanism imports: `numpy`, `numpy.random`, `random` and `math`.

They are put into the globals of a copy of the mechanism; the real modules are never touched.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from refutedp.sampling.lifted.base import STANDARD
from refutedp.sampling.lifted.builtin import LIFTED_BUILTINS, lifted_math
from refutedp.sampling.lifted.column import wrap
from refutedp.sampling.lifted.draws import LiftedDrawer
from refutedp.sampling.lifted.functions import FUNCTIONS, holds_column, stack_nested
from refutedp.sampling.lifted.rows import knows, over_columns
from refutedp.sampling.lifted.scalar import Scalar
from refutedp.sampling.lifted.surfaces import Drawer, GeneratorSurface, LegacySurface, StandardSurface


class Stage:
    """What one copy of the mechanism sees of the world; `lifted` is given for runs on columns."""

    def __init__(self, drawer: Drawer, lifted: LiftedDrawer | None) -> None:
        self.rng = GeneratorSurface(drawer)
        self.numpy_random = LegacySurface(drawer, self.rng)
        self.standard_random = StandardSurface(drawer)
        self.numpy = ModuleProxy(np, self._numpy_attribute)
        self.math = ModuleProxy(math, lifted_math) if lifted is not None else math
        self.builtins: dict[str, Callable[..., Any]] = LIFTED_BUILTINS if lifted is not None else {}
        self.joins_branches = lifted is not None
        self._lifted = lifted
        self.draws_from_modules = False
        """Whether the mechanism has reached for `numpy.random` or `random`, besides its rng."""

    def use(self, drawer: Drawer) -> None:
        """Send every call for randomness to another drawer from now on."""
        self.rng._drawer = drawer
        self.numpy_random._drawer = drawer
        self.standard_random._drawer = drawer

    def module(self, value: Any) -> Any:
        """The stand-in of a module, or the module itself."""
        if value is np:
            return self.numpy
        if value is np.random:
            self.draws_from_modules = True
            return self.numpy_random
        if value is random:
            self.draws_from_modules = True
            return self.standard_random
        return self.math if value is math else value

    def name(self, value: Any) -> Any:
        """The stand-in of what `from module import name` brought in, or the value itself."""
        owner = getattr(value, "__self__", None)
        label = getattr(value, "__name__", None)
        if not isinstance(label, str):
            return value
        if owner is _LEGACY or value is np.random.default_rng:
            self.draws_from_modules = True
            return getattr(self.numpy_random, label)
        if owner is _STANDARD:
            self.draws_from_modules = True
            return getattr(self.standard_random, label)
        if callable(value) and self._lifted is not None:
            if getattr(np, label, None) is value:
                return getattr(self.numpy, label)
            if getattr(math, label, None) is value:
                return getattr(self.math, label)
        return value

    def _numpy_attribute(self, name: str) -> Any:
        value = getattr(np, name)
        if name == "random":
            self.draws_from_modules = True
            return self.numpy_random
        if self._lifted is None or (isinstance(value, type) and name != "errstate"):
            return value
        if name in ("errstate", "seterr"):
            return self._quiet(value)
        if name in _MAKERS:
            return self._maker(value, name)
        if isinstance(value, np.ufunc) or value in FUNCTIONS:
            return _stacking(value)
        return value

    def _quiet(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """`np.errstate`, unless it makes NumPy raise: one run's overflow would then end all runs."""
        assert self._lifted is not None
        drawer = self._lifted

        def quiet(*args: Any, **keywords: Any) -> Any:
            if {*args, *keywords.values()} - {"ignore", "warn", None}:
                drawer.refuse("it makes NumPy raise floating-point errors")
            return real(*args, **keywords)

        return quiet

    def _maker(self, real: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Arrays that the mechanism may assign draws to must be columns from the start."""
        assert self._lifted is not None
        drawer = self._lifted

        def make(*args: Any, **keywords: Any) -> Any:
            if args and holds_column(args[0]):
                if name not in ("array", "asarray", "copy"):
                    return _stacking(real)(*args, **keywords)
                column = stack_nested(args[0])
                dtype = keywords.pop("dtype", args[1] if len(args) > 1 else None)
                if keywords:
                    drawer.refuse(f"it calls np.{name} with {', '.join(sorted(keywords))}=")
                if dtype is not None:
                    return column.astype(dtype)
                return column.copy() if name != "asarray" and hasattr(type(column), "copy") else column
            if any(holds_column(arg) for arg in (*args, *keywords.values())):
                drawer.refuse(f"it calls np.{name} with a size or value that depends on draws")
            constant = real(*args, **keywords)
            # np.asarray(array) is that array itself, and not a new one to write to.
            same = name == "asarray" and isinstance(args[0], np.ndarray)
            if same or constant.ndim == 0 or constant.dtype not in STANDARD:
                return constant
            return wrap(drawer.run, np.asarray(constant)[None], True)

        return make


_MAKERS = frozenset(
    {
        "array",
        "asarray",
        "copy",
        "empty",
        "empty_like",
        "full",
        "full_like",
        "ones",
        "ones_like",
        "zeros",
        "zeros_like",
    }
)
_LEGACY = np.random.random.__self__  # type: ignore[attr-defined]
_STANDARD: Any = vars(random)["_inst"]


def _stacking(real: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function that first stacks lists of columns, as `np.asarray` would stack the numbers."""
    first_is_sequence = real in (np.concatenate, np.stack, np.hstack)
    of_columns = knows(real) and real not in (np.any, np.all)

    def call(*args: Any, **keywords: Any) -> Any:
        if not any(type(arg) in (list, tuple) for arg in args):
            return real(*args, **keywords)
        if first_is_sequence:
            if holds_column(args[0]):
                return FUNCTIONS[real](*args, **keywords)
            return real(*args, **keywords)
        if of_columns and len(args) == 1 and not keywords and _drawn_floats(args[0]):
            return wrap(args[0][0].run, over_columns(real, [column.values() for column in args[0]]))
        stacked = [stack_nested(arg) for arg in args]
        lifted = any(s is not a for s, a in zip(stacked, args, strict=True))
        if lifted or any(holds_column(arg) for arg in args):
            stacked = [np.asarray(s) if type(s) in (list, tuple) else s for s in stacked]
        return real(*stacked, **keywords)

    return call


def _drawn_floats(values: Any) -> bool:
    """Whether these are a few drawn floats, of which a table need not be made."""
    return 2 <= len(values) <= 100 and all(type(value) is Scalar and value.kind == "f" for value in values)


class ModuleProxy:
    """A module of which some attributes are replaced; each is looked up once."""

    def __init__(self, module: ModuleType, attribute: Callable[[str], Any]) -> None:
        self.__dict__["_module"] = module
        self.__dict__["_attribute"] = attribute

    def __getattr__(self, name: str) -> Any:
        value = self._attribute(name)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a lifted run may not set {self._module.__name__}.{name}")
