"""The tables and figures as one Markdown page and one HTML page."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

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
        refuted = [t for t, p in zip(curve.plan.tests, curve.log_p_ours, strict=True) if p <= _LOG_LEVEL]
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
            point = f"{seconds:.2f}"
            rows.append(
                (
                    mine[0].title,
                    f"{reported.seconds:.2f}",
                    point,
                    f"{arguments:.2f}",
                    _factor(reported.seconds, seconds),
                )
            )
    head = (
        "mechanism",
        f"paper, {CORES} logical cores (s)",
        f"search and test, {cores} cores (s)",
        "arguments (s)",
        "factor",
    )
    words = "Seconds for one point of a figure: search over all pairs and events, and the test on fresh runs."
    return Table("Time per point", words, head, tuple(rows))


def _factor(theirs: float, ours: float) -> str:
    return f"{theirs / ours:.1f}×" if ours else "—"


_LOG_LEVEL = -2.995732273553991
"""log(0.05)"""


def markdown(title: str, words: str, tables: Sequence[Table], figures: Sequence[tuple[str, str]]) -> str:
    """The page as Markdown; figures are (title, relative path)."""
    lines = [f"# {title}", "", words, ""]
    for table in tables:
        lines += [f"## {table.title}", "", table.words, ""]
        lines.append("| " + " | ".join(table.head) + " |")
        lines.append("|" + "---|" * len(table.head))
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table.rows]
        lines.append("")
    if figures:
        lines += ["## Figures", "", "P-value against test ε; dashed lines mark the claimed values.", ""]
        lines += [f"![{name}]({path})\n" for name, path in figures]
    return "\n".join(lines).rstrip() + "\n"


_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { text-align: left; padding: 0.25rem 0.75rem; border-bottom: 1px solid #8886; white-space: nowrap; }
td:nth-child(3) { white-space: normal; min-width: 10rem; }
figure { margin: 1.5rem 0; }
img { max-width: 100%; background: white; border-radius: 6px; }
"""


def page(title: str, words: str, tables: Sequence[Table], figures: Sequence[tuple[str, str]]) -> str:
    """The page as HTML, every text escaped."""
    parts = [
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>',
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>',
        f"<h1>{html.escape(title)}</h1><p>{html.escape(words)}</p>",
    ]
    for table in tables:
        head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in table.head)
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in table.rows)
        parts.append(f"<h2>{html.escape(table.title)}</h2><p>{html.escape(table.words)}</p>")
        parts.append(f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>')
    if figures:
        parts.append("<h2>Figures</h2>")
    for name, path in figures:
        alt = html.escape(f"{name}: p-value against test epsilon, one curve for each claimed epsilon")
        parts.append(f'<figure><img src="{html.escape(path)}" alt="{alt}"></figure>')
    return "\n".join([*parts, "</body></html>"]) + "\n"
