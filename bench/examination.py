"""The power of the cross-examination: how wrong a lift can be and still pass.

    python -m bench.examination [checks]

First, lifts that compute a wrong output in a part of the runs of a rare event: `type()` of a column is made to lie,
in a private mechanism that relies on it in that part. The table says how many checks end in a wrong conviction, with
the cross-examination and without it. Second, lifts that draw from a wrong distribution, which no replay of draws can
show: how often the exact test on rates notices, by the rate of the event in calls and in lifted runs.
"""

from __future__ import annotations

import sys
from unittest.mock import patch

import numpy as np

from refutedp import PureDP, Verdict, check
from refutedp.detector.cross_examine import CALLS, differ_surely
from refutedp.sampling.lifted.columns.builtin import LIFTED_BUILTINS

PARTS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
RATES = (0.1, 0.01, 0.001)
RATIOS = (1.1, 1.5, 2.0, 4.0, 10.0)
LIFTED_RUNS = 500_000


def cut_by_type(part: float):
    """Noise of scale 1 on 1 or 2, cut at 6: private for ε = 1. In a part of the runs the cut asks for the type."""

    def mechanism(queries, rng):
        noise = rng.laplace()
        noisy = queries[0] + noise + 1000 * (queries[0] - 1) * max(noise - 5.0, 0.0)
        if rng.random() > part or type(noisy) == float:  # noqa: E721
            noisy = min(noisy, 6.0)
        return noisy

    return mechanism


def convicted(part: float, seed: int, *, examined: bool) -> bool:
    """Whether a wrong lift of a private mechanism convicts it."""
    budgets = {"search_runs": 50_000, "confirm_runs": LIFTED_RUNS, "seed": seed, "float_leaks": "ignore"}
    honest = dict(LIFTED_BUILTINS)
    del LIFTED_BUILTINS["type"]
    try:
        if examined:
            result = check(cut_by_type(part), PureDP(1.0), pairs=[([1], [2])], **budgets)
        else:
            with patch("refutedp.detector.detect.cross_examine", lambda *_: None):
                result = check(cut_by_type(part), PureDP(1.0), pairs=[([1], [2])], **budgets)
    finally:
        LIFTED_BUILTINS.clear()
        LIFTED_BUILTINS.update(honest)
    return result.verdict is Verdict.VIOLATION


def noticed(rate: float, ratio: float, rng: np.random.Generator, times: int = 2000) -> float:
    """How often the test on rates tells calls from lifted runs whose rate is so many times as high."""
    calls = rng.binomial(CALLS, rate, times)
    lifted = rng.binomial(LIFTED_RUNS, min(rate * ratio, 1.0), times)
    told = [differ_surely(int(x), CALLS, int(y), LIFTED_RUNS) for x, y in zip(calls, lifted, strict=True)]
    return float(np.mean(told))


def main() -> None:
    checks = next((int(argument) for argument in sys.argv[1:] if argument.isdigit()), 10)
    print(f"Wrong outputs in a part of the runs of an event of 0.3%; wrong convictions in {checks} checks")
    print(f"{'part of the runs':>18}{'without':>10}{'examined':>10}")
    for part in PARTS:
        counts = [sum(convicted(part, seed, examined=e) for seed in range(checks)) for e in (False, True)]
        print(f"{part:>17.0%} {counts[0]:>9} {counts[1]:>9}", flush=True)
    print(f"\nWrong distributions: how often {CALLS:,} calls tell them from {LIFTED_RUNS:,} lifted runs")
    print(f"{'rate in calls':>14}" + "".join(f"{f'x {ratio:g}':>9}" for ratio in RATIOS) + "   in lifted runs")
    rng = np.random.default_rng(0)
    for rate in RATES:
        print(f"{rate:>14.1%}" + "".join(f"{noticed(rate, ratio, rng):>9.0%}" for ratio in RATIOS))


if __name__ == "__main__":
    main()
