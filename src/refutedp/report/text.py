"""A result as a person would explain it: a sentence first, numbers after, and the next step."""

from __future__ import annotations

import math
from dataclasses import dataclass

from refutedp.detector.confirmations import confirmation_of
from refutedp.detector.result import Result, Sweep, Verdict
from refutedp.detector.verdict import float_leak_note, p_value_text
from refutedp.model.claims import Claim
from refutedp.model.records import Estimates, Evidence, Pair
from refutedp.report.cause import cause_lines, ledger_lines, remedy_told
from refutedp.report.exact_words import exact_lines, loss_lines
from refutedp.report.pairs_as_text import pair_lines
from refutedp.report.readable import number_words, p_words, ratio_words

WIDTH = 120
"""Columns of a screen."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much a text tells of what may be long: rows of tables, of the ledger and of pieces, letters of a line."""

    table: int | None
    ledger: int
    pieces: int
    letters: int


ROOMS = (
    Room(None, 4, 8, 3 * WIDTH),
    Room(6, 4, 6, 3 * WIDTH),
    Room(4, 3, 5, 2 * WIDTH),
    Room(2, 1, 3, WIDTH),
    Room(0, 1, 2, WIDTH),
)
"""From the most to the least: the first with which a text fits on a screen is taken."""
SCREEN, HALF_SCREEN = 30, 15
"""Rows of a screen, for a violation, and what a correct mechanism may take of it."""


def explain(result: Result) -> str:
    """The whole result as text; what is long is cut where it would not fit on a screen."""
    most = SCREEN if result.verdict is Verdict.VIOLATION else HALF_SCREEN
    lines: list[str] = []
    for room in ROOMS:
        lines = [_cut(line, room.letters) for line in _lines(result, room)]
        if sum(max(math.ceil(len(line) / WIDTH), 1) for line in lines) <= most:
            break
    return "\n".join(lines)


def _cut(line: str, letters: int) -> str:
    return line if len(line) <= letters else f"{line[: letters - 3]}..."


def _lines(result: Result, room: Room) -> list[str]:
    lines = [_first_line(result), *cause_lines(result), ""]
    if result.exact is not None:
        lines += pair_lines(result.exact.pair, room.table)
        lines += _arguments(result.exact.pair)
        told = exact_lines(result.exact, result.claim, room.pieces)
        lines += [f"  event: {result.exact.event.words()}", "", *told]
        lines += [*loss_lines(result.loss), ""]
    elif result.evidence is not None:
        lines += pair_lines(result.evidence.pair, room.table)
        lines += _arguments(result.evidence.pair)
        lines.append(f"  event: {result.evidence.event.words()}")
        lines += _rates(result)
        lines += [*loss_lines(result.loss), ""]
    lines += _effort(result)
    lines += [f"Note: {note}" for note in _notes(result)]
    lines += [*ledger_lines(result, room.ledger), _next_step(result)]
    if result.verdict is not Verdict.VIOLATION:
        # What was not found needs no room to be looked at.
        lines = [line for line in lines if line]
    return lines


def _notes(result: Result) -> list[str]:
    """The notes; without that on last digits of floats, where the claim is broken on real numbers already."""
    beside = result.float_leak is not None and result.verdict is Verdict.VIOLATION
    floats = float_leak_note(result.float_leak) if beside and result.float_leak is not None else None
    return [note for note in result.notes if note != floats]


def headline(result: Result) -> str:
    """What was found, without the verdict's name in front of it."""
    return _first_line(result).partition(": ")[2]


def _first_line(result: Result) -> str:
    match result.verdict:
        case Verdict.VIOLATION:
            outside = result.counterexample.pair.outside if result.counterexample is not None else ""
            where = f", on inputs beyond those you gave ({outside})" if outside else ""
            return f"VIOLATION: {result.mechanism} does not satisfy {result.claim}{where}."
        case Verdict.INCONCLUSIVE if result.interrupted:
            return f"INCONCLUSIVE: the check of {result.mechanism} was interrupted before its verdict."
        case Verdict.INCONCLUSIVE if result.vacuous:
            return f"INCONCLUSIVE: nothing was tested. In nearly every run of {result.mechanism}, {result.vacuous}."
        case Verdict.INCONCLUSIVE:
            return f"INCONCLUSIVE: {result.mechanism} may violate {result.claim}; this budget cannot tell."
        case Verdict.NOT_FOUND:
            return f"No violation found: {result.mechanism} was not caught violating {result.claim}."


def _arguments(pair: Pair) -> list[str]:
    if not pair.arguments:
        return []
    listed = ", ".join(f"{name} = {value!r}" for name, value in pair.arguments.items())
    return [f"  arguments: {listed}" + (f"  ({pair.why})" if pair.why else "")]


def _rates(result: Result) -> list[str]:
    evidence = result.evidence
    assert evidence is not None
    lines = _counted(evidence) if evidence.estimates is None else _estimated(evidence, evidence.estimates)
    lines.append(f"  {_allowed(result.claim, evidence)}")
    lines.append(f"  p-value {p_words(evidence.log_p_value)} ({method_words(evidence)})")
    if evidence.rule == "early":
        lines.append(f"  convicted after {evidence.decided_after:,} fresh runs by a test that may stop at any time")
    certified = _certified(result.claim, evidence)
    if result.verdict is not Verdict.VIOLATION and math.isfinite(result.detectable_epsilon):
        certified += f"; the budget would have caught a real ε of {result.detectable_epsilon:.3g} or more"
    return [*lines, f"  {certified}", *examined(result)]


def examined(result: Result) -> list[str]:
    """What the function itself said, where lifted runs convict."""
    heard = result.examination
    if heard is None or heard.plain is None:
        return []
    plain = heard.plain
    calls = plain.counts.n_x + plain.counts.n_y
    if plain.log_p_value <= math.log(result.settings.significance):
        told = p_words(plain.log_p_value)
        return [f"  {calls:,} plain calls of the function convict by themselves (p-value {told})"]
    return [
        f"  too rare for {calls:,} plain calls to convict: their rates agree, and the function itself repeats "
        f"{heard.repeated:,} of the runs",
    ]


def _counted(evidence: Evidence) -> list[str]:
    counts = evidence.counts
    width = len(f"{max(counts.x, counts.y):,}")
    return [
        f"  on {side} it happened in {hits:>{width},} of {runs:,} fresh runs ({hits / max(runs, 1):.4%})"
        for side, hits, runs in (("d1", counts.x, counts.n_x), ("d2", counts.y, counts.n_y))
    ]


def _estimated(evidence: Evidence, weighted: Estimates) -> list[str]:
    lines = [
        f"  on {side} it happens in {_small(rate)} of runs{f', give or take {_small(error)}' if error else ''}"
        for side, rate, error in zip(("d1", "d2"), weighted.rates, weighted.errors, strict=True)
    ]
    counts = evidence.counts
    sides = "a side" if counts.n_x == counts.n_y else f"on d1 and {counts.n_y:,} on d2"
    noise = confirmation_of(evidence.candidate).noise_words
    return [*lines, f"  (weighted averages of {counts.n_x:,} fresh runs {sides}, their noise drawn {noise})"]


def _allowed(claim: Claim, evidence: Evidence) -> str:
    if claim.pure_epsilon is not None:
        return f"the claim allows a ratio of at most {ratio_words(claim.pure_epsilon)}; {_ratio(evidence)}"
    most = claim.largest(evidence.rates[1])
    return (
        f"at d2's rate the claim allows at most {f'{most:.4%}' if evidence.estimates is None else _small(most)} on d1"
    )


def _small(rate: float) -> str:
    """A rate of which five places may show nothing.

    >>> _small(0.00125), _small(3.2e-9), _small(0.0)
    ('0.12500%', '3.2e-09', '0.00000%')
    """
    return f"{rate:.3g}" if 0 < rate < 1e-6 else f"{rate:.5%}"


def _certified(claim: Claim, evidence: Evidence) -> str:
    confidence = f"{100 * evidence.confidence:.6g}%"
    letter, bound = evidence.bound_letter, own_bound(claim, evidence)
    if claim.pure_epsilon is not None:
        return f"claimed ε = {claim.pure_epsilon:g}; real ε ≥ {bound:.3g} with {confidence} confidence"
    return f"claimed: {claim}; real {letter} ≥ {bound:.3g}{claim.where} with {confidence} confidence"


def own_bound(claim: Claim, evidence: Evidence) -> float:
    """The certified bound in the claim's own currency, whose letter is `evidence.bound_letter`."""
    if claim.pure_epsilon is not None or evidence.bound is None:
        return max(evidence.epsilon_lower_bound, 0.0)
    return evidence.bound


def _ratio(evidence: Evidence) -> str:
    p1, p2 = evidence.rates
    if p2 == 0:
        return "on d2 it never happened" if p1 else "it happened on neither side"
    return f"the ratio of the rates is {number_words(p1 / p2)}"


def method_words(evidence: Evidence) -> str:
    """Which test gave the p-value."""
    if evidence.method == "fisher":
        other = p_words(evidence.log_p_reverse)
        return f"p⊤ of the paper's thinned Fisher test; p⊥ = {other}"
    if evidence.estimates is not None:
        return f"{confirmation_of(evidence.candidate).test_words}, event and direction fixed before them"
    if evidence.counts.both is not None:
        return "exact test on pairs of runs with the same noise, event and direction fixed before them"
    name = "exact test" if evidence.candidate.tangent is None else "Berger–Boos test"
    return f"{name} on randomly allocated runs, event and direction fixed before them"


def _effort(result: Result) -> list[str]:
    effort, explained = result.effort, 0 if result.explanation is None else result.explanation.calls
    if result.exact is not None and result.exact.pieces:
        looked = "1 pair of inputs" if effort.pairs == 1 else f"{effort.pairs:,} pairs of inputs"
        return [f"The noise of {looked} was followed; {effort.other_runs + explained:,} further runs."]
    if effort.search_runs == 0 and result.exact is not None:
        return ["The paths of this counterexample were enumerated again; nothing was searched."]
    if result.interrupted:
        return [f"Interrupted after {effort.other_runs:,} calls in this process, seed {result.settings.seed}."]
    if effort.search_runs == 0:
        return [f"Replayed on {effort.confirm_runs:,} fresh runs, seed {result.settings.seed}; nothing was searched."]
    pairs = "1 pair" if effort.pairs == 1 else f"{effort.pairs} pairs"
    return [
        f"Tried {pairs} of inputs ({result.adjacency}) and {effort.events:,} events on "
        f"{effort.search_runs:,} search runs;",
        f"confirmed on {effort.confirm_runs:,} fresh runs, seed {result.settings.seed}; "
        f"{effort.other_runs + explained:,} further runs.",
    ]


def _next_step(result: Result) -> str:
    match result.verdict:
        case Verdict.VIOLATION if result.explanation is not None and result.explanation.place is not None:
            line = result.explanation.place.line
            tested = "; the change was tested on this pair alone" if remedy_told(result.explanation) else ""
            return f"Next: mend line {line} and check again{tested}."
        case Verdict.VIOLATION:
            return "Next: trace d1 and d2 through the code, and see why the event distinguishes them."
        case Verdict.INCONCLUSIVE if result.interrupted:
            return "Next: run it again, with a shorter time_limit= (--time-limit) if it takes too long."
        case Verdict.INCONCLUSIVE if result.vacuous:
            return (
                "Next: give inputs on which it answers (pairs= or inputs=), or its arguments (args=), and see why it "
                "does the same on all of these."
            )
        case Verdict.INCONCLUSIVE:
            more = 10 * result.settings.confirm_runs
            return f"Next: give it more fresh runs, such as confirm_runs={more:_}."
        case Verdict.NOT_FOUND:
            return "This is no proof of privacy. Next: raise search_runs and confirm_runs, or pass your own pairs."


def p_value_table(sweep: Sweep) -> tuple[list[float], list[tuple[float, list[str]]]]:
    """The claimed epsilons of a sweep, and for each test epsilon its p-values against them, as text."""
    claimed = list(dict.fromkeys(point.claimed for point in sweep.points))
    cells = {(point.claimed, point.test): p_value_text(point.evidence.log_p_value) for point in sweep.points}
    tests = dict.fromkeys(point.test for point in sweep.points)
    return claimed, [(test, [cells[value, test] for value in claimed]) for test in tests]


def explain_sweep(sweep: Sweep) -> str:
    """A table: test epsilons down, one column of p-values for each claimed epsilon."""
    claimed, rows = p_value_table(sweep)
    lines = [f"{sweep.mechanism}: p-value against test ε ({sweep.adjacency}; seed {sweep.settings.seed})", ""]
    lines.append("  test ε" + "".join(f"{f'claimed {value:g}':>14}" for value in claimed))
    for test, cells in rows:
        lines.append(f"  {test:>6.4g}" + "".join(f"{cell:>14}" for cell in cells))
    lines.append("")
    for value in claimed:
        point = sweep.curve(value)[0]
        rises = sweep.rises_at(value)
        refuted = "no test ε is refuted" if rises is None else f"refuted at 5% up to test ε = {rises:g}"
        bound = max(point.evidence.epsilon_lower_bound, 0.0)
        lines.append(
            f"  claimed ε = {value:g}: {refuted}; real ε ≥ {bound:.3g} "
            f"with {100 * point.evidence.confidence:.6g}% confidence"
        )
    lines += [f"Note: {note}" for note in sweep.notes]
    return "\n".join(lines)
