"""What learning adds to the time of the paper's mechanisms.

`python -m bench.learning [SEEDS] [NAMES...]` checks each at ε = 0.7 with the default budgets, T = 1 and N = 1, with
the adjacency of the paper and with the default one. Prints seconds of the processor of a check, those spent on
learning, and their part of all others; and how often what was found was learned.
"""

from __future__ import annotations

import inspect
import sys
import time
from typing import Any

import refutedp.events.learned.learn as learn
from refutedp import ALL_DIFFER, ONE_DIFFERS, check
from refutedp.events.features.sums import WeightedSum
from refutedp.mechanisms import PAPER

EPSILON = 0.7


class Stopwatch:
    """Seconds of the processor in calls of a function."""

    def __init__(self, function: Any) -> None:
        """No call has been made."""
        self.function = function
        self.seconds = 0.0

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call it."""
        start = time.process_time()
        try:
            return self.function(*args, **named)
        finally:
            self.seconds += time.process_time() - start


def main(seeds: int = 1, names: tuple[str, ...] = ()) -> None:
    watch = Stopwatch(learn.learned_events)
    learn.learned_events = watch
    print(f"{'mechanism':<26}{'adjacency':<10}{'seconds':>8}{'learning':>9}{'part':>7}  learned")
    for built_in in PAPER:
        for adjacency, word in (
            (ONE_DIFFERS if built_in.adjacency == "one" else ALL_DIFFER, "paper"),
            (None, "default"),
        ):
            if names and built_in.name not in names:
                continue
            total, learned, watch.seconds = 0.0, 0, 0.0
            for seed in range(seeds):
                start = time.process_time()
                arguments = inspect.signature(built_in.function).parameters
                given: dict[str, Any] = {"args": {one: 1 for one in ("threshold", "bound") if one in arguments}}
                given |= {} if adjacency is None else {"adjacency": adjacency}
                result = check(built_in.function, epsilon=EPSILON, seed=seed, progress=False, jobs=1, **given)
                total += time.process_time() - start
                event = None if result.evidence is None else result.evidence.event
                learned += isinstance(getattr(event, "of", None), WeightedSum)
            part = watch.seconds / (total - watch.seconds)
            print(
                f"{built_in.name:<26}{word:<10}{total / seeds:>8.2f}{watch.seconds / seeds:>9.2f}{part:>7.0%}  "
                f"{learned} of {seeds}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1, tuple(sys.argv[2:]))
