"""What may be done on a side of a branch that all runs evaluate: what changes nothing, and draws by column."""

from __future__ import annotations

import builtins
import math
import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from refutedp.sampling.lifted.columns.array import ArrayColumn
from refutedp.sampling.lifted.columns.builtin import LIFTED_BUILTINS
from refutedp.sampling.lifted.columns.column import Column
from refutedp.sampling.lifted.columns.scalar import Scalar
from refutedp.sampling.lifted.execution import NotJoined
from refutedp.tracing.copier import ModuleProxy
from refutedp.tracing.rng_proxy import RngProxy

HARMLESS = "__refutedp_harmless__"
"""A name in the code of functions all of whose statements may be on a side."""
_PLAIN_TYPES = frozenset(
    {
        *(Scalar, ArrayColumn, bool, int, float, str, bytes, type(None), np.float64, np.int64, np.bool_, np.str_),
        *(np.ndarray, list, tuple, dict, set, frozenset, range, type(Ellipsis), slice),
    }
)
_BUILTINS = frozenset({"abs", "bool", "divmod", "float", "int", "isinstance", "len", "pow", "round", "str", "max"})
_BUILTINS |= {"min", "sum", "sorted", "format", "repr"}
_FUNCTIONS = frozenset(
    {id(getattr(builtins, name)) for name in _BUILTINS}
    | {id(lifted) for lifted in LIFTED_BUILTINS.values()}
    | {id(function) for function in vars(math).values()}
)
_METHODS: dict[type, frozenset[str]] = {
    list: frozenset({"index", "count", "copy"}),
    tuple: frozenset({"index", "count"}),
    dict: frozenset({"get", "keys", "values", "items"}),
}


def is_plain(value: Any) -> bool:
    """Whether to compute with a value changes nothing: numbers, text, columns, containers."""
    return type(value) in _PLAIN_TYPES


def checked(value: Any) -> Any:
    """A value that code on a side has got; raises NotJoined if to compute with it might change something."""
    if is_plain(value) or isinstance(value, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
        return value
    if isinstance(value, (type, ModuleProxy, types.ModuleType)) or issubclass(type(value), RngProxy):
        return value
    raise NotJoined(f"it works with a {type(value).__name__}")


def is_harmless(function: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    """Whether a call changes nothing but the noise that was drawn."""
    owner = getattr(function, "__self__", None)
    if isinstance(function, types.MethodType):
        return issubclass(type(owner), RngProxy) or (isinstance(owner, Column) and function.__name__ in _READING)
    if isinstance(function, types.FunctionType) and HARMLESS in function.__code__.co_names:
        return True
    if keywords.keys() & {"out", "where", "key"}:
        return False
    if isinstance(function, type):
        return function in (bool, int, float, str)
    if isinstance(function, np.ufunc):
        return len(args) <= function.nin
    if id(function) in _FUNCTIONS:
        return True
    if isinstance(function, types.FunctionType):
        return len(args) <= getattr(function, "harmless", -1)
    return type(owner) is str or getattr(function, "__name__", "") in _METHODS.get(type(owner), ())


_READING = frozenset({"all", "any", "item", "max", "mean", "min", "sum", "tolist", "argmax", "argmin", "is_integer"})


def read_attribute(owner: Any, name: str) -> Any:
    """As `owner.name`, where that runs no code of the user's; raises NotJoined elsewhere."""
    kind = type(owner)
    if is_plain(owner) or issubclass(kind, (RngProxy, ModuleProxy, types.ModuleType)):
        return getattr(owner, name)
    own_way: Any = getattr(kind, "__getattribute__")  # noqa: B009 - of the class, not of the object
    if own_way is not object.__getattribute__ or isinstance(owner, type):
        raise NotJoined(f"it reads .{name} of a {kind.__name__}")
    slot = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
    if isinstance(slot, types.MemberDescriptorType) or (slot is None and name in getattr(owner, "__dict__", {})):
        return checked(getattr(owner, name))
    if slot is not None and name in getattr(owner, "__dict__", {}) and not hasattr(type(slot), "__set__"):
        return checked(getattr(owner, name))
    raise NotJoined(f"it reads .{name} of a {kind.__name__}")
