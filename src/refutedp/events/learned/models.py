"""Scores that tell d1 from d2 by many conditions or numbers at once, learned from runs on both inputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from refutedp.events.features.basic import NUMBERS, Value, leaf_at
from refutedp.events.features.leaks import Difference
from refutedp.events.features.sums import Factor, Term, WeightedSum
from refutedp.events.learned.conditions import Conditions, Floats, held, packed
from refutedp.model.outputs import Outputs

MOST_WEIGHED = 40
"""Conditions that a logistic regression looks at, those that differ most: its time grows with their square."""
STEPS = 25
"""Newton steps, at most."""
MOST_ROWS = 20_000
"""Runs a side that it looks at."""
RIDGE = 1e-4
"""Of a weight that few runs speak for, little is believed: the penalty on its square, a run."""
DIGITS = 2
"""Weights are rounded to so many digits of the largest."""
LEAST_WEIGHT = 0.05
"""Weights smaller than this part of the largest are left out: chance makes such, and nobody reads them."""
SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128)
"""How many conditions are counted together."""
SHORT = 5
"""Terms of a sum that a person can follow."""


def counted(conditions: Conditions) -> list[list[int]]:
    """Conditions to count together: those likelier on d1 that differ most, one for each feature."""
    ahead = conditions.lead
    order = [int(place) for place in np.argsort(-ahead, kind="stable") if ahead[place] > 0]
    ranked = conditions.one_a_feature(order)
    apart = [place for place in ranked if isinstance(conditions.factors[place].of, Difference)]
    alone = [place for place in ranked if not isinstance(conditions.factors[place].of, Difference)]
    # Of running sums, the first one and the differences have noise of their own.
    first = next((factor.of for factor in conditions.factors if isinstance(factor.of, Value)), None)
    mixed = [place for place in ranked if place in apart or conditions.factors[place].of == first]
    told = {tuple(sorted(family[:size])) for family in (alone, apart, mixed) for size in SIZES}
    return [list(places) for places in sorted(told, key=lambda places: (len(places), places)) if len(places) > 1]


def weighed(conditions: Conditions) -> tuple[list[int], Floats]:
    """The conditions that a logistic regression weighs, and their weights: positive for d1."""
    ahead = conditions.lead
    order = [int(place) for place in np.argsort(-ahead, kind="stable") if ahead[place] > 0]
    chosen = conditions.one_a_feature(order)[:MOST_WEIGHED]
    if not chosen:
        return [], np.empty(0)
    x, y = (side[:, :: -(-side.shape[1] // MOST_ROWS)] for side in (conditions.x[chosen], conditions.y[chosen]))
    return chosen, logistic(np.concatenate([x, y], axis=1), x.shape[1])


def logistic(table: NDArray[np.bool_], on_d1: int, least: float = 1e-5) -> Floats:
    """Weights of conditions, one a row, in a logistic regression on runs of which the first `on_d1` are on d1.

    By Newton's method with the largest curvature that the likelihood can have, which whole numbers of runs give, so
    that the result does not depend on how sums are shared among cores ("Monotonicity of Quadratic-Approximation
    Algorithms", Böhning & Lindsay 1988).

    >>> weights = logistic(np.array([[0, 1, 1, 1, 1, 0, 0, 0, 1, 1]], dtype=bool), 5)
    >>> round(float(weights[0]), 2)
    1.79
    """
    count, runs = table.shape
    numbers = table.astype(np.float64)
    numbers = np.concatenate([np.ones((1, runs)), numbers])
    words = packed(np.concatenate([np.ones((1, runs), dtype=np.bool_), table]))
    ridge = np.full(count + 1, RIDGE)
    ridge[0] = 0.0
    bend = np.array([held(words[i] & words) for i in range(count + 1)]) / (4 * runs) + np.diag(ridge + 1e-9)
    truth = (np.arange(runs) < on_d1).astype(np.float64)
    weights = np.zeros(count + 1)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(np.einsum("kn,k->n", numbers, weights), -30, 30)))
        step = np.linalg.solve(bend, np.einsum("kn,n->k", numbers, truth - chance) / runs - ridge * weights)
        weights = weights + step
        if np.abs(step).max() < least:
            break
    return np.asarray(weights[1:])


def weighted_sum(conditions: Conditions, chosen: Sequence[int], weights: Floats) -> WeightedSum | None:
    """The conditions with these weights, the largest one set to 1, the most telling first."""
    largest = float(np.abs(weights).max(initial=0.0))
    if not largest > 0 or not np.isfinite(largest):
        return None
    some = conditions.take(chosen)
    rates = (some.hits[0] + some.hits[1]) / (some.x.shape[1] + some.y.shape[1])
    terms = []
    for place in np.argsort(-np.abs(weights) * np.sqrt(rates * (1 - rates)), kind="stable"):
        weight = round(float(weights[place]) / largest, DIGITS)
        if abs(weight) >= LEAST_WEIGHT:
            terms.append(Term(weight, (some.factors[place],)))
    return WeightedSum(tuple(terms)) if terms else None


def count_of(conditions: Conditions, chosen: Sequence[int]) -> WeightedSum:
    """How many of the conditions hold."""
    return WeightedSum(tuple(Term(1.0, (conditions.factors[place],)) for place in chosen))


def mean_difference(first: Outputs, second: Outputs) -> WeightedSum | None:
    """The direction in which the numbers of all outputs differ most for their spread, best for Gaussian noise.

    Runs with the same noise on both sides tell it nearly without error.
    """
    group = max(first.groups, key=lambda one: one.size)
    other = next((one for one in second.groups if one.shape == group.shape), None)
    if other is None:
        return None
    found: list[tuple[float, float, Factor]] = []
    for path in group.shape.paths:
        a, b = leaf_at(path, group, *NUMBERS), leaf_at(path, other, *NUMBERS)
        if a is None or b is None:
            continue
        means, variances = zip(
            *(_moments(column, side.weights) for column, side in ((a, group), (b, other))), strict=True
        )
        variance = sum(variances) / 2
        if variance > 0 and np.isfinite(variance):
            weight = (means[0] - means[1]) / variance
            found.append((weight, abs(weight) * np.sqrt(variance), Factor(Value(path))))
    largest = max((abs(weight) for weight, _, _ in found), default=0.0)
    if not largest > 0:
        return None
    found.sort(key=lambda one: -one[1])
    terms = [Term(short, (factor,)) for weight, _, factor in found if (short := float(f"{weight / largest:.3g}"))]
    terms = [term for term in terms if abs(term.weight) > 1e-3]
    return WeightedSum(tuple(terms)) if len(terms) > 1 else None


def _moments(column: np.ndarray, weights: np.ndarray | None) -> tuple[float, float]:
    numbers = np.asarray(column, dtype=np.float64)
    if weights is None:
        return float(numbers.mean()), float(numbers.var())
    mean = float(np.average(numbers, weights=weights))
    return mean, float(np.average((numbers - mean) ** 2, weights=weights))
