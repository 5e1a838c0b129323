"""Checks of mechanisms that are private for what they claim: how many are convicted, and how many lifts were wrong.

`python -m bench.soundness [SEEDS] [FIRST SEED]`: every case of `tests/soundness` for so many seeds, at significance
0.001, on two processes. Exits with code 1 if more are convicted than chance allows, if a function contradicted its
lifted runs in any check, or if any check ended in an exception.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass

from joblib import Parallel, delayed
from scipy import stats

from refutedp import Verdict
from tests.soundness.registry import BUDGET, all_cases, check_case, seed_of

RARE = 1e-3
"""The probability that chance alone convicts more than the limit, if each check has a false alarm at its level."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One check of one case."""

    style: str
    name: str
    seed: int
    lifted: bool = False
    convicted: bool = False
    distrusted: bool = False
    failed: bool = False
    text: str = ""


def run(position: int, number: int) -> Outcome:
    """Check a case, named by its position because a process cannot be sent every kind of function."""
    case = all_cases()[position]
    seed = seed_of(case, number)
    try:
        result = check_case(case, seed)
    except Exception:
        return Outcome(case.style, case.name, seed, failed=True, text=traceback.format_exc())
    return Outcome(
        case.style,
        case.name,
        seed,
        lifted=result.examination is not None,
        convicted=result.verdict is Verdict.VIOLATION,
        distrusted=any("were wrong" in note for note in result.notes),
        text=str(result),
    )


def main(seeds: int = 20, first: int = 0) -> int:
    cases = all_cases()
    tasks = [delayed(run)(i, first + number) for i in range(len(cases)) for number in range(seeds)]
    outcomes = Parallel(n_jobs=2, batch_size=20)(tasks)
    limit = int(stats.binom.isf(RARE, len(outcomes), BUDGET["significance"]))
    for outcome in outcomes:
        if outcome.convicted or outcome.distrusted or outcome.failed:
            print(f"{outcome.style}: {outcome.name}, seed {outcome.seed}\n{outcome.text}\n")
    print(f"{'style':<12}{'cases':>7}{'checks':>8}{'lifted':>8}{'convicted':>11}{'lift wrong':>12}{'exceptions':>12}")
    for style in dict.fromkeys(case.style for case in cases):
        print(_row(style, [outcome for outcome in outcomes if outcome.style == style]))
    print(_row("all", outcomes))
    convicted = sum(outcome.convicted for outcome in outcomes)
    print(f"More than {limit} convictions would have probability below {RARE:g} if every claim holds.")
    return int(convicted > limit or any(outcome.distrusted or outcome.failed for outcome in outcomes))


def _row(style: str, outcomes: Iterable[Outcome]) -> str:
    held = list(outcomes)
    cases = len({(outcome.style, outcome.name) for outcome in held})
    counts = [sum(getattr(one, what) for one in held) for what in ("lifted", "convicted", "distrusted", "failed")]
    return f"{style:<12}{cases:>7}{len(held):>8,}{counts[0]:>8,}{counts[1]:>11}{counts[2]:>12}{counts[3]:>12}"


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:])))
