"""Speed as ratios, all measured in one run, best of several: `python -m bench.speed [REPEATS]`.

A point is one check at the paper's budgets: all pairs, 100,000 search runs a pair and side, 500,000 confirmation runs
a side, on one core. "noise" is the time NumPy needs to draw the noise of exactly those runs, "loop" the time of
calling the function for each of them, extrapolated from a part.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from refutedp import ALL_DIFFER, ONE_DIFFERS, Pair, check, sweep
from refutedp.inputs.patterns import pairs_for
from refutedp.mechanisms import PAPER, BuiltIn

SEARCH, CONFIRM = 100_000, 500_000
EPSILON = 0.7


def main(repeats: int = 3) -> None:
    _points(repeats)
    _growth()
    _cores()


def _points(repeats: int) -> None:
    print(f"One point at the paper's budgets, ε0 = {EPSILON}, one core, best of {repeats}")
    head = f"{'mechanism':<28}{'point':>8}{'noise':>8}{'loop':>9}{'/noise':>8}{'loop/':>7}{'sweep/':>8}{'memory':>9}"
    print(head)
    for built_in in PAPER:
        row = _in_a_process("measure_point", built_in.name, repeats)
        print(
            f"{built_in.name:<28}{row['point']:>7.2f}s{row['noise']:>7.2f}s{row['loop']:>8.1f}s"
            f"{row['point'] / row['noise']:>7.1f}x{row['loop'] / row['point']:>6.0f}x"
            f"{row['sweep'] / row['point']:>7.1f}x{row['memory']:>6.0f} MB",
            flush=True,
        )
    print("/noise: point over noise; loop/: loop over point; sweep/: 3 claimed ε by 23 test ε over one point")


def _in_a_process(function: str, *arguments: Any) -> dict[str, float]:
    """A fresh process for each row, so that its peak memory is its own."""
    code = f"import json; from bench import speed; print(json.dumps(speed.{function}(*{list(arguments)!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def measure_point(name: str, repeats: int) -> dict[str, float]:
    built_in = next(b for b in PAPER if b.name == name)
    common = {**_common(built_in), "search_runs": SEARCH, "confirm_runs": CONFIRM}
    check(built_in.function, epsilon=EPSILON, **{**common, "search_runs": 1000, "confirm_runs": 1000})
    point = _best(repeats, lambda: check(built_in.function, epsilon=EPSILON, **common))
    memory = _peak_memory()
    tests = np.round(np.arange(0.2, 2.5, 0.1), 1)
    curve = _best(1, lambda: sweep(built_in.function, claimed=[0.2, 0.7, 1.5], test=tests, **common))
    sides = _sides(built_in)
    confirm = max(sides, key=lambda side: len(side[0]))
    noise = sum(_noise(built_in, side, SEARCH, repeats) for side in sides)
    noise += 2 * _noise(built_in, confirm, CONFIRM, repeats)
    loop = sum(_loop(built_in, side, SEARCH) for side in sides) + 2 * _loop(built_in, confirm, CONFIRM)
    return {"point": point, "noise": noise, "loop": loop, "memory": memory, "sweep": curve}


def _peak_memory() -> float:
    """Megabytes; of this program alone, where getrusage would count what its parent had when it started it."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def _common(built_in: BuiltIn) -> dict[str, Any]:
    names = inspect.signature(built_in.function).parameters
    return {
        "adjacency": ONE_DIFFERS if built_in.adjacency == "one" else ALL_DIFFER,
        "args": {name: 1 for name in ("threshold", "bound") if name in names},
        "progress": False,
    }


Side = tuple[list[float], dict[str, Any]]


def _sides(built_in: BuiltIn) -> list[Side]:
    common = _common(built_in)
    pairs: list[Pair] = pairs_for(common["adjacency"])
    return [(data, common["args"]) for pair in pairs for data in (pair.d1, pair.d2)]


class _Counting:
    """A generator that counts how many draws of each kind a run makes."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.draws: dict[str, int] = {}

    def __getattr__(self, law: str) -> Callable[..., Any]:
        def draw(*args: Any, **kwargs: Any) -> Any:
            self.draws[law] = self.draws.get(law, 0) + 1
            return getattr(self._rng, law)(*args, **kwargs)

        return draw


def _noise(built_in: BuiltIn, side: Side, runs: int, repeats: int) -> float:
    """Seconds NumPy takes to draw, in arrays of one draw for every run, what `runs` runs draw on average."""
    counting = _Counting(0)
    sample = 300
    for _ in range(sample):
        built_in.function(side[0], epsilon=EPSILON, rng=counting, **side[1])
    rng = np.random.default_rng(0)
    total = 0.0
    for law, count in counting.draws.items():
        draw = getattr(rng, law)
        each = _best(repeats, lambda draw=draw: draw(scale=2.0, size=50_000))  # type: ignore[misc]
        total += each * (count / sample) * runs / 50_000
    return total


def _loop(built_in: BuiltIn, side: Side, runs: int) -> float:
    rng = np.random.default_rng(0)
    part = 400

    def some() -> None:
        for _ in range(part):
            built_in.function(side[0], epsilon=EPSILON, rng=rng, **side[1])

    return _best(2, some) / part * runs


def _best(repeats: int, call: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    """The least time of several; processor time where one core works, so that neighbours do not count."""
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def measure_growth(runs: int, queries: int) -> dict[str, float]:
    built_in = next(b for b in PAPER if b.name == "noisy_max_laplace")
    options = {**_common(built_in), "lengths": (queries,), "search_runs": min(runs, SEARCH), "confirm_runs": runs}
    seconds = _best(1, lambda: check(built_in.function, epsilon=EPSILON, **options))
    return {"seconds": seconds, "memory": _peak_memory()}


def _growth() -> None:
    print("\nNoisy max, 5 queries, as the confirmation runs a side grow")
    for runs in (10**4, 10**5, 10**6, 10**7):
        row = _in_a_process("measure_growth", runs, 5)
        print(f"  {runs:>12,} runs {row['seconds']:>8.2f}s {row['memory']:>6.0f} MB", flush=True)
    print("Noisy max, 100,000 confirmation runs a side, as the queries grow")
    for queries in (5, 10, 20, 40, 80):
        row = _in_a_process("measure_growth", 100_000, queries)
        print(f"  {queries:>12} queries {row['seconds']:>5.2f}s {row['memory']:>6.0f} MB", flush=True)


def plain_svt(queries: list[float], epsilon: float, rng: np.random.Generator) -> int:
    threshold = 1 + rng.laplace(scale=2 / epsilon)
    for index, query in enumerate(queries):
        if query + rng.laplace(scale=4 / epsilon) >= threshold:
            return index
    return len(queries)


def measure_cores(jobs: int) -> dict[str, float]:
    options: dict[str, Any] = {"search_runs": 10_000, "confirm_runs": 100_000, "lift": False, "progress": False}
    check(plain_svt, epsilon=EPSILON, jobs=jobs, **{**options, "search_runs": 200, "confirm_runs": 200})
    return {"seconds": _best(2, lambda: check(plain_svt, epsilon=EPSILON, jobs=jobs, **options), time.perf_counter)}


def _cores() -> None:
    one, two = (_in_a_process("measure_cores", jobs)["seconds"] for jobs in (1, 2))
    print(f"\nScalar path (not lifted): {one:.2f}s on one core, {two:.2f}s on two, {one / two:.2f}x faster")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
