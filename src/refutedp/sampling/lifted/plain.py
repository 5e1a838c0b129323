"""Plain calls of a mechanism: fresh inputs for each, and whether two of their outputs are the same."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from refutedp.mechanism import Mechanism
from refutedp.sampling.encode import Raised, shape_of
from refutedp.sampling.lifted.copies import Copier
from refutedp.sampling.lifted.refusal import CannotLift, Refused


def maker(value: Any) -> Callable[[], Any]:
    """A function that makes fresh copies of an input, as cheaply as its contents allow."""
    immutable = (bool, int, float, str, bytes, type(None), np.generic)
    if isinstance(value, immutable):
        return lambda: value
    if type(value) is list and all(isinstance(item, immutable) for item in value):
        return value.copy
    if type(value) is dict and all(isinstance(item, immutable) for item in value.values()):
        return value.copy
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.copy
    return lambda: copy.deepcopy(value)


def copied_functions(arguments: Mapping[str, Any], copier: Copier) -> dict[str, Any]:
    """The arguments, with functions among them (scores, queries) seeing what the mechanism sees."""
    return {
        name: copier.copy(value) if isinstance(value, types.FunctionType) else value
        for name, value in arguments.items()
    }


def outcome(mechanism: Mechanism, data: Any, arguments: dict[str, Any]) -> Any:
    """One call, with a generator of fixed seed where the mechanism takes one; an exception is an output."""
    try:
        return mechanism.call(data, arguments, rng=np.random.default_rng(0))
    except Exception as error:
        return Raised(type(error).__name__)


_QUICK = frozenset({bool, int, float, str, type(None)})


def equal_outputs(got: Any, expected: Any) -> bool:
    """Whether two outputs are the same output: the same shape, and equal leaves, NaN equal to NaN."""
    if type(got) is type(expected) is float or type(got) is type(expected) is int:
        return bool(got == expected or (got != got and expected != expected))
    if type(got) is type(expected) is list and got == expected:
        kinds = [*map(type, got)]
        if kinds == [*map(type, expected)] and all(kind in _QUICK for kind in kinds):
            return True
    try:
        got_shape, got_leaves = shape_of(got)
        expected_shape, expected_leaves = shape_of(expected)
    except (Exception, Refused) as error:
        raise CannotLift(f"its outputs cannot be compared: {error}") from error
    if got_shape != expected_shape:
        return False
    return all(a == b or (a != a and b != b) for a, b in zip(got_leaves, expected_leaves, strict=True))
