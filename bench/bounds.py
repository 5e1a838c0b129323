"""Certified bounds at 95% on the paper's mechanisms, default budgets, T = 1 and N = 1 given by hand.

`python -m bench.bounds [SEEDS] [FIRST]` prints, for each mechanism and claimed epsilon, the verdict at 5% and the
bound of the first seed, the least and the mean over the seeds, and what was asked for. Rare events are drawn to
wherever that certifies more (`importance="always"`); a bound marked with a star comes from such runs.
"""

from __future__ import annotations

import inspect
import statistics
import sys

from refutedp import ALL_DIFFER, ONE_DIFFERS, check
from refutedp.mechanisms import PAPER

EPSILONS = (0.2, 0.7, 1.5)
WANTED = {
    "noisy_max_laplace": (0.185, 0.675, 1.47),
    "noisy_max_exponential": (0.185, 0.66, 1.48),
    "noisy_max_laplace_value": (0.75, 2.7, 5.5),
    "noisy_max_exponential_value": (1.1, 4.5, 7.2),
    "histogram": (0.19, 0.685, 1.485),
    "histogram_wrong_scale": (4.95, 1.41, 0.65),
    "svt": (0.14, 0.59, 1.32),
    "isvt1": (9.5, 10.7, 11.2),
    "isvt2": (0.55, 2.35, 4.4),
    "isvt3": (0.30, 1.14, 2.4),
    "isvt4": (0.33, 1.5, 3.1),
}


def main(seeds: int = 3, first: int = 0) -> None:
    numbers = "".join(f"{word:>8}" for word in ("bound", "least", "mean", "asked"))
    print(f"{'mechanism':<28}{'ε0':>5}  {'verdict':<13}{numbers}  event of the first seed")
    for built_in in PAPER:
        names = inspect.signature(built_in.function).parameters
        for epsilon, wanted in zip(EPSILONS, WANTED[built_in.name], strict=True):
            results = [
                check(
                    built_in.function,
                    epsilon=epsilon,
                    adjacency=ONE_DIFFERS if built_in.adjacency == "one" else ALL_DIFFER,
                    args={name: 1 for name in ("threshold", "bound") if name in names},
                    significance=0.05,
                    importance="always",
                    seed=seed,
                    progress=False,
                )
                for seed in range(first, first + seeds)
            ]
            bounds = [result.evidence.epsilon_lower_bound for result in results]
            star = "*" if results[0].evidence.estimates is not None else " "
            print(
                f"{built_in.name:<28}{epsilon:>5}  {results[0].verdict.value:<13}{bounds[0]:>7.3f}{star}"
                f"{min(bounds):>8.3f}{statistics.mean(bounds):>8.3f}{wanted:>8}  {results[0].evidence.event.words()}",
                flush=True,
            )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
