"""What adapters share: few neighbouring inputs, those that show most, for runs are slow; and claims."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from refutedp.model.claims import ApproxDP, Claim, PureDP
from refutedp.model.errors import UsageError
from refutedp.model.records import Pair

MOST = 12
SIZES = (3, 30, 300, 3000)
"""Sizes that are tried, until outputs vary."""
_FEW = 3


def number_pairs(step: float, low: float | None, high: float | None, *, whole: bool = False) -> list[Pair]:
    """Single numbers that differ by `step`: around zero, and at the ends of the range.

    >>> [(pair.d1, pair.d2) for pair in number_pairs(1, 0, 10, whole=True)]
    [(0, 1), (9, 10)]
    """
    kind: Callable[[float], Any] = int if whole else float
    starts = [0.0, *([] if low is None else [low]), *([] if high is None else [high - step])]
    return distinct(
        Pair(kind(start), kind(start + step), "one step more")
        for start in starts
        if (low is None or start >= low) and (high is None or start + step <= high)
    )


def vector_pairs(step: float, length: int, *, all_differ: bool, whole: bool = False) -> list[Pair]:
    """Query vectors: one moves by `step`, or all do."""
    kind: Callable[[float], Any] = int if whole else float
    flat = [kind(1)] * length
    up, down = kind(1 + step), kind(1 - step)
    pairs = [Pair(flat, [up, *flat[1:]], "One Above"), Pair(flat, [down, *flat[1:]], "One Below")]
    if all_differ and length > 1:
        pairs.append(Pair(flat, [up, *[down] * (length - 1)], "One Above Rest Below"))
        pairs.append(Pair(flat, [up] * length, "All Above"))
    return distinct(pairs)


def added_pairs(records: Sequence[Any], size: int = 0) -> list[Pair]:
    """Each record added to no data, and to a few records that are all alike or all different.

    Of a larger `size`, every record is added to a crowd of the first one alone.

    >>> [(pair.d1, pair.d2) for pair in added_pairs([0])]
    [([0], [0, 0]), ([], [0])]
    """
    if size > _FEW:
        crowd = [records[0]] * size
        return distinct(Pair(crowd, [*crowd, record], "one record added to a crowd") for record in records)
    few = records[:3]
    crowded = [Pair([*few], [*few, record], "one record added") for record in records]
    return distinct(
        [
            *crowded[:6],
            *(Pair([*base], [*base, record], "one record added") for base in ((), few[:1]) for record in few),
        ]
    )


def grown(run: Callable[[Any], Any], pairs: Callable[[int], list[Pair]]) -> list[Pair]:
    """The pairs of the smallest size at which outputs vary, for a threshold hides what small data show.

    >>> def threshold(data):
    ...     return len(data) if len(data) > 25 else None
    >>> [len(pair.d1) for pair in grown(threshold, lambda size: [Pair([0] * size, [0] * (size + 1), "one more")])]
    [30]
    """
    first = pairs(SIZES[0])
    for size in SIZES:
        found = first if size == SIZES[0] else pairs(size)
        if size != SIZES[0] and repr(found) == repr(first):
            break  # the domain fixes the size
        with contextlib.suppress(Exception):  # a mechanism that fails on everything is the check's to tell
            outputs = {repr(run(data)) for pair in found for data in (pair.d1, pair.d2) for _ in range(2)}
            if len(outputs) > 1:
                return found
    return first


def replaced_pairs(records: Sequence[Any], size: int) -> list[Pair]:
    """A record among `size` others, all alike, exchanged for each other one."""
    crowds = [[base] * size for base in records[:2]]
    pairs = [Pair(crowd, [record, *crowd[1:]], "one record replaced") for crowd in crowds for record in records[:4]]
    return distinct(pair for pair in pairs if repr(pair.d1) != repr(pair.d2))


def fitting(pairs: Sequence[Pair], allowed: Callable[[Any], bool], what: str) -> list[Pair]:
    """The pairs whose inputs the library takes; a sentence when none is left."""
    left = [pair for pair in pairs if allowed(pair.d1) and allowed(pair.d2)]
    if not left:
        raise UsageError(f"none of the built-in inputs fits {what}: give your own with pairs=[(d1, d2)]")
    return left


def distinct(pairs: Iterable[Pair]) -> list[Pair]:
    """Without repetitions and mirror images, and not too many."""
    found: dict[frozenset[str], Pair] = {}
    for pair in pairs:
        found.setdefault(frozenset((repr(pair.d1), repr(pair.d2))), pair)
    return list(found.values())[:MOST]


def stated_claim(epsilon: float, delta: float = 0.0) -> Claim:
    """What a library that counts epsilon and delta promises."""
    return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
