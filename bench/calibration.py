"""False-alarm rates on the border of the claim, for our test and the paper's, and of whole checks.

`python -m bench.calibration [SIMULATIONS]`: simulated confirmations with P1 = e^epsilon P2 exactly; a valid test
raises an alarm with probability at most alpha. Then the same for paired runs, at the end and stopped at the worst
moment, for every other claim (see `border`), for importance-sampled runs (see `importance_border`), and 200 seeded
checks of correct mechanisms at their exact epsilon.
"""

from __future__ import annotations

import inspect
import math
import sys

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from bench import border, importance_border
from refutedp import ALL_DIFFER, ONE_DIFFERS, Verdict, check
from refutedp.hypothesis.betting import anytime
from refutedp.hypothesis.tests import fisher, ratio
from refutedp.hypothesis.tests.ratio import log_binomial_upper
from refutedp.mechanisms import PAPER
from refutedp.model.records import Counts

ALPHA = 0.05
RUNS = 100_000
RATES = (1e-4, 1e-3, 1e-2, 0.1, 0.5)
EPSILONS = (0.1, 0.5, 1.5, 3.0)
COUPLINGS = {"nested": 1.0, "half-way": 0.5, "independent": 0.0}
"""Which part of P2 happens on both sides for sure; the rest meets d1 by chance."""


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
    print(f"worst rate of paired runs {_paired_table(simulations):.4f}; the limit is the same")
    print(f"worst rate of any claim {border.table(simulations, ALPHA):.4f}; the limit is the same")
    print(
        f"worst rate of importance-sampled runs {importance_border.table(simulations, ALPHA):.4f}; "
        "the limit is the same"
    )
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


def _paired_table(simulations: int) -> float:
    """Print the rates on paired runs; the worst of them."""
    pairs = RUNS // 2
    print(f"\nTwins at alpha = {ALPHA}, P1 = e^ε P2, {pairs:,} pairs of runs, {simulations:,} simulations a row:")
    print("the fixed-size test at the end, and the e-process stopped at its worst moment")
    print(
        f"{'ε':>5}{'P2':>9}" + "".join(f"{kind + ', ' + when:>22}" for kind in COUPLINGS for when in ("end", "worst"))
    )
    worst = 0.0
    for epsilon in EPSILONS:
        for rate in RATES:
            if rate * math.exp(epsilon) > 1:
                continue
            row = [
                share for together in COUPLINGS.values() for share in _paired(epsilon, rate, together, simulations)
            ]
            worst = max(worst, *row)
            print(f"{epsilon:>5}{rate:>9g}" + "".join(f"{share:>22.4f}" for share in row), flush=True)
    return worst


def _paired(epsilon: float, rate: float, together: float, simulations: int) -> tuple[float, float]:
    """How often the fixed-size test and the e-process reject a claim that holds with equality."""
    p1 = rate * math.exp(epsilon)
    both = rate * (together + (1 - together) * p1)
    cells = np.array([p1 - both, rate - both, both])
    # The bets are on a d1 that is in the event alone a fifth too often.
    a, b, c = (round(10**6 * cell) for cell in (1.2 * cells[0], cells[1], cells[2]))
    stakes = anytime.stakes_for(Counts(a + c, b + c, 3 * 10**6, 3 * 10**6, both=c), epsilon)
    rng = np.random.default_rng([round(1000 * epsilon), round(1e6 * rate), round(100 * together), 11])
    sizes = np.array(list(anytime.batches(RUNS // 2)))
    found = rng.multinomial(sizes, [*cells, max(0.0, 1 - cells.sum())], (simulations, len(sizes)))
    totals = found[..., :3].cumsum(axis=1)
    return _fixed_alarms(totals[:, -1], epsilon) / simulations, _worst_alarms(totals, stakes, epsilon) / simulations


def _fixed_alarms(cells: NDArray[np.int64], epsilon: float, calm: int = 100) -> int:
    """How many have p <= alpha: each outcome once, the clearest first, until so many in a row raise no alarm."""
    outcomes, times = np.unique(cells, axis=0, return_counts=True)
    only_x, only_y, both = outcomes.T
    excess = math.exp(-epsilon) * (only_x + both) - (only_y + both)
    alarms = quiet = 0
    for row in np.argsort(-excess / np.sqrt(only_x + only_y + 1.0)).tolist():
        a, b, c = outcomes[row].tolist()
        alarm = ratio.log_p_value(Counts(a + c, b + c, a + b + c, a + b + c, both=c), epsilon) <= math.log(ALPHA)
        alarms += int(times[row]) if alarm else 0
        quiet = 0 if alarm else quiet + 1
        if quiet == calm:
            break
    return alarms


def _worst_alarms(totals: NDArray[np.int64], stakes: anytime.Stakes, epsilon: float) -> int:
    """In how many simulations the wealth reaches 1/alpha after any batch."""
    stake, theta = np.array(stakes.stakes), math.exp(-epsilon)
    log_factors = np.log1p(np.stack([stake * theta, -stake, -stake * (1 - theta)]))
    log_wealth = special.logsumexp(totals @ log_factors + np.log(stakes.weights), axis=2)
    return int((log_wealth.max(axis=1) >= -math.log(ALPHA)).sum())


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
