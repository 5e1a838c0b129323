"""What each refinement brings: switched off one by one, on cases that users meet.

    python -m bench.ablation [SEEDS] [switch ...]

Three measures, each as a ratio of "off" to "on": runs until conviction (the geometric mean over cases and seeds, with
`goal="speed"` and for claims with a δ), the certified ε (mean over the paper's mechanisms), and processor time of a
point (sum over some of the paper's mechanisms, best of three, on and off in turns). A refinement that changes none of
them by a tenth, and is not needed for soundness, should go; docs/decisions/what-pays.md has the table.
"""

from __future__ import annotations

import inspect
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from refutedp import ALL_DIFFER, ONE_DIFFERS, ApproxDP, Verdict, check
from refutedp.mechanisms import (
    PAPER,
    isvt1,
    noisy_max_exponential_value,
    noisy_max_laplace,
    noisy_max_laplace_value,
    svt,
)
from refutedp.mechanisms.added_noise import analytic_sigma


def _set(target: str, value: Any) -> Callable[[], Any]:
    return lambda: patch(target, value)


def _unmoved(sampler: Any, candidate: Any, *_: Any) -> Any:
    from refutedp.detector.plan_importance import NO_PLAN

    return sampler, candidate, NO_PLAN


def _by_run(draw: Any, n: int, shape: Any) -> Any:
    return np.asarray(draw((n, *(shape or ()))))


SWITCHES: dict[str, list[Callable[[], Any]]] = {
    "unpaired importance sampling": [_set("refutedp.detector.plan.unpaired", lambda _: None)],
    "half-line moving": [
        _set("refutedp.detector.plan._moved", _unmoved),
        _set("refutedp.detector.plan._further", lambda *_: None),
    ],
    "common noise": [_set("refutedp.detector.race.Rounds._common", lambda *_: None)],
    "kept heap": [_set("refutedp.sampling.lifted.lift.keep_freed_memory", lambda: None)],
    "layout by element": [
        _set(f"refutedp.sampling.lifted.{where}.drawn_by_element", _by_run)
        for where in ("noise.shared_noise", "drawer")
    ],
    "known lifts": [_set("refutedp.sampling.lifted.lifted_sampler._content", lambda data, arguments: None)],
}


@contextmanager
def switched_off(name: str) -> Iterator[None]:
    """Without one refinement."""
    with ExitStack() as stack:
        for make in SWITCHES[name]:
            stack.enter_context(make())
        yield


def gaussian(part: float, epsilon: float, delta: float) -> Callable[..., Any]:
    """Noise of a part of the sigma that the claim needs."""
    sigma = part * analytic_sigma(epsilon, delta)
    return lambda queries, rng: queries[0] + rng.normal(scale=sigma)


def runs_to_convict(seed: int) -> dict[str, int]:
    """Fresh runs until conviction, by case."""
    found = {}
    for function in (isvt1, noisy_max_laplace_value, noisy_max_exponential_value):
        result = check(function, epsilon=0.2, goal="speed", seed=seed, **_given(function))
        found[function.__name__] = _decided(result)
    for part, epsilon, delta in ((0.8, 1.0, 1e-5), (0.9, 1.0, 1e-5), (0.8, 2.0, 1e-3), (0.95, 1.0, 1e-2)):
        result = check(
            gaussian(part, epsilon, delta),
            ApproxDP(epsilon, delta),
            adjacency=ONE_DIFFERS,
            lengths=(1,),
            search_runs=30_000,
            confirm_runs=5_000_000,
            seed=seed,
        )
        found[f"gaussian {part} {epsilon:g} {delta:g}"] = _decided(result)
    return found


def _given(function: Any) -> dict[str, Any]:
    built_in = next(one for one in PAPER if one.function is function)
    names = inspect.signature(function).parameters
    return {
        "adjacency": ONE_DIFFERS if built_in.adjacency == "one" else ALL_DIFFER,
        "args": {name: 1 for name in ("threshold", "bound") if name in names},
    }


def _decided(result: Any) -> int:
    evidence = result.evidence
    return evidence.decided_after if result.verdict is Verdict.VIOLATION else 2 * evidence.counts.n_x


def bounds(seed: int) -> dict[str, float]:
    """Certified ε at 0.7, by mechanism of the paper."""
    return {
        one.name: check(one.function, epsilon=0.7, seed=seed, **_given(one.function)).evidence.epsilon_lower_bound
        for one in PAPER
    }


def point_time() -> float:
    """Processor time of some points."""
    start = time.process_time()
    for function in (noisy_max_laplace, noisy_max_laplace_value, svt):
        check(function, epsilon=0.7, **_given(function))
    return time.process_time() - start


def compared(name: str, seeds: range) -> str:
    """One row of the table."""
    ratios = [[], []]  # type: list[list[float]]
    for seed in seeds:
        on = runs_to_convict(seed), bounds(seed)
        with switched_off(name):
            off = runs_to_convict(seed), bounds(seed)
        ratios[0] += [math.log(off[0][case] / on[0][case]) for case in on[0]]
        ratios[1] += [off[1][case] / max(on[1][case], 1e-9) for case in on[1]]
    times: list[list[float]] = [[], []]
    for _ in range(3):
        times[0].append(point_time())
        with switched_off(name):
            times[1].append(point_time())
    runs, bound = math.exp(float(np.mean(ratios[0]))), float(np.mean(ratios[1]))
    return f"{name:<30}{runs:>8.2f}{bound:>10.3f}{min(times[1]) / min(times[0]):>8.2f}"


def main() -> None:
    words = sys.argv[1:]
    seeds = range(1600, 1600 + (int(words[0]) if words and words[0].isdigit() else 3))
    names = [name for name in SWITCHES if name in words] or list(SWITCHES)
    print(f"off / on, seeds {seeds.start} to {seeds.stop - 1}")
    print(f"{'switched off':<30}{'runs':>8}{'bound':>10}{'time':>8}")
    for name in names:
        print(compared(name, seeds), flush=True)


if __name__ == "__main__":
    main()
