"""One path of a mechanism: the draws that it made, and what its comparisons say of them.

A mechanism is run again for every path, with a prefix of decisions. At a comparison whose outcome the draws so far
do not decide, the run takes one side, and the other side is left for another run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from refutedp.exact.families import ALL, MOST_VALUES, NONE, DrawFamily, Enclosure, difference, last_where
from refutedp.exact.linear_sums import Atom, Linear, Relation, atom_at, with_value

NEAR = 2.0**-40
"""Values so near to an end, as a part of it, may lie on its other side in other floats."""
MOST_COMPARISONS = 1_000
"""Comparisons on one path, of which most are decided by earlier ones."""
HALVINGS = 4
"""Parts of sixteen, each as likely, from which other draws of a path are taken."""
MOST_STEPS = 400
"""Draws and decisions on one path."""


class CannotEnumerate(BaseException):
    """A path met something that is not followed; no `except Exception` of the mechanism catches it.

    A bare `except` does: how often it was `raised` says so.
    """

    raised: ClassVar[int] = 0

    def __init__(self, why: str) -> None:
        super().__init__(why)
        CannotEnumerate.raised += 1


@dataclass(frozen=True, slots=True)
class Span:
    """The draws between two ends, each right to its slack: what rounding may have moved it by."""

    low: float
    high: float
    low_slack: float = 0.0
    high_slack: float = 0.0

    def cut(self, end: float, slack: float) -> tuple[Span | None, Span | None]:
        """The parts up to the end and beyond it."""
        if end >= self.high:
            return self, None
        if end < self.low:
            return None, self
        return Span(self.low, end, self.low_slack, slack), Span(end, self.high, slack, self.high_slack)

    def mass(self, family: DrawFamily) -> Enclosure:
        """Its probability."""
        if not self.low_slack and not self.high_slack:
            return family.mass(self.low, self.high)
        inner = family.mass(self.low + self.low_slack, self.high - self.high_slack)
        outer = family.mass(self.low - self.low_slack, self.high + self.high_slack)
        return Enclosure(inner.low, outer.high)


@dataclass(frozen=True)
class RemainingDraw:
    """One draw in standard form, and which values are left on this path."""

    family: DrawFamily
    left: tuple[Span, ...]

    @cached_property
    def mass(self) -> Enclosure:
        """The probability of what is left."""
        return sum((one.mass(self.family) for one in self.left), NONE)

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value that is left."""
        return self.left[0].low, self.left[-1].high

    def cut(self, end: float, slack: float) -> tuple[RemainingDraw, RemainingDraw]:
        """The draw up to the end, and beyond it."""
        sides: tuple[list[Span], list[Span]] = ([], [])
        for one in self.left:
            # Of whole numbers, those beyond an end begin with the next one.
            parts = self._cut_whole(one, end) if self.family.whole else one.cut(end, slack)
            for side, part in zip(sides, parts, strict=True):
                if part is not None:
                    side.append(part)
        return RemainingDraw(self.family, tuple(sides[0])), RemainingDraw(self.family, tuple(sides[1]))

    def _cut_whole(self, one: Span, end: float) -> tuple[Span | None, Span | None]:
        if end >= one.high:
            return one, None
        if end < one.low:
            return None, one
        return Span(one.low, math.floor(end)), Span(math.floor(end) + 1, one.high)

    def joined(self, other: RemainingDraw) -> RemainingDraw:
        """What is left here or there."""
        return RemainingDraw(self.family, tuple(sorted((*self.left, *other.left), key=lambda one: one.low)))

    def random_point(self, rng: np.random.Generator) -> float:
        """A value that is left, near an end of what is left as likely as in the middle of it."""
        one = self.left[int(rng.integers(len(self.left)))]
        low, high = one.low + one.low_slack, one.high - one.high_slack
        for _ in range(HALVINGS):
            middle = self.family.point(low, high)
            if rng.random() < 0.5:
                low = middle
            else:
                high = middle
        return self.family.point(low, high)

    def point(self) -> float:
        """A value in the likeliest interval."""
        best = max(self.left, key=lambda one: one.mass(self.family).high)
        return self.family.point(best.low, best.high)


@dataclass(slots=True)
class Trail:
    """What is known on the path so far."""

    prefix: tuple[int, ...] = ()
    draws: list[RemainingDraw] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    pending: list[tuple[tuple[int, ...], float, float]] = field(default_factory=list)
    """Sides that were left, each with its weight and with a bound on its probability."""
    steps: int = 0
    comparisons: int = 0
    weight: float = 1.0
    """About how likely the path is so far; relations are taken to halve it."""
    bound: float = 1.0
    """It is no likelier than that; relations may hold always."""
    merges: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Draws that stand for the difference of two others."""
    differences: dict[int, Atom] = field(default_factory=dict)
    """These draws as part of a sum."""
    underflows: bool = False
    """Whether a side was left out whose probability is no zero, but too small for a float."""

    def tick(self) -> None:
        """Count a draw or a decision."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise CannotEnumerate(f"a path has more than {MOST_STEPS} draws and decisions")

    def draw(self, family: DrawFamily) -> Linear:
        """A new draw."""
        self.tick()
        self.draws.append(RemainingDraw(family, (Span(family.low, family.high),)))
        atom = Atom(len(self.draws) - 1)
        return Linear(((atom, 1.0),))

    def merged(self, linear: Linear) -> Linear:
        """The sum, with the difference of two geometric or exponential draws as one draw of known distribution."""
        (one, other) = linear.terms if len(linear.terms) == 2 else (None, None)
        if one is None or other is None or one[0].function or other[0].function or one[1] != -other[1]:
            return linear
        up, down = (one[0], other[0]) if one[1] > 0 else (other[0], one[0])
        first, second = self.draws[up.draw], self.draws[down.draw]
        known = {parts: number for number, parts in self.merges.items()}
        if (up.draw, down.draw) in known:
            # The same difference, however often it is computed.
            return Linear(((self.differences[known[up.draw, down.draw]], abs(one[1])),), linear.plus, linear.slack)
        if (down.draw, up.draw) in known:
            return Linear(((self.differences[known[down.draw, up.draw]], -abs(one[1])),), linear.plus, linear.slack)
        family = difference(first.family) if first.family is second.family else None
        whole = all(draw.left == (Span(draw.family.low, draw.family.high),) for draw in (first, second))
        if family is None or not whole:
            return linear
        self.require_free(up.draw)
        self.require_free(down.draw)
        atom = self.draw(family).terms[0][0]
        self.merges[atom.draw], self.differences[atom.draw] = (up.draw, down.draw), atom
        return Linear(((atom, abs(one[1])),), linear.plus, linear.slack)

    def require_free(self, number: int) -> None:
        """A draw that went into a difference is not looked at by itself."""
        if any(number in parts for parts in self.merges.values()):
            raise CannotEnumerate("a draw is used alone and in a difference")

    def require_differences_free(self, outputs: Iterable[Linear]) -> None:
        """At the end of the path, the same for all sums that were compared or are its output."""
        for linear in (*outputs, *(relation.sum for relation in self.relations)) if self.merges else ():
            for atom, _ in linear.terms:
                self.require_free(atom.draw)

    def mass(self) -> Enclosure:
        """The probability of what single draws have left; relations make it less."""
        whole = ALL
        for draw in self.draws:
            if draw.left[0].low != draw.family.low or draw.left[-1].high != draw.family.high or len(draw.left) > 1:
                whole = whole * draw.mass
        return whole

    def at_most(self, linear: Linear, end: float, strict: bool = False) -> bool:
        """Whether the sum is at most `end`, or below it: on this path it is, or it is not."""
        self.comparisons += 1
        if self.comparisons > MOST_COMPARISONS:
            raise CannotEnumerate(f"a path makes more than {MOST_COMPARISONS} comparisons")
        low, high = self.range(linear)
        if high < end:
            return True
        if low > end:
            return False
        if len(linear.terms) == 1:
            return self._at_most_one(linear, end, strict)
        draws = {atom.draw for atom, _ in linear.terms}
        whole = [number for number in sorted(draws) if self.draws[number].family.whole]
        if whole:
            fewest = min(whole, key=lambda number: self.draws[number].ends[1] - self.draws[number].ends[0])
            return self.at_most(with_value(linear, fewest, self.value_of(fewest)), end, strict)
        if len(draws) < len(linear.terms):
            raise CannotEnumerate("a comparison mixes functions of one draw")
        first = self._decide((0.5, 0.5), related=True) == 0
        self.relations.append(Relation(linear, end, not first))
        return first

    def _at_most_one(self, linear: Linear, end: float, strict: bool) -> bool:
        ((atom, _),) = linear.terms
        below, beyond = self.split(linear, end, strict=strict)
        if self.draws[atom.draw].family.whole and self._rounding_decides(linear, end, below, beyond):
            raise CannotEnumerate("rounding decides a comparison of a whole number")
        weights = below.mass.high, beyond.mass.high
        if not all(weights):
            # On real numbers a single value has no probability; but what is far out has one, too small for a float.
            self.underflows |= _far_out(beyond if weights[0] > 0 else below)
            return weights[0] > 0
        first = self._decide(weights) == 0
        self.draws[atom.draw] = below if first else beyond
        return first

    def split(
        self, linear: Linear, end: float, left: RemainingDraw | None = None, strict: bool = False
    ) -> tuple[RemainingDraw, RemainingDraw]:
        """The draw of a sum of one atom, or its part `left`, where the sum is at most `end`, and where it is not."""
        ((atom, times),) = linear.terms
        self.require_free(atom.draw)
        draw = self.draws[atom.draw] if left is None else left
        if not draw.left or math.isinf(end):
            nothing = RemainingDraw(draw.family, ())
            return (draw, nothing) if end > 0 else (nothing, draw)
        value = (end - linear.plus) / times
        slack = (linear.slack + 2.0**-51 * (abs(end) + abs(linear.plus)) * (linear.plus != 0)) / abs(times)
        slack += 2.0**-52 * abs(value) * (times != 1)
        upwards = times > 0
        if atom.function is not None and any(math.isnan(atom_at(atom, edge)) for edge in draw.ends):
            raise CannotEnumerate("a function of a draw has no value")
        if draw.family.whole or atom.function is not None:
            # As the floats of the mechanism have it. Whole numbers have no slack; between neighbouring floats there
            # is nothing but rounding. Whether the end itself counts matters: functions have steps.
            upwards = upwards == atom.increases
            value = last_where(partial(_below, linear, end, strict), *draw.ends, upwards)
            slack = 0.0 if draw.family.whole else math.ulp(value)
        below, beyond = draw.cut(value, slack)
        return (below, beyond) if upwards else (beyond, below)

    def _rounding_decides(self, linear: Linear, end: float, *sides: RemainingDraw) -> bool:
        """Whether one of the values next to the end is so near to it that other floats would compare otherwise."""
        ((atom, times),) = linear.terms
        if atom.function is None and all(float(one).is_integer() for one in (times, linear.plus, end)):
            return False
        values = [times * atom_at(atom, edge) + linear.plus for side in sides if side.left for edge in side.ends]
        near = NEAR * (abs(end) + abs(linear.plus))
        return any(0 < abs(value - end) <= near for value in values)

    def inside(self, linear: Linear, low: float, high: float) -> bool:
        """Whether a sum of one atom lies in (low, high]."""
        place = linear.terms[0][0].draw
        below, rest = self.split(linear, low)
        inner, beyond = self.split(linear, high, rest)
        return self.one_of([inner, below.joined(beyond)], place) == 0

    def one_of(self, choices: list[RemainingDraw], number: int) -> int:
        """Which of several parts of a draw it lies in."""
        possible = [k for k, part in enumerate(choices) if part.left and part.mass.high > 0]
        self.underflows |= any(_far_out(part) for k, part in enumerate(choices) if k not in possible)
        if not possible:
            raise CannotEnumerate("no value of a draw is left")
        chosen = possible[0]
        if len(possible) > 1:
            chosen = possible[self._decide(tuple(choices[k].mass.high for k in possible))]
        self.draws[number] = choices[chosen]
        return chosen

    def value_of(self, number: int) -> float:
        """The value of a draw of few whole numbers: one path for each."""
        self.require_free(number)
        draw = self.draws[number]
        low, high = draw.ends
        if not draw.family.whole or high - low >= MOST_VALUES:
            raise CannotEnumerate("a plain number is wanted of a draw with many values")
        values = [k for one in draw.left for k in range(int(one.low), int(one.high) + 1)]
        parts = [RemainingDraw(draw.family, (Span(k, k),)) for k in values]
        return values[self.one_of(parts, number)]

    def range(self, linear: Linear) -> tuple[float, float]:
        """Between which numbers the sum lies."""
        low = high = linear.plus
        for atom, times in linear.terms:
            ends = [atom_at(atom, end) for end in self.draws[atom.draw].ends]
            ends = sorted(times * end for end in ends)
            if any(map(math.isnan, ends)):
                raise CannotEnumerate("a function of a draw has no value")
            low, high = low + ends[0], high + ends[1]
        return low, high

    def _decide(self, weights: tuple[float, ...], related: bool = False) -> int:
        """The decision of the prefix; beyond it the likeliest one, which leaves the others for later."""
        self.tick()
        place = len(self.taken)
        if place < len(self.prefix):
            chosen = self.prefix[place]
            if chosen >= len(weights):
                raise CannotEnumerate("it does not compute the same thing each time it is run")
        else:
            chosen = max(range(len(weights)), key=lambda k: weights[k])
        total = math.fsum(weights)

        def share(k: int) -> float:
            return 1.0 if related else weights[k] / total

        if place >= len(self.prefix):
            for k, weight in enumerate(weights):
                if k != chosen:
                    self.pending.append(((*self.taken, k), self.weight * weight / total, self.bound * share(k)))
        self.weight *= weights[chosen] / total
        self.bound *= share(chosen)
        self.taken.append(chosen)
        return chosen


def _far_out(part: RemainingDraw) -> bool:
    return any(math.isinf(one.low) or math.isinf(one.high) for one in part.left)


def _below(linear: Linear, end: float, strict: bool, x: float) -> bool:
    ((atom, times),) = linear.terms
    value = times * atom_at(atom, x) + linear.plus
    return value < end if strict else value <= end
