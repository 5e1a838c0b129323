"""Which test in the source asked a value for its truth: read from the frame that asked."""

from __future__ import annotations

import dis
import functools
import inspect
import os
from dataclasses import dataclass
from types import CodeType
from typing import Any

from refutedp.tracing.copier import calling_frame, is_internal, is_library, module_of, users_frame


@dataclass(frozen=True, slots=True)
class Site:
    """One test in the source: its position, so that a loop's copies of the same test are one site.

    `part` distinguishes the comparisons of one chain such as `0 < x < threshold`.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    part: int

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"


def asking_site() -> Site | None:
    """The test that is asking for a truth value now; None when C or library code asks (`sorted`, `max`).

    A test is a conditional jump (`if`, `while`, `and`, `or`, a comprehension's `if`, `assert`, a conditional
    expression), or an element of an array comparison, which NumPy decides element by element.
    """
    frame = calling_frame()
    return None if frame is None or is_library(module_of(frame)) else _site(frame.f_code, frame.f_lasti)


def location() -> str:
    """File and line of the user's code that is running now, for a sentence in a note."""
    frame = users_frame()
    return "unknown line" if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def defined_at(function: Any) -> str:
    """File and line of a function's definition, for a sentence about the whole of it."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return "unknown line" if code is None else f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"


def raising_line(error: BaseException) -> str:
    """File and line of the user's code that raised, or called what raised."""
    line = "unknown line"
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if not is_internal(code) and not is_library(module_of(step.tb_frame)):
            line = f"{os.path.basename(code.co_filename)}:{step.tb_lineno}"
        step = step.tb_next
    return line


@functools.lru_cache(maxsize=4096)
def _site(code: CodeType, offset: int) -> Site | None:
    instructions = list(dis.get_instructions(code))
    at = next((i for i, instruction in enumerate(instructions) if instruction.offset == offset), None)
    if at is None:
        return None
    name = instructions[at].opname
    if not ("JUMP" in name or name in ("TO_BOOL", "COMPARE_OP")):
        return None
    before = [instruction.opname for instruction in instructions[max(0, at - 3) : at]]
    # A chain keeps a copy of its middle operand for the next comparison; the last comparison does not.
    chained = "COPY" in before and "COMPARE_OP" in (*before, name)
    where = instructions[at].positions
    if where is None or where.lineno is None:
        return Site(code.co_filename, code.co_firstlineno, offset, 0, 0, 0)
    return Site(
        file=code.co_filename,
        line=where.lineno,
        column=where.col_offset or 0,
        end_line=where.end_lineno or 0,
        end_column=where.end_col_offset or 0,
        part=1 if chained else 0,
    )
