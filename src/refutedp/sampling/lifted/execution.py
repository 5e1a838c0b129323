"""One execution of the mechanism on many runs at once: which runs are still in it, and what it decided so far.

When a decision differs between runs, the larger part stays in the execution and the smaller part is put off: it
re-enters the function later from the start, with its recorded draws and decisions. Columns made before the split
are cut down to the runs that stayed when they are next read (`shrink`), so a split costs the execution nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns.element_order import take_runs
from refutedp.sampling.lifted.record import Draw, Record
from refutedp.sampling.lifted.refusal import Refused
from refutedp.tracing.copier import users_frame

MOST_VALUES = 64
"""A draw used as an index, a bound or a key splits the runs by value up to this many distinct values."""


class Deferred(NamedTuple):
    """Runs that left an execution at a split: they re-enter with these decisions and these values of their draws."""

    n: int
    decisions: tuple[Hashable, ...]
    record: Record
    ids: Array | None = None
    """Which runs of the chunk they are; None: all of them."""


class Run:
    """The state of one execution; `n` runs are alive at `epoch`."""

    __slots__ = (
        "_composed",
        "_distributions",
        "_ids",
        "_ids_epoch",
        "_known",
        "_position",
        "_steps",
        "choices",
        "closed",
        "decisions",
        "defer",
        "draws",
        "epoch",
        "n",
        "record",
        "refusal",
        "retracing",
        "stateful",
    )

    def __init__(self, start: Deferred, defer: Callable[[Deferred], None]) -> None:
        self.n = start.n
        self.decisions: list[Hashable] = list(start.decisions)
        self.record = start.record
        self._distributions = start.record.distributions
        self._ids = start.ids
        self._ids_epoch = 0
        self.defer = defer
        self.draws: list[Draw] = []
        self.choices: list[Any] = []
        """Conditions on which values were chosen instead of splitting: each side of each has to be proven."""
        self.closed = False
        self.refusal: str | None = None
        self.stateful = False
        """Whether it was refused because the mechanism keeps state: then plain calls would not finish it either."""
        self.epoch = 0
        self._known = len(start.decisions)
        self._position = 0
        self.retracing = self._known > 0
        """Whether the execution is still on the part of its path that was taken before: decisions are known."""
        self._steps: list[Array] = []
        self._composed: dict[int, Array] = {}

    def refuse(self, why: str) -> NoReturn:
        """Give up the lift; `why` completes "the mechanism cannot be lifted: ...".

        The sentence is kept, so that a mechanism which swallows the exception is still refused.
        """
        frame = users_frame()
        sentence = why if frame is None else f"{why} (line {frame.f_lineno})"
        if self.refusal is None:
            self.refusal = sentence
        raise Refused(sentence)

    def branch(self, mask: Array) -> bool:
        """The truth of `mask` for every run that stays alive; runs that disagree are put off."""
        position = self._position
        self._position = position + 1
        if position < self._known:
            self.retracing = position + 1 < self._known
            return bool(self.decisions[position])
        n = self.n
        hits = int(np.count_nonzero(mask))
        if hits == n:
            self.decisions.append(True)
            return True
        if hits == 0:
            self.decisions.append(False)
            return False
        keep = 2 * hits >= n
        other = ~mask
        stay, leave = (mask, other) if keep else (other, mask)
        self._put_off(leave.nonzero()[0], not keep)
        self._advance(stay.nonzero()[0])
        self.decisions.append(keep)
        return keep

    def branch_never(self) -> None:
        """Record that a decision was taken the same way by every run: an error that no run met."""
        position = self._position
        self._position = position + 1
        self.retracing = position + 1 < self._known
        if position >= self._known:
            self.decisions.append(False)

    def resolve(self, values: Array, what: str) -> Any:
        """One value that all runs that stay alive share; runs with other values are put off."""
        position = self._position
        self._position = position + 1
        if position < self._known:
            self.retracing = position + 1 < self._known
            return self.decisions[position]
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

    def close(self) -> None:
        """The function has returned: whoever splits the runs from now on would leave a part without its end."""
        self.closed = True

    def recorded(self, distribution: str) -> bool:
        """Whether the runs made the next draw when they passed here before."""
        position = len(self.draws)
        if position >= len(self.record):
            return False
        if self._distributions[position] != distribution:
            self.stateful = True
            self.refuse("it does not draw the same noise twice on the same path: it keeps state between calls")
        return True

    def recorded_array(self, distribution: str) -> Array | None:
        """The values that the next draw had when its runs passed here before; None when it is new."""
        return self.record.taken(len(self.draws)) if self.recorded(distribution) else None

    @property
    def consistent(self) -> bool:
        """Whether the execution took up every decision and draw that its runs had recorded before."""
        return self._position >= self._known and len(self.draws) >= len(self.record)

    def shrink(self, array: Array, epoch: int) -> Array:
        """Values of the runs alive at `epoch`, cut down to those alive now."""
        return take_runs(array, self._since(epoch))

    def ids(self) -> Array | None:
        """Which runs of the chunk are alive now; None: all of them."""
        for step in self._steps[self._ids_epoch :]:
            self._ids = step if self._ids is None else self._ids.take(step)
        self._ids_epoch = self.epoch
        return self._ids

    def rest(self) -> Deferred:
        """The runs that are alive now, with their draws so far: for plain calls to finish."""
        return Deferred(self.n, tuple(self.decisions), self._record(np.arange(self.n)), self.ids())

    def _since(self, epoch: int) -> Array:
        indices = self._composed.get(epoch)
        if indices is None:
            indices = self._steps[-1]
            for step in reversed(self._steps[epoch:-1]):
                indices = step[indices]
            self._composed[epoch] = indices
        return indices

    def rows_of(self, index: int) -> list[int]:
        """Where run number `index` of those alive now stood at each epoch."""
        rows = [index]
        for step in reversed(self._steps):
            rows.append(int(step[rows[-1]]))
        rows.reverse()
        return rows

    def _record(self, indices: Array) -> Record:
        """All draws so far, for the given runs of those alive now."""
        return Record(tuple(self.draws), tuple(self._steps), indices)

    def _put_off(self, indices: Array, decision: Hashable) -> None:
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
