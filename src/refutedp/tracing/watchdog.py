"""Bounds on one call of a mechanism: on its time, its memory, and what it returns and prints.

A call is watched from another thread. In the main thread a signal interrupts it, in Python code and where it sleeps
or waits; in other threads an exception is raised in its Python code. Code that swallows every exception is
interrupted line by line. Native code that holds the interpreter keeps that thread from looking: a timer of the system
interrupts code that looks for signals now and then, as regular expressions and large integers do. What holds on to a
call all the same ends with its process: `die` says where a worker process may do that, and the process of a command
has a lifeline to the one that supervises it.
"""

from __future__ import annotations

import ctypes
import faulthandler
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self, TextIO

from refutedp.model.datasets import one_line
from refutedp.tracing.lifeline import Lifeline
from refutedp.tracing.memory_bound import bound_memory
from refutedp.tracing.timer import interrupt_while_busy

USUAL_SECONDS = 20.0
"""How long a call may take unless the user says otherwise."""
GRACE = 5.0
"""Seconds that a call gets to end once it is interrupted."""
MUCH_LONGER, AT_LEAST = 5.0, 2.0
"""Once the time is up, a call may take so many times what the longest one took, and so many seconds."""
MOST_VALUES = 1_000_000
"""Values in one output, at most."""
MOST_PRINTED = 100_000
"""Letters that one call may print, and that a check shows."""
_TICK, PAUSE, MOST_STRIKES = 0.1, 0.2, 50
"""Seconds between two looks, and between two interrupts of one call, of which there are so many at most."""
_SIGNAL = getattr(signal, "SIGURG", None)
"""Ignored by those who do not wait for it, so that one which comes late harms nobody."""


class DidNotReturn(BaseException):
    """Raised in the middle of a call that goes beyond a bound; no `except Exception` of the mechanism catches it."""


@dataclass(frozen=True, slots=True)
class CallBounds:
    """What one call may take; `as_output` takes a call beyond it as an output of its own.

    `processes` share the memory. `die` is a folder: where nothing else ends a call the process ends itself, and
    leaves in a file there what it was `doing`.
    """

    seconds: float = USUAL_SECONDS
    as_output: bool = False
    processes: int = 1
    die: str | None = None
    doing: str = ""
    ends: float = math.inf
    """The moment, by the monotonic clock, from which on calls that take much longer than others are ended."""


class Watchdog:
    """Watches the calls of the thread that opened it.

    >>> with Watchdog(CallBounds(seconds=0.1)) as watchdog:
    ...     try:
    ...         with watchdog.call():
    ...             while True:
    ...                 pass
    ...     except DidNotReturn as error:
    ...         print(error)
    did not return within 0.1 seconds
    """

    def __init__(self, bounds: CallBounds) -> None:
        self.bounds = bounds
        self.seconds = bounds.seconds
        """How long a call may take."""
        self.calls = 0
        """How many there were so far."""
        self._since: float | None = None
        self._much_longer = AT_LEAST
        self.why = ""
        """Why it interrupted the latest call that it did."""
        self._looked, self._stops = time.monotonic(), 0
        self._strikes = 0
        self._struck = 0.0
        self._printed = self._shown = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = 0
        self._undo: list[Callable[[], object]] = []
        self._last_words: TextIO | None = None
        self.lifeline: Lifeline | None = None
        """To the process that supervises this one, if one does."""
        self._within = False
        """Whether another watchdog watches inside this one."""
        self._call = _WatchedCall(self)

    def __enter__(self) -> Self:
        self._thread = threading.get_ident()
        self._by_signal = False
        if _SIGNAL is not None and threading.current_thread() is threading.main_thread():
            before = signal.getsignal(_SIGNAL)
            if not callable(before) or isinstance(getattr(before, "__self__", None), Watchdog):
                signal.signal(_SIGNAL, self._interrupted)
                self._undo.append(lambda: signal.signal(_SIGNAL, before or signal.SIG_DFL))
                self._by_signal = True
                self._undo.append(interrupt_while_busy(_look_while_busy))
        self._undo.append(bound_memory(self.bounds.processes))
        # Progress goes to the error stream, which tasks for other processes may refer to.
        stream = _Bounded(sys.stdout, self)
        sys.stdout = stream
        self._undo.append(stream.leave)
        if self.bounds.die is not None:
            path = Path(self.bounds.die) / str(os.getpid())
            path.write_text(self.bounds.doing + "\n")
            self._last_words = path.open("a")
        self._before = _OPEN.watchdog
        self.lifeline = _OPEN.lifeline
        if self._before is not None:
            self._before._within = True
        _OPEN.watchdog = self
        self._stay_alive()
        self._watch = threading.Thread(target=self._wait, daemon=True)
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        self._watch.join()
        if self._last_words is not None:
            faulthandler.cancel_dump_traceback_later()
            self._last_words.close()
        _OPEN.watchdog = self._before
        if self._before is not None:
            self._before._within = False
        elif self.lifeline is not None:
            self.lifeline.hear_by(math.inf)
        for undo in reversed(self._undo):
            undo()

    def call(self) -> AbstractContextManager[None]:
        """A call that is watched, unless it is part of one that is."""
        return _NOTHING if self._since is not None else self._call

    def begin(self) -> None:
        """A call begins."""
        self.calls += 1
        self._printed = 0
        self._since = time.monotonic()

    def end(self, *, quietly: bool = False) -> None:
        """It has ended; raises `DidNotReturn` if it swallowed that, unless it is `quietly` on its way."""
        if self._since is not None:
            self._much_longer = max(self._much_longer, MUCH_LONGER * (time.monotonic() - self._since))
        if self._by_signal:
            self._since = None
        else:
            # Once the lock is held, no interrupt can come any more.
            with self._lock:
                self._since = None
        if self._strikes:
            if self._by_signal and self._strikes > 1:
                sys.settrace(self._traced_before)
            self._strikes = 0
            _take_what_is_pending()
            if not quietly:
                raise DidNotReturn(self.why)

    def beyond(self, output: Any) -> None:
        """Raise `DidNotReturn` for an output that is too large to be looked at run by run."""
        size = getattr(output, "size", None) if type(output).__module__ == "numpy" else None
        if size is None and isinstance(output, list | tuple | dict | set | frozenset | str | bytes):
            size = len(output)
        if isinstance(size, int) and size > MOST_VALUES:
            raise DidNotReturn(f"returned {size:,} values in one output, where {MOST_VALUES:,} are looked at at most")

    def printed(self, letters: int) -> bool:
        """So many letters are printed; whether they shall be shown."""
        if self._since is None or threading.get_ident() != self._thread:
            return True
        self._printed += letters
        self._shown += letters
        if self._printed > MOST_PRINTED:
            self.why = f"printed more than {MOST_PRINTED:,} letters in one call"
            self._strikes += 1
            raise DidNotReturn(self.why)
        return self._shown <= MOST_PRINTED

    def _overdue(self) -> bool:
        since, now = self._since, time.monotonic()
        if since is None:
            return False
        return now - since > (self.seconds if now < self.bounds.ends else min(self.seconds, self._much_longer))

    @property
    def stops(self) -> int:
        """How often this process and those that it started were stopped for some time, as by Ctrl-Z."""
        return self._stops + (time.monotonic() - self._looked > GRACE)

    def _stay_alive(self) -> None:
        if self.lifeline is not None and not self._within:
            self.lifeline.hear_by(time.monotonic() + self.seconds + GRACE)

    def _wait(self) -> None:
        last = last_told = 0.0
        told = call = 0
        while not self._ended.wait(min(self.seconds / 4, _TICK)):
            self._stops, self._looked = self.stops, time.monotonic()
            if call != self.calls:
                told, call = 0, self.calls
            if not self._overdue():
                self._stay_alive()
                if self._last_words is not None and time.monotonic() - last > 1.0:
                    last = time.monotonic()
                    # Unless this is done again in time the process ends, whoever holds the interpreter.
                    faulthandler.dump_traceback_later(self.seconds + GRACE, exit=True, file=self._last_words)
            elif told and (time.monotonic() - last_told < PAUSE or told >= MOST_STRIKES):
                continue
            elif self._by_signal:
                told, last_told = told + 1, time.monotonic()
                signal.pthread_kill(self._thread, _SIGNAL)  # type: ignore[arg-type]
            else:
                told, last_told = told + 1, time.monotonic()
                with self._lock:
                    if self._overdue():
                        self._strike()
                        _raise_in(self._thread)

    def _strike(self) -> None:
        self._strikes += 1
        self._struck = time.monotonic()
        since = self._since or 0.0
        self.why = f"did not return within {min(self.seconds, round(time.monotonic() - since, 1)):g} seconds"

    def busy(self, signum: int, frame: FrameType | None) -> None:
        """The system's timer: strikes where the other thread cannot."""
        if self._by_signal and time.monotonic() - self._struck >= PAUSE:
            self._interrupted(signum, frame)

    def _interrupted(self, _: int, frame: FrameType | None) -> None:
        if not self._overdue():
            return
        self._strike()
        if self._strikes == 2:
            self._traced_before = sys.gettrace()
            _raise_line_by_line(self._thread, frame)
        raise DidNotReturn(self.why)


class _WatchedCall:
    """From the beginning of a call to its end; there are thousands in a check, so it is no generator."""

    __slots__ = ("_watchdog",)

    def __init__(self, watchdog: Watchdog) -> None:
        self._watchdog = watchdog

    def __enter__(self) -> None:
        self._watchdog.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._watchdog.end(quietly=kind is not None)
        if isinstance(error, DidNotReturn) and not error.args:
            # Raised by the interpreter, which does not say why.
            raise DidNotReturn(self._watchdog.why) from None


class _Nothing:
    """A call that is not watched, or is part of one that is."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        pass


_NOTHING = _Nothing()


class _Bounded:
    """A stream that shows a part of what a mechanism prints."""

    def __init__(self, stream: TextIO, watchdog: Watchdog) -> None:
        self._stream, self._watchdog = stream, watchdog

    def write(self, text: str) -> int:
        """Write, or not."""
        return self._stream.write(text) if self._watchdog.printed(len(text)) else len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def leave(self) -> None:
        """Put the stream back, unless another was put there since."""
        if sys.stdout is self:
            sys.stdout = self._stream


def _raise_in(thread: int) -> None:
    """Raise `DidNotReturn` in the Python code of a thread, as soon as it checks for that."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(DidNotReturn))


def _take_what_is_pending() -> None:
    """Have an interrupt that was not raised yet raised here: to withdraw it hangs Python 3.11 under a profiler."""
    with suppress(DidNotReturn):
        for _ in range(3):
            time.monotonic()


def _raise_line_by_line(thread: int, frame: FrameType | None) -> None:
    """From now on raise at every line, so that a handler that swallows all exceptions ends in another one."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line" and frame.f_globals.get("__name__") != __name__:
            _raise_in(thread)
        return trace

    sys.settrace(trace)
    while frame is not None:
        frame.f_trace = trace
        frame = frame.f_back


def _look_while_busy(number: int, frame: FrameType | None) -> None:
    if _OPEN.watchdog is not None:
        _OPEN.watchdog.busy(number, frame)


class _Open(threading.local):
    """The innermost watchdog of each thread, and its line to another process."""

    watchdog: Watchdog | None = None
    lifeline: Lifeline | None = None


_OPEN = _Open()


def open_watchdog() -> Watchdog | None:
    """The one that watches this thread, if one does."""
    return _OPEN.watchdog


def one_call() -> AbstractContextManager[None]:
    """A call that is watched, if one watches this thread."""
    watchdog = _OPEN.watchdog
    return _NOTHING if watchdog is None else watchdog.call()


def supervised_by(lifeline: Lifeline) -> None:
    """From now on another process ends this one where a call of this thread cannot be ended otherwise."""
    _OPEN.lifeline = lifeline


def now_doing(what: str) -> None:
    """What the next calls of this process are, for the sentence about one that does not return."""
    if _OPEN.lifeline is not None:
        _OPEN.lifeline.does(what)


def now_on(name: str, *inputs: Any) -> None:
    """The next calls are of the mechanism of this name, on these inputs."""
    if _OPEN.lifeline is not None:
        told = ""
        with suppress(Exception):  # whatever the repr of a user's object raises
            told = f" on {' and '.join(map(one_line, inputs))}"
        now_doing(f"{name}(){told}")
