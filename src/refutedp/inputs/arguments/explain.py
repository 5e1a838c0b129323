"""Why these arguments: one line for people."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from refutedp.inputs.arguments.compare import Divergence


def why(
    arguments: Mapping[str, Any],
    found: Divergence,
    *,
    tested: Set[str] = frozenset(),
    asked: Set[str] = frozenset(),
    smallest: Set[str] = frozenset(),
    scaled: Set[str] = frozenset(),
    cases: Mapping[str, int] = {},
) -> str:
    """Each argument with the reason that decided it.

    `tested` are those in compared branches, `asked` those in any decision, `smallest` those that make the noise
    smallest, `scaled` those in any noise scale; `cases` says among how many an argument was picked.

    >>> why({"t": 1.5, "n": 1}, Divergence(5, 5), tested={"t", "n"}, smallest={"n"})
    't = 1.5 makes 5 of 5 branches diverge; n = 1 keeps the noise smallest'
    """
    branching = [name for name in arguments if name in tested and name not in smallest]
    noisy = [name for name in arguments if name in smallest]
    stretching = [name for name in arguments if name in scaled and name not in (*branching, *noisy)]
    listed = [name for name in arguments if name in cases]
    rest = [name for name in arguments if name not in (*branching, *noisy, *stretching, *listed)]
    deciding = [name for name in rest if name in asked]
    other = [name for name in rest if name not in asked]
    count = f"{found.diverging} of {found.branches} branches diverge"
    parts = []
    if branching and found.diverging:
        parts.append(f"{_each(branching, arguments)} {_verb(branching, 'make')} {count}")
    elif branching:
        parts.append(f"{_each(branching, arguments)}: no values make a branch diverge")
    elif found.branches:
        parts.append(count)
    if noisy:
        parts.append(f"{_each(noisy, arguments)} {_verb(noisy, 'keep')} the noise smallest")
    if stretching:
        parts.append(f"{_each(stretching, arguments)} only {_verb(stretching, 'stretch', 'es')} the noise")
    parts += [f"{name} = {arguments[name]!r} is the best of {cases[name]} cases" for name in listed]
    if deciding:
        parts.append(f"{_each(deciding, arguments)} {_is(deciding)} the simplest that allows it")
    if other:
        parts.append(f"{_each(other, arguments)} {_verb(other, 'change')} no branch and no noise")
    return "; ".join(parts)


def _each(names: list[str], arguments: Mapping[str, Any]) -> str:
    return " and ".join(f"{name} = {arguments[name]!r}" for name in names)


def _verb(names: list[str], verb: str, ending: str = "s") -> str:
    return verb if len(names) > 1 else verb + ending


def _is(names: list[str]) -> str:
    return "are" if len(names) > 1 else "is"
