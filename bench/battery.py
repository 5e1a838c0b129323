"""Bugs that only some inputs show, and their correct twins, at the default budgets, each in a process of its own.

`python -m bench.battery [SEEDS] [SECONDS]`: every bug with one seed, every twin with so many (five unless told), and
so many seconds (60) for each check. Prints how many of either half are found and how many twins are convicted; exits
with code 1 if any twin is.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from typing import Any

from refutedp import check
from tests.battery import first_half, second_half, together

HALVES = {"first half": first_half.CASES, "second half": second_half.CASES, "together": together.CASES}


def run(half: str, number: int, which: str, seed: int) -> tuple[str, str]:
    """The verdict of a case, and what broke the claim."""
    case = HALVES[half][number]
    result = check(getattr(case, which), **case.kwargs, seed=seed, progress=False)
    pair = None if result.evidence is None else result.evidence.pair
    told = "" if pair is None else f"{str(pair.d1)[:40]} | {str(pair.d2)[:40]} | {pair.category[:60]}"
    return result.verdict.value, told


def in_time(seconds: float, *what: Any) -> tuple[str, str]:
    """The same, or that it took too long."""
    pool = multiprocessing.get_context("spawn").Pool(1)
    try:
        return pool.apply_async(run, what).get(seconds)
    except multiprocessing.TimeoutError:
        return "too slow", ""
    except Exception as error:
        return type(error).__name__, str(error)[:80]
    finally:
        pool.terminate()


def main(seeds: int = 5, seconds: float = 60.0) -> int:
    convicted = 0
    for half, cases in HALVES.items():
        found = 0
        for number, case in enumerate(cases):
            start = time.perf_counter()
            verdict, told = in_time(seconds, half, number, "bug", 0)
            found += verdict == "violation"
            print(f"{case.name:<22}{verdict:<14}{time.perf_counter() - start:>6.1f} s  {told}", flush=True)
        print(f"{half}: {found} of {len(cases)} found", flush=True)
        for number, case in enumerate(cases):
            for seed in range(seeds):
                verdict, told = in_time(seconds, half, number, "twin", seed)
                if verdict == "violation":
                    convicted += 1
                    print(f"{case.name}: the twin is convicted with seed {seed}: {told}", flush=True)
        print(f"{half}: {convicted} twins convicted so far, {seeds} seeds each", flush=True)
    return 1 if convicted else 0


if __name__ == "__main__":
    given = [float(word) for word in sys.argv[1:]]
    sys.exit(main(int(given[0]) if given else 5, given[1] if len(given) > 1 else 60.0))
