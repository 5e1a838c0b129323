"""Events whose exact probabilities break a claim: over the listed paths of both inputs of a pair."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import Any

from refutedp.events.features.basic import Type, Value
from refutedp.events.predicates import Among, Equals, Event, Exactly, Interval, paths_of
from refutedp.exact.drawn_number import DrawnNumber
from refutedp.exact.families import NONE, Enclosure, last_where
from refutedp.exact.path_list import OutputPath, PathList
from refutedp.model.claims import Claim
from refutedp.model.outputs import Path

TAILS = (1e-4, 1e-8, 1e-16, 1e-32, 1e-64)
"""Half-lines of an output whose noise falls off faster than exponentially begin at these probabilities."""
FAST = ("normal", "gumbel", "rayleigh", "binomial")
"""Such noise; of other noise, one half-line far out says what all do."""
MOST_LEAVES = 12
"""Numbers of one output whose half-lines are looked at."""
MARGIN = 1e-6
"""What a probability must exceed the claim's bound by, as a part of it, beyond the errors that are in its bounds.

Constants of a mechanism that are right to six digits are no leak.
"""
NEAR = 1e-12
"""Outputs that differ by such a part of them count as one: they may differ by rounding only."""
RARER = 0.05
"""Of two events that break the claim, one whose margin is a tenth larger may be a hundred times rarer."""


def chance(event: Event, paths: PathList) -> Enclosure:
    """Enclosure on the probability of an event; paths that are not listed may all lie in it."""
    low, high = [0.0], [paths.missing]
    for path in paths.paths:
        bounds = part(event, path)
        low.append(bounds.low)
        high.append(bounds.high)
    return Enclosure(math.fsum(low), min(math.fsum(high) * (1 + 1e-15), 1.0))


def part(event: Event, path: OutputPath) -> Enclosure:
    """Enclosure on the probability of one path together with an event."""
    match event:
        case Interval(of=Value(path=place), low=low, high=high):
            start, end = -math.inf if low is None else low, math.inf if high is None else high
            leaf = path.leaf(place)
            if isinstance(leaf, DrawnNumber):
                return path.within(leaf, start, end)
            number = type(leaf) in (int, float)
            return path.mass if number and start <= leaf < end else NONE
        case Equals(of=Type(), value=label):
            return path.mass if path.shape.error and f"raises {path.shape.label}" == label else NONE
        case Exactly(label=label, leaves=leaves, paths=places):
            return path.mass if _key(path) == (label, places, leaves) else NONE
        case Among(of=Value(path=place), values=values):
            leaf = path.leaf(place)
            return path.mass if any(type(leaf) is type(value) and leaf == value for value in values) else NONE
    raise NotImplementedError(str(event))


def _key(path: OutputPath) -> tuple[str, Any, tuple[Any, ...]]:
    return path.shape.label, paths_of(path.shape), path.leaves


@dataclass(frozen=True, slots=True)
class Breach:
    """An event that breaks the claim: P1 is at least `low`, P2 at most `high`; d1 is the second input if swapped."""

    event: Event
    swapped: bool
    low: float
    high: float
    score: float


def worst_breach(
    first: PathList, second: PathList, claim: Claim, spend: Callable[[int], bool] = lambda _: True
) -> Breach | None:
    """The event that best shows that the claim is broken, if one does so beyond all errors.

    `spend` is told how many paths are looked at, and says when to stop.
    """
    best: Breach | None = None
    for event in chain(
        events_of(first, second, float(getattr(claim, "epsilon", 0.0))), _unions(first, second, claim)
    ):
        if not spend(len(first.paths) + len(second.paths)):
            break
        chances = chance(event, first), chance(event, second)
        for swapped in (False, True):
            one, other = chances[::-1] if swapped else chances
            score = _score(one, other, claim)
            if score > 0 and (best is None or score > best.score):
                best = Breach(event, swapped, one.low, other.high, score)
    return best


def breach_of(event: Event, first: PathList, second: PathList, claim: Claim) -> Breach | None:
    """The same for one event that is likelier on the first input."""
    one, other = chance(event, first), chance(event, second)
    score = _score(one, other, claim)
    return Breach(event, False, one.low, other.high, score) if score > 0 else None


def _score(one: Enclosure, other: Enclosure, claim: Claim) -> float:
    """How well an event shows that the claim is broken, by its margin and its probability; 0 where it does not."""
    possible = 0 <= one.low <= one.high and 0 <= other.low <= other.high
    if not possible or one.low == 0 or one.low <= other.high:
        return 0.0
    margin = 1 - float(claim.largest(other.high)) / one.low
    return float(margin**2 * one.low**RARER) if margin > MARGIN else 0.0


def events_of(first: PathList, second: PathList, epsilon: float = 0.0) -> Iterator[Event]:
    """Events that may break a claim: outputs, half-lines and intervals of numbers that are drawn.

    Half-lines of normal noise also begin where one density is e^epsilon times the other: none shows a larger delta.
    """
    paths = [*first.paths, *second.paths]
    errors = dict.fromkeys(path.shape.label for path in paths if path.shape.error)
    for label in errors:
        yield Equals(Type(), f"raises {label}")
    drawn = dict.fromkeys(
        (path.shape.label, place)
        for path in paths
        for place, leaf in zip(path.shape.paths, path.leaves, strict=True)
        if isinstance(leaf, DrawnNumber)
    )
    for label, places, leaves in _fixed(paths):
        yield Exactly(label, leaves, places)
    for place in list(dict.fromkeys(place for _, place in drawn))[:MOST_LEAVES]:
        yield from _intervals(place, first, second, epsilon)


def _fixed(paths: Sequence[OutputPath]) -> list[tuple[str, Any, tuple[Any, ...]]]:
    """Outputs without drawn numbers, of types of which no output has one."""
    labels = {path.shape.label for path in paths if any(isinstance(leaf, DrawnNumber) for leaf in path.leaves)}
    keys = dict.fromkeys(_key(path) for path in paths if not path.shape.error and path.shape.label not in labels)
    rounded = Counter(map(_rounded, keys))
    return [key for key in keys if rounded[_rounded(key)] == 1]


def _rounded(key: tuple[str, Any, tuple[Any, ...]]) -> tuple[Any, ...]:
    """What outputs have in common that differ by rounding only, but for few that lie where rounding changes."""
    label, places, leaves = key
    return label, places, tuple(f"{leaf:.9e}" if type(leaf) is float else (type(leaf), leaf) for leaf in leaves)


def _unions(first: PathList, second: PathList, claim: Claim) -> Iterator[Event]:
    """For claims that allow some probability of anything: all scalars that are too much likelier on one side."""
    keys = _fixed([*first.paths, *second.paths]) if claim.pure_epsilon is None else []
    scalars = [leaves[0] for _, places, leaves in keys if len(leaves) == 1 and places is None]
    if len(scalars) < len(keys) or not keys:
        return
    slope = math.exp(min(getattr(claim, "epsilon", 0.0), 700.0))
    events = [Exactly(label, leaves, places) for label, places, leaves in keys]
    for one, other in ((first, second), (second, first)):
        likelier = [
            value
            for event, value in zip(events, scalars, strict=True)
            if chance(event, one).low > slope * chance(event, other).high
        ]
        if len(likelier) > 1 and all(type(value) in (bool, int, float, str) for value in likelier):
            yield Among(Value(()), tuple(likelier))


def _intervals(place: Path, first: PathList, second: PathList, epsilon: float) -> Iterator[Event]:
    """Points, half-lines and intervals of the number at one place of the output."""
    paths = [*first.paths, *second.paths]
    atoms: dict[float, None] = {}
    ends: dict[float, None] = {}
    tails: dict[float, None] = {}
    for path in paths:
        leaf = path.leaf(place)
        if isinstance(leaf, DrawnNumber):
            here, far = _cuts(path, leaf)
            ends |= dict.fromkeys(here)
            tails |= dict.fromkeys(far)
        elif type(leaf) in (int, float) and math.isfinite(leaf):
            atoms[float(leaf)] = None
    feature = Value(place)
    # Outputs that differ by rounding only are one output: the ends of events keep away from them.
    near = {
        atom: 0.0 if float(atom).is_integer() and _whole(place, paths) else NEAR * max(1.0, abs(atom))
        for atom in atoms
    }
    for atom, around in near.items():
        yield Interval(feature, atom - around, math.nextafter(atom, math.inf) if not around else atom + around)
    cuts = {end for end in (*ends, *tails) if all(abs(end - atom) > NEAR * max(1.0, abs(atom)) for atom in atoms)}
    cuts |= _where_normal(place, first, second, epsilon)
    for atom, around in near.items():
        cuts |= {atom - around, atom + around if around else math.nextafter(atom, math.inf)}
    for end in sorted(cuts):
        yield Interval(feature, None, float(end))
        yield Interval(feature, float(end), None)
    bounded = sorted({*near, *ends})
    for low, high in pairwise(bounded):
        inner = near.get(low, 0.0), near.get(high, 0.0)
        start = low + inner[0] if inner[0] else math.nextafter(low, math.inf)
        if start < high - inner[1]:
            yield Interval(feature, start, high - inner[1])


def _where_normal(place: Path, first: PathList, second: PathList, epsilon: float) -> set[float]:
    """Where the density of one normal output is e^epsilon times that of the other, which differs in its mean only."""
    means = []
    for paths in (first, second):
        leaves = [(path, path.leaf(place)) for path in paths.paths]
        for path, leaf in leaves[:1]:
            if isinstance(leaf, DrawnNumber) and leaf.function is None and len(leaf.linear.terms) == 1:
                ((atom, times),) = leaf.linear.terms
                if path.trail.draws[atom.draw].family.name == "normal" and atom.function is None:
                    means.append((leaf.linear.plus, abs(times)))
    if len(means) < 2 or means[0][0] == means[1][0] or means[0][1] != means[1][1]:
        return set()
    (one, scale), (other, _) = means
    middle, step = (one + other) / 2, scale * scale * epsilon / (one - other)
    return {middle - step, middle + step}


def _whole(place: Path, paths: Sequence[OutputPath]) -> bool:
    """Whether all numbers at a place are Python ints."""
    leaves = (path.leaf(place) for path in paths)
    return all(leaf.whole if isinstance(leaf, DrawnNumber) else type(leaf) is not float for leaf in leaves)


def _cuts(path: OutputPath, number: DrawnNumber) -> tuple[list[float], list[float]]:
    """Where the number of a path can begin and end and where its density has a kink; and far out in its tails."""
    if len(number.linear.terms) != 1:
        return [], []
    atom, _ = number.linear.terms[0]
    draw = path.trail.draws[atom.draw]
    family = draw.family
    values = [draw.family.middle] * len(path.trail.draws)

    def at(x: float) -> float:
        values[atom.draw] = x
        return number.at(values)

    ends = {end for one in draw.left for end in (one.low, one.high) if math.isfinite(end)}
    far = set()
    for sign, tail, end in ((1.0, family.sf, draw.left[-1].high), (-1.0, family.cdf, draw.left[0].low)):
        if math.isinf(end) or family.name == "binomial":
            far |= {
                sign * last_where(partial(_heavier, tail, sign, part), 0.0, 1e6, True)
                for part in (TAILS if family.name in FAST else TAILS[1:2])
            }
    return _finite(map(at, {*ends, *family.kinks})), _finite(map(at, far))


def _heavier(tail: Callable[[float], float], sign: float, part: float, x: float) -> bool:
    return tail(sign * x) > part


def _finite(values: Iterator[float] | Any) -> list[float]:
    return sorted({value + 0.0 for value in values if math.isfinite(value)})
