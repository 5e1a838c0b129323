"""Explains evidence from enumerated paths: which draw makes the rare event, and which line it leads to.

The likeliest path of the event is run again, watched, on its own draws. Lines that usual runs never take are what is
rare; the condition in front of them is held where usual runs go, and the paths of the changed mechanism are
enumerated again.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

from refutedp.detector.exactly import still_refuted
from refutedp.detector.result import Result
from refutedp.exact.enumerated_run import StandardDraws
from refutedp.exact.families import DrawFamily
from refutedp.exact.trail import CannotEnumerate
from refutedp.explain.blame import Blame, blame
from refutedp.explain.costs import claimed_epsilon
from refutedp.explain.edits import decided, edited
from refutedp.explain.observed import CallSite, Observed, Step, Watcher, call_site, line_at
from refutedp.explain.source_lines import place_of
from refutedp.model.explanation import Explanation, Place, Remedy
from refutedp.model.mechanism import Mechanism
from refutedp.model.records import Counts, ExactEvidence
from refutedp.tracing.distributions import Distribution

RARE = 1e-3
"""Draws of at most this probability, or farther out, are rare by themselves."""


class RecalledDraw(NamedTuple):
    """One draw of a path: where, and how likely a draw is that is as far out."""

    site: CallSite | None
    distribution: str
    chance: float


class _Recalled(StandardDraws):
    """Answers with the draws of a path; keeps where they were asked for."""

    def __init__(self, values: tuple[float, ...], seen: Observed) -> None:
        self._values, self._seen = values, seen
        self._site: CallSite | None = None
        self.draws: list[RecalledDraw] = []

    def draw(self, distribution: Distribution, params: tuple[Any, ...], size: Any) -> Any:
        """As any draw, its place noted."""
        self._site = call_site()
        return super().draw(distribution, params, size)

    def choose(self, distribution: str, options: Any, size: Any, p: Any, replace: bool) -> Any:
        """As any choice, its place noted."""
        self._site = call_site()
        return super().choose(distribution, options, size, p, replace)

    def pick(self, options: Any) -> Any:
        """As any pick, its place noted."""
        self._site = call_site()
        return super().pick(options)

    def permute(self, distribution: str, values: Any) -> Any:
        """As any permutation, its place noted."""
        self._site = call_site()
        return super().permute(distribution, values)

    def standard(self, family: DrawFamily) -> Any:
        """The next value of the path."""
        if len(self.draws) >= len(self._values):
            raise CannotEnumerate("it draws more often than on its path")
        value = self._values[len(self.draws)]
        site = self._site
        if site is not None:
            self._seen.steps.append(Step(site.code, site.column, draw=True))
        self.draws.append(RecalledDraw(site, family.name, _beyond(family, value)))
        return int(value) if family.whole else float(value)

    def index(self, family: DrawFamily) -> int:
        """The next value, as a plain one."""
        return int(self.standard(family))


def _beyond(family: DrawFamily, value: float) -> float:
    """The probability of a draw that is as far out; of a choice, that of the option itself."""
    if family.whole and math.isfinite(family.size) and family.size <= 64:
        return family.mass(value, value).high
    return min(family.mass(-math.inf, value).high, family.mass(value, math.inf).high)


def rare_explanation(told: ExactEvidence, result: Result, mechanism: Mechanism) -> Explanation:
    """Which draw and which line make the event, and whether the claim holds without that line."""
    watcher = Watcher(mechanism, result.settings.seed)
    blamed = blame(told.pair, result.claim, watcher)
    seen, draws = _recalled(watcher, told)
    found = _rare_line(seen, blamed)
    remedies: list[Remedy] = []
    calls = 0
    if found is not None:
        decider = place_of(found[1].code, line_at(*found[1][:2]))
        for outcome in (False, True):
            edit = decided(found[1].code, decider, outcome)
            changed = edited(mechanism, told.pair.arguments, edit)
            if changed is None:
                continue
            broken, more = still_refuted(changed.mechanism, told, result.claim, result.settings)
            calls += more
            if broken is False:
                words = f"{edit.words}, no event of this pair breaks the claim (its paths were enumerated again)"
                texts = changed.replaced, changed.replacement
                remedies.append(Remedy("branch", words, decider, 1.0, "", Counts(0, 0, 0, 0), 0.0, True, *texts))
                break
    named = found[0] if found is not None and remedies else None
    statement = _statement(found[0] if found is not None else None, draws, told)
    return Explanation(
        place=named,
        statement=statement,
        ledger=tuple(blamed.rows),
        spent=blamed.spent if claimed_epsilon(result.claim) is not None else None,
        claimed=claimed_epsilon(result.claim),
        discrepancies=tuple(blamed.discrepancies),
        remedies=tuple(remedies),
        calls=watcher.calls + calls,
    )


def _recalled(watcher: Watcher, told: ExactEvidence) -> tuple[Observed, list[RecalledDraw]]:
    """A run on d1 on the draws of the likeliest path of the event."""
    seen = Observed()
    values = told.witnesses[0].draws if told.witnesses else ()
    recalled = _Recalled(values, seen)
    try:
        watcher.watch(told.pair.d1, told.pair.arguments, recalled, seen)
    except CannotEnumerate as trouble:
        seen.error = Exception(str(trouble))
    return seen, recalled.draws


def _rare_line(seen: Observed, blamed: Blame) -> tuple[Place, Step] | None:
    """The first line of the path that usual runs do not take, and the step that decides to go there."""
    for before, step in pairwise(seen.steps):
        # Records made while a run is watched have code without a file.
        if step.draw or before.draw or before.code is not step.code or step.code.co_filename.startswith("<string"):
            continue
        line = line_at(step.code, step.instruction)
        if (step.code, line) not in blamed.usual:
            return place_of(step.code, line), before
    return None


def _statement(place: Place | None, draws: list[RecalledDraw], told: ExactEvidence) -> str:
    """Which draw, how rare, and where it leads."""
    drawn = [one for one in draws if one.site is not None]
    least = min(drawn, key=lambda one: one.chance, default=None)
    if least is None or least.site is None:
        return "Which line breaks the claim is not known: the draws of its paths could not be watched."
    line = place_of(least.site.code, least.site.line).line
    if least.chance <= RARE:
        cause = f"the draw of line {line} is in a tail of probability {least.chance:.2g}"
    elif len(drawn) > 1:
        cause = f"{len(drawn)} draws, from line {line} on, fall in ranges of probability {told.low:.2g} together"
    else:
        cause = f"the draw of line {line} falls in a range of probability {told.low:.2g}"
    if place is not None:
        return f"Line {place.line} runs when {cause}, and not in usual runs."
    return f"The event happens when {cause}."
