"""Calls that do not return: a thread that interrupts them, for inputs that nobody has tried before."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType


class DidNotReturn(BaseException):
    """Raised in the middle of a call that takes too long; no `except Exception` of the mechanism catches it."""


class Watchdog:
    """Interrupts a call in Python code of the thread that made it; a call into a library is waited for.

    >>> with Watchdog(seconds=0.1) as watchdog:
    ...     try:
    ...         with watchdog.call():
    ...             while True:
    ...                 pass
    ...     except DidNotReturn:
    ...         print("interrupted")
    interrupted
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        """How long a call may take."""
        self._lock = threading.Lock()
        self._since: float | None = None
        self._ended = threading.Event()
        self._thread = threading.get_ident()

    def __enter__(self) -> Watchdog:
        self._thread = threading.get_ident()
        self._watch = threading.Thread(target=self._wait, daemon=True)
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        self._watch.join()

    @contextmanager
    def call(self) -> Iterator[None]:
        """A call that is watched."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            # Once the lock is held, no interrupt can come any more.
            with self._lock:
                self._since = None

    def _wait(self) -> None:
        while not self._ended.wait(min(self.seconds / 4, 0.1)):
            with self._lock:
                if self._since is not None and time.monotonic() - self._since > self.seconds:
                    # Once more after as long, for code that swallows all exceptions.
                    self._since = time.monotonic()
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(self._thread), ctypes.py_object(DidNotReturn)
                    )
