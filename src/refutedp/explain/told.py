"""The explanation of a violation: suspects of watched runs, tried one after the other by changes of the source."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from refutedp.detector.result import Result, Verdict
from refutedp.explain.blame import Blame, Suspect, blame
from refutedp.explain.costs import amount, claimed_amount, claimed_epsilon, in_words, needed_factor
from refutedp.explain.edits import Edit, decided, generator_in, refreshed, scaled, stretched, unseeded, with_noise
from refutedp.explain.hints import hints_of
from refutedp.explain.interventions import Trials
from refutedp.explain.observed import Watcher, scale_of
from refutedp.explain.source_lines import function_of, place_of
from refutedp.model.claims import Claim
from refutedp.model.explanation import Explanation, LedgerRow, Remedy
from refutedp.model.mechanism import Mechanism
from refutedp.model.records import ExactEvidence
from refutedp.tracing.ledger import LONGEST_CALLS
from refutedp.tracing.watchdog import CallBounds, DidNotReturn, Watchdog

MOST_CHANGES = 5
"""Changes that are tested: each takes some ten milliseconds where runs are lifted."""
OVER = 1.02
"""How many times the claim the ledger must come to, for a line to be named without a test."""


class Explainer:
    """Explains a result when it is first asked, and remembers what it said."""

    def __init__(self, result: Result, mechanism: Mechanism) -> None:
        self._result, self._mechanism = result, mechanism
        self._made: Explanation | None = None

    def __call__(self) -> Explanation | None:
        """The explanation; None of a result that is no violation."""
        if self._made is None:
            try:
                with Watchdog(CallBounds(LONGEST_CALLS)):
                    self._made = explanation_of(self._result, self._mechanism)
            except (Exception, DidNotReturn) as error:
                # The verdict stands without an explanation, whatever an odd mechanism does when it is watched.
                ended = isinstance(error, DidNotReturn)
                told = f"a call {error}" if ended else f"{type(error).__name__}: {error}"
                unknown = f"Which line breaks the claim is not known: watching it failed ({told})."
                self._made = Explanation(None, unknown)
        return self._made


def explained_later(result: Result, mechanism: Mechanism) -> Result:
    """The result, which makes its explanation when it is asked for it."""
    return replace(result, explain=Explainer(result, mechanism)) if result.verdict is Verdict.VIOLATION else result


def explanation_of(result: Result, mechanism: Mechanism) -> Explanation | None:
    """Why the counterexample breaks the claim; None where there is none.

    Everything in it is about this pair. A line is named if a change of it makes the violation vanish, or, where
    nothing can be tested, if nothing on it hides what differs.

    >>> from refutedp import check
    >>> def leaky(queries, epsilon, rng):
    ...     total = sum(queries)
    ...     return total + rng.laplace(scale=1 / epsilon)
    >>> result = check(leaky, epsilon=1.0, search_runs=2000, confirm_runs=5000, lengths=(5,))
    >>> result.explained().explanation is not None
    True
    """
    if result.verdict is not Verdict.VIOLATION:
        return None
    if result.exact is not None and not result.exact.pieces:
        from refutedp.explain.rare import rare_explanation

        return rare_explanation(result.exact, result, mechanism)
    if result.counterexample is None:
        return None
    pair, claim = result.counterexample.pair, result.claim
    watcher = Watcher(mechanism, result.settings.seed)
    blamed = blame(pair, claim, watcher)
    trials = Trials(result, mechanism)
    remedies: list[Remedy] = []
    named: Suspect | None = None
    tried: set[int] = set()
    testable = bool(blamed.suspects) and trials.begin()
    if testable:
        for number, suspect in enumerate(blamed.suspects):
            for edit in _edits(suspect, blamed, result, mechanism):
                remedy = trials.test(edit) if len(remedies) < MOST_CHANGES else None
                if remedy is None:
                    continue
                tried.add(number)
                remedies.append(remedy)
                if remedy.mends:
                    named = suspect
                    break
            if named is not None:
                break
    if named is None:
        named = next((one for i, one in enumerate(blamed.suspects) if i not in tried and _certain(one)), None)
    # Less ε mends noise that is too small, and nothing that is decided or released without noise.
    bounded = not blamed.discrepancies and not any(row.unbounded for row in blamed.rows)
    if testable and bounded and trials.lifted and not any(remedy.mends for remedy in remedies):
        for edit in _less_epsilon(result, blamed, mechanism):
            remedy = trials.test(edit)
            if remedy is not None:
                remedies.append(remedy)
                if remedy.mends:
                    break
        if named is None and remedies and remedies[-1].mends and (blamed.spent or 0.0) > OVER * claim.rough_epsilon:
            # Several lines share the blame: the one that costs most.
            named = next((one for one in blamed.suspects if one.kind == "noise" and one.weight > 0), None)
    grows = _grows(named, watcher, result, mechanism)
    explanation = Explanation(
        place=None if named is None else named.place,
        statement=_statement(named, blamed, claim, remedies),
        ledger=tuple(blamed.rows),
        spent=blamed.spent if claimed_epsilon(claim) is not None else None,
        claimed=claimed_epsilon(claim),
        discrepancies=tuple(blamed.discrepancies),
        remedies=tuple(remedies),
        calls=watcher.calls + trials.calls,
    )
    return replace(explanation, hints=hints_of(explanation, named, blamed, result, grows))


def _grows(named: Suspect | None, watcher: Watcher, result: Result, mechanism: Mechanism) -> float | None:
    """The scale of the blamed noise at twice the ε, where it is larger than at the ε of the counterexample."""
    assert result.counterexample is not None
    pair, name = result.counterexample.pair, mechanism.epsilon
    given = pair.arguments.get(name) if name is not None else None
    if named is None or named.kind != "noise" or named.site is None:
        return None
    if name is None or not isinstance(given, int | float):
        return None
    scales = []
    for arguments in (pair.arguments, {**pair.arguments, name: 2 * given}):
        draws = watcher.run(pair.d1, arguments, 0).draws
        scales.append(next((scale_of(draw) for draw in draws if draw.site.key == named.site.key), None))
    one, other = scales
    return other if one is not None and other is not None and other > one * 1.001 else None


def _certain(suspect: Suspect) -> bool:
    """Whether what was watched is enough to name it untested."""
    return suspect.place is not None and suspect.weight >= OVER


def _edits(suspect: Suspect, blamed: Blame, result: Result, mechanism: Mechanism) -> Iterator[Edit]:
    """Changes that would mend this, the smallest first."""
    place = suspect.place
    if place is None:
        return
    epsilon = claimed_epsilon(result.claim) or result.claim.rough_epsilon
    match suspect.kind:
        case "seed" if suspect.site is not None:
            yield unseeded(suspect.site, place)
        case "shared" if suspect.draw is not None:
            yield refreshed(suspect.draw, place)
        case "branch" if suspect.code is not None:
            yield decided(suspect.code, place, False)
            yield decided(suspect.code, place, True)
        case "exact" if suspect.code is not None and suspect.spot is not None:
            left = epsilon - (blamed.spent or 0.0)
            generator = generator_in(function_of(suspect.code), mechanism)
            if generator is not None and left > 0.05 * epsilon:
                yield with_noise(suspect.code, place, suspect.spot, _nice(suspect.moves / left), generator)
        case "noise" if suspect.spot is not None and suspect.code is not None:
            for factor in _factors(suspect, blamed, result):
                yield stretched(suspect.code, place_of(suspect.code, suspect.line), suspect.spot, factor)
        case "noise" if suspect.draw is not None:
            own = place_of(suspect.draw.site.code, suspect.draw.site.line)
            for factor in _factors(suspect, blamed, result):
                edit = scaled((suspect.draw, *suspect.beside), own, factor)
                if edit is not None:
                    yield edit


def _factors(suspect: Suspect, blamed: Blame, result: Result) -> list[float]:
    """How many times the noise may be enough: by the ledger, where it tells, else twice and as the bound says."""
    epsilon, claimed = claimed_epsilon(result.claim), claimed_amount(result.claim)
    row = next((one for one in blamed.rows if one.place == suspect.place and one.cost), None)
    if row is not None and row.cost is not None and blamed.spent is not None:
        left = claimed - (blamed.spent - row.cost)
        if left > 0.05 * claimed and row.cost > OVER * left:
            return [_nice(needed_factor(row.distribution, row.cost / left, result.claim))]
    assert result.counterexample is not None
    shown = result.counterexample
    bound = shown.bound(result.claim) if isinstance(shown, ExactEvidence) else shown.epsilon_lower_bound
    bound /= epsilon or result.claim.rough_epsilon or 1.0
    # The bound is at most what the claim is really exceeded by: more is asked for, so that the change mends it.
    first = max(2.0, _nice(1.5 * bound)) if math.isfinite(bound) else 2.0
    if 2 < suspect.weight < 100:
        first = max(first, _nice(suspect.weight))
    return [first, 2 * first] if suspect.weight > 0 else [first]


def _nice(x: float) -> float:
    """The next number of at most two digits.

    >>> _nice(2.05), _nice(4.0), _nice(14.3), _nice(0.123), _nice(321.0)
    (3.0, 4.0, 15.0, 0.13, 330.0)
    """
    if x <= 0:
        return 1.0
    if 1 < x <= 100:
        return float(math.ceil(x - 1e-9))
    digits = 1 - math.floor(math.log10(x))
    return float(round(math.ceil(x * 10**digits - 1e-9) / 10**digits, max(digits, 0)))


def _less_epsilon(result: Result, blamed: Blame, mechanism: Mechanism) -> Iterator[Edit]:
    """The mechanism told a part of the claim's ε."""
    assert result.counterexample is not None
    name, given = mechanism.epsilon, result.counterexample.pair.arguments
    epsilon = claimed_epsilon(result.claim)
    if name is None or epsilon is None or not isinstance(given.get(name), int | float) or given[name] <= 0:
        return
    bound = result.counterexample.epsilon_lower_bound / epsilon
    known = [] if not blamed.spent or blamed.spent <= epsilon else [_nice(blamed.spent / epsilon)]
    guess = _nice(1.2 * max(bound, 2.0))
    for factor in dict.fromkeys(known or (2.0, guess, 2 * guess)):
        told = given[name] / factor
        words = f"called with {name}={told:.4g}, and claimed for {epsilon:g}"
        yield Edit("epsilon", None, factor, words, None, None, {name: told})


def _statement(named: Suspect | None, blamed: Blame, claim: Claim, remedies: list[Remedy]) -> str:
    """One sentence."""
    if named is None or named.place is None:
        if not blamed.rows and blamed.first is not None and not blamed.discrepancies:
            return "Which line breaks the claim is not known: none of the mechanism's draws could be watched."
        return "Which line breaks the claim is not known: no change of one line was found to mend it."
    line = named.place.line
    if named.kind == "branch":
        return f"Line {line} decides on exact data: d1 goes one way and d2 the other, whatever the noise."
    if named.kind != "noise":
        return f"{named.words[0].upper()}{named.words[1:]}."
    row = next((one for one in blamed.rows if one.place == named.place and (one.cost or one.unbounded)), None)
    mended = next((one for one in remedies if one.mends and one.change == "scale"), None)
    if row is None or row.moves is None:
        if mended is not None:
            return f"The noise of line {line} is too small."
        if row is not None:
            told = in_words(row.cost, claim) if row.cost else f"no {claim.letter} allows that"
            return f"The choice of line {line} has other probabilities on d1 than on d2: {told}."
        return f"The noise of line {line} does not hide what differs."
    claimed, spent = claimed_amount(claim), blamed.spent or 0.0
    if row.cost and row.cost <= claimed < spent and claimed_epsilon(claim) is not None:
        own, together = in_words(row.cost, claim), in_words(spent, claim)
        return f"Line {line} costs {own} and all lines together {together}: {claimed:g} is claimed."
    used = " for all that it is used for" if row.cost and row.cost <= claimed else ""
    return f"The noise of line {line} is too small{used}: {row_words(row, claim)}."


def row_words(row: LedgerRow, claim: Claim) -> str:
    """What a row of the ledger says, such as "`total` moves by 5 where the scale is 1: ε 5"."""
    what = f"`{row.hides}`" if row.hides and len(row.hides) <= 40 else "what it hides"
    parts = []
    if row.moves is not None:
        parts.append(f"{what} moves by {amount(row.moves, 4)}")
        if row.scale is not None:
            parts.append(f"where the scale is {row.scale:.4g}")
    elif row.cost:
        parts.append("its probabilities differ")
    if row.unbounded:
        return (
            f"{' '.join(parts)}, which no {claim.letter} allows"
            if parts
            else f"no {claim.letter} allows what it does"
        )
    return f"{' '.join(parts)}: {in_words(row.cost, claim)}" if row.cost else " ".join(parts)
