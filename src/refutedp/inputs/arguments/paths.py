"""Branches and paths of a run, and what it means that branches of two runs diverge.

A *branch* is one evaluation of a test in the source: a site (`if`, `while`, `and`, `or`, a comparison of a chain, an
element of an array comparison, a comparison whose answer is returned) and its occurrence number in the
run. A site is *compared* when a noise draw went into its test, or when what it tests can differ (between the runs, or
between paths of one) at the same occurrence. That leaves out bookkeeping such as `if count >= bound` inside the
branch that counts: its k-th evaluation asks `k >= bound` in either run. Tests of plain data against plain numbers are
not seen.

A compared branch *diverges* when the runs do not both reach it with the same answer: the answers differ, or only one
run gets there because the other went elsewhere or stopped. `branches` counts the compared branches that at least one
of the two runs reaches.
"""

from __future__ import annotations

import dis
import functools
import inspect
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any, NamedTuple

from refutedp.tracing.copier import calling_frame, is_internal, is_library, module_of, users_frame


class Site(NamedTuple):
    """One test in the source: its position, so that a loop's copies of the same test are one site.

    `part` distinguishes the comparisons of one chain such as `0 < x < threshold`.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    part: int


Key = tuple[Site, int]
"""A branch: its site and its occurrence number."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One test of a path: where, the how-manieth time there, its answer, and what was compared.

    `condition` is a Z3 term or None when the answer did not depend on an argument; `key` is equal for two branches
    that compare the same thing.
    """

    site: Site
    occurrence: int
    outcome: bool
    key: object
    noisy: bool
    condition: Any = None


@dataclass(frozen=True, slots=True)
class Path:
    """One way through the mechanism: the arguments that take it satisfy every term of `condition`.

    `scales` are the noise scales met (plain or Z3 terms); `raised` names the exception that ended it, if one did, and
    `raised_at` its file and line; `cut` says that a limit ended it.
    """

    condition: tuple[Any, ...]
    branches: tuple[Branch, ...]
    scales: tuple[Any, ...]
    raised: str | None = None
    cut: bool = False
    output: Any = None
    raised_at: str = ""

    def answers(self, sites: frozenset[Site]) -> dict[Key, bool]:
        """The answer at each compared branch the path reaches."""
        return {(b.site, b.occurrence): b.outcome for b in self.branches if b.site in sites}


@dataclass(frozen=True, slots=True)
class Divergence:
    """How many of the compared branches diverge."""

    diverging: int
    branches: int


def divergence(first: Mapping[Key, bool], second: Mapping[Key, bool]) -> Divergence:
    """Count the branches on which two runs part, from their answers."""
    keys = first.keys() | second.keys()
    return Divergence(sum(first.get(key) is not second.get(key) for key in keys), len(keys))


def compared_sites(paths: Iterable[Path]) -> frozenset[Site]:
    """The sites worth comparing, from all paths of both runs."""
    paths = list(paths)
    noisy = {branch.site for path in paths for branch in path.branches if branch.noisy}
    return frozenset(noisy | {site for (site, _), keys in _tested(paths).items() if len(keys) > 1})


def differing_sites(first: Iterable[Path], second: Iterable[Path]) -> frozenset[Site]:
    """The sites that can test different things in the two runs at the same occurrence: the data is tested there."""
    one, other = _tested(first), _tested(second)
    return frozenset(key[0] for key in one.keys() & other.keys() if one[key] != other[key])


def _tested(paths: Iterable[Path]) -> Mapping[Key, set[object]]:
    """What the paths test at each branch."""
    tested: defaultdict[Key, set[object]] = defaultdict(set)
    for path in paths:
        for branch in path.branches:
            tested[branch.site, branch.occurrence].add(branch.key)
    return tested


def asking_site() -> Site | None:
    """The test that is asking for a truth value now; None when C or library code asks (`sorted`, `max`).

    A test is a conditional jump (`if`, `while`, `and`, `or`, a comprehension's `if`, `assert`, a conditional
    expression), or an element of an array comparison, which NumPy decides element by element.
    """
    frame = calling_frame()
    return None if frame is None or is_library(module_of(frame)) else _site(frame.f_code, frame.f_lasti)


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
    ends = where.col_offset or 0, where.end_lineno or 0, where.end_col_offset or 0
    return Site(code.co_filename, where.lineno, *ends, part=1 if chained else 0)


def location() -> str:
    """File and line of the user's code that is running now, for a sentence in a note."""
    frame = users_frame()
    return "unknown line" if frame is None else _line(frame.f_code, frame.f_lineno)


def defined_at(function: Any) -> str:
    """File and line of a function's definition, for a sentence about the whole of it."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return "unknown line" if code is None else _line(code, code.co_firstlineno)


def raising_line(error: BaseException) -> str:
    """File and line of the user's code that raised, or called what raised."""
    line = "unknown line"
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if not is_internal(code) and not is_library(module_of(step.tb_frame)):
            line = _line(code, step.tb_lineno)
        step = step.tb_next
    return line


def _line(code: CodeType, number: int) -> str:
    return f"{os.path.basename(code.co_filename)}:{number}"
