"""What functions of `math` make of drawn numbers remembers that it is noise."""

from __future__ import annotations

import math
import types
from typing import Any

from refutedp.explain.noisy_sums import bent
from refutedp.tracing.copier import ModuleProxy, Stage
from refutedp.tracing.rng_proxy import Handler


class FollowingMath(Stage):
    """Also answers for `math`: what its functions make of drawn numbers remembers that it is noise."""

    def __init__(self, handler: Handler) -> None:
        super().__init__(handler)
        self._math = ModuleProxy(math, lambda name: _followed_function(getattr(math, name)))

    def module(self, value: Any) -> Any:
        """Another `math`, too."""
        return self._math if value is math else super().module(value)

    def name(self, value: Any) -> Any:
        """Functions of `math`, too."""
        ours = isinstance(value, types.BuiltinFunctionType) and value.__module__ == "math"
        return _followed_function(value) if ours else super().name(value)


def _followed_function(function: Any) -> Any:
    if not callable(function):
        return function

    def followed(*args: Any, **keywords: Any) -> Any:
        return bent(function(*args, **keywords), *args)

    return followed
