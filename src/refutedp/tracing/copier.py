"""Copies a mechanism and its helpers so that they see other modules and generators (a `Stage`); nothing is patched.

A `Stage` is what a copied function sees of the world: proxies of `numpy.random`, `random` and generators. The user's
code is copied, and a library's run as it is; which is whose is told by name, never by place: a mechanism is treated
alike whether it is a file, or part of an installed package.
"""

from __future__ import annotations

import builtins
import dis
import functools
import os
import random
import sys
import types
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

from refutedp.model.mechanism import Generators
from refutedp.tracing.rng_proxy import GeneratorProxy, Handler, PythonRandomProxy, RandomStateProxy, RngProxy

GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
"""What a function could draw from by itself."""
LEGACY = np.random.random.__self__  # type: ignore[attr-defined]
STANDARD: Any = vars(random)["_inst"]
LIBRARIES = frozenset(
    {
        *("numpy", "scipy", "pandas", "polars", "sklearn", "torch", "jax", "jaxlib", "tensorflow", "numba"),
        *("matplotlib", "joblib", "dask", "distributed", "ray", "z3", "opendp", "pydp", "hypothesis", "pytest"),
        *("_pytest", "msgspec", "cloudpickle", "rich", "typer", "jinja2"),
    }
)
"""Packages whose functions are not copied, besides the standard library."""
_ROOT = Path(__file__).parent.parent
_OURS = tuple(
    f"{_ROOT / part}{os.sep}" for part in ("tracing", "inputs/arguments", "sampling/lifted", "exact", "explain")
)
_NUMPY = str(Path(np.__file__).parent) + os.sep


class Stage:
    """Proxies whose calls for randomness go to one handler."""

    def __init__(self, handler: Handler) -> None:
        self.rng = GeneratorProxy(handler)
        self.numpy_random = RandomStateProxy(handler, self.rng)
        self.standard_random = PythonRandomProxy(handler)
        self.numpy = ModuleProxy(np, self._numpy_attribute)
        self.draws_from_modules = False
        """Whether the mechanism has reached for `numpy.random` or `random`, besides its rng."""

    def use(self, handler: Handler) -> None:
        """Send every call for randomness to another handler from now on."""
        for proxy in (self.rng, self.numpy_random, self.standard_random):
            proxy._handler = handler

    def generator(self, kind: Generators) -> RngProxy:
        """What a mechanism gets that draws from a generator of this kind."""
        return {"generator": self.rng, "legacy": self.numpy_random, "python": self.standard_random}[kind]

    def module(self, value: Any) -> Any:
        """The proxy of a module, or the module itself."""
        if value is np:
            return self.numpy
        if value is not np.random and value is not random:
            return value
        self.draws_from_modules = True
        return self.numpy_random if value is np.random else self.standard_random

    def name(self, value: Any) -> Any:
        """The stand-in of what `from module import name` brought in, or the value itself."""
        owner = getattr(value, "__self__", None)
        legacy = owner is LEGACY or value is np.random.default_rng
        if not legacy and owner is not STANDARD:
            return value
        self.draws_from_modules = True
        return getattr(self.numpy_random if legacy else self.standard_random, value.__name__)

    def code(self, function: FunctionType) -> CodeType:
        """The code that a copy of the function runs."""
        return function.__code__

    def builtins(self, function: FunctionType) -> dict[str, Any]:
        """The builtins that a copy of the function sees; `import numpy` inside it finds the proxy too."""
        return {**vars(builtins), "__import__": self._import}

    def _import(self, name: str, *args: Any, **keywords: Any) -> Any:
        return self.module(builtins.__import__(name, *args, **keywords))

    def _numpy_attribute(self, name: str) -> Any:
        return self.module(getattr(np, name)) if name == "random" else getattr(np, name)


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
        self.copies: dict[int, FunctionType] = {}
        """The copies, by the original's id."""
        self.originals: list[FunctionType] = []
        """The functions that were copied."""

    def copy(self, function: Any) -> Any:
        """A callable that runs the same code; callables without Python code are returned as they are."""
        if isinstance(function, FunctionType):
            return self.copy_function(function)
        if isinstance(function, types.MethodType):
            return self.copy_method(function.__func__, function.__self__)
        if isinstance(function, functools.partial):
            keywords = {name: self.bound(value) for name, value in function.keywords.items()}
            return functools.partial(self.copy(function.func), *map(self.bound, function.args), **keywords)
        call = getattr(type(function), "__call__")  # noqa: B004, B009 - the function itself is wanted
        return self.copy_method(call, function) if isinstance(call, FunctionType) else function

    def copy_method(self, function: Any, owner: Any) -> Any:
        """A copy of a function, bound to its object."""
        return types.MethodType(self.copy(function), owner)

    def copy_function(self, function: FunctionType) -> FunctionType:
        """The copy of a function, made when it is first asked for."""
        known = self.copies.get(id(function))
        if known is not None:
            return known
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        names = self.names(function)
        copied = FunctionType(self.stage.code(function), names, function.__name__, None, cells or None)
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
        for name in global_names(function.__code__):
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

    def names(self, function: FunctionType) -> dict[str, Any]:
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

    def check(self, function: FunctionType, copied: FunctionType) -> None:
        """Look at a function that is being copied, to refuse it if need be."""

    def replacement(self, name: str, value: Any, used: set[str]) -> Any:
        """What the copy sees under a name, of those that the function uses."""
        if isinstance(value, ModuleType):
            return self.stage.module(value)
        return self.stage.name(value)


class OwnCodeCopier(Copier):
    """Copies the user's functions and those that they call; a library's are run as they are."""

    def copy_function(self, function: FunctionType) -> FunctionType:
        """The copy of a function of the user's own modules."""
        return function if is_library(function.__module__ or "") else super().copy_function(function)

    def given(self, value: Any) -> Any:
        """What stands for a default, an attribute, or an argument of a partial."""
        return self.replacement("", value, set())

    bound = given

    def replacement(self, name: str, value: Any, used: set[str]) -> Any:
        """A proxy, the copy of a function, or the value itself."""
        if isinstance(value, FunctionType):
            return self.copy_function(value)
        return super().replacement(name, value, used)


def is_library(module: str) -> bool:
    """Whether a module belongs to the standard library or to a well-known package.

    >>> is_library("numpy.linalg"), is_library("random"), is_library("my_mechanisms.noise"), is_library("__main__")
    (True, True, False, False)
    """
    top = module.partition(".")[0]
    return top in LIBRARIES or (top in sys.stdlib_module_names and top != "__main__")


def is_internal(code: CodeType) -> bool:
    """Whether the code is what traces the mechanism, or NumPy's, not the mechanism's."""
    return code.co_filename.startswith((*_OURS, _NUMPY))


def calling_frame() -> FrameType | None:
    """The innermost frame that is not of what traces the mechanism."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame


def users_frame() -> FrameType | None:
    """The innermost frame of the user's code."""
    frame = calling_frame()
    while frame is not None and is_library(module_of(frame)):
        frame = frame.f_back
    return frame


def module_of(frame: FrameType) -> str:
    """The module whose code a frame runs."""
    return str(frame.f_globals.get("__name__", ""))


@functools.lru_cache(maxsize=512)
def instructions(code: CodeType) -> tuple[dis.Instruction, ...]:
    """The instructions of `code`, in order.

    >>> [one.opname for one in instructions((lambda: None).__code__)][-1]
    'RETURN_VALUE'
    """
    return tuple(dis.get_instructions(code))


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    """The code and the code of every function, comprehension and class defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested_codes(constant)


@functools.lru_cache(maxsize=512)
def global_names(code: CodeType) -> frozenset[str]:
    """Every name that the code may look up in its globals; `rng.laplace` does not look up `laplace`.

    >>> sorted(global_names((lambda rng: len(rng.laplace())).__code__))
    ['len']
    """
    named = (i for part in nested_codes(code) for i in instructions(part) if i.opname.endswith(("_GLOBAL", "_NAME")))
    return frozenset(str(one.argval) for one in named)


def used_names(code: CodeType) -> set[str]:
    """Every name that the code may look up in its globals, or as an attribute."""
    return {name for part in nested_codes(code) for name in part.co_names}


def names_read_for(code: CodeType, attribute: str) -> set[str]:
    """Names of outer variables of which the code reads the attribute: `np` for `np.random.laplace()`."""
    return {
        str(before.argval)
        for part in nested_codes(code)
        for before, after in pairwise(instructions(part))
        if after.opname == "LOAD_ATTR" and after.argval == attribute
        if before.opname in ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME")
    }


def names_only_called(code: CodeType) -> set[str]:
    """Global names that are called wherever they are read: `int(x)`, not `dtype=int`."""
    loads = [i for part in nested_codes(code) for i in instructions(part) if i.opname == "LOAD_GLOBAL"]
    return {str(load.argval) for load in loads} - names_read(code)


def names_read(code: CodeType) -> set[str]:
    """Global names that are read otherwise than to be called on the spot."""
    loads = [i for part in nested_codes(code) for i in instructions(part) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    # Since Python 3.11 the low bit says that the value is about to be called.
    return {str(load.argval) for load in loads if load.opname == "LOAD_NAME" or not (load.arg or 0) & 1}
