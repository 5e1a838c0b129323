"""Tests of (epsilon, delta)-DP compared, and what stopping early gains and costs.

`python -m bench.claims [SIMULATIONS]`. Power and false alarms of a Clopper-Pearson pair, the Berger-Boos test and the
betting e-value; runs until conviction with early stopping, next to what any test of one event needs; and the cost of
stopping early on borderline cases. False alarms of every claim: `python -m bench.calibration`.
"""

from __future__ import annotations

import inspect
import math
import sys

import numpy as np
from scipy.stats import laplace

from bench.gaussian_gap import divergence
from refutedp.hypothesis.betting.anytime import batches, early_alpha, log_p_at_the_end
from refutedp.hypothesis.claim_test import claim_test
from refutedp.hypothesis.tests import line as nuisance
from refutedp.hypothesis.tests import ratio
from refutedp.hypothesis.tests.line import share_for
from refutedp.mechanisms import PAPER
from refutedp.model.claims import ApproxDP, PureDP
from refutedp.model.records import Counts

ALPHA = 0.001
CASES = (
    # epsilon, delta, P2, runs in all
    (1.0, 1e-5, 1e-4, 1_000_000),
    (1.0, 1e-5, 1e-2, 100_000),
    (1.0, 1e-3, 1e-3, 100_000),
    (1.0, 1e-2, 1e-3, 20_000),
    (0.3, 1e-3, 5e-2, 50_000),
    (3.0, 1e-3, 1e-3, 200_000),
    (1.0, 1e-2, 2e-1, 10_000),
)
BLATANT = ("isvt1", "noisy_max_laplace_value", "noisy_max_exponential_value", "histogram_wrong_scale")


def main(simulations: int = 150) -> None:
    power(simulations)
    stopping(4 * simulations)


def power(simulations: int) -> None:
    print(f"Power at alpha = {ALPHA} with P1 3.93 standard deviations beyond the claim (an ideal test has 0.80),")
    print(f"and false alarms at alpha = 0.05 with P1 on the border; {simulations} simulations each")
    names = ("pair", "Berger-Boos", "betting")
    print(f"{'ε':>4}{'δ':>8}{'P2':>8}{'runs':>10}  " + "".join(f"{n:>13}" for n in names) + "   false alarms")
    for epsilon, delta, p2, runs in CASES:
        claim = ApproxDP(epsilon, delta)
        edge = claim.largest(p2)
        line = claim.tangent_at(p2)
        share = share_for(line, edge, p2)
        spread = math.sqrt(edge * (1 - edge) / (share * runs) + line.slope**2 * p2 * (1 - p2) / ((1 - share) * runs))
        real = min(edge + 3.93 * spread, 0.999)
        hits = _rejections(claim, real, real, p2, share, runs, simulations, ALPHA)
        alarms = _rejections(claim, edge, real, p2, share, runs, simulations, 0.05)
        cells = "".join(f"{hits[n]:>13.2f}" for n in names)
        print(
            f"{epsilon:>4g}{delta:>8g}{p2:>8g}{runs:>10,}  {cells}   " + " ".join(f"{alarms[n]:.3f}" for n in names)
        )


def _rejections(
    claim: ApproxDP, p1: float, bet: float, p2: float, share: float, runs: int, simulations: int, alpha: float
) -> dict[str, float]:
    """How often each test rejects; the betting one may stop at any batch, with bets on the rate `bet`."""
    rng = np.random.default_rng([round(1e6 * p2), runs, round(1e9 * p1) % 2**31])
    line = claim_test(claim).line(bet, p2, share)
    search = Counts(round(bet * 10**7), round(p2 * 10**7), 10**7, 10**7)
    found = dict.fromkeys(("pair", "Berger-Boos", "betting"), 0.0)
    for _ in range(simulations):
        process = claim_test(claim).start(search, share, line)
        for size in batches(runs):
            n_x = int(rng.binomial(size, share))
            x, y = int(rng.binomial(n_x, p1)), int(rng.binomial(size - n_x, p2))
            process = process.update(Counts(x, y, n_x, size - n_x, share))
        counts = process.hits
        region = nuisance.region(counts, line, 1e-5)
        beyond = line.excess(counts.x / counts.n_x, counts.y / counts.n_y) > 0
        found["pair"] += nuisance.two_bounds_log_p_value(counts, claim.largest) <= math.log(alpha)
        found["Berger-Boos"] += region is not None and beyond and region.log_p_value(claim.largest) <= math.log(alpha)
        found["betting"] += process.rejects(alpha)
    return {name: value / simulations for name, value in found.items()}


def stopping(simulations: int) -> None:
    print("\nRuns until conviction with goal=speed, both sides together, median over seeds, by claimed ε")
    for alpha in (ALPHA, 0.05):
        print(f"  {f'significance {alpha}':<32}" + "".join(f"{epsilon:>10}" for epsilon in (0.2, 0.7, 1.5)))
        for name in BLATANT:
            cells = "".join(f"{_median_runs(name, epsilon, alpha):>10,.0f}" for epsilon in (0.2, 0.7, 1.5))
            print(f"  {name:<32}{cells}", flush=True)
        limits = [laplace_limit(epsilon, alpha) for epsilon in (0.2, 0.7, 1.5)]
        print(f"  {'independent runs of Laplace value':<32}" + "".join(f"{runs:>10,.0f}" for runs, _ in limits))
    print("  (the last row is the least that independent runs need: log(1/α)/D for any half-line, up to 40 queries)")
    print(
        f"\nBorderline: power of the fixed-size test at n runs, of stop=early at n and at 1.25 n ({simulations} each)"
    )
    print(f"{'ε':>5}{'real':>7}{'P2':>7}{'n':>9}{'fixed':>8}{'early':>8}{'early, 1.25 n':>15}{'mean runs / n':>15}")
    for epsilon, real, p2, runs in ((0.5, 0.55, 0.1, 196_000), (1.0, 1.1, 0.01, 390_000), (0.2, 0.3, 0.3, 19_000)):
        p1 = p2 * math.exp(real)
        share = 1 / (1 + math.exp(real / 2))
        rng = np.random.default_rng([runs, 1])
        n_x = rng.binomial(runs, share, simulations)
        fixed = np.mean(
            [
                ratio.log_p_value(Counts(int(a), int(b), int(n), int(runs - n), share), epsilon) <= math.log(ALPHA)
                for n, a, b in zip(n_x, rng.binomial(n_x, p1), rng.binomial(runs - n_x, p2), strict=True)
            ]
        )
        one, _ = _early(epsilon, p1, p2, share, runs, simulations, rng)
        more, mean = _early(epsilon, p1, p2, share, round(1.25 * runs), simulations, rng)
        print(f"{epsilon:>5}{real:>7}{p2:>7}{runs:>9,}{fixed:>8.3f}{one:>8.3f}{more:>15.3f}{mean / runs:>15.2f}")


def _early(epsilon, p1, p2, share, total, simulations, rng) -> tuple[float, float]:  # type: ignore[no-untyped-def]
    convicted, used = 0, 0
    for _ in range(simulations):
        search = Counts(int(rng.binomial(300_000, p1)), int(rng.binomial(300_000, p2)), 300_000, 300_000)
        process = claim_test(PureDP(epsilon)).start(search, share)
        for size in batches(total):
            n_x = int(rng.binomial(size, share))
            x, y = int(rng.binomial(n_x, p1)), int(rng.binomial(size - n_x, p2))
            process = process.update(Counts(x, y, n_x, size - n_x, share))
            if process.rejects(early_alpha(ALPHA)):
                break
        fixed = ratio.log_p_value(process.hits, epsilon)
        convicted += log_p_at_the_end(process, fixed) <= math.log(ALPHA)
        used += process.hits.runs
    return convicted / simulations, used / simulations


def _median_runs(name: str, epsilon: float, alpha: float, seeds: int = 7) -> float:
    """The fresh runs after which `check` convicts."""
    from refutedp import ALL_DIFFER, ONE_DIFFERS, check

    built_in = next(one for one in PAPER if one.name == name)
    names = inspect.signature(built_in.function).parameters
    used = []
    for seed in range(seeds):
        result = check(
            built_in.function,
            epsilon=epsilon,
            adjacency=ONE_DIFFERS if built_in.adjacency == "one" else ALL_DIFFER,
            args={argument: 1 for argument in ("threshold", "bound") if argument in names},
            significance=alpha,
            goal="speed",
            seed=seed,
            progress=False,
        )
        assert result.evidence is not None
        used.append(result.evidence.decided_after)
    return float(np.median(used))


def laplace_limit(epsilon: float, alpha: float) -> tuple[float, int]:
    """The fewest runs, by Stein's exponent, that show the leak of a maximum with Laplace noise; and with what length.

    Over all numbers of queries that all move by one, and all half-lines below a threshold, which by Neyman and
    Pearson are the best events, for the ratio of the densities only falls.
    """
    claim = PureDP(epsilon)
    scale = 2 / epsilon
    best = (math.inf, 0)
    for queries in range(1, 41):
        for threshold in np.linspace(-3 * scale, 6 * scale, 91):
            p1, p2 = (float(laplace.cdf(t, scale=scale) ** queries) for t in (threshold, threshold - 1))
            if p1 > 1.01 * math.exp(epsilon) * p2 and p2 > 1e-12:
                share = 1 / (1 + math.sqrt(p1 / p2))
                best = min(best, (math.log(1 / alpha) / divergence(claim, p1, p2, share), queries))
    return best


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
