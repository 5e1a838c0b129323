"""The HTML report: one file, no scripts, no network, every text escaped by the template engine."""

from __future__ import annotations

import functools
import math
import os
from dataclasses import dataclass, fields

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from refutedp.api.saved.files import write_atomically
from refutedp.detector.confirmations import confirmation_of
from refutedp.detector.notes import p_value_text
from refutedp.detector.profile import Profile
from refutedp.detector.result import Result, Verdict
from refutedp.model.claims import Claim
from refutedp.model.errors import UsageError
from refutedp.model.records import Evidence, Pair
from refutedp.report import facts, figures
from refutedp.report.pairs import aligned, record_texts
from refutedp.report.python_code import snippet
from refutedp.report.source_branches import lines_of
from refutedp.report.text import examined, explain, method_words

MOST_ROWS = 60
"""Entries of an input listed one by one; longer inputs show those that differ."""
_VERDICTS = {
    Verdict.VIOLATION: ("Violation", "violation"),
    Verdict.INCONCLUSIVE: ("Inconclusive", "inconclusive"),
    Verdict.NOT_FOUND: ("No violation found", "not-found"),
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
    result = result.profiled()
    evidence = result.evidence
    name, css = _VERDICTS[result.verdict]
    return _template().render(
        result=result,
        verdict_name=name,
        verdict_css=css,
        headline=explain(result).partition("\n")[0].partition(": ")[2],
        sentence=facts.in_a_sentence(result),
        evidence=evidence,
        claim_words=str(result.claim),
        allowed=None if evidence is None else _allowed(result.claim, evidence),
        bound=None if evidence is None else f"{_own_bound(result.claim, evidence):.3g}",
        letter="ε" if evidence is None else evidence.bound_letter,
        confidence=None if evidence is None else f"{100 * evidence.confidence:.6g}%",
        p_value=None if evidence is None else p_value_text(evidence.log_p_value),
        test=None if evidence is None else method_words(evidence),
        examined=" ".join(line.strip() for line in examined(result)).capitalize(),
        noise=None if evidence is None else confirmation_of(evidence.candidate).noise_words,
        ratio=_ratio(result),
        rates=() if evidence is None else facts.rates(evidence),
        percent=facts.percent,
        bound_words=facts.bound_words(result.claim),
        interval=f"{100 * facts.INTERVAL:g}%",
        inputs=None if evidence is None else side_by_side(evidence.pair),
        rates_figure=None if evidence is None else Markup(figures.rates(evidence, result.claim)),
        histogram=_histogram(result),
        spread=_spread(result.profile, result.claim),
        curve=_curve(result),
        curve_rows=_curve_rows(result),
        region_rows=_region_rows(result),
        source=() if result.origin is None else lines_of(result.origin.source, result.origin.line),
        snippet=_snippet(result),
        settings=[
            (f.name, repr(getattr(result.settings, f.name))) for f in fields(result.settings) if f.name != "progress"
        ],
        detectable=f"{result.detectable_epsilon:.3g}" if math.isfinite(result.detectable_epsilon) else None,
    )


@functools.cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("refutedp.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2")


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


def _ratio(result: Result) -> str | None:
    if result.evidence is None:
        return None
    seen = facts.ratio(result.evidence)
    return "only on d1" if seen is None else f"{seen:.3g}"


def _histogram(result: Result) -> Markup | None:
    if result.profile is None or not result.profile.bins:
        return None
    return Markup(figures.histogram(result.profile, result.claim))


@dataclass(frozen=True, slots=True)
class SpreadRow:
    """One bar of the histogram as text."""

    label: str
    d1: str
    d2: str
    most: str
    inside: bool
    above: bool


def _spread(profile: Profile | None, claim: Claim) -> list[SpreadRow]:
    rows = []
    for one in profile.bins if profile is not None else ():
        assert profile is not None
        x, y = one.x / max(profile.n_x, 1), one.y / max(profile.n_y, 1)
        most = claim.largest(y)
        rows.append(
            SpreadRow(one.label, facts.percent(x), facts.percent(y), facts.percent(most), one.inside, x > most)
        )
    return rows


def _region_rows(result: Result) -> list[tuple[str, str, str]]:
    """For claims with a delta in them: certified delta beside the claimed one, at some epsilons."""
    evidence = result.evidence
    if evidence is None or result.claim.pure_epsilon is not None or evidence.estimates is not None:
        return []
    rows = facts.certified_curve(evidence, result.claim, points=11)
    return [(f"{e:.3g}", f"{certified:.3g}", f"{claimed:.3g}") for e, certified, claimed in rows]


def _allowed(claim: Claim, evidence: Evidence) -> str:
    if claim.pure_epsilon is not None:
        return f"{facts.ratio_words(claim.pure_epsilon)} times d2"
    return f"{facts.percent(claim.largest(evidence.rates[1]))} at d2's rate"


def _own_bound(claim: Claim, evidence: Evidence) -> float:
    if claim.pure_epsilon is not None or evidence.bound is None:
        return max(evidence.epsilon_lower_bound, 0.0)
    return evidence.bound


def _curve(result: Result) -> Markup | None:
    evidence, epsilon = result.evidence, result.claim.pure_epsilon
    if evidence is None or evidence.estimates is not None or epsilon is None:
        return None
    return Markup(figures.p_curve(evidence, epsilon, result.settings.significance))


def _curve_rows(result: Result) -> list[tuple[str, str]]:
    evidence, epsilon = result.evidence, result.claim.pure_epsilon
    if evidence is None or evidence.estimates is not None or epsilon is None:
        return []
    epsilons = sorted({*(e for e, _ in facts.p_value_curve(evidence, epsilon, points=10)), epsilon})
    return [(f"{e:.3g}", f"{facts.p_value_at(evidence, e):.3g}") for e in epsilons]


def _snippet(result: Result) -> str | None:
    try:
        return snippet(result)
    except UsageError:
        return None
