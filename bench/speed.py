"""Speed as ratios, all measured in one run, best of several: `python -m bench.speed [REPEATS] [--hundred-million]`.

A point is one check at the paper's budgets: all pairs, 100,000 search runs a pair and side, 500,000 confirmation runs
a side, on one core. "noise" is the time NumPy needs to draw the noise of exactly those runs, "loop" the time of
calling the function for each of them, extrapolated from one call in a thousand. All are processor time, so that
neighbours on the machine do not count; what is compared takes turns, for the clock of a processor changes from second
to second. With --hundred-million, only a check with 10^8 confirmation runs a side is measured.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.array_style import ARRAY_STYLE
from refutedp import ALL_DIFFER, ONE_DIFFERS, Pair, check, sweep
from refutedp.inputs.source import pairs_for
from refutedp.mechanisms import PAPER, BuiltIn

SEARCH, CONFIRM = 100_000, 500_000
EPSILON = 0.7


CLAIMED = (0.2, 0.7, 1.5)
LEAST_SECONDS = 10.0
"""Short calls are timed more often, for they are at the mercy of the processor's clock."""
PART = 1000
"""One call in so many is made to time the loop."""


def main(repeats: int = 3) -> None:
    _points(repeats)
    _array_style(repeats)
    _growth()
    _cores(repeats)


def _points(repeats: int) -> None:
    print(f"One point at the paper's budgets, ε0 = {EPSILON}, one core, best of {repeats} or more")
    print(
        f"{'mechanism':<28}{'point':>8}{'noise':>8}{'loop':>9}{'/noise':>8}{'loop/':>7}"
        f"{'sweep/':>8}{'/checks':>9}{'memory':>9}"
    )
    for built_in in PAPER:
        row = _in_a_process("measure_point", built_in.name, repeats)
        print(
            f"{built_in.name:<28}{row['point']:>7.2f}s{row['noise']:>7.2f}s{row['loop']:>8.1f}s"
            f"{row['point'] / row['noise']:>7.1f}x{row['loop'] / row['point']:>6.0f}x"
            f"{row['sweep'] / row['point']:>7.1f}x{row['sweep'] / row['checks']:>8.2f}x{row['memory']:>6.0f} MB",
            flush=True,
        )
    print("/noise: point over noise; loop/: loop over point; sweep/: 3 claimed ε by 23 test ε over one point;")
    print("/checks: the same over one check at each claimed ε, for a point at one ε may cost less than at another")


def _array_style(repeats: int) -> None:
    print("\nThe same for functions that draw and compute on arrays")
    print(f"{'mechanism':<28}{'point':>8}{'noise':>8}{'loop':>9}{'/noise':>8}{'loop/':>7}")
    for function in ARRAY_STYLE:
        row = _in_a_process("measure_array_style", function.__name__, repeats)
        print(
            f"{function.__name__:<28}{row['point']:>7.2f}s{row['noise']:>7.2f}s{row['loop']:>8.1f}s"
            f"{row['point'] / row['noise']:>7.1f}x{row['loop'] / row['point']:>6.0f}x",
            flush=True,
        )


def _in_a_process(function: str, *arguments: Any) -> dict[str, float]:
    """A fresh process for each row, so that its peak memory is its own."""
    code = f"import json; from bench import speed; print(json.dumps(speed.{function}(*{list(arguments)!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def measure_point(name: str, repeats: int) -> dict[str, float]:
    built_in = next(b for b in PAPER if b.name == name)
    common = {**_common(built_in), "search_runs": SEARCH, "confirm_runs": CONFIRM}
    check(built_in.function, epsilon=EPSILON, **{**common, "search_runs": 1000, "confirm_runs": 1000})
    sides = _sides(built_in)
    point, drawn, part = _best_in_turn(
        repeats,
        lambda: check(built_in.function, epsilon=EPSILON, **common),
        _noise(built_in.function, sides),
        _loop(built_in.function, sides),
    )
    memory = _peak_memory()
    tests = np.round(np.arange(0.2, 2.5, 0.1), 1)
    curve, *checks = _best_in_turn(
        repeats,
        lambda: sweep(built_in.function, claimed=CLAIMED, test=tests, **common),
        *(partial(check, built_in.function, epsilon=claimed, **common) for claimed in CLAIMED),
    )
    loop = PART * part
    return {"point": point, "noise": drawn, "loop": loop, "memory": memory, "sweep": curve, "checks": sum(checks)}


def measure_array_style(name: str, repeats: int) -> dict[str, float]:
    function = next(f for f in ARRAY_STYLE if f.__name__ == name)
    check(function, epsilon=EPSILON, search_runs=1000, confirm_runs=1000, progress=False)
    sides: list[Side] = [(data, {}) for pair in pairs_for(ALL_DIFFER) for data in (pair.d1, pair.d2)]
    point, noise, part = _best_in_turn(
        repeats,
        lambda: check(function, epsilon=EPSILON, search_runs=SEARCH, confirm_runs=CONFIRM, progress=False),
        _noise(function, sides),
        _loop(function, sides),
    )
    return {"point": point, "noise": noise, "loop": PART * part}


def _runs(sides: list[Side]) -> list[tuple[Side, int]]:
    """The sides of a point, and how often each runs; the longest ones are confirmed."""
    confirm = max(sides, key=lambda side: len(side[0]))
    return [*((side, SEARCH) for side in sides), (confirm, 2 * CONFIRM)]


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
    """A generator that counts how many numbers of each kind a run draws."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.draws: dict[str, int] = {}
        self.calls: dict[str, dict[str, Any]] = {}

    def __getattr__(self, distribution: str) -> Callable[..., Any]:
        def draw(*args: Any, **kwargs: Any) -> Any:
            drawn = getattr(self._rng, distribution)(*args, **kwargs)
            self.draws[distribution] = self.draws.get(distribution, 0) + int(np.size(drawn))
            self.calls[distribution] = {"args": args, **{k: v for k, v in kwargs.items() if k != "size"}}
            return drawn

        return draw


def _noise(function: Callable[..., Any], sides: list[Side], block: int = 50_000) -> Callable[[], None]:
    """A call in which NumPy draws, in arrays, as many numbers of each distribution as the runs of a point do."""
    rng = np.random.default_rng(0)
    draws: list[tuple[Callable[..., Any], float]] = []
    for side, runs in _runs(sides):
        counting = _Counting(0)
        sample = 300
        for _ in range(sample):
            function(side[0], epsilon=EPSILON, rng=counting, **side[1])
        for distribution, count in counting.draws.items():
            given = dict(counting.calls[distribution])
            draw = partial(getattr(rng, distribution), *given.pop("args"), **given)
            draws.append((draw, count / sample * runs))

    def all_of_it() -> None:
        for draw, numbers in draws:
            whole, rest = divmod(round(numbers), block)
            for _ in range(whole):
                draw(size=block)
            draw(size=rest)

    return all_of_it


def _loop(function: Callable[..., Any], sides: list[Side]) -> Callable[[], None]:
    """A part of the loop over all runs of a point."""
    rng = np.random.default_rng(0)

    def some() -> None:
        for side, runs in _runs(sides):
            for _ in range(runs // PART):
                function(side[0], epsilon=EPSILON, rng=rng, **side[1])

    return some


def _best(repeats: int, call: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    """The least time of several; processor time where one core works, so that neighbours do not count."""
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def _best_in_turn(repeats: int, *calls: Callable[[], Any]) -> list[float]:
    """The least time of each of some calls that take turns, at least `repeats` times and for some seconds."""
    rounds: list[list[float]] = []
    while len(rounds) < repeats or sum(map(sum, rounds)) < LEAST_SECONDS:
        rounds.append([_best(1, call) for call in calls])
    return [min(times) for times in zip(*rounds, strict=True)]


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
    """Seconds on the clock, and the processor time of this process and its busiest worker one after the other.

    The latter is more than the clock would show if the machine had nothing else to do, and does not count neighbours.
    """
    options: dict[str, Any] = {"search_runs": 30_000, "confirm_runs": 300_000, "lift": False, "progress": False}
    check(plain_svt, epsilon=EPSILON, jobs=jobs, **{**options, "search_runs": 200, "confirm_runs": 200})
    before = _processor_times()
    start = time.perf_counter()
    check(plain_svt, epsilon=EPSILON, jobs=jobs, **options)
    seconds = time.perf_counter() - start
    spent = {process: after - before.get(process, 0.0) for process, after in _processor_times().items()}
    own = spent.pop(os.getpid())
    return {"seconds": seconds, "processor": own + max(spent.values(), default=0.0)}


def _processor_times() -> dict[int, float]:
    """Seconds of processor time of this process and of its children, by process id."""
    ticks = os.sysconf("SC_CLK_TCK")
    times = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if os.getpid() in (int(path.parent.name), int(fields[1])):
            times[int(path.parent.name)] = (int(fields[11]) + int(fields[12])) / ticks
    return times


def _cores(repeats: int) -> None:
    rows = [[_in_a_process("measure_cores", jobs) for jobs in (1, 2)] for _ in range(repeats)]
    one, two = ({clock: min(row[side][clock] for row in rows) for clock in rows[0][side]} for side in (0, 1))
    print(
        f"\nScalar path (not lifted), best of {repeats}: {one['seconds']:.2f}s on one core, "
        f"{two['seconds']:.2f}s on two, "
        f"{one['seconds'] / two['seconds']:.2f}x faster by the clock (load average: {os.getloadavg()[0]:.1f}); "
        f"{one['processor'] / two['processor']:.2f}x by processor time of the main process and its busiest worker"
    )


def hundred_million() -> None:
    """10^8 confirmation runs a side by the command line, as a user would: its progress, time and peak memory."""
    command = ["check", "refutedp.mechanisms:noisy_max_laplace", "--epsilon", str(EPSILON)]
    code = (
        "import sys, time\nfrom bench.speed import _peak_memory\nfrom refutedp.cli import main\n"
        f"try:\n    main({[*command, '--confirm-runs', str(10**8)]!r})\nfinally:\n"
        "    print(f'{time.process_time():.0f}s of processor time, at most {_peak_memory():.0f} MB', file=sys.stderr)"
    )
    print("refutedp", *command, "--confirm-runs", 10**8, flush=True)
    # The exit code is the verdict.
    subprocess.run([sys.executable, "-c", code], check=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.speed")
    parser.add_argument("repeats", type=int, nargs="?", default=3)
    parser.add_argument("--hundred-million", action="store_true")
    chosen = parser.parse_args()
    if chosen.hundred_million:
        hundred_million()
    else:
        main(chosen.repeats)
