"""Weighted sums of what an output holds: what several coordinates together tell, as one number."""

from __future__ import annotations

import math
from typing import TypeAlias

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from refutedp.events.features import basic, leaks
from refutedp.events.features.basic import Computed, Scalar, as_floats, equal
from refutedp.model.outputs import Array, Group

Summand: TypeAlias = (
    basic.Value
    | basic.Last
    | basic.Length
    | basic.Type
    | basic.Form
    | basic.Has
    | basic.Kind
    | basic.Count
    | basic.Statistic
    | leaks.Difference
    | leaks.Special
    | leaks.Residue
)
"""What a term of a sum may look at."""
MOST_TERMS_SAID = 5
"""Terms of a sum that are written out; the others are counted."""


class Factor(msgspec.Struct, frozen=True, omit_defaults=True):
    """A number of the output; or 1 where a condition holds and 0 where it does not.

    The condition is that the feature equals a value, if one is given, or else lies in [low, high).
    A truth value counts 1 or 0 as a number; where the output has no such number, 0 stands for it.

    >>> from refutedp.events.features.basic import Value
    >>> print(Factor(Value((2,))), "|", Factor(Value((1,)), equals=True), "|", Factor(Value((0,)), low=1.5))
    output[2] | output[1] = True | output[0] >= 1.5
    """

    of: Summand
    equals: Scalar | UnsetType = UNSET
    low: float | None = None
    high: float | None = None

    # Features are keys of tables, and True is not 1, though they are equal.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Factor) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return self.of, type(self.equals), self.equals, self.low, self.high

    @property
    def is_condition(self) -> bool:
        """Whether it is 1 or 0."""
        return self.equals is not UNSET or self.low is not None or self.high is not None

    def column(self, group: Group) -> Array | float:
        """A number for every row, or one for all."""
        column = self.of.column(group)
        return _as_number(self.holds(column)) if self.is_condition else _numbers(column)

    def holds(self, column: Array | Scalar) -> Array | bool:
        """Whether the condition holds, by its feature's column: for every row, or once for all."""
        if self.equals is not UNSET:
            return equal(column, self.equals)
        numbers = _numbers(column)
        above = np.asarray(True) if self.low is None else np.asarray(numbers >= self.low)
        return above if self.high is None else above & (np.asarray(numbers) < self.high)

    def __str__(self) -> str:
        if self.equals is not UNSET:
            return self.of.equals(self.equals) or f"{self.of.words()} = {self.equals!r}"
        name = self.of.words()
        if self.low is not None and self.high is not None:
            return f"{_short(self.low)} <= {name} < {_short(self.high)}"
        if self.low is not None:
            return f"{name} >= {_short(self.low)}"
        return name if self.high is None else f"{name} < {_short(self.high)}"


class Term(msgspec.Struct, frozen=True):
    """A weight, times the product of its factors: conditions multiplied hold together.

    >>> from refutedp.events.features.basic import Value
    >>> print(Term(2.5, (Factor(Value((0,))),)))
    2.5*output[0]
    """

    weight: float
    factors: tuple[Factor, ...]

    @property
    def is_condition(self) -> bool:
        """Whether it is its weight or 0."""
        return all(factor.is_condition for factor in self.factors)

    def column(self, group: Group) -> Array | float:
        """The term for every row, or one number for all."""
        total: Array | float = self.weight
        for factor in self.factors:
            total = total * factor.column(group)
        return total

    def conditions(self) -> str:
        """What must hold."""
        return " and ".join(str(factor) for factor in self.factors if factor.is_condition)

    def __str__(self) -> str:
        return f"-{self.positive()}" if self.weight < 0 else self.positive()

    def positive(self) -> str:
        """It in words without its sign."""
        size = abs(self.weight)
        numbers = [str(factor) for factor in self.factors if not factor.is_condition]
        number = "*".join([*([] if size == 1 and numbers else [_short(size)]), *numbers])
        return f"({number} if {self.conditions()})" if any(f.is_condition for f in self.factors) else number


_MOST_IN_A_CASE = 10
"""Of so many conditions it is said which hold, where a sum says that."""
_ROUNDING = 1e-9


class WeightedSum(Computed, frozen=True, tag="weighted_sum"):
    """The sum of weighted numbers and conditions, the most telling term first.

    It is computed term by term, in floats, so that it does not depend on how many runs are looked at together. A sum
    with a term that is nan is nan, which lies in no interval.

    >>> from refutedp.events.features.basic import Value
    >>> WeightedSum((Term(1.0, (Factor(Value((0,))),)), Term(-2.0, (Factor(Value((1,)), equals="b"),)))).words()
    "output[0] - (2 if output[1] = 'b')"
    """

    terms: tuple[Term, ...]

    def column(self, group: Group) -> Array | Scalar:
        """A number a row, or one for all."""
        total: Array | float = 0.0
        with np.errstate(all="ignore"):
            for term in self.terms:
                column = term.column(group)
                if isinstance(total, np.ndarray):
                    total += column
                else:
                    total = total + column
        if not self.counts:
            return total
        return total.astype(np.int64) if isinstance(total, np.ndarray) else int(total)

    @property
    def counts(self) -> bool:
        """Whether it says how many of some conditions hold, a whole number."""
        return all(term.is_condition and term.weight == 1 for term in self.terms)

    def words(self) -> str:
        """The first terms, and how many others there are."""
        if self.counts:
            return f"how many of these {len(self.terms)} hold ({_listed([t.conditions() for t in self.terms])})"
        said = self.terms[:MOST_TERMS_SAID]
        text = str(said[0]) + "".join(f" {'-' if term.weight < 0 else '+'} {term.positive()}" for term in said[1:])
        others = len(self.terms) - len(said)
        return f"{text} + {others:,} further terms" if others else text

    def between(self, low: float | None, high: float | None) -> str | None:
        """Conditions of one weight are counted, not added; many terms are said after the bound."""
        if self.counts:
            return self._counted(low, high)
        return self._only_case(-math.inf if low is None else low, math.inf if high is None else high)

    def equals(self, value: Scalar) -> str | None:
        """How many of the conditions hold, or which; else as for other numbers.

        >>> from refutedp.events.features.basic import Value
        >>> said = [Factor(Value((i,)), equals=True) for i in range(3)]
        >>> some = WeightedSum(tuple(Term(weight, (one,)) for weight, one in zip((1.0, 0.7, -0.2), said)))
        >>> some.equals(1.7)
        'output[0] = True and output[1] = True, and not output[2] = True'
        """
        if not isinstance(value, (int, float)) or not self._adds_conditions:
            return Computed.equals(self, value)
        if self.counts:
            return self._counted(value, value + 0.5)
        case = self._only_case(value - _ROUNDING, value + _ROUNDING)
        return case or f"{self.words()} = {_short(round(value, 9))}"

    @property
    def _adds_conditions(self) -> bool:
        return all(term.is_condition for term in self.terms)

    def _only_case(self, low: float, high: float) -> str | None:
        """Which conditions hold and which do not, where that is the only way to get a sum with low <= sum < high."""
        if not self._adds_conditions or len(self.terms) > _MOST_IN_A_CASE:
            return None
        cases = np.arange(2 ** len(self.terms))[:, None] >> np.arange(len(self.terms)) & 1
        totals = np.zeros(len(cases))
        for number, term in enumerate(self.terms):
            # In the order in which runs are added up.
            totals += np.where(cases[:, number], term.weight, 0.0)
        right = np.flatnonzero((totals >= low) & (totals < high))
        if len(right) != 1:
            return None
        hold, others = (
            [term.conditions() for term, here in zip(self.terms, cases[right[0]], strict=True) if here == wanted]
            for wanted in (1, 0)
        )
        if not hold:
            return f"none of these {len(others)} hold: {_listed(others)}"
        without = f"and not {others[0]}" if len(others) == 1 else f"and none of: {_listed(others)}"
        return " and ".join(hold) + (f", {without}" if others else "")

    def among(self, values: tuple[Scalar, ...]) -> str | None:
        """How many of the conditions hold, one of several numbers.

        >>> from refutedp.events.features.basic import Value
        >>> some = WeightedSum(tuple(Term(1.0, (Factor(Value((i,)), equals=True),)) for i in range(4)))
        >>> some.among((0, 1, 3))
        '0, 1 or 3 of these 4 hold: output[0] = True, output[1] = True, output[2] = True, output[3] = True'
        """
        if not self.counts:
            return None
        if len(values) == 1:
            return self.equals(values[0])
        *most, last = map(str, values)
        names = _listed([term.conditions() for term in self.terms])
        return f"{', '.join(most)} or {last} of these {len(self.terms)} hold: {names}"

    def _counted(self, low: float | None, high: float | None) -> str | None:
        """How many of the conditions must hold."""
        least = 0 if low is None else max(math.ceil(low), 0)
        most = len(self.terms) if high is None else math.ceil(high) - 1
        names = [term.conditions() for term in self.terms]
        if (low is None and high is None) or len(names) == 1:
            return None
        if most >= len(names):
            if least == len(names):
                return " and ".join(names)
            how_many = f"at least {least}"
        elif least == most:
            how_many = f"exactly {least}" if least else "none"
        else:
            how_many = f"at most {most}" if least == 0 else f"{least} to {most}"
        return f"{how_many} of these {len(names)} hold: {_listed(names)}"


def _listed(names: list[str]) -> str:
    """The names, or the first of very many."""
    most = 32
    return ", ".join(names if len(names) <= most else [*names[:most], f"and {len(names) - most} others"])


def _numbers(column: Array | Scalar) -> Array | float:
    """Floats, with 0 for what is no number."""
    if isinstance(column, np.ndarray):
        numbers = as_floats(column)
        return np.where(np.isnan(numbers), 0.0, numbers) if column.dtype == object else numbers
    return 0.0 if column is None or isinstance(column, str) else float(as_floats(np.array([column], dtype=object))[0])


def _as_number(mask: Array | bool) -> Array | float:
    return mask.astype(np.float64) if isinstance(mask, np.ndarray) and mask.ndim else float(mask)


def _short(value: float) -> str:
    return f"{value:.6g}" if float(f"{value:.6g}") == value else repr(value)
