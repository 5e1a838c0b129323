"""PyDP (Google's differential-privacy library) algorithms as mechanisms with their own claim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from refutedp.adapters import _pairs
from refutedp.model.adjacency import AddRemove
from refutedp.model.errors import UsageError
from refutedp.model.mechanism import OWN_RANDOMNESS, Adapted, Own

try:
    import pydp  # noqa: F401
except ImportError as error:
    raise ImportError('refutedp.adapters.pydp needs PyDP: pip install "refutedp[pydp]"') from error


def from_pydp(algorithm: Any, *, records: Sequence[Any] = (0, 1, 10), pairs: Any = None) -> Adapted:
    """An algorithm of PyDP, or a function that makes one, as a mechanism that claims its own epsilon and delta.

    Its data are lists of records, and one may be added or removed. An algorithm cannot travel to other processes: for
    `jobs=2` give a function that makes it, such as `lambda: Count(epsilon=1.0)`.

    >>> from pydp.algorithms.laplacian import Count
    >>> from refutedp import check
    >>> check(from_pydp(Count(epsilon=1.0, dtype="int")), search_runs=500, confirm_runs=1000).claim
    PureDP(epsilon=1.0)
    """
    make = algorithm if callable(algorithm) and not hasattr(algorithm, "quick_result") else None
    made = algorithm if make is None else make()
    if not hasattr(made, "quick_result"):
        raise UsageError(f"algorithm={algorithm!r} is no PyDP algorithm, nor a function that makes one")
    kind = float if "float" in str(getattr(made, "dtype", "")) else int
    typed = tuple(kind(record) for record in records)
    own = Own(
        claim=_pairs.stated_claim(made.epsilon, float(getattr(made, "delta", 0.0) or 0.0)),
        adjacency=AddRemove(typed),
        pairs=_pairs.added_pairs(typed) if pairs is None else pairs,
        notes=(OWN_RANDOMNESS,),
        opaque=True,
    )
    return Adapted(_QuickResult(made, make), f"PyDP {type(made).__name__}", own)


@dataclass
class _QuickResult:
    """Gives all the records to the algorithm and asks for its result, which also resets it."""

    algorithm: Any
    make: Callable[[], Any] | None

    def __call__(self, data: Any) -> Any:
        return self.algorithm.quick_result(list(data))

    def __reduce__(self) -> Any:
        if self.make is None:
            raise UsageError(
                "a PyDP algorithm cannot be sent to other processes: use jobs=1, or give from_pydp a function that "
                "makes it, such as lambda: Count(epsilon=1.0)"
            )
        return _remake, (self.make,)


def _remake(make: Callable[[], Any]) -> _QuickResult:
    return _QuickResult(make(), make)
