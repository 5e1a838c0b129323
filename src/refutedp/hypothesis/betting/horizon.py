"""Bets on a number of importance-sampled pairs that is known beforehand, for the sharpest bound at its end.

A bet that grows fastest pays for the right to stop at any moment: to reach 1/alpha it needs a mean that lies sqrt(2
log(1/alpha)) standard errors beyond the line, 3.7 for 0.001. Where all pairs are made anyway, little more than the
3.1 of a test of one normal mean will do. Its gain, 1/alpha or nothing, can be had by bets alone: while a chance c is
left to reach the goal if the line holds, wealth c/alpha is enough to go for it, with a stake of density(d) / (c
spread sqrt(pairs left)) on each pair, where c = Phi(d). That is how an option that pays all or nothing is replicated
(Black & Scholes, "The Pricing of Options and Corporate Liabilities", 1973); "STaR-Bets: Sequential Target-
Recalculating Bets for Tighter Confidence Intervals" (Voráček & Orabona, 2025) recalculate stakes likewise. The spread
is a guess of the pilots, and the normal limit only says how much to stake: wealth is that of real bets, each fixed
before its pairs are seen, so it is an e-process whatever the distribution is.

Each line has stakes of its own, so that being ruled out need not be monotone in the ratio. The bound is the largest
of the lines up to which all are ruled out: it is too large only if the first line that is true is ruled out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.hypothesis.betting.anytime import EProcess
from refutedp.hypothesis.betting.weighted import WeightedProcess, start_weighted
from refutedp.model.claims import Tangent
from refutedp.model.importance import WeightedHits, lower_ends, upper_ends

Floats: TypeAlias = NDArray[np.float64]

HEDGED = 0.97
"""The part of the unit that goes for the bound; the rest grows without limit, for p-values of any depth."""
_PART = 0.05
"""A batch is this part of the pairs that are left: stakes are set anew after each, and matter most near the end."""
_LAST = 0.003
"""What is left of the pairs in the last batch."""
_AIM, _SOFT = 0.95, 0.003
"""Stakes are set for a little more wealth, and as if a few more pairs were to come: just before the end a normal mean
would take stakes that few pairs cannot bear."""
_MOST = 0.99
"""No stake risks more than this part of the wealth on one pair."""
_FINE = 1 / 16
"""How far lines are apart near the bound to be expected, in standard errors."""
_REACH = 3.0
"""How far from what the pilots saw the truth may lie, in standard errors of the pilots and the pairs."""
_FAR = (-80.0, -40.0, -20.0, -10.0)
"""Where lines lie further below, from the nearest of them, in standard errors."""
NORMAL_COST = 0.3
"""By how many standard errors a bound lies lower than that of a test of one normal mean, about."""


def batches(pairs: int) -> list[int]:
    """Sizes of the batches that make up so many pairs.

    >>> batches(100_000)[:3], len(batches(100_000)), sum(batches(100_000))
    ([5000, 4750, 4512], 115, 100000)
    """
    sizes, left = [], pairs
    while left > max(pairs * _LAST, 1):
        sizes.append(max(int(left * _PART), 1))
        left -= sizes[-1]
    return [*sizes, left] if left else sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class HorizonProcess(EProcess[WeightedHits]):
    """Evidence against P1 <= e^epsilon P2 for several epsilons at once, of which number `own` is the claim's.

    >>> from refutedp.model.importance import weigh_hits
    >>> rng = np.random.default_rng(0)
    >>> def pairs(n):
    ...     first = rng.random(n) < 0.2
    ...     return weigh_hits(np.ones(n), first, first & (rng.random(n) < 0.5), plain=1.0)
    >>> process = start_horizon(0.0, pairs(20_000), 100_000, 0.05)
    >>> for size in batches(100_000):
    ...     process = process.update(pairs(size))
    >>> 0.66 < process.epsilon_lower_bound(0.95) < math.log(2)
    True
    """

    epsilons: tuple[float, ...]
    own: int
    spreads: tuple[float, ...]
    """The standard deviation of what a pair pays against each line, as the pilots tell."""
    pairs: int
    """How many there will be."""
    alpha: float
    rest: WeightedProcess
    """What the rest of the unit is staked by."""
    log_hedged: tuple[float, ...]
    """log of what a unit has become that went for the bound, for each line."""

    def update(self, batch: WeightedHits) -> Self:
        """The evidence with one more batch; stakes on it depend on those before it only."""
        from scipy import special

        left = max(self.pairs - self.hits.pairs, batch.pairs, 1)
        log_wealth, slopes = np.array(self.log_hedged), np.exp(self.epsilons)
        log_chance = np.minimum(log_wealth + math.log(HEDGED * self.alpha * _AIM), 0.0)
        going = (log_wealth < -math.log(HEDGED * self.alpha)) & (log_chance > -600)
        at = special.ndtri_exp(np.where(going, log_chance, -1.0))
        log_density = -(at**2) / 2 - math.log(2 * math.pi) / 2
        stakes = np.exp(log_density - np.where(going, log_chance, -1.0)) / (
            np.array(self.spreads) * math.sqrt(left + _SOFT * self.pairs)
        )
        stakes = np.where(going, np.minimum(stakes, _MOST * batch.plain / slopes), 0.0)
        hedged = tuple((log_wealth + _grown(batch, slopes, stakes)).tolist())
        hits = self.hits + batch
        after = replace(self, hits=hits, rest=replace(self.rest, hits=hits), log_hedged=hedged)
        return replace(after, log_peak=max(self.log_peak, after.log_e))

    @property
    def log_e(self) -> float:
        """log of the e-value against the claim, of all pairs so far."""
        return self._log_e(self.own)

    def _log_e(self, number: int) -> float:
        line = Tangent(math.exp(self.epsilons[number]), 0.0)
        grown = self.rest.log_e_against(line)
        return float(np.logaddexp(math.log(HEDGED) + self.log_hedged[number], math.log(1 - HEDGED) + grown))

    def epsilon_lower_bound(self, confidence: float) -> float:
        """The largest of the epsilons up to which all are ruled out; minus infinity if the first is not."""
        bound, needed = -math.inf, -math.log(1 - confidence)
        for number, epsilon in enumerate(self.epsilons):
            if self._log_e(number) < needed:
                break
            bound = epsilon
        return bound


def start_horizon(claimed: float, pilot: WeightedHits, pairs: int, alpha: float) -> HorizonProcess:
    """Before the first pair of `pairs`; the lines and the spreads are those that the pilot suggests."""
    seen, error = log_ratio(pilot, pairs)
    doubt = _REACH * math.sqrt(1 + pairs / max(pilot.pairs, 1))
    near = np.arange(-doubt - _REACH, doubt, _FINE)
    epsilons = sorted({claimed, *(seen + error * np.concatenate([near[0] + _FAR, near])).tolist()})
    lines = [Tangent(math.exp(epsilon), 0.0) for epsilon in epsilons]
    return HorizonProcess(
        hits=pilot.scaled(0),
        epsilons=tuple(epsilons),
        own=epsilons.index(claimed),
        spreads=tuple(max(pilot.error(line) * math.sqrt(pilot.pairs), 1e-300) for line in lines),
        pairs=pairs,
        alpha=alpha,
        rest=start_weighted(Tangent(math.exp(claimed), 0.0), pilot),
        log_hedged=(0.0,) * len(epsilons),
    )


def log_ratio(pilot: WeightedHits, pairs: int) -> tuple[float, float]:
    """log(P1/P2) as the pilot saw it, and the standard error of as many pairs as told."""
    p1, p2 = pilot.rates
    error = pilot.error(Tangent(p1 / p2, 0.0)) * math.sqrt(pilot.pairs / max(pairs, 1)) / p1
    return math.log(p1 / p2), error


def expected_bound(pilot: WeightedHits, pairs: int, alpha: float) -> float:
    """About what so many pairs would certify, if they were as the pilot; minus infinity if it has too few hits.

    No stake may lose everything on one pair. Where that keeps stakes small, a bet needs more than a normal mean.
    """
    from scipy import special

    p1, p2 = pilot.rates
    if not (p1 > 0 and p2 > 0):
        return -math.inf
    seen, error = log_ratio(pilot, pairs)
    needed = -float(special.ndtri(HEDGED * alpha)) + NORMAL_COST
    # In standard errors: with stakes of s on one, wealth grows by s x - s^2 / 2.
    most = _MOST * pilot.plain * (p2 / p1) * error * p1 * pairs
    if most < needed:
        needed = math.log(1 / alpha) / most + most / 2
    return seen - needed * error


def _grown(hits: WeightedHits, slopes: Floats, stakes: Floats) -> Floats:
    """log of what a unit becomes on these pairs, against each line with its stake: paid as by `log_wealths`."""
    ends = upper_ends(hits.plain)
    wealth = np.zeros(len(slopes))
    payoffs: Sequence[Floats] = (np.ones(len(slopes)), 1 - slopes, -slopes)
    for counts, payoff in zip(hits.table, payoffs, strict=True):
        seen = np.flatnonzero(counts)
        above, below = ends[seen], lower_ends(ends, seen)
        weights = np.where(payoff[:, None] < 0, above[None], below[None])
        wealth += np.log1p((stakes * payoff)[:, None] * weights) @ counts[seen]
    return wealth
