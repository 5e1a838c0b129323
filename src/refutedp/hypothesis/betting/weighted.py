"""Bets on pairs of importance-sampled runs, each pair counted by its weight (see
`sampling.lifted.noise.importance_noise`).

With w the weight of a pair, A and B whether the event happened on d1 and on d2, the claim P1 <= slope P2 + intercept
says that w (A - slope B) - intercept is at most zero on average. It is at least -(slope / plain + intercept), for no
weight exceeds 1 / plain: so a stake of less than one over that on every pair never loses everything, and the wealth
is an e-process, whatever the noise was drawn by. Weights are gathered in bins, each counted at its worse end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.hypothesis.betting.importance_bets import ImportanceProcess
from refutedp.model.claims import Tangent
from refutedp.model.importance import WeightedHits, lower_ends, no_hits, upper_ends

Floats: TypeAlias = NDArray[np.float64]

_MOST = 0.99
"""No stake risks more than this part of the wealth on one pair."""
_AROUND = ((0.7, 0.2), (1.0, 0.5), (1.3, 0.2))
"""Stakes near the one that is best for the pilot, as parts of it, and how much of the unit goes to each."""
_REST = 1 - sum(share for _, share in _AROUND)
_GRID = tuple(float(part) for part in _MOST * np.geomspace(1e-3, 1.0, 16))


def log_wealths(hits: WeightedHits, line: Tangent, parts: Floats) -> Floats:
    """log of what one unit has become, for each stake as a part of the largest that cannot lose everything.

    A hit on d1 only is paid at the lower end of its bin, every loss at the upper end; weights beyond the last bin,
    smaller than e^-40, are not paid at all.
    """
    ends = upper_ends(hits.plain)
    stakes = parts / (line.slope / hits.plain + line.intercept)
    rest = hits.pairs - float(hits.table.sum())
    wealth = rest * np.log1p(-stakes * line.intercept)
    for counts, payoff in zip(hits.table, (1.0, 1 - line.slope, -line.slope), strict=True):
        seen = np.flatnonzero(counts)
        weights = ends[seen] if payoff < 0 else lower_ends(ends, seen)
        gains = stakes[:, None] * (payoff * weights - line.intercept)[None]
        wealth = wealth + (counts[seen] * np.log1p(gains)).sum(axis=1)
    return np.asarray(wealth)


def growth(pilot: WeightedHits, line: Tangent, parts: Sequence[float]) -> float:
    """log wealth a pair with the best of these parts of the largest stake."""
    return float(log_wealths(pilot, line, np.array(parts)).max()) / max(pilot.pairs, 1)


def best_part(pilot: WeightedHits, line: Tangent) -> tuple[float, float]:
    """The best stake for what a pilot saw, as a part of the largest, and how fast it grows: log wealth a pair."""
    parts = _MOST * np.geomspace(1e-4, 1.0, 60)
    grown = log_wealths(pilot, line, parts) / max(pilot.pairs, 1)
    best = int(np.argmax(grown))
    return float(parts[best]), float(grown[best])


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedProcess(ImportanceProcess[WeightedHits]):
    """Evidence from pairs of importance-sampled runs, with these parts of the largest stake.

    >>> import math
    >>> from refutedp.model.importance import weigh_hits
    >>> rng = np.random.default_rng(0)
    >>> def pairs(n):
    ...     return weigh_hits(np.ones(n), rng.random(n) < 0.3, rng.random(n) < 0.05, plain=1.0)
    >>> process = start_weighted(Tangent(math.e, 0.01), pairs(1000))
    >>> process.update(pairs(1000)).rejects(0.001)
    True
    """

    parts: tuple[float, ...]

    def log_wealths(self, line: Tangent) -> Floats:
        """log of what a unit on each stake has become against a line."""
        return log_wealths(self.hits, line, np.array(self.parts))


def start_weighted(line: Tangent, pilot: WeightedHits, target: Tangent | None = None) -> WeightedProcess:
    """Nine tenths of the unit on stakes near the best one for the pilot, the rest on all sizes.

    With a target the stakes are those that serve against this other line: against a larger ratio, say, that one
    would like to refute as well.
    """
    best, _ = best_part(pilot, target or line)
    around = tuple(min(best * factor, _MOST) for factor, _ in _AROUND)
    shares = tuple(share for _, share in _AROUND) + (_REST / len(_GRID),) * len(_GRID)
    return WeightedProcess(line=line, shares=shares, hits=no_hits(pilot.plain), parts=around + _GRID)
