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


def used_names(code: types.CodeType) -> set[str]:
    """Every name that the code may look up in its globals."""
    return {name for part in nested_codes(code) for name in part.co_names}


def names_read_for(code: types.CodeType, attribute: str) -> set[str]:
    """Names of outer variables of which the code reads the attribute: `np` for `np.random.laplace()`."""
    found: set[str] = set()
    for part in nested_codes(code):
        previous = None
        for instruction in instructions(part):
            if instruction.opname == "LOAD_ATTR" and instruction.argval == attribute and previous is not None:
                found.add(previous)
            loads = instruction.opname in ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME")
            previous = str(instruction.argval) if loads else None
    return found


def names_only_called(code: types.CodeType) -> set[str]:
    """Global names that are called wherever they are read: `int(x)`, not `dtype=int`."""
    loads = [i for part in nested_codes(code) for i in instructions(part) if i.opname == "LOAD_GLOBAL"]
    return {str(load.argval) for load in loads} - names_read(code)


def names_read(code: types.CodeType) -> set[str]:
    """Global names that are read otherwise than to be called on the spot."""
    read: set[str] = set()
    for part in nested_codes(code):
        for instruction in instructions(part):
            # Since Python 3.11 the low bit says that the value is about to be called.
            called = instruction.opname == "LOAD_GLOBAL" and (instruction.arg or 0) & 1
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and not called:
                read.add(str(instruction.argval))
    return read
