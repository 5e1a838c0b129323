"""Parts of the output that are the same whatever the draws, and differ between the inputs."""

from __future__ import annotations

import ast
import dataclasses
import linecache
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any, TypeAlias

import numpy as np

from refutedp.explain.noisy_sums import form_of
from refutedp.explain.observed import Endless, Observed, line_at
from refutedp.explain.source_lines import place_of, released_at
from refutedp.model.explanation import Discrepancy
from refutedp.tracing.ledger import NUMBER, RAISED, told
from refutedp.tracing.watchdog import DidNotReturn

CLOSE = 1e-9
"""Differences of numbers that are rounding, in parts of their size."""

Side: TypeAlias = tuple[Observed, Observed]
"""A run of either input on the same draws."""


def told_of(seen: Observed) -> Any:
    """The output of a run, or its exception, as numbers and structure."""
    if seen.error is not None:
        return told({RAISED: type(seen.error).__name__})
    return told(plain_parts(seen.output))


@dataclass(frozen=True, slots=True)
class Released:
    """A part of the output that nothing hides."""

    discrepancy: Discrepancy
    code: CodeType | None
    line: int
    moves: float = 1.0
    spot: tuple[int, int, int, int] | None = None


def released_of(runs: Sequence[Side], far: Sequence[Side]) -> list[Released]:
    """Parts of the output that are constant on either input, whatever the draws, and differ between the two."""
    sides = [[told_of(one) for one, _ in (*runs, *far)], [told_of(other) for _, other in (*runs, *far)]]
    structures = [{repr(one.structure): one for one in side} for side in sides]
    one, other = runs[0]
    code, line = returned(one)
    place = place_of(code, line) if code is not None else None
    if all(len(found) == 1 for found in structures) and structures[0].keys() != structures[1].keys():
        kind, words, path = _structures(one, other)
        if path and code is not None:
            node = released_at(code, line, path, {number for taken, number in one.lines if taken is code})
            line = getattr(node, "lineno", line)
            place = place_of(code, line)
        return [Released(Discrepancy(kind, words, place), code, line)]
    if len(structures[0]) == len(structures[1]) == 1 and structures[0].keys() == structures[1].keys():
        first, second = (np.array([one.numbers for one in side]) for side in sides)
        found: list[Released] = []
        for index in range(first.shape[1]):
            x, y = first[:, index], second[:, index]
            if np.ptp(x) <= CLOSE * abs(x[0]) and np.ptp(y) <= CLOSE * abs(y[0]) and not near(x[0], y[0]):
                name = sides[0][0].name(index)
                path = _steps(sides[0][0].structure, index)
                if any(_carries(seen.output, path) for pair in runs for seen in pair):
                    continue
                at, spot = line, None
                if code is not None:
                    taken = {number for taken_code, number in one.lines if taken_code is code}
                    node = released_at(code, line, list(path), taken)
                    if isinstance(node, ast.expr):
                        at = node.lineno
                        spot = node.lineno, node.end_lineno or at, node.col_offset, node.end_col_offset or 0
                where = place_of(code, at) if code is not None else None
                words = f"nothing hides {name.removeprefix('the ') if '[' in name else name}: "
                words += f"it is {x[0]:.6g} on d1 and {y[0]:.6g} on d2"
                moves = abs(float(x[0] - y[0]))
                found.append(Released(Discrepancy("value", words, where), code, at, moves, spot))
        return found[:3]
    return []


def _carries(output: Any, path: Sequence[Any]) -> bool:
    """Whether the number at this place of an output has noise in it, however little that is."""
    output = plain_parts(output)
    for step in path:
        try:
            output = output[step]
        except (TypeError, KeyError, IndexError):
            return False
    return form_of(output) is not None


def near(x: float, y: float) -> bool:
    """Whether two numbers are equal but for rounding."""
    return bool(abs(x - y) <= CLOSE * max(abs(x), abs(y)))


def _structures(first: Observed, second: Observed) -> tuple[Any, str, list[object]]:
    """What kind of difference it is, in words, and the keys and indices of the part that differs."""
    if first.error is not None or second.error is not None:
        ends = [_end(seen) for seen in (first, second)]
        return "error", f"on d1 it {ends[0]} and on d2 it {ends[1]}, whatever the noise", []
    path, one, other = _parted(plain_parts(first.output), plain_parts(second.output))
    name = "".join(f"[{step!r}]" for step in path)
    name = f"output{name}" if name else "the output"
    if isinstance(one, dict) and isinstance(other, dict):
        return "keys", f"{name} has other keys on d1 than on d2, whatever the noise", path
    if _reordered(one, other):
        return "order", f"{name} has the same parts in another order on d1 than on d2, whatever the noise", path
    if type(one) is type(other) and isinstance(one, list | tuple) and len(one) != len(other):
        return "length", f"{name} has {len(one)} parts on d1 and {len(other)} on d2, whatever the noise", path
    told_parts = [_told_part(part) for part in (one, other)]
    if isinstance(one, str) and isinstance(other, str) and told_parts[0] == told_parts[1]:
        return "text", f"nothing hides {name}: it is another text on d1 than on d2", path
    if type(one) is type(other) and told_parts[0] != told_parts[1]:
        return "text", f"nothing hides {name}: it is {told_parts[0]} on d1 and {told_parts[1]} on d2", path
    return "type", f"{name} is {told_parts[0]} on d1 and {told_parts[1]} on d2, whatever the noise", path


def _parted(one: Any, other: Any) -> tuple[list[object], Any, Any]:
    """Two outputs without the parts that are of one structure: where they differ, and what is there."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        steps: list[Any] = list(one)
    elif type(one) is type(other) and isinstance(one, list | tuple) and len(one) == len(other):
        steps = [] if _reordered(one, other) else list(range(len(one)))
    else:
        steps = []
    for step in steps:
        if told(one[step]).structure != told(other[step]).structure:
            path, *rest = _parted(one[step], other[step])
            return [step, *path], rest[0], rest[1]
    return [], one, other


def plain_parts(value: Any) -> Any:
    """An output with a dict in the place of each dataclass.

    >>> from refutedp.model.records import Counts
    >>> plain_parts((Counts(1, 2, 3, 4), 5))[0]["n_x"]
    3
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain_parts(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if type(value) in (list, tuple):
        return type(value)(map(plain_parts, value))
    return {key: plain_parts(part) for key, part in value.items()} if type(value) is dict else value


def _told_part(part: Any) -> str:
    """A part of an output; of a number, which may be noisy, what it is."""
    if isinstance(part, bool | np.bool_) or part is None:
        return str(part)
    if isinstance(part, int | float | np.number):
        return "a number" if math.isfinite(part) else str(part)
    words = repr(part) if isinstance(part, str) else f"of type {type(part).__name__}"
    return words if len(words) <= 30 else f"{words[:27]}..."


def _reordered(one: Any, other: Any) -> bool:
    """Whether two lists hold the same parts in another order."""
    if type(one) is not type(other) or not isinstance(one, list | tuple):
        return False
    return sorted(map(repr, one)) == sorted(map(repr, other)) and [*map(repr, one)] != [*map(repr, other)]


def _end(seen: Observed) -> str:
    """How a run ended."""
    if seen.error is None:
        return "returns an answer"
    return (
        "does not return" if isinstance(seen.error, Endless | DidNotReturn) else f"raises {type(seen.error).__name__}"
    )


def _steps(structure: Any, index: int) -> list[object]:
    """The keys and indices that lead to a number of an output."""
    paths: list[list[object]] = []

    def walk(part: Any, path: list[object]) -> None:
        match part:
            case _ if part == NUMBER:
                paths.append(path)
            case "str", parts, _:
                paths.extend(path for one in parts if one == NUMBER)
            case "dict", items:
                for key, item in items:
                    walk(item, [*path, _key(key)])
            case _, list(parts):
                for place, one in enumerate(parts):
                    walk(one, [*path, place])

    walk(structure, [])
    return paths[index] if index < len(paths) else []


def _key(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def returned(seen: Observed) -> tuple[CodeType | None, int]:
    """Where the mechanism returned: the last instruction of its outermost code."""
    if not seen.lines or not seen.steps:
        return None, 0
    code = next(iter(seen.lines))[0]
    if not Path(code.co_filename).is_file() and not linecache.getlines(code.co_filename):
        return None, 0
    last = next((step for step in reversed(seen.steps) if step.code is code and not step.draw), None)
    return (code, line_at(code, last.instruction)) if last is not None else (None, 0)
