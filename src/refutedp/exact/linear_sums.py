"""Sums of draws, or of monotone functions of single draws, times numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from refutedp.tracing.rng_proxy import Traced

Function: TypeAlias = Callable[[float], float]
UNIT = 2.0**-52
"""What one operation may be off by, as a part of its result."""


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """A monotone function of one draw; the draw itself where `function` is None."""

    draw: int
    function: Function | None = None
    increases: bool = True

    def at(self, value: float) -> float:
        """Its value where the draw has this one."""
        return value if self.function is None else self.function(value)


@dataclass(frozen=True, slots=True)
class Linear:
    """A sum of atoms times numbers, plus a number; right to `slack`."""

    terms: tuple[tuple[Atom, float], ...]
    plus: float = 0.0
    slack: float = 0.0

    def at(self, values: list[float]) -> float:
        """Its value for these draws."""
        return sum(times * atom.at(values[atom.draw]) for atom, times in self.terms) + self.plus


@dataclass(frozen=True, slots=True)
class Relation:
    """What a comparison of several draws says: the sum is at most `end`, or it is larger."""

    sum: Linear
    end: float
    above: bool


def with_value(linear: Linear, number: int, value: float) -> Linear:
    """The sum where one draw has this value."""
    kept = tuple((atom, times) for atom, times in linear.terms if atom.draw != number)
    fixed = sum(times * atom_at(atom, value) for atom, times in linear.terms if atom.draw == number)
    plus = linear.plus + fixed
    return Linear(kept, plus, linear.slack + 2.0**-52 * abs(plus))


def atom_at(atom: Atom, x: float) -> float:
    """The value of an atom, infinite where floats end."""
    try:
        return atom.at(x)
    except OverflowError:
        return math.inf if atom.increases == (x > 0) else -math.inf


def numbers_of(linear: Linear) -> list[float]:
    """The numbers in a sum."""
    return [float(linear.plus), *(float(times) for _, times in linear.terms)]


def moved(linear: Linear, number: float) -> Linear:
    """The sum plus a number."""
    plus = linear.plus + number
    return Linear(linear.terms, plus, linear.slack + UNIT * abs(plus) * (linear.plus != 0))


def added(one: Linear, other: Linear, sign: float) -> Linear:
    """One sum plus, or minus, another."""
    times: dict[Atom, float] = dict(one.terms)
    for atom, factor in other.terms:
        same = next((known for known in times if known is atom or _alike(known, atom)), atom)
        times[same] = times.get(same, 0.0) + sign * factor
    plus = one.plus + sign * other.plus
    slack = one.slack + other.slack + UNIT * abs(plus) * (one.plus != 0 and other.plus != 0)
    return Linear(tuple((atom, factor) for atom, factor in times.items() if factor != 0), plus, slack)


def _alike(one: Atom, other: Atom) -> bool:
    return one.draw == other.draw and one.function is other.function


def plain(value: Any) -> float | int | None:
    """A plain number, or None."""
    if isinstance(value, Traced):
        return None
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, int | float):
        return value
    if isinstance(value, np.generic) and isinstance(value, np.integer | np.floating):
        number: float | int = value.item()
        return number
    return None


def exponential(t: float) -> float:
    """e^t, infinite where floats end."""
    return math.exp(t) if t < 709.7 else math.inf
