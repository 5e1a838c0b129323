"""The figures of a report as inline SVG, whose colours the page's style sheet decides.

The event's feature on both inputs, its rates, the p-value curve, and sweeps.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any, TypeAlias

from refutedp.detector.profile import Profile
from refutedp.detector.result import Sweep
from refutedp.model.claims import Claim
from refutedp.model.records import Evidence
from refutedp.report import facts
from refutedp.report.facts import percent

MOST_CURVES = 6
MOST_ROOM = 3.0
"""How much higher than the highest bar a figure may be, so that the claim's limit is in it."""
LEAST_BAR = 5.0
"""Bars that are lower have their share written above them."""
Points: TypeAlias = list[tuple[float, float]]


def histogram(profile: Profile, claim: Claim) -> str:
    """Bars of the feature on d1 and d2, the event shaded, and the most that the claim allows for d1."""
    panel, parts = _numeric(profile, claim) if profile.numeric else _categories(profile, claim)
    x = sum(one.x for one in profile.bins if one.inside) / max(profile.n_x, 1)
    y = sum(one.y for one in profile.bins if one.inside) / max(profile.n_y, 1)
    description = (
        f"On runs that neither chose nor tested the event, it happened in {percent(x)} on d1 and {percent(y)} on d2. "
        f"The dashed line is the {facts.bound_words(claim)}. "
        "Where d1 rises above it, the claim is broken, up to chance. "
        "The table below holds the same numbers."
    )
    return panel.svg(parts, name="histogram", title=f"{profile.feature} on both inputs", description=description)


def _numeric(profile: Profile, claim: Claim) -> tuple[Panel, list[str]]:
    rows = [
        (float(one.low), float(one.high), one.inside, x, y)
        for one, x, y in facts.shares(profile)
        if one.low is not None and one.high is not None
    ]
    typical = sorted(high - low for low, high, *_ in rows)[len(rows) // 2]
    # Shares of the runs per bar of typical width, so that narrow bars do not look low.
    heights = [
        {name: value * typical / (high - low) for name, value in (("d1", x), ("d2", y), ("bound", claim.largest(y)))}
        for low, high, _, x, y in rows
    ]
    top = max(max(at["d1"], at["d2"]) for at in heights)
    # The limit is drawn whole, or, where that would flatten the bars, over the event alone: never cut off.
    whole = max(at["bound"] for at in heights) <= MOST_ROOM * top
    limited = [at["bound"] for (*_, inside, _, _), at in zip(rows, heights, strict=True) if whole or inside]
    room = max([value for value in limited if value <= MOST_ROOM * top], default=0.0)
    panel = Panel(rows[0][0], rows[-1][1], max((top or 1.0) * 1.15, room * 1.05))
    parts = _shaded(panel, [(low, high) for low, high, inside, *_ in rows if inside])
    parts += panel.frame(shorten(profile.feature, 48), "share of runs", percent)
    lines: dict[str, Points] = {"d1": [], "d2": []}
    limits: list[Points] = [[]]
    for (low, high, inside, *_), at in zip(rows, heights, strict=True):
        for name in ("d1", "d2"):
            lines[name] += [(panel.x(low), panel.y(at[name])), (panel.x(high), panel.y(at[name]))]
        if (whole or inside) and at["bound"] <= panel.y_high:
            limits[-1] += [(panel.x(low), panel.y(at["bound"])), (panel.x(high), panel.y(at["bound"]))]
        elif limits[-1]:
            limits.append([])
    parts.append(path([(lines["d2"][0][0], panel.floor), *lines["d2"], (lines["d2"][-1][0], panel.floor)], "area d2"))
    parts += [path(piece, "line bound") for piece in limits if piece]
    return panel, [*parts, path(lines["d2"], "line d2"), path(lines["d1"], "line d1")]


def _shaded(panel: Panel, ranges: Points) -> list[str]:
    """The event's ranges, neighbouring ones joined so that the shading shows no seams."""
    joined: Points = []
    for low, high in ranges:
        if joined and joined[-1][1] == low:
            joined[-1] = (joined[-1][0], high)
        else:
            joined.append((low, high))
    size: dict[str, Any] = {"y": panel.top, "height": panel.floor - panel.top}
    return [
        tag("rect", x=panel.x(low), width=panel.x(high) - panel.x(low), **size, css="event") for low, high in joined
    ]


def _categories(profile: Profile, claim: Claim) -> tuple[Panel, list[str]]:
    count = len(profile.bins)
    rows = facts.shares(profile)
    top = max((max(x, y) for _, x, y in rows), default=1.0) or 1.0
    slanted = count > 10 or max((len(one.label) for one in profile.bins), default=0) * count > 50
    size = {"height": 330.0, "bottom": 96.0} if slanted else {"height": 280.0, "bottom": 46.0}
    panel = Panel(0.0, float(max(count, 1)), top * 1.2, **size)
    parts = _shaded(panel, [(i, i + 1) for i, (one, _, _) in enumerate(rows) if one.inside])
    parts += panel.frame(shorten(profile.feature, 48), "share of runs", percent, x_ticks=False)
    for i, (one, x, y) in enumerate(rows):
        for name, start, value in (("d1", 0.14, x), ("d2", 0.52, y)):
            left, right, up = panel.x(i + start), panel.x(i + start + 0.34), panel.y(value)
            parts.append(tag("rect", x=left, width=right - left, y=up, height=panel.floor - up, css=f"bar {name}"))
            if 0 < panel.floor - up < LEAST_BAR and count <= 4:
                anchor, beside = ("end", right - 2) if name == "d1" else ("start", left + 2)
                parts.append(text(percent(value), beside, up - 5, anchor=anchor))
        most = claim.largest(y)
        if most <= panel.y_high:
            limit = panel.y(most)
            parts.append(path([(panel.x(i + 0.06), limit), (panel.x(i + 0.94), limit)], "line bound"))
        middle = panel.x(i + 0.5)
        if slanted:
            label = text(shorten(one.label, 12), 0.0, 0.0, anchor="end")
            turned = f"translate({middle + 4:.1f} {panel.floor + 14:.1f}) rotate(-45)"
            parts.append(tag("g", label, transform=turned))
        else:
            label = shorten(one.label, max(12, 50 // count))
            parts.append(text(label, middle, panel.floor + 17, anchor="middle"))
    return panel, parts


def rates(evidence: Evidence, claim: Claim) -> str:
    """The event's rates on d1 and d2 with their intervals, and the most that the claim allows for d1."""
    one, other = facts.rates(evidence)
    rows: tuple[tuple[str, str, float, float, float], ...] = (
        ("on d1", "d1", one.value, one.low, one.high),
        ("allowed for d1", "bound", claim.largest(other.value), claim.largest(other.low), claim.largest(other.high)),
        ("on d2", "d2", other.value, other.low, other.high),
    )
    size = {"height": 168.0, "left": 122.0, "right": 80.0, "top": 6.0, "bottom": 40.0}
    panel = Panel(0.0, max(row[4] for row in rows) * 1.06, 1.0, **size)
    parts = []
    for value in ticks(0, panel.x_high, 5):
        parts.append(path([(panel.x(value), panel.top), (panel.x(value), panel.floor)], "grid"))
        parts.append(text(percent(value), panel.x(value), panel.floor + 17, anchor="middle"))
    for i, (label, css, value, low, high) in enumerate(rows):
        y = panel.top + 40.0 * i + 8.0
        parts.append(text(label, panel.left - 8, y + 17, anchor="end"))
        parts.append(tag("rect", x=panel.left, width=panel.x(value) - panel.left, y=y, height=24.0, css=f"bar {css}"))
        parts.append(path([(panel.x(low), y + 12), (panel.x(high), y + 12)], "whisker"))
        parts += [path([(x, y + 6), (x, y + 18)], "whisker") for x in (panel.x(low), panel.x(high))]
        parts.append(text(percent(value), panel.x(max(high, value)) + 6, y + 17))
    label = "share of fresh runs in the event" if evidence.estimates is None else "probability of the event"
    parts.append(text(label, (panel.left + panel.width) / 2, panel.height - 4, anchor="middle"))
    description = (
        f"On d1 {percent(one.value)}, between {percent(one.low)} and {percent(one.high)}; "
        f"on d2 {percent(other.value)}, between {percent(other.low)} and {percent(other.high)}. "
        f"Given d2, the claim allows {percent(rows[1][2])} on d1."
    )
    return panel.svg(parts, name="rates", title="How often the event happened", description=description)


def p_curve(evidence: Evidence, claimed: float, significance: float) -> str:
    """The p-value of the counts against every test epsilon, the claimed one and the certified bound marked."""
    points = facts.p_value_curve(evidence, claimed)
    panel = Panel(0.0, points[-1][0], 1.05)
    parts = panel.frame("test ε", "p-value", lambda value: f"{value:g}")
    bound = max(evidence.epsilon_lower_bound, 0.0)
    parts.append(path([(panel.x(e), panel.y(p)) for e, p in points], "line curve"))
    for value, css in ((claimed, "line claimed"), (bound, "line certified")):
        parts.append(path([(panel.x(value), panel.top), (panel.x(value), panel.floor)], css))
    description = (
        f"The p-value stays near zero for every test epsilon that the counts refute and rises towards one beyond. "
        f"Claimed is {claimed:g}; epsilons below {bound:.3g} are refuted at significance {significance:g}. "
        "The table below holds some of the same numbers."
    )
    return panel.svg(parts, name="p-curve", title="P-value against test epsilon", description=description)


def sweep_curves(sweep: Sweep) -> str:
    """One curve for each claimed epsilon, for notebooks."""
    claimed = list(dict.fromkeys(point.claimed for point in sweep.points))
    tests = [point.test for point in sweep.points]
    panel = Panel(0.0, max(tests) * 1.05, 1.05)
    parts = panel.frame("test ε", "p-value", lambda value: f"{value:g}")
    for number, value in enumerate(claimed):
        css = f"s{number % MOST_CURVES}"
        curve = [(panel.x(point.test), panel.y(point.p_value)) for point in sweep.curve(value)]
        parts.append(path(curve, f"line {css}"))
        parts += [tag("circle", cx=x, cy=y, r=3, css=f"dot {css}") for x, y in curve]
        parts.append(path([(panel.x(value), panel.top), (panel.x(value), panel.floor)], f"line claimed {css}"))
    return panel.svg(
        parts,
        name="sweep",
        title=f"P-value against test epsilon for {sweep.mechanism}",
        description=f"One curve for each claimed epsilon: {', '.join(f'{value:g}' for value in claimed)}.",
    )


def tag(name: str, content: str = "", **attributes: Any) -> str:
    """An element; attribute values are escaped, `_` in names becomes `-`, and `content` must be safe already.

    >>> tag("rect", x=1, css="bar")
    '<rect x="1" class="bar"/>'
    """
    listed = "".join(
        f' {"class" if key == "css" else key.replace("_", "-")}="{html.escape(_number(value))}"'
        for key, value in attributes.items()
    )
    return f"<{name}{listed}>{content}</{name}>" if content else f"<{name}{listed}/>"


def text(content: str, x: float, y: float, *, anchor: str = "start", css: str = "label") -> str:
    """A text, escaped."""
    return tag("text", html.escape(content), x=x, y=y, text_anchor=anchor, css=css)


def _number(value: Any) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between low and high.

    >>> ticks(0, 1.9)
    [0.0, 0.5, 1.0, 1.5]
    """
    span = high - low
    if not (span > 0 and math.isfinite(span)):
        return [low]
    rough = span / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999), 10 * power)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class Panel:
    """A plotting area inside a figure: data coordinates in, SVG coordinates out."""

    x_low: float
    x_high: float
    y_high: float
    width: float = 480.0
    height: float = 280.0
    left: float = 66.0
    right: float = 14.0
    top: float = 14.0
    bottom: float = 46.0

    def x(self, value: float) -> float:
        """Across."""
        inner = self.width - self.left - self.right
        return self.left + inner * (value - self.x_low) / (self.x_high - self.x_low)

    def y(self, value: float) -> float:
        """Up."""
        inner = self.height - self.top - self.bottom
        return self.height - self.bottom - inner * min(value / self.y_high, 1.0)

    @property
    def floor(self) -> float:
        """Where zero is."""
        return self.height - self.bottom

    def frame(self, x_label: str, y_label: str, y_format: Any, x_ticks: bool = True) -> list[str]:
        """Grid, ticks and the names of the axes."""
        parts = []
        across: dict[str, Any] = {"x1": self.left, "x2": self.width - self.right}
        for value in ticks(0, self.y_high, 5):
            y = self.y(value)
            parts.append(tag("line", **across, y1=y, y2=y, css="grid"))
            parts.append(text(y_format(value), self.left - 6, y + 4, anchor="end"))
        for value in ticks(self.x_low, self.x_high, 7) if x_ticks else ():
            x = self.x(value)
            parts.append(text(f"{value:g}", x, self.floor + 17, anchor="middle"))
            parts.append(tag("line", x1=x, x2=x, y1=self.floor, y2=self.floor + 4, css="axis"))
        parts.append(tag("line", **across, y1=self.floor, y2=self.floor, css="axis"))
        middle = (self.left + self.width - self.right) / 2
        parts.append(text(x_label, middle, self.height - 8, anchor="middle", css="label strong"))
        turned = f"translate(13 {_number((self.top + self.floor) / 2)}) rotate(-90)"
        label = tag("text", html.escape(y_label), transform=turned, text_anchor="middle", css="label strong")
        return [*parts, label]

    def svg(self, parts: list[str], *, name: str, title: str, description: str) -> str:
        """The whole figure, with a title and a description for those who cannot see it."""
        head = [("title", title), ("desc", description)]
        named = [tag(kind, html.escape(words), id=f"{name}-{kind}") for kind, words in head]
        return tag(
            "svg",
            "".join([*named, *parts]),
            viewBox=f"0 0 {_number(self.width)} {_number(self.height)}",
            role="img",
            aria_labelledby=f"{name}-title {name}-desc",
            css="figure",
            xmlns="http://www.w3.org/2000/svg",
        )


def path(points: list[tuple[float, float]], css: str) -> str:
    """A line through the points."""
    steps = " ".join(f"{'M' if i == 0 else 'L'}{_number(x)} {_number(y)}" for i, (x, y) in enumerate(points))
    return tag("path", d=steps, css=css)


def shorten(words: str, most: int) -> str:
    """A label that fits."""
    return words if len(words) <= most else words[: most - 1] + "…"
