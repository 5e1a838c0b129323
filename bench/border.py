"""False alarms of every claim on its border: at the end, at the worst moment, and as `check` decides.

Part of `python -m bench.calibration`. The rates are on the border, P1 = largest(P2); a valid test raises an alarm
with probability at most alpha, whenever it stops.
"""

from __future__ import annotations

import math

import numpy as np

from refutedp.hypothesis.betting.anytime import batches, early_alpha, log_p_at_the_end
from refutedp.hypothesis.claim_test import claim_test
from refutedp.model.claims import FDP, ZCDP, ApproxDP, Claim, GaussianDP, Lines, PureDP, RenyiDP
from refutedp.model.records import Counts

CLAIMS: tuple[Claim, ...] = (
    PureDP(0.2),
    PureDP(1.5),
    ApproxDP(1.0, 1e-2),
    ApproxDP(0.3, 1e-4),
    ZCDP(0.1),
    RenyiDP(4, 0.5),
    GaussianDP(0.5),
    FDP(Lines(((0.5, 0.05), (1.0, 0.01))), "two guarantees"),
)
RATES = (1e-3, 0.05, 0.2)
RUNS = 20_000
SHARE = 0.4


def table(simulations: int, alpha: float) -> float:
    """Print the table; the worst rate in it."""
    print(f"\nEvery claim on its border, alpha = {alpha}, {RUNS:,} runs in all, {simulations:,} simulations a row:")
    print("the fixed-size test at the end, the e-process stopped at its worst moment, and check with stop=early")
    print(f"{'claim':<36}{'P2':>8}{'at the end':>12}{'worst moment':>14}{'check':>9}")
    worst = 0.0
    for claim in CLAIMS:
        for p2 in RATES:
            rates = alarms(claim, p2, simulations, alpha)
            worst = max(worst, *rates)
            print(f"{claim!s:<36}{p2:>8g}{rates[0]:>12.4f}{rates[1]:>14.4f}{rates[2]:>9.4f}", flush=True)
    return worst


def alarms(claim: Claim, p2: float, simulations: int, alpha: float) -> tuple[float, float, float]:
    """How often each rule rejects a claim that holds with equality; the bets are on a rate a fifth too large."""
    edge = claim.largest(p2)
    bet = min(1.2 * edge, 0.99)
    test = claim_test(claim)
    line = test.line(bet, p2, SHARE)
    begin = test.start(Counts(round(bet * 10**6), round(p2 * 10**6), 10**6, 10**6), SHARE, line)
    rng = np.random.default_rng([round(1e6 * p2), 3])
    sizes = np.array(list(batches(RUNS)))
    n_x = rng.binomial(sizes, SHARE, (simulations, len(sizes)))
    x, y = rng.binomial(n_x, edge), rng.binomial(sizes - n_x, p2)
    found = np.zeros(3)
    for row in range(simulations):
        process = begin
        for size, n, a, b in zip(sizes.tolist(), n_x[row].tolist(), x[row].tolist(), y[row].tolist(), strict=True):
            process = process.update(Counts(a, b, n, size - n, SHARE))
        fixed = test.log_p_value(process.hits, line)
        ended = log_p_at_the_end(process, fixed) <= math.log(alpha)
        found += [
            fixed <= math.log(alpha),
            process.rejects(alpha),
            ended or process.rejects(early_alpha(alpha)),
        ]
    at_the_end, worst_moment, as_checked = (found / simulations).tolist()
    return at_the_end, worst_moment, as_checked
