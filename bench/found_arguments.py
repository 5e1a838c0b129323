"""Certified bounds at 95% with arguments found symbolically, beside T = 1 and N = 1 given by hand, default budgets.

`python -m bench.found_arguments`: seeds 100 to 102, on which nothing in the search was chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refutedp import check
from refutedp.hypothesis.tests.ratio import epsilon_lower_bound
from refutedp.mechanisms import isvt1, isvt2, isvt3, isvt4, svt

SEEDS = (100, 101, 102)


def main() -> None:
    print(f"{'mechanism':<10}{'ε0':>5}  {'by hand':<24}{'found':<24}{'ratio of means':>14}")
    for function in (svt, isvt1, isvt2, isvt3, isvt4):
        hand = {"threshold": 1} if function in (isvt1, isvt2) else {"threshold": 1, "bound": 1}
        for epsilon in (0.2, 0.7, 1.5):
            given, found = (_bounds(function, epsilon, args) for args in (hand, None))
            ratio = sum(found) / sum(given)
            print(
                f"{function.__name__:<10}{epsilon:>5}  {_list(given):<24}{_list(found):<24}{ratio:>14.2f}", flush=True
            )


def _bounds(function: Callable[..., Any], epsilon: float, args: dict[str, int] | None) -> list[float]:
    results = [check(function, epsilon=epsilon, args=args, seed=seed, progress=False) for seed in SEEDS]
    return [epsilon_lower_bound(result.evidence.counts, 0.95) for result in results]


def _list(values: list[float]) -> str:
    return ", ".join(f"{value:.3f}" for value in values)


if __name__ == "__main__":
    main()
