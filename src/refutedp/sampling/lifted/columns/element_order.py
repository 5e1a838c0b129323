"""How the vectors of many runs lie in memory: element by element, each for all runs side by side.

NumPy works on long stretches of memory, and the vectors of mechanisms are short: with all runs of the first element
side by side, then all of the second, a sum, a comparison or a maximum is one long stretch an element. Sums within a
vector are another matter, for their rounding depends on the order; who needs the vectors themselves side by side
takes a column's `values()`, who does not its `dense()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from refutedp.model.outputs import Array


def drawn_by_element(draw: Callable[[tuple[int, ...] | int], Any], n: int, shape: tuple[int, ...] | None) -> Array:
    """What `draw` makes for n runs, each of this shape; the runs come first in its shape, and last in memory.

    >>> drawn_by_element(np.zeros, 5, (2,)).strides
    (8, 40)
    """
    if shape is None:
        return np.asarray(draw(n))
    if len(shape) == 1:
        return np.asarray(draw((*shape, n))).T
    return np.asarray(draw((n, *shape)))


def take_runs(array: Array, indices: Array) -> Array:
    """Some of the runs, in the layout that they have."""
    if array.ndim == 2 and array.flags.f_contiguous:
        return array.T.take(indices, axis=1).T
    return array.take(indices, axis=0)


def dense(array: Array) -> Array:
    """The array, without gaps in memory, in either layout."""
    return array if array.flags.f_contiguous else np.ascontiguousarray(array)
