"""Scores that tell d1 from d2 by many conditions or numbers at once, learned from runs on both inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refutedp.events.features.basic import NUMBERS, Value, as_floats, leaf_at
from refutedp.events.features.leaks import Difference
from refutedp.events.features.sums import Factor, Term, WeightedSum
from refutedp.events.learned.conditions import Conditions, Floats, held, packed
from refutedp.events.screen import LEAST_BOUND
from refutedp.model.outputs import Group, Outputs

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
LEAST_TOLD = 1e-3
"""A number that tells less than this part of what the clearest one tells is left out of a direction."""
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


def mean_differences(first: Outputs, second: Outputs) -> list[WeightedSum]:
    """Directions in which the numbers of all outputs differ most for their spread, best for Gaussian noise.

    The first as if the noise of each number were its own; where it is not, another one for the noise as it is: noise
    that two numbers share cancels. Runs with the same noise on both sides tell the difference nearly without error.
    """
    group = max(first.groups, key=lambda one: one.size)
    other = next((one for one in second.groups if one.shape == group.shape), None)
    if other is None:
        return []
    found: list[tuple[Factor, Floats, Floats]] = []
    for path in group.shape.paths:
        x, y = leaf_at(path, group, *NUMBERS), leaf_at(path, other, *NUMBERS)
        if x is not None and y is not None:
            found.append((Factor(Value(path)), _finite(x, group), _finite(y, other)))
    means = np.array([x.mean() - y.mean() for _, x, y in found])
    variances = np.array([(x.var() + y.var()) / 2 for _, x, y in found])
    kept = np.flatnonzero(np.isfinite(means) & np.isfinite(variances) & (variances > 0))
    if len(kept) < 2 or not means[kept].any():
        return []
    factors, deviations = [found[place][0] for place in kept], np.sqrt(variances[kept])
    apart = means[kept] / deviations
    made = [_direction(factors, apart / deviations, deviations)]
    if len(kept) <= MOST_WEIGHED:
        rows = [found[place][1:] for place in kept]
        bound = np.zeros((len(kept), len(kept)))
        for side in (0, 1):
            table = np.array([one[side] - one[side].mean() for one in rows]) / deviations[:, None]
            bound += np.einsum("in,jn->ij", table, table) / table.shape[1] / 2
        if np.abs(np.triu(bound, 1)).max() > LEAST_BOUND:
            weights = np.linalg.solve(bound + RIDGE * np.eye(len(kept)), apart)
            made.append(_direction(factors, weights / deviations, deviations))
    return [one for one in made if len(one.terms) > 1]


def _direction(factors: Sequence[Factor], weights: Floats, deviations: Floats) -> WeightedSum:
    """The sum with these weights, the most telling one set to 1; what adds next to nothing is left out."""
    telling = np.abs(weights) * deviations
    order = np.argsort(-telling, kind="stable")
    largest = weights[order[0]]
    kept = [place for place in order.tolist() if telling[place] >= LEAST_TOLD * telling[order[0]]]
    return WeightedSum(tuple(Term(float(f"{weights[place] / largest:.3g}"), (factors[place],)) for place in kept))


def _finite(column: NDArray[Any], group: Group) -> Floats:
    """Numbers, a run each; none where some are not finite."""
    numbers = as_floats(column if group.weights is None else np.repeat(column, group.weights))
    return numbers if np.isfinite(numbers).all() else np.full(1, np.nan)
