"""Rényi divergences between two coins, and the coins that a bound on them permits.

An event is a binary post-processing of the output, so by the data-processing inequality a bound on the Rényi
divergence of the outputs bounds that of Bernoulli(P1) from Bernoulli(P2); and as the coins are outputs of a mechanism
too, nothing sharper holds. p^a q^(1-a) is jointly convex for a > 1, so the permitted set is convex.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refutedp.model.claims.claim import Floats

_HALVINGS = 52


@dataclass(frozen=True, slots=True)
class Coins:
    """log P and log(1 - P) on both sides: nothing is lost for probabilities near zero or one."""

    log_p: Floats
    log_not_p: Floats
    log_q: Floats
    log_not_q: Floats


def coins(logit_p: Floats, logit_q: Floats) -> Coins:
    """Coins whose heads have these log odds."""
    return Coins(*_log_sides(logit_p), *_log_sides(logit_q))


def _log_sides(logit: Floats) -> tuple[Floats, Floats]:
    """log P and log(1 - P) of a coin with these log odds."""
    return -np.logaddexp(0.0, -logit), -np.logaddexp(0.0, logit)


def divergence(pair: Coins, alpha: Floats) -> Floats:
    """The larger of D_alpha(P || Q) and D_alpha(Q || P)."""
    one = np.logaddexp(
        alpha * pair.log_p + (1 - alpha) * pair.log_q, alpha * pair.log_not_p + (1 - alpha) * pair.log_not_q
    )
    other = np.logaddexp(
        alpha * pair.log_q + (1 - alpha) * pair.log_p, alpha * pair.log_not_q + (1 - alpha) * pair.log_not_p
    )
    return np.asarray(np.maximum(one, other) / (alpha - 1))


def largest_logit(logit_q: Floats, alpha: Floats, bound: Floats) -> Floats:
    """The log odds of the largest P with both divergences at most `bound`, rounded up; arguments broadcast.

    Bisection: for P >= Q both divergences grow with P. The upper end is returned, so the point lies on the border or
    a hair outside, and a tangent there holds everything that is permitted.
    """
    logit_q, alpha, bound = np.broadcast_arrays(logit_q, alpha, bound)
    low = logit_q.astype(np.float64).copy()
    # Within the border log(P/Q) <= bound alpha/(alpha - 1) - log(Q)/alpha, and the odds of 1 - P are bounded alike.
    high = np.full_like(low, 750.0)
    log_q, log_not_q = _log_sides(logit_q)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = divergence(Coins(*_log_sides(middle), log_q, log_not_q), alpha) <= bound
        low = np.where(inside, middle, low)
        high = np.where(inside, high, middle)
    return high


def slope_at(logit_p: Floats, logit_q: Floats, alpha: Floats) -> Floats:
    """dP/dQ along the level line of the larger divergence through these coins."""
    pair = coins(logit_p, logit_q)
    log_r = pair.log_p - pair.log_q
    log_m = pair.log_not_p - pair.log_not_q
    one = np.logaddexp(alpha * log_r + pair.log_q, alpha * log_m + pair.log_not_q)
    other = np.logaddexp((1 - alpha) * log_r + pair.log_q, (1 - alpha) * log_m + pair.log_not_q)
    gap = log_m - log_r  # negative: the event is likelier under P
    ratio = np.expm1(alpha * gap) / np.expm1((alpha - 1) * gap)
    first = np.exp(log_r) * ratio * (alpha - 1) / alpha
    second = np.exp(log_m) / ratio * alpha / (alpha - 1)
    return np.asarray(np.where(one >= other, first, second))
