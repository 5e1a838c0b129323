"""Stand-ins for `numpy`, `math` and builtins that know columns, for the lifted copy of a mechanism."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from refutedp.sampling.lifted.columns.array import ArrayColumn
from refutedp.sampling.lifted.columns.column import wrap
from refutedp.sampling.lifted.columns.functions import FUNCTIONS, holds_column, stack_nested
from refutedp.sampling.lifted.columns.lifted_value import STANDARD
from refutedp.sampling.lifted.columns.rows import knows, over_columns
from refutedp.sampling.lifted.columns.scalar import Scalar
from refutedp.sampling.lifted.drawer import LiftedDrawer
from refutedp.sampling.lifted.refusal import CannotLift
from refutedp.sampling.lifted.rewrite.branches import joined_code
from refutedp.sampling.lifted.rewrite.builtin import LIFTED_BUILTINS, lifted_math
from refutedp.tracing.copier import ModuleProxy, Stage, names_only_called, names_read


class LiftedStage(Stage):
    """What the lifted copy of a mechanism sees of the world: modules and builtins that know columns, besides."""

    def __init__(self, drawer: LiftedDrawer) -> None:
        super().__init__(drawer)
        self.math = ModuleProxy(math, lifted_math)
        self._drawer = drawer
        self.minds_warnings = False
        """Whether the mechanism could raise, count or read warnings, which NumPy gives run by run."""

    def module(self, value: Any) -> Any:
        """The stand-in of a module, or the module itself."""
        if value is warnings:
            self.minds_warnings = True
        return self.math if value is math else super().module(value)

    def code(self, function: FunctionType) -> CodeType:
        """The function's code with simple branches joined and some calls redirected."""
        if "type" in names_read(function.__code__):
            raise CannotLift("it hands the builtin 'type' on, which would tell a column from a number")
        return joined_code(function.__code__) or function.__code__

    def builtins(self, function: FunctionType) -> dict[str, Any]:
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
