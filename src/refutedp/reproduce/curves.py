"""Compute one curve: a mechanism run with one claimed epsilon, tested against every test epsilon, by both tests."""

from __future__ import annotations

import math
import time
from pathlib import Path

import msgspec

from refutedp.api.check import reporting
from refutedp.api.saved.files import write_atomically
from refutedp.detector.confirm import count_fresh
from refutedp.detector.confirmations import Allocation
from refutedp.detector.prepare import Prepared, Request
from refutedp.detector.race import search
from refutedp.hypothesis.claim_test import claim_test
from refutedp.hypothesis.tests import fisher
from refutedp.hypothesis.tests.ratio import epsilon_lower_bound
from refutedp.mechanisms import BuiltIn
from refutedp.model.adjacency import ALL_DIFFER, ONE_DIFFERS
from refutedp.model.claims import PureDP
from refutedp.model.errors import RefuteDPError
from refutedp.model.mechanism import describe
from refutedp.model.records import Candidate, Counts
from refutedp.model.settings import Settings
from refutedp.reproduce.paper import LEVEL
from refutedp.reproduce.truth import best_on_pair, worst_case
from refutedp.sampling.pool.tasks import engine_running

FORMAT = 1


class CurvePlan(msgspec.Struct, frozen=True):
    """What decides a curve's numbers: a finished curve is kept only if its plan is the same."""

    mechanism: str
    claimed: float
    tests: tuple[float, ...]
    search_runs: int
    confirm_runs: int
    seed: int
    version: str
    format: int = FORMAT


class Curve(msgspec.Struct, frozen=True):
    """One curve with the counterexample behind it; logarithms of p-values, for they go below any float.

    `bound` is certified at 95%; `best` is the most that any event could show on this pair and `truth` the mechanism's
    real epsilon, -1 standing for infinite and None for unknown.
    """

    plan: CurvePlan
    title: str
    correct: bool
    log_p_paper: tuple[float, ...]
    log_p_ours: tuple[float, ...]
    bound: float
    best: float | None
    truth: float | None
    d1: tuple[float, ...]
    d2: tuple[float, ...]
    arguments: dict[str, float]
    why: str
    event: str
    hits: tuple[int, int]
    runs: tuple[int, int]
    seconds: float
    argument_seconds: float
    pairs: int
    events: int


def compute(built_in: BuiltIn, plan: CurvePlan, jobs: int) -> Curve:
    """Arguments by symbolic execution, one search, fresh runs for our test and again for the paper's."""
    settings = Settings(
        search_runs=plan.search_runs, confirm_runs=plan.confirm_runs, seed=plan.seed, jobs=jobs, progress=False
    )
    claim = PureDP(plan.claimed)
    adjacency = ONE_DIFFERS if built_in.adjacency == "one" else ALL_DIFFER
    mechanism = describe(built_in.function)
    with reporting(False) as report, engine_running("local", None):
        start = time.perf_counter()
        prepared = Prepared(Request(mechanism, claim, adjacency), settings, report)
        prepared_at = time.perf_counter()
        found = search(prepared, claim, claim_test(claim).scorer(plan.search_runs), settings, report)
        if found.candidate is None or found.sampler is None:
            raise RefuteDPError(f"{built_in.name}() gave the same output on every run")
        ours = found.candidate
        counts = count_fresh(found.sampler, ours, settings, report)
        end = time.perf_counter()
        papers = Candidate(ours.pair, ours.event, Allocation(), ours.score, ours.search)
        even = count_fresh(found.sampler, papers, settings, report)
    pair = ours.pair
    others = {k: v for k, v in pair.arguments.items() if k != mechanism.epsilon}
    return Curve(
        plan=plan,
        title=built_in.title,
        correct=built_in.correct,
        log_p_paper=tuple(_papers_p(even, test) for test in plan.tests),
        log_p_ours=tuple(claim_test(PureDP(test)).log_p_value(counts) for test in plan.tests),
        bound=epsilon_lower_bound(counts, 1 - LEVEL),
        best=_plain(best_on_pair(built_in.name, claim.epsilon, pair.d1, pair.d2, others)),
        truth=_plain(worst_case(built_in.name, claim.epsilon, others)),
        d1=tuple(pair.d1),
        d2=tuple(pair.d2),
        arguments=others,
        why=pair.why,
        event=ours.event.words(),
        hits=(counts.x, counts.y),
        runs=(counts.n_x, counts.n_y),
        seconds=end - prepared_at,
        argument_seconds=prepared_at - start,
        pairs=found.pairs,
        events=found.events,
    )


def _papers_p(counts: Counts, epsilon: float) -> float:
    """The paper plots the smaller of its two p-values."""
    return min(fisher.log_p_value(side, epsilon) for side in (counts, counts.swapped()))


def _plain(value: float) -> float | None:
    """JSON has neither nan nor infinity: unknown is None, infinite is -1, which no epsilon is."""
    if math.isnan(value):
        return None
    return -1.0 if math.isinf(value) else value


def load(path: Path, plan: CurvePlan) -> Curve | None:
    """A finished curve of the same plan, or None; a file that cannot be read is computed anew."""
    try:
        curve = msgspec.json.decode(path.read_bytes(), type=Curve)
    except (OSError, msgspec.DecodeError):
        return None
    return curve if curve.plan == plan else None


def store(path: Path, curve: Curve) -> None:
    """Write the curve whole or not at all."""
    write_atomically(path, msgspec.json.format(msgspec.json.encode(curve), indent=1))
