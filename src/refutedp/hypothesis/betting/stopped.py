"""Certified bounds at an early stop: valid whenever one stops, for every privacy parameter."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from refutedp.hypothesis.betting.anytime import LineProcess, Process
from refutedp.hypothesis.betting.importance_bets import ImportanceProcess
from refutedp.hypothesis.betting.mixture import rate_lower_bound
from refutedp.hypothesis.betting.stakes import bets_for
from refutedp.hypothesis.certify import Certified, certified_from
from refutedp.hypothesis.claim_test import choose_tangent, is_ratio, search_rates
from refutedp.hypothesis.tests.line import Frontier
from refutedp.model.claims import ZCDP, ApproxDP, Claim, GaussianDP, RenyiDP
from refutedp.model.records import Counts

_STEPS = 80
_STRIDE = 1.04


def certify_stopped(process: Process, confidence: float, claim: Claim, search: Counts) -> Certified:
    """Bounds from the runs of an e-process at whatever moment it was stopped.

    P1 and P2 have confidence sequences of half the error each (Beta mixtures), which give every currency. The claim's
    own currency is sharper: the confidence sequence of the ratio for a pure claim; for others the claim is tested
    first and then ever weaker ones, each with its own bets, up to the first that stands. Fixed-sequence testing needs
    no correction, so that bound is never below a claim that the process has rejected at 1 - confidence.
    """
    counts, error = process.counts, 1 - confidence
    guess1, guess2 = search_rates(search)
    p1 = rate_lower_bound(counts.x, counts.n_x, error / 2, guess1)
    p2 = 1 - rate_lower_bound(counts.n_y - counts.y, counts.n_y, error / 2, 1 - guess2)
    front = Frontier(np.array([0.0]), np.array([p2]), np.array([p1]))
    if not isinstance(process, LineProcess):
        return certified_from(front, confidence, claim, max(0.0, process.epsilon_lower_bound(confidence)))
    found = certified_from(front, confidence, claim)
    name = _currency(claim)
    reached = None if name is None else _climb(process, claim, error, search)
    return found if name is None or reached is None else replace(found, **{name: reached})


def _climb(process: LineProcess, claim: Claim, error: float, search: Counts) -> float | None:
    """The parameter of the weakest claim rejected in a row, starting with the claim itself; None if that stands."""
    if not process.rejects(error):
        return None
    p1, p2 = search_rates(search)
    share = process.counts.share

    def rejected(weaker: Claim) -> bool:
        line = choose_tangent(weaker, p1, p2, share)
        return bets_for(line, p1, p2, share).log_wealth(process.counts) >= -math.log(error)

    return _last_rejected(claim, rejected)


def certify_weighted(
    process: ImportanceProcess[Any], confidence: float, claim: Claim, rates: tuple[float, float]
) -> Certified:
    """Bounds from importance-sampled runs: in the claim's own currency, by ever weaker claims as above; nothing in
    others.

    `rates` are what the pilots said.
    """
    error = 1 - confidence
    nothing = certified_from(Frontier(np.array([0.0]), np.array([1.0]), np.array([0.0])), confidence, claim)
    if is_ratio(claim):
        return replace(nothing, epsilon=max(0.0, process.epsilon_lower_bound(confidence)))
    name = _currency(claim)
    if name is None or not process.rejects(error):
        return nothing

    def rejected(weaker: Claim) -> bool:
        return process.log_e_against(choose_tangent(weaker, *rates)) >= -math.log(error)

    return replace(nothing, **{name: _last_rejected(claim, rejected)})


def _last_rejected(claim: Claim, rejected: Callable[[Claim], bool]) -> float:
    """The parameter of the weakest claim rejected in a row; the claim itself is known to be rejected."""
    ladder = _weaker(claim)
    reached, _ = next(ladder)
    for value, weaker in ladder:
        if not rejected(weaker):
            break
        reached = value
    return reached


def _weaker(claim: Claim) -> Iterator[tuple[float, Claim]]:
    """The claim and ever weaker ones of its kind, on a ladder that looks at no runs."""
    for step in range(_STEPS):
        grow = _STRIDE**step
        match claim:
            case ApproxDP(epsilon=epsilon, delta=delta):
                value = epsilon + 0.02 * step if epsilon < 0.5 else epsilon * grow
                yield value, ApproxDP(value, delta)
            case ZCDP(rho=rho):
                yield rho * grow, ZCDP(rho * grow)
            case GaussianDP(mu=mu):
                yield mu * grow, GaussianDP(mu * grow)
            case RenyiDP(alpha=alpha, epsilon=epsilon):
                yield epsilon * grow, RenyiDP(alpha, epsilon * grow)
            case _:
                return


def _currency(claim: Claim) -> str | None:
    match claim:
        case ApproxDP():
            return "epsilon"
        case ZCDP():
            return "rho"
        case GaussianDP():
            return "mu"
        case RenyiDP():
            return "renyi"
        case _:
            return None
