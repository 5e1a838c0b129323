"""One execution of the mechanism on many runs at once: which runs are still in it, what they drew and decided.

When a decision differs between runs, the larger part stays in the execution and the smaller part is put off: it
re-enters the function later from the start, with its recorded draws and decisions. Columns made before the split
are cut down to the runs that stayed when they are next read (`shrink`), so a split costs the execution nothing.

Vectors of many runs lie in memory element by element, each for all runs side by side: a sum, a comparison or a
maximum is then one long stretch an element. Sums within a vector depend on the order: see `Column.values`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache
from types import CodeType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.sampler import CannotSample
from refutedp.tracing.copier import users_frame

_KEPT_HEAP = 2**25 - 2**16
"""Bytes; just below the largest block from which the C library learns."""
MOST_VALUES = 64
"""A draw used as an index, a bound or a key splits the runs by value up to this many distinct values."""


class CannotLift(CannotSample):
    """The mechanism cannot be run on columns; the text is one sentence that says why, and where when known."""

    wrong = False
    """Whether a lifted run returned something else than the function itself: then no lift of it is to be trusted."""


class WrongLift(CannotLift):
    """A lifted run returned something else than the function itself."""

    wrong = True


class Excusable(CannotLift):
    """Code of a library compares by identity, which does not matter where it never sees a drawn value."""


class PathRefused(CannotLift):
    """Runs that take one path cannot be run on columns; those runs can be finished by plain calls."""


class Refused(BaseException):
    """Raised inside a run; derived from BaseException so that `except Exception` in the mechanism lets it pass.

    A mechanism that swallows it all the same is found out: the run remembers its refusal.
    """


class NotJoined(BaseException):
    """Raised where the two sides of a branch cannot be evaluated for all runs; caught where that was tried."""


@cache
def keep_freed_memory() -> None:
    """Let the C library keep up to 64 MB of freed memory for the next columns.

    glibc gives a large block back to the system as soon as it is freed, until it has seen a larger one come and go.
    The block is never written to, so it costs nothing; other C libraries take no notice.
    """
    np.empty(_KEPT_HEAP, dtype=np.uint8)


def drawn_by_element(draw: Callable[[tuple[int, ...] | int], Any], n: int, shape: tuple[int, ...] | None) -> Array:
    """What `draw` makes for n runs, each of this shape; the runs come first in its shape, and last in memory.

    >>> drawn_by_element(np.zeros, 5, (2,)).strides
    (8, 40)
    """
    if shape is not None and len(shape) == 1:
        return np.asarray(draw((*shape, n))).T
    return np.asarray(draw(n if shape is None else (n, *shape)))


def take_runs(array: Array, indices: Array) -> Array:
    """Some of the runs, in the layout that they have."""
    if array.ndim == 2 and array.flags.f_contiguous:
        return array.T.take(indices, axis=1).T
    return array.take(indices, axis=0)


class Rows:
    """The values of one draw of a record, taken when they are asked for."""

    __slots__ = ("_position", "_record", "dtype")

    def __init__(self, record: Record, position: int, dtype: np.dtype[Any]) -> None:
        self._record = record
        self._position = position
        self.dtype = dtype

    def get(self) -> Array:
        """The values themselves."""
        return self._record.taken(self._position)


class Draw(NamedTuple):
    """One call to the generator: `array` holds its values for the runs that were alive at `epoch`."""

    distribution: str
    params: tuple[Any, ...]
    size: tuple[int, ...] | None
    array: Array | Rows
    epoch: int
    made_by: Array | None = None
    """Which of the runs alive at `epoch` make this draw, on one side of a joined branch; None: all."""

    def values(self) -> Array:
        """The array itself."""
        return self.array.get() if isinstance(self.array, Rows) else self.array


class Record:
    """The draws of some runs of an execution, `indices` of those alive after all `steps`: where each split left who.

    Values are taken when they are asked for: a part that was put off retraces its path from the start, and most of
    its draws led to decisions that are known already.

    >>> draw = Draw("laplace", (0.0, 1.0), None, np.array([0.1, 0.2, 0.3]), 0)
    >>> Record((draw,), [np.array([1, 2])], np.array([1])).taken(0)
    array([0.3])
    """

    __slots__ = ("_at", "_draws", "_steps", "_taken", "distributions")

    def __init__(self, draws: Sequence[Draw], steps: Sequence[Array], indices: Array) -> None:
        self._draws = draws
        self._steps = steps
        self._at = {len(steps): indices}
        self._taken: dict[int, Array] = {}
        self.distributions = tuple([draw.distribution for draw in draws])

    def rows(self, position: int) -> Rows | None:
        """The values of a draw of one number, not yet taken; None for an array, which is taken anyway."""
        draw = self._draws[position]
        return Rows(self, position, draw.array.dtype) if draw.size is None else None

    def taken(self, position: int) -> Array:
        """The values of a draw."""
        taken = self._taken.get(position)
        if taken is None:
            draw = self._draws[position]
            taken = self._taken[position] = take_runs(draw.values(), self._indices(draw.epoch))
        return taken

    def made_by(self, position: int) -> Array | None:
        """Which runs made a draw; None: all."""
        draw = self._draws[position]
        return None if draw.made_by is None else draw.made_by.take(self._indices(draw.epoch))

    def _indices(self, epoch: int) -> Array:
        """Where the runs stood at an epoch."""
        known = epoch
        while known not in self._at:
            known += 1
        indices = self._at[known]
        while known > epoch:
            known -= 1
            indices = self._at[known] = self._steps[known][indices]
        return indices


NOTHING = Record((), (), np.zeros(0, dtype=np.int64))
"""Before the first draw."""


class Deferred(NamedTuple):
    """Runs that left an execution at a split: they re-enter with these decisions and these values of their draws."""

    n: int
    decisions: tuple[Hashable, ...]
    record: Record
    ids: Array | None = None
    """Which runs of the chunk they are; None: all of them."""


class Choice(NamedTuple):
    """A condition by which values were chosen instead of splitting, and the runs (None: all) that came to it."""

    condition: Any
    came: Any

    def took(self, side: bool) -> Array:
        """Which of the runs that are alive took a side, by number."""
        held = self.condition.values() == side
        return np.flatnonzero(held if self.came is None else held & self.came.values())


class Run:
    """The state of one execution; `n` runs are alive at `epoch`."""

    def __init__(self, start: Deferred, defer: Callable[[Deferred], None]) -> None:
        self.n = start.n
        self.epoch = 0
        self.decisions: list[Hashable] = list(start.decisions)
        self.record = start.record
        self.defer = defer
        self.draws: list[Draw] = []
        self.choices: list[Choice] = []
        """Where values were chosen instead of splitting: each side of each has to be proven."""
        self.side: Array | None = None
        """While a branch is being joined: the runs that are on the side which is being evaluated for all."""
        self.closed = False
        """Whether the function has returned: a split from then on would leave a part without its end."""
        self.refusal: str | None = None
        self.exposed: frozenset[CodeType] | None = None
        """Code of libraries that could reach a column, where that was looked for."""
        self.stateful = False
        """Whether it was refused because the mechanism keeps state: then plain calls would not finish it either."""
        self._known = len(start.decisions)
        self._position = 0
        self.retracing = self._known > 0
        """Whether the execution is still on the part of its path that was taken before: decisions are known."""
        self._ids = start.ids
        self._ids_epoch = 0
        self._steps: list[Array] = []
        self._composed: dict[int, Array] = {}

    def refuse(self, why: str) -> NoReturn:
        """Give up the lift; `why` completes "the mechanism cannot be lifted: ...".

        The sentence is kept, so that a mechanism which swallows the exception is still refused.
        """
        if self.side is not None:
            raise NotJoined(why)
        frame = users_frame()
        sentence = why if frame is None else f"{why} (line {frame.f_lineno})"
        if self.refusal is None:
            self.refusal = sentence
        raise Refused(sentence)

    def _is_known(self) -> bool:
        """Go on to the next decision, number `_position` - 1: was it taken when the runs passed here before?"""
        position = self._position
        self._position = position + 1
        self.retracing = position + 1 < self._known
        return position < self._known

    def branch(self, mask: Array) -> bool:
        """The truth of `mask` for every run that stays alive; runs that disagree are put off."""
        if self._is_known():
            return bool(self.decisions[self._position - 1])
        hits = int(np.count_nonzero(mask))
        keep = 2 * hits >= self.n
        if 0 < hits < self.n:
            other = ~mask
            stay, leave = (mask, other) if keep else (other, mask)
            self._put_off(leave.nonzero()[0], not keep)
            self._advance(stay.nonzero()[0])
        self.decisions.append(keep)
        return keep

    def tries_to_join(self) -> bool:
        """Whether the sides of the branch that the runs come to are evaluated for all of them.

        Recorded as a decision, for it may depend on values that are not there any more when the path is retraced.
        """
        if self._is_known():
            return bool(self.decisions[self._position - 1])
        self.decisions.append(True)
        return True

    def mark(self) -> tuple[int, int, int]:
        """Where the execution is, for `take_back`."""
        return self._position, len(self.draws), len(self.choices)

    def take_back(self, mark: tuple[int, int, int]) -> None:
        """Forget what was drawn and decided since a branch was to be joined: it has to be taken as written."""
        position, draws, choices = mark
        if position <= self._known:
            self.stateful = self.side is None
            self.refuse("it does not do the same thing twice on the same draws: it keeps state between calls")
        del self.decisions[position - 1 :], self.draws[draws:], self.choices[choices:]
        self.decisions.append(False)
        self._position = position

    def branch_never(self) -> None:
        """Record that a decision was taken the same way by every run: an error that no run met."""
        if not self._is_known():
            self.decisions.append(False)

    def resolve(self, values: Array, what: str) -> Any:
        """One value that all runs that stay alive share; runs with other values are put off."""
        if self._is_known():
            return self.decisions[self._position - 1]
        distinct, inverse, counts = _distinct(values)
        if len(distinct) > MOST_VALUES:
            self.refuse(f"{what} takes more than {MOST_VALUES} values")
        choice = int(np.argmax(counts))
        options = distinct.tolist()
        for code, option in enumerate(options):
            if code != choice:
                self._put_off(np.flatnonzero(inverse == code), option)
        if len(options) > 1:
            self._advance(np.flatnonzero(inverse == choice))
        self.decisions.append(options[choice])
        return options[choice]

    def recorded(self, distribution: str) -> bool:
        """Whether the runs made the next draw when they passed here before."""
        position, known = len(self.draws), self.record.distributions
        if position >= len(known):
            return False
        if known[position] != distribution:
            self.stateful = True
            self.refuse("it does not draw the same noise twice on the same path: it keeps state between calls")
        return True

    @property
    def consistent(self) -> bool:
        """Whether the execution took up every decision and draw that its runs had recorded before."""
        return self._position >= self._known and len(self.draws) >= len(self.record.distributions)

    def shrink(self, array: Array, epoch: int) -> Array:
        """Values of the runs alive at `epoch`, cut down to those alive now."""
        indices = self._composed.get(epoch)
        if indices is None:
            indices = self._steps[-1]
            for step in reversed(self._steps[epoch:-1]):
                indices = step[indices]
            self._composed[epoch] = indices
        return take_runs(array, indices)

    def ids(self) -> Array | None:
        """Which runs of the chunk are alive now; None: all of them."""
        for step in self._steps[self._ids_epoch :]:
            self._ids = step if self._ids is None else self._ids.take(step)
        self._ids_epoch = self.epoch
        return self._ids

    def rest(self) -> Deferred:
        """The runs that are alive now, with their draws so far: for plain calls to finish."""
        return Deferred(self.n, tuple(self.decisions), self._record(np.arange(self.n)), self.ids())

    def rows_of(self, index: int) -> list[int]:
        """Where run number `index` of those alive now stood at each epoch."""
        rows = [index]
        for step in reversed(self._steps):
            rows.append(int(step[rows[-1]]))
        return rows[::-1]

    def _record(self, indices: Array) -> Record:
        """All draws so far, for the given runs of those alive now."""
        return Record(tuple(self.draws), tuple(self._steps), indices)

    def _put_off(self, indices: Array, decision: Hashable) -> None:
        if self.side is not None:
            raise NotJoined("the runs part")
        if self.closed:
            self.refuse("it returns an object whose form depends on drawn values")
        alive = self.ids()
        ids = indices if alive is None else alive.take(indices)
        self.defer(Deferred(len(indices), (*self.decisions, decision), self._record(indices), ids))

    def _advance(self, indices: Array) -> None:
        self._steps.append(indices)
        self._composed = {}
        self.epoch += 1
        self.n = len(indices)


def _distinct(values: Array) -> tuple[Array, Array, Array]:
    """As `np.unique` with inverse and counts, in the order of values; -0.0 is not 0.0, for it prints otherwise."""
    if values.dtype != np.float64:
        return np.unique(values, return_inverse=True, return_counts=True)
    bits, inverse, counts = np.unique(
        np.ascontiguousarray(values).view(np.int64), return_inverse=True, return_counts=True
    )
    distinct = bits.view(np.float64)
    order = np.argsort(distinct, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return distinct[order], place[inverse], counts[order]
