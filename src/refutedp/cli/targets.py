"""The mechanism that is named on the command line."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from refutedp.api.load import load_mechanism
from refutedp.cli.parse import AdjacencyName
from refutedp.detector.result import Result, Sweep
from refutedp.mechanisms import PAPER
from refutedp.model.errors import UsageError

T = TypeVar("T", Result, Sweep)


@dataclass(frozen=True, slots=True)
class Target:
    """A mechanism with the reference that finds it again, and the adjacency it is meant for."""

    function: Any
    reference: str
    adjacency: AdjacencyName | None = None

    def remembered(self, what: T) -> T:
        """The result with the reference as it was typed, so that a replay finds the same function."""
        if what.origin is None:
            return what
        return replace(what, origin=replace(what.origin, reference=self.reference))


def one_target(mechanism: str | None, command: str | None) -> Target:
    """The mechanism that was named, or the command; exactly one of the two."""
    if mechanism is not None and command is not None:
        raise UsageError(f"{mechanism!r} and --command {command!r} are two mechanisms: give one of them")
    if mechanism is None and command is None:
        raise UsageError('no mechanism was named: write file.py:function, or --command "./program"')
    return target(f"command:{command}" if mechanism is None else mechanism)


def target(reference: str) -> Target:
    """A file's function, a module's function, or one of the built-in mechanisms by its name alone.

    >>> target("histogram").adjacency
    'one-differs'
    """
    if ":" in reference:
        return Target(load_mechanism(reference), reference)
    built_in = {one.name: one for one in PAPER}
    if reference in built_in:
        meant: AdjacencyName = "one-differs" if built_in[reference].adjacency == "one" else "all-differ"
        return Target(built_in[reference].function, f"refutedp.mechanisms:{reference}", meant)
    near = difflib.get_close_matches(reference, built_in, n=1)
    if reference.endswith(".py"):
        raise UsageError(f"{reference} names a file but no function: write {reference}:function")
    hint = f", or did you mean the built-in '{near[0]}'" if near else ""
    raise UsageError(
        f"{reference!r} does not name a mechanism: write file.py:function or package.module:function{hint}"
    )
