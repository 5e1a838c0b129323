"""Results as HTML, every text escaped by the template engine: a report without scripts, or a part of a notebook."""

from __future__ import annotations

import ast
import functools
import math
import os
from dataclasses import dataclass, fields
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, select_autoescape
from markupsafe import Markup

from refutedp.api.saved.files import write_atomically
from refutedp.detector.confirmations import confirmation_of
from refutedp.detector.result import Result, Sweep, Verdict
from refutedp.detector.verdict import p_value_text
from refutedp.model.claims import Claim
from refutedp.model.errors import UsageError
from refutedp.model.records import Evidence, ExactEvidence, Pair
from refutedp.report import facts, figures
from refutedp.report.exact_words import basis, exact_bound, loss_lines, probability_text, ratio_words
from refutedp.report.python_code import snippet
from refutedp.report.text import (
    aligned,
    examined,
    headline,
    method_words,
    own_bound,
    p_value_table,
    record_texts,
)

MOST_ROWS = 60
"""Entries of an input listed one by one; longer inputs show those that differ."""
VERDICTS = {
    Verdict.VIOLATION: "Violation",
    Verdict.INCONCLUSIVE: "Inconclusive",
    Verdict.NOT_FOUND: "No violation found",
}
_ROLES = {
    "branch": (ast.If, ast.IfExp, ast.Match, ast.Try, ast.Assert),
    "loop": (ast.While, ast.For),
    "exit": (ast.Break, ast.Continue, ast.Raise, ast.Return),
}
"""What a line of a mechanism's source decides, by the statement on it."""


def save_html(result: Result, path: str | os.PathLike[str]) -> None:
    """Write the report in one step."""
    write_atomically(path, report_html(result))


def report_html(result: Result) -> str:
    """The whole page.

    >>> from refutedp import check
    >>> page = report_html(check(lambda data, rng: 0, epsilon=1.0, search_runs=100, confirm_runs=100))
    >>> page.startswith("<!doctype html>"), "<script" in page
    (True, False)
    """
    result = result.profiled()
    return template("report.html.j2").render(
        result=result,
        verdict_name=VERDICTS[result.verdict],
        headline=headline(result),
        sentence=facts.in_a_sentence(result),
        source=() if result.origin is None else lines_of(result.origin.source, result.origin.line),
        snippet=_snippet(result),
        settings=[
            (f.name, repr(getattr(result.settings, f.name))) for f in fields(result.settings) if f.name != "progress"
        ],
        evidence=result.evidence,
        exact=result.exact,
        loss=" ".join(line.strip() for line in loss_lines(result.loss)),
        exact_parts=None if result.exact is None else _exactly_told(result.exact),
        **({} if result.evidence is None else _told(result, result.evidence)),
    )


@functools.cache
def template(name: str) -> Template:
    """A template of this package; what is put into HTML is escaped."""
    environment = Environment(
        loader=PackageLoader("refutedp.report", "templates"),
        autoescape=select_autoescape(["html.j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def _exactly_told(exact: ExactEvidence) -> dict[str, Any]:
    """What the page says of exact evidence."""
    return {
        "inputs": side_by_side(exact.pair),
        "low": probability_text(exact.low),
        "high": probability_text(exact.high),
        "bound": exact_bound(exact),
        "basis": basis(exact),
    }


def _told(result: Result, evidence: Evidence) -> dict[str, Any]:
    """What the page says of the evidence."""
    claim, profile, weighted = result.claim, result.profile, evidence.estimates is not None
    seen = facts.ratio(evidence)
    epsilon = claim.pure_epsilon
    curve, curve_rows = (None, []) if epsilon is None or weighted else _curve(result, evidence, epsilon)
    return {
        "allowed": _allowed(claim, evidence),
        "bound": f"{own_bound(claim, evidence):.3g}",
        "confidence": f"{100 * evidence.confidence:.6g}%",
        "p_value": p_value_text(evidence.log_p_value),
        "test": method_words(evidence),
        "examined": " ".join(line.strip() for line in examined(result)).capitalize(),
        "noise": confirmation_of(evidence.candidate).noise_words,
        "ratio": "only on d1" if seen is None else f"{seen:.3g}",
        "rates": facts.rates(evidence),
        "percent": facts.percent,
        "bound_words": facts.bound_words(claim),
        "interval": f"{100 * facts.INTERVAL:g}%",
        "inputs": side_by_side(evidence.pair),
        "rates_figure": Markup(figures.rates(evidence, claim)),
        "histogram": Markup(figures.histogram(profile, claim)) if profile is not None and profile.bins else None,
        "spread": [] if profile is None else [(*row, claim.largest(row[2])) for row in facts.shares(profile)],
        "curve": curve,
        "curve_rows": curve_rows,
        "region_rows": [] if epsilon is not None or weighted else facts.certified_curve(evidence, claim, 11),
        "detectable": f"{result.detectable_epsilon:.3g}" if math.isfinite(result.detectable_epsilon) else None,
    }


def _curve(result: Result, evidence: Evidence, claimed: float) -> tuple[Markup, list[tuple[float, float]]]:
    """The p-value curve as a figure, and some of its points with the claimed epsilon among them."""
    points = facts.p_value_curve(evidence, claimed, points=10)
    epsilons = sorted({*(epsilon for epsilon, _ in points), claimed})
    drawn = figures.p_curve(evidence, claimed, result.settings.significance)
    return Markup(drawn), [(epsilon, facts.p_value_at(evidence, epsilon)) for epsilon in epsilons]


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of both inputs; an input that has no such entry shows nothing."""

    position: str
    d1: str
    d2: str
    differs: bool


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The inputs entry by entry, or as they print when they are no sequences."""

    rows: tuple[Row, ...]
    left_out: int
    whole: tuple[str, str] | None


def side_by_side(pair: Pair) -> SideBySide:
    """The two inputs of a pair, for a table.

    >>> [row.differs for row in side_by_side(Pair([1, 2], [1, 3], "given")).rows]
    [False, True]
    """
    one, other = record_texts(pair.d1), record_texts(pair.d2)
    if one is None or other is None:
        return SideBySide((), 0, (repr(pair.d1), repr(pair.d2)))
    rows = [Row(str(i), a or "", b or "", a != b) for i, (a, b) in enumerate(aligned(one, other))]
    if len(rows) <= MOST_ROWS:
        return SideBySide(tuple(rows), 0, None)
    shown = tuple([row for row in rows if row.differs][:MOST_ROWS])
    return SideBySide(shown, len(rows) - len(shown), None)


def _allowed(claim: Claim, evidence: Evidence) -> str:
    if claim.pure_epsilon is not None:
        return f"{ratio_words(claim.pure_epsilon)} times d2"
    return f"{facts.percent(claim.largest(evidence.rates[1]))} at d2's rate"


def _snippet(result: Result) -> str | None:
    try:
        return snippet(result)
    except UsageError:
        return None


@dataclass(frozen=True, slots=True)
class Line:
    """A line of source; `role` is "branch", "loop", "exit" or empty."""

    number: int
    text: str
    role: str


def lines_of(source: str, first: int = 1) -> list[Line]:
    """The source line by line, numbered as in its file, with what each line decides.

    >>> [line.role for line in lines_of("def f(x):\\n    if x:\\n        return 1\\n    return 0")]
    ['', 'branch', 'exit', 'exit']
    """
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):  # a method's or a lambda's lines need not parse on their own
        nodes = []
    roles: dict[int, str] = {}
    for node in nodes:
        for role, kinds in _ROLES.items():
            if isinstance(node, kinds):
                roles.setdefault(node.lineno, role)
    return [Line(first + i, text, roles.get(i + 1, "")) for i, text in enumerate(source.splitlines())]


def result_html(result: Result) -> str:
    """The verdict, the rates, a figure and, folded away, the whole text.

    >>> from refutedp import check
    >>> shown = result_html(check(lambda data, rng: 0, epsilon=1.0, search_runs=100, confirm_runs=100))
    >>> "nothing was tested" in shown
    True
    """
    profile = None if result.evidence is None else result.profiled().profile
    return template("notebook.html.j2").render(
        verdict=VERDICTS[result.verdict],
        headline=headline(result),
        sentence=facts.in_a_sentence(result),
        rates=() if result.evidence is None else facts.rates(result.evidence),
        percent=facts.percent,
        figure=Markup(figures.histogram(profile, result.claim)) if profile is not None and profile.bins else None,
        text=str(result),
    )


def sweep_html(sweep: Sweep) -> str:
    """The curves and a table of p-values."""
    claimed, rows = p_value_table(sweep)
    return template("notebook.html.j2").render(
        sweep=sweep,
        claimed=claimed,
        rows=rows,
        figure=Markup(figures.sweep_curves(sweep)),
        text=str(sweep),
    )
