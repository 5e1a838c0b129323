"""The exact privacy loss of a pair, where all paths of a small program are known.

Outputs are a few fixed ones, and at most one number that is drawn: Laplace or exponential noise of one scale, or
geometric noise of one parameter. Between two neighbouring ends or kinks the density on either side is A q^y + B q^-y,
so that the ratio of the two is monotone there, and its supremum lies at an end, or is its limit far out. That is why
nothing larger exists.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from refutedp.events.predicates import paths_of
from refutedp.exact.drawn_number import DrawnNumber
from refutedp.exact.families import Enclosure
from refutedp.exact.path_list import OutputPath, PathList

SURE = 1e-11
"""Relative error of a density, beyond that of the probability of the path's other draws."""
SAME = 1e-12
"""Scales and outputs that differ by such a part of them are the same."""
SMALL = 1e-300
"""A density below it is known to be no larger: floats end soon."""


class LossOfPair(NamedTuple):
    """Between which numbers the ε of a pair lies, and its δ at a given ε where outputs are few."""

    epsilon: Enclosure
    delta: Enclosure | None


def pair_loss(first: PathList, second: PathList, epsilon: float) -> LossOfPair | None:
    """The loss of two complete lists of paths; None where it is not known to be all."""
    if not (first.complete and second.complete):
        return None
    drawn = [_drawn(paths) for paths in (first, second)]
    fixed = [_fixed(paths) for paths in (first, second)]
    keys = dict.fromkeys((*fixed[0], *fixed[1]))
    none = Enclosure(0.0, 0.0)
    ratios = [_ratio(fixed[0].get(key, none), fixed[1].get(key, none)) for key in keys]
    delta = None
    if drawn[0] or drawn[1]:
        pieces = _Pieces.of(drawn[0], drawn[1])
        if pieces is None or any(_is_number(key) and not pieces.whole and _near(key, keys) for key in keys):
            return None
        if pieces.whole and any(_is_number(key) for key in keys):
            # A whole number that is drawn on one path may be fixed on another.
            points = pieces.points([float(key[2][0]) for key in keys if _is_number(key)])
            sides = [[_at(point, one, other) for point in points] for one, other in zip(drawn, fixed, strict=True)]
            ratios = [_ratio(*both) for both in zip(*sides, strict=True)]
            ratios += [_ratio(fixed[0].get(k, none), fixed[1].get(k, none)) for k in keys if not _is_number(k)]
        else:
            ratios += pieces.ratios(drawn)
    elif not any(_near(key, keys) for key in keys):
        delta = _larger(
            *(
                _excess([(one.get(key, none), other.get(key, none)) for key in keys], epsilon)
                for one, other in (fixed, fixed[::-1])
            )
        )
    if not ratios or (delta is None and any(_near(key, keys) for key in keys)):
        return None
    highest = max(one.high for one in ratios)
    underflows = any(path.trail.underflows for paths in (first, second) for path in paths.paths)
    if math.isinf(highest) and (underflows or not any(math.isinf(one.low) for one in ratios)):
        return None  # Draws beyond reach decide, or what is no zero but too small for a float.
    return LossOfPair(Enclosure(max(one.low for one in ratios), max(one.high for one in ratios)), delta)


def _larger(one: Enclosure, other: Enclosure) -> Enclosure:
    return Enclosure(max(one.low, other.low), max(one.high, other.high))


def _excess(sides: Sequence[tuple[Enclosure, Enclosure]], epsilon: float) -> Enclosure:
    slope = math.exp(min(epsilon, 700.0))
    low = math.fsum(max(one.low - slope * other.high, 0.0) for one, other in sides)
    return Enclosure(low, math.fsum(max(one.high - slope * other.low, 0.0) for one, other in sides))


def _ratio(one: Enclosure, other: Enclosure) -> Enclosure:
    """Between which numbers |log(P1 / P2)| lies."""
    if one.high == 0 and other.high == 0:
        return Enclosure(0.0, 0.0)
    low = max(_log_of_ratio(one.low, other.high), _log_of_ratio(other.low, one.high), 0.0)
    return Enclosure(low, max(_log_of_ratio(one.high, other.low), _log_of_ratio(other.high, one.low)))


def _log_of_ratio(over: float, under: float) -> float:
    """-inf where nothing is over, and inf where only nothing is under."""
    if over == 0:
        return -math.inf
    return math.log(over) - math.log(under) if under > 0 else math.inf


def _fixed(paths: PathList) -> dict[Any, Enclosure]:
    """The probabilities of outputs in which nothing is drawn."""
    found: dict[Any, Enclosure] = {}
    for path in paths.paths:
        if not any(isinstance(leaf, DrawnNumber) for leaf in path.leaves):
            typed = tuple((type(leaf), leaf) for leaf in path.leaves)
            key = path.shape.label, paths_of(path.shape), path.leaves, typed
            found[key] = found.get(key, Enclosure(0.0, 0.0)) + path.mass
    return found


def _is_number(key: Any) -> bool:
    return len(key[2]) == 1 and type(key[2][0]) in (int, float) and key[1] is None


def _near(key: Any, keys: Any) -> bool:
    """Whether another output differs by so little that it may be rounding."""
    floats = [leaf for leaf in key[2] if type(leaf) is float]
    return bool(floats) and any(
        other is not key
        and other[:2] == key[:2]
        and all(_close(one, two) for one, two in zip(key[2], other[2], strict=True))
        for other in keys
    )


def _close(one: Any, two: Any) -> bool:
    if type(one) is float and type(two) is float:
        return abs(one - two) <= 1e-9 * max(1.0, abs(one))
    return bool(one == two)


def _drawn(paths: PathList) -> list[OutputPath]:
    return [path for path in paths.paths if any(isinstance(leaf, DrawnNumber) for leaf in path.leaves)]


def _at(point: float, drawn: Sequence[OutputPath], fixed: dict[Any, Enclosure]) -> Enclosure:
    """The probability of a whole number as the output."""
    total = Enclosure(0.0, 0.0)
    for path in drawn:
        mass = path.within(path.leaves[0], point, point + 1)
        total = total + (Enclosure(0.0, SMALL) if mass.high == 0 and _may_be(path, point) else mass)
    for key, mass in fixed.items():
        if _is_number(key) and key[2][0] == point:
            total = total + mass
    return total


def _may_be(path: OutputPath, point: float) -> bool:
    """Whether the number that is drawn on a path may be a point, however unlikely."""
    ((atom, times),) = path.leaves[0].linear.terms
    x = (point - path.leaves[0].linear.plus) / times
    return any(one.low <= x <= one.high for one in path.trail.draws[atom.draw].left)


class _Pieces:
    """Where densities of the number that is drawn, of one scale, begin, end and have kinks."""

    def __init__(self, ends: list[float], whole: bool, scale: float) -> None:
        self.ends, self.whole, self.scale = ends, whole, scale

    @classmethod
    def of(cls, *sides: list[OutputPath]) -> _Pieces | None:
        """The pieces, if the densities are of the kind that is monotone on them."""
        ends: set[float] = set()
        kinds = set()
        for path in (*sides[0], *sides[1]):
            number = path.leaves[0]
            if len(path.leaves) > 1 or number.function is not None or len(number.linear.terms) != 1:
                return None
            (atom, times), plus = number.linear.terms[0], number.linear.plus
            draw = path.trail.draws[atom.draw]
            if path.trail.relations or atom.function is not None or draw.family.name not in _KINDS:
                return None
            kinds.add((_KINDS[draw.family.name], draw.family.parameter, float(f"{abs(times):.12e}"), path.shape))
            edges = [end for one in draw.left for end in (one.low, one.high) if math.isfinite(end)]
            ends |= {times * x + plus for x in (*edges, 0.0)}
        whole = all(path.leaves[0].whole for side in sides for path in side)
        one_kind = len(kinds) == 1
        if not one_kind or (next(iter(kinds))[0] == "geometric") != whole or (whole and next(iter(kinds))[2] != 1):
            return None
        return cls(sorted(ends), whole, next(iter(kinds))[2])

    def points(self, more: Sequence[float] = ()) -> list[float]:
        """Whole numbers at, beside and beyond all ends."""
        near = {end + step for end in (*self.ends, *more) for step in (-1.0, 0.0, 1.0)}
        return sorted({*near, min(near) - 1, max(near) + 1})

    def ratios(self, sides: Sequence[list[OutputPath]]) -> list[Enclosure]:
        """What the ratio is at all ends of its monotone pieces."""
        if self.whole:
            masses = [[_at(point, side, {}) for point in self.points()] for side in sides]
            return [_ratio(*both) for both in zip(*masses, strict=True)]
        found = []
        far = [self.ends[0] - self.scale, *self.ends, self.ends[-1] + self.scale]
        for low, high in pairwise(far):
            if high - low > SAME * max(self.scale, abs(low)):
                inside = (low + high) / 2
                for end in (low, high):
                    found.append(_ratio(*(_density(side, end, inside) for side in sides)))
        return found


_KINDS = {"laplace": "exponential", "exponential": "exponential", "two-sided geometric": "geometric"}


def _density(side: Sequence[OutputPath], end: float, inside: float) -> Enclosure:
    """The density at an end of the piece that `inside` lies in."""
    low, high = 0.0, 0.0
    for path in side:
        number = path.leaves[0]
        (atom, times), plus = number.linear.terms[0], number.linear.plus
        draw = path.trail.draws[atom.draw]
        within = (inside - plus) / times
        if not any(one.low <= within <= one.high for one in draw.left):
            continue
        x = (end - plus) / times
        # Beyond zero a piece of exponential noise goes on as it is inside.
        value = math.exp(-abs(x)) if within * x >= 0 else math.exp(abs(x))
        value *= (0.5 if draw.family.name == "laplace" else 1.0) / abs(times)
        least, most = (value, value) if value >= SMALL else (0.0, SMALL)
        others = Enclosure(1.0, 1.0)
        for number_of, other in enumerate(path.trail.draws):
            if number_of != atom.draw:
                others = others * other.mass
        low, high = low + least * others.low * (1 - SURE), high + most * others.high * (1 + SURE)
    return Enclosure(low, high)
