"""Figures in the style of the paper's, with matplotlib: SVG, PNG or PDF, in colours that all can distinguish."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from refutedp.api.saved.files import write_atomically
from refutedp.detector.profile import Profile
from refutedp.detector.result import Result, Sweep
from refutedp.model.claims import Claim
from refutedp.model.errors import UsageError
from refutedp.model.records import Evidence
from refutedp.report import facts
from refutedp.report.facts import bound_words, certified_curve, p_value_curve
from refutedp.report.figures import shorten

KINDS: dict[str, Any] = {"svg": {"Date": None}, "png": None, "pdf": {"CreationDate": None}}
"""The kinds of files, and their metadata: no date, so that the same result gives the same bytes."""
# Okabe and Ito's palette, with a marker and a dash each, so that a grey print can be read as well.
SERIES = (
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#009E73", "^", "-."),
    ("#CC79A7", "D", ":"),
    ("#E69F00", "v", "-"),
    ("#56B4E9", "P", "--"),
)
D1, D2, EVENT, BOUND = "#0072B2", "#D55E00", "#F0E442", "#444444"
LEVEL = 0.05


def style() -> AbstractContextManager[None]:
    """Settings for the figure at hand only: a library does not change a program's own."""
    settings: dict[str, Any] = {
        "svg.hashsalt": "refutedp",
        "font.size": 10,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "text.parse_math": False,  # names of mechanisms and values are text, whatever dollar signs they hold
    }
    return mpl.rc_context(settings)  # type: ignore[arg-type, unused-ignore]


def plot_result(result: Result, path: str | os.PathLike[str] | None = None) -> Figure:
    """Two panels: the event's feature on both inputs, and p-value against test epsilon.

    >>> from refutedp import check
    >>> from refutedp.mechanisms import isvt1
    >>> figure = plot_result(check(isvt1, epsilon=1.0, args={"threshold": 1}, search_runs=500, confirm_runs=500))
    >>> len(figure.axes)
    2
    """
    kind = _kind(path)
    if result.exact is not None:
        raise UsageError("there is nothing to plot: the violation rests on arithmetic, not on runs")
    if result.evidence is None:
        raise UsageError(f"there is nothing to plot: {result.mechanism}() always gave the same output")
    with style():
        figure = Figure(figsize=(9.6, 3.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        profile = result.profiled().profile
        if profile is not None and profile.bins:
            _histogram(left, profile, result.claim)
        else:
            left.set_axis_off()
        if result.evidence.estimates is not None:
            _weighted(right, result.evidence, result.claim)
        elif result.claim.pure_epsilon is not None:
            _curve(right, result.evidence, result.claim.pure_epsilon)
        else:
            _region(right, result.evidence, result.claim)
        figure.suptitle(f"{result.mechanism}: {result.claim}, {result.verdict.value}")
        _save(figure, path, kind)
    return figure


def plot_sweep(sweep: Sweep, path: str | os.PathLike[str] | None = None) -> Figure:
    """The paper's figure: p-value against test epsilon, one curve and one dashed line for each claimed epsilon."""
    kind = _kind(path)
    claimed = list(dict.fromkeys(point.claimed for point in sweep.points))
    with style():
        figure = Figure(figsize=(5.6, 3.8), layout="constrained")
        axes = figure.subplots()
        for number, value in enumerate(claimed):
            points = [(point.test, point.p_value) for point in sweep.curve(value)]
            claimed_curve(axes, number, value, points, markersize=4)
        axes.axhline(LEVEL, color=BOUND, linewidth=0.8, linestyle=":", label=f"p = {LEVEL:g}")
        _p_axes(axes)
        axes.legend(edgecolor="none", framealpha=0.9)
        axes.set_title(sweep.mechanism)
        _save(figure, path, kind)
    return figure


def claimed_curve(
    axes: Axes, number: int, claimed: float, points: Sequence[tuple[float, float]], **style: Any
) -> None:
    """(test epsilon, p-value) points of one claimed epsilon, which a dashed line marks."""
    colour, marker, dash = SERIES[number % len(SERIES)]
    label = f"claimed ε = {claimed:g}"
    axes.plot(*zip(*points, strict=True), color=colour, marker=marker, linestyle=dash, label=label, **style)
    axes.axvline(claimed, color=colour, linewidth=1, linestyle=(0, (2, 2)), alpha=0.8)


def _histogram(axes: Axes, profile: Profile, claim: Claim) -> None:
    (_numeric if profile.numeric else _categories)(axes, profile, claim)
    axes.set_xlabel(shorten(profile.feature, 48) + " (event shaded)")
    axes.set_ylabel("share of runs")
    axes.legend(edgecolor="none", framealpha=0.9, fontsize=8)


def _shade(axes: Axes, low: float, high: float) -> None:
    axes.axvspan(low, high, color=EVENT, alpha=0.35, linewidth=0)


def _numeric(axes: Axes, profile: Profile, claim: Claim) -> None:
    rows = [
        (one.low, one.high, one.inside, x, y)
        for one, x, y in facts.shares(profile)
        if one.low is not None and one.high is not None
    ]
    typical = sorted(high - low for low, high, *_ in rows)[len(rows) // 2]
    edges = [rows[0][0], *(high for _, high, *_ in rows)]
    for low, high, inside, *_ in rows:
        if inside:
            _shade(axes, low, high)
    d1, d2, most = (
        [value * (typical / (high - low)) for (low, high, *_), value in zip(rows, values, strict=True)]
        for values in ([x for *_, x, _ in rows], [y for *_, y in rows], [claim.largest(y) for *_, y in rows])
    )
    axes.stairs(d2, edges, color=D2, label="d2", linewidth=1.4, fill=True, alpha=0.2)
    axes.stairs(d2, edges, color=D2, linewidth=1.4)
    axes.stairs(most, edges, color=BOUND, linestyle="--", label=bound_words(claim))
    axes.stairs(d1, edges, color=D1, label="d1", linewidth=1.8)


def _categories(axes: Axes, profile: Profile, claim: Claim) -> None:
    rows = facts.shares(profile)
    places = range(len(rows))
    for place, (one, _, _) in enumerate(rows):
        if one.inside:
            _shade(axes, place - 0.45, place + 0.45)
    d1, d2 = [x for _, x, _ in rows], [y for _, _, y in rows]
    axes.bar([i - 0.19 for i in places], d1, 0.36, color=D1, label="d1")
    axes.bar([i + 0.19 for i in places], d2, 0.36, color=D2, label="d2", hatch="//", alpha=0.7)
    most, left, right = [claim.largest(y) for y in d2], [i - 0.45 for i in places], [i + 0.45 for i in places]
    axes.hlines(most, left, right, color=BOUND, linestyle="--", label=bound_words(claim))
    slanted = len(rows) > 8
    axes.set_xticks(list(places), [shorten(one.label, 14) for one, _, _ in rows], rotation=45 if slanted else 0)
    axes.set_ylim(0, 1.25 * max([*d1, *d2], default=1.0))


def _curve(axes: Axes, evidence: Evidence, claimed: float) -> None:
    points = p_value_curve(evidence, claimed)
    axes.plot([e for e, _ in points], [p for _, p in points], color=D1)
    axes.axvline(claimed, color=D2, linestyle="--", label=f"claimed ε = {claimed:g}")
    bound = max(evidence.epsilon_lower_bound, 0.0)
    axes.axvline(bound, color="#009E73", linestyle=":", linewidth=2, label=f"certified ε ≥ {bound:.3g}")
    _p_axes(axes)
    axes.legend(edgecolor="none", framealpha=0.9, fontsize=8)


def _weighted(axes: Axes, evidence: Evidence, claim: Claim) -> None:
    """The two rates of importance-sampled runs beside what the claim allows: their counts give no curve."""
    one, other = facts.rates(evidence)
    bars = (
        ("d1", D1, one.value, one.low, one.high),
        ("allowed", BOUND, claim.largest(other.value), claim.largest(other.low), claim.largest(other.high)),
        ("d2", D2, other.value, other.low, other.high),
    )
    for place, (_, colour, value, low, high) in enumerate(bars):
        axes.bar(place, value, 0.5, color=colour, alpha=0.4)
        axes.errorbar(place, value, [[value - low], [high - value]], color=colour, capsize=4)
    axes.set_xticks(range(len(bars)), [name for name, *_ in bars])
    axes.set_ylabel("probability of the event")


def _region(axes: Axes, evidence: Evidence, claim: Claim) -> None:
    """The certified (epsilon, delta) region against the claim's curve: where it rises above, the claim is wrong."""
    rows = certified_curve(evidence, claim)
    epsilons = [e for e, _, _ in rows]
    least = min((d for _, d, c in rows for d in (d, c) if d > 0), default=1e-6) / 2
    certified = [max(d, least) for _, d, _ in rows]
    axes.fill_between(epsilons, least, certified, color=D1, alpha=0.2, linewidth=0)
    axes.plot(epsilons, certified, color=D1, label=f"certified δ ({100 * evidence.confidence:.6g}%)")
    axes.plot(epsilons, [max(c, least) for _, _, c in rows], color=D2, linestyle="--", label="claimed δ")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")  # the style reads no formulas
    axes.set_xlabel("ε")
    axes.set_ylabel("δ(ε)")
    axes.legend(edgecolor="none", framealpha=0.9, fontsize=8)


def _p_axes(axes: Axes) -> None:
    axes.set_xlabel("test ε")
    axes.set_ylabel("p-value")
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlim(left=0)


def _kind(path: str | os.PathLike[str] | None) -> str:
    if path is None:
        return ""
    kind = Path(path).suffix.lower().lstrip(".")
    if kind not in KINDS:
        raise UsageError(f"plot path {os.fspath(path)!r} must end in .svg, .png or .pdf")
    return kind


def _save(figure: Figure, path: str | os.PathLike[str] | None, kind: str) -> None:
    if path is None:
        return
    buffer = BytesIO()
    figure.savefig(buffer, format=kind, dpi=160, metadata=KINDS[kind])
    write_atomically(path, buffer.getvalue())
