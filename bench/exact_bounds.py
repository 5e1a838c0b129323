"""Do certified bounds contradict the exact ε of a pair more often than their confidence permits?

`python -m bench.exact_bounds [SEEDS]`. Six small mechanisms, 200 seeds each, at half of the exact ε (refuted, mostly
early) and at the exact ε itself (the border). Bounds are certified with 95% confidence, so that there is something to
count; the limit is what valid bounds exceed with a probability of one in a million.
"""

from __future__ import annotations

import sys

from tests.exact.test_bounds_against_exact import CASES, contradictions


def main(seeds: int = 200) -> None:
    """Print a row for each mechanism and claim."""
    for function, pair in CASES.items():
        for part in (0.5, 1.0):
            above, limit = contradictions(function, pair, seeds, part)
            told = f"{above} of {seeds} bounds above the exact ε (limit {limit})"
            print(f"{function.__name__:<20} claimed {part:g} of it: {told}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
