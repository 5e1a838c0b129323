"""Results in a notebook: a small piece of HTML that follows the notebook's own light or dark theme."""

from __future__ import annotations

import html

from refutedp.detector.notes import p_value_text
from refutedp.detector.result import Result, Sweep, Verdict
from refutedp.report import facts, figures
from refutedp.report.text import explain, explain_sweep

_STYLE = """<style>
.refutedp{--d1:#1f8dd6;--d2:#d9722e;--event:#e6c22955;--line:#88888866;max-width:46rem}
.refutedp svg.figure{width:100%;max-width:32rem;height:auto;display:block}
.refutedp svg text{font:13px sans-serif;fill:currentColor}
.refutedp svg .grid{fill:none;stroke:var(--line)}.refutedp svg .axis{stroke:currentColor}
.refutedp svg .event{fill:var(--event)}.refutedp svg .line{fill:none;stroke-width:2;stroke:currentColor}
.refutedp svg .line.d1{stroke:var(--d1);stroke-width:2.5}.refutedp svg .line.d2{stroke:var(--d2)}
.refutedp svg .area.d2{fill:var(--d2);opacity:.18}.refutedp svg .bar.d1{fill:var(--d1)}
.refutedp svg .bar.d2{fill:var(--d2);fill-opacity:.4;stroke:var(--d2)}
.refutedp svg .line.bound,.refutedp svg .line.claimed{stroke-dasharray:5 3;stroke-width:1.5}
.refutedp svg .dot{fill:currentColor;stroke-width:3}
.refutedp svg .s0{stroke:#1f8dd6}.refutedp svg .s1{stroke:#d9722e}.refutedp svg .s2{stroke:#009e73}
.refutedp svg .s3{stroke:#cc79a7}.refutedp svg .s4{stroke:#c78a00}.refutedp svg .s5{stroke:#56b4e9}
.refutedp table{border-collapse:collapse;margin:.5rem 0}
.refutedp th,.refutedp td{padding:.2rem .6rem;text-align:right}
.refutedp .verdict{font-weight:700;border:2px solid currentColor;border-radius:.3rem;padding:0 .4rem}
.refutedp pre{white-space:pre-wrap}
</style>"""
_NAMES = {
    Verdict.VIOLATION: "Violation",
    Verdict.INCONCLUSIVE: "Inconclusive",
    Verdict.NOT_FOUND: "No violation found",
}


def result_html(result: Result) -> str:
    """The verdict, the rates, a figure and, folded away, the whole text.

    >>> from refutedp import check
    >>> shown = result_html(check(lambda data, rng: 0, epsilon=1.0, search_runs=100, confirm_runs=100))
    >>> "nothing was tested" in shown
    True
    """
    headline = explain(result).partition("\n")[0].partition(": ")[2]
    parts = [f'<p><span class="verdict">{_NAMES[result.verdict]}</span> <strong>{html.escape(headline)}</strong></p>']
    parts.append(f"<p>{html.escape(facts.in_a_sentence(result))}</p>")
    if result.evidence is not None:
        rows = "".join(
            f"<tr><th>{rate.name}</th><td>{rate.hits:,}</td><td>{rate.runs:,}</td><td>{facts.percent(rate.value)}</td></tr>"
            for rate in facts.rates(result.evidence)
        )
        head = "<tr><th>input</th><th>event</th><th>runs</th><th>rate</th></tr>"
        parts.append(f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>")
        profile = result.profiled().profile
        if profile is not None and profile.bins:
            parts.append(figures.histogram(profile, result.claim))
            parts.append("<p>Blue: d1. Orange: d2. Dashed: the most the claim allows for d1. Shaded: the event.</p>")
    parts.append(_folded(str(result)))
    return f'<div class="refutedp">{_STYLE}{"".join(parts)}</div>'


def sweep_html(sweep: Sweep) -> str:
    """The curves and a table of p-values."""
    claimed = list(dict.fromkeys(point.claimed for point in sweep.points))
    tests = list(dict.fromkeys(point.test for point in sweep.points))
    by_place = {(point.claimed, point.test): point for point in sweep.points}
    head = "<th>test ε</th>" + "".join(f"<th>claimed {value:g}</th>" for value in claimed)
    rows = "".join(
        f"<tr><th>{test:g}</th>"
        + "".join(f"<td>{p_value_text(by_place[value, test].evidence.log_p_value)}</td>" for value in claimed)
        + "</tr>"
        for test in tests
    )
    parts = [f"<p><strong>{html.escape(sweep.mechanism)}</strong>: p-value against test ε</p>"]
    parts.append(figures.sweep_curves(sweep))
    parts.append("<p>One curve for each claimed ε, dashed where it lies.</p>")
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    parts.append(f"<details><summary>As a table</summary>{table}</details>")
    parts.append(_folded(explain_sweep(sweep)))
    return f'<div class="refutedp">{_STYLE}{"".join(parts)}</div>'


def _folded(text: str) -> str:
    return f"<details><summary>As text</summary><pre>{html.escape(text)}</pre></details>"
