"""The tables and figures, as one Markdown page and one HTML page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from refutedp.report.html import template
from refutedp.report.plots import BOUND, SERIES, claimed_curve, style
from refutedp.reproduce.curves import Curve
from refutedp.reproduce.paper import CLAIMED, CORES, LEVEL, REPORTED


@dataclass(frozen=True, slots=True)
class Table:
    """A table of plain text cells with a heading and a sentence."""

    title: str
    words: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def _number(value: float | None) -> str:
    """A number for people: -1 stands for infinite, None for unknown."""
    if value is None:
        return "—"
    return "∞" if value == -1 else f"{value:.3g}"


def rises(curves: Sequence[Curve]) -> Table:
    """Where each curve rises, next to the paper and the truth."""
    rows = []
    for curve in curves:
        refuted = [t for t, p in zip(curve.plan.tests, curve.log_p_ours, strict=True) if p <= math.log(LEVEL)]
        reported = REPORTED[curve.plan.mechanism].rises[CLAIMED.index(curve.plan.claimed)]
        values = (reported, max(refuted, default=None), curve.bound, curve.best, curve.truth)
        verdict = "correct" if curve.correct else "incorrect"
        rows.append((curve.title, f"{curve.plan.claimed:g}", *map(_number, values), verdict))
    head = ("mechanism", "ε0", "paper", "largest test ε refuted", "certified ε", "best on this pair", "real ε", "is")
    words = (
        f"The largest test ε on the grid that our test refutes at {LEVEL:.0%}, beside the certified bound (the ε at "
        "which the curve crosses that level), the most that any event could show on the pair, by integration, and "
        f"the real ε where it is known. Each bound holds with {1 - LEVEL:.0%} confidence: among {len(curves)}, "
        "one or two may exceed the best by chance."
    )
    return Table("Where the curves rise", words, head, tuple(rows))


def counterexamples(curves: Sequence[Curve]) -> Table:
    """Our counterexamples at the largest claimed epsilon, the paper's row next to each."""
    rows = []
    for curve in curves:
        if curve.correct or curve.plan.claimed != max(CLAIMED):
            continue
        reported = REPORTED[curve.plan.mechanism]
        rows.append((curve.title, "paper", reported.event, reported.d1, reported.d2, ""))
        arguments = ", ".join(f"{name} = {value:g}" for name, value in curve.arguments.items())
        rows.append(("", "RefuteDP", curve.event, str(list(curve.d1)), str(list(curve.d2)), arguments))
    head = ("mechanism", "by", "event", "D1 (likelier)", "D2", "arguments found")
    words = (
        f"At ε0 = {max(CLAIMED):g}; the wrong-scale histogram is private there, as its row in the table above shows."
    )
    return Table("Counterexamples", words, head, tuple(rows))


def times(curves: Sequence[Curve], cores: int) -> Table:
    """Seconds per point, next to the paper's."""
    rows = []
    for name, reported in REPORTED.items():
        mine = [curve for curve in curves if curve.plan.mechanism == name]
        if mine:
            seconds = sum(curve.seconds for curve in mine) / len(mine)
            arguments = sum(curve.argument_seconds for curve in mine) / len(mine)
            factor = f"{reported.seconds / seconds:.1f}×" if seconds else "—"
            rows.append((mine[0].title, *(f"{x:.2f}" for x in (reported.seconds, seconds, arguments)), factor))
    columns = (f"paper, {CORES} logical cores (s)", f"search and test, {cores} cores (s)", "arguments (s)")
    head = ("mechanism", *columns, "factor")
    words = "Seconds for one point of a figure: search over all pairs and events, and the test on fresh runs."
    return Table("Time per point", words, head, tuple(rows))


def write_pages(
    out: Path, title: str, words: str, tables: Sequence[Table], figures: Sequence[tuple[str, str]]
) -> list[Path]:
    """Write both pages; a figure is a title and a path."""
    pages = []
    for kind in ("md", "html"):
        made = template(f"reproduction.{kind}.j2").render(title=title, words=words, tables=tables, figures=figures)
        pages.append(out / f"reproduction.{kind}")
        pages[-1].write_text(made.rstrip() + "\n", encoding="utf-8")
    return pages


def draw(curves: Sequence[Curve], path: Path) -> None:
    """The paper's figure of one mechanism: p-value against test epsilon, by its test and ours."""
    with style():
        figure = Figure(figsize=(9.2, 3.3), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        _panel(left, curves, [curve.log_p_paper for curve in curves], "the paper's test")
        _panel(right, curves, [curve.log_p_ours for curve in curves], "exact test and certified ε (▼)")
        for (colour, _, _), curve in zip(SERIES, curves, strict=False):
            if curve.bound <= max(curves[0].plan.tests):
                right.plot([curve.bound], [1.05], marker="v", color=colour, markersize=7, clip_on=False)
        left.set_ylabel("p-value")
        figure.suptitle(curves[0].title)
        legend = left.get_legend_handles_labels()
        figure.legend(*legend, loc="outside lower center", ncols=len(curves) + 1, frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})


def _panel(axes: Axes, curves: Sequence[Curve], logs: Sequence[Sequence[float]], title: str) -> None:
    for number, (curve, log_p) in enumerate(zip(curves, logs, strict=True)):
        points = [(test, math.exp(value)) for test, value in zip(curve.plan.tests, log_p, strict=True)]
        claimed_curve(axes, number, curve.plan.claimed, points, markersize=3.5, linewidth=1.2)
    axes.axhline(LEVEL, color=BOUND, linewidth=0.8, linestyle=":", label=f"p = {LEVEL:g}")
    axes.set_ylim(-0.04, 1.09)
    axes.set_xlim(0, max(curves[0].plan.tests) + 0.1)
    axes.set_xlabel("test ε")
    axes.set_title(title, fontsize=10)
