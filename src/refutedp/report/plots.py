"""Figures in the style of the paper's, with matplotlib: SVG, PNG or PDF, in colours that all can distinguish."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
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
from refutedp.report.drawing import shorten
from refutedp.report.facts import bound_words, certified_curve, p_value_curve

KINDS = ("svg", "png", "pdf")
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


@contextmanager
def _style() -> Iterator[None]:
    """Only for the figure at hand: a library does not change a program's settings."""
    settings: dict[str, Any] = {
        "svg.hashsalt": "refutedp",
        "font.size": 10,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "text.parse_math": False,  # names of mechanisms and values are text, whatever dollar signs they hold
    }
    with mpl.rc_context(settings):  # type: ignore[arg-type, unused-ignore]
        yield


def plot_result(result: Result, path: str | os.PathLike[str] | None = None) -> Figure:
    """Two panels: the event's feature on both inputs, and p-value against test epsilon.

    >>> from refutedp import check
    >>> from refutedp.mechanisms import isvt1
    >>> figure = plot_result(check(isvt1, epsilon=1.0, args={"threshold": 1}, search_runs=500, confirm_runs=500))
    >>> len(figure.axes)
    2
    """
    kind = _kind(path)
    if result.evidence is None:
        raise UsageError(f"there is nothing to plot: {result.mechanism}() always gave the same output")
    with _style():
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
    with _style():
        figure = Figure(figsize=(5.6, 3.8), layout="constrained")
        axes = figure.subplots()
        for number, value in enumerate(claimed):
            colour, marker, dash = SERIES[number % len(SERIES)]
            curve = sweep.curve(value)
            axes.plot(
                [point.test for point in curve],
                [point.p_value for point in curve],
                color=colour,
                marker=marker,
                linestyle=dash,
                markersize=4,
                label=f"claimed ε = {value:g}",
            )
            axes.axvline(value, color=colour, linewidth=1, linestyle=(0, (2, 2)), alpha=0.8)
        axes.axhline(LEVEL, color=BOUND, linewidth=0.8, linestyle=":", label=f"p = {LEVEL:g}")
        _p_axes(axes)
        axes.legend(edgecolor="none", framealpha=0.9)
        axes.set_title(sweep.mechanism)
        _save(figure, path, kind)
    return figure


def _histogram(axes: Axes, profile: Profile, claim: Claim) -> None:
    n_x, n_y = max(profile.n_x, 1), max(profile.n_y, 1)
    numeric = [(one, one.low, one.high) for one in profile.bins if one.low is not None and one.high is not None]
    if numeric:
        widths = sorted(high - low for _, low, high in numeric)
        typical = widths[len(widths) // 2]
        edges = [numeric[0][1], *(high for _, _, high in numeric)]
        scale = [typical / (high - low) for _, low, high in numeric]
        d1 = [one.x / n_x * s for (one, _, _), s in zip(numeric, scale, strict=True)]
        d2 = [one.y / n_y * s for (one, _, _), s in zip(numeric, scale, strict=True)]
        for one, low, high in numeric:
            if one.inside:
                axes.axvspan(low, high, color=EVENT, alpha=0.35, linewidth=0)
        axes.stairs(d2, edges, color=D2, label="d2", linewidth=1.4, fill=True, alpha=0.2)
        axes.stairs(d2, edges, color=D2, linewidth=1.4)
        axes.stairs(
            [claim.largest(one.y / n_y) * s for (one, _, _), s in zip(numeric, scale, strict=True)],
            edges,
            color=BOUND,
            linestyle="--",
            label=bound_words(claim),
        )
        axes.stairs(d1, edges, color=D1, label="d1", linewidth=1.8)
    else:
        places = range(len(profile.bins))
        for place, one in enumerate(profile.bins):
            if one.inside:
                axes.axvspan(place - 0.45, place + 0.45, color=EVENT, alpha=0.35, linewidth=0)
        axes.bar([i - 0.19 for i in places], [one.x / n_x for one in profile.bins], 0.36, color=D1, label="d1")
        axes.bar(
            [i + 0.19 for i in places],
            [one.y / n_y for one in profile.bins],
            0.36,
            color=D2,
            label="d2",
            hatch="//",
            alpha=0.7,
        )
        most = [claim.largest(one.y / n_y) for one in profile.bins]
        axes.hlines(
            most,
            [i - 0.45 for i in places],
            [i + 0.45 for i in places],
            color=BOUND,
            linestyle="--",
            label=bound_words(claim),
        )
        slanted = len(profile.bins) > 8
        axes.set_xticks(list(places), [shorten(one.label, 14) for one in profile.bins], rotation=45 if slanted else 0)
        tops = [max(one.x / n_x, one.y / n_y) for one in profile.bins]
        axes.set_ylim(0, 1.25 * max(tops, default=1.0))
    axes.set_xlabel(shorten(profile.feature, 48) + " (event shaded)")
    axes.set_ylabel("share of runs")
    axes.legend(edgecolor="none", framealpha=0.9, fontsize=8)


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
    # No date in the file: the same result gives the same bytes.
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    figure.savefig(buffer, format=kind, dpi=160, metadata=metadata)
    write_atomically(path, buffer.getvalue())
