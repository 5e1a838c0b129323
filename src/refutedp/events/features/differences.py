"""Features of noise that is shared: each number looks private by itself, and their differences give the data away."""

from __future__ import annotations

import numpy as np

from refutedp.events.features.basic import BaseFeature, Scalar, Statistic, Value, plain
from refutedp.model.outputs import Array, Group, Path


class Difference(BaseFeature, frozen=True, tag="difference"):
    """One number of the output less another.

    >>> Difference((1,), (0,)).words()
    'output[1] - output[0]'
    """

    left: Path
    right: Path

    def column(self, group: Group) -> Array | Scalar:
        """A number a row; None where the shape lacks one of the two."""
        left, right = Value(self.left).column(group), Value(self.right).column(group)
        if not (_numbers(left) and _numbers(right)):
            return None
        with np.errstate(all="ignore"):
            return np.asarray(left, dtype=np.float64) - np.asarray(right, dtype=np.float64)

    def words(self) -> str:
        """How a programmer would write it."""
        return f"{Value(self.left).words()} - {Value(self.right).words()}"

    def equals(self, value: Scalar) -> str | None:
        """A whole number without the point that its column has."""
        return f"{self.words()} = {plain(value)}"


class Spread(BaseFeature, frozen=True, tag="spread"):
    """The largest number of the output less the smallest."""

    def column(self, group: Group) -> Array | Scalar:
        """A number a row; None where the output is a scalar or has no numbers."""
        low, high = Statistic("min").column(group), Statistic("max").column(group)
        if not (_numbers(low) and _numbers(high)):
            return None
        with np.errstate(all="ignore"):
            spread: Array = np.asarray(high) - np.asarray(low)
        return spread

    def words(self) -> str:
        """How a programmer would write it."""
        return "max(output) - min(output)"

    def equals(self, value: Scalar) -> str | None:
        """A whole number without the point that its column has."""
        return f"{self.words()} = {plain(value)}"


def _numbers(column: Array | Scalar) -> bool:
    return isinstance(column, np.ndarray) and column.dtype in (np.float64, np.int64)
