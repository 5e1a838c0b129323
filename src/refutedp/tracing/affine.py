"""Symbols for Gaussian noise: numbers and arrays that are affine in standard draws, and all that can be done to them.

Each is a number and so much of every draw, right but for what floats round off, of which a bound is carried along.
Whatever is not affine ends the run: a comparison, a branch, a rounding, a function that is not listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.tracing.rng_proxy import Traced

Floats: TypeAlias = NDArray[np.float64]

FARTHEST = 40.0
"""Standard draws are smaller than this; all others together have a probability below 1e-300."""
_STANDARD = (np.dtype(np.bool_), np.dtype(np.int64), np.dtype(np.float64))
"""Beside others, such as short floats, a result may be rounded more coarsely."""
_ULP = 2.0**-51
"""What one operation on floats rounds off at most, as a part of the result; twice over."""


class Trace(Protocol):
    """The run that symbols belong to."""

    count: int
    """How many standard draws there were so far."""
    stored: bool
    """Whether a symbol was to be put where only plain floats can be."""

    def refuse(self, why: str) -> NoReturn:
        """End the run."""


class Affine(Traced):
    """A number or an array of them: `at` and `per` (the last axis counts draws), right but for `error`."""

    __slots__ = ("at", "error", "per", "python", "trace")
    # NumPy's own operators leave it to ours, in place too.
    __array_ufunc__ = None

    def __init__(self, trace: Trace, at: Floats, per: Floats, error: Floats, python: bool = False) -> None:
        self.trace = trace
        self.at = at
        self.per = per
        self.error = error
        self.python = python
        """Whether it stands for a float of Python, not one of NumPy."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.ndarray if self.at.ndim else float if self.python else np.float64

    def per_draw(self, count: int) -> Floats:
        """`per` for so many draws."""
        missing = count - self.per.shape[-1]
        return self.per if not missing else np.pad(self.per, [*([(0, 0)] * self.at.ndim), (0, missing)])

    def as_python(self) -> Affine:
        """As a float of Python."""
        if self.at.ndim:
            self._no()
        return Affine(self.trace, self.at, self.per, self.error, True)

    @property
    def largest(self) -> Floats:
        """No smaller than the number itself may be."""
        return np.asarray(np.abs(self.at) + FARTHEST * np.abs(self.per).sum(axis=-1) + self.error)

    def _no(self, *_: Any, **__: Any) -> NoReturn:
        self.trace.refuse("it does what is not affine to its noise")

    def _result(self, at: Any, per: Any, error: Any, python: bool) -> Affine:
        found = made(self.trace, at, per, error, python)
        if not np.isfinite(found.largest).all():
            self._no()
        return made(self.trace, at, per, found.error + _ULP * found.largest, python)

    def _constant(self, other: Any) -> Floats:
        """Numbers, as floats."""
        if isinstance(other, list | tuple) and not self.at.ndim:
            self._no()
        array = np.asarray(other)
        if array.dtype not in _STANDARD:
            self._no()
        return array.astype(np.float64)

    def _python_with(self, other: Any) -> bool:
        return self.python and (
            other.python if isinstance(other, Affine) else not isinstance(other, np.generic | np.ndarray)
        )

    def __add__(self, other: Any) -> Affine:
        python = self._python_with(other)
        if not isinstance(other, Affine):
            at = self._constant(other)
            other = made(self.trace, at, np.zeros((*at.shape, 0)), np.zeros(at.shape))
        count, wide = max(self.per.shape[-1], other.per.shape[-1]), max(self.at.ndim, other.at.ndim)
        one, two = (_spread(value.per_draw(count), value.at.ndim, wide) for value in (self, other))
        return self._result(self.at + other.at, one + two, self.error + other.error, python)

    __radd__ = __add__

    def __neg__(self) -> Affine:
        return made(self.trace, -self.at, -self.per, self.error, self.python)

    def __pos__(self) -> Affine:
        return self + 0.0

    def __sub__(self, other: Any) -> Affine:
        if isinstance(other, Affine):
            return self + -other
        less: Affine = self + (-self._constant(other) if np.ndim(other) else -other)
        return less

    def __rsub__(self, other: Any) -> Affine:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Affine:
        if isinstance(other, Affine):
            self._no()
        factor = self._constant(other)
        wide = max(self.at.ndim, factor.ndim)
        per = _spread(self.per, self.at.ndim, wide) * factor[..., None]
        return self._result(self.at * factor, per, self.error * np.abs(factor), self._python_with(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Affine:
        if isinstance(other, Affine):
            self._no()
        divisor = self._constant(other)
        if not np.all(divisor):
            self._no()
        return self * (1 / divisor if divisor.ndim else 1 / float(divisor))

    def __round__(self, digits: Any = None) -> Affine:
        if not isinstance(digits, int):
            self._no()
        return made(self.trace, self.at, self.per, self.error + 0.5 * 10.0**-digits, self.python)

    def _put(self, *_: Any, **__: Any) -> NoReturn:
        self.trace.stored = True
        self._no()

    __float__ = __array__ = _put

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._no()

    __array_function__ = __int__ = __index__ = __complex__ = __bool__ = _no
    __lt__ = __le__ = __gt__ = __ge__ = __abs__ = __trunc__ = __floor__ = __ceil__ = _no
    __pow__ = __rpow__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rtruediv__ = _no
    __str__ = __repr__ = __format__ = __reduce_ex__ = _no
    __eq__ = __ne__ = __hash__ = _no


class AffineArray(Affine):
    """An array of them. What it is written to in one place is not seen through others: lifted runs find that out."""

    __slots__ = ()

    def __matmul__(self, other: Any) -> Any:
        return self.__rmatmul__(np.asarray(other).T)

    def __rmatmul__(self, other: Any) -> Any:
        if isinstance(other, Affine) or self.at.ndim != 1:
            self._no()
        matrix = self._constant(other)
        if matrix.ndim not in (1, 2) or matrix.shape[-1] != len(self.at):
            self._no()
        terms = len(self.at) * _ULP * (np.abs(matrix) @ self.largest)
        return self._result(matrix @ self.at, matrix @ self.per, np.abs(matrix) @ self.error + terms, False)

    def __getitem__(self, key: Any) -> Affine:
        parts = key if type(key) is tuple else (key,)
        if not all(type(part) in (int, slice) for part in parts):
            self._no()
        at, per, error = (np.array(part[key]) for part in (self.at, self.per, self.error))
        return made(self.trace, at, per, error)

    def __setitem__(self, key: Any, value: Any) -> None:
        parts = key if type(key) is tuple else (key,)
        if not all(type(part) in (int, slice) for part in parts):
            self._no()
        value = value if isinstance(value, Affine) else stacked(self.trace, value)
        self.per = self.per_draw(self.trace.count).copy()
        self.at[key], self.per[key] = value.at, value.per_draw(self.trace.count)
        self.error[key] = value.error

    def __len__(self) -> int:
        return len(self.at)

    def __iter__(self) -> Iterator[Affine]:
        return (self[i] for i in range(len(self)))

    @property
    def shape(self) -> tuple[int, ...]:
        """As the array's."""
        return self.at.shape

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return self.at.ndim

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return self.at.size

    @property
    def dtype(self) -> Any:
        """That of floats."""
        return np.dtype(np.float64)

    def copy(self) -> Affine:
        """The same, written to on its own."""
        return made(self.trace, self.at.copy(), self.per.copy(), self.error.copy())

    def round(self, digits: int = 0) -> Affine:
        """Rounded to digits."""
        return round(self, digits)

    def tolist(self) -> Any:
        """Lists of Python's floats."""
        return [one.tolist() if isinstance(one, AffineArray) else one.as_python() for one in self]

    def sum(self, axis: Any = None) -> Affine:
        """Over all numbers, or along an axis."""
        if axis is not None and not (type(axis) is int and -self.at.ndim <= axis < self.at.ndim):
            self._no()
        axes = tuple(range(self.at.ndim)) if axis is None else (axis % self.at.ndim,)
        terms = self.at.size * _ULP * self.largest.sum(axis=axes)
        return self._result(self.at.sum(axis=axes), self.per.sum(axis=axes), self.error.sum(axis=axes) + terms, False)

    def mean(self, axis: Any = None) -> Affine:
        """The same, averaged."""
        return self.sum(axis) / (self.at.size if axis is None else self.at.shape[axis])

    __contains__ = __delitem__ = Affine._no


class Clipped(Traced):
    """A symbol, or an array of them, clipped to an interval: it can be rounded to digits, and returned."""

    __slots__ = ("high", "inner", "low")
    __array_ufunc__ = None

    def __init__(self, inner: Affine, low: float, high: float) -> None:
        self.inner = inner
        self.low = low
        self.high = high

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self.inner.__class__

    def within(self, inner: Affine) -> Clipped:
        """Another symbol in the same interval."""
        return Clipped(inner, self.low, self.high)

    def __round__(self, digits: Any = None) -> Clipped:
        return self.within(round(self.inner, digits))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._no()

    def _no(self, *_: Any, **__: Any) -> NoReturn:
        self.inner.trace.refuse("it does to clipped noise what is not followed")

    __array_function__ = __array__ = __float__ = __int__ = __index__ = __complex__ = __bool__ = _no
    __lt__ = __le__ = __gt__ = __ge__ = __abs__ = __trunc__ = __floor__ = __ceil__ = __neg__ = __pos__ = _no
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __matmul__ = _no
    __pow__ = __rpow__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rmatmul__ = _no
    __str__ = __repr__ = __format__ = __reduce_ex__ = __len__ = __iter__ = __getitem__ = __contains__ = _no
    __eq__ = __ne__ = __hash__ = _no


def is_symbol(value: Any) -> bool:
    """Whether it is a symbol, clipped or not."""
    return isinstance(value, Affine) or type(value) is Clipped


def made(trace: Trace, at: Any, per: Any, error: Any, python: bool = False) -> Affine:
    """A symbol, or an array of them, as the shape of `at` says."""
    kind = AffineArray if np.ndim(at) else Affine
    return kind(trace, np.asarray(at), np.asarray(per), np.asarray(error), python)


def _spread(per: Floats, ndim: int, wide: int) -> Floats:
    """With unit axes, so that the last axis goes on counting draws where arrays of other shapes are met."""
    return per.reshape(*([1] * (wide - ndim)), *per.shape)


def holds_symbols(value: Any) -> bool:
    """Whether it is a symbol, or a list or tuple with one in it."""
    return is_symbol(value) or (type(value) in (list, tuple) and any(map(holds_symbols, value)))


def stacked(trace: Trace, values: Any) -> Affine:
    """As `np.array` of numbers and symbols, nested in lists."""
    if isinstance(values, Affine):
        return values
    if type(values) is Clipped:
        trace.refuse("it computes with clipped noise")
    if not holds_symbols(values):
        at = made(trace, np.zeros(1), np.zeros((1, 0)), np.zeros(1))._constant(values)
        return made(trace, at, np.zeros((*at.shape, 0)), np.zeros(at.shape))
    parts = [stacked(trace, value) for value in values]
    if len({part.at.shape for part in parts}) != 1:
        trace.refuse("it makes an array of parts of several shapes")
    per = np.stack([part.per_draw(trace.count) for part in parts])
    return made(trace, np.stack([part.at for part in parts]), per, np.stack([part.error for part in parts]))
