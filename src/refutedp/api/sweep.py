"""The paper's figures: search and confirmation for each claimed epsilon, and what they say of many test epsilons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from refutedp.api.check import bounded, reporting
from refutedp.detector.confirm import count_fresh
from refutedp.detector.confirmations import judge
from refutedp.detector.cross_examine import Contradicted, cross_examine
from refutedp.detector.prepare import Prepared, Request
from refutedp.detector.race import Found, search
from refutedp.detector.result import Effort, Point, Sweep
from refutedp.detector.verdict import distrust_note
from refutedp.hypothesis.claim_test import claim_test
from refutedp.model.adjacency import ALL_DIFFER, Adjacency
from refutedp.model.claims import PureDP
from refutedp.model.errors import UsageError
from refutedp.model.mechanism import describe, origin_of
from refutedp.model.records import Evidence
from refutedp.model.settings import Options, Progress, Settings, positive_number, settings_from
from refutedp.sampling.pool.tasks import engine_running

if TYPE_CHECKING:
    from refutedp.detector.race import NoiseByStream


def sweep(
    mechanism: Any,
    *,
    claimed: Iterable[float],
    test: Iterable[float],
    adjacency: Adjacency | None = None,
    args: Mapping[str, Any] | None = None,
    pairs: Sequence[Any] | None = None,
    inputs: Any = None,
    settings: Settings | None = None,
    **options: Unpack[Options],
) -> Sweep:
    """P-value and certified bound against test epsilon, one curve a claimed epsilon: the paper's figures.

    Search and confirmation runs are shared by all test epsilons of a claimed one: the event with the largest
    certified epsilon is the best against each of them.

    >>> def noisy(queries, epsilon, rng):
    ...     return queries[0] + rng.laplace(scale=1 / epsilon)
    >>> curve = sweep(noisy, claimed=[1.0], test=[0.2, 3.0], search_runs=2000, confirm_runs=5000, lengths=(1,))
    >>> [point.p_value < 0.05 for point in curve.points]
    [True, False]
    """
    chosen = settings_from(settings, options, of=sweep)
    if chosen.time_limit is not None:
        raise UsageError(f"time_limit={chosen.time_limit:g} is for check: give sweep search_runs and confirm_runs")
    described = describe(mechanism, epsilon_name=chosen.epsilon_name)
    adjacency = ALL_DIFFER if adjacency is None else adjacency
    claims = [positive_number("claimed epsilon", value) for value in _list("claimed", claimed)]
    tests = sorted(positive_number("test epsilon", value) for value in _list("test", test))
    # A curve says nothing of rounding, so it is not looked for.
    searched = replace(chosen, float_leaks="ignore") if chosen.float_leaks == "report" else chosen
    request = Request(described, PureDP(claims[0]), adjacency, args, pairs, inputs)
    running = engine_running(chosen.engine, chosen.scheduler)
    with reporting(chosen.progress) as report, running, bounded(chosen, described):
        distrust: tuple[str, ...] = ()
        try:
            curves = _curves(request, claims, tests, searched, report)
        except Contradicted as trouble:
            curves = _curves(request, claims, tests, replace(searched, lift=False), report)
            distrust = (distrust_note(trouble),)
    return Sweep(
        described.name,
        str(adjacency),
        tuple(point for curve in curves for point in curve.points),
        tuple(curve.effort for curve in curves),
        chosen,
        tuple(dict.fromkeys([*(note for curve in curves for note in curve.notes), *distrust])),
        origin_of(described.function),
    )


@dataclass(frozen=True, slots=True)
class _Curve:
    """The points of one claimed epsilon."""

    points: tuple[Point, ...]
    effort: Effort
    notes: tuple[str, ...]


def _curves(
    request: Request,
    claimed: Sequence[float],
    tests: Sequence[float],
    settings: Settings,
    report: Callable[[Progress], None],
) -> list[_Curve]:
    """One curve a claimed epsilon, from the largest on, for little noise shows best which pairs have a chance."""
    curves: dict[int, _Curve] = {}
    promising: dict[tuple[Any, ...], frozenset[int]] = {}
    noise: NoiseByStream = {}
    for place in sorted(range(len(claimed)), key=lambda place: -claimed[place]):
        claim = PureDP(claimed[place])
        prepared = Prepared(replace(request, claim=claim), settings, report)
        inputs_tried = tuple((one.pair.category, one.length) for one in prepared.samplers)
        known = promising.get(inputs_tried, frozenset())
        scorer = claim_test(claim).scorer(settings.search_runs)
        found = search(prepared, claim, scorer, settings, report, known, noise)
        promising[inputs_tried] = known | found.promising
        curves[place] = _curve(found, prepared, claim, tests, settings, report)
    return [curves[place] for place in range(len(claimed))]


def _curve(
    found: Found,
    prepared: Prepared,
    claim: PureDP,
    tests: Sequence[float],
    settings: Settings,
    report: Callable[[Progress], None],
) -> _Curve:
    """What one set of fresh runs says of every test epsilon."""
    if found.candidate is None or found.sampler is None:
        raise UsageError(
            f"{prepared.mechanism.name}() gives one and the same output always: there is no curve to draw"
        )
    counts = count_fresh(found.sampler, found.candidate, settings, report)
    judged = replace(judge(found.candidate, counts, claim, settings), bound=None)
    points = [Point(claim.epsilon, t, _against(judged, t, settings.method)) for t in tests]
    # What refutes the smallest test epsilon is heard for all: it is the same event.
    heard = cross_examine(found.sampler, points[0].evidence, PureDP(tests[0]), settings, report)
    other = prepared.calls + found.noise_free + (0 if heard is None else heard.calls)
    effort = Effort(found.pairs, found.events, found.runs, 2 * settings.confirm_runs, other)
    return _Curve(tuple(points), effort, tuple(prepared.notes))


def _against(judged: Evidence, epsilon: float, method: str) -> Evidence:
    """The same counts against another epsilon; what they certify does not depend on it."""
    test = claim_test(PureDP(epsilon))
    log_p, log_p_reverse = test.log_p_value(judged.counts, method=method), test.log_p_reverse(judged.counts, method)
    return replace(judged, log_p_value=log_p, log_p_reverse=log_p_reverse)


def _list(name: str, values: Any) -> list[Any]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise UsageError(f"{name}={values!r} must be a list of epsilons, such as [0.2, 0.7, 1.5]")
    items = list(values)
    if not items:
        raise UsageError(f"{name}=[] is empty: give at least one epsilon")
    return items
