"""What the numbers of a claim must be; otherwise one sentence that names the argument, the value and the remedy."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from refutedp.model.errors import UsageError


def positive_number(name: str, value: Any) -> float:
    """`value` as a float if it is a positive finite number; otherwise one sentence that says what is wrong."""
    number = _number(name, value, "a positive number")
    if number <= 0:
        raise UsageError(f"{name}={value!r} must be positive")
    return number


def number_from_zero(name: str, value: Any) -> float:
    """`value` as a float if it is zero or positive and finite."""
    number = _number(name, value, "a number of at least zero")
    if number < 0:
        raise UsageError(f"{name}={value!r} must not be negative")
    return number


def small_probability(name: str, value: Any) -> float:
    """`value` as a float if it lies in [0, 1)."""
    number = number_from_zero(name, value)
    if number >= 1:
        raise UsageError(f"{name}={value!r} must be below 1: with {name} of 1 everything is permitted")
    return number


def order_above_one(name: str, value: Any) -> float:
    """`value` as a float if it is a finite Rényi order, greater than one."""
    number = _number(name, value, "a number above 1")
    if number <= 1:
        raise UsageError(f"{name}={value!r} must be greater than 1, as the order of a Rényi divergence")
    return number


def _number(name: str, value: Any, wanted: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(f"{name}={value!r} must be a number, not a {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        raise UsageError(f"{name}=nan must be {wanted}")
    if math.isinf(number):
        raise UsageError(f"{name}={value!r} must be finite: nothing can violate an infinite privacy budget")
    return number
