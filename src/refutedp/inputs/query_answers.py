"""Adjacent pairs around query answers that the user gives: the moves of the paper's table, from other places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from refutedp.inputs.neighbours import MOST_PAIRS, Derived
from refutedp.inputs.patterns import ALL_QUERIES
from refutedp.model.adjacency import AllDiffer, OneDiffers
from refutedp.model.errors import UsageError
from refutedp.model.records import Pair

MOST_PLACES = MOST_PAIRS // 2
"""Queries of a vector that are moved one by one; of a longer one, some from its beginning to its end."""


def query_neighbours(adjacency: AllDiffer | OneDiffers, datasets: Sequence[Any]) -> Derived:
    """Pairs of each vector with its neighbours, vectors taking turns: moved by the whole sensitivity or not at all.

    >>> from refutedp.model.adjacency import ONE_DIFFERS
    >>> [pair.d2 for pair in query_neighbours(ONE_DIFFERS, [[5, 7]]).pairs]
    [[6, 7], [4, 7], [5, 8], [5, 6]]
    """
    lists = [list(_moved(adjacency, data)) for data in datasets]
    pairs: dict[str, Pair] = {}
    for turn in range(max(map(len, lists), default=0)):
        for pair in (items[turn] for items in lists if turn < len(items)):
            if adjacency.difference(pair.d1, pair.d2) is None:
                pairs.setdefault(repr([np.asarray(data).tolist() for data in (pair.d1, pair.d2)]), pair)
    kept = list(pairs.values())[:MOST_PAIRS]
    return Derived(kept, len(pairs) - len(kept))


def _moved(adjacency: AllDiffer | OneDiffers, data: Any) -> Iterator[Pair]:
    size = _size(adjacency, data)
    step = adjacency.sensitivity
    whole = int(step) if float(step).is_integer() else step
    for category, signs in _signs(adjacency, size):
        yield Pair(data, _added(data, [whole * sign for sign in signs]), category)


def _size(adjacency: AllDiffer | OneDiffers, data: Any) -> int:
    problem = adjacency.difference(data, data)
    if problem is not None:
        raise UsageError(f"inputs holds {data!r}: {problem}")
    size = int(np.size(data))
    if size == 0:
        raise UsageError("inputs holds empty data: give inputs with at least one query")
    return size


def _signs(adjacency: AllDiffer | OneDiffers, size: int) -> Iterator[tuple[str, list[int]]]:
    if isinstance(adjacency, OneDiffers):
        most = min(size, MOST_PLACES)
        for place in dict.fromkeys(round(i * (size - 1) / max(most - 1, 1)) for i in range(most)):
            for word, sign in (("Above", 1), ("Below", -1)):
                yield f"query {place} {word}", [sign if i == place else 0 for i in range(size)]
        return
    for category, rows in ALL_QUERIES.items():
        d1, d2 = rows(size, 1)
        yield category, [round(b - a) for a, b in zip(d1, d2, strict=True)]


def _added(data: Any, steps: list[float]) -> Any:
    """The data with the steps added, in the same kind of container."""
    if isinstance(data, np.ndarray):
        return data + np.asarray(steps).reshape(data.shape)
    if isinstance(data, list | tuple):
        return type(data)(value + step for value, step in zip(data, steps, strict=True))
    return data + steps[0]
