"""`check`: one mechanism, one claim, one result; and what sweeps and replays share with it."""

from __future__ import annotations

import bisect
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Unpack

from refutedp.detector.budget import usual_limit
from refutedp.detector.clock import Clock
from refutedp.detector.detect import detect, tell_other_adjacency, tell_other_epsilon
from refutedp.detector.prepare import Request
from refutedp.detector.result import Effort, Result, Verdict
from refutedp.explain.told import explained_later
from refutedp.hypothesis.claim_test import claim_test
from refutedp.model.adjacency import ALL_DIFFER, Adjacency
from refutedp.model.claims import Claim, PureDP
from refutedp.model.errors import BeyondBoundsError, UsageError
from refutedp.model.mechanism import Mechanism, describe, origin_of, own_of
from refutedp.model.settings import Options, Progress, Settings, settings_from
from refutedp.sampling.pool.tasks import engine_running
from refutedp.tracing.watchdog import USUAL_SECONDS, CallBounds, DidNotReturn, Watchdog

LEAST_SECONDS = 5.0
"""That a call may take, however short the time limit is."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a check; `result` says how far it came, without a verdict."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.notes[-1])
        self.result = result


class CheckKeywords(Options, total=False):
    """The keywords of `check`, for functions that hand them on."""

    epsilon: float | None
    adjacency: Adjacency | None
    args: Mapping[str, Any] | None
    pairs: Sequence[Any] | None
    inputs: Any
    settings: Settings | None


def check(
    mechanism: Any,
    claim: Claim | None = None,
    *,
    epsilon: float | None = None,
    adjacency: Adjacency | None = None,
    args: Mapping[str, Any] | None = None,
    pairs: Sequence[Any] | None = None,
    inputs: Any = None,
    settings: Settings | None = None,
    **options: Unpack[Options],
) -> Result:
    """Search for a counterexample to the claim, then test the best one on fresh runs.

    `epsilon=0.5` is short for the claim `PureDP(0.5)`. The claim's numbers are handed to the mechanism's parameters
    of the same names: `epsilon` (or `eps`), `delta`, `rho`, `mu`, `alpha`. The probability of a false alarm is at
    most `significance`, whatever was searched.

    `adjacency` says which inputs are neighbours: ALL_DIFFER unless it is given, and then a violation is also looked
    for under ONE_DIFFERS, and what was found there is told. `pairs` are tried as they are. `inputs` is a data set, a
    list of data sets or a Hypothesis strategy of them, and their neighbours are tried; without either, patterns that
    suit the adjacency are.

    >>> def leaky(queries, epsilon, rng):
    ...     return sum(queries) + rng.laplace(scale=1 / epsilon)      # five queries may change, noise for one
    >>> result = check(leaky, epsilon=1.0, search_runs=2000, confirm_runs=5000, lengths=(5,))
    >>> result.verdict.value
    'violation'
    """
    chosen = settings_from(settings, options, of=check)
    own = own_of(mechanism)
    claim, adjacency, own_pairs = own.defaults(claim, epsilon, adjacency, pairs)
    pairs = own_pairs if inputs is None else pairs
    described = describe(mechanism, epsilon_name=chosen.epsilon_name)
    agreed = agreed_claim(claim, epsilon)
    _require_enough(agreed, chosen)
    running = engine_running(chosen.engine, chosen.scheduler)
    with reporting(chosen.progress) as report, running, bounded(chosen, described) as watchdog:
        clock = Clock(usual_limit(chosen.time_limit), _plan_of(options.get("plan", chosen.plan)))
        meant = ALL_DIFFER if adjacency is None else adjacency
        request = Request(described, agreed, meant, args, pairs, inputs, own.notes, clock)
        so_far = _SoFar(report)
        so_far.update(Progress("start", 0, 1, calls=lambda: watchdog.calls))
        try:
            result = detect(request, chosen, so_far.update)
            violated = result.verdict is Verdict.VIOLATION and result.exact is None
            if adjacency is None and pairs is None and inputs is None and violated:
                result = tell_other_adjacency(result, request, so_far.update)
            else:
                result = tell_other_epsilon(result, request, so_far.update)
        except KeyboardInterrupt:
            raise Interrupted(so_far.result(request, chosen, watchdog.calls)) from None
        planned = replace(result, settings=replace(result.settings, plan=clock.plan or None))
        return explained_later(planned, described)


class _SoFar:
    """Hands progress on, and remembers what an interrupted check can say."""

    def __init__(self, report: Callable[[Progress], None]) -> None:
        self._report = report
        self._stage = self._best = ""

    def update(self, state: Progress) -> None:
        """One step further."""
        if not state.told:
            self._stage, self._best = state.stage, state.best or self._best
        self._report(state)

    def result(self, request: Request, settings: Settings, calls: int) -> Result:
        """A result without evidence."""
        found = f"Best finding so far, not confirmed: {self._best}." if self._best else "Nothing was found so far."
        return Result(
            verdict=Verdict.INCONCLUSIVE,
            mechanism=request.mechanism.name,
            claim=request.claim,
            adjacency=str(request.adjacency),
            evidence=None,
            detectable_epsilon=math.inf,
            effort=Effort(0, 0, 0, 0, calls),
            settings=settings,
            notes=(*request.notes, f"Interrupted in the stage {self._stage!r}. {found}"),
            origin=origin_of(request.mechanism.function),
        )


@contextmanager
def bounded(settings: Settings, mechanism: Mechanism) -> Iterator[Watchdog]:
    """Bounds on each call for the block: one that goes beyond them is an error of one sentence, or an output."""
    limit = usual_limit(settings.time_limit)
    seconds = settings.call_limit
    if seconds is None:
        seconds = max(min(USUAL_SECONDS, limit / 2), LEAST_SECONDS)
    ends = time.monotonic() + (math.inf if settings.time_limit is None else limit)
    with Watchdog(CallBounds(seconds, settings.on_limit == "output", ends=ends)) as watchdog:
        try:
            yield watchdog
        except DidNotReturn as error:
            raise BeyondBoundsError(f"{mechanism.name}() {error}") from None


def _plan_of(given: Any) -> Mapping[str, int] | None:
    """The plan that was asked for, if one was: that of a check which the clock did not shape cuts nothing."""
    if given is None or isinstance(given, Mapping):
        return given
    if not isinstance(given, Result):
        from refutedp.api.saved.to_json import load

        given = load(given)
    if not isinstance(given, Result):
        raise UsageError("plan= names a file with a sweep, which has no plan: give a result of check")
    return given.settings.plan or {}


@contextmanager
def reporting(progress: Callable[[Progress], None] | bool | None) -> Iterator[Callable[[Progress], None]]:
    """What to call with each `Progress`: the caller's function, a bar on a terminal, or nothing."""
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda _: None
    else:
        from refutedp.api.progress import PATIENCE, Bar

        bar = Bar(patience=0.0 if progress else PATIENCE)
        try:
            yield bar.update
        finally:
            bar.close()


def agreed_claim(claim: Any, epsilon: Any) -> Claim:
    """The claim, for which `epsilon` may be short; what is no claim, or two, gets a sentence."""
    if claim is None and epsilon is None:
        raise UsageError("no claim was given: say what the mechanism promises, such as epsilon=0.5")
    if claim is None:
        return PureDP(epsilon)
    if not isinstance(claim, Claim):
        *kinds, last = Claim.kinds
        raise UsageError(
            f"claim={claim!r} is not a claim: use {', '.join(kinds)} or {last}, or epsilon=0.5 for short"
        )
    if epsilon is not None and epsilon != getattr(claim, "epsilon", None):
        raise UsageError(f"epsilon={epsilon!r} contradicts claim={claim!r}: give one of the two")
    return claim


def _require_enough(claim: Claim, settings: Settings) -> None:
    """Refuse a budget that could convict nobody, and name the least that could."""
    n, test = settings.confirm_runs, claim_test(claim)

    def enough(runs: int) -> bool:
        return test.could_convict(runs, settings.significance)

    if enough(n):
        return
    most = next((runs for runs in (n << k for k in range(31)) if runs <= 10**9 and enough(runs)), None)
    if most is None:
        raise UsageError(f"no number of runs can refute {claim} by a single event: its bound is never exceeded")
    least = bisect.bisect_left(range(most), True, lo=most // 2, key=enough)
    told = str(claim) if claim.pure_epsilon is None else f"epsilon={claim.pure_epsilon:g}"
    raise UsageError(
        f"confirm_runs={n} can never convict {told} at significance={settings.significance:g}, "
        f"even if every run agreed: use at least {least}"
    )
