"""How many runs show that Gaussian noise is too small for its (epsilon, delta)-claim, and how that grows.

`python -m bench.gaussian_gap [SIMULATIONS]`. The claim is (1, 1e-5)-DP with the smallest sigma; the noise is a
few percent smaller. The event is the half-line that needs fewest runs (by Neyman and Pearson no other event shows
more of P1 - e^epsilon P2), and the runs are simulated by their counts. Two limits stand beside it, with D the least
divergence a run of the real rates from rates that the claim permits: log(1/alpha) / D, the exponent of Chernoff and
Stein; and z^2 / (2 D), z the normal quantile of alpha, which is what the best test needs for power one half. All
these are for plain runs. The last column is what `check` needs, its noise drawn towards the event: the median of
some seeds, search and pilots left out.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from scipy import optimize, special

from refutedp import ONE_DIFFERS, Verdict, check
from refutedp.hypothesis.claim_test import claim_test
from refutedp.hypothesis.tests.line import share_for
from refutedp.mechanisms.added_noise import analytic_sigma
from refutedp.model.claims import ApproxDP, Claim
from refutedp.model.records import Counts

ALPHA = 0.001
EPSILON, DELTA = 1.0, 1e-5
GAPS = (0.2, 0.15, 0.1, 0.05, 0.02)
HALF = float(special.ndtri(ALPHA)) ** 2 / 2 / math.log(1 / ALPHA)
"""The best test's runs at power one half, in units of Stein's exponent."""


def main(simulations: int = 40) -> None:
    claim = ApproxDP(EPSILON, DELTA)
    sigma = analytic_sigma(EPSILON, DELTA)
    print(f"{claim}: sigma {sigma:.4f} suffices; runs in all for a conviction at {ALPHA} with power 1/2")
    limits = "".join(f"{word:>15}" for word in ("Stein", "best", "our test"))
    print(f"{'gap':>6}{'real δ':>11}{'P1':>10}{'P2':>10}{'share':>7}{limits}{'weighted':>13}", flush=True)
    for gap in GAPS:
        real = sigma * (1 - gap)
        p1, p2, share, least = best_half_line(claim, real)
        needed = runs_needed(claim, p1, p2, share, least, simulations)
        delta = p1_minus(real, EPSILON)
        print(
            f"{gap:>6.0%}{delta:>11.2e}{p1:>10.2e}{p2:>10.2e}{share:>7.2f}{least:>15,.0f}{HALF * least:>15,.0f}"
            f"{needed:>15,.0f}{weighted_runs(claim, real):>13,.0f}",
            flush=True,
        )
    print("\nThe best test of the best half-line, noise 5% too small, by claimed ε (δ = 1e-5):")
    for epsilon in (0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0):
        _, _, _, least = best_half_line(ApproxDP(epsilon, DELTA), 0.95 * analytic_sigma(epsilon, DELTA))
        print(f"{epsilon:>6g}{HALF * least:>15,.0f}")


def weighted_runs(claim: ApproxDP, sigma: float, seeds: int = 5) -> float:
    """The fresh runs in all after which `check` convicts noise of this size."""

    def noisy(data: list[float], rng: np.random.Generator) -> list[float]:
        return [query + rng.normal(0.0, sigma) for query in data]

    used = []
    for seed in range(seeds):
        result = check(
            noisy, claim, adjacency=ONE_DIFFERS, confirm_runs=100_000_000, goal="speed", seed=seed, progress=False
        )
        assert result.evidence is not None
        used.append(result.evidence.decided_after if result.verdict is Verdict.VIOLATION else math.inf)
    return float(np.median(used))


def p1_minus(sigma: float, epsilon: float) -> float:
    """The real delta at epsilon of noise sigma."""
    a, b = 1 / (2 * sigma) - epsilon * sigma, -1 / (2 * sigma) - epsilon * sigma
    return float(special.ndtr(a) - math.exp(epsilon) * special.ndtr(b))


def best_half_line(claim: ApproxDP, sigma: float) -> tuple[float, float, float, float]:
    """Rates, share and limit of the half-line with the fewest runs by the limit."""
    best = (0.0, 0.0, 0.5, math.inf)
    for threshold in np.linspace(0.5, 8.0, 400) * sigma:
        p1, p2 = float(special.ndtr((1 - threshold) / sigma)), float(special.ndtr(-threshold / sigma))
        if p1 <= claim.largest(p2):
            continue
        share = share_for(claim_test(claim).line(p1, p2), p1, p2)
        least = math.log(1 / ALPHA) / divergence(claim, p1, p2, share)
        if least < best[3]:
            best = (p1, p2, share, least)
    return best


def divergence(claim: Claim, p1: float, p2: float, share: float) -> float:
    """The least mean divergence of a run from rates on the border of the claim."""

    def cost(log_u: float) -> float:
        u = math.exp(log_u)
        return share * _kl(p1, claim.largest(u)) + (1 - share) * _kl(p2, u)

    bounds = (math.log(p2) - 0.7, math.log(p2) + 0.7)
    return float(optimize.minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-10}).fun)


def runs_needed(claim: ApproxDP, p1: float, p2: float, share: float, least: float, simulations: int) -> float:
    """Runs at which half the simulated confirmations convict, by bisection."""
    low, high = 0.4 * least, 3 * least
    test = claim_test(claim)
    line = test.line(p1, p2, share)
    while high / low > 1.05:
        runs = math.sqrt(low * high)
        rng = np.random.default_rng(11)
        n_x = rng.binomial(round(runs), share, simulations)
        x, y = rng.binomial(n_x, p1), rng.binomial(round(runs) - n_x, p2)
        convicted = sum(
            test.log_p_value(Counts(int(a), int(b), int(n), round(runs) - int(n), share), line) <= math.log(ALPHA)
            for n, a, b in zip(n_x, x, y, strict=True)
        )
        low, high = (low, runs) if convicted >= simulations / 2 else (runs, high)
    return high


def _kl(p: float, q: float) -> float:
    return float(special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
