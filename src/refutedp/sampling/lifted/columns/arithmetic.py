"""Python's own arithmetic on columns, exact to the last bit and to the last exception.

Where NumPy's arrays and Python's scalars differ (a zero divisor, an overflow, `**`, `round`), the operation either
follows Python, splitting off the runs that would raise, or refuses.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.execution import Run

SAFE = 2**53
"""Integers up to here are exact in both int64 and float64."""


def guard_integers(run: Run, combine: Callable[[int, int], int], a: Any, b: Any) -> None:
    """Refuse an integer operation that could leave the range in which int64 and Python's int agree."""
    bounds = [[int(np.min(x)), int(np.max(x))] for x in (a, b)]
    extremes = [combine(x, y) for x in bounds[0] for y in bounds[1]]
    if max(map(abs, extremes)) > SAFE:
        run.refuse("it computes with integers beyond 2**53")


def guard_exponent(run: Run, base: Any, exponent: Any) -> None:
    """Refuse integers to powers that are negative in some runs: NumPy would raise for all of them."""
    kinds = {np.asarray(base).dtype.kind, np.asarray(exponent).dtype.kind}
    if "f" not in kinds and np.any(np.less(exponent, 0)):
        run.refuse("it raises integers to negative powers")


def guard_zero(run: Run, divisor: Any, what: str) -> None:
    """Raise ZeroDivisionError in the runs whose divisor is zero, as Python does; the others go on."""
    zero = np.equal(divisor, 0)
    if run.branch(zero) if isinstance(zero, np.ndarray) else zero:
        raise ZeroDivisionError(what)


_ERRORS = (ValueError, OverflowError, ZeroDivisionError)


def elementwise(run: Run, function: Callable[..., Any], operands: tuple[Any, ...]) -> Array:
    """`function` of Python's library on every run; runs in which it raises are split off and raise.

    Always exactly one decision, which kind of error if any, so that parts retrace it whatever they contain.
    """
    n = run.n
    lists = [x.tolist() if isinstance(x, np.ndarray) else [x] * n for x in operands]
    try:
        result = np.fromiter(map(function, *lists), np.float64, n)
    except _ERRORS:
        codes = np.array([_error_code(function, row) for row in zip(*lists, strict=True)])
    except TypeError:
        run.refuse("it computes a complex number")
    else:
        run.branch_never()
        return result
    code = run.resolve(codes, "the kind of error")
    if code:
        raise _ERRORS[code - 1](f"{function.__name__} of a drawn value")
    alive = [row for row, failed in zip(zip(*lists, strict=True), codes.tolist(), strict=True) if not failed]
    return np.array([function(*row) for row in alive], dtype=np.float64)


def _error_code(function: Callable[..., Any], row: tuple[Any, ...]) -> int:
    try:
        function(*row)
    except _ERRORS as error:
        return 1 + next(code for code, kind in enumerate(_ERRORS) if type(error) is kind)
    return 0


def to_integers(run: Run, values: Array, how: Callable[[Array], Array]) -> Array:
    """Floats to Python ints by `how` (trunc, floor, ceil or rint); NaN and infinities raise as Python's do."""
    bad = np.isnan(values)
    if run.branch(bad):
        raise ValueError("cannot convert float NaN to integer")
    if bad.any():
        values = values[~bad]
    bad = np.isinf(values)
    if run.branch(bad):
        raise OverflowError("cannot convert float infinity to integer")
    if bad.any():
        values = values[~bad]
    whole = how(values)
    if len(whole) and np.abs(whole).max() > SAFE:
        run.refuse("it computes with integers beyond 2**53")
    return whole.astype(np.int64)


def round_digits(values: Array, digits: int) -> Array:
    """Python's correctly rounded `round(x, digits)`."""
    return np.fromiter((round(x, digits) for x in values.tolist()), np.float64, len(values))


def round_integers(values: Array, digits: int) -> Array:
    """Python's `round(n, digits)` of integers: to the even neighbour in the middle.

    >>> round_integers(np.array([15, 25, -15, 26]), -1)
    array([ 20,  20, -20,  30])
    """
    if digits >= 0:
        return values
    if digits < -15:
        return np.zeros_like(values)
    step = 10**-digits
    whole, rest = np.divmod(values, step)
    up = (2 * rest > step) | ((2 * rest == step) & (whole % 2 == 1))
    return np.asarray((whole + up) * step)


def power(run: Run, base: Any, exponent: Any) -> Array:
    """Python's `**` on floats."""
    return elementwise(run, operator.pow, (base, exponent))


def numpy_power(run: Run, base: Any, exponent: Any) -> Array:
    """`**` of NumPy's scalars, which is that of the C library for floats.

    np.power of an array is not: it squares by multiplying, and some processors have a faster way for the rest, which
    differs in the last bit of one value in twenty.
    """
    guard_exponent(run, base, exponent)
    floats = "f" in {np.asarray(base).dtype.kind, np.asarray(exponent).dtype.kind}
    result: Array = (np.float_power if floats else np.power)(base, exponent)
    return result
