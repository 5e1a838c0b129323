"""Results in a notebook: a small piece of HTML that follows the notebook's own light or dark theme."""

from __future__ import annotations

from markupsafe import Markup

from refutedp.detector.result import Result, Sweep
from refutedp.report import facts, figures
from refutedp.report.html import VERDICTS, template
from refutedp.report.text import headline


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
    claimed, rows = facts.p_value_table(sweep)
    return template("notebook.html.j2").render(
        sweep=sweep,
        claimed=claimed,
        rows=rows,
        figure=Markup(figures.sweep_curves(sweep)),
        text=str(sweep),
    )
