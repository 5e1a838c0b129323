"""What `check` and `sweep` return."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from refutedp.claims import PureDP
from refutedp.records import Evidence
from refutedp.settings import Settings


class Verdict(enum.Enum):
    """The three things a check can say; "private" is not among them."""

    VIOLATION = "violation"
    """The claim is refuted: fresh runs gave p <= significance for an event chosen beforehand."""
    NOT_FOUND = "not found"
    """No violation was found with this budget; there may still be one."""
    INCONCLUSIVE = "inconclusive"
    """Fresh runs hint at a violation (p <= 0.05) without reaching the significance; more runs would tell."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much was tried."""

    pairs: int
    events: int
    search_runs: int
    confirm_runs: int


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of `check`: prints as a person would explain it.

    `evidence` is what fresh runs said about the best candidate, whether it convicts or not; None when the outputs
    did not vary at all. `detectable_epsilon` is the smallest real epsilon that the budget would have caught for
    that event.
    """

    verdict: Verdict
    mechanism: str
    claim: PureDP
    adjacency: str
    evidence: Evidence | None
    detectable_epsilon: float
    effort: Effort
    settings: Settings
    notes: tuple[str, ...] = ()

    @property
    def counterexample(self) -> Evidence | None:
        """Pair, event, direction, counts and p-value that convict; None when nothing was found."""
        return self.evidence if self.verdict is Verdict.VIOLATION else None

    def __str__(self) -> str:
        from refutedp.report.text import explain

        return explain(self)


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a curve: mechanism run with `claimed` epsilon, tested against `test` epsilon."""

    claimed: float
    test: float
    evidence: Evidence

    @property
    def p_value(self) -> float:
        """The p-value of the point."""
        return self.evidence.p_value


@dataclass(frozen=True, slots=True)
class Sweep:
    """P-values and certified bounds against test epsilon, one curve for each claimed epsilon."""

    mechanism: str
    adjacency: str
    points: tuple[Point, ...]
    efforts: tuple[Effort, ...]
    settings: Settings
    notes: tuple[str, ...] = ()

    def curve(self, claimed: float) -> tuple[Point, ...]:
        """The points of one claimed epsilon, in order of test epsilon."""
        return tuple(point for point in self.points if point.claimed == claimed)

    def rises_at(self, claimed: float, level: float = 0.05) -> float | None:
        """The largest test epsilon refuted at `level`; None when none is."""
        refuted = [point.test for point in self.curve(claimed) if point.p_value <= level]
        return max(refuted, default=None)

    def __str__(self) -> str:
        from refutedp.report.text import explain_sweep

        return explain_sweep(self)
