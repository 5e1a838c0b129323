"""What rare leaks are found, by which evidence and how fast; and what the search for them adds where nothing is rare.

python -m bench.rare
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import refutedp.detector.detect as detect
from refutedp import Verdict, check
from refutedp.detector.exactly import look_exactly
from tests.battery.rare_cases import CASES


def laplace(queries: Any, epsilon: float, rng: Any) -> Any:
    """One answer with noise."""
    return queries[0] + rng.laplace(scale=1 / epsilon)


def ten_answers(queries: Any, epsilon: float, rng: Any) -> Any:
    """All answers with noise."""
    return np.array(queries) + rng.laplace(scale=len(queries) / epsilon, size=len(queries))


def sparse_vector(queries: Any, epsilon: float, rng: Any) -> Any:
    """The first answer above a threshold."""
    threshold, answers = 1 + rng.laplace(scale=2 / epsilon), []
    for query in queries:
        answers.append(bool(query + rng.laplace(scale=4 / epsilon) >= threshold))
        if answers[-1]:
            break
    return answers


def noisy_maximum(queries: Any, epsilon: float, rng: Any) -> Any:
    """Which answer is the largest with noise."""
    return int(np.argmax([query + rng.laplace(scale=2 / epsilon) for query in queries]))


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
    for function in (laplace, ten_answers, sparse_vector, noisy_maximum, endless):
        result, seconds, spent = timed(function, epsilon=1.0)
        epsilon = "" if result.loss is None else f"; ε of the pair {sum(result.loss.epsilon) / 2:.6f}"
        print(f"{function.__name__:20} {seconds:5.2f} s, of which enumeration {spent:.3f} s{epsilon}")


if __name__ == "__main__":
    main()
