"""How much of what people write is lifted: `python -m bench.lifting [NAME...]`.

For each mechanism of `bench.everyday`, prints calls a second of the plain loop, lifted runs a second, and their
ratio, all by processor time; of those that are not lifted, why. A mechanism counts as lifted if at most one run in
ten of a sample is made by a plain call. "/noise" compares with NumPy drawing the same noise (`NOISE` says how).
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bench.everyday import branches, libraries, outputs
from bench.everyday.registry import EVERYDAY, Everyday
from refutedp.model.mechanism import describe
from refutedp.sampling.lifted import CannotLift, Lift

RUNS = 20_000
MOST_PLAIN = 0.1
"""The share of runs made by plain calls up to which a mechanism counts as lifted."""
SECONDS = 0.2
"""What is timed is repeated for so long."""

_Draw = Callable[[np.random.Generator], Any]


def _uniforms(*counts: int) -> _Draw:
    return lambda rng: [rng.random((RUNS, count)) for count in counts]


NOISE: dict[str, _Draw] = {
    **dict.fromkeys(("rappor_helpers", "rappor_loop", "rappor_arrays"), _uniforms(24, 24)),
    "rappor_ternaries": _uniforms(24, 12, 24),
    **dict.fromkeys(("oue_loop", "oue_helper", "oue_array"), _uniforms(128)),
    **dict.fromkeys(
        ("flips_comprehension", "flips_helper", "flips_append", "flips_lookup", "flips_indexed"), _uniforms(50)
    ),
    "flips_two_coins": _uniforms(50, 25),
}
"""The noise that the independent branches of some mechanisms need, of `RUNS` runs."""


class Row(NamedTuple):
    """What was measured of one mechanism."""

    loop: float
    lifted: float
    noise: float | None
    refusal: str | None


def measure(mechanism: Everyday, noise: _Draw | None) -> Row:
    """Calls a second, lifted runs a second, seconds of noise, and why it is not lifted."""
    loop = _loop(mechanism)
    try:
        lift = Lift(describe(mechanism.function), mechanism.data, mechanism.arguments)
        lift.prove(np.random.default_rng(0), 24)
        lift.sample(RUNS, np.random.default_rng(1))
        before = lift.plain.calls
        lift.sample(RUNS, np.random.default_rng(2))
        if lift.plain.calls - before > MOST_PLAIN * RUNS:
            return Row(loop, 0.0, None, f"{lift.plain.calls - before:,} of {RUNS:,} runs are plain calls")
        seconds, drawn = _in_turn(
            lambda: lift.sample(RUNS, np.random.default_rng(3)),
            (lambda: noise(np.random.default_rng(3))) if noise else (lambda: None),
        )
        return Row(loop, RUNS / seconds, drawn if noise else None, None)
    except CannotLift as refusal:
        return Row(loop, 0.0, None, str(refusal))


def _in_turn(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[float, float]:
    """The least processor time of two calls that take turns."""
    best = [float("inf")] * 2
    spent = 0.0
    while spent < SECONDS:
        for number, call in enumerate((first, second)):
            start = time.process_time()
            call()
            taken = time.process_time() - start
            best[number] = min(best[number], taken)
            spent += taken
    return best[0], best[1]


def _loop(mechanism: Everyday) -> float:
    plain = describe(mechanism.function)
    rng = np.random.default_rng(0)
    calls, start = 0, time.process_time()
    while time.process_time() - start < SECONDS:
        for _ in range(10):
            plain.call(mechanism.data, mechanism.arguments, rng=rng)
        calls += 10
    return calls / (time.process_time() - start)


def main(names: list[str]) -> None:
    """Print a row for each mechanism, and how many lift."""
    assert {branches.__name__, libraries.__name__, outputs.__name__}  # They register what they define.
    warnings.simplefilter("ignore")
    lifted = 0
    chosen = {name: EVERYDAY[name] for name in names or EVERYDAY}
    print(f"{'mechanism':<28}{'loop/s':>9}{'lifted/s':>12}{'faster':>8}{'/noise':>8}")
    for name, mechanism in chosen.items():
        row = measure(mechanism, NOISE.get(name))
        if row.refusal is not None:
            print(f"{name:<28}{row.loop:>9,.0f}  not lifted: {row.refusal}", flush=True)
            continue
        lifted += 1
        ratio = "" if row.noise is None else f"{RUNS / row.lifted / row.noise:>7.1f}x"
        print(f"{name:<28}{row.loop:>9,.0f}{row.lifted:>12,.0f}{row.lifted / row.loop:>7.0f}x{ratio}", flush=True)
    print(f"{lifted} of {len(chosen)} lift")


if __name__ == "__main__":
    main(sys.argv[1:])
