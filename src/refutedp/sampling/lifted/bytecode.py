"""The instructions of a function, taken apart once: a mechanism is lifted for every input of every pair."""

from __future__ import annotations

import dis
import functools
import types


@functools.lru_cache(maxsize=512)
def instructions(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    """The instructions of `code`, in order.

    >>> [one.opname for one in instructions((lambda: None).__code__)][-1]
    'RETURN_VALUE'
    """
    return tuple(dis.get_instructions(code))
