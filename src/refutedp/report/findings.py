"""A finding in a few sentences, for places that have room for no more: annotations, scanners, summaries."""

from __future__ import annotations

import reprlib

from refutedp.detector.result import Result, Verdict
from refutedp.model.records import Evidence, ExactEvidence
from refutedp.report.cause import remedy_told
from refutedp.report.exact_words import exact_bound
from refutedp.report.readable import p_words, shortened
from refutedp.report.text import headline, own_bound


def finding(result: Result) -> str:
    """What broke, why, how to mend it, and what shows it.

    >>> from refutedp import check
    >>> finding(check(lambda data, rng: 0, epsilon=1.0, search_runs=100, confirm_runs=100))
    'Nothing was tested. In nearly every run of <lambda>, the output = 0.'
    """
    told = result.explanation
    said = headline(result)
    parts = [said if said.startswith(result.mechanism) else _sentence(said)]  # names keep their case
    if result.verdict is not Verdict.VIOLATION:
        return " ".join(parts)
    if told is not None:
        parts.append(_sentence(told.statement))
        remedy = remedy_told(told)
        if remedy is not None:
            parts.append(f"Tested: {remedy.words}.")
    shown = result.counterexample
    return " ".join(parts if shown is None else [*parts, _shown(result, shown)])


def _shown(result: Result, shown: Evidence | ExactEvidence) -> str:
    short = reprlib.Repr()
    short.maxlist, short.maxother, short.maxstring = 12, 120, 60
    pair = shown.pair
    event = shortened(shown.event.words())
    inputs = f"Counterexample: d1 = {short.repr(pair.d1)}, d2 = {short.repr(pair.d2)}, event: {event}"
    if isinstance(shown, ExactEvidence):
        return f"{inputs}; real {result.claim.letter} ≥ {exact_bound(shown, result.claim)}."
    bound = f"real {shown.bound_letter} ≥ {own_bound(result.claim, shown):.3g}"
    return f"{inputs}; {bound}, p-value {p_words(shown.log_p_value)}."


def _sentence(words: str) -> str:
    words = words[:1].upper() + words[1:]
    return words if words.endswith(".") else f"{words}."
