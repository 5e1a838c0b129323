"""Everything the paper shows, in one directory; a run that is stopped continues where it was."""

from __future__ import annotations

import itertools
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import scipy

from refutedp import __version__
from refutedp.mechanisms import PAPER
from refutedp.model.errors import UsageError
from refutedp.model.settings import Progress
from refutedp.reproduce import pages
from refutedp.reproduce.curves import Curve, CurvePlan, compute, load, store
from refutedp.reproduce.paper import CLAIMED, CONFIRM_RUNS, SEARCH_RUNS, TESTS, What


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What was made, and where."""

    curves: tuple[Curve, ...]
    files: tuple[Path, ...]
    seconds: float
    kept: int


def reproduce(
    what: What,
    out: Path,
    *,
    quick: bool = False,
    seed: int = 0,
    jobs: int = 1,
    report: Callable[[Progress], None] = lambda _: None,
) -> Reproduction:
    """Compute what is missing, at the paper's budgets or a fifth of them; write the pages, figures and data."""
    start = time.perf_counter()
    try:
        (out / "data").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {str(out)!r} cannot be written: {error.strerror}") from None
    part = 5 if quick else 1
    total = len(PAPER) * len(CLAIMED)
    curves: list[Curve] = []
    kept = 0
    for number, (built_in, claimed) in enumerate(itertools.product(PAPER, CLAIMED)):
        budgets = (SEARCH_RUNS // part, CONFIRM_RUNS // part)
        plan = CurvePlan(built_in.name, claimed, TESTS, *budgets, seed, __version__)
        report(Progress("reproduce", number, total, f"{built_in.title}, claimed ε = {claimed:g}"))
        path = out / "data" / f"{built_in.name}-{claimed:g}.json"
        curve = load(path, plan)
        if curve is None:
            curve = compute(built_in, plan, jobs)
            store(path, curve)
        else:
            kept += 1
        curves.append(curve)
    report(Progress("reproduce", total, total, "writing the pages"))
    seconds = time.perf_counter() - start
    cores = len(os.sched_getaffinity(0)) if jobs == -1 else jobs
    command = f"refutedp reproduce {what}{' --quick' if quick else ''} --seed {seed} --jobs {cores}"
    again = f"; {kept} of {len(curves)} curves were kept from an earlier run" if kept else ""
    words = f"Made by `{command}` in {seconds:.0f} seconds{again}: {_setup(curves[0].plan)}"
    files = _write(what, out, curves, words, cores)
    return Reproduction(tuple(curves), tuple(files), time.perf_counter() - start, kept)


def _setup(plan: CurvePlan) -> str:
    return (
        f"{plan.search_runs:,} search runs a pair and side, "
        f"{plan.confirm_runs:,} confirmation runs a side, arguments by symbolic execution. RefuteDP {__version__}, "
        f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}."
    )


def _write(what: What, out: Path, curves: list[Curve], words: str, cores: int) -> list[Path]:
    tables, figures = [], []
    if what in ("figures", "all"):
        tables.append(pages.rises(curves))
        for built_in in PAPER:
            path = f"figures/{built_in.name}.svg"
            pages.draw([curve for curve in curves if curve.plan.mechanism == built_in.name], out / path)
            figures.append((built_in.title, path))
    if what in ("counterexamples", "all"):
        tables.append(pages.counterexamples(curves))
    if what in ("timing", "all"):
        tables.append(pages.times(curves, cores))
    written = pages.write_pages(
        out, "Detecting Violations of Differential Privacy, reproduced", words, tables, figures
    )
    data = out / "reproduction.json"
    data.write_bytes(msgspec.json.format(msgspec.json.encode(curves), indent=1))
    return [*(out / path for _, path in figures), *written, data]
