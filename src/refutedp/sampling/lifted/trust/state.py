"""What a mechanism could remember between calls: a snapshot before and after tells whether it did."""

from __future__ import annotations

import random
import re
import threading
import types
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from refutedp.sampling.lifted.columns.lifted_value import Lifted
from refutedp.sampling.lifted.refusal import CannotLift, Refused
from refutedp.tracing.copier import GENERATORS

_DEPTH = 6
_LONG = 10_000
_STATELESS = (
    *(types.ModuleType, types.BuiltinFunctionType, np.ufunc, property, staticmethod, classmethod),
    *(types.MemberDescriptorType, types.GetSetDescriptorType, types.MethodDescriptorType),
    *(types.WrapperDescriptorType, type(threading.Lock()), type(threading.RLock()), re.Pattern, np.dtype),
)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), range, np.generic)


def snapshot(roots: Mapping[str, Any]) -> Any:
    """A value that compares equal as long as nothing reachable from `roots` has changed."""
    return {name: _freeze(value, name, _DEPTH, frozenset()) for name, value in roots.items()}


def generators_state() -> tuple[Any, ...]:
    """The states of the global generators, which a lifted run must leave alone."""
    name, keys, *rest = np.random.get_state()
    return name, np.asarray(keys, dtype=np.uint32).tobytes(), *rest, random.getstate()


def restore_generators(state: tuple[Any, ...]) -> None:
    """Give the global generators back the state that `generators_state` saw."""
    name, keys, *rest, python_state = state
    np.random.set_state((name, np.frombuffer(keys, dtype=np.uint32), *rest))
    random.setstate(python_state)


def _freeze(value: Any, name: str, depth: int, above: frozenset[int]) -> Any:
    if isinstance(value, Lifted):
        return "a column"  # Left behind by a lifted call: unequal to whatever was there before.
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, GENERATORS):
        raise CannotLift(f"it draws from a generator of its own, in '{name}'")
    if isinstance(value, Iterator):
        raise CannotLift(f"it keeps an iterator between calls, in '{name}'")
    if depth == 0 or id(value) in above or isinstance(value, _STATELESS):
        return id(value)
    inside = above | {id(value)}
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return value.shape, list(map(id, value.ravel()))
        return value.shape, str(value.dtype), zlib.crc32(np.ascontiguousarray(value).view(np.uint8).data)
    if isinstance(value, (list, tuple)) and len(value) > _LONG:
        return type(value), list(map(id, value))
    if isinstance(value, (list, tuple)):
        return type(value), [_freeze(item, name, depth - 1, inside) for item in value]
    if isinstance(value, (set, frozenset)):
        return type(value), sorted(repr(_freeze(item, name, depth - 1, inside)) for item in value)
    if isinstance(value, dict):
        return type(value), [
            (_freeze(key, name, depth - 1, inside), _freeze(item, name, depth - 1, inside))
            for key, item in value.items()
        ]
    if hasattr(value, "cache_info"):
        return value.cache_info().misses
    attributes = dict(getattr(value, "__dict__", {}))
    if isinstance(value, type):
        inherited = {k: v for base in reversed(value.__mro__[:-1]) for k, v in vars(base).items()}
        attributes = {k: v for k, v in inherited.items() if not k.startswith("__") and not callable(v)}
    for cls in type(value).__mro__:
        for slot in _slots(cls):
            if hasattr(value, slot):
                attributes[slot] = getattr(value, slot)
    items = _items(value, name, looked_into=bool(attributes))
    frozen = [(key, _freeze(item, name, depth - 1, inside)) for key, item in attributes.items()]
    return id(value), frozen, _freeze(items, name, depth - 1, inside)


def _items(value: Any, name: str, *, looked_into: bool) -> list[Any]:
    """What pickling would write down of an object besides its attributes: the items of a deque, say.

    An object that can be neither written down nor looked into could remember anything.
    """
    if isinstance(value, (type, types.FunctionType, types.MethodType)):
        return []
    try:
        reduced = value.__reduce_ex__(4)
    except Exception:
        if looked_into:
            return []
        raise CannotLift(f"it could keep state in '{name}', a {type(value).__name__}, unseen") from None
    if isinstance(reduced, str):
        return [reduced]
    return [list(part) if isinstance(part, Iterator) else part for part in reduced[1:] if part is not None]


def _slots(cls: type) -> tuple[str, ...]:
    slots = cls.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


class Unchanged:
    """Refuses a block that changed the global generators or what the mechanism can reach between calls."""

    def __init__(self, *roots: Mapping[str, Any]) -> None:
        self._roots = roots

    def __enter__(self) -> None:
        if not set(np.geterr().values()) <= {"ignore", "warn"}:
            raise CannotLift("NumPy is set to raise or report floating-point errors, which happen run by run")
        self._generators = generators_state()
        self._before = [snapshot(roots) for roots in self._roots]

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        changed_generators = generators_state() != self._generators
        if changed_generators:
            restore_generators(self._generators)
        if isinstance(error, Refused):
            raise CannotLift(str(error)) from error
        if error is not None:
            return
        if changed_generators:
            raise CannotLift("it draws from a global generator where lifted runs cannot follow")
        for roots, before in zip(self._roots, self._before, strict=True):
            after = snapshot(roots)
            if after != before:
                changed = next(name for name in after if after[name] != before[name])
                raise CannotLift(f"it keeps state between calls, in '{changed}'")
