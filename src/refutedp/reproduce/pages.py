"""The tables and figures as one Markdown page and one HTML page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from refutedp.report.html import template
from refutedp.reproduce.curves import Curve
from refutedp.reproduce.paper import CLAIMED, CORES, LEVEL, REPORTED


@dataclass(frozen=True, slots=True)
class Table:
    """A table of plain text cells with a heading and a sentence."""

    title: str
    words: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def number(value: float | None, digits: int = 3) -> str:
    """A number for people: -1 stands for infinite, None for unknown."""
    if value is None:
        return "—"
    return "∞" if value == -1 else f"{value:.{digits}g}"


def rises(curves: Sequence[Curve]) -> Table:
    """Where each curve rises, next to the paper and the truth."""
    rows = []
    for curve in curves:
        refuted = [t for t, p in zip(curve.plan.tests, curve.log_p_ours, strict=True) if p <= math.log(LEVEL)]
        reported = REPORTED[curve.plan.mechanism].rises[CLAIMED.index(curve.plan.claimed)]
        rows.append(
            (
                curve.title,
                f"{curve.plan.claimed:g}",
                number(reported),
                number(max(refuted, default=None)),
                number(curve.bound),
                number(curve.best),
                number(curve.truth),
                "correct" if curve.correct else "incorrect",
            )
        )
    head = ("mechanism", "ε0", "paper", "largest test ε refuted", "certified ε", "best on this pair", "real ε", "is")
    words = (
        f"The largest test ε on the grid that our test refutes at {LEVEL:.0%}, beside the certified bound (the ε at "
        "which the curve crosses that level), the most that any event could show on the pair, by integration, and "
        f"the real ε where it is known. Each bound holds with {1 - LEVEL:.0%} confidence: among {len(curves)}, "
        "one or two may exceed the best by luck."
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
    head = (
        "mechanism",
        f"paper, {CORES} logical cores (s)",
        f"search and test, {cores} cores (s)",
        "arguments (s)",
        "factor",
    )
    words = "Seconds for one point of a figure: search over all pairs and events, and the test on fresh runs."
    return Table("Time per point", words, head, tuple(rows))


def page(kind: Literal["md", "html"], **parts: Any) -> str:
    """The title, words, tables and figures, each a title and a path, as Markdown or HTML."""
    return template(f"reproduction.{kind}.j2").render(parts).rstrip() + "\n"
