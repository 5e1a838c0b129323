"""One lift for each input: many pairs have an input in common, which need not be proven for each of them."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

from refutedp.model.mechanism import Mechanism
from refutedp.sampling.lifted.lift import Lift


class KnownLifts:
    """The lifts of one mechanism by input and arguments.

    >>> from refutedp.model.mechanism import describe
    >>> def count(data, rng):
    ...     return len(data) + rng.laplace()
    >>> known, mechanism = KnownLifts(), describe(count)
    >>> known.lift(mechanism, [1, 2], {}) is known.lift(mechanism, [1, 2], {})
    True
    >>> known.lift(mechanism, [1, 2], {}) is known.lift(mechanism, [1, 2.0], {})
    False
    """

    def __init__(self) -> None:
        self._lifts: dict[bytes, Lift] = {}
        self._made: list[Lift] = []

    @property
    def calls(self) -> int:
        """How many runs all proofs took, and how many plain calls."""
        return sum(lift.proof_runs + lift.plain.calls for lift in self._made)

    def lift(self, mechanism: Mechanism, data: Any, arguments: Mapping[str, Any]) -> Lift:
        """The lift on this input, made when it is first asked for; raises CannotLift."""
        key = _content(data, arguments)
        found = None if key is None else self._lifts.get(key)
        if found is None:
            found = Lift(mechanism, data, arguments)
            self._made.append(found)
            if key is not None:
                self._lifts[key] = found
        return found


def _content(data: Any, arguments: Mapping[str, Any]) -> bytes | None:
    """What tells an input from others: its types and values; None when it cannot be written down."""
    try:
        return pickle.dumps((data, dict(arguments)))
    except Exception:  # whatever an input's own way of being pickled raises
        return None
