"""Stop when the evidence suffices: e-processes, valid whenever one stops (Ville).

An e-process is at most 1 on average at every stopping time if the claim holds, so it ever reaches 1/alpha with
probability at most alpha. What it bets on may use the search runs; it is fixed before the first confirmation run.
Every process here depends on the totals alone, so the size of the batches is free.

`SPENT` of alpha goes to stopping early, the rest to the fixed-size test at the planned end of the budget: a blatant
bug is convicted after hundreds of runs, and a borderline one costs a few percent more than the fixed-size test.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, Self, TypeVar

SPENT = 0.25
"""The part of alpha for stopping early."""
FIRST_BATCH, FIRST_SOON = 500, 100
LARGEST_BATCH = 200_000
GROWTH = 0.5
SOON = 0.05
"""Where each run counts, batches start at `FIRST_SOON` and grow by `SOON`: they cost time, and stop sooner."""
ANYWAY = 1.0
"""Where all runs are made anyway, batches only say when it was decided, and double."""


class Hits(Protocol):
    """Hits of some runs, which add up."""

    @property
    def runs(self) -> int:
        """Runs on both sides."""
        ...

    def __add__(self, other: Any) -> Self: ...


H = TypeVar("H", bound=Hits)


@dataclass(frozen=True, slots=True, kw_only=True)
class EProcess(ABC, Generic[H]):
    """Evidence that grows batch by batch; a frozen record, so `update` gives the next one.

    `log_peak` is the largest `log_e` after any batch so far; exp(-log_peak) is a p-value valid at any stop.
    """

    hits: H
    log_peak: float = 0.0

    @property
    @abstractmethod
    def log_e(self) -> float:
        """log of the e-value of all runs so far."""

    def update(self, batch: H) -> Self:
        """The evidence with one more batch of fresh runs."""
        after = replace(self, hits=self.hits + batch)
        return replace(after, log_peak=max(self.log_peak, after.log_e))

    def rejects(self, alpha: float) -> bool:
        """Whether the e-process has reached 1/alpha: the claim may be rejected, with false alarms at most alpha."""
        return self.log_peak >= -math.log(alpha)


def batches(
    total: int, first: int = FIRST_BATCH, largest: int = LARGEST_BATCH, growth: float = GROWTH
) -> Iterator[int]:
    """Sizes of the batches that make up `total` runs: each a part, `growth`, of what was run before, within limits.

    >>> list(batches(5000))
    [500, 500, 500, 750, 1124, 1626]
    """
    done = 0
    while done < total:
        # Even, for runs may come in pairs.
        size = min(max(first, 2 * int(done * growth / 2)), largest, total - done)
        # A last scrap of less than a batch joins the one before it.
        size = total - done if total - done - size < first else size
        yield size
        done += size


def early_alpha(alpha: float) -> float:
    """The level at which an e-process may stop before the planned end."""
    return SPENT * alpha


def log_p_any_time(process: EProcess[Any]) -> float:
    """log of a p-value valid at whatever moment one stops before the planned end."""
    return min(0.0, -process.log_peak - math.log(SPENT))


def log_p_at_the_end(process: EProcess[Any], fixed: float) -> float:
    """log of the p-value at the planned end: `fixed` is the log p-value of the fixed-size test on all the runs.

    Valid by the union bound: the e-process has `SPENT` of alpha and the fixed-size test the rest.
    """
    return min(log_p_any_time(process), fixed - math.log1p(-SPENT))


def bound_confidence(alpha: float, early: bool) -> float:
    """The confidence to ask of a lower bound: of the confidence sequence at an early stop, or of a bound at the end.

    The better of the two bounds is right with probability 1 - alpha.
    """
    return 1 - alpha * (SPENT if early else 1 - SPENT)
