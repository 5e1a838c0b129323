"""Arrays that share memory: what is written through one of them is seen through all.

An array of each run is told by the *places* of its elements in a common memory. NumPy itself says where they are:
whatever rearranges an array (a slice, a transpose, a reshape) is applied to an array of places as well. If NumPy
makes a view of that, the two arrays share memory in every run; if it makes a copy, they do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refutedp.model.outputs import Array

if TYPE_CHECKING:
    from refutedp.sampling.lifted.execution import Run


class Memory:
    """The elements that some arrays share, a row for each run that was alive at an epoch, or one for all of them.

    `places` are those of all elements. `writes` counts what was written, so that each array knows whether it is up to
    date. In a `doubtful` memory some arrays may or may not share their elements, which depends on how they lie in
    memory in the plain function: nothing may be written there.
    """

    __slots__ = ("_epoch", "_owned", "_run", "_table", "doubtful", "places", "uniform", "writes")

    def __init__(self, run: Run, array: Array, uniform: bool, places: Array) -> None:
        self._run = run
        self._table = array.reshape(len(array), -1)
        self._epoch = run.epoch
        self._owned = False
        self.uniform = uniform
        self.places = places
        self.writes = 0
        self.doubtful = False

    def _rows(self) -> Array:
        """The elements of the runs that are alive, a row each."""
        if self._epoch != self._run.epoch:
            if not self.uniform:
                self._table = self._run.shrink(self._table, self._epoch)
            self._epoch = self._run.epoch
        return self._table

    def read(self, places: Array) -> Array:
        """The elements at these places, runs first; callers must not write to it."""
        rows = self._rows()
        if places is not self.places:
            return np.asarray(rows[:, places])
        self._owned = False
        return rows.reshape(len(rows), *places.shape)

    def write(self, places: Array, values: Array, uniform: bool) -> None:
        """Put values, runs first, at these places; recorded draws and what was read before stay as they are."""
        if self.doubtful:
            self._run.refuse("it writes to an array that may share memory with another")
        if not places.flags.writeable:
            raise ValueError("assignment destination is read-only")
        self.writes += 1
        rows = self._rows()
        if places is self.places:
            self._table, self.uniform, self._owned = values.reshape(len(values), -1), uniform, False
            return
        if self.uniform and not uniform:
            self._table = np.repeat(rows, self._run.n, axis=0)
            self.uniform = False
        elif not self._owned:
            self._table = rows.copy(order="K")
        self._owned = True
        self._table[:, places.reshape(-1)] = values.reshape(len(values), -1)


def places_of(shape: tuple[int, ...]) -> Array:
    """The places of the elements of an array in C order."""
    return np.arange(int(np.prod(shape))).reshape(shape)
