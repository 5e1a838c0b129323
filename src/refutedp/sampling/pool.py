"""Chunks on one core or many: results come in order, and do not depend on where they were computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def run_all(tasks: Sequence[tuple[Callable[..., T], tuple[Any, ...]]], jobs: int) -> Iterator[T]:
    """Call every task; yield the results in the order of the tasks, as they become ready.

    >>> list(run_all([(max, (1, 2)), (min, (1, 2))], jobs=1))
    [2, 1]
    """
    if jobs == 1 or len(tasks) <= 1:
        for function, arguments in tasks:
            yield function(*arguments)
        return
    from joblib import Parallel, delayed

    calls: Iterable[Any] = (delayed(function)(*arguments) for function, arguments in tasks)
    yield from Parallel(n_jobs=jobs, return_as="generator", batch_size=1)(calls)
