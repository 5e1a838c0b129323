"""Where sampling finds nothing: enumerate the mechanism's paths on the pairs, and compare exact probabilities.

A violation needs three things. Every path that counts was repeated by the function itself on draws that lead down
it; what was not enumerated counts fully against the violation; and plain runs of the function with a real generator
do not contradict the probabilities of its common outputs, or of the event itself.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from refutedp.detector.result import Result, Verdict
from refutedp.detector.verdict import outside_note
from refutedp.hypothesis.tests.ratio import log_binomial_upper
from refutedp.model.claims import ApproxDP, Claim, PureDP
from refutedp.model.mechanism import Mechanism
from refutedp.model.records import ExactEvidence, ExactLoss, Pair, PathWitness, count_hits
from refutedp.model.settings import EXACT_STREAM, Settings, child
from refutedp.sampling.encode import encode
from refutedp.sampling.sampler import run_plain

if TYPE_CHECKING:
    from refutedp.exact.chances import Breach
    from refutedp.exact.path_list import Enumerator, PathList

STEPS = 4_300
"""Draws, decisions and looks at events that all pairs may take: at most half a second."""
STEPS_OF_INTEGRAL = 250
"""What the integral over a path on which draws are compared counts for."""
MOST_INTEGRALS = 16
"""Such paths of one input; where there are more, they are not all known, and neither is the exact ε of the pair."""
PART_OF_STEPS = 3
"""One input may take a part of these."""
CALLS = 1_000
"""Plain calls a side that must not contradict the enumerated probabilities."""
REPEATED, TIMES = 40, 4
"""Paths of either input that the function repeats on more draws before they convict, and how often."""
FEW_CALLS = 200
"""The same, where paths say what the ε of a pair is and convict nobody."""
COMMON = 0.01
"""An event that is not rarer than this is compared with plain calls."""
LEVEL = math.log(1e-6)
"""log of the probability with which right probabilities are called wrong."""
CONTRADICTED = (
    "Enumerated paths of this function were wrong: plain calls contradict them, so they are no evidence. Please "
    "report the function: this is a bug in RefuteDP, not in it."
)
FAR_LESS = 0.01
"""Part of an event's probability that may be missing where a mended mechanism is said not to break the claim."""
UP_TO = 1e-9
"""An exact ε beyond the claim by no more than this is rounding."""
SHOWN = 3
"""Witnesses that are kept: paths in the event on d1, the likeliest first."""


def look_exactly(result: Result, mechanism: Mechanism, pairs: Sequence[Pair], claim: Claim) -> Result:
    """The result, or a violation that rests on enumerated paths where sampling found none.

    Where all paths of its pair are known, with the exact ε of the pair.
    """
    settings = result.settings
    if settings.paths == 0 or not _takes_part(mechanism, claim, settings):
        return result
    from refutedp.exact.path_list import Enumerator

    known = _KnownPaths(Enumerator(mechanism), settings)
    if result.verdict is not Verdict.VIOLATION:
        result = _convicted(result, mechanism, pairs, claim, known)
    result = replace(result, loss=_loss(result, mechanism, claim, known))
    if result.verdict is Verdict.INCONCLUSIVE and not result.vacuous and _within(result.loss, claim):
        # Chance made the runs look suspicious: arithmetic says that no event on this pair breaks the claim.
        result = replace(result, verdict=Verdict.NOT_FOUND)
    return replace(result, effort=replace(result.effort, other_runs=result.effort.other_runs + known.calls))


def _within(loss: ExactLoss | None, claim: Claim) -> bool:
    """Whether the exact loss of a pair is what the claim allows, up to the rounding of floats."""
    if loss is None:
        return False
    assert isinstance(claim, PureDP | ApproxDP)
    within = loss.epsilon[1] <= claim.epsilon + UP_TO
    return within or (isinstance(claim, ApproxDP) and loss.delta is not None and loss.delta[1] <= claim.delta)


def _loss(result: Result, mechanism: Mechanism, claim: Claim, known: _KnownPaths) -> ExactLoss | None:
    """The exact ε of the pair that the result is about, unless what fresh runs certify contradicts it."""
    from refutedp.exact.pair_loss import pair_loss

    told = result.exact if result.exact is not None else result.evidence
    if told is None:
        return None
    known.allow(STEPS // 2)
    first = known.of(told.pair.d1, told.pair.arguments)
    if first is None or not first.complete:
        return None
    second = known.of(told.pair.d2, told.pair.arguments)
    if second is None:
        return None
    loss = pair_loss(first, second, float(getattr(claim, "epsilon", 0.0)))
    if loss is None or told.epsilon_lower_bound > loss.epsilon.high:
        return None
    if result.exact is None and not known.agreed(mechanism, told.pair, (first, second)):
        return None
    return ExactLoss(told.pair, loss.epsilon, loss.delta, (len(first.paths), len(second.paths)))


def _convicted(
    result: Result, mechanism: Mechanism, pairs: Sequence[Pair], claim: Claim, known: _KnownPaths
) -> Result:
    found = enumerate_pairs(mechanism, pairs, claim, result.settings, known)
    if isinstance(found, str):
        return replace(result, notes=(*result.notes, found))
    if found is None:
        return result
    notes = [outside_note(found, None, "")] if found.pair.outside else []
    # Fresh runs that showed nothing are no evidence for this, and stay out of it.
    return replace(
        result,
        verdict=Verdict.VIOLATION,
        exact=found,
        evidence=None,
        examination=None,
        detectable_epsilon=math.inf,
        notes=(*result.notes, *notes),
        vacuous="",
        make_profile=None,
    )


def _takes_part(mechanism: Mechanism, claim: Claim, settings: Settings) -> bool:
    inner = getattr(mechanism.function, "func", mechanism.function)
    call = vars(type(inner)).get("__call__")
    python = isinstance(inner, FunctionType | MethodType) or isinstance(call, FunctionType)
    simple = not mechanism.batched and mechanism.seed is None and settings.on_error == "output"
    return python and simple and isinstance(claim, PureDP | ApproxDP)


def enumerate_pairs(
    mechanism: Mechanism, pairs: Sequence[Pair], claim: Claim, settings: Settings, lists: _KnownPaths
) -> ExactEvidence | str | None:
    """The pair and event that break the claim the most by enumerated paths; or a note on what contradicts them."""
    from refutedp.exact.chances import worst_breach

    found: list[tuple[Breach, Pair, PathList, PathList]] = []
    for pair in pairs:
        sides = lists.of(pair.d1, pair.arguments), lists.of(pair.d2, pair.arguments)
        first, second = sides
        if first is None or second is None:
            break
        if not first.paths or not second.paths:
            if not found and not lists.followed:
                break  # A mechanism that cannot be followed here is not followed elsewhere.
            continue
        breach = worst_breach(first, second, claim, lists.spend)
        if breach is not None:
            one, other = (second, first) if breach.swapped else (first, second)
            found.append((breach, pair.swapped() if breach.swapped else pair, one, other))
    ordinary = [one for one in found if not one[1].outside] or found
    for breach, pair, one, other in sorted(ordinary, key=lambda one: -one[0].score)[:1]:
        lists.calls_besides += 2 * calls_of(settings)
        if lists.repeated(pair, (one, other)) and _plain_calls(mechanism, pair, (one, other), breach.event, settings):
            return _evidence(breach, pair, (one, other), calls_of(settings))
        return CONTRADICTED
    return None


class _KnownPaths:
    """The paths of each input, as long as there is work left."""

    def __init__(self, enumerator: Enumerator, settings: Settings) -> None:
        self._enumerator, self._settings = enumerator, settings
        self._known: dict[bytes, PathList] = {}
        self._steps = STEPS
        # Where every call is slow, budgets are small.
        self._paths = max(1, min(settings.paths, settings.confirm_runs // 100))
        self.calls_besides = 0
        """Plain calls that were made to check them."""
        self.followed = False
        """Whether any path of any input was."""

    @property
    def calls(self) -> int:
        """All calls."""
        return self._enumerator.calls + self.calls_besides

    def repeated(self, pair: Pair, sides: tuple[PathList, PathList]) -> bool:
        """Whether the function does what the paths say on more draws that lead down them."""
        return _repeated(self._enumerator, pair, sides, self._settings)

    def agreed(self, mechanism: Mechanism, pair: Pair, sides: tuple[PathList, PathList]) -> bool:
        """Whether the function agrees with paths that convict nobody."""
        few = replace(self._settings, confirm_runs=min(self._settings.confirm_runs, 50 * FEW_CALLS))
        self.calls_besides += 2 * calls_of(few)
        return self.repeated(pair, sides) and _plain_calls(mechanism, pair, sides, None, few)

    def allow(self, steps: int) -> None:
        """Allow at least so much more work."""
        self._steps = max(self._steps, steps)

    def spend(self, steps: int) -> bool:
        """Count work; whether there is some left."""
        self._steps -= steps
        return self._steps > 0

    def of(self, data: Any, arguments: Mapping[str, Any]) -> PathList | None:
        """The paths of an input; None when the work is used up."""
        try:
            key = pickle.dumps((data, dict(arguments)))
        except Exception:
            key = repr((id(data), arguments)).encode()
        if key not in self._known:
            if self._steps <= 0:
                return None
            paths = self._enumerator.paths(data, arguments, self._paths, STEPS // PART_OF_STEPS, MOST_INTEGRALS)
            self.spend(paths.steps + 10 * len(paths.paths) + STEPS_OF_INTEGRAL * paths.integrals)
            self.followed |= bool(paths.paths)
            self._known[key] = paths
        return self._known[key]


def _repeated(enumerator: Enumerator, pair: Pair, sides: tuple[PathList, PathList], settings: Settings) -> bool:
    rng = np.random.default_rng(child(settings.seed, EXACT_STREAM, 2))
    return all(
        enumerator.repeats(path, data, pair.arguments, rng)
        for data, paths in zip((pair.d1, pair.d2), sides, strict=True)
        # The rarest paths are those of which plain calls say nothing.
        for path in sorted(paths.paths, key=lambda path: path.trail.mass().high)[:REPEATED]
        for _ in range(TIMES)
    )


def calls_of(settings: Settings) -> int:
    """Plain calls a side."""
    return min(CALLS, max(settings.confirm_runs // 50, 1))


def _plain_calls(
    mechanism: Mechanism, pair: Pair, sides: tuple[PathList, PathList], event: Any, settings: Settings
) -> bool:
    """Whether plain calls agree with the probabilities of common events, and of the one that is to convict."""
    from refutedp.exact.chances import chance, events_of

    for side, (data, paths) in enumerate(zip((pair.d1, pair.d2), sides, strict=True)):
        seeds = child(settings.seed, EXACT_STREAM, side)
        calls = calls_of(settings)
        outputs = run_plain(mechanism, (data,), pair.arguments, np.zeros(calls, dtype=np.int64), seeds)[0]
        compared = [(one, chance(one, paths)) for one in events_of(paths, paths)]
        compared = [(one, bounds) for one, bounds in compared if bounds.high >= COMMON]
        if event is not None:
            compared.append((event, chance(event, paths)))
        level = LEVEL - math.log(2 * 2 * max(len(compared), 1))
        for one, bounds in compared:
            if contradicts(count_hits(one, outputs), calls, (bounds.low, bounds.high), level):
                return False
        if event is not None and not _witnesses_agree(event, paths):
            return False
    return True


def contradicts(hits: int, calls: int, bounds: tuple[float, float], level: float) -> bool:
    """Whether no probability within the bounds has so many hits, by an exact test in either tail at e^level."""
    upper = float(log_binomial_upper(hits, calls, min(bounds[1], 1.0)))
    lower = float(log_binomial_upper(calls - hits, calls, min(1 - bounds[0], 1.0)))
    return min(upper, lower) <= level


def _witnesses_agree(event: Any, paths: PathList) -> bool:
    """Whether the outputs of paths lie in the event just where their probabilities say so."""
    from refutedp.exact.chances import part

    for path in paths.paths:
        bounds, hit = part(event, path), count_hits(event, encode([path.output])) == 1
        if (bounds.high == 0 and hit) or (bounds.low > 0 and bounds.low >= path.mass.low * (1 - 1e-9) and not hit):
            return False
    return True


def _evidence(breach: Breach, pair: Pair, sides: tuple[PathList, PathList], calls: int) -> ExactEvidence:
    from refutedp.exact.chances import part

    inside = [path for path in sides[0].paths if part(breach.event, path).low > 0]
    inside.sort(key=lambda path: -path.mass.low)
    return ExactEvidence(
        pair=pair,
        event=breach.event,
        low=breach.low,
        high=breach.high,
        paths=(len(sides[0].paths), len(sides[1].paths)),
        missing=(sides[0].missing, sides[1].missing),
        witnesses=tuple(PathWitness(path.values, repr(path.output)) for path in inside[:SHOWN]),
        calls=calls,
    )


def prove_again(
    mechanism: Mechanism, pair: Pair, event: Any, claim: Claim, settings: Settings
) -> tuple[ExactEvidence | None, int]:
    """What enumerated paths say today of one pair and event; None where they break the claim no longer."""
    from refutedp.exact.chances import breach_of
    from refutedp.exact.path_list import Enumerator

    enumerator = Enumerator(mechanism)
    first, second = (enumerator.paths(data, pair.arguments, max(settings.paths, 1)) for data in (pair.d1, pair.d2))
    breach = breach_of(event, first, second, claim)
    agreed = breach is not None and _repeated(enumerator, pair, (first, second), settings)
    if breach is None or not agreed or not _plain_calls(mechanism, pair, (first, second), event, settings):
        return None, enumerator.calls
    calls = calls_of(settings)
    return _evidence(breach, pair, (first, second), calls), enumerator.calls + 2 * calls


def still_refuted(
    mechanism: Mechanism, told: ExactEvidence, claim: Claim, settings: Settings
) -> tuple[bool | None, int]:
    """Whether enumerated paths break the claim on the pair, by any event, and the calls; None where they cannot tell.

    They tell where what is missing is far less likely than the event that `told` is about.
    """
    return _broken_by_paths(mechanism, told.pair, claim, settings, FAR_LESS * told.low)


def refuted_by_paths(mechanism: Mechanism, pair: Pair, claim: Claim, settings: Settings) -> tuple[bool, int]:
    """Whether enumerated paths break the claim on the pair, where they can be followed, and the calls that took."""
    if settings.paths == 0 or not _takes_part(mechanism, claim, settings):
        return False, 0
    broken, calls = _broken_by_paths(mechanism, pair, claim, settings, math.inf)
    return broken is True, calls


def _broken_by_paths(
    mechanism: Mechanism, pair: Pair, claim: Claim, settings: Settings, missing: float
) -> tuple[bool | None, int]:
    """Whether enumerated paths break the claim; None where there are none, or more than `missing` is unknown."""
    from refutedp.exact.chances import worst_breach
    from refutedp.exact.path_list import Enumerator

    known = _KnownPaths(Enumerator(mechanism), settings)
    first, second = (known.of(data, pair.arguments) for data in (pair.d1, pair.d2))
    if first is None or second is None or not first.paths or not second.paths:
        return None, known.calls
    if max(first.missing, second.missing) > missing:
        return None, known.calls
    return worst_breach(first, second, claim, known.spend) is not None, known.calls
