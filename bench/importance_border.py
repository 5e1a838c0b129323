"""False alarms of importance-sampled runs on the border of the claim, stopped at the worst moment.

Part of `python -m bench.calibration`. Each mechanism satisfies its claim with equality on the event. The noise is
importance-sampled, and the stakes are chosen, for a twin of it whose noise is 8% too small: the worst that pilots
could do is to see a violation where there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from refutedp.detector.plan_importance import ImportancePlan, UnpairedImportancePlan, pilots, unpaired
from refutedp.events.features.basic import Statistic, Value
from refutedp.events.predicates import Interval
from refutedp.mechanisms.added_noise import analytic_sigma
from refutedp.model.claims import ApproxDP, Claim, PureDP, Tangent
from refutedp.model.mechanism import describe
from refutedp.model.records import Candidate, Counts, Pair
from refutedp.model.settings import Settings, child
from refutedp.sampling.lifted.lifted_sampler import LiftedSampler

LOOKS, RUNS = 6, 3000
"""Times one may stop, and runs before each."""
PAIRED = 0.92
"""The scale of the noise that the plan is made for, as a part of the real one."""


@dataclass(frozen=True, slots=True)
class Case:
    """A mechanism by the scale of its noise, and an event on which it meets its claim exactly."""

    words: str
    claim: Claim
    mechanism: Callable[[float], Callable[..., object]]
    scale: float
    pair: Pair
    event: Interval

    @property
    def line(self) -> Tangent:
        """The claim's bound at the event."""
        return self.claim.tangents()[0]


def _one(draw: str) -> Callable[[float], Callable[..., object]]:
    def of(scale: float) -> Callable[..., object]:
        return lambda data, rng: data[0] + getattr(rng, draw)(0.0, scale)

    return of


def _all(scale: float) -> Callable[..., object]:
    return lambda data, rng: [query + rng.laplace(0.0, scale) for query in data]


def _gaussian(delta: float) -> Case:
    sigma = analytic_sigma(1.0, delta)
    # Where the likelihood ratio is e^epsilon, delta is reached.
    edge = sigma**2 + 0.5
    words = f"Gaussian noise, δ = {delta:g}"
    pair = Pair([1.0], [0.0], "border")
    return Case(words, ApproxDP(1.0, delta), _one("normal"), sigma, pair, Interval(Value(), edge, None))


def _laplace(words: str, edge: float) -> Case:
    pair = Pair([0.0], [1.0], "border")
    event = Interval(Value(), None, edge)
    return Case(f"Laplace noise, {words} event", PureDP(0.5), _one("laplace"), 2.0, pair, event)


CASES = (
    _laplace("common", -0.5),
    _laplace("rare", -10.0),
    Case(
        "Laplace noise on three queries",
        PureDP(0.5),
        _all,
        6.0,
        Pair([0.0] * 3, [1.0] * 3, "border"),
        Interval(Statistic("max"), None, -1.0),
    ),
    _gaussian(1e-2),
    _gaussian(1e-4),
    _gaussian(1e-5),
)


def table(simulations: int, alpha: float) -> float:
    """Print the table; the worst rate in it."""
    print(f"\nSteered runs on the border, alpha = {alpha}, {LOOKS} looks, one every {RUNS:,} runs,")
    print(f"{simulations:,} simulations a row, stopped at the worst moment; in pairs, and each of one side")
    print(f"{'':<34}{'way':<6}{'P1, from runs':>15}{'alarms':>9}")
    worst = 0.0
    for case in CASES:
        for way in _ways(case):
            rate, alarms = _alarms(case, way, simulations, alpha)
            worst = max(worst, alarms)
            name = "pairs" if isinstance(way, ImportancePlan) else "unpaired"
            print(f"{case.words:<34}{name:<6}{rate:>15.3g}{alarms:>9.4f}", flush=True)
    return worst


def _sampler(case: Case, part: float) -> LiftedSampler:
    """The mechanism with noise of so much of its right scale."""
    return LiftedSampler(describe(case.mechanism(part * case.scale)), case.pair)


def _ways(case: Case) -> list[ImportancePlan | UnpairedImportancePlan]:
    """Both ways to sample by importance."""
    candidate = Candidate(case.pair, case.event, 0.5, 0.0, Counts(0, 0, 0, 0), case.line)
    piloted = pilots(_sampler(case, PAIRED), candidate, case.claim, Settings())
    assert piloted is not None
    other = unpaired(piloted)
    assert other is not None
    return [piloted.pairs(), other]


def _alarms(
    case: Case, way: ImportancePlan | UnpairedImportancePlan, simulations: int, alpha: float
) -> tuple[float, float]:
    """The event's rate, and how often the e-process rejects a claim that holds."""
    real, start = _sampler(case, 1.0), way.start(case.line)
    alarms, total = 0, 0.0
    for simulation in range(simulations):
        process = start
        for look in range(LOOKS):
            process = process.update(way.task(real, case.event, RUNS, child(7, simulation, look))())
        alarms += process.rejects(alpha)
        total += process.hits.rates[0]
    return total / simulations, alarms / simulations
