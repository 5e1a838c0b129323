"""Bets on importance-sampled runs of which each is of one side only (see `sampling.lifted.noise.unpaired`).

A run is of d1 with probability `share`, else of d2; w is the weight of its noise, and a hit is the event. Let `kept`,
`back` and `stake` be such that share kept + back + stake intercept = 1 and stake slope <= back. Then the run pays

    on d1:  kept + (stake / share) w                a hit,      kept                    a miss;
    on d2:  (back - stake slope) w / (1 - share)    a hit,      back w / (1 - share)    a miss.

That is never less than nothing, and 1 + stake (P1 - slope P2 - intercept) on average: at most one while the claim
holds. So the wealth is an e-process. Where the plans are perfect every run of d1 is a hit, none of d2 is, and a stake
of nearly 1 / slope pays the same on every run: no test of the event grows faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.hypothesis.betting.importance_bets import ImportanceProcess
from refutedp.model.claims import Tangent
from refutedp.model.importance import lower_ends, upper_ends
from refutedp.model.importance_unpaired import UnpairedHits, no_runs

Floats: TypeAlias = NDArray[np.float64]
Stakes: TypeAlias = tuple[tuple[float, float], ...]
"""What a miss on d1 keeps, and the part of the largest stake: `kept` and stake slope / back."""

_KEPT = tuple(float(one) for one in 1 - np.geomspace(0.005, 0.9, 14))
_PARTS = tuple(float(one) for one in 1 - np.geomspace(0.01, 0.95, 14))
_GRID: Stakes = tuple((kept, part) for kept in _KEPT for part in _PARTS)
SHARES = tuple(float(share) for share in np.geomspace(0.002, 0.7, 24))
"""Parts of the runs that may go to d1."""
_AROUND = ((0.0, 1.0, 0.7), (0.0, 0.8, 0.1), (0.5, 1.0, 0.1), (0.5, 0.5, 0.1))
"""Stakes near the best one: how much of what a miss loses is kept, the part of its stake, its share of the unit."""


def log_wealths(hits: UnpairedHits, line: Tangent, share: float, stakes: Stakes) -> Floats:
    """log of what one unit has become, for each stake. Hits on d1 are paid at the lower end of their bin."""
    kept, part = np.array(stakes).T
    stake = part * (1 - share * kept) / (line.slope + part * line.intercept)
    back = stake * line.slope / part
    seen = np.flatnonzero(hits.table)
    least = lower_ends(upper_ends(hits.plain), seen)
    found = hits.table[seen]
    first = np.log(kept[:, None] + (stake / share)[:, None] * least) @ found + (hits.n_x - found.sum()) * np.log(kept)
    with np.errstate(divide="ignore"):
        back_a_run = np.log(back / (1 - share))
    second = hits.log_weights + hits.n_y * back_a_run + hits.y * np.log1p(-part)
    return np.asarray(first + second)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpairedProcess(ImportanceProcess[UnpairedHits]):
    """Evidence from importance-sampled runs that are each of one side.

    >>> from refutedp.model.importance_unpaired import weigh_first, weigh_second
    >>> rng = np.random.default_rng(0)
    >>> def runs(n):
    ...     first = weigh_first(np.full(n, 0.1), rng.random(n) < 0.9, plain=0.5)
    ...     return first + weigh_second(np.full(9 * n, 0.99), rng.random(9 * n) < 0.001, plain=0.5)
    >>> start_unpaired(Tangent(1.5, 0.0), 0.5, 0.1, (0.5, 0.9)).update(runs(1000)).rejects(0.001)
    True
    """

    share: float
    stakes: Stakes

    def log_wealths(self, line: Tangent) -> Floats:
        """log of what a unit on each stake has become against a line."""
        return log_wealths(self.hits, line, self.share, self.stakes)


def best_stake(first: UnpairedHits, second: UnpairedHits, line: Tangent) -> tuple[float, float, tuple[float, float]]:
    """How fast wealth grows a run, at best, if runs on d1 and on d2 are like these; with what share and stake."""
    best = (-np.inf, 0.5, _GRID[0])
    for share in SHARES:
        one, other = (log_wealths(hits, line, share, _GRID) / max(hits.runs, 1) for hits in (first, second))
        grown = share * one + (1 - share) * other
        k = int(np.argmax(grown))
        best = max(best, (float(grown[k]), share, _GRID[k]))
    return best


def start_unpaired(line: Tangent, plain: float, share: float, stake: tuple[float, float]) -> UnpairedProcess:
    """Most of the unit on the best stake, the rest on more careful ones."""
    kept, part = stake
    stakes = tuple((kept + more * (1 - kept), less * part) for more, less, _ in _AROUND)
    shares = tuple(share for _, _, share in _AROUND)
    return UnpairedProcess(line=line, shares=shares, hits=no_runs(plain), share=share, stakes=stakes)
