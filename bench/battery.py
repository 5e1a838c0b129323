"""Bugs that only some inputs show, and their correct twins, at the default budgets on one core.

`python -m bench.battery [bugs] [twins] [NAME ...] [first=0] [last=...] [seeds=0,1,2,3,4] [seconds=120] [limit=...]`:
each bug with seed 0, each twin with every seed; of the cases named (`first half`, `second half`, `third part`,
`fourth part`, `together`, or a case), or all of the two halves, and of those the numbers first to last. `seconds` on
the wall end a check, and `limit` is the time limit of a check. Prints seconds on the wall and of the processor, how
many bugs are found, and how many twins are convicted; exits with code 1 if any twin is.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from typing import Any

from refutedp import check
from tests.battery import first_half, fourth_part, second_half, third_part, together
from tests.battery.case import Case

HALVES = {
    "first half": first_half.CASES,
    "second half": second_half.CASES,
    "third part": third_part.CASES,
    "fourth part": fourth_part.CASES,
    "together": together.CASES,
}
IN_TIME = 30.0
"""Seconds of the processor in which a bug should be found."""


def run(half: str, name: str, which: str, seed: int, limit: float | None) -> tuple[str, str, float]:
    """The verdict of a case, what broke the claim, and seconds of the processor."""
    case = next(case for case in HALVES[half] if case.name == name)
    before = sum(os.times()[:4])
    given = {**case.kwargs, "seed": seed, "jobs": 1, "progress": False, "time_limit": limit}
    result = check(getattr(case, which), **given)
    pair = None if result.evidence is None else result.evidence.pair
    told = "" if pair is None else f"{str(pair.d1)[:40]} | {str(pair.d2)[:40]} | {pair.category[:60]}"
    return result.verdict.value, told, sum(os.times()[:4]) - before


class Worker:
    """A process that runs checks, and another one after a check that took too long."""

    def __init__(self) -> None:
        self._pool = multiprocessing.get_context("spawn").Pool(1)

    def in_time(self, seconds: float, *what: Any) -> tuple[str, str, float]:
        """What `run` says, or that it took too long."""
        try:
            return self._pool.apply_async(run, what).get(seconds)
        except multiprocessing.TimeoutError:
            self._pool.terminate()
            self._pool = multiprocessing.get_context("spawn").Pool(1)
            return "too slow", "", float("inf")
        except Exception as error:
            return type(error).__name__, str(error)[:80], float("nan")


def chosen(names: list[str], first: int, last: int | None) -> list[tuple[str, Case]]:
    """The cases of these names, each with its half."""
    halves = [half for half in HALVES if half in names]
    alone = [name for name in names if name not in HALVES]
    halves = halves or (list(HALVES) if alone else ["first half", "second half"])
    cases = [(half, case) for half in halves for case in HALVES[half] if not alone or case.name in alone]
    return cases[first : None if last is None else last + 1]


def main(*words: str) -> int:
    given = dict(word.split("=") for word in words if "=" in word)
    names = [word for word in words if "=" not in word and word not in ("bugs", "twins")]
    cases = chosen(names, int(given.get("first", 0)), int(given["last"]) if "last" in given else None)
    seconds = float(given.get("seconds", 120))
    limit = float(given["limit"]) if "limit" in given else None
    convicted = found = late = checks = 0
    worker = Worker()
    for half, case in cases if "twins" not in words or "bugs" in words else ():
        start = time.perf_counter()
        verdict, told, took = worker.in_time(seconds, half, case.name, "bug", 0, limit)
        found += verdict == "violation"
        late += verdict == "violation" and took > IN_TIME
        wall = time.perf_counter() - start
        print(f"{case.name:<22}{verdict:<14}{wall:>6.1f} s{took:>6.1f} s of processor  {told}", flush=True)
    for half, case in cases if "bugs" not in words or "twins" in words else ():
        for seed in map(int, given.get("seeds", "0,1,2,3,4").split(",")):
            start = time.perf_counter()
            verdict, told, took = worker.in_time(seconds, half, case.name, "twin", seed, limit)
            convicted, checks = convicted + (verdict == "violation"), checks + 1
            wall = time.perf_counter() - start
            print(f"twin {case.name:<22}{seed:>3} {verdict:<14}{wall:>6.1f} s{took:>6.1f} s  {told}", flush=True)
    print(f"of {len(cases)} bugs {found} found, {late} of them in over {IN_TIME:g} s of the processor")
    print(f"of {checks} checks of twins {convicted} convicted")
    return 1 if convicted else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
