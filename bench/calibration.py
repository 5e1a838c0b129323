"""False-alarm rates on the border of the claim, for our test and the paper's, and of whole checks.

`python -m bench.calibration [SIMULATIONS]`: simulated confirmations with P1 = e^epsilon P2 exactly; a valid test
raises an alarm with probability at most alpha. Then the same for every other claim and for stopping at the worst
moment (see `border`), and 200 seeded checks of correct mechanisms at their exact epsilon.
"""

from __future__ import annotations

import inspect
import math
import sys

import numpy as np
from scipy import stats

from bench import border
from refutedp import ALL_DIFFER, ONE_DIFFERS, Verdict, check
from refutedp.mechanisms import PAPER
from refutedp.records import Counts
from refutedp.stats import fisher
from refutedp.stats.tails import log_binomial_upper

ALPHA = 0.05
RUNS = 100_000
RATES = (1e-4, 1e-3, 1e-2, 0.1, 0.5)
EPSILONS = (0.1, 0.5, 1.5, 3.0)


def main(simulations: int = 4000) -> None:
    print(f"False alarms at alpha = {ALPHA}, P1 = e^ε P2, {RUNS:,} runs in all, {simulations:,} simulations")
    print(f"{'ε':>5}{'P2':>9}{'allocation π=.5':>18}{'allocation π=.2':>18}{'paper (Fisher)':>16}")
    worst = 0.0
    for epsilon in EPSILONS:
        for rate in RATES:
            if rate * math.exp(epsilon) > 1:
                continue
            row = [_allocation(epsilon, rate, share, simulations) for share in (0.5, 0.2)]
            worst = max(worst, *row)
            paper = _paper(epsilon, rate, min(simulations, 400))
            print(f"{epsilon:>5}{rate:>9g}{row[0]:>18.4f}{row[1]:>18.4f}{paper:>16.4f}", flush=True)
    limit = ALPHA + 4 * math.sqrt(ALPHA * (1 - ALPHA) / simulations)
    print(f"worst allocation rate {worst:.4f}; alpha plus four standard errors is {limit:.4f}")
    print(f"worst rate of any claim {border.table(simulations, ALPHA):.4f}; the limit is the same")
    _whole_checks()


def _allocation(epsilon: float, rate: float, share: float, simulations: int) -> float:
    rng = np.random.default_rng([round(1000 * epsilon), round(1e6 * rate), round(100 * share)])
    n_x = rng.binomial(RUNS, share, simulations)
    x = rng.binomial(n_x, rate * math.exp(epsilon))
    y = rng.binomial(RUNS - n_x, rate)
    odds = share / (1 - share) * math.exp(epsilon)
    return float(np.mean(log_binomial_upper(x, x + y, odds / (1 + odds)) <= math.log(ALPHA)))


def _paper(epsilon: float, rate: float, simulations: int) -> float:
    rng = np.random.default_rng([round(1000 * epsilon), round(1e6 * rate), 7])
    n = RUNS // 2
    x, y = rng.binomial(n, rate * math.exp(epsilon), simulations), rng.binomial(n, rate, simulations)
    alarms = [
        fisher.log_p_value(Counts(int(a), int(b), n, n), epsilon) <= math.log(ALPHA)
        for a, b in zip(x, y, strict=True)
    ]
    return float(np.mean(alarms))


def _whole_checks(checks: int = 200) -> None:
    correct = [built_in for built_in in PAPER if built_in.correct]
    alarms = 0
    for number in range(checks):
        built_in = correct[number % len(correct)]
        names = inspect.signature(built_in.function).parameters
        result = check(
            built_in.function,
            epsilon=(0.2, 0.7, 1.5)[number % 3],
            adjacency=ONE_DIFFERS if built_in.adjacency == "one" else ALL_DIFFER,
            args={name: 1 for name in ("threshold", "bound") if name in names},
            significance=ALPHA,
            seed=number,
            search_runs=5_000,
            confirm_runs=25_000,
            lengths=(5,),
            progress=False,
        )
        alarms += result.verdict is Verdict.VIOLATION
    allowed = int(stats.binom.isf(1e-3, checks, ALPHA))
    print(f"\n{checks} checks of correct mechanisms at their exact ε, alpha = {ALPHA}: {alarms} alarms")
    print(f"(more than {allowed} would have probability below 0.001 if each alarm had probability {ALPHA})")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
