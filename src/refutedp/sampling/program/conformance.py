"""Does a program keep the protocol? Every point that a check of it relies on, tried one after the other."""

from __future__ import annotations

import enum
import functools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from refutedp.model.errors import MechanismError, RefuteDPError
from refutedp.sampling.encode import encode
from refutedp.sampling.program.sessions import Spec, ask, close

COUNTS = (1, 10, 1000)
SEEDS = (1, 2**53 - 1)


class Status(enum.Enum):
    """What came of a point; a note is for the user to judge and fails nothing."""

    PASSED = "passed"
    FAILED = "failed"
    NOTE = "note"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class ConformancePoint:
    """One thing that was tried."""

    name: str
    status: Status
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Conformance:
    """All points in the order they were tried; `runs_per_second` is None when the program failed before."""

    points: tuple[ConformancePoint, ...]
    runs_per_second: float | None

    @property
    def passed(self) -> bool:
        """Whether a check can rely on the program."""
        return not any(point.status is Status.FAILED for point in self.points)


class _ConformanceTrial:
    """The state of one conformance check: what the program answered so far."""

    def __init__(self, spec: Spec, data: Any, arguments: Mapping[str, Any]) -> None:
        self.spec, self.data, self.arguments = spec, data, arguments
        self.speed: float | None = None
        self.first: list[Any] = []

    def steps(self) -> Iterator[tuple[str, Callable[[], tuple[Status, str]]]]:
        """The points by name."""
        for count in COUNTS:
            yield f"answers {count} output{'s' if count > 1 else ''}", functools.partial(self._count, count)
        yield "outputs can be compared", self._shapes
        yield "same seed, same outputs", self._same_seed
        yield "another seed, other outputs", self._other_seed
        yield "serves another data set", self._other_data
        yield "ends when its input ends", self._end

    def _ask(self, count: int, seed: int = SEEDS[0], data: Any = None) -> list[Any]:
        data = self.data if data is None else data
        return ask(self.spec, data, self.arguments, seed=seed, count=count)

    def _count(self, count: int) -> tuple[Status, str]:
        start = time.perf_counter()
        self.first = self._ask(count)
        self.speed = count / max(time.perf_counter() - start, 1e-9)
        return Status.PASSED, f"such as {_short(self.first[0])}" if count == 1 else ""

    def _shapes(self) -> tuple[Status, str]:
        groups = encode(self.first).groups
        if all(group.shape.error for group in groups):
            return Status.FAILED, f"every run is an error: {groups[0].shape.label}"
        names = [f"{group.shape.label}{' (an error)' if group.shape.error else ''}" for group in groups]
        return Status.PASSED, ", ".join(dict.fromkeys(names))

    def _same_seed(self) -> tuple[Status, str]:
        if repr(self._ask(COUNTS[-1])) == repr(self.first):
            return Status.PASSED, ""
        return Status.NOTE, "it ignores the seed: results cannot be reproduced exactly"

    def _other_seed(self) -> tuple[Status, str]:
        if repr(self._ask(COUNTS[-1], seed=SEEDS[1])) != repr(self.first):
            return Status.PASSED, ""
        if len({repr(output) for output in self.first}) == 1:
            return Status.NOTE, "every run gave the same output: is there any noise?"
        return Status.FAILED, "every seed gives the same outputs: runs must be independent"

    def _other_data(self) -> tuple[Status, str]:
        if not isinstance(self.data, list) or not self.data:
            return Status.NOTE, "not tried: the data is no list"
        self._ask(COUNTS[1], data=[*self.data[:-1], self.data[0]])
        return Status.PASSED, ""

    def _end(self) -> tuple[Status, str]:
        if close(self.spec):
            return Status.PASSED, ""
        return Status.NOTE, "it has to be killed: leave the loop when there are no more lines to read"


def conformance(spec: Spec, data: Any, arguments: Mapping[str, Any]) -> Conformance:
    """Try every point; after a failure of the program the rest is not tried."""
    trial = _ConformanceTrial(spec, data, arguments)
    points: list[ConformancePoint] = []
    broken = False
    try:
        for name, step in trial.steps():
            if broken:
                points.append(ConformancePoint(name, Status.NOT_TRIED))
                continue
            try:
                status, detail = step()
            except RefuteDPError as error:
                status, detail = Status.FAILED, str(error)
                broken = isinstance(error, MechanismError)
            points.append(ConformancePoint(name, status, detail))
    finally:
        close(spec)
    return Conformance(tuple(points), None if broken else trial.speed)


def _short(value: Any) -> str:
    text = repr(value.tolist() if isinstance(value, np.generic) else value)
    return text if len(text) <= 50 else text[:47] + "..."
