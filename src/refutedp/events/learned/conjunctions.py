"""Conditions that must hold together, and such of which an odd number holds, by counting all pairs at once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TypeAlias

import numpy as np

from refutedp.events.learned.conditions import Conditions, Floats, Hits, held

Scores: TypeAlias = Callable[[Hits, Hits, int], Floats]
"""The scores of events with so many hits on d1 and on d2, if the best of so many is chosen."""

MOST_PAIRED = 128
"""Conditions of which all pairs are counted."""
BEAM = 6
"""Pairs that get a third condition."""
MOST_ODD = 32
"""Conditions of which all triples are looked at for an odd number that hold."""
LEAST_CLEAR = 5.0
"""Standard deviations by which the parity of some conditions must differ to be looked at."""


def conjunctions(conditions: Conditions, score: Scores) -> list[tuple[float, tuple[int, ...]]]:
    """The best conjunctions of two and of three conditions, with their scores."""
    chosen = _chosen(conditions)
    if len(chosen) < 2:
        return []
    sides = conditions.take(chosen).words
    left, right = np.triu_indices(len(chosen), 1)
    x, y = (np.concatenate([held(words[i] & words[i + 1 :]) for i in range(len(chosen))]) for words in sides)
    scores = score(x, y, len(left))
    best = np.argsort(-scores, kind="stable")[:BEAM]
    pairs = [(int(left[i]), int(right[i])) for i in best]
    found: dict[tuple[int, ...], float] = dict(zip(pairs, scores[best].tolist(), strict=True))
    for a, b in pairs:
        x, y = (held(words[a] & words[b] & words) for words in sides)
        scores = score(x, y, len(left) * len(chosen))
        scores[[a, b]] = -np.inf
        third = int(np.argmax(scores))
        found[tuple(sorted((a, b, third)))] = float(scores[third])
    return [(value, tuple(chosen[place] for place in places)) for places, value in found.items()]


def _chosen(conditions: Conditions) -> list[int]:
    """Those that differ most, and as many that are values of a category, however little they tell alone."""
    order = np.argsort(-np.abs(conditions.lead), kind="stable").tolist()
    most = order[: MOST_PAIRED // 2]
    factors = conditions.factors
    values = [place for place in order[len(most) :] if factors[place].low is None and factors[place].high is None]
    return sorted([*most, *values[: MOST_PAIRED - len(most)]])


def odd(conditions: Conditions) -> list[tuple[int, ...]]:
    """Two or three conditions of which an odd number holds more often on one input, though each tells little."""
    order = np.argsort(-np.abs(conditions.lead), kind="stable").tolist()
    chosen = sorted(conditions.one_a_feature(order)[:MOST_ODD])
    some = conditions.take(chosen)
    runs = some.x.shape[1], some.y.shape[1]
    alone = np.abs(some.hits[0] / runs[0] - some.hits[1] / runs[1])
    least = LEAST_CLEAR * np.sqrt((1 / runs[0] + 1 / runs[1]) / 4)
    found: list[tuple[float, tuple[int, ...]]] = []
    for a, b in combinations(range(len(chosen)), 2):
        # The pair with the first of the rest that are all 0, and the triples.
        rates = []
        for words, n in zip(some.words, runs, strict=True):
            two = words[a] ^ words[b]
            rates.append(held(np.concatenate([two[None], two ^ words[b + 1 :]])) / n)
        apart = np.abs(rates[0] - rates[1])
        for third, value in enumerate(apart.tolist()):
            places = (a, b) if third == 0 else (a, b, b + third)
            if value > least + max(alone[place] for place in places):
                found.append((value, tuple(chosen[place] for place in places)))
    return [places for _, places in sorted(found, key=lambda one: -one[0])[:2]]
