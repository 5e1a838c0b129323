"""Ten thousand random programs: every lifted run equals the plain run on the same draws, or the lift is refused.

    python -m bench.programs [number] [seed]

prints how many were lifted, and why the others were refused; a wrong lift ends it with the program's source.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.sampling.lifted.programs import programs
from tests.sampling.lifted.test_lifted_programs import lifted_and_equal


def study(number: int, start: int) -> Counter[bool]:
    """How many programs were lifted (True) and refused (False)."""
    counts: Counter[bool] = Counter()

    @seed(start)
    @settings(
        max_examples=number,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def each(source: str) -> None:
        counts[lifted_and_equal(source)] += 1
        if sum(counts.values()) % 500 == 0 and sys.stderr.isatty():
            print(f"\r{sum(counts.values()):,} programs", end="", file=sys.stderr)

    each()
    return counts


def main() -> None:
    arguments = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    number, start = (*arguments, *(10_000, 0)[len(arguments) :])[:2]
    warnings.simplefilter("ignore")  # Programs divide by zero.
    counts = study(number, start)
    print(f"{counts.total():,} programs (seed {start}): {counts[True]:,} lifted, each run equal to the plain one;")
    print(f"{counts[False]:,} refused. No lift was wrong.")


if __name__ == "__main__":
    main()
