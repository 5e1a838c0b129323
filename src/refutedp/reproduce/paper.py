"""What the paper reports, as data: its counterexamples, its seconds, and where its curves rise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

What: TypeAlias = Literal["figures", "counterexamples", "timing", "all"]
"""A part of the evaluation."""
CLAIMED = (0.2, 0.7, 1.5)
TESTS = tuple(round(0.1 * step, 1) for step in range(1, 31))
SEARCH_RUNS, CONFIRM_RUNS = 100_000, 500_000
LEVEL = 0.05
CORES = 32


@dataclass(frozen=True, slots=True)
class Reported:
    """One mechanism as the paper reports it; empty strings and None where it says nothing.

    `rises` is the largest test epsilon refuted, for each claimed epsilon that the text gives a number for.
    """

    seconds: float
    event: str = ""
    d1: str = ""
    d2: str = ""
    rises: tuple[float | None, float | None, float | None] = (None, None, None)


ONES, TENS = "[1, 1, 1, 1, 1]", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"
CROSS = ("[1, 1, 1, 1, 1, 0, 0, 0, 0, 0]", "[0, 0, 0, 0, 0, 1, 1, 1, 1, 1]")

REPORTED: dict[str, Reported] = {
    "noisy_max_laplace": Reported(4.32),
    "noisy_max_exponential": Reported(4.25),
    "noisy_max_laplace_value": Reported(9.49, "ω in (-∞, 0.0)", ONES, "[0, 0, 0, 0, 0]", (0.4, None, None)),
    "noisy_max_exponential_value": Reported(8.70, "ω in (-∞, 1.0)", ONES, "[0, 0, 0, 0, 0]"),
    "histogram": Reported(10.39),
    "histogram_wrong_scale": Reported(11.28, "ω[0] in (-∞, 1.0)", ONES, "[2, 1, 1, 1, 1]", (None, None, 0.6)),
    "svt": Reported(1.99),
    "isvt1": Reported(1.62, "t(ω) = 0", TENS, "[0, 0, 0, 0, 0, 2, 2, 2, 2, 2]"),
    "isvt2": Reported(4.56, "t(ω) = 9", *CROSS, (0.5, 2.1, 3.0)),
    "isvt3": Reported(2.56, "t(ω) = 0", *CROSS, (0.3, 1.1, 2.3)),
    "isvt4": Reported(22.97, "(ω.count(False), ω[9]) in {9} × (-2.4, 2.4)", TENS, "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0]"),
}
