"""Seconds per pair to find arguments for the paper's sparse vector mechanisms: `python bench/symbolic.py`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from refutedp.inputs.arguments import find_arguments
from refutedp.model.mechanism import describe

EPSILON = 0.7


def svt(queries, epsilon, threshold, bound: int, rng):
    out, count = [], 0
    noisy = threshold + rng.laplace(scale=2 / epsilon)
    for q in queries:
        if q + rng.laplace(scale=4 * bound / epsilon) >= noisy:
            out.append(True)
            count += 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


def isvt1(queries, epsilon, threshold, rng):
    noisy = threshold + rng.laplace(scale=2 / epsilon)
    return [q >= noisy for q in queries]


def isvt2(queries, epsilon, threshold, rng):
    noisy = threshold + rng.laplace(scale=2 / epsilon)
    return [q + rng.laplace(scale=2 / epsilon) >= noisy for q in queries]


def isvt3(queries, epsilon, threshold, bound: int, rng):
    out, count = [], 0
    noisy = threshold + rng.laplace(scale=4 / epsilon)
    for q in queries:
        if q + rng.laplace(scale=4 / (3 * epsilon)) >= noisy:
            out.append(True)
            count += 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


def isvt4(queries, epsilon, threshold, bound: int, sensitivity, rng):
    out, count = [], 0
    noisy = threshold + rng.laplace(scale=2 * sensitivity / epsilon)
    for q in queries:
        value = q + rng.laplace(scale=2 * bound * sensitivity / epsilon)
        if value >= noisy:
            out.append(value)
            count += 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


def pairs(length: int) -> list[tuple[list[int], list[int]]]:
    """The paper's table of pairs."""
    half, short, ones = (length + 1) // 2, length // 2, [1] * length
    return [
        (ones, [2] + [1] * (length - 1)),
        (ones, [0] + [1] * (length - 1)),
        (ones, [2] + [0] * (length - 1)),
        (ones, [0] + [2] * (length - 1)),
        (ones, [0] * half + [2] * (length - half)),
        (ones, [2] * length),
        (ones, [0] * length),
        ([1] * short + [0] * (length - short), [0] * short + [1] * (length - short)),
    ]


def seconds(mechanism: Callable[..., Any], length: int) -> list[float]:
    """The time each pair takes."""
    described = describe(mechanism)
    times = []
    for d1, d2 in pairs(length):
        start = time.perf_counter()
        find_arguments(described, d1, d2, {"epsilon": EPSILON})
        times.append(time.perf_counter() - start)
    return times


def main() -> None:
    find_arguments(describe(svt), [1], [2], {"epsilon": EPSILON})  # Z3 is imported by the first call
    print(f"{'mechanism':<10} {'length':>6} {'pairs':>5} {'mean s':>8} {'max s':>8}")
    for mechanism in (svt, isvt1, isvt2, isvt3, isvt4):
        for length in (5, 10):
            times = seconds(mechanism, length)
            print(
                f"{mechanism.__name__:<10} {length:>6} {len(times):>5} "
                f"{sum(times) / len(times):>8.3f} {max(times):>8.3f}"
            )


if __name__ == "__main__":
    main()
