"""The paper's figures: p-value against test epsilon, with its test on the left and ours on the right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from refutedp.report.plots import BOUND, SERIES, style
from refutedp.reproduce.curves import Curve
from refutedp.reproduce.paper import LEVEL


def draw(curves: Sequence[Curve], path: Path) -> None:
    """One mechanism, one curve for each claimed epsilon."""
    with style():
        figure = Figure(figsize=(9.2, 3.3), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        _panel(left, curves, [curve.log_p_paper for curve in curves], "the paper's test")
        _panel(right, curves, [curve.log_p_ours for curve in curves], "exact test and certified ε (▼)")
        _bounds(right, curves)
        left.set_ylabel("p-value")
        figure.suptitle(curves[0].title)
        figure.legend(
            *left.get_legend_handles_labels(), loc="outside lower center", ncols=len(curves) + 1, frameon=False
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})


def _panel(axes: Axes, curves: Sequence[Curve], values: Sequence[Sequence[float]], title: str) -> None:
    for (colour, marker, dash), curve, logs in zip(SERIES, curves, values, strict=False):
        axes.plot(
            curve.plan.tests,
            [math.exp(value) for value in logs],
            color=colour,
            marker=marker,
            linestyle=dash,
            markersize=3.5,
            linewidth=1.2,
            label=f"claimed ε = {curve.plan.claimed:g}",
        )
        axes.axvline(curve.plan.claimed, color=colour, linewidth=1, linestyle=(0, (2, 2)), alpha=0.8)
    axes.axhline(LEVEL, color=BOUND, linewidth=0.8, linestyle=":", label=f"p = {LEVEL:g}")
    axes.set_ylim(-0.04, 1.09)
    axes.set_xlim(0, max(curves[0].plan.tests) + 0.1)
    axes.set_xlabel("test ε")
    axes.set_title(title, fontsize=10)


def _bounds(axes: Axes, curves: Sequence[Curve]) -> None:
    most = max(curves[0].plan.tests)
    for (colour, _, _), curve in zip(SERIES, curves, strict=False):
        if curve.bound <= most:
            axes.plot([curve.bound], [1.05], marker="v", color=colour, markersize=7, clip_on=False)
