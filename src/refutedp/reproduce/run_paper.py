"""Everything the paper shows, in one directory; a run that is stopped continues where it was."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from refutedp.mechanisms import PAPER, BuiltIn
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


def plans(*, quick: bool, seed: int) -> Iterator[tuple[BuiltIn, CurvePlan]]:
    """Every curve: the paper's mechanisms with its claimed and test epsilons, at its budgets or a fifth of them."""
    from refutedp import __version__

    part = 5 if quick else 1
    for built_in in PAPER:
        for claimed in CLAIMED:
            budgets = (SEARCH_RUNS // part, CONFIRM_RUNS // part)
            yield built_in, CurvePlan(built_in.name, claimed, TESTS, *budgets, seed, __version__)


def reproduce(
    what: What,
    out: Path,
    *,
    quick: bool = False,
    seed: int = 0,
    jobs: int = 1,
    report: Callable[[Progress], None] = lambda _: None,
) -> Reproduction:
    """Compute what is missing, then write the pages, figures and data."""
    start = time.perf_counter()
    try:
        (out / "data").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {str(out)!r} cannot be written: {error.strerror}") from None
    wanted = list(plans(quick=quick, seed=seed))
    curves: list[Curve] = []
    kept = 0
    for number, (built_in, plan) in enumerate(wanted):
        label = f"{built_in.title}, claimed ε = {plan.claimed:g}"
        report(Progress("reproduce", number, len(wanted), label))
        path = out / "data" / f"{built_in.name}-{plan.claimed:g}.json"
        curve = load(path, plan)
        if curve is None:
            curve = compute(built_in, plan, jobs, lambda _: None)
            store(path, curve)
        else:
            kept += 1
        curves.append(curve)
    report(Progress("reproduce", len(wanted), len(wanted), "writing the pages"))
    seconds = time.perf_counter() - start
    files = _write(what, out, tuple(curves), seconds, quick=quick, seed=seed, jobs=jobs, kept=kept)
    return Reproduction(tuple(curves), files, time.perf_counter() - start, kept)


def _write(
    what: What, out: Path, curves: tuple[Curve, ...], seconds: float, *, quick: bool, seed: int, jobs: int, kept: int
) -> tuple[Path, ...]:
    cores = len(os.sched_getaffinity(0)) if jobs == -1 else jobs
    tables = []
    figures: list[tuple[str, str]] = []
    files: list[Path] = []
    if what in ("figures", "all"):
        tables.append(pages.rises(curves))
        figures, drawn = _figures(out, curves)
        files += drawn
    if what in ("counterexamples", "all"):
        tables.append(pages.counterexamples(curves))
    if what in ("timing", "all"):
        tables.append(pages.times(curves, cores))
    words = _words(curves, seconds, what=what, quick=quick, seed=seed, cores=cores, kept=kept)
    title = "Detecting Violations of Differential Privacy, reproduced"
    parts = {"title": title, "words": words, "tables": tables, "figures": figures}
    for name, text in (
        ("reproduction.md", pages.page("md", **parts)),
        ("reproduction.html", pages.page("html", **parts)),
        ("reproduction.json", msgspec.json.format(msgspec.json.encode(curves), indent=1).decode()),
    ):
        (out / name).write_text(text, encoding="utf-8")
        files.append(out / name)
    return tuple(files)


def _figures(out: Path, curves: tuple[Curve, ...]) -> tuple[list[tuple[str, str]], list[Path]]:
    from refutedp.reproduce.paper_figures import draw

    named: list[tuple[str, str]] = []
    drawn: list[Path] = []
    for built_in in PAPER:
        mine = [curve for curve in curves if curve.plan.mechanism == built_in.name]
        if mine:
            path = out / "figures" / f"{built_in.name}.svg"
            draw(mine, path)
            named.append((built_in.title, f"figures/{built_in.name}.svg"))
            drawn.append(path)
    return named, drawn


def _words(
    curves: tuple[Curve, ...], seconds: float, *, what: str, quick: bool, seed: int, cores: int, kept: int
) -> str:
    import scipy

    from refutedp import __version__

    plan = curves[0].plan
    command = f"refutedp reproduce {what}{' --quick' if quick else ''} --seed {seed} --jobs {cores}"
    counted = f"; {kept} of {len(curves)} curves were kept from an earlier run" if kept else ""
    return (
        f"Made by `{command}` in {seconds:.0f} seconds{counted}: {plan.search_runs:,} search runs a pair and side, "
        f"{plan.confirm_runs:,} confirmation runs a side, arguments by symbolic execution. RefuteDP {__version__}, "
        f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}."
    )
