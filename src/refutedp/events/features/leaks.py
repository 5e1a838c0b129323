"""Features of the leaks that real code has: low bits of floats, residues of integers, keys that come and go."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from refutedp.events.features.basic import BaseFeature, Scalar, Value
from refutedp.model.outputs import Array, Group, Path, Step

LARGEST_DIGIT = 1023
"""No float has a last binary digit beyond."""
NO_LAST_DIGIT = 5000
"""Stands for the last binary digit of zero, which is a multiple of everything; inf and nan have no digits."""


class Magnitude(BaseFeature, frozen=True, tag="magnitude"):
    """The absolute value of a number."""

    path: Path = ()

    def column(self, group: Group) -> Array | Scalar:
        """A number a row."""
        leaf = Value(self.path).column(group)
        return np.abs(leaf) if isinstance(leaf, np.ndarray) and leaf.dtype in (np.float64, np.int64) else None

    def words(self) -> str:
        """How a programmer would write it."""
        return f"abs({Value(self.path).words().removeprefix('the ')})"


class LastDigit(BaseFeature, frozen=True, tag="last_digit"):
    """The exponent of the last binary digit of a float: k when it is a multiple of 2^k and not of 2^(k+1).

    Noise added to 0 keeps digits that noise added to 1 must round away: the grid on which an output lies shows where
    it comes from, however the noise was drawn.

    >>> import numpy as np
    >>> last_digits(np.array([1.0, 0.75, 0.0, 2.0**-60])).tolist()
    [0, -2, 5000, -60]
    """

    path: Path = ()

    def column(self, group: Group) -> Array | Scalar:
        """An integer a row."""
        leaf = Value(self.path).column(group)
        return last_digits(leaf) if isinstance(leaf, np.ndarray) and leaf.dtype == np.float64 else None

    def words(self) -> str:
        """How a person would say it."""
        return f"the exponent of the last binary digit of {Value(self.path).words()}"

    def between(self, low: float | None, high: float | None) -> str | None:
        """Multiples of powers of two, as people say it."""
        name = Value(self.path).words()
        parts = []
        if low is not None:
            parts.append("zero or not finite" if low > LARGEST_DIGIT else f"a multiple of 2^{low:g}")
        if high is not None:
            parts.append("finite and not zero" if high > LARGEST_DIGIT else f"no multiple of 2^{high:g}")
        return f"{name} is {' and '.join(parts)}"

    def equals(self, value: Scalar) -> str | None:
        """Its last digit."""
        if value == NO_LAST_DIGIT:
            return f"{Value(self.path).words()} is zero or not finite"
        return f"the last binary digit of {Value(self.path).words()} is that of 2^{value}"


def last_digits(values: Array) -> Array:
    """The exponent of the lowest set bit of each float."""
    with np.errstate(invalid="ignore"):
        mantissa, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1]
    return np.where(whole == 0, NO_LAST_DIGIT, exponent - 53 + lowest - 1).astype(np.int64)


class Residue(BaseFeature, frozen=True, tag="residue"):
    """An integer modulo another: a sampler with a periodic defect shows there."""

    modulus: int
    path: Path = ()

    def column(self, group: Group) -> Array | Scalar:
        """An integer a row."""
        leaf = Value(self.path).column(group)
        if not isinstance(leaf, np.ndarray) or group.shape.kinds[group.shape.paths.index(self.path)] != "int":
            return None
        # Integers beyond 64 bits come as objects.
        return np.asarray(leaf % self.modulus, dtype=np.int64) if leaf.dtype in (np.int64, object) else None

    def words(self) -> str:
        """How a programmer would write it."""
        return f"{Value(self.path).words()} mod {self.modulus}"


def reads_digits(event: Any) -> bool:
    """Whether an event looks at the last digits of numbers, in whatever it is made of.

    >>> from refutedp.events.predicates import Interval
    >>> reads_digits(Interval(LastDigit(), None, -50)), reads_digits(Interval(Magnitude(), None, 3))
    (True, False)
    """
    if isinstance(event, LastDigit):
        return True
    if isinstance(event, (list, tuple)):
        return any(map(reads_digits, event))
    return isinstance(event, msgspec.Struct) and any(
        reads_digits(getattr(event, field)) for field in event.__struct_fields__
    )


class Has(BaseFeature, frozen=True, tag="has"):
    """Whether a dict or record has this key."""

    key: Step

    def column(self, group: Group) -> Array | Scalar:
        """One truth value a shape."""
        shape = group.shape
        if shape.length is None or (shape.is_sequence and shape.paths):
            return None
        return any(path[0] == self.key for path in shape.paths)

    def words(self) -> str:
        """How a programmer would write it."""
        return f"{self.key!r} in output"

    def equals(self, value: Scalar) -> str | None:
        """Whether the key is there."""
        return f"the output has {'the' if value else 'no'} key {self.key!r}"
