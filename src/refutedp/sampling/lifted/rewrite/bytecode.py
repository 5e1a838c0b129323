"""The instructions of a function, read once: a mechanism is lifted for every input of every pair."""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator


@functools.lru_cache(maxsize=512)
def instructions(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    """The instructions of `code`, in order.

    >>> [one.opname for one in instructions((lambda: None).__code__)][-1]
    'RETURN_VALUE'
    """
    return tuple(dis.get_instructions(code))


def nested_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code and the code of every function, comprehension and class defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested_codes(constant)
