"""Before a verdict on lifted runs is announced, the original function is called, with a real generator.

Lifted runs are an optimisation, and an optimisation may be wrong. So the rates of a violation's event must agree with
those of plain calls, and the calls reject the claim by themselves or, where the event is too rare for that, reproduce
lifted runs on the same draws. Where nothing was found, calls and lifted runs must not differ significantly on the
event that best separates a held-out half. Numbers of calls depend on counts only, never on time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from refutedp.detector.confirm import confirm
from refutedp.detector.confirmations import Allocation, confirmation_of
from refutedp.events.ranking import search_events
from refutedp.hypothesis.claim_test import RatioScorer
from refutedp.hypothesis.tests.ratio import log_binomial_upper, log_hypergeometric_upper
from refutedp.model.claims import Claim
from refutedp.model.outputs import Outputs
from refutedp.model.records import Evidence, Examination, count_hits
from refutedp.model.settings import COMPARE_STREAM, EXAMINE_STREAM, REPEAT_STREAM, Progress, Settings, child
from refutedp.sampling.lifted import LiftedSampler
from refutedp.sampling.sampler import CannotSample, Sampler, run_plain

CALLS, MOST_CALLS = 4_000, 20_000
"""Plain calls a side in which a violation may convict by itself; blatant ones take hundreds.

There are more of them, up to the second number, where that is what the rate of the event asks for.
"""
_SLACK = 1.6
"""How many more hits than that there shall be: their number varies, and early stops cost a part of the level."""
REPEATED = 100
"""Lifted runs in the event, on either side, that the function repeats, and as many that are not."""
COMPARED = 400
"""Plain calls a side where nothing was found: half of them choose an event, the others test it."""
_LEVEL = math.log(1e-6)
"""log of the probability with which a right lift is called wrong, in each of the tests here."""
_LIFTED = 4_000
"""Lifted runs that plain calls are compared with, where nothing was found."""


class Contradicted(Exception):
    """The function itself does not do what its lifted runs did; the text is half a sentence that says what.

    `runs` is how many there were before that was found out.
    """

    runs: int = 0

    def after(self, runs: int) -> Contradicted:
        """The same, after so many runs."""
        self.runs = runs
        return self


def cross_examine(
    sampler: Sampler,
    evidence: Evidence,
    claim: Claim,
    settings: Settings,
    report: Callable[[Progress], None],
) -> Examination | None:
    """Hear the function on a candidate that lifted runs have confirmed or not; None where no run was lifted.

    Raises `Contradicted`.
    """
    if not isinstance(sampler, LiftedSampler) or evidence.fallback:
        return None
    if evidence.log_p_value > math.log(settings.significance):
        return _compare(sampler, settings)
    brief = replace(
        settings,
        confirm_runs=min(_calls(evidence, claim, settings), settings.confirm_runs),
        stop="early",
        method="allocation",
    )
    independent = replace(evidence.candidate, confirmation=Allocation())
    plain = confirm(sampler.by_plain_calls(), independent, claim, brief, report, stream=EXAMINE_STREAM)
    calls = plain.counts.n_x + plain.counts.n_y
    _require_equal_rates(plain, evidence)
    if plain.log_p_value <= math.log(settings.significance):
        return Examination(calls, plain)
    repeated = _repeat(sampler, evidence, settings)
    return Examination(calls + repeated, plain, repeated)


def _calls(evidence: Evidence, claim: Claim, settings: Settings) -> int:
    """So many calls a side that the event can be expected to convict; the usual number where none would do.

    A hit is on d1 with probability at most q = e^ε / (1 + e^ε) under the claim, so that h hits there and none on d2
    have a p-value of q^h.
    """
    hits = _SLACK * math.log(4 / settings.significance) / math.log1p(math.exp(-claim.rough_epsilon))
    needed = math.ceil(hits / max(evidence.rates[0], 1e-9))
    return needed if CALLS < needed <= MOST_CALLS else CALLS


def _require_equal_rates(plain: Evidence, evidence: Evidence) -> None:
    """The rates of plain and lifted runs, by an exact test on either side."""
    sides = ((plain.counts.x, plain.counts.n_x), (plain.counts.y, plain.counts.n_y))
    lifted = ((evidence.counts.x, evidence.counts.n_x), (evidence.counts.y, evidence.counts.n_y))
    for side, ((hits, calls), (others, runs)) in enumerate(zip(sides, lifted, strict=True)):
        if evidence.estimates is None:
            differ = differ_surely(hits, calls, others, runs)
        else:
            differ = _differs_from(hits, calls, evidence.estimates.rates[side], evidence.estimates.errors[side])
        if differ:
            told = (
                f"{hits:,} of {calls:,} plain calls on d{side + 1}, and in {evidence.rates[side]:.4%} of lifted runs"
            )
            raise Contradicted(f"the event happened in {told}")


def differ_surely(x: int, n: int, y: int, m: int) -> bool:
    """Whether x of n and y of m cannot be hits of one and the same rate (Fisher's exact test, both tails).

    >>> differ_surely(30, 1000, 100, 4000), differ_surely(300, 1000, 100, 4000)
    (False, True)
    """
    upper = float(log_hypergeometric_upper(x, n + m, x + y, n))
    lower = float(log_hypergeometric_upper(y, n + m, x + y, m))
    return min(upper, lower) + math.log(2) <= _LEVEL


def _differs_from(hits: int, calls: int, rate: float, error: float) -> bool:
    """The same for a rate that is estimated, give or take seven standard errors."""
    low, high = max(rate - 7 * error, 0.0), min(rate + 7 * error, 1.0)
    upper = float(log_binomial_upper(hits, calls, high))
    lower = float(log_binomial_upper(calls - hits, calls, 1 - low))
    return min(upper, lower) + math.log(2) <= _LEVEL


def _repeat(sampler: LiftedSampler, evidence: Evidence, settings: Settings) -> int:
    """Let the function repeat runs of the lift on the same draws; how many."""
    from refutedp.sampling.lifted.trust.repeated_runs import hear_runs

    pair, rng = sampler.pair, np.random.default_rng(child(settings.seed, REPEAT_STREAM))
    repeated, hits, made = 0, [0, 0], 0
    rate = max((evidence.counts.x + 1) / (evidence.counts.n_x + 1), 1e-9)
    most = max(settings.confirm_runs, evidence.counts.n_x)
    try:
        if sampler.scattered:
            return 0  # Such runs are plain calls already.
        size = min(math.ceil(2 * REPEATED / rate), *(lift.chunk for lift in sampler.lifts))
        while made < most and hits[0] < REPEATED:
            noise = confirmation_of(evidence.candidate).noise(size, rng)
            room = REPEATED - hits[0]
            heard = hear_runs(
                sampler.lifts, sampler.mechanism, (pair.d1, pair.d2), pair.arguments, evidence.event, noise, rng, room
            )
            if heard.contradiction is not None:
                raise Contradicted(heard.contradiction)
            repeated, made = repeated + heard.repeated, made + size
            hits = [hits[0] + heard.hits[0], hits[1] + heard.hits[1]]
    except CannotSample as refusal:
        raise Contradicted(f"its lift was refused at last: {refusal}") from refusal
    if hits[0] == 0 and made * math.log1p(-min(rate, 0.999)) <= _LEVEL:
        raise Contradicted(f"the event did not happen again in {made:,} lifted runs on d1")
    return repeated


def _compare(sampler: LiftedSampler, settings: Settings) -> Examination:
    """Plain calls and lifted runs of each input must be indistinguishable."""
    pair = sampler.pair
    calls = min(COMPARED, 2 * settings.confirm_runs)
    for side, data in enumerate((pair.d1, pair.d2)):
        chosen, tested = (
            run_plain(sampler.mechanism, (data,), pair.arguments, np.zeros(calls // 2, dtype=np.int64), seeds)[0]
            for seeds in child(settings.seed, COMPARE_STREAM, side).spawn(2)
        )
        rng = np.random.default_rng(child(settings.seed, COMPARE_STREAM, side, 2))
        try:
            lifted = [sampler.lifts[side].sample(n, rng) for n in (calls // 2, _LIFTED)]
        except CannotSample as refusal:
            raise Contradicted(f"its lift was refused at last: {refusal}") from refusal
        _require_alike(chosen, lifted[0], tested, lifted[1], f"d{side + 1}")
    return Examination(2 * calls)


def _require_alike(chosen: Outputs, chosen_lifted: Outputs, tested: Outputs, lifted: Outputs, name: str) -> None:
    """The event that best tells the first plain calls from as many lifted runs must not distinguish the others."""
    scorer = RatioScorer()
    found = search_events(chosen, chosen_lifted, (), scorer=scorer, significance=0.05, pairs=1, keep=1, optimists=0)
    for scored in found.best:
        x, y = count_hits(scored.event, tested), count_hits(scored.event, lifted)
        if differ_surely(x, tested.size, y, lifted.size):
            told = f"in {x:,} of {tested.size:,} plain calls on {name}, and in {y:,} of {lifted.size:,} lifted runs"
            raise Contradicted(f"the event ({scored.event.words()}) happened {told}")
