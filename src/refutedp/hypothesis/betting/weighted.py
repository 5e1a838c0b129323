"""Bets on importance-sampled runs, counted by their weights.

In pairs of runs (see `sampling.lifted.noise.importance_noise`) let w be the weight of a pair, A and B whether the
event happened on d1 and on d2. The claim P1 <= slope P2 + intercept says that w (A - slope B) - intercept is at most
zero on average. It is at least -(slope / plain + intercept), for no weight exceeds 1 / plain: so a stake of less than
one over that on every pair never loses everything, and the wealth is an e-process, whatever the noise was drawn by.
Weights are gathered in bins, each counted at its worse end.

Of unpaired runs (see `sampling.lifted.lifted_sampler`) each is of d1 with probability `share`, else of d2; w is the
weight of its noise, and a hit is the event. Let `kept`, `back` and `stake` be such that share kept + back +
stake intercept = 1 and stake slope <= back. Then the run pays

    on d1:  kept + (stake / share) w                a hit,      kept                    a miss;
    on d2:  (back - stake slope) w / (1 - share)    a hit,      back w / (1 - share)    a miss.

That is never less than nothing, and 1 + stake (P1 - slope P2 - intercept) on average: at most one while the claim
holds. So the wealth is an e-process. Where the plans are perfect every run of d1 is a hit, none of d2 is, and a stake
of nearly 1 / slope pays the same on every run: no test of the event grows faster.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.hypothesis.betting.anytime import EProcess, H
from refutedp.model.claims import Tangent
from refutedp.model.claims.claim import bisected
from refutedp.model.importance import UnpairedHits, WeightedHits, lower_ends, no_hits, no_runs, upper_ends

Floats: TypeAlias = NDArray[np.float64]
Stakes: TypeAlias = tuple[tuple[float, float], ...]
"""What a miss on d1 keeps, and the part of the largest stake: `kept` and stake slope / back."""

_MOST = 0.99
"""No stake risks more than this part of the wealth on one pair."""
_AROUND = ((0.7, 0.2), (1.0, 0.5), (1.3, 0.2))
"""Stakes near the one that is best for the pilot, as parts of it, and how much of the unit goes to each."""
_REST = 1 - sum(share for _, share in _AROUND)
_GRID = tuple(float(part) for part in _MOST * np.geomspace(1e-3, 1.0, 16))
_KEPT = tuple(float(one) for one in 1 - np.geomspace(0.005, 0.9, 14))
_PARTS = tuple(float(one) for one in 1 - np.geomspace(0.01, 0.95, 14))
_UNPAIRED_GRID: Stakes = tuple((kept, part) for kept in _KEPT for part in _PARTS)
SHARES = tuple(float(share) for share in np.geomspace(0.002, 0.7, 24))
"""Parts of the runs that may go to d1."""
_UNPAIRED_AROUND = ((0.0, 1.0, 0.7), (0.0, 0.8, 0.1), (0.5, 1.0, 0.1), (0.5, 0.5, 0.1))
"""Stakes near the best one: how much of what a miss loses is kept, the part of its stake, its share of the unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportanceProcess(EProcess[H]):
    """Evidence against P1 <= slope P2 + intercept: a unit split among stakes, by `shares`, each an e-process."""

    line: Tangent
    shares: tuple[float, ...]

    @abstractmethod
    def log_wealths(self, line: Tangent) -> Floats:
        """log of what a unit on each stake has become against a line."""

    @property
    def log_e(self) -> float:
        """log of the e-value of all runs so far."""
        return self.log_e_against(self.line)

    def log_e_against(self, line: Tangent) -> float:
        """The same against another line, with the same parts staked."""
        if not self.hits.runs:
            return 0.0
        from scipy import special

        return float(special.logsumexp(np.log(self.shares) + self.log_wealths(line)))

    def epsilon_lower_bound(self, confidence: float) -> float:
        """A lower bound on log(P1/P2) that holds at every stop at once: every smaller epsilon loses the same bets."""
        needed = -math.log(1 - confidence)

        def stands(epsilon: float) -> bool:
            return not self.log_e_against(Tangent(math.exp(epsilon), 0.0)) >= needed

        low, _ = bisected(stands, -10.0, 40.0, halvings=26)
        return low if low > -9.9 else -math.inf


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


def unpaired_log_wealths(hits: UnpairedHits, line: Tangent, share: float, stakes: Stakes) -> Floats:
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

    >>> from refutedp.model.importance import weigh_first, weigh_second
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
        return unpaired_log_wealths(self.hits, line, self.share, self.stakes)


def best_stake(first: UnpairedHits, second: UnpairedHits, line: Tangent) -> tuple[float, float, tuple[float, float]]:
    """How fast wealth grows a run, at best, if runs on d1 and on d2 are like these; with what share and stake."""
    best = (-np.inf, 0.5, _UNPAIRED_GRID[0])
    for share in SHARES:
        one, other = (
            unpaired_log_wealths(hits, line, share, _UNPAIRED_GRID) / max(hits.runs, 1) for hits in (first, second)
        )
        grown = share * one + (1 - share) * other
        k = int(np.argmax(grown))
        best = max(best, (float(grown[k]), share, _UNPAIRED_GRID[k]))
    return best


def start_unpaired(line: Tangent, plain: float, share: float, stake: tuple[float, float]) -> UnpairedProcess:
    """Most of the unit on the best stake, the rest on more careful ones."""
    kept, part = stake
    stakes = tuple((kept + more * (1 - kept), less * part) for more, less, _ in _UNPAIRED_AROUND)
    shares = tuple(share for _, _, share in _UNPAIRED_AROUND)
    return UnpairedProcess(line=line, shares=shares, hits=no_runs(plain), share=share, stakes=stakes)
