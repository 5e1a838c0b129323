"""Results as HTML, every text escaped by the template engine: a report without scripts, or a part of a notebook."""

from __future__ import annotations

import functools
import math
import os
import re
from dataclasses import fields
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, select_autoescape
from markupsafe import Markup, escape

from refutedp.api.saved.files import write_atomically
from refutedp.detector.confirmations import confirmation_of
from refutedp.detector.result import Result, Sweep, Verdict
from refutedp.model.claims import Claim
from refutedp.model.errors import UsageError
from refutedp.model.records import Evidence, ExactEvidence
from refutedp.report import facts, figures
from refutedp.report.cause import remedy_told
from refutedp.report.exact_words import basis, exact_bound, loss_lines, piece_rows, probability_text
from refutedp.report.exhibits import cost_words, lines_of, side_by_side
from refutedp.report.python_code import snippet
from refutedp.report.readable import number_words, p_words, ratio_words, shortened
from refutedp.report.text import (
    examined,
    headline,
    method_words,
    own_bound,
    p_value_table,
)

VERDICTS = {
    Verdict.VIOLATION: "Violation",
    Verdict.INCONCLUSIVE: "Inconclusive",
    Verdict.NOT_FOUND: "No violation found",
}


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
    result = result.explained().profiled()
    return template("report.html.j2").render(
        result=result,
        verdict_name=VERDICTS[result.verdict],
        headline=headline(result),
        sentence=facts.in_a_sentence(result),
        source=() if result.origin is None else lines_of(result.origin, result.explanation),
        told=result.explanation,
        remedy=None if result.explanation is None else remedy_told(result.explanation),
        cost_words=cost_words,
        claimed_words=claimed_words(result.claim),
        number_words=number_words,
        snippet=_snippet(result),
        settings=[
            (f.name, repr(getattr(result.settings, f.name))) for f in fields(result.settings) if f.name != "progress"
        ],
        evidence=result.evidence,
        exact=result.exact,
        loss=" ".join(line.strip() for line in loss_lines(result.loss)),
        exact_parts=None if result.exact is None else _exactly_told(result.exact, result.claim),
        **({} if result.evidence is None else _told(result, result.evidence)),
    )


def with_code(words: str) -> Markup:
    """A sentence, escaped, what stands between backquotes as code.

    >>> with_code("`q` moves by 1 < 2")
    Markup('<code>q</code> moves by 1 &lt; 2')
    """
    parts = words.split("`")
    if len(parts) % 2 == 0:
        return escape(words)
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(breakable(part)) if i % 2 else escape(part) for i, part in enumerate(parts))


_LINE_ENDS = re.compile(r"(?<=[/_=(\[{:])(?=\S)|(?<=,)(?=\S)|(?<=[^\W\d]\.)(?=\w)|(?<=\))(?=\.)")


def breakable(words: str) -> Markup:
    """Code, a path or a name, escaped, with places where a line may end: words and numbers stay whole.

    >>> breakable("a/b_c=10.5")
    Markup('a/<wbr>b_<wbr>c=<wbr>10.5')
    """
    return Markup("<wbr>").join(escape(part) for part in _LINE_ENDS.split(str(words)))


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
    environment.filters |= {"with_code": with_code, "breakable": breakable, "shortened": shortened}
    return environment.get_template(name)


def _exactly_told(exact: ExactEvidence, claim: Claim) -> dict[str, Any]:
    """What the page says of exact evidence."""
    return {
        "letter": claim.letter,
        "pieces": piece_rows(exact) if exact.pieces else [],
        "inputs": side_by_side(exact.pair),
        "low": probability_text(exact.low),
        "high": probability_text(exact.high),
        "bound": exact_bound(exact, claim),
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
        "p_value": p_words(evidence.log_p_value),
        "test": method_words(evidence),
        "examined": " ".join(line.strip() for line in examined(result)).capitalize(),
        "noise": confirmation_of(evidence.candidate).noise_words,
        "ratio": "only on d1" if seen is None else f"{number_words(seen)} times",
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


def claimed_words(claim: Claim) -> str:
    """A claim in a word or two."""
    return str(claim) if claim.pure_epsilon is None else f"ε = {claim.pure_epsilon:g}"


def _allowed(claim: Claim, evidence: Evidence) -> str:
    if claim.pure_epsilon is not None:
        return f"{ratio_words(claim.pure_epsilon)} times"
    return f"{facts.percent(claim.largest(evidence.rates[1]))} at d2's rate"


def _snippet(result: Result) -> str | None:
    try:
        return snippet(result)
    except UsageError:
        return None


def result_html(result: Result) -> str:
    """The verdict, the rates, a figure and, folded away, the whole text.

    >>> from refutedp import check
    >>> shown = result_html(check(lambda data, rng: 0, epsilon=1.0, search_runs=100, confirm_runs=100))
    >>> "nothing was tested" in shown
    True
    """
    result = result.explained()
    profile = None if result.evidence is None else result.profiled().profile
    shown = result.counterexample or result.evidence
    return template("notebook.html.j2").render(
        verdict=VERDICTS[result.verdict],
        kind=result.verdict.value.replace(" ", "-"),
        told=result.explanation,
        remedy=None if result.explanation is None else remedy_told(result.explanation),
        pair=None if shown is None else shown.pair,
        inputs=None if shown is None else side_by_side(shown.pair),
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
        curves=min(len(claimed), figures.MOST_CURVES),
        figure=Markup(figures.sweep_curves(sweep)),
        text=str(sweep),
    )
