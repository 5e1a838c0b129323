"""The best possible bound for a pair: the supremum of log(P1/P2) over all events, by closed form or integration.

A one-dimensional integral over the threshold noise gives the probability of every answer of a sparse-vector variant,
one over the winner's noise the probability that a query wins noisy max. The supremum over events is reached at a
single output (or in the limit of small sets around one), since a ratio of sums never exceeds the largest ratio of the
terms.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

POINTS = 5_001
REACH = 45.0
"""Noise beyond this many scales has probability below 1e-19."""


def laplace_cdf(x: Floats, scale: float) -> Floats:
    """P(Lap(scale) <= x)."""
    return np.where(x < 0, 0.5 * np.exp(-np.abs(x) / scale), 1 - 0.5 * np.exp(-np.abs(x) / scale))


def wins(queries: Sequence[float], scale: float, distribution: str) -> Floats:
    """The probability that each query is the noisy maximum, by integrating over the winner's noisy value."""
    values = np.asarray(queries, dtype=np.float64)
    points = _grid(values.tolist(), scale)
    if distribution == "laplace":
        density = np.exp(-np.abs(points[:, None] - values) / scale) / (2 * scale)
        below = laplace_cdf(points[:, None] - values, scale)
    else:
        gap = points[:, None] - values
        density = np.where(gap >= 0, np.exp(-np.maximum(gap, 0) / scale) / scale, 0.0)
        below = np.where(gap >= 0, -np.expm1(-np.maximum(gap, 0) / scale), 0.0)
    others = np.stack([np.prod(np.delete(below, i, axis=1), axis=1) for i in range(len(values))], axis=1)
    return np.asarray(np.trapezoid(density * others, points, axis=0))


def _grid(kinks: Sequence[float], scale: float) -> Floats:
    """Points fine enough for the trapezoid rule, every kink of the integrand and its left neighbour among them."""
    low, high = min(kinks) - REACH * scale, max(kinks) + REACH * scale
    fine = np.concatenate([k + scale * np.sinh(np.linspace(-4.5, 4.5, POINTS)) for k in sorted(set(kinks))])
    inside = fine[(fine >= low) & (fine <= high)]
    exact = np.asarray(kinks, dtype=np.float64)
    return np.unique(np.concatenate([inside, exact, np.nextafter(exact, -np.inf), [low, high]]))


@dataclass(frozen=True, slots=True)
class SparseVector:
    """A sparse-vector variant: scales of threshold and query noise, whether it stops, whether it returns values."""

    threshold_scale: Callable[[float, int], float]
    query_scale: Callable[[float, int], float] | None
    stops: bool
    values: bool = False


VARIANTS: dict[str, SparseVector] = {
    "svt": SparseVector(lambda e, n: 2 / e, lambda e, n: 4 * n / e, stops=True),
    "isvt1": SparseVector(lambda e, n: 2 / e, None, stops=False),
    "isvt2": SparseVector(lambda e, n: 2 / e, lambda e, n: 2 / e, stops=False),
    "isvt3": SparseVector(lambda e, n: 4 / e, lambda e, n: 4 / (3 * e), stops=True),
    "isvt4": SparseVector(lambda e, n: 2 / e, lambda e, n: 2 * n / e, stops=True, values=True),
}


@dataclass(frozen=True, slots=True)
class _Answers:
    """Which queries of each answer are above and which below; neither where the answer has already ended."""

    above: Floats
    below: Floats

    @classmethod
    def of(cls, length: int, bound: int | None) -> _Answers:
        """Every list of booleans that a variant can return, which ends at the `bound`-th answer above, if any."""
        whole = itertools.product((False, True), repeat=length)
        listed = [answer for answer in whole if bound is None or sum(answer) < bound]
        for end in range(1, length + 1) if bound is not None else ():
            starts = itertools.product((False, True), repeat=end - 1)
            listed += [(*start, True) for start in starts if sum(start) + 1 == bound]
        above, below = np.zeros((2, len(listed), length))
        for row, answer in enumerate(listed):
            above[row, : len(answer)] = answer
            below[row, : len(answer)] = np.logical_not(answer)
        return cls(above, below)

    def log_chances(self, below: Floats, density: Floats, noise: Floats) -> Floats:
        """log of the probability of each answer: the chance given the threshold, integrated over its noise."""
        tiny = 1e-300
        logs = self.above @ np.log(np.maximum(1 - below, tiny)) + self.below @ np.log(np.maximum(below, tiny))
        return np.log(np.maximum(np.trapezoid(np.exp(logs) * density, noise, axis=1), tiny))


def sparse_vector(
    name: str, epsilon: float, d1: Sequence[float], d2: Sequence[float], threshold: float, bound: int
) -> float:
    """The supremum of |log(P1/P2)| over all answers of a variant on one pair."""
    variant = VARIANTS[name]
    if variant.query_scale is None:
        return _without_query_noise(d1, d2)
    outer, inner = variant.threshold_scale(epsilon, bound), variant.query_scale(epsilon, bound)
    noise = _grid([0.0, *(q - threshold for q in (*d1, *d2))], outer)
    density = np.exp(-np.abs(noise) / outer) / (2 * outer)
    answers = _Answers.of(len(d1), bound if variant.stops else None)
    below = [laplace_cdf(threshold + noise - np.asarray(d, dtype=np.float64)[:, None], inner) for d in (d1, d2)]
    if variant.values:
        return _sup_with_values(d1, d2, answers, below, density, noise, threshold, inner)
    first, second = (answers.log_chances(side, density, noise) for side in below)
    return float(np.max(np.abs(first - second)))


def _without_query_noise(d1: Sequence[float], d2: Sequence[float]) -> float:
    """The order of the queries is visible: infinite as soon as one pair of queries is ordered differently."""
    for (a1, a2), (b1, b2) in itertools.combinations(zip(d1, d2, strict=True), 2):
        if np.sign(a1 - b1) != np.sign(a2 - b2):
            return math.inf
    return math.nan


def _sup_with_values(
    d1: Sequence[float],
    d2: Sequence[float],
    answers: _Answers,
    below: Sequence[Floats],
    density: Floats,
    noise: Floats,
    threshold: float,
    scale: float,
) -> float:
    """Answers above the threshold come as noisy values: the supremum over the values as well.

    For a given smallest value m the threshold must lie below m; each value may then be anywhere from m on, where the
    ratio of its densities is largest.
    """
    lowest = np.linspace(min(*d1, *d2) - 6 * scale, max(*d1, *d2) + 6 * scale, 161)
    tails = []
    for side in below:
        chance = np.exp(answers.below @ np.log(np.maximum(side, 1e-300))) * density
        steps = np.diff(noise) * (chance[:, 1:] + chance[:, :-1]) / 2
        mass = np.concatenate([np.zeros((len(chance), 1)), np.cumsum(steps, axis=1)], axis=1)
        at = np.searchsorted(noise, lowest - threshold).clip(0, len(noise) - 1)
        tails.append(np.log(np.maximum(mass[:, at], 1e-300)))
    best = 0.0
    for sign, (one, other) in ((1, (d1, d2)), (-1, (d2, d1))):
        gains = np.stack([_best_density_ratio(a, b, scale, lowest) for a, b in zip(one, other, strict=True)])
        total = sign * (tails[0] - tails[1]) + answers.above @ gains
        best = max(best, float(total[answers.above.any(axis=1)].max()))
    return best


def _best_density_ratio(one: float, other: float, scale: float, lowest: Floats) -> Floats:
    """sup over v >= lowest of log f(v - one) - log f(v - other) for Laplace noise."""
    if one >= other:
        return np.full_like(lowest, (one - other) / scale)
    here = (np.abs(lowest - other) - np.abs(lowest - one)) / scale
    return np.where(lowest <= one, (other - one) / scale, here)


def best_on_pair(
    name: str, epsilon: float, d1: Sequence[float], d2: Sequence[float], arguments: Mapping[str, Any]
) -> float:
    """The largest epsilon that any event can show on this pair; nan where no formula is at hand.

    >>> round(best_on_pair("histogram", 0.5, [1, 1], [2, 1], {}), 6)
    0.5
    """
    gap = max(abs(a - b) for a, b in zip(d1, d2, strict=True))
    if name == "histogram":
        return gap * epsilon
    if name == "histogram_wrong_scale":
        return gap / epsilon
    if name in VARIANTS:
        return sparse_vector(name, epsilon, d1, d2, arguments["threshold"], arguments.get("bound", 1))
    distribution = "laplace" if "laplace" in name else "exponential"
    if not name.endswith("_value"):
        first, second = (wins(d, 2 / epsilon, distribution) for d in (d1, d2))
        return float(np.max(np.abs(np.log(first) - np.log(second))))
    if distribution == "exponential":
        return math.inf if max(d1) != max(d2) else math.nan
    # Far below all queries every factor of the distribution function has its full ratio.
    return max(abs(sum(a - b for a, b in zip(d1, d2, strict=True))), gap) * epsilon / 2


def worst_case(name: str, epsilon: float, arguments: Mapping[str, Any]) -> float:
    """The real epsilon of the mechanism over all pairs, where it is known; nan where it is not."""
    bound = arguments.get("bound", 1)
    known = {
        "noisy_max_laplace": epsilon,
        "noisy_max_exponential": epsilon,
        "histogram": epsilon,
        "svt": epsilon,
        "histogram_wrong_scale": 1 / epsilon,
        "noisy_max_exponential_value": math.inf,
        "isvt1": math.inf,
        "isvt3": (1 + 6 * bound) / 4 * epsilon,
    }
    return float(known.get(name, math.nan))
