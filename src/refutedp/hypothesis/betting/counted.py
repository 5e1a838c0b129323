"""E-processes on the hits of randomly allocated runs, against a ratio and against a line.

Against a ratio: mixtures of Beta priors over the probability that a hit falls on the x side, in closed form.

Against P1 <= slope P2 + intercept: one fixed stake on every run. Let a run go to the x side with probability
`share`, and let (a, b) be a point of the line, a = slope b + intercept. The payoff (hit - a)/share on an x run and
-slope (hit - b)/(1 - share) on a y run has mean P1 - slope P2 - intercept, which the claim says is not positive. So
the product of 1 + stake payoff is a supermartingale for every stake >= 0 that keeps it positive, and so is a mixture
over stakes; it depends on totals alone. With (a, b) the point of the line nearest to the truth, the best stake grows
as fast as any e-process can ("Testing by betting", Shafer 2021; reverse information projection: "Safe Testing",
Grünwald, de Heide & Koolen 2024).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from refutedp.hypothesis.betting.anytime import EProcess
from refutedp.model.claims import Tangent
from refutedp.model.claims.claim import bisected
from refutedp.model.records import Counts

_BROAD = ((0.6, 1.0), (0.25, 6.0))
"""Weights of the components near what search saw, and by how much each widens its uncertainty."""
_LEAST_SPREAD = 0.02
_AROUND = (0.5, 0.7, 0.85, 1.0, 1.15)
_GRID = 24
_MOST = 0.97
"""No stake risks more than this part of the wealth on one run."""


@dataclass(frozen=True, slots=True)
class Prior:
    """A mixture of Beta(a, b) distributions: rows of weight, a, b."""

    components: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioProcess(EProcess[Counts]):
    """For P1 <= e^epsilon P2: each hit falls on the x side with probability at most q under the claim.

    E = (mixture of likelihoods) / (largest likelihood with a probability of at most q). Under any q' <= q it is at
    most mixture / likelihood(q'), a martingale: so E is an e-process for the whole claim, as in Robbins' mixtures.

    >>> process = RatioProcess(epsilon=0.5, prior=prior_for(math.log(4), 0.1, 0.5), hits=Counts(0, 0, 0, 0))
    >>> process.update(Counts(80, 20, 250, 250)).rejects(0.001)
    True
    """

    epsilon: float
    prior: Prior

    @property
    def log_e(self) -> float:
        """log of the e-value of all runs so far."""
        x, y = self.hits.x, self.hits.y
        if x + y == 0:
            return 0.0
        odds = math.exp(self.epsilon) * self.hits.share / (1 - self.hits.share)
        q = min(odds / (1 + odds), x / (x + y))
        return log_mixture(x, y, self.prior) - log_likelihood(x, y, q)

    def epsilon_lower_bound(self, confidence: float) -> float:
        """A lower bound on log(P1/P2) that holds at every stop at once (a confidence sequence).

        The same mixture against every smaller probability; it exceeds the claim exactly when E reaches
        1/(1 - confidence) now. Minus infinity before the first hit on the x side.
        """
        q = lower_bound(self.hits.x, self.hits.y, self.prior, 1 - confidence)
        if q <= 0:
            return -math.inf
        return math.log(q) - math.log1p(-q) - math.log(self.hits.share / (1 - self.hits.share))


def prior_for(log_ratio: float, spread: float, share: float) -> Prior:
    """Mostly near the log ratio that search saw, give or take `spread`; the rest anywhere (Jeffreys).

    >>> [round(weight, 2) for weight, _, _ in prior_for(1.0, 0.1, 0.5).components]
    [0.6, 0.25, 0.15]
    """
    r = 1 / (1 + math.exp(-min(max(log_ratio + math.log(share / (1 - share)), -30.0), 30.0)))
    rows = []
    for weight, widen in _BROAD:
        # The Beta distribution with mean r whose log odds have about this variance.
        size = 1 / (r * (1 - r) * (max(spread, _LEAST_SPREAD) * widen) ** 2)
        rows.append((weight, max(size * r, 0.5), max(size * (1 - r), 0.5)))
    return Prior((*rows, (1 - sum(weight for weight, _ in _BROAD), 0.5, 0.5)))


def log_mixture(x: int, y: int, prior: Prior) -> float:
    """log of the average likelihood of a sequence with x and y hits."""
    from scipy import special

    weight, a, b = np.array(prior.components).T
    return float(special.logsumexp(np.log(weight) + special.betaln(a + x, b + y) - special.betaln(a, b)))


def log_likelihood(x: int, y: int, q: float) -> float:
    """log of q^x (1 - q)^y, with 0 log 0 = 0."""
    return (x * math.log(q) if x else 0.0) + (y * math.log1p(-q) if y else 0.0)


def lower_bound(x: int, y: int, prior: Prior, alpha: float) -> float:
    """The smallest q that x of x + y hits leave possible at every stop at once, with error alpha; 0 if x is 0.

    mixture / likelihood(q) is a martingale under q; below x/(x + y) it falls as q grows, so one bisection finds
    where it passes 1/alpha.
    """
    if x == 0:
        return 0.0
    needed = log_mixture(x, y, prior) + math.log(alpha)

    def possible(log_q: float) -> bool:
        return not log_likelihood(x, y, math.exp(log_q)) <= needed

    return math.exp(bisected(possible, -700.0, math.log(x / (x + y)))[0])


def rate_lower_bound(hits: int, runs: int, alpha: float, guess: float) -> float:
    """A lower bound on a rate that holds at every stop at once: a Beta mixture, half of it near `guess`.

    >>> 0.2 < rate_lower_bound(300, 1000, 0.05, guess=0.3) < 0.3
    True
    """
    size = 200.0
    near = (0.5, max(guess * size, 0.5), max((1 - guess) * size, 0.5))
    return lower_bound(hits, runs - hits, Prior((near, (0.5, 0.5, 0.5))), alpha)


@dataclass(frozen=True, slots=True)
class Bets:
    """Stakes with their weights, and the point of the line the payoffs are measured from."""

    line: Tangent
    share: float
    a: float
    b: float
    stakes: tuple[float, ...]
    weights: tuple[float, ...]

    def log_wealth(self, counts: Counts) -> float:
        """log of the wealth that one unit has become after these runs."""
        from scipy import special

        stake = np.array(self.stakes)
        gain, price = stake / self.share, stake * self.line.slope / (1 - self.share)
        log_factors = (
            counts.x * np.log1p(gain * (1 - self.a))
            + (counts.n_x - counts.x) * np.log1p(-gain * self.a)
            + counts.y * np.log1p(-price * (1 - self.b))
            + (counts.n_y - counts.y) * np.log1p(price * self.b)
        )
        return float(special.logsumexp(np.log(self.weights) + log_factors))


@dataclass(frozen=True, slots=True, kw_only=True)
class LineProcess(EProcess[Counts]):
    """For P1 <= slope P2 + intercept: a mixture of fixed bets on each run.

    >>> process = LineProcess(bets=bets_for(Tangent(math.e, 0.01), 0.3, 0.05, 0.5), hits=Counts(0, 0, 0, 0))
    >>> process.update(Counts(150, 25, 500, 500)).rejects(0.001)
    True
    """

    bets: Bets

    @property
    def log_e(self) -> float:
        """log of the e-value of all runs so far."""
        return self.bets.log_wealth(self.hits)


def bets_for(line: Tangent, p1: float, p2: float, share: float) -> Bets:
    """Half the unit on stakes near the best one for rates (p1, p2), half on all sizes.

    >>> bets = bets_for(Tangent(2.0, 0.01), 0.2, 0.05, 0.5)
    >>> round(bets.a - 2 * bets.b, 6), round(sum(bets.weights), 6)
    (0.01, 1.0)
    """
    b = _nearest(line, p1, p2, share)
    a = line.slope * b + line.intercept
    most = _MOST * min(share / a, (1 - share) / (line.slope * (1 - b)))
    best = min(max((p1 - a) * share / (a * (1 - a)), 1e-3 * most), most)
    around = tuple(min(best * factor, most) for factor in _AROUND)
    grid = tuple(float(stake) for stake in most * np.geomspace(1e-4, 1.0, _GRID))
    weights = (0.5 / len(around),) * len(around) + (0.5 / _GRID,) * _GRID
    return Bets(line, share, a, b, around + grid, weights)


def _nearest(line: Tangent, p1: float, p2: float, share: float) -> float:
    """P2 of the point of the line that explains rates (p1, p2) best (a concave likelihood: one bisection)."""
    top = min((1 - line.intercept) / line.slope, 1.0) * (1 - 1e-9)

    def geometric(low: float, high: float) -> float:
        return math.sqrt(low * high)

    def falls(b: float) -> bool:
        a = line.slope * b + line.intercept
        pull = share * line.slope * (p1 - a) / (a * (1 - a)) + (1 - share) * (p2 - b) / (b * (1 - b))
        return not pull > 0

    return geometric(*bisected(falls, 1e-12 * top, top, mean=geometric))
