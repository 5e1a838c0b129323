"""How fast evidence grows: log wealth a run of the best bet, for choosing the event that convicts soonest."""

from __future__ import annotations

import math

import numpy as np

from refutedp.model.records import Counts

_STAKES = 0.97 * np.geomspace(1e-3, 1.0, 60)


def pace(counts: Counts, ratio: float, epsilon: float) -> float:
    """log wealth a run against P1 <= e^epsilon P2, if P1 is `ratio` times P2 and P2 is as observed.

    Paired runs when the counts say how often both sides were hit, otherwise independent ones, half of them each side.

    >>> rare = Counts(10, 2, 10_000, 10_000)
    >>> common = Counts(1000, 500, 10_000, 10_000)
    >>> pace(common, 2.0, epsilon=0.2) > pace(rare, 5.0, epsilon=0.2)
    True
    """
    if ratio <= math.exp(epsilon):
        return 0.0
    p2 = (counts.y + 0.5) / (counts.n_y + 1)
    p1 = min(ratio * p2, 1.0)
    theta = math.exp(-epsilon)
    if counts.both is None:
        truth, claimed = p1 / (p1 + p2), 1 / (1 + theta)
        return (
            (p1 + p2) / 2 * (truth * math.log(truth / claimed) + (1 - truth) * math.log((1 - truth) / (1 - claimed)))
        )
    both = min(counts.both / max(counts.n_x, 1), p1, p2)
    grown = (
        (p1 - both) * np.log1p(_STAKES * theta)
        + both * np.log1p(-_STAKES * (1 - theta))
        + (p2 - both) * np.log1p(-_STAKES)
    )
    return max(float(grown.max()) / 2, 0.0)
