"""The twenty mechanisms of DP-Sniper, certified at 90% with at most a million confirmation runs a side.

`python -m bench.sniper [SEEDS] [NAMES...]` prints what we certify in the mean of so many seeds (one unless told)
beside what the paper reports, the least of the seeds, the runs and the seconds of processor time of a check. The
parameters are those of the experiments of "DP-Sniper: Black-Box Discovery of Differential Privacy Violations using
Classifiers", Bichsel, Steffen, Bogunovic & Vechev, S&P 2021, which spent 200 million runs on each bound: ε = 0.1,
five queries for noisy max and histograms, ten for sparse vectors and prefix sums. The mechanisms are plain functions
of one input, and all are confirmed with the same settings.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from refutedp import ONE_DIFFERS, REPLACE, check

EPSILON = 0.1


def laplace(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=1 / epsilon)


def laplace_in_parallel(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=20 / epsilon, size=20)


def geometric(queries, epsilon, rng):
    """Balcer & Vadhan's truncated geometric mechanism on 0..5, by inverting its distribution in whole numbers."""
    n, k = 5, math.ceil(math.log(2 / epsilon))
    count, base = queries[0], 2**k + 1
    total = (2 ** (k + 1) + 1) * base ** (n - 1)
    drawn = rng.integers(1, total + 1)
    z = 0
    for value in range(n):
        if value < count:
            below = 2 ** (k * (count - value)) * base ** (n - (count - value))
        else:
            below = total - 2 ** (k * (value - count + 1)) * base ** (n - 1 - (value - count))
        z = z + (below < drawn)
    return int(z)


def histogram(queries, epsilon, rng):
    return [query + rng.laplace(scale=1 / epsilon) for query in queries]


def histogram_wrong(queries, epsilon, rng):
    return [query + rng.laplace(scale=epsilon) for query in queries]


def noisy_max_1(queries, epsilon, rng):
    return int(np.argmax([query + rng.laplace(scale=2 / epsilon) for query in queries]))


def noisy_max_2(queries, epsilon, rng):
    return int(np.argmax([query + rng.exponential(scale=2 / epsilon) for query in queries]))


def noisy_max_3(queries, epsilon, rng):
    return max(query + rng.laplace(scale=2 / epsilon) for query in queries)


def noisy_max_4(queries, epsilon, rng):
    return max(query + rng.exponential(scale=2 / epsilon) for query in queries)


def svt_1(queries, epsilon, rng, threshold=0.5):
    limit = threshold + rng.laplace(scale=2 / epsilon)
    out = []
    for query in queries:
        if query + rng.laplace(scale=4 / epsilon) >= limit:
            out.append(True)
            break
        out.append(False)
    return out


def svt_2(queries, epsilon, rng, threshold=1.0):
    """With c = 1 it stops where it would draw a new threshold."""
    return svt_1(queries, epsilon, rng, threshold)


def svt_3(queries, epsilon, rng, threshold=1.0, most=1):
    limit, out, count = threshold + rng.laplace(scale=2 / epsilon), [], 0
    for query in queries:
        answer = query + rng.laplace(scale=2 * most / epsilon)
        if answer >= limit:
            out.append(answer)
            count += 1
            if count == most:
                break
        else:
            out.append(None)
    return out


def svt_4(queries, epsilon, rng, threshold=1.0, most=1):
    limit, out, count = threshold + rng.laplace(scale=4 / epsilon), [], 0
    for query in queries:
        if query + rng.laplace(scale=1 / (0.75 * epsilon)) >= limit:
            out.append(True)
            count += 1
            if count == most:
                break
        else:
            out.append(False)
    return out


def svt_5(queries, epsilon, rng, threshold=1.0):
    limit = threshold + rng.laplace(scale=2 / epsilon)
    return [query >= limit for query in queries]


def svt_6(queries, epsilon, rng, threshold=1.0):
    limit = threshold + rng.laplace(scale=2 / epsilon)
    return [query + rng.laplace(scale=2 / epsilon) >= limit for query in queries]


def svt_3_and_4(queries, epsilon, rng):
    return [svt_3(queries, epsilon, rng, most=2), svt_4(queries, epsilon, rng, most=2)]


def numerical_svt(queries, epsilon, rng, threshold=1.0, most=2):
    limit, out, count = threshold + rng.laplace(scale=3 / epsilon), [], 0
    for query in queries:
        if query + rng.laplace(scale=6 * most / epsilon) >= limit:
            out.append(query + rng.laplace(scale=3 * most / epsilon))
            count += 1
            if count == most:
                break
        else:
            out.append(0.0)
    return out


def prefix_sum(queries, epsilon, rng):
    total, out = 0.0, []
    for query in queries:
        total = total + query + rng.laplace(scale=1 / epsilon)
        out.append(total)
    return out


def murmur(text: str, seed: int) -> int:
    """MurmurHash3 in 32 bits, with a sign.

    >>> murmur("1", 0), murmur("0", 3)
    (-1810453357, 1811421463)
    """
    data, h, mask = text.encode(), seed, 0xFFFFFFFF
    for start in range(0, len(data), 4):
        block = data[start : start + 4]
        k = int.from_bytes(block, "little") * 0xCC9E2D51 & mask
        h ^= ((k << 15 | k >> 17) & mask) * 0x1B873593 & mask
        if len(block) == 4:
            h = ((h << 13 | h >> 19) & mask) * 5 + 0xE6546B64 & mask
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    h ^= h >> 16
    return h - 2**32 if h >> 31 else h


def _bloom(value: int) -> list[bool]:
    ones = {murmur(str(value), seed) % 20 for seed in range(4)}
    return [place in ones for place in range(20)]


def _permanent(bit, f, rng):
    drawn = rng.random()
    return True if drawn < f / 2 else False if drawn < f else bit


def one_time_rappor(values, epsilon, rng):
    return [_permanent(bit, 0.95, rng) for bit in _bloom(values[0])]


def rappor(values, epsilon, rng):
    return [bool(rng.random() < (0.55 if _permanent(bit, 0.75, rng) else 0.45)) for bit in _bloom(values[0])]


@dataclass(frozen=True)
class Entry:
    """A mechanism, what DP-Sniper certified of it, and what `check` is told."""

    function: Callable[..., Any]
    theirs: float
    kwargs: dict[str, Any] = field(default_factory=dict)


ONE = {"lengths": (1,), "adjacency": ONE_DIFFERS}
FIVE, TEN = {"lengths": (5,)}, {"lengths": (10,)}
VALUES = {"pairs": [([1], [0]), ([1], [2])], "adjacency": REPLACE}
ENTRIES = (
    Entry(laplace, 0.0976, ONE),
    Entry(geometric, 0.1156, {"pairs": [([1], [0]), ([1], [2])]}),
    Entry(histogram, 0.0978, FIVE | {"adjacency": ONE_DIFFERS}),
    Entry(histogram_wrong, 4.602, FIVE | {"adjacency": ONE_DIFFERS}),
    Entry(noisy_max_1, 0.0925, FIVE),
    Entry(noisy_max_2, 0.0979, FIVE),
    Entry(noisy_max_3, 0.2488, FIVE),
    Entry(noisy_max_4, 0.3534, FIVE),
    Entry(svt_1, 0.0858, TEN),
    Entry(svt_2, 0.0859, TEN),
    Entry(svt_3, 0.1822, TEN),
    Entry(svt_4, 0.1696, TEN),
    Entry(svt_5, 1.761, TEN),
    Entry(svt_6, 0.272, TEN),
    Entry(rappor, 0.3008, VALUES),
    Entry(one_time_rappor, 0.5999, VALUES),
    Entry(laplace_in_parallel, 0.035, ONE),
    Entry(svt_3_and_4, 0.2616, TEN),
    Entry(prefix_sum, 0.5774, TEN),
    Entry(numerical_svt, 0.0345, TEN),
)
BUDGET: dict[str, Any] = {
    "search_runs": 300_000,
    "confirm_runs": 1_000_000,
    "significance": 0.1,
    "stop": "fixed",
    "importance": "always",
    "progress": False,
}


def certified(entry: Entry, seed: int) -> Any:
    """The result of a check."""
    return check(entry.function, epsilon=EPSILON, seed=seed, **BUDGET | entry.kwargs)


def main(seeds: int = 1, names: tuple[str, ...] = ()) -> int:
    reached = above = count = 0
    print(f"{'mechanism':<22}{'ours':>8}{'least':>8}{'theirs':>8}{'runs a side':>13}{'seconds':>9}")
    for entry in ENTRIES:
        name = entry.function.__name__
        if names and name not in names:
            continue
        start = time.process_time()
        results = [certified(entry, seed) for seed in range(seeds)]
        seconds = (time.process_time() - start) / seeds
        bounds = [result.evidence.epsilon_lower_bound for result in results]
        ours = sum(bounds) / seeds
        runs = max(max(r.evidence.counts.n_x, r.evidence.counts.n_y) for r in results)
        count, reached, above = (
            count + 1,
            reached + (ours >= entry.theirs),
            above + (min(bounds) >= 0.95 * entry.theirs),
        )
        words = results[0].evidence.event.words()
        print(
            f"{name:<22}{ours:>8.4f}{min(bounds):>8.4f}{entry.theirs:>8.4f}{runs:>13,}{seconds:>9.1f}  {words[:150]}",
            flush=True,
        )
    print(f"{reached} of {count} at or above theirs in the mean; {above} at 95% of it or more with every seed")
    return 0


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(int(given[0]) if given else 1, tuple(given[1:])))
