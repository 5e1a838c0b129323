"""Refuses code that a replay cannot prove: it may treat a column otherwise than a number in some runs only.

A replay of one run of every path proves everything that is the same in all runs of the path: type tests, attributes,
helper calls. Left over is what depends on the value of a run without passing through a column's operators: identity
with a value (`(x > 0) is True`), randomness from elsewhere, state kept between calls. The first two are found in the
code that the plain function executes, by watching one call of every path; state by a snapshot before and after.
"""

from __future__ import annotations

import builtins
import collections
import datetime
import dis
import gc
import os
import random
import re
import sys
import threading
import types
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from refutedp.sampling.lifted.columns.column import Column
from refutedp.sampling.lifted.execution import CannotLift, Refused
from refutedp.tracing.copier import (
    GENERATORS,
    LEGACY,
    STANDARD,
    global_names,
    instructions,
    is_internal,
    is_library,
    module_of,
)

_SOURCES_OF_CHANCE = frozenset({"_random", "random", "secrets", "time", "uuid", "posix", "nt", "_uuid", "_socket"})
_FORBIDDEN_CALLS: dict[str, frozenset[str]] = {
    "builtins": frozenset({"id", "eval", "exec", "globals", "open", "input"}),
    "_operator": frozenset({"is_", "is_not"}),
    "gc": frozenset({"get_objects", "get_referrers"}),
}
_FORBIDDEN_NAMES = {
    "default_rng": "it makes a generator of its own",
    "RandomState": "it makes a generator of its own",
    "SystemRandom": "it draws from the operating system",
    "urandom": "it draws from the operating system",
    "secrets": "it draws from the operating system",
    "perf_counter": "it reads the clock",
    "time_ns": "it reads the clock",
    "uuid4": "it draws a random identifier",
}
_CONTAINERS = (list, dict, set, bytearray, collections.deque, np.ndarray)
_ERROR_HANDLING = frozenset({"errstate", "seterr", "catch_warnings", "simplefilter", "filterwarnings"})
_IDENTITY = "it compares by identity ('is')"
_OF_LIBRARIES = frozenset({"id", "exec", "eval"})
"""What libraries may call where no drawn value is seen: they tell objects apart, and make code of text."""
_AUDITED = frozenset({"contextlib", "copy", "dataclasses", "heapq"})
"""Modules that compare by identity only what is no drawn value, or what is the same for columns."""
_SINGLETONS = (None, Ellipsis, NotImplemented)
_DEPTH, _LONG = 6, 10_000
"""Levels of attributes and items in a snapshot, and from which length on a list's items are told by identity."""
_STATELESS = (
    *(types.ModuleType, types.BuiltinFunctionType, np.ufunc, property, staticmethod, classmethod),
    *(types.MemberDescriptorType, types.GetSetDescriptorType, types.MethodDescriptorType),
    *(types.WrapperDescriptorType, type(threading.Lock()), type(threading.RLock()), re.Pattern, np.dtype),
)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), range, np.generic)


class Watch:
    """Remembers what was found in which code; `complaint` is what the last call did that a lift cannot honour.

    Each call stands for itself: what another path did must not tell on this one, or it would matter who ran first.
    """

    def __init__(self, copied: frozenset[types.CodeType]) -> None:
        self._copied = copied
        self._faults: dict[types.CodeType, str | None] = {}
        self._harmless: set[Any] = set()
        self._exposed: frozenset[types.CodeType] | None = None
        self.complaint: str | None = None
        self.excusable = False
        """Whether the complaint is of a library's code that may never see a drawn value."""

    def call(self, function: Callable[[], Any], exposed: frozenset[types.CodeType] | None = None) -> Any:
        """Call a plain function, looking at every piece of code that it runs.

        Code of libraries that compares by identity is excused unless it is `exposed` to columns, where that is known.

        A profiler that is already at work is left alone; then the code of the copied functions is looked at as a
        whole, whether it runs or not.
        """
        self.complaint, self.excusable, self._exposed = None, False, exposed
        if sys.getprofile() is not None:
            self.complaint = self._fault_of_copied
            return function()
        # A collection in mid-call would run other people's gc callbacks under the watch.
        collecting = gc.isenabled()
        gc.disable()
        sys.setprofile(self._event)
        try:
            return function()
        finally:
            sys.setprofile(None)
            if collecting:
                gc.enable()

    @cached_property
    def _fault_of_copied(self) -> str | None:
        return next(filter(None, (self._fault(code, {}) for code in self._copied)), None)

    def _inspected(self, frame: types.FrameType) -> str | None:
        """What is wrong with a piece of code, found the first time that it is called."""
        code = frame.f_code
        fault = None
        if not is_internal(code):
            known = {**vars(builtins), **frame.f_globals, **frame.f_locals}
            fault = self._fault(code, known) or _own_generator(frame)
            if fault is None and code not in self._copied and _is_users(module_of(frame)):
                fault = _cannot_follow(frame)
        self._faults[code] = fault
        return fault

    def _event(self, frame: types.FrameType, event: str, arg: Any) -> None:
        if event == "call":
            code = frame.f_code
            fault = self._faults[code] if code in self._faults else self._inspected(frame)
            if fault is not None:
                self._complain(fault, frame, excusable=fault.startswith(_IDENTITY))
        elif event == "c_call" and arg not in self._harmless and not is_internal(frame.f_code):
            module = getattr(arg, "__module__", None) or type(getattr(arg, "__self__", None)).__module__
            name = getattr(arg, "__name__", "")
            if module in _SOURCES_OF_CHANCE or name in _FORBIDDEN_CALLS.get(module, ()) or _reads_the_clock(arg):
                self._complain(
                    f"it calls {module}.{name} (line {frame.f_lineno})", frame, excusable=name in _OF_LIBRARIES
                )
            elif isinstance(getattr(arg, "__self__", None), types.ModuleType):
                # The arguments' own methods are new objects at every call; only those of modules are worth keeping.
                self._harmless.add(arg)

    def _complain(self, fault: str, frame: types.FrameType, *, excusable: bool) -> None:
        """Note a fault, unless it is excused."""
        module = module_of(frame)
        excusable = excusable and is_library(module)
        excused = excusable and (
            module in _AUDITED or (self._exposed is not None and frame.f_code not in self._exposed)
        )
        if not excused and self.complaint is None:
            self.complaint, self.excusable = fault, excusable

    def compares_by_identity(self, frame: types.FrameType) -> bool:
        """Whether what a frame runs is refused for that alone, or would be for what only libraries may call."""
        if frame.f_code not in self._faults:
            self._inspected(frame)
        return not _OF_LIBRARIES.isdisjoint(frame.f_code.co_names) or (self._faults[frame.f_code] or "").startswith(
            _IDENTITY
        )

    def _named_chance(self, code: types.CodeType) -> str | None:
        """What the code names that draws by itself."""
        for name in code.co_names:
            # The copies see a stand-in of default_rng; code that was not copied gets the real one.
            allowed = (name == "default_rng" and code in self._copied) or code.co_name == "check_random_state"
            if name in _FORBIDDEN_NAMES and not allowed:
                return f"{_FORBIDDEN_NAMES[name]} ('{name}' in {code.co_name})"
        return None

    def _fault(self, code: types.CodeType, names: dict[str, Any]) -> str | None:
        chance = self._named_chance(code)
        if chance is not None:
            return chance
        before: list[dis.Instruction] = []
        line = code.co_firstlineno
        for instruction in instructions(code):
            if instruction.opname in ("CACHE", "EXTENDED_ARG"):
                continue
            line = instruction.starts_line or line if not isinstance(instruction.starts_line, bool) else line
            if instruction.opname == "IS_OP" and not _harmless_identity(before, names):
                return f"{_IDENTITY} with something other than None ({_place(code, line)})"
            if instruction.opname == "STORE_GLOBAL":
                return f"it keeps state in the global '{instruction.argval}' ({_place(code, line)})"
            before = [*before[-1:], instruction]
        return None


class WatchOfChance(Watch):
    """Complains only of what draws by itself: of such draws no copy with other generators hears."""

    def _inspected(self, frame: types.FrameType) -> str | None:
        code = frame.f_code
        fault = None if is_internal(code) else self._named_chance(code) or _own_generator(frame)
        self._faults[code] = fault
        return fault


def _place(code: types.CodeType, line: int) -> str:
    """Where a fault is, for people: the function may be a library's."""
    return f"line {line} of {os.path.basename(code.co_filename)}"


def _own_generator(frame: types.FrameType) -> str | None:
    """A generator that the code can reach without being handed it: the calls of NumPy's are invisible to a watch."""
    reachable = {name: frame.f_globals.get(name) for name in global_names(frame.f_code)}
    reachable |= frame.f_locals
    for name in frame.f_code.co_varnames[:1]:
        reachable |= getattr(frame.f_locals.get(name), "__dict__", {})
    for name, value in reachable.items():
        # By type(): the stand-in of the rng claims to be a Generator when asked by isinstance.
        if value is LEGACY or value is STANDARD:
            continue  # Draws from the global generators are noticed, for their states are compared.
        if issubclass(type(value), GENERATORS):
            return f"it draws from a generator of its own, '{name}' in {frame.f_code.co_name}"
    return None


def _is_users(module: str) -> bool:
    ours = module.startswith("refutedp.") and not module.startswith("refutedp.mechanisms")
    return not ours and not is_library(module)


def _reads_the_clock(function: Any) -> bool:
    owner = getattr(function, "__self__", None)
    if not (isinstance(owner, type) and issubclass(owner, datetime.date)):
        return False
    return function.__name__ in ("now", "utcnow", "today")


def _cannot_follow(frame: types.FrameType) -> str | None:
    """What code that is not copied (a method, a function of a module) does where lifted runs could differ unseen.

    The copied function sees copies of global containers, and stand-ins of warnings and of NumPy's error handling;
    such code sees the real ones.
    """
    code = frame.f_code
    for name in code.co_names:
        if name in _ERROR_HANDLING:
            return f"{code.co_name}() handles floating-point errors or warnings, where lifted runs cannot follow"
    outer = {name: frame.f_globals[name] for name in global_names(code) if name in frame.f_globals}
    outer |= {name: frame.f_locals[name] for name in code.co_freevars if name in frame.f_locals}
    for name, value in outer.items():
        if isinstance(value, _CONTAINERS):
            return f"{code.co_name}() works on '{name}', which outlives the call"
    stores = False
    before = ("", "")
    for instruction in instructions(code):
        if instruction.opname not in ("CACHE", "EXTENDED_ARG"):
            # What is stored in an attribute of a local variable goes with the call, or is watched with its object.
            local = before[0] == "LOAD_FAST" and before[1] != "cls"
            stores = stores or (instruction.opname == "STORE_ATTR" and not local)
            before = (instruction.opname, str(instruction.argval))
    through_class = code.co_varnames[:1] == ("cls",) or {"type", "__class__"} & {*code.co_names, *code.co_freevars}
    if stores and (through_class or any(isinstance(value, (type, types.ModuleType)) for value in outer.values())):
        return f"{code.co_name}() could keep state in a class or a module"
    return None


def _harmless_identity(before: list[dis.Instruction], names: dict[str, Any]) -> bool:
    """Whether the right side of `is` is None or an object that no column could be identical with."""
    last = before[-1]
    if last.opname == "LOAD_CONST":
        return any(last.argval is singleton for singleton in _SINGLETONS)
    attribute = last.opname == "LOAD_ATTR" and len(before) > 1
    first = before[-2] if attribute else last
    if first.opname not in ("LOAD_GLOBAL", "LOAD_DEREF") or first.argval not in names:
        return False
    value = names[first.argval]
    if attribute:
        value = getattr(value, last.argval, True)
    return not isinstance(value, (bool, int, float, str, np.generic))


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
    if isinstance(value, Column):
        return "a column"  # Left behind by a lifted call: unequal to whatever was there before.
    if isinstance(value, _PLAIN):
        return repr(value)
    if value is LEGACY or value is STANDARD:
        return "a global generator"
    if isinstance(value, GENERATORS):
        raise CannotLift(f"it draws from a generator of its own, in '{name}'")
    if isinstance(value, Iterator):
        raise CannotLift(f"it keeps an iterator between calls, in '{name}'")
    if isinstance(value, weakref.ref):
        return id(value())
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


@contextmanager
def unchanged(*roots: Mapping[str, Any]) -> Iterator[None]:
    """Refuses a block that changed the global generators or what the mechanism can reach between calls."""
    if not set(np.geterr().values()) <= {"ignore", "warn"}:
        raise CannotLift("NumPy is set to raise or report floating-point errors, which happen run by run")
    generators, before = generators_state(), list(map(snapshot, roots))
    try:
        yield
    except Refused as error:
        raise CannotLift(str(error)) from error
    finally:
        changed_generators = generators_state() != generators
        if changed_generators:
            restore_generators(generators)
    if changed_generators:
        raise CannotLift("it draws from a global generator where lifted runs cannot follow")
    for after, seen in zip(map(snapshot, roots), before, strict=True):
        changed = next((name for name in after if after[name] != seen[name]), None)
        if changed is not None:
            raise CannotLift(f"it keeps state between calls, in '{changed}'")
