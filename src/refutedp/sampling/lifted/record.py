"""What runs drew before they left an execution. Their values are taken when they are asked for, if ever.

A part that was put off retraces its path from the start: most of its draws led to decisions that are known already,
and their values are never looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns.element_order import take_runs


class Rows:
    """The values of one draw of a record."""

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

    def values(self) -> Array:
        """The array itself."""
        return self.array.get() if isinstance(self.array, Rows) else self.array


class Record:
    """The draws of some runs of an execution, `indices` of those alive after all `steps`: where each split left who.

    >>> draw = Draw("laplace", (0.0, 1.0), None, np.array([0.1, 0.2, 0.3]), 0)
    >>> Record((draw,), [np.array([1, 2])], np.array([1])).taken(0)
    array([0.3])
    """

    __slots__ = ("_at", "_draws", "_steps", "_taken")

    def __init__(self, draws: Sequence[Draw], steps: Sequence[Array], indices: Array) -> None:
        self._draws = draws
        self._steps = steps
        self._at = {len(steps): indices}
        self._taken: dict[int, Array] = {}

    def __len__(self) -> int:
        return len(self._draws)

    @property
    def distributions(self) -> tuple[str, ...]:
        """Which distributions were drawn from."""
        return tuple([draw.distribution for draw in self._draws])

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
