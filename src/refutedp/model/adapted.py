"""Mechanisms that know their own claim: what an adapter makes of a library's object, and how `check` reads it.

Any object may do the same: an attribute `__refutedp__` that holds an `Own` gives `check` its defaults.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from refutedp.model.adjacency import Adjacency
from refutedp.model.claims import Claim
from refutedp.model.errors import UsageError

OWN_RANDOMNESS = "It draws from its own secure randomness: a seed cannot reproduce this result exactly."


@dataclass(frozen=True, slots=True)
class Own:
    """What a mechanism says about itself; None leaves it to the caller."""

    claim: Claim | None = None
    adjacency: Adjacency | None = None
    pairs: Sequence[Any] | None = None
    notes: tuple[str, ...] = ()

    def defaults(self, claim: Any, epsilon: Any, adjacency: Any, pairs: Any) -> tuple[Any, Any, Any]:
        """Claim, adjacency and pairs, the mechanism's own where the caller gave none."""
        if claim is None and epsilon is None:
            claim = self.claim
        if adjacency is None and self.adjacency is not None:
            adjacency = self.adjacency
            pairs = self.pairs if pairs is None else pairs
        return claim, adjacency, pairs


@dataclass(frozen=True)
class Adapted:
    """A function with its own claim, adjacency, pairs and notes; `check(adapted)` needs nothing else.

    >>> from refutedp import ONE_DIFFERS, PureDP, check
    >>> def count(data, rng):
    ...     return data[0] + rng.laplace(scale=2.0)
    >>> counting = Adapted(count, "count", Own(PureDP(0.5), ONE_DIFFERS, pairs=[([0], [1])]))
    >>> print(check(counting, search_runs=500, confirm_runs=500).claim)
    0.5-differential privacy
    """

    function: Callable[..., Any]
    name: str
    own: Own

    @property
    def __refutedp__(self) -> Own:
        return self.own

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def __call__(self, *positional: Any, **named: Any) -> Any:
        """Call the function."""
        return self.function(*positional, **named)


def own_of(mechanism: Any) -> Own:
    """What the mechanism says about itself: nothing, for a plain function.

    >>> own_of(max)
    Own(claim=None, adjacency=None, pairs=None, notes=())
    """
    found = getattr(mechanism, "__refutedp__", None)
    if found is None:
        return Own()
    if not isinstance(found, Own):
        raise UsageError(f"__refutedp__ is a {type(found).__name__}: it must be a refutedp.model.adapted.Own")
    return found
