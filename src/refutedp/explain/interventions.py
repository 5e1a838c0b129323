"""Changes one thing of a refuted mechanism and tests the pair again on fresh runs.

Where a change makes the violation vanish, it is of the cause; its size is the remedy. That says something of this
pair, and no more: events are searched anew, but other inputs are not tried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from refutedp.detector.exactly import refuted_by_paths
from refutedp.detector.pieces import best_pieces
from refutedp.detector.result import Result
from refutedp.events.ranking import search_events
from refutedp.explain.edits import Edit, Edited, edited
from refutedp.hypothesis.claim_test import claim_test, search_rates
from refutedp.model.errors import RefuteDPError
from refutedp.model.explanation import Remedy
from refutedp.model.mechanism import Mechanism
from refutedp.model.outputs import Outputs
from refutedp.model.records import Counts, Event, Evidence, ExactEvidence, Pair
from refutedp.model.settings import EXPLAIN_STREAM, child
from refutedp.sampling.sampler import CannotSample, Sampler, Samplers, noise_free_leaves
from refutedp.tracing.watchdog import DidNotReturn

LIFTED, CALLED = (4_000, 60_000), (150, 600)
"""Search runs a side and test runs of one change: lifted ones, or calls."""
REFUTED, MENDED = 1e-4, 0.02
"""p-values, after the search, up to which a pair is refuted again, and above which it no longer is."""
MOST_CALLS = 6_000
"""Calls, at most, where runs are not lifted; and never more than the check itself has made."""


@dataclass(frozen=True, slots=True)
class Tested:
    """What fresh runs say of a mechanism on the pair: the worst of the old event and of a new one."""

    log_p_value: float
    event: str
    counts: Counts
    errors: float = 0.0
    """The part of the runs that ended in an exception."""


class Trials:
    """Tests of one pair; `calls` counts all runs and calls, and `left` says whether there may be more."""

    def __init__(self, result: Result, mechanism: Mechanism) -> None:
        assert result.counterexample is not None
        self._result, self._mechanism = result, mechanism
        self._found: Evidence | ExactEvidence = result.counterexample
        self._most_calls = min(MOST_CALLS, result.effort.runs)
        self._called = 0
        self.calls = 0
        self._number = 0
        self.lifted = False
        """Whether the mechanism, as it is, runs by the thousand: a few hundred calls miss small violations."""
        self.as_it_is: Tested | None = None
        """What the mechanism itself shows in such a test; changes tell something only if that is a violation."""

    def begin(self) -> bool:
        """Test the mechanism as it is; whether that refutes the claim again, so that changes can be told apart."""
        pair = self._found.pair
        self.as_it_is = self._test(Edited(self._mechanism, pair.arguments))
        return self.as_it_is is not None and self.as_it_is.log_p_value <= math.log(REFUTED)

    def test(self, edit: Edit) -> Remedy | None:
        """What a change does; None where it cannot be made or tested."""
        changed = edited(self._mechanism, self._found.pair.arguments, edit)
        if changed is None or self.as_it_is is None:
            return None
        tested = self._test(changed)
        if tested is None or tested.errors > self.as_it_is.errors + 0.02:
            return None  # The change breaks the mechanism, which mends nothing.
        mends = tested.log_p_value > math.log(MENDED)
        basis = f"{tested.counts.runs:,} fresh runs" if tested.counts.runs else "by arithmetic"
        if mends and self._breaks_exactly(changed):
            mends, basis = False, "its paths were enumerated"
        told = "no violation was found" if mends else "the claim still breaks"
        words = f"{edit.words}, {told} on this pair ({basis})"
        return Remedy(
            edit.change,
            words,
            edit.place,
            edit.factor,
            tested.event,
            tested.counts,
            tested.log_p_value,
            mends,
            changed.replaced,
            changed.replacement,
        )

    def _breaks_exactly(self, changed: Edited) -> bool:
        """Whether exact probabilities still break the claim, by less than runs can show."""
        result, old = self._result, self._found.pair
        pair = Pair(old.d1, old.d2, old.category, changed.arguments)
        try:
            broken, calls = refuted_by_paths(changed.mechanism, pair, result.claim, result.settings)
        except (RefuteDPError, DidNotReturn):
            return False
        self.calls += calls
        return broken

    def _test(self, changed: Edited) -> Tested | None:
        settings, old = self._result.settings, self._found.pair
        self._number += 1
        seeds = child(settings.seed, EXPLAIN_STREAM, 1, self._number)
        proof, search, confirm = seeds.spawn(3)
        pair = Pair(old.d1, old.d2, old.category, changed.arguments)
        samplers = Samplers(changed.mechanism, settings.on_error, lift=settings.lift)
        try:
            sampler, _ = samplers.of(pair, proof)
            self.calls += samplers.calls
            calls = sampler.costs_calls
            runs = CALLED if calls else LIFTED
            self.lifted = not calls
            if isinstance(self._found, ExactEvidence):
                return self._told(sampler)
            if calls:
                if self._called + 2 * runs[0] + runs[1] > self._most_calls:
                    return None
                self._called += 2 * runs[0] + runs[1]
            self.calls += 2 * runs[0] + runs[1]
            return self._tested(sampler, runs, search, confirm)
        except (CannotSample, RefuteDPError, DidNotReturn):
            return None  # A change after which a call is endless mends nothing.

    def _told(self, sampler: Sampler) -> Tested | None:
        """What the pieces of a Gaussian output say, without runs."""
        claim = self._result.claim
        best = best_pieces([sampler], claim)
        if best is None:
            return None
        broken = best.shown > float(getattr(claim, claim.parameter))
        return Tested(math.log(REFUTED) if broken else 0.0, best.event.words(), Counts(0, 0, 0, 0))

    def _tested(self, sampler: Sampler, runs: tuple[int, int], search: Any, confirm: Any) -> Tested:
        claim, settings, pair = self._result.claim, self._result.settings, sampler.pair
        test = claim_test(claim)
        first, second = sampler.sample(runs[0], search)
        references, calls = zip(
            *(
                noise_free_leaves(sampler.mechanism, data, pair.arguments, outputs)
                for data, outputs in ((pair.d1, first), (pair.d2, second))
            ),
            strict=True,
        )
        self.calls += sum(calls)
        found = search_events(
            first,
            second,
            [one for one in dict.fromkeys(references) if one is not None],
            scorer=test.scorer(runs[0]),
            significance=settings.significance,
            pairs=1,
            keep=1,
            optimists=0,
        ).best
        events: list[tuple[Event, bool]] = [(self._found.event, False)]
        events += [(scored.event, scored.swapped) for scored in found]
        counted = sampler.count(tuple(event for event, _ in events), runs[1], 0.5, confirm)
        tangent = self._found.candidate.tangent if isinstance(self._found, Evidence) else None
        worst: Tested | None = None
        for number, ((event, swapped), hits) in enumerate(zip(events, counted, strict=True)):
            counts = hits.swapped() if swapped else hits
            line = tangent if number == 0 else None
            if number and test.carries_tangent:
                line = test.line(*search_rates(Counts(found[0].x, found[0].y, runs[0], runs[0])), 0.5)
            log_p = min(0.0, test.log_p_value(counts, line, "allocation") + math.log(len(events)))
            if worst is None or log_p < worst.log_p_value:
                worst = Tested(log_p, event.words(), counts)
        assert worst is not None
        errors = (_errors(first) + _errors(second)) / (2 * runs[0])
        return Tested(worst.log_p_value, worst.event, worst.counts, errors)


def _errors(outputs: Outputs) -> int:
    """How many of the runs ended in an exception."""
    return sum(group.size for group in outputs.groups if group.shape.error)
