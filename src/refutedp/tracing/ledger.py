"""Estimates the privacy loss of a pair by running both inputs on the same random draws.

On the same draws a released number moves by some distance, and other draws move it by its noise: the distance over
the noise is about the privacy loss of the pair. Where another answer comes out whatever the draws, or a number
without noise moves, nothing hides the input. A dozen calls tell, and no statistics; what the ledger says is a hint
where to look, never evidence.
"""

from __future__ import annotations

import dataclasses
import decimal
import enum
import fractions
import math
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.model.mechanism import Mechanism, fresh_copies
from refutedp.model.records import Pair
from refutedp.model.settings import LEDGER_STREAM, child, global_state, kept_globals, set_globals
from refutedp.tracing.watchdog import CallBounds, DidNotReturn, Watchdog, now_on

GLANCES = ((2, 0.4), (4, 0.6), (8, 0.8), (16, 1.0))
"""Runs of either input, each on draws of its own, and the part of what is wanted that they must show to go on.

Where the noise of the same draws is known, they must show all of it.
"""
LONGEST_CALLS = 5.0
"""Seconds that all runs of a pair may take, as long as nothing is known of others."""
MUCH_LONGER, AT_LEAST = 30, 2.0
"""Later, so many times what the usual pairs took, and at least so many seconds: thousands of runs are to follow."""
CALLS_FOR_NOTHING = 1_000
"""What a pair that took longer counts for, in calls: there shall be few of them."""
RAISED = "raised"
UNSEEN = 16
"""Runs of either input where draws cannot be repeated, so that only averages can be compared."""
LEARNED = 64
"""Runs by which the usual noise is learned: once, and again where more numbers are released."""
MOST_SCALED = 4.0
"""How many times the noise that a few draws show their usual noise may be."""
WHOLE = 20.0
"""What a number costs that moves where nothing hides it, and an answer that differs whatever the draws."""

NUMBER = "number"
"""Where a number stands in a structure."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
"""Numbers in texts are numbers."""

_TOLD = (int, float, str, list, tuple, dict, np.ndarray, np.generic)
"""What attributes of objects are looked at; of others nothing is known, and some refer to each other."""

Structure: TypeAlias = Any
"""All of an output but its numbers."""


class Loss(NamedTuple):
    """About what a pair costs, in units of ε, and in words what moved."""

    size: float
    words: str
    raised: bool = False
    """Whether some runs ended in an exception."""
    bare: bool = False
    """Whether what moved most has no noise at all."""


class Release(NamedTuple):
    """An output, as its numbers and what is around them."""

    structure: Structure
    numbers: tuple[float, ...]

    def name(self, place: int) -> str:
        """What its number at a place is called."""
        return list(_names(self.structure, "the output"))[place]


class Ledger:
    """Runs of one mechanism on chosen draws: run number k has the same draws on every input.

    >>> from refutedp.model.mechanism import describe
    >>> with Ledger(describe(lambda queries, rng: queries[0] ** 2 + rng.laplace()), seed=0).open() as ledger:
    ...     near, far = (ledger.loss([x], [x + 1], {}).size for x in (0, 50))
    >>> near < 5, far
    (True, 20.0)
    """

    def __init__(self, mechanism: Mechanism, seed: int) -> None:
        self._mechanism = mechanism
        seeds = [child(seed, LEDGER_STREAM, number) for number in range(LEARNED)]
        self._states = [np.random.default_rng(one).bit_generator.state for one in seeds]
        self._rng = np.random.default_rng(0)
        self._globals = [global_state(one) for one in seeds] if mechanism.rng is None else []
        self._usual = np.empty((len(self._states), 0))
        """Runs on all draws of the input that released the most numbers so far."""
        self._scales: dict[int, NDArray[np.float64]] = {}
        """How many times the noise of so many runs the usual noise of each number is, as far as it is known."""
        self._repeats: bool | None = None
        """Whether the mechanism does the same again on the same draws; None before it was tried."""
        self.calls = 0
        """How often the mechanism was called."""

    def loss(self, d1: Any, d2: Any, arguments: Mapping[str, Any], *, beyond: float = 0.0) -> Loss:
        """What the pair costs; after few runs, if it is not likely to be `beyond` a size.

        Inputs on which the mechanism does not return soon cost nothing, and many calls.
        """
        now_on(self._mechanism.name, d1, d2)
        try:
            with self._watchdog.call():
                return self._loss(d1, d2, arguments, beyond)
        except DidNotReturn:
            self.calls += CALLS_FOR_NOTHING
            return Loss(0.0, "it did not return")

    def _loss(self, d1: Any, d2: Any, arguments: Mapping[str, Any], beyond: float) -> Loss:
        sides = tuple((fresh_copies(data), fresh_copies(dict(arguments))) for data in (d1, d2))
        if self._repeats is None:
            self._repeats = self._run(*sides[0], 0) == self._run(*sides[0], 0)
        if not self._repeats:
            return compare_averages(*([self._run(*side, 0) for _ in range(UNSEEN)] for side in sides))
        runs: tuple[list[Release], list[Release]] = ([], [])
        for so_many, part in GLANCES:
            for side, made in zip(sides, runs, strict=True):
                made += [self._run(*side, number) for number in range(len(made), so_many)]
            loss = compare(runs[0][:so_many], runs[1], self._scales.get(so_many))
            if loss.size > part * beyond and len(runs[0][0].numbers) > self._usual.shape[1]:
                runs[0].extend(self._run(*sides[0], number) for number in range(so_many, len(self._states)))
                self._learn(runs[0])
                loss = compare(runs[0][:so_many], runs[1], self._scales.get(so_many))
            known = len(runs[0][0].numbers) <= self._usual.shape[1] and bool(runs[0][0].numbers)
            if loss.size <= (1.0 if known else part) * beyond:
                break
        return loss

    def _learn(self, runs: Sequence[Release]) -> None:
        """How much noise the draws make, if all these runs released equally many numbers."""
        if len({len(one.numbers) for one in runs}) == 1:
            self._usual = np.array([one.numbers for one in runs])
            whole = _deviation(self._usual)
            for rows, _ in GLANCES:
                few = _deviation(self._usual[:rows])
                self._scales[rows] = np.minimum(whole, MOST_SCALED * few) / np.maximum(few, 1e-300)

    def releases(self, data: Any, arguments: Mapping[str, Any], runs: int) -> list[Release]:
        """What so many runs on an input release, on the same draws as those on any other input."""
        made, given = fresh_copies(data), fresh_copies(dict(arguments))
        try:
            with self._watchdog.call():
                return [self._run(made, given, number) for number in range(runs)]
        except DidNotReturn:
            self.calls += CALLS_FOR_NOTHING
            return []

    def usual(self, pairs: Iterable[Pair]) -> float:
        """The largest loss of these pairs; others may not take much longer than they do."""
        longest, size = 0.0, 0.0
        for pair in pairs:
            start = time.perf_counter()
            size = max(size, self.loss(pair.d1, pair.d2, pair.arguments).size)
            longest = max(longest, time.perf_counter() - start)
        self._watchdog.seconds = min(max(MUCH_LONGER * longest, AT_LEAST), LONGEST_CALLS)
        return size

    @contextmanager
    def open(self) -> Iterator[Ledger]:
        """For the block, in which global generators may be used; they get their states back."""
        with (
            kept_globals(),
            np.errstate(all="ignore"),
            warnings.catch_warnings(),
            Watchdog(CallBounds(LONGEST_CALLS)) as self._watchdog,
        ):
            warnings.simplefilter("ignore")
            yield self

    def _run(self, data: Callable[[], Any], arguments: Callable[[], Any], number: int) -> Release:
        self.calls += 1
        self._rng.bit_generator.state = self._states[number]
        if self._globals:
            # A function without a generator draws from np.random or from random.
            set_globals(self._globals[number])
        try:
            output = self._mechanism.call(data(), arguments(), rng=self._rng, size=1)
            return told(output[0] if self._mechanism.batched else output)
        except (KeyboardInterrupt, DidNotReturn):
            raise
        except BaseException as error:
            return Release((RAISED, type(error).__name__), ())


def told(output: Any) -> Release:
    """An output as numbers and structure.

    >>> release = told({"a": [1, True], "b": 2.5})
    >>> release.numbers, release.name(1)
    ((1.0, 2.5), "the output['b']")
    """
    numbers: list[float] = []
    return Release(_structure(output, numbers), tuple(numbers))


def _structure(value: Any, numbers: list[float]) -> Structure:
    """All of a value but its numbers, which are put into the list."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
        value = value.tolist()
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        kinds = {*map(type, value)}
        if kinds == {float} and math.isfinite(sum(value)):
            numbers.extend(value)
            return type(value).__name__, [NUMBER] * len(value)
        if kinds == {bool}:
            return type(value).__name__, list(value)
        return type(value).__name__, [_structure(item, numbers) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            numbers.append(number)
            return NUMBER
    if isinstance(value, str) and any(letter.isdigit() for letter in value):
        found = [float(number) for number in _NUMBER.findall(value)]
        return "str", [_structure(number, numbers) for number in found], _NUMBER.sub("#", value)
    if isinstance(value, decimal.Decimal | fractions.Fraction):
        return _structure(float(value), numbers)
    if isinstance(value, set | frozenset):
        # Their order is another one in every process.
        return type(value).__name__, sorted(map(repr, value))
    if isinstance(value, Mapping):
        # Two mappings with equal items are equal, in whatever order these came in.
        items = sorted(((repr(key), item) for key, item in value.items()), key=lambda one: one[0])
        return "dict", [(key, _structure(item, numbers)) for key, item in items]
    parts = _parts(value)
    return (type(value).__name__, repr(value)) if parts is None else _structure(parts, numbers)


def _parts(value: Any) -> dict[str, Any] | list[Any] | None:
    """Cells of a table, fields of a dataclass, public attributes of another object."""
    library = type(value).__module__.partition(".")[0]
    if library == "pandas" and hasattr(value, "to_dict"):
        return dict(value.to_dict())
    if library == "polars" and hasattr(value, "to_dict"):
        return dict(value.to_dict(as_series=False))
    if library == "polars" and hasattr(value, "to_list"):
        return list(value.to_list())
    if isinstance(value, type | enum.Enum):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    told = {name: item for name, item in getattr(value, "__dict__", {}).items() if isinstance(item, _TOLD)}
    return {name: item for name, item in told.items() if not name.startswith("_")} or None


def _names(structure: Structure, name: str) -> Iterator[str]:
    """What the numbers of an output are called, in order."""
    match structure:
        case "number":
            yield name
        case "str", parts, _:
            yield from (name for part in parts if part == NUMBER)
        case "dict", items:
            for key, item in items:
                yield from _names(item, f"{name}[{key}]")
        case _, list(parts):
            for place, part in enumerate(parts):
                yield from _names(part, f"{name}[{place}]")


def compare(first: Sequence[Release], second: Sequence[Release], scales: NDArray[np.float64] | None = None) -> Loss:
    """What the runs of two inputs cost, run k of both on the same draws.

    `scales` say how many times the noise that these few draws make their usual noise is, number by number.
    """
    if all(one == other for one, other in zip(first, second, strict=True)):
        return Loss(0.0, "nothing moved")
    raised = any(one.structure[0] == RAISED for runs in (first, second) for one in runs)
    alike = [(one, other) for one, other in zip(first, second, strict=True) if one.structure == other.structure]
    differ = 1 - len(alike) / len(first)
    words = f"another kind of answer in {differ:.0%} of runs on the same draws" if differ else "nothing moved"
    answer = Loss(-math.log1p(-differ) if alike else WHOLE, words, raised)
    if not alike:
        return answer
    sizes = [len(one.numbers) for one, _ in alike]
    size = max(sizes, key=sizes.count)
    rows = [(one, other) for one, other in alike if len(one.numbers) == size]
    if not size or len(rows) < 2:
        return answer
    values = np.array([one.numbers for one, _ in rows])
    moved = np.add.reduce(np.abs(values - np.array([other.numbers for _, other in rows]))) / len(rows)
    noise = _deviation(values)
    if scales is not None and len(rows) == len(first) and size <= len(scales):
        noise *= scales[:size]
    elif size > 1:
        # Of many numbers, some seem to have little noise by chance, as long as it is not known.
        noise = np.where(noise > 0, np.maximum(noise, 0.7 * np.sort(noise)[size // 2]), 0.0)
    beyond_rounding = moved > 1e-9 * np.abs(values).max(axis=0)
    costs = np.where(beyond_rounding, np.minimum(moved / np.maximum(noise, 1e-300), WHOLE), 0.0)
    total = min(float(costs.sum()), WHOLE)
    if total <= answer.size:
        return answer
    most = int(costs.argmax())
    hidden = f"where its noise is about {noise[most]:.3g}" if noise[most] > 0 else "and has no noise"
    words = f"{rows[0][0].name(most)} moves by {moved[most]:.4g}, {hidden}"
    return Loss(total, words, raised, bare=not noise[most] > 0)


def _deviation(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean absolute deviation of each column; deviations from an average of few are too small."""
    rows = len(values)
    from_average = np.abs(values - np.add.reduce(values) / rows)
    return np.asarray(np.add.reduce(from_average) / math.sqrt(rows * (rows - 1)))


def compare_averages(first: list[Release], second: list[Release]) -> Loss:
    """The same for runs on draws that nobody can repeat: by how much averages differ, beyond what chance explains."""
    kinds = [{repr(one.structure) for one in runs} for runs in (first, second)]
    if not kinds[0] & kinds[1]:
        return Loss(WHOLE, "another kind of answer in every run")
    common = max(kinds[0] & kinds[1], key=lambda kind: sum(repr(one.structure) == kind for one in first))
    x, y = (np.array([one.numbers for one in runs if repr(one.structure) == common]) for runs in (first, second))
    if not x.size or min(len(x), len(y)) < 2:
        return Loss(0.0, "nothing moved")
    noise = np.abs(x - np.median(x, axis=0)).mean(axis=0)
    moved = np.abs(x.mean(axis=0) - y.mean(axis=0))
    chance = 4 * noise / math.sqrt(min(len(x), len(y)))
    costs = np.where(moved > chance, np.minimum(moved / np.maximum(noise, 1e-300), WHOLE), 0.0)
    most = int(costs.argmax())
    name = next(one.name(most) for one in first if repr(one.structure) == common)
    words = f"{name} moves by {moved[most]:.4g}, where its noise is about {noise[most]:.3g}"
    return Loss(min(float(costs.sum()), WHOLE), words)
