"""The individuals of the evolutionary search: how pairs are seeded, mutated and simplified.

It starts from constants of the mechanism's code, at which it may do something else, and from usual sizes. A draft is
a data set and a step to its neighbour. Whatever is done to it, the two inputs stay adjacent.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import re
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from refutedp.inputs.matching import matching
from refutedp.inputs.source import NEGATIVE
from refutedp.model.adjacency import AllDiffer, OneDiffers
from refutedp.model.records import Pair
from refutedp.tracing.copier import instructions, is_library, used_names

MAGNITUDES = (10, 100, -1, -10, 1000, 3, 0.1, 10_000)
"""Values to begin with, besides the constants of the code."""
LENGTHS = (2, 3, 4, 7, 21, 50, 101)
"""Lengths to begin with, besides those that the code knows."""
SCANNED = 60
"""All lengths and values below are looked at, at least once."""
ROUND = (64, 100, 128, 256, 512, 1000, 1024, 10_000, 65_536, 1_000_000)
"""Larger values at which code often does something else, seen from below."""
LARGEST = 1e7
"""No value is larger: code may allocate as much, or loop as often."""
LONGEST = 160
"""No draft is longer."""

MOST = 24
"""Numbers, and words, of the code that are kept."""
MOST_RECORDS = 120
"""Numbers of the code up to this may be lengths."""
_DEPTH = 4
"""Functions that call each other are looked into so deep."""
WIDTHS = {"int8": 2**7, "uint8": 2**8, "int16": 2**15, "uint16": 2**16, "int32": 2**31, "uint32": 2**32}
"""Where integers of a fixed width wrap around: a constant of the code that names them."""
_DULL = frozenset({0, 1, -1, 2, 0.5})
"""Numbers that patterns have anyway."""

Rng: TypeAlias = np.random.Generator


@dataclass(frozen=True, slots=True)
class Mined:
    """What was found, each in the order in which the code has it."""

    numbers: tuple[float, ...]
    words: tuple[str, ...]
    dates: tuple[datetime.date, ...] = ()

    @property
    def lengths(self) -> tuple[int, ...]:
        """Whole numbers that could be numbers of records, and their neighbours."""
        whole = [int(n) for n in self.numbers if float(n).is_integer() and 1 < n <= MOST_RECORDS]
        return tuple(dict.fromkeys(n + step for n in whole for step in (1, 0, 2) if n + step > 1))


def mine(function: Any) -> Mined:
    """The constants of a function and of the user's functions that it can reach.

    >>> def special(queries, rng):
    ...     return rng.laplace() + (sum(queries) if sum(queries) > 100 else 0) * (queries[0] == "x")
    >>> mine(special)
    Mined(numbers=(100,), words=('x',), dates=())
    """
    found: dict[tuple[type, Any], None] = {}
    within: set[int] = set()

    def keep(value: Any) -> None:
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, int | float | str | datetime.date) and not isinstance(value, bool):
            found.setdefault((type(value), value))
            if isinstance(value, str):
                keep(WIDTHS.get(value))
                keep(matching(value))
        elif isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            keep(matching(value))
        elif isinstance(value, types.CodeType):
            for constant in (*_constants(value), *(name for name in value.co_names if name in WIDTHS)):
                keep(constant)
        elif isinstance(value, list | tuple | set | frozenset | range) and len(value) <= MOST:
            # Sets have an order of their own in every process.
            keep_all(value, sorted(value, key=repr) if isinstance(value, set | frozenset) else value)
        elif isinstance(value, Mapping) and len(value) <= MOST:
            keep_all(value, itertools.chain.from_iterable(value.items()))

    def keep_all(container: Any, items: Iterable[Any]) -> None:
        # A container may contain itself.
        if id(container) not in within:
            within.add(id(container))
            for item in items:
                keep(item)
            within.remove(id(container))

    for part in reached(function):
        keep(part)
    plain = [value for kind, value in found if kind in (int, float)]
    numbers = [value for value in plain if value not in _DULL and abs(value) < 1e12]
    dates = [value for kind, value in found if issubclass(kind, datetime.date)]
    words = [value for kind, value in found if kind is str and value and len(value) <= 40]
    return Mined(tuple(dict.fromkeys(numbers))[:MOST], tuple(words)[:MOST], tuple(dates)[:MOST])


def reached(function: Any) -> list[Any]:
    """The code objects and values that a function and the user's functions behind it refer to.

    >>> [type(part).__name__ for part in reached(lambda queries, most=3: queries[0] > most)]
    ['code', 'int']
    """
    found: list[Any] = []
    seen: set[int] = set()

    def visit(value: Any, depth: int) -> None:
        if depth == 0 or id(value) in seen:
            return
        seen.add(id(value))
        owner = value.__self__ if isinstance(value, types.MethodType) else None
        for part in _parts(value):
            if callable(part) or part is owner:
                visit(part, depth - 1)
            else:
                found.append(part)

    visit(function, _DEPTH)
    return found


def is_own(module: str) -> bool:
    """Whether a module runs the user's programs and functions: only what it holds is theirs, not its code."""
    return module.startswith(("refutedp.api", "refutedp.adapters", "refutedp.sampling"))


def _parts(value: Any) -> Iterator[Any]:
    """What a function, method or object reaches: its code, its defaults, its globals."""
    if isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, types.MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, types.FunctionType):
        if is_library(value.__module__ or ""):
            return
        for cell in value.__closure__ or ():
            with suppress(ValueError):  # a cell that is still empty
                yield cell.cell_contents
        if is_own(value.__module__ or ""):
            return
        yield value.__code__
        yield from (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
        names = sorted(used_names(value.__code__))
        yield from (value.__globals__[name] for name in names if name in value.__globals__)
    elif isinstance(value, type):
        if not is_library(value.__module__):
            for name, one in vars(value).items():
                if not name.startswith("__") or isinstance(one, types.FunctionType):
                    yield one
    elif not is_library(type(value).__module__) and type(value).__module__ != "builtins":
        held = getattr(value, "__dict__", {}).values()
        if is_own(type(value).__module__):
            yield from filter(callable, held)
        else:
            yield from (type(value), *held)


def _constants(code: types.CodeType) -> Iterator[Any]:
    """What the code loads and compares with: no docstrings and other sentences, and no names of keywords."""
    loads = ("LOAD_CONST", "LOAD_SMALL_INT", "RETURN_CONST")
    listed = instructions(code)
    for one, following in zip(listed, [*listed[1:], listed[-1]], strict=True):
        if one.opname.startswith(loads) and following.opname != "CALL_KW":
            value = one.argval
            if not (isinstance(value, str) and " " in value.strip() and len(value) > 24):
                yield value


class Draft(ABC):
    """Two adjacent inputs, and the reason to try them."""

    reason: str

    @abstractmethod
    def inputs(self) -> tuple[Any, Any]:
        """The data set and its neighbour; raises `CannotHold` where there is no such data set."""

    @abstractmethod
    def changed(self, rng: Rng, mined: Mined) -> Draft:
        """One random step away."""

    @abstractmethod
    def shorter(self) -> Iterator[Draft]:
        """Drafts with a stretch of it left out, the longest first."""

    @abstractmethod
    def plainer(self, place: int) -> Iterator[Draft]:
        """Drafts with simpler numbers at a place, the simplest first; place 0 is about all of it."""

    @property
    @abstractmethod
    def length(self) -> int:
        """How many answers or records it has."""

    @property
    def outside(self) -> str:
        """What in it lies beyond the records that the user gave."""
        return ""


@dataclass(frozen=True, slots=True)
class QueryDraft(Draft):
    """Query answers, each with the direction in which it moves by the whole sensitivity."""

    adjacency: AllDiffer | OneDiffers
    values: tuple[float, ...]
    signs: tuple[int, ...]
    reason: str

    def inputs(self) -> tuple[Any, Any]:
        """Lists of numbers."""
        step = self.adjacency.sensitivity
        return [_plain(v) for v in self.values], [
            _plain(v + step * sign) for v, sign in zip(self.values, self.signs, strict=True)
        ]

    @property
    def length(self) -> int:
        """Answers."""
        return len(self.values)

    @property
    def outside(self) -> str:
        """Negative answers: most queries count something."""
        return NEGATIVE if min(*self.inputs()[0], *self.inputs()[1]) < 0 else ""

    def changed(self, rng: Rng, mined: Mined) -> Draft:
        """Another value, another sign, another length or order."""
        values, signs = list(self.values), list(self.signs)
        place = int(rng.integers(len(values)))
        match int(rng.integers(8)):
            case 0 | 1:
                values[place] = other_value(values[place], values, rng, mined)
            case 2:
                values = [values[place]] * len(values)
            case 3:
                values = [v * 10 for v in values]
            case 4 if isinstance(self.adjacency, AllDiffer):
                signs[place] = int(rng.integers(-1, 2))
            case 5 if len(values) < LONGEST // 2:
                again = signs if isinstance(self.adjacency, AllDiffer) else [0] * len(signs)
                values, signs = values * 2, [*signs, *again]
            case 6 if len(values) > 1:
                del values[place], signs[place]
            case _:
                order = rng.permutation(len(values))
                values, signs = [values[i] for i in order], [signs[i] for i in order]
        if not any(signs):
            signs[int(rng.integers(len(signs)))] = int(rng.choice([-1, 1]))
        return replace(self, values=tuple(values), signs=tuple(signs))

    def shorter(self) -> Iterator[Draft]:
        """Fewer answers."""
        for sign in (1, -1) if len(self.values) > 1 else ():
            yield replace(self, values=(sum(self.values),), signs=(sign,))
        for start, stop in pieces(len(self.values)):
            values, signs = self.values[:start] + self.values[stop:], self.signs[:start] + self.signs[stop:]
            if any(signs):
                yield replace(self, values=values, signs=signs)

    def plainer(self, place: int) -> Iterator[Draft]:
        """Smaller and rounder answers, and ones that do not move."""
        if place == 0:
            yield from (replace(self, values=(value,) * len(self.values)) for value in (0, 1) if any(self.values))
            return
        i = place - 1
        for value in simpler_numbers(self.values[i]):
            yield replace(self, values=(*self.values[:i], value, *self.values[i + 1 :]))
        if self.signs[i] and sum(map(abs, self.signs)) > 1:
            yield replace(self, signs=(*self.signs[:i], 0, *self.signs[i + 1 :]))


def draft_of(adjacency: AllDiffer | OneDiffers, pair: Pair, reason: str) -> QueryDraft:
    """One of the usual pairs of query answers, in which each answer moves by the whole sensitivity or not at all."""
    signs = tuple(int(np.sign(after - before)) for before, after in zip(pair.d1, pair.d2, strict=True))
    return QueryDraft(adjacency, tuple(map(_plain, pair.d1)), signs, reason)


def query_drafts(adjacency: AllDiffer | OneDiffers, mined: Mined, lengths: Sequence[int] = ()) -> Iterator[Draft]:
    """Where evolution of query answers begins; with some of these lengths, if they are given."""
    step = adjacency.sensitivity

    def moved(values: Sequence[float], reason: str) -> Iterator[Draft]:
        for signs in _signs(len(values), one=isinstance(adjacency, OneDiffers)):
            yield QueryDraft(adjacency, tuple(values), signs, reason)

    for length in lengths:
        for value in (*mined.numbers, *MAGNITUDES):
            yield from moved([value] * length, f"a value of {value:g}")
            yield from moved([value / length] * length, f"a sum of {value:g}")
    if isinstance(adjacency, AllDiffer):
        # Where the answer is the winner, the same draws tell most if another one is far ahead now.
        for value in MAGNITUDES:
            yield QueryDraft(adjacency, (value, value - step), (-1, 1), f"a lead that turns at {value:g}")
    for number in mined.numbers:
        reason = f"{number:g}, a constant of the code"
        for value in (number, number - step, number + step, number - step / 2):
            yield from moved([value], reason)
            yield from moved([value] * 3, reason)
        yield from moved([number / 5] * 5, reason)
        yield from moved([number, 1, 1, 1, 1], reason)
        yield from moved([1, 1, 1, 1, number], reason)
        yield from moved([2 * number, number], reason)
    for value in MAGNITUDES:
        reason = f"a value of {value:g}"
        yield from moved([value], reason)
        yield from moved([value] * 5, reason)
        yield from moved([value, 1, 1, 1, 1], reason)
        yield from moved([1, 1, 1, 1, value], reason)
        yield from moved([value, -value], reason)
        yield from moved([value * i for i in range(7)], f"steps of {value:g}")
    for value in (*range(3, SCANNED), *ROUND):
        reason = f"{value}, a round number" if value in ROUND else f"a value of {value}"
        yield QueryDraft(adjacency, (value,), (-1,), reason)
    # The longest first: what the ledger learns of the noise of many numbers serves for fewer.
    for length in reversed(range(2, SCANNED)):
        yield QueryDraft(adjacency, (1,) * length, (*[0] * (length - 1), 1), "many queries")
    for length in dict.fromkeys((*mined.lengths, *LENGTHS)):
        reason = "many queries"
        yield from moved([1] * length, reason)
        yield from moved(list(range(length)), reason)


def _signs(n: int, *, one: bool) -> Iterator[tuple[int, ...]]:
    """Directions of the answers, one or all of which move."""
    moves = [(0, 1), (n - 1, -1)] if n == 1 or not one else [(0, 1), (0, -1), (n - 1, 1), (n - 1, -1), (n // 2, 1)]
    yield from (tuple(sign if i == place else 0 for i in range(n)) for place, sign in moves)
    if not one and n > 1:
        yield from ((sign,) * n for sign in (1, -1))
        yield tuple(1 if i < n // 2 else -1 for i in range(n))


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else float(f"{value:.12g}")


def is_number(value: Any) -> bool:
    """Whether it is a number; truth values are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def pieces(n: int, least: int = 1) -> Iterator[tuple[int, int]]:
    """Stretches to leave out: halves first, then ever smaller ones, and at last any number at either end.

    Code that cuts its input into pieces may see the same only where a whole number of these is gone.
    """
    size = n // 2
    while size >= 1:
        for start in range(0, n - size + 1, size):
            if n - size >= least:
                yield start, start + size
        size //= 2
    for size in range(n - max(least, 1), 1, -1):
        yield from ((0, size), (n - size, n))
    if n == 1 and least == 0:
        yield 0, 1


def simpler_numbers(value: float) -> Iterator[float]:
    """Numbers with less to read, the simplest first; whole ones stay whole."""
    tried = [0, 1, *(s * 10**k for k in range(1, 7) for s in (1, -1)), round(value), float(f"{value:.2g}")]
    tried = [int(other) if isinstance(value, int) else other for other in tried]
    for other in dict.fromkeys(tried):
        if abs(other) < abs(value) or (other != value and len(repr(other)) < len(repr(value))):
            yield other


def other_value(value: float, beside: Sequence[float], rng: Rng, mined: Mined) -> float:
    """Another number: of another size or sign, or one that stands beside it, or in the code."""
    numbers = mined.numbers or MAGNITUDES
    moves: list[Callable[[], float]] = [
        lambda: value * 10,
        lambda: value / 10,
        lambda: -value,
        lambda: value + 1,
        lambda: float(beside[int(rng.integers(len(beside)))]),
        lambda: float(numbers[int(rng.integers(len(numbers)))]),
        lambda: float(MAGNITUDES[int(rng.integers(len(MAGNITUDES)))]),
    ]
    found = moves[int(rng.integers(len(moves)))]()
    return found if abs(found) <= LARGEST else value
