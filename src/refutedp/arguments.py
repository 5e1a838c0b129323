"""The arguments of every pair: what the user gave, and what symbolic execution finds for the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from refutedp.inputs.symbolic import Between, Found, OneOf, find_arguments
from refutedp.mechanism import Mechanism
from refutedp.records import Pair
from refutedp.sampling.pool import Pool, Task
from refutedp.settings import Progress, Settings


def complete(
    mechanism: Mechanism,
    pairs: Sequence[Pair],
    given: Mapping[str, Any],
    settings: Settings,
    report: Callable[[Progress], None],
) -> tuple[list[Pair], list[str]]:
    """Every pair with all its arguments; pairs that gain from quieter arguments come twice.

    Symbolic execution prefers diverging branches to small noise. Where that made it accept more noise than another
    pair needs, the pair is also tried with the quiet value: which of the two shows a violation better is for the
    runs to tell.
    """
    domains = {name: value for name, value in given.items() if isinstance(value, Between | OneOf)}
    known = {name: value for name, value in given.items() if name not in domains}
    missing = [o.name for o in mechanism.options if o.required and o.name not in known]
    if not missing and not domains:
        return [replace(pair, arguments=dict(known)) for pair in pairs], []
    tasks = [
        Task(find_arguments, (mechanism, pair.d1, pair.d2, known, domains), f"{mechanism.name}() symbolically")
        for pair in pairs
    ]
    found: list[Found] = []
    for one in Pool(settings.jobs, settings.engine).run(tasks):
        found.append(one)
        report(Progress("arguments", len(found), len(tasks), one.why))
    completed = [_with(pair, known, one) for pair, one in zip(pairs, found, strict=True)]
    completed += _quieter(mechanism, pairs, found, known, domains)
    notes = dict.fromkeys(note for one in found for note in one.notes)
    return completed, list(notes)


def _with(pair: Pair, known: Mapping[str, Any], found: Found) -> Pair:
    return replace(pair, arguments={**known, **found.arguments}, why=found.why)


def _quieter(
    mechanism: Mechanism,
    pairs: Sequence[Pair],
    found: Sequence[Found],
    known: Mapping[str, Any],
    domains: Mapping[str, Any],
) -> list[Pair]:
    quietest = min(sum(one.scales) for one in found)
    extra: list[Pair] = []
    for pair, one in zip(pairs, found, strict=True):
        if sum(one.scales) > quietest * (1 + 1e-9):
            again = find_arguments(mechanism, pair.d1, pair.d2, known, domains, prefer="noise")
            if again.arguments != one.arguments:
                extra.append(_with(pair, known, again))
    return extra
