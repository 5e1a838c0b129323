"""The probability of a path: products of intervals of single draws, and integrals where draws are compared.

Comparisons of two draws each that form no circle are a tree. It is integrated from a root: given the value of one
draw, those that are compared with it are independent.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from refutedp.exact.columns_of_families import Floats, densities, masses
from refutedp.exact.families import ALL, DrawFamily, Enclosure, last_where
from refutedp.exact.linear_sums import Atom, Relation
from refutedp.exact.trail import CannotEnumerate, RemainingDraw, Span

DEEPEST = 3
"""Draws that hang on each other below a root."""
FAR = 1e-40
"""Tails of this probability are not integrated but added to the upper bound."""
NODES = (10, 14)
"""Nodes of the two Gauss rules on each panel; the difference of their results bounds the error."""
ROUGH = 3
"""Nodes where it is only asked which values are likelier."""
WIDTH = 2.0
"""Panels are at most so wide, in scales of the draw: there 14 nodes are right to the last digits."""
MOST_PANELS = 5_000
"""No draw has more: those of the Cauchy distribution, whose tails end nowhere, would not fit into memory."""
SLACK = 1e-12
"""A sum that is compared may be rounded by so much, which is less than what `ACCURACY` allows for."""
ACCURACY = 1e-11
"""Relative error that rounding adds, at most: sums of some thousand numbers, each right to 1e-13."""


def probability(draws: Sequence[RemainingDraw], relations: Sequence[Relation]) -> Enclosure:
    """Enclosure on the probability that every draw is in what is left of it and all relations hold."""
    forest = Forest(draws, relations)
    whole = ALL
    for number, draw in enumerate(draws):
        if number not in forest.edges and not _untouched(draw):
            whole = whole * draw.mass
    for root, tree in forest.trees:
        if whole.high == 0:
            break
        whole = Enclosure(0.0, whole.high) if tree is None else whole * forest.integral(root)
    return Enclosure(whole.low, min(whole.high, 1.0))


def solution(draws: Sequence[RemainingDraw], relations: Sequence[Relation]) -> list[float]:
    """Draws that lead down a path."""
    forest = Forest(draws, relations)
    values = [draw.point() for draw in draws]
    for root, tree in forest.trees:
        if tree is None:
            raise CannotEnumerate("the comparisons of draws go round in a circle")
        forest.choose(root, None, draws[root], values)
    return values


def _untouched(draw: RemainingDraw) -> bool:
    return len(draw.left) == 1 and draw.left[0] == Span(draw.family.low, draw.family.high)


class Forest:
    """Which draws are compared with which; `trees` are a root and all that hangs on it, or None for no tree."""

    def __init__(self, draws: Sequence[RemainingDraw], relations: Sequence[Relation]) -> None:
        self._draws = draws
        self.edges: dict[int, dict[int, list[Relation]]] = {}
        self.trees: list[tuple[int, set[int] | None]] = []
        several = False
        self._functions = any(
            one.sum.slack > SLACK
            or any(atom.function is not None or draws[atom.draw].family.whole for atom, _ in one.sum.terms)
            for one in relations
        )
        """Whether functions of draws, whole numbers or sums that rounding moves are compared: none is integrated."""
        for one in relations:
            numbers = [atom.draw for atom, _ in one.sum.terms]
            for number in numbers:
                self.edges.setdefault(number, {})
            if len(numbers) != 2:
                several = True
                continue
            first, second = numbers
            self.edges[first].setdefault(second, []).append(one)
            self.edges[second].setdefault(first, []).append(one)
        if several:
            self.trees = [(-1, None)]
            return
        unseen = set(self.edges)
        while unseen:
            # A tree is no higher from within than from its leaves.
            inner = [number for number in unseen if len(self.edges[number]) > 1] or unseen
            roots = sorted(inner, key=lambda number: (-len(self.edges[number]), number))
            trees = [(root, self._tree(root)) for root in roots]
            root, tree = min(
                ((root, tree) for root, tree in trees if tree is not None),
                key=lambda one: self._height(one[0], None),
                default=(roots[0], None),
            )
            self.trees.append((root, tree))
            if tree is None:
                return
            unseen -= tree

    def _tree(self, root: int) -> set[int] | None:
        """The draws that hang on the root, unless there is a circle or they hang too deep."""
        seen, waiting = {root}, [(root, -1)]
        while waiting:
            number, parent = waiting.pop()
            for other in self.edges[number]:
                if other == parent:
                    continue
                if other in seen:
                    return None
                seen.add(other)
                waiting.append((other, number))
        return seen if self._height(root, None) <= DEEPEST + 1 else None

    def _height(self, number: int, parent: int | None) -> int:
        return max((1 + self._height(other, number) for other in self.edges[number] if other != parent), default=0)

    def integral(self, root: int) -> Enclosure:
        """The probability that all draws of a tree are in what is left of them, and all its relations hold."""
        if self._functions:
            return Enclosure(0.0, 1.0)
        try:
            rough, better = (self._integral(root, nodes) for nodes in NODES)
        except CannotEnumerate:
            return Enclosure(0.0, 1.0)
        cut_off = math.fsum(_tails_of(self._draws[number]) for number in self.edges)
        slack = 4 * abs(better - rough) + ACCURACY * better
        return Enclosure(max(better - slack, 0.0), min(better + slack + cut_off, 1.0))

    def _integral(self, root: int, nodes: int) -> float:
        panels = self._panels(root, None)
        x, weights = _spread(panels[:, 0], panels[:, 1], nodes)
        return float((self._densities(root, None, x, nodes) * weights).sum())

    def _densities(self, number: int, parent: int | None, x: Floats, nodes: int) -> Floats:
        """The density of a draw, times the probability of all that hangs on it, given its values."""
        value = densities(self._draws[number].family, x)
        for child in self.edges[number]:
            if child != parent:
                value = value * self._given_all(number, x, child, nodes)
        return value

    def _given_all(self, number: int, x: Floats, child: int, nodes: int) -> Floats:
        """The probability of a draw and of all that hangs on it, given the values of the one it is compared with."""
        low, high = np.full(x.shape, -math.inf), np.full(x.shape, math.inf)
        for one in self.edges[number][child]:
            own_times = next(t for a, t in one.sum.terms if a.draw == number)
            times = next(t for a, t in one.sum.terms if a.draw == child)
            end = (one.end - one.sum.plus - own_times * x) / times
            if (times > 0) == one.above:
                low = np.maximum(low, end)
            else:
                high = np.minimum(high, end)
        draw = self._draws[child]
        whole = np.zeros(x.shape)
        cumulated = None if len(self.edges[child]) == 1 else self._cumulated(child, number, nodes)
        for interval in draw.left:
            start, end = np.clip(interval.low, low, None), np.clip(interval.high, None, high)
            end = np.maximum(start, end)
            whole += masses(draw.family, start, end) if cumulated is None else cumulated(start, end)
        return whole

    def _cumulated(self, number: int, parent: int, nodes: int) -> Callable[[Floats, Floats], Floats]:
        """The probability of a draw between any two ends and of all that hangs on it."""
        panels = self._panels(number, parent)
        x, weights = _spread(panels[:, 0], panels[:, 1], nodes)
        parts = (self._densities(number, parent, x, nodes) * weights).sum(axis=1)
        below = np.concatenate([[0.0], np.cumsum(parts)])
        above = np.concatenate([np.cumsum(parts[::-1])[::-1], [0.0]])
        edges = np.append(panels[:, 0], panels[-1, 1])

        def upto(end: Floats, right: bool) -> Floats:
            """What lies below an end, or above it, summed up from that side."""
            place = np.clip(np.searchsorted(edges, end, side="right") - 1, 0, len(parts) - 1)
            end = np.clip(end, edges[0], edges[-1])
            one, other = (end, edges[place + 1]) if right else (edges[place], end)
            x, weights = _spread(one.ravel(), np.maximum(one, other).ravel(), nodes)
            part = (self._densities(number, parent, x, nodes) * weights).sum(axis=1).reshape(end.shape)
            inside: Floats = np.where((place < len(parts)), part, 0.0)
            whole: Floats = inside + (above[place + 1] if right else below[place])
            return whole

        def between(start: Floats, end: Floats) -> Floats:
            to_the_right = bool(np.all(end >= edges[-1]))
            if to_the_right:
                return upto(start, True)
            if bool(np.all(start <= edges[0])):
                return upto(end, False)
            return np.maximum(upto(end, False) - upto(start, False), 0.0)

        return between

    def _panels(self, number: int, parent: int | None) -> Floats:
        """Short pieces of what is left of a draw, on each of which all is smooth."""
        panels = []
        pieces = self._pieces(number, parent, self._draws[number])
        if sum(end - start for start, end in pieces) > MOST_PANELS * WIDTH:
            raise CannotEnumerate("a draw that is compared has tails that are too long")
        for start, end in pieces:
            cuts = np.linspace(start, end, max(1, math.ceil((end - start) / WIDTH)) + 1)
            panels += list(pairwise(cuts.tolist()))
        return np.array(panels or [(0.0, 0.0)])

    def choose(self, number: int, parent: int | None, draw: RemainingDraw, values: list[float]) -> None:
        """Choose the likeliest of a few values of a draw, and then of those that hang on it."""
        if len(self.edges[number]) == (parent is not None):
            values[number] = draw.point() if draw.left else math.nan
        else:
            points = [
                start + part * (end - start)
                for start, end in self._pieces(number, parent, draw)
                for part in (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
            ]
            x = np.array([points]) if points else np.array([[math.nan]])
            values[number] = float(x[0, int(np.argmax(self._densities(number, parent, x, ROUGH)))])
        if math.isnan(values[number]):
            raise CannotEnumerate("no draws are known that lead down a path")
        for child in self.edges[number]:
            if child != parent:
                self.choose(child, number, self._given(number, values[number], child), values)

    def _given(self, number: int, value: float, other: int) -> RemainingDraw:
        """What is left of a draw, given the value of the one that it is compared with."""
        left = self._draws[other]
        for one in self.edges[number][other]:
            own, own_times = next((a, t) for a, t in one.sum.terms if a.draw == number)
            atom, times = next((a, t) for a, t in one.sum.terms if a.draw == other)
            end, upwards = (one.end - one.sum.plus - own_times * own.at(value)) / times, times > 0
            if not left.left:
                break
            if atom.function is not None:
                wanted = end
                end = last_where(partial(_reaches, atom, wanted), *left.ends, atom.increases)
                upwards = upwards == atom.increases
            left = left.cut(end, 0.0)[bool(upwards == one.above)]
        return left

    def _pieces(self, number: int, parent: int | None, draw: RemainingDraw) -> list[tuple[float, float]]:
        """Where the density is smooth; far tails are cut off."""
        points = {*draw.family.kinks}
        for child, relations in self.edges[number].items():
            if child == parent:
                continue
            rest = self._draws[child]
            ends = [end for one in rest.left for end in (one.low, one.high) if math.isfinite(end)]
            for one in relations:
                own, own_times = next((a, t) for a, t in one.sum.terms if a.draw == number)
                atom, times = next((a, t) for a, t in one.sum.terms if a.draw == child)
                if own.function is None:
                    room = one.end - one.sum.plus
                    points |= {(room - times * atom.at(kink)) / own_times for kink in (*rest.family.kinks, *ends)}
        pieces: list[tuple[float, float]] = []
        for interval in draw.left:
            start, end = max(interval.low, -_reach(draw.family, -1.0)), min(interval.high, _reach(draw.family, 1.0))
            if not start < end:
                start, end = interval.low, interval.high
                if math.isinf(end - start):
                    continue
            pieces += pairwise([start, *sorted(point for point in points if start < point < end), end])
        return pieces


def _reaches(atom: Atom, wanted: float, x: float) -> bool:
    return atom.at(x) <= wanted


@functools.lru_cache(maxsize=1000)
def _reach(family: DrawFamily, sign: float) -> float:
    """Beyond that there is hardly any probability."""
    far = 1.0
    while _beyond(family, far, sign) > FAR and far < 1e12:
        far *= 1.3
    return far


def _beyond(family: DrawFamily, far: float, sign: float) -> float:
    """The probability beyond a number on its side of zero; distribution functions only hold on their support."""
    ends = (far, math.inf) if sign > 0 else (-math.inf, -far)
    return family.mass(*ends).high


def _tails_of(draw: RemainingDraw) -> float:
    """The probability of the tails that no panel covers."""
    return sum(_beyond(draw.family, _reach(draw.family, sign), sign) for sign in (1.0, -1.0))


def _spread(start: Floats, end: Floats, nodes: int) -> tuple[Floats, Floats]:
    """The nodes of the Gauss rule on many intervals, a row for each, and their weights."""
    places, weights = _gauss(nodes)
    half = (end - start)[:, None] / 2
    return (start + end)[:, None] / 2 + half * places, half * weights


@functools.cache
def _gauss(nodes: int) -> tuple[Floats, Floats]:
    places, weights = np.polynomial.legendre.leggauss(nodes)
    return places, weights
