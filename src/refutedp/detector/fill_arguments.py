"""Completes pairs with arguments: what the user gave, the claim's own numbers, and what symbolic execution finds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from refutedp.inputs.arguments import Between, FoundArguments, Limits, OneOf, find_arguments
from refutedp.model.claims import Claim
from refutedp.model.errors import UsageError
from refutedp.model.mechanism import NOISE_NAMES, Mechanism
from refutedp.model.records import Pair
from refutedp.model.settings import Progress, Settings
from refutedp.sampling.pool.tasks import Task, pool_for

CLAIMED_NUMBERS = ("delta", "rho", "mu", "alpha")
"""Numbers of claims besides epsilon, which are handed to parameters of these names."""
SOLVER_UNITS = 30_000_000
"""The solver's work on all pairs together, in its own count: some millions take a second."""


def given_arguments(mechanism: Mechanism, claim: Claim, args: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the user gave, and the claim's own numbers for the parameters that are called like them."""
    given = _check_arguments(mechanism, args)
    return {**given, **_from_claim(mechanism, claim, given)}


def _from_claim(mechanism: Mechanism, claim: Claim, given: Mapping[str, Any]) -> dict[str, Any]:
    """The claim's own numbers, for the parameters of the mechanism that are called like them."""
    names = {option.name: option.name for option in mechanism.options if option.required}
    if mechanism.epsilon is not None:
        names["epsilon"] = mechanism.epsilon
    missing = [name for name in names if name in ("delta", "rho", "mu") and name not in given]
    lacking = [name for name in missing if getattr(claim, name, None) is None]
    if lacking:
        raise UsageError(
            f"{mechanism.name}() needs '{lacking[0]}', which the claim {claim} does not have: "
            f'give it with args={{"{lacking[0]}": ...}}, or a claim that has it'
        )
    bound = getattr(mechanism.function, "keywords", {}) if isinstance(mechanism.function, functools.partial) else {}
    found = {}
    for number in ("epsilon", *CLAIMED_NUMBERS):
        name, value = names.get(number), getattr(claim, number, None)
        if name is not None and name not in given and value is not None:
            if bound.get(name, value) != value:
                raise UsageError(
                    f"functools.partial binds {name}={bound[name]!r}, and the claim says {value!r}: "
                    f'claim what is bound, or say which is meant with args={{"{name}": ...}}'
                )
            found[name] = value
    return found


def _check_arguments(mechanism: Mechanism, args: Mapping[str, Any] | None) -> dict[str, Any]:
    if args is None:
        return {}
    if not isinstance(args, Mapping):
        raise UsageError(f'args={args!r} must be a dict of argument names to values, such as {{"threshold": 1}}')
    names = [option.name for option in mechanism.options]
    if mechanism.epsilon is not None:
        names.append(mechanism.epsilon)
    for name in args:
        if name not in names and not mechanism.open:
            known = f"it takes {', '.join(names)}" if names else "it takes no arguments beside its data"
            raise UsageError(f"args has '{name}', which {mechanism.name}() does not take: {known}")
    return dict(args)


def complete(
    mechanism: Mechanism,
    pairs: Sequence[Pair],
    given: Mapping[str, Any],
    settings: Settings,
    report: Callable[[Progress], None],
) -> tuple[list[Pair], list[str], int]:
    """Every pair with all its arguments, notes on them, and how often the mechanism was called for that.

    Pairs that gain from quieter arguments come twice.

    Symbolic execution prefers diverging branches to small noise. Where that made it accept more noise than another
    pair needs, the pair is also tried with the quiet value: which of the two shows a violation better is for the
    runs to tell.
    """
    if not pairs:
        return [], [], 0
    known, domains = known_and_domains(given)
    missing = [o.name for o in mechanism.options if o.required and o.name not in known]
    if not missing and not domains:
        return [replace(pair, arguments=dict(known)) for pair in pairs], [], 0
    limits = Limits(units=min(Limits().units, SOLVER_UNITS // len(pairs)))
    tasks = [
        Task(
            find_arguments, (mechanism, pair.d1, pair.d2, known, domains, limits), f"{mechanism.name}() symbolically"
        )
        for pair in pairs
    ]
    found: list[FoundArguments] = []
    for one in pool_for(settings, costs_calls=False).run(tasks):
        found.append(one)
        report(Progress("arguments", len(found), len(tasks), one.why))
    completed = [_with(pair, known, one) for pair, one in zip(pairs, found, strict=True)]
    _require_own_noise(mechanism, known, frozenset().union(*(one.scaling for one in found)))
    quieter, calls = _quieter(mechanism, pairs, found, known, domains, limits)
    notes = dict.fromkeys(note for one in found for note in one.notes)
    return [*completed, *quieter], list(notes), calls + sum(one.calls for one in found)


def known_and_domains(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is given with a value, and what with a domain."""
    domains = {name: value for name, value in given.items() if isinstance(value, Between | OneOf)}
    return {name: value for name, value in given.items() if name not in domains}, domains


def _require_own_noise(mechanism: Mechanism, known: Mapping[str, Any], scaling: frozenset[str]) -> None:
    """Refuse to choose how much noise there is, where neither the claim nor the user has a say in it."""
    reached = any(name in known for name in (mechanism.epsilon, *CLAIMED_NUMBERS))
    chosen = [name for name in scaling if not reached or name in NOISE_NAMES]
    if chosen:
        name = min(chosen)
        raise UsageError(
            f"the claim does not say what '{name}' is, which decides the noise of {mechanism.name}(): give it with "
            f'args={{"{name}": ...}}, or say epsilon_name="{name}" if it is ε'
        )


def _with(pair: Pair, known: Mapping[str, Any], found: FoundArguments) -> Pair:
    return replace(pair, arguments={**known, **found.arguments}, why=found.why)


def _quieter(
    mechanism: Mechanism,
    pairs: Sequence[Pair],
    found: Sequence[FoundArguments],
    known: Mapping[str, Any],
    domains: Mapping[str, Any],
    limits: Limits,
) -> tuple[list[Pair], int]:
    quietest = min(sum(one.scales) for one in found)
    extra: list[Pair] = []
    calls = 0
    for pair, one in zip(pairs, found, strict=True):
        if sum(one.scales) > quietest * (1 + 1e-9):
            again = find_arguments(mechanism, pair.d1, pair.d2, known, domains, limits, prefer="noise")
            calls += again.calls
            if again.arguments != one.arguments:
                extra.append(_with(pair, known, again))
    return extra, calls
