"""Lines at which the runs of two inputs part on the same draws, whatever the draws are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import NamedTuple

from refutedp.explain.observed import Observed, Step, line_at
from refutedp.explain.releases import Side
from refutedp.tracing.copier import instructions

MOST_PARTINGS, NEAR = 40, 600
"""Places where two runs part that are looked at, and steps within which they meet again."""


class Fork(NamedTuple):
    """Where two runs on the same draws part."""

    code: CodeType
    instruction: int
    matters: bool
    """Whether only one of them draws before they meet again, or they never do."""
    ways: tuple[Step | None, Step | None]


def parted_at(runs: Sequence[Side], far: Sequence[Side], structures: bool) -> tuple[tuple[CodeType, int], str] | None:
    """The line at which the two inputs part on every draw, deciding alike whatever is drawn; and what it is.

    Partings after which both do the same again, and draw alike, as where records are counted, do not matter unless
    the structures of the outputs differ.
    """
    found: list[dict[tuple[CodeType, int], Fork]] = []
    for one, other in (*runs, *far):
        partings: dict[tuple[CodeType, int], Fork] = {}
        choices: list[Fork] = []
        for parting in _partings(one, other):
            if _chooses(parting):
                choices.append(parting)
            # What is no choice itself, as a function that is called once more, follows from an earlier one.
            blamed = parting if _chooses(parting) or not choices else choices[-1]
            if parting.matters:
                partings.setdefault((blamed.code, blamed.instruction), blamed)
        if structures and not partings:
            for parting in choices[-1:]:
                partings[(parting.code, parting.instruction)] = parting
        found.append(partings)
    for key, parting in next((one for one in found if one), {}).items():
        ways = [one[key].ways for one in found if key in one]
        if len(ways) * 2 < len(found) or len(set(ways)) != 1:
            continue
        turns = any(one.offset == key[1] and one.opname == "FOR_ITER" for one in instructions(parting.code))
        return (parting.code, line_at(*key)), "count" if turns else "branch"
    return None


def _chooses(parting: Fork) -> bool:
    name = _name(Step(parting.code, parting.instruction))
    return name.startswith(("POP_JUMP", "JUMP_IF", "FOR_ITER"))


def _partings(one: Observed, other: Observed) -> Iterator[Fork]:
    """All places where the runs part without a drawn number being compared there, meeting again in between."""
    i = j = 0
    first, second = one.steps, other.steps
    for _ in range(MOST_PARTINGS):
        while i < len(first) and j < len(second) and first[i] == second[j]:
            i, j = i + 1, j + 1
        if i == 0 or j == 0 or (i >= len(first) and j >= len(second)):
            return
        meeting = _meeting(first, second, i, j)
        k, m = (len(first), len(second)) if meeting is None else meeting
        drawn = [[step for step in part if step.draw] for part in (first[i:k], second[j:m])]
        decider = _last_choice(first, second, i, j, meeting)
        if decider is not None and not _looks_at_noise(one, decider, i):
            ways = first[i] if i < len(first) else None, second[j] if j < len(second) else None
            yield Fork(decider.code, decider.instruction, meeting is None or drawn[0] != drawn[1], ways)
        if meeting is None:
            return
        i, j = meeting


def _meeting(first: Sequence[Step], second: Sequence[Step], i: int, j: int) -> tuple[int, int] | None:
    """The nearest steps at which both do the same again."""
    ahead: dict[Step, int] = {}
    for number, step in enumerate(second[j : j + NEAR]):
        ahead.setdefault(step, number)
    best: tuple[int, int] | None = None
    for number, step in enumerate(first[i : i + NEAR]):
        if best is not None and number >= best[0] + best[1]:
            break
        beyond = ahead.get(step)
        if beyond is not None and (best is None or number + beyond < sum(best)):
            best = number, beyond
    return None if best is None else (i + best[0], j + best[1])


def _last_choice(
    first: Sequence[Step], second: Sequence[Step], i: int, j: int, meeting: tuple[int, int] | None
) -> Step | None:
    """The instruction that decides: the one before the runs part, or, where a loop is left early, the last choice.

    Where one input has a record more, the runs part at the head of the loop; what matters is what is done inside.
    """
    decider = first[i - 1]
    if decider.draw:
        return None
    if _is_loop(decider):
        ends = (len(first), len(second)) if meeting is None else meeting
        # The run that goes on comes to the next instruction, and the other one jumps behind the loop.
        inside = first[i : ends[0]], second[j : ends[1]]
        goes_on = min(inside, key=lambda part: part[0].instruction if part else math.inf)
        for step in reversed(goes_on):
            if not step.draw and step.code is decider.code and _name(step).startswith("POP_JUMP"):
                return step
    return decider


def _name(step: Step) -> str:
    return next((one.opname for one in instructions(step.code) if one.offset == step.instruction), "")


def _is_loop(step: Step) -> bool:
    return _name(step) == "FOR_ITER"


def _looks_at_noise(one: Observed, decider: Step, at: int) -> bool:
    """Whether a drawn number was compared on the line, just before it was decided."""
    line = line_at(decider.code, decider.instruction)
    for mark in one.noisy:
        if at - 40 <= mark <= at and mark >= 1:
            compared = one.steps[mark - 1]
            if compared.code is decider.code and line_at(compared.code, compared.instruction) == line:
                return True
    return False
