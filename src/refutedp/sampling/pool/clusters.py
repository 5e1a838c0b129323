"""What clusters have in common: tasks under way, taken in order, and a check that an address accepts connections."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from threading import Lock
from typing import Any, TypeVar

from refutedp.model.errors import UsageError

T = TypeVar("T")
Handle = TypeVar("Handle")
AHEAD = 4
"""Tasks under way per core: enough to keep all busy, few enough to stop soon."""
PATIENCE = 5.0
"""Seconds for a scheduler to say its first word."""
_TURN = Lock()
"""Threads of one worker take turns: they share the generators of their process, and what a mechanism keeps there."""


def in_order(
    tasks: Iterable[T], cores: int, submit: Callable[[T], Handle], cancel: Callable[[Handle], object]
) -> Generator[tuple[T, Handle], None, None]:
    """Submit tasks, some ahead of the one whose turn it is; what is left when the caller stops is cancelled.

    >>> [handle for _, handle in in_order([1, 2, 3], 1, str, print)]
    ['1', '2', '3']
    """
    rest = iter(tasks)
    under_way: deque[tuple[T, Handle]] = deque()
    try:
        while True:
            while len(under_way) < AHEAD * max(1, cores) and (more := list(_first(rest))):
                under_way.append((more[0], submit(more[0])))
            if not under_way:
                return
            yield under_way[0]
            under_way.popleft()
    finally:
        for _, handle in under_way:
            cancel(handle)


def _first(rest: Iterator[T]) -> Iterator[T]:
    for item in rest:
        yield item
        return


def packed(task: Callable[[], Any]) -> bytes:
    """A task ready to travel, with what `__main__` or a notebook defines; `call_packed` makes the call."""
    import cloudpickle

    return bytes(cloudpickle.dumps(task))


def call_packed(task: bytes) -> Any:
    """Unpack here and not in the cluster's own machinery, where a missing module would be a failure of the system."""
    import cloudpickle

    try:
        call = cloudpickle.loads(task)
    except ImportError as error:
        raise UsageError(
            f"the workers of the cluster cannot import what the mechanism needs ({error}): install it there, or "
            "start them with its folder in PYTHONPATH"
        ) from None
    with _TURN:
        return call()


def no_answer(scheduler: str, kind: str, why: Any) -> UsageError:
    """The sentence for an address where no such cluster is."""
    return UsageError(f"scheduler={scheduler!r} does not answer as a {kind}: {why}")


def greet(scheduler: str, kind: str, words: bytes = b"") -> bytes:
    """Connect, say the words, and return the beginning of the answer if there were any.

    Clients of clusters try again and again for ten seconds (Dask) or three minutes and a half (Ray) before they say
    that nobody listens.
    """
    host, _, port = scheduler.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"scheduler={scheduler!r} must be the address of a {kind}, such as 10.0.0.1:6379")
    try:
        with closing(socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE)) as connection:
            connection.sendall(words)
            return connection.recv(64) if words else b""
    except (OSError, OverflowError) as error:
        raise no_answer(scheduler, kind, error) from None
