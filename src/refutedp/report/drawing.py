"""A little SVG: axes with round ticks, and marks whose colours the page's style sheet decides."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any


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
    left: float = 56.0
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
        for value in ticks(0, self.y_high, 5):
            y = self.y(value)
            parts.append(tag("line", x1=self.left, x2=self.width - self.right, y1=y, y2=y, css="grid"))
            parts.append(text(y_format(value), self.left - 6, y + 4, anchor="end"))
        if x_ticks:
            for value in ticks(self.x_low, self.x_high, 7):
                parts.append(text(f"{value:g}", self.x(value), self.floor + 17, anchor="middle"))
                parts.append(
                    tag("line", x1=self.x(value), x2=self.x(value), y1=self.floor, y2=self.floor + 4, css="axis")
                )
        parts.append(tag("line", x1=self.left, x2=self.width - self.right, y1=self.floor, y2=self.floor, css="axis"))
        middle = (self.left + self.width - self.right) / 2
        parts.append(text(x_label, middle, self.height - 8, anchor="middle", css="label strong"))
        up = (self.top + self.floor) / 2
        label = html.escape(y_label)
        parts.append(
            tag(
                "text",
                label,
                transform=f"translate(13 {_number(up)}) rotate(-90)",
                text_anchor="middle",
                css="label strong",
            )
        )
        return parts

    def svg(self, parts: list[str], *, name: str, title: str, description: str) -> str:
        """The whole figure, with a title and a description for those who cannot see it."""
        head = tag("title", html.escape(title), id=f"{name}-title") + tag(
            "desc", html.escape(description), id=f"{name}-desc"
        )
        return tag(
            "svg",
            head + "".join(parts),
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
