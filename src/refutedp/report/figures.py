"""The figures of a report as inline SVG: the event's feature on both inputs, the p-value curve, and sweeps."""

from __future__ import annotations

from refutedp.detector.profile import Bin, Profile
from refutedp.detector.result import Sweep
from refutedp.model.claims import Claim
from refutedp.model.records import Evidence
from refutedp.report import facts
from refutedp.report.drawing import Panel, path, shorten, tag, text, ticks
from refutedp.report.facts import p_value_curve, percent

MOST_CURVES = 6


def histogram(profile: Profile, claim: Claim) -> str:
    """Bars of the feature on d1 and d2, the event shaded, and the most that the claim allows for d1."""
    return _numeric(profile, claim) if profile.numeric else _categories(profile, claim)


def _describe(profile: Profile, claim: Claim) -> str:
    x = sum(one.x for one in profile.bins if one.inside) / max(profile.n_x, 1)
    y = sum(one.y for one in profile.bins if one.inside) / max(profile.n_y, 1)
    return (
        f"On runs that neither chose nor tested the event, it happened in {percent(x)} on d1 and {percent(y)} on d2. "
        f"The dashed line is the {facts.bound_words(claim)}. "
        "Where d1 rises above it, the claim is broken, up to chance. "
        "The table below holds the same numbers."
    )


def _numeric(profile: Profile, claim: Claim) -> str:
    bars = [one for one in profile.bins if one.low is not None and one.high is not None]
    ends = [(one, float(one.low), float(one.high)) for one in bars if one.low is not None and one.high is not None]
    widths = [high - low for _, low, high in ends]
    typical = sorted(widths)[len(widths) // 2]

    def height(hits: int, runs: int, width: float) -> float:
        """Share of the runs per bar of typical width, so that narrow bars do not look low."""
        return hits / max(runs, 1) * typical / width

    def limit(one: Bin, width: float) -> float:
        return claim.largest(one.y / max(profile.n_y, 1)) * typical / width

    tops = [height(one.x, profile.n_x, high - low) for one, low, high in ends]
    tops += [height(one.y, profile.n_y, high - low) for one, low, high in ends]
    most = max(limit(one, high - low) for one, low, high in ends)
    panel = Panel(ends[0][1], ends[-1][2], max((max(tops) or 1.0) * 1.15, min(most * 1.05, max(tops) * 1.9)))
    parts = [
        _shade(panel, low, high) for low, high in _stretches([(low, high) for one, low, high in ends if one.inside])
    ]
    parts += panel.frame(shorten(profile.feature, 48), "share of runs", percent)
    lines: dict[str, list[tuple[float, float]]] = {"d1": [], "d2": [], "bound": []}
    for one, low, high in ends:
        x, y = height(one.x, profile.n_x, high - low), height(one.y, profile.n_y, high - low)
        for name, value in (("d1", x), ("d2", y), ("bound", limit(one, high - low))):
            lines[name] += [(panel.x(low), panel.y(value)), (panel.x(high), panel.y(value))]
    parts.append(path([(lines["d2"][0][0], panel.floor), *lines["d2"], (lines["d2"][-1][0], panel.floor)], "area d2"))
    parts += [path(piece, "line bound") for piece in _below_the_top(lines["bound"], panel)]
    parts += [path(lines["d2"], "line d2"), path(lines["d1"], "line d1")]
    return panel.svg(
        parts, name="histogram", title=f"{profile.feature} on both inputs", description=_describe(profile, claim)
    )


def _stretches(ranges: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Neighbouring ranges joined, so that shading shows no seams.

    >>> _stretches([(0, 1), (1, 2), (3, 4)])
    [(0, 2), (3, 4)]
    """
    joined: list[tuple[float, float]] = []
    for low, high in ranges:
        if joined and joined[-1][1] == low:
            joined[-1] = (joined[-1][0], high)
        else:
            joined.append((low, high))
    return joined


def _shade(panel: Panel, low: float, high: float) -> str:
    left, right = panel.x(low), panel.x(high)
    return tag("rect", x=left, width=right - left, y=panel.top, height=panel.floor - panel.top, css="event")


def _below_the_top(points: list[tuple[float, float]], panel: Panel) -> list[list[tuple[float, float]]]:
    """The line in pieces, without the stretches that would leave the figure at the top."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for point in points:
        if point[1] > panel.top + 0.01:
            pieces[-1].append(point)
        elif pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if len(piece) > 1]


def _categories(profile: Profile, claim: Claim) -> str:
    bars = profile.bins
    rates = facts.shares(profile)
    top = max((max(x, y) for _, x, y in rates), default=1.0) or 1.0
    slanted = len(bars) > 10 or max((len(one.label) for one in bars), default=0) * len(bars) > 50
    panel = Panel(
        0.0, float(max(len(bars), 1)), top * 1.2, height=330.0 if slanted else 280.0, bottom=96.0 if slanted else 46.0
    )
    parts = [
        _shade(panel, low, high)
        for low, high in _stretches([(i, i + 1) for i, row in enumerate(rates) if row[0].inside])
    ]
    parts += panel.frame(shorten(profile.feature, 48), "share of runs", percent, x_ticks=False)
    for i, (one, x, y) in enumerate(rates):
        for name, start, value in (("d1", 0.14, x), ("d2", 0.52, y)):
            left, right = panel.x(i + start), panel.x(i + start + 0.34)
            parts.append(
                tag(
                    "rect",
                    x=left,
                    width=right - left,
                    y=panel.y(value),
                    height=panel.floor - panel.y(value),
                    css=f"bar {name}",
                )
            )
        limit = panel.y(claim.largest(y))
        if claim.largest(y) <= panel.y_high:
            parts.append(path([(panel.x(i + 0.06), limit), (panel.x(i + 0.94), limit)], "line bound"))
        parts.append(_category_label(one, panel.x(i + 0.5), panel.floor, slanted, max(12, 50 // len(bars))))
    return panel.svg(
        parts, name="histogram", title=f"{profile.feature} on both inputs", description=_describe(profile, claim)
    )


def _category_label(one: Bin, x: float, floor: float, slanted: bool, most: int) -> str:
    words = shorten(one.label, 12 if slanted else most)
    if not slanted:
        return text(words, x, floor + 17, anchor="middle")
    return tag(
        "g", text(words, 0.0, 0.0, anchor="end"), transform=f"translate({x + 4:.1f} {floor + 14:.1f}) rotate(-45)"
    )


def rates(evidence: Evidence, claim: Claim) -> str:
    """The event's rates on d1 and d2 with their intervals, and the most that the claim allows for d1."""
    one, other = facts.rates(evidence)
    rows: tuple[tuple[str, str, float, float, float], ...] = (
        ("on d1", "d1", one.value, one.low, one.high),
        ("allowed for d1", "bound", claim.largest(other.value), claim.largest(other.low), claim.largest(other.high)),
        ("on d2", "d2", other.value, other.low, other.high),
    )
    panel = Panel(0.0, max(row[4] for row in rows) * 1.06, 1.0, height=168.0, left=108.0, top=6.0, bottom=40.0)
    parts = []
    for value in ticks(0, panel.x_high, 5):
        parts.append(path([(panel.x(value), panel.top), (panel.x(value), panel.floor)], "grid"))
        parts.append(text(percent(value), panel.x(value), panel.floor + 17, anchor="middle"))
    for i, (label, css, value, low, high) in enumerate(rows):
        y = panel.top + 40.0 * i + 8.0
        parts.append(text(label, panel.left - 8, y + 17, anchor="end"))
        parts.append(tag("rect", x=panel.left, width=panel.x(value) - panel.left, y=y, height=24.0, css=f"bar {css}"))
        ends = [panel.x(low), panel.x(high)]
        parts.append(path([(ends[0], y + 12), (ends[1], y + 12)], "whisker"))
        parts += [path([(x, y + 6), (x, y + 18)], "whisker") for x in ends]
    parts.append(
        text(
            "share of fresh runs in the event" if evidence.estimates is None else "probability of the event",
            (panel.left + panel.width) / 2,
            panel.height - 4,
            anchor="middle",
        )
    )
    description = (
        f"On d1 {percent(one.value)}, between {percent(one.low)} and {percent(one.high)}; "
        f"on d2 {percent(other.value)}, between {percent(other.low)} and {percent(other.high)}. "
        f"Given d2, the claim allows {percent(rows[1][2])} on d1."
    )
    return panel.svg(parts, name="rates", title="How often the event happened", description=description)


def p_curve(evidence: Evidence, claimed: float, significance: float) -> str:
    """The p-value of the counts against every test epsilon, the claimed one and the certified bound marked."""
    points = p_value_curve(evidence, claimed)
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
