"""Many calls of a library's own object, errors kept as outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refutedp.sampling.encode import Raised


def repeat(call: Callable[[], Any], size: int) -> list[Any]:
    """`size` results; a call that fails gives an output that says so, unless all of them fail.

    >>> repeat(lambda: 3, 2)
    [3, 3]
    """
    results: list[Any] = []
    failed: list[Exception] = []
    for _ in range(size):
        try:
            results.append(call())
        except Exception as error:
            failed.append(error)
            results.append(Raised(type(error).__name__))
    if failed and len(failed) == size:
        raise failed[0]
    return results
