"""What the paper's budget can certify about the correct SVT at best: how near its curves can come to the claim.

`python -m bench.svt_limit [RUNS]`. For one million fresh runs in all, bound N = 1, thresholds from -20 to 20 and
inputs on which the first k queries move one way and the next the other way, with every set of answers that a
likelihood ratio picks: the largest mean of the bound certified at 95%, by integration over the threshold noise and
the normal approximation of the bound, log(P1/P2) less 1.645 standard deviations.

Once for independent runs, shared out in the best way, and once for paired runs, half as many pairs on the same noise:
there the variance of the log ratio is (P(d1 only) + P(d2 only)) / (P1 P2) / pairs. Given the threshold noise, a query
is answered alike on both inputs unless its noise falls between the two distances to the threshold.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from refutedp.hypothesis.tests.ratio import best_share
from refutedp.reproduce.truth import laplace_cdf

EPSILONS = (0.2, 0.7, 1.5)
THRESHOLDS = (-20, -10, -5, -2, -1, 0, 0.5, 1, 2, 5, 10, 20)
LONGEST = 24
Z = 1.6449


def main(runs: int = 1_000_000) -> None:
    print(f"SVT, N = 1, {runs:,} fresh runs: the best mean of the bound certified at 95%")
    words = ("up to length 10", "± of one run", "any length", "T", "length", "80% of ε0")
    print(f"{'runs':<12}{'ε0':>5}" + "".join(f"{word:>17}" for word in words))
    for epsilon in EPSILONS:
        found: dict[str, list[tuple[float, float, float, int]]] = {"independent": [], "paired runs": []}
        for k, t, (a, b) in itertools.product(range(2, LONGEST), THRESHOLDS, ((2, 0), (0, 2))):
            joint = joint_chances([1] * (k + 1), [a] * k + [b], t, epsilon)
            found["independent"].append((*best_bound(joint.sum(axis=1), joint.sum(axis=0), runs), t, k + 1))
            found["paired runs"].append((*best_paired_bound(joint, runs // 2), t, k + 1))
        for kind, rows in found.items():
            short = max(row for row in rows if row[3] <= 10)
            bound, _, threshold, length = max(rows)
            print(f"{kind:<12}{epsilon:>5}{short[0]:>17.4f}{short[1]:>17.4f}{bound:>17.4f}", end="")
            print(f"{threshold:>17g}{length:>17}{0.8 * epsilon:>17.3f}", flush=True)


def joint_chances(
    first: Sequence[float], second: Sequence[float], threshold: float, epsilon: float
) -> NDArray[np.float64]:
    """P(the answer turns true at query i on the first input, at j on the second), on the same noise.

    The last row and column are for answers that never turn true.
    """
    noise = np.linspace(-80 / epsilon, 80 / epsilon, 10_001)
    density = np.exp(-np.abs(noise) * epsilon / 2) * epsilon / 4 * (noise[1] - noise[0])
    below = [
        [laplace_cdf(threshold + noise - query, 4 / epsilon) for query in queries] for queries in (first, second)
    ]
    length = len(first)
    table = np.zeros((length + 1, length + 1))
    # Still false on both inputs; and turned at some query on one input, still false on the other.
    neither = density
    turned: tuple[list[NDArray[np.float64]], ...] = ([], [])
    for query in range(length):
        low, high = below[0][query], below[1][query]
        for side, own in enumerate((high, low)):
            for earlier, left in enumerate(turned[side]):
                where = (earlier, query) if side == 0 else (query, earlier)
                table[where] = (left * (1 - own)).sum()
                turned[side][earlier] = left * own
        table[query, query] = (neither * (1 - np.maximum(low, high))).sum()
        # The noise lies between the two distances: one input's answer turns true, the other's does not.
        turned[0].append(neither * np.maximum(high - low, 0))
        turned[1].append(neither * np.maximum(low - high, 0))
        neither = neither * np.minimum(low, high)
    table[length, length] = neither.sum()
    table[:length, length] = [left.sum() for left in turned[0]]
    table[length, :length] = [left.sum() for left in turned[1]]
    return table


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


def best_paired_bound(joint: NDArray[np.float64], pairs: int) -> tuple[float, float]:
    """The same on pairs of runs that share their noise."""
    best = (-math.inf, 0.0)
    for table in (joint, joint.T):
        one, other = table.sum(axis=1), table.sum(axis=0)
        order = np.argsort(other / one)
        for size in range(1, len(order)):
            chosen = order[:size]
            a, b, both = one[chosen].sum(), other[chosen].sum(), table[np.ix_(chosen, chosen)].sum()
            spread = math.sqrt((a + b - 2 * both) / (a * b) / pairs)
            best = max(best, (math.log(a / b) - Z * spread, spread))
    return best


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
