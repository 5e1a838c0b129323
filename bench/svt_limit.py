"""What the paper's budget can certify about the correct SVT at best: how near its curves can come to the claim.

`python -m bench.svt_limit [RUNS]`. For one million fresh runs in all, bound N = 1, thresholds from -20 to 20 and
inputs on which the first k queries move one way and the next the other way, with every set of answers that a
likelihood ratio picks: the largest mean of the bound certified at 95%, by integration over the threshold noise and
the normal approximation of the bound, log(P1/P2) less 1.645 standard deviations.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from refutedp.reproduce.truth import laplace_cdf
from refutedp.search import best_share

EPSILONS = (0.2, 0.7, 1.5)
THRESHOLDS = (-20, -10, -5, -2, -1, 0, 0.5, 1, 2, 5, 10, 20)
LONGEST = 24
Z = 1.6449


def main(runs: int = 1_000_000) -> None:
    print(f"SVT, N = 1, {runs:,} fresh runs: the best mean of the bound certified at 95%")
    words = ("up to length 10", "± of one run", "any length", "T", "length", "80% of ε0")
    print(f"{'ε0':>5}" + "".join(f"{word:>17}" for word in words))
    for epsilon in EPSILONS:
        found = [
            (*best_bound(chances([1] * (k + 1), t, epsilon), chances([a] * k + [b], t, epsilon), runs), t, k + 1)
            for k in range(2, LONGEST)
            for t in THRESHOLDS
            for a, b in ((2, 0), (0, 2))
        ]
        short = max(row for row in found if row[3] <= 10)
        bound, _, threshold, length = max(found)
        print(f"{epsilon:>5}{short[0]:>17.4f}{short[1]:>17.4f}{bound:>17.4f}{threshold:>17g}{length:>17}", end="")
        print(f"{0.8 * epsilon:>17.3f}")


def chances(queries: Sequence[float], threshold: float, epsilon: float) -> NDArray[np.float64]:
    """P(the answer turns true at each query), and P(it never does)."""
    noise = np.linspace(-80 / epsilon, 80 / epsilon, 20_001)
    left = np.exp(-np.abs(noise) * epsilon / 2) * epsilon / 4 * (noise[1] - noise[0])
    found = []
    for query in queries:
        below = laplace_cdf(threshold + noise - query, 4 / epsilon)
        found.append(float((left * (1 - below)).sum()))
        left = left * below
    return np.array([*found, float(left.sum())])


def best_bound(p1: NDArray[np.float64], p2: NDArray[np.float64], runs: int) -> tuple[float, float]:
    """The best mean bound over sets of answers with the largest ratios, in either direction, and its spread."""
    best = (-math.inf, 0.0)
    for one, other in ((p1, p2), (p2, p1)):
        order = np.argsort(other / one)
        for a, b in zip(np.cumsum(one[order])[:-1], np.cumsum(other[order])[:-1], strict=True):
            ratio = math.log(a / b)
            share = best_share(ratio)
            spread = math.sqrt(1 / (runs * share * a) + 1 / (runs * (1 - share) * b))
            best = max(best, (ratio - Z * spread, spread))
    return best


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
