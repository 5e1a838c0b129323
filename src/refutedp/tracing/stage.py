"""What a copied function sees of the world: proxies of `numpy.random`, `random` and generators.

They are put into the globals of a copy of the mechanism; the real modules are never touched.
"""

from __future__ import annotations

import builtins
import random
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from refutedp.model.mechanism import Generators
from refutedp.tracing.handler import Handler
from refutedp.tracing.rng_proxy import GeneratorProxy, PythonRandomProxy, RandomStateProxy, RngProxy

GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
"""What a function could draw from by itself."""
_LEGACY = np.random.random.__self__  # type: ignore[attr-defined]
_STANDARD: Any = vars(random)["_inst"]


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
        if value is np.random:
            self.draws_from_modules = True
            return self.numpy_random
        if value is random:
            self.draws_from_modules = True
            return self.standard_random
        return value

    def name(self, value: Any) -> Any:
        """The stand-in of what `from module import name` brought in, or the value itself."""
        owner = getattr(value, "__self__", None)
        if owner is _LEGACY or value is np.random.default_rng:
            self.draws_from_modules = True
            return getattr(self.numpy_random, value.__name__)
        if owner is _STANDARD:
            self.draws_from_modules = True
            return getattr(self.standard_random, value.__name__)
        return value

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
