"""Mixtures of Beta priors over the probability that a hit falls on the x side, in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

_BROAD = ((0.6, 1.0), (0.25, 6.0))
"""Weights of the components near what search saw, and by how much each widens its uncertainty."""
_LEAST_SPREAD = 0.02


@dataclass(frozen=True, slots=True)
class Prior:
    """A mixture of Beta(a, b) distributions: rows of weight, a, b."""

    components: tuple[tuple[float, float, float], ...]


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
    low, high = -700.0, math.log(x / (x + y))
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if log_likelihood(x, y, math.exp(middle)) <= needed else (low, middle)
    return math.exp(low)


def rate_lower_bound(hits: int, runs: int, alpha: float, guess: float) -> float:
    """A lower bound on a rate that holds at every stop at once: a Beta mixture, half of it near `guess`.

    >>> 0.2 < rate_lower_bound(300, 1000, 0.05, guess=0.3) < 0.3
    True
    """
    size = 200.0
    near = (0.5, max(guess * size, 0.5), max((1 - guess) * size, 0.5))
    return lower_bound(hits, runs - hits, Prior((near, (0.5, 0.5, 0.5))), alpha)
