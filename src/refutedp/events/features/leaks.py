"""Features of the leaks that real code has: noise that is shared, low bits of floats, residues of integers."""

from __future__ import annotations

import numpy as np

from refutedp.events.features.basic import NUMBERS, BaseFeature, Computed, Scalar, Statistic, Value, leaf_at
from refutedp.model.outputs import Array, Group, Path

LARGEST_DIGIT = 1023
"""No float has a last binary digit beyond."""
NO_LAST_DIGIT = 5000
"""Stands for the last binary digit of zero, which is a multiple of everything; inf and nan have no digits."""


class Difference(Computed, frozen=True, tag="difference"):
    """One number of the output less another: noise that is shared cancels, and the data shows.

    >>> Difference((1,), (0,)).words()
    'output[1] - output[0]'
    """

    left: Path
    right: Path

    def column(self, group: Group) -> Array | Scalar:
        """A number a row; None where the shape lacks one of the two."""
        left, right = (leaf_at(path, group, *NUMBERS) for path in (self.left, self.right))
        if left is None or right is None:
            return None
        return _less(np.asarray(left), np.asarray(right))

    def words(self) -> str:
        """As a programmer writes it."""
        return f"{Value(self.left).words()} - {Value(self.right).words()}"


class Spread(Computed, frozen=True, tag="spread"):
    """The largest number of the output less the smallest."""

    said = "max(output) - min(output)"

    def column(self, group: Group) -> Array | Scalar:
        """A number a row; None where the output is a scalar or has no numbers."""
        low, high = Statistic("min").column(group), Statistic("max").column(group)
        if low is None or high is None:
            return None
        return _less(np.asarray(high), np.asarray(low))


DIGITS = 40
"""Bits of the larger number that a difference keeps: what is below them tells how floats were rounded."""


def _less(left: Array, right: Array) -> Array:
    """The difference, without the digits that rounding alone makes: these may leak where real numbers do not."""
    with np.errstate(all="ignore"):
        one, other = left.astype(np.float64), right.astype(np.float64)
        difference: Array = one - other
        if left.dtype.kind != "f" and right.dtype.kind != "f":
            return difference
        exponents = np.frexp(np.maximum(np.abs(one), np.abs(other)))[1] - DIGITS
        rounded: Array = np.ldexp(np.rint(np.ldexp(difference, -exponents)), exponents)
        return rounded


class Special(BaseFeature, frozen=True, tag="special"):
    """Whether a float is finite, nan, inf or -inf; with `zeros`, whether it is -0.0, which equals 0.0."""

    path: Path = ()
    zeros: bool = False

    def column(self, group: Group) -> Array | Scalar:
        """A name a row."""
        leaf = leaf_at(self.path, group, np.float64)
        if leaf is None:
            return None
        if self.zeros:
            return np.asarray(np.array(["not -0.0", "-0.0"], dtype=object)[((leaf == 0) & np.signbit(leaf)) * 1])
        names = np.array(["finite", "nan", "inf", "-inf"], dtype=object)
        return np.asarray(names[np.isnan(leaf) * 1 + np.isposinf(leaf) * 2 + np.isneginf(leaf) * 3])

    def words(self) -> str:
        """As a programmer writes it."""
        return Value(self.path).words()

    def equals(self, value: Scalar) -> str | None:
        """What it is."""
        return f"{self.words()} is {value}"


class Magnitude(BaseFeature, frozen=True, tag="magnitude"):
    """The absolute value of a number."""

    path: Path = ()

    def column(self, group: Group) -> Array | Scalar:
        """A number a row."""
        leaf = leaf_at(self.path, group, *NUMBERS)
        return None if leaf is None else np.abs(leaf)

    def words(self) -> str:
        """As a programmer writes it."""
        return f"abs({Value(self.path).words().removeprefix('the ')})"


class Residue(BaseFeature, frozen=True, tag="residue"):
    """An integer modulo another: a sampler with a periodic defect shows there."""

    modulus: int
    path: Path = ()

    def column(self, group: Group) -> Array | Scalar:
        """An integer a row."""
        # Integers beyond 64 bits come as objects, and so do strings.
        leaf = leaf_at(self.path, group, np.int64, object)
        if leaf is None or group.shape.kinds[group.shape.paths.index(self.path)] != "int":
            return None
        return np.asarray(leaf % self.modulus, dtype=np.int64)

    def words(self) -> str:
        """As a programmer writes it."""
        return f"{Value(self.path).words()} mod {self.modulus}"


class LastDigit(BaseFeature, frozen=True, tag="last_digit"):
    """The exponent of the last binary digit of a float: k when it is a multiple of 2^k and not of 2^(k+1).

    Noise added to 0 keeps digits that noise added to 1 must round away: the grid on which an output lies shows where
    it comes from, however the noise was drawn.
    """

    path: Path = ()

    def column(self, group: Group) -> Array | Scalar:
        """An integer a row."""
        leaf = leaf_at(self.path, group, np.float64)
        return None if leaf is None else last_digits(leaf)

    def words(self) -> str:
        """As a person says it."""
        return f"the exponent of the last binary digit of {Value(self.path).words()}"

    def between(self, low: float | None, high: float | None) -> str | None:
        """Multiples of powers of two."""
        parts = []
        if low is not None:
            parts.append("zero or not finite" if low > LARGEST_DIGIT else f"a multiple of 2^{low:g}")
        if high is not None:
            parts.append("finite and not zero" if high > LARGEST_DIGIT else f"no multiple of 2^{high:g}")
        return f"{Value(self.path).words()} is {' and '.join(parts)}"

    def equals(self, value: Scalar) -> str | None:
        """Its last digit."""
        if value == NO_LAST_DIGIT:
            return f"{Value(self.path).words()} is zero or not finite"
        return f"the last binary digit of {Value(self.path).words()} is that of 2^{value}"


def last_digits(values: Array) -> Array:
    """The exponent of the lowest set bit of each float.

    >>> last_digits(np.array([1.0, 0.75, 0.0, 2.0**-60])).tolist()
    [0, -2, 5000, -60]
    """
    with np.errstate(invalid="ignore"):
        mantissa, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1]
    return np.where(whole == 0, NO_LAST_DIGIT, exponent - 53 + lowest - 1).astype(np.int64)
