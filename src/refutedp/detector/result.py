"""What `check` and `sweep` return."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from refutedp.detector.profile import Profile
from refutedp.model.claims import Claim
from refutedp.model.explanation import Explanation
from refutedp.model.mechanism import Origin
from refutedp.model.records import Evidence, ExactEvidence, ExactLoss, Examination
from refutedp.model.settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Verdict(enum.Enum):
    """The three things a check can say; "private" is not among them."""

    VIOLATION = "violation"
    """The claim is refuted: fresh runs gave p <= significance for an event chosen beforehand."""
    NOT_FOUND = "not found"
    """No violation was found with this budget; there may still be one."""
    INCONCLUSIVE = "inconclusive"
    """Fresh runs hint at a violation (p <= 0.05) without reaching the significance, or nothing could be tested."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much was tried.

    `other_runs` are all further calls: trials, the search for arguments, runs without noise, proofs of lifts, the
    test of rounding, and the calls of the function itself that were heard before the verdict.
    """

    pairs: int
    events: int
    search_runs: int
    confirm_runs: int
    other_runs: int = 0

    @property
    def runs(self) -> int:
        """All runs and calls."""
        return self.search_runs + self.confirm_runs + self.other_runs


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of `check`: prints as a person would explain it.

    `evidence` is what fresh runs said about the best candidate, whether it convicts or not; None when the outputs
    did not vary at all. `detectable_epsilon` is the smallest real epsilon that the budget would have caught for
    that event. `origin` says where the mechanism came from. `float_leak` is a leak through the last digits of floats,
    proven by a test of its own, that a mechanism on real numbers would not have. `examination` is what the function
    itself said, where lifted runs decided. `vacuous` is what nearly every run did, where outputs do not vary and so
    nothing was tested. `exact` is evidence of another kind, where it and not the fresh runs convicts: probabilities
    over enumerated paths; there is no `evidence` then. `loss` is the exact ε of the pair, where all its paths are
    known. `outside` is a second violation, on inputs beyond the user's. `profile` is how the event's feature is
    spread on runs of its own, for figures; it is made when one is asked for (`profiled`). `explanation` says which
    line is to blame for a violation and what would mend it; it is made when the result is printed, saved or
    reported, or asked for (`explained`).
    """

    verdict: Verdict
    mechanism: str
    claim: Claim
    adjacency: str
    evidence: Evidence | None
    detectable_epsilon: float
    effort: Effort
    settings: Settings
    notes: tuple[str, ...] = ()
    origin: Origin | None = None
    profile: Profile | None = field(default=None, compare=False)
    float_leak: Evidence | None = None
    examination: Examination | None = None
    vacuous: str = ""
    outside: Evidence | None = None
    exact: ExactEvidence | None = None
    loss: ExactLoss | None = None
    explanation: Explanation | None = field(default=None, compare=False)
    make_profile: Callable[[], Profile] | None = field(default=None, repr=False, compare=False)
    explain: Callable[[], Explanation | None] | None = field(default=None, repr=False, compare=False)

    @property
    def counterexample(self) -> Evidence | ExactEvidence | None:
        """Pair, event and direction, with counts or exact probabilities that convict; None when nothing was found."""
        if self.exact is not None:
            return self.exact
        return self.evidence if self.verdict is Verdict.VIOLATION else None

    @property
    def interrupted(self) -> bool:
        """Whether the check was stopped before its verdict."""
        unsearched = self.evidence is None and not self.vacuous and self.effort.search_runs == 0
        return unsearched and self.verdict is Verdict.INCONCLUSIVE

    def profiled(self) -> Result:
        """The result with its profile, made on fresh runs unless it is there or the mechanism is not."""
        if self.profile is not None or self.make_profile is None:
            return self
        return replace(self, profile=self.make_profile())

    def explained(self) -> Result:
        """The result with its explanation, made by further runs unless it is there or nothing is to be explained.

        How many runs is in `explanation.calls`; texts count them among the other runs.
        """
        if self.explanation is not None or self.explain is None:
            return self
        return replace(self, explanation=self.explain())

    def __str__(self) -> str:
        from refutedp.report.text import explain

        return explain(self.explained())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result as JSON, with all that `refutedp.replay` needs to test it on fresh runs."""
        from refutedp.api.saved.to_json import save

        save(self, path)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write a report for a person who was not there: one HTML file that needs no network."""
        from refutedp.report.html import save_html

        save_html(self, path)

    def to_sarif(self, path: str | os.PathLike[str]) -> None:
        """Write the finding as SARIF 2.1.0, for code scanning and editors, at the guilty line where it is known."""
        from refutedp.report.sarif import save_sarif

        save_sarif(self, path)

    def to_pytest(self, path: str | os.PathLike[str]) -> None:
        """Write a small test that fails while the counterexample holds and passes once it is mended."""
        from refutedp.report.python_code import save_pytest

        save_pytest(self, path)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the event's feature on both inputs and the p-value curve; write SVG, PNG or PDF when given a path."""
        from refutedp.report.plots import plot_result

        return plot_result(self, path)

    def _repr_html_(self) -> str:
        from refutedp.report.html import result_html

        return result_html(self)


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
    origin: Origin | None = None

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sweep as JSON; `refutedp.load` reads it."""
        from refutedp.api.saved.to_json import save

        save(self, path)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw p-value against test epsilon as in the paper's figures; write SVG, PNG or PDF when given a path."""
        from refutedp.report.plots import plot_sweep

        return plot_sweep(self, path)

    def _repr_html_(self) -> str:
        from refutedp.report.html import sweep_html

        return sweep_html(self)
