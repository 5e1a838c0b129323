"""How soon blatant bugs are convicted where every run is a call, and how often correct mechanisms are.

`python -m bench.anytime [SEEDS] [CHECKS]`: a dozen blatant bugs, each with so many seeds (5): all runs until the
conviction, search included, next to the least that any test of one event needs (log(1/α) over the divergence of the
part of the hits on d1 from what the claim allows). Then whole checks of correct mechanisms at their exact ε at 5%, on
small budgets, so many in all (2,000), and how many are convicted; exits with code 1 beyond the binomial limit.

`python -m bench.anytime slow [SEEDS]`: the same bugs (1 seed) and correct mechanisms at 1 ms and 5 ms a call: seconds
until the verdict, by the clock and of the processor, and the ε that a check of a correct one would have caught; exits
with code 1 beyond 10, 30 and 66 seconds by the clock.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from scipy.stats import binom

from refutedp import ALL_DIFFER, Verdict, check

EPSILON, SIGNIFICANCE = 0.5, 0.001


def no_noise(queries, epsilon, rng):
    return float(sum(queries))


def a_fifth_of_the_noise(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=0.2 / epsilon)


def five_counts_with_noise_for_one(queries, epsilon, rng):
    return sum(queries) + rng.laplace(scale=1 / epsilon)


def exact_winner(queries, epsilon, rng):
    return int(np.argmax(queries))


def raises_on_large_values(queries, epsilon, rng):
    if max(queries) > 1:
        raise ValueError("too large")
    return queries[0] + rng.laplace(scale=1 / epsilon)


def keys_from_the_data(queries, epsilon, rng):
    return {value: 1 + rng.laplace(scale=1 / epsilon) for value in queries}


def fixed_seed(queries, epsilon, rng):
    return queries[0] + np.random.default_rng(7).laplace(scale=1 / epsilon)


def exact_length(queries, epsilon, rng):
    return [rng.laplace(scale=1 / epsilon) for value in queries if value > 0]


def rounded_data(queries, epsilon, rng):
    return round(queries[0]), queries[0] + rng.laplace(scale=1 / epsilon)


def noise_in_half_of_the_runs(queries, epsilon, rng):
    return queries[0] if rng.random() < 0.5 else queries[0] + rng.laplace(scale=1 / epsilon)


def text_with_the_data(queries, epsilon, rng):
    return f"{queries[0]} visits, about {queries[0] + rng.laplace(scale=1 / epsilon):.0f}"


def honest_coin_that_lies_too_little(queries, epsilon, rng):
    return queries[0] > 1 if rng.random() < 0.97 else queries[0] <= 1


BLATANT: tuple[Callable[..., Any], ...] = (
    no_noise,
    a_fifth_of_the_noise,
    five_counts_with_noise_for_one,
    exact_winner,
    raises_on_large_values,
    keys_from_the_data,
    fixed_seed,
    exact_length,
    rounded_data,
    noise_in_half_of_the_runs,
    text_with_the_data,
    honest_coin_that_lies_too_little,
)


def first_above(queries, epsilon, rng):
    noisy = [value + rng.laplace(scale=2 / epsilon) for value in queries]
    return noisy.index(max(noisy))


def laplace(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=1 / epsilon)


def randomized_response(queries, epsilon, rng):
    truth = queries[0] > 0
    return truth if rng.random() < math.exp(epsilon) / (1 + math.exp(epsilon)) else not truth


CORRECT: tuple[Callable[..., Any], ...] = (first_above, laplace, randomized_response)
SLOW = {0.001: 10.0, 0.005: 30.0}
"""Seconds a call, and within how many seconds a bug is to be convicted."""
A_MINUTE = 66.0
SMALL: dict[str, Any] = {"search_runs": 300, "confirm_runs": 1_000, "lengths": (1, 3), "lift": False}


def runs_of(bug: Callable[..., Any], seed: int) -> tuple[Any, int]:
    """The result, and all runs and calls that it took."""
    result = check(
        bug, epsilon=EPSILON, adjacency=ALL_DIFFER, significance=SIGNIFICANCE, seed=seed, lift=False, progress=False
    )
    return result, result.effort.runs


def least(evidence: Any) -> float:
    """What any test of the event needs to be as sure, by the rates that were seen."""
    p1, p2 = (max(rate, 1e-3) for rate in evidence.rates)
    q, c = p1 / (p1 + p2), 1 / (1 + math.exp(-EPSILON))
    told = q * math.log(q / c) + (1 - q) * math.log((1 - q) / (1 - c))
    return -math.log(SIGNIFICANCE) / max(told * (p1 + p2) / 2, 1e-9)


def main(seeds: int = 5, checks: int = 2_000) -> int:
    print(f"All runs until conviction at ε = {EPSILON}, significance {SIGNIFICANCE}, {seeds} seeds")
    print(f"{'mechanism':<36}{'median':>8}{'worst':>8}{'least':>7}  event of the last seed")
    every: list[int] = []
    for bug in BLATANT:
        found = [runs_of(bug, seed) for seed in range(seeds)]
        assert all(result.verdict is Verdict.VIOLATION for result, _ in found), bug.__name__
        runs = [made for _, made in found]
        every += runs
        evidence = found[-1][0].evidence
        print(
            f"{bug.__name__:<36}{statistics.median(runs):>8,.0f}{max(runs):>8,}{least(evidence):>7.0f}  "
            f"{evidence.event.words()}",
            flush=True,
        )
    print(f"{'all':<36}{statistics.median(every):>8,.0f}{max(every):>8,}")
    convicted = 0
    for number in range(checks):
        mechanism = CORRECT[number % len(CORRECT)]
        result = check(mechanism, epsilon=EPSILON, significance=0.05, seed=number, progress=False, **SMALL)
        convicted += result.verdict is Verdict.VIOLATION
    limit = int(binom.ppf(0.999, checks, 0.05))
    print(f"\nCorrect mechanisms at their exact ε, 5%: {convicted} of {checks:,} checks convicted (limit {limit})")
    return 1 if convicted > limit else 0


def slowed(mechanism: Callable[..., Any], seconds: float) -> Callable[..., Any]:
    """The mechanism with calls that take so long, by sleeping: neighbours on the machine matter less."""

    @wraps(mechanism)
    def slow(queries, epsilon, rng):
        time.sleep(seconds)
        return mechanism(queries, epsilon, rng)

    return slow


def slow(seeds: int = 1) -> int:
    late = 0
    print(f"{'mechanism':<36}{'a call':>8}{'worst':>9}{'processor':>11}{'runs':>9}")
    for seconds, limit in SLOW.items():
        for mechanism in (*BLATANT, *CORRECT):
            took, computed, made, caught = [], [], [], []
            for seed in range(seeds):
                start, before = time.monotonic(), time.process_time()
                result, runs = runs_of(slowed(mechanism, seconds), seed)
                took.append(time.monotonic() - start)
                computed.append(time.process_time() - before)
                made.append(runs)
                caught.append(result.detectable_epsilon)
                assert (result.verdict is Verdict.VIOLATION) == (mechanism in BLATANT), mechanism.__name__
            allowed = limit if mechanism in BLATANT else A_MINUTE
            late += max(took) > allowed
            would = "" if mechanism in BLATANT else f"  would have caught ε = {max(caught):.2f}"
            print(
                f"{mechanism.__name__:<36}{1000 * seconds:>5.0f} ms{max(took):>7.1f} s{max(computed):>9.1f} s"
                f"{max(made):>9,}{would}",
                flush=True,
            )
    return 1 if late else 0


if __name__ == "__main__":
    slowly, arguments = sys.argv[1:2] == ["slow"], sys.argv[1:]
    sys.exit(slow(*map(int, arguments[1:])) if slowly else main(*map(int, arguments)))
