"""What a text says of the cause of a violation: where it is, how to mend it, and what its noise hides."""

from __future__ import annotations

import math

from refutedp.detector.result import Result
from refutedp.explain.costs import amount
from refutedp.model.claims import Claim
from refutedp.model.explanation import Explanation, LedgerRow, Remedy
from refutedp.report.readable import number_words

MOST_TOLD = 1
"""Hints that are told, the most specific first: the first screen has room for no more."""
_WIDEST = 100


def cause_lines(result: Result) -> list[str]:
    """Where the cause is and how to mend it, as far as that is known."""
    told = result.explanation
    if told is None:
        return []
    if told.place is None:
        return [f"  {told.statement}", *_remedy_lines(told)]
    place = told.place
    lines = [f"  {place.file}, line {place.line}, in {place.function}:"]
    lines += [f"      {_short(place.text)}"] if place.text else []
    lines.append(f"  {told.statement}")
    others = [
        f"  Hint: {hint.words}{'' if hint.words.endswith('?') else '.'}"
        for hint in told.hints
        if hint.words not in told.statement
    ]
    return [*lines, *others[:MOST_TOLD], *_remedy_lines(told)]


def remedy_told(told: Explanation) -> Remedy | None:
    """The tested change that mends the pair."""
    return next((remedy for remedy in told.remedies if remedy.mends), None)


def _remedy_lines(told: Explanation) -> list[str]:
    remedy = remedy_told(told)
    if remedy is None:
        return []
    lines = [f"  Tested: {remedy.words}."]
    if remedy.replacement:
        lines.append(f"      {_short(remedy.replaced)}  →  {_short(remedy.replacement)}")
    return lines


def ledger_lines(result: Result, most: int) -> list[str]:
    """What the noise of each line hides between d1 and d2, and what that costs."""
    told = result.explanation
    if told is None or not told.ledger:
        return []
    together = ""
    if told.spent and told.claimed is not None and len(told.ledger) > 1:
        together = f" (ε {number_words(told.spent)} in all; {told.claimed:.3g} is claimed)"
    lines = [f"What each line draws, and how far what it hides moves from d1 to d2{together}:"]
    lines += [f"  {row_line(row, result.claim)}" for row in told.ledger[:most]]
    if len(told.ledger) > most:
        lines.append(f"  and {len(told.ledger) - most} lines more")
    return lines


def row_line(row: LedgerRow, claim: Claim) -> str:
    """A row of the ledger in one line."""
    times = "" if row.times == 1 else f", {row.times:,} numbers"
    scale = "" if row.scale is None else f" of scale {row.scale:.4g}"
    line = f"line {row.place.line}: {row.distribution}{scale}{times}"
    if row.moves and math.isfinite(row.moves):
        what = row.hides if row.hides and len(row.hides) <= 40 else "what it hides"
        line += f"; {what} moves by {amount(row.moves, 4)}"
    if row.unbounded:
        return f"{line}, which no {claim.letter} allows"
    return f"{line}, which costs {claim.letter} {number_words(row.cost)}" if row.cost else line


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."
