"""What rare leaks are found, by which evidence and how fast; and what the search for them adds where nothing is rare.

`python -m bench.rare`; with `nothing`, only the last. Seconds are of the processor, at default settings.
"""

from __future__ import annotations

import inspect
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import bench.everyday.branches
import bench.everyday.libraries
import bench.everyday.outputs  # noqa: F401
import refutedp.detector.detect as detect
from bench.everyday.registry import EVERYDAY
from refutedp import ALL_DIFFER, ONE_DIFFERS, Verdict, check
from refutedp.detector.exactly import look_exactly
from refutedp.mechanisms import PAPER
from tests.battery.rare_cases import CASES

EVERYDAY_SHOWN = 12


def endless(queries: Any, epsilon: float, rng: Any) -> Any:
    """Rejects half of its noise."""
    while True:
        answer = queries[0] + rng.laplace(scale=1 / epsilon)
        if rng.random() < 0.5:
            return answer


def timed(function: Callable[..., Any], **keywords: Any) -> tuple[Any, float, float]:
    """A check, its seconds of processor time, and those of them that enumeration took."""
    spent = 0.0

    def look(*arguments: Any) -> Any:
        nonlocal spent
        start = time.process_time()
        result = look_exactly(*arguments)
        spent += time.process_time() - start
        return result

    detect.look_exactly = look  # type: ignore[attr-defined]
    start = time.process_time()
    try:
        return check(function, **keywords), time.process_time() - start, spent
    finally:
        detect.look_exactly = look_exactly  # type: ignore[attr-defined]


def paper(power: int, blind: bool) -> Callable[..., int]:
    """The example of the paper: 1 with probability e^-power, only if the first answer is 1, or whatever it is."""

    def rare(queries: Any, epsilon: float, rng: Any) -> int:
        return int((blind or queries[0] == 1) and rng.random() < math.exp(-power))

    return rare


def main() -> None:
    """Print the tables."""
    for power in (9, 15, 20, 30, 50):
        found, seconds, _ = timed(paper(power, blind=False), epsilon=1.0)
        blind, _, _ = timed(paper(power, blind=True), epsilon=1.0)
        kind = "exact" if found.exact else "runs"
        print(f"e^-{power}: {found.verdict.value} ({kind}) in {seconds:.2f} s; blind: {blind.verdict.value}")
    hits = alarms = 0
    for case in CASES:
        bug, seconds, _ = timed(case.bug, **case.kwargs)
        twin, _, _ = timed(case.twin, **case.kwargs)
        hits += bug.verdict is Verdict.VIOLATION
        alarms += twin.verdict is Verdict.VIOLATION
        by = f"{bug.exact.low:.2g} against {bug.exact.high:.2g}" if bug.exact else "by runs"
        print(f"{case.name:20} {bug.verdict.value:12} {by:24} {seconds:5.2f} s   twin: {twin.verdict.value}")
    print(f"{hits} of {len(CASES)} found, {alarms} twins convicted")
    nothing_rare()


def nothing_rare() -> None:
    """What enumeration adds to the paper's mechanisms, to some in everyday styles, and to one that has no end."""
    for built_in in PAPER:
        names = inspect.signature(built_in.function).parameters
        arguments = {name: 1 for name in ("threshold", "bound") if name in names}
        adjacency = ONE_DIFFERS if built_in.adjacency == "one" else ALL_DIFFER
        _row(built_in.name, built_in.function, epsilon=0.7, adjacency=adjacency, args=arguments)
    plain = [one for one in EVERYDAY.values() if isinstance(one.data, list) and isinstance(one.data[0], int)]
    for one in plain[:: max(len(plain) // EVERYDAY_SHOWN, 1)][:EVERYDAY_SHOWN]:
        pair = one.data, [one.data[0] + 1 - 2 * (one.data[0] > 0), *one.data[1:]]
        _row(one.function.__name__, one.function, epsilon=1.0, pairs=[pair], args=one.arguments)
    _row("endless", endless, epsilon=1.0)


def _row(name: str, function: Callable[..., Any], **keywords: Any) -> None:
    result, seconds, spent = timed(function, progress=False, **keywords)
    epsilon = "" if result.loss is None else f"; ε of the pair {sum(result.loss.epsilon) / 2:.6f}"
    print(f"{name:28} {seconds:5.2f} s, of which enumeration {spent:.3f} s{epsilon}", flush=True)


if __name__ == "__main__":
    nothing_rare() if sys.argv[1:] == ["nothing"] else main()
