"""The command runs in a process of its own, and another ends it where nothing within it can.

Native code may hold the interpreter and never return: then neither a signal nor another thread of its process gets a
turn. The supervising process does nothing but wait, hand signals on, and end as the other one ended.
"""

from __future__ import annotations

import ctypes
import faulthandler
import math
import os
import select
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import BinaryIO, NoReturn

from refutedp.tracing.lifeline import Lifeline, place_in

_LOOK = 0.5
"""Seconds between two looks at the other process."""
_AWAY = 5.0
"""Seconds that the other process has for a sign of life after both were stopped, as by Ctrl-Z."""
_PATIENCE = 2.0
"""Seconds between a Ctrl-C and the next sign of life, at most; a sign is given ten times a second."""
_TOGETHER = 1.0
"""Seconds within which a second interrupt is the first one again: sent by the terminal, and handed on."""
_AGAIN = 0.02
"""Seconds after which an interrupt that came while a module was imported comes again."""
_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux: whoever loses its parent becomes a child of the supervisor."""
_HANDED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if hasattr(os, "fork") else ()
_BAD_USE, _INTERRUPTED = 2, 130


def supervise() -> None:
    """Go on in a child process; the parent waits for its end, and never returns. Without `fork`, do nothing."""
    if not hasattr(os, "fork"):
        return
    lifeline = Lifeline()
    last_words = tempfile.TemporaryFile()  # noqa: SIM115  # both processes have it until they end
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        Supervisor(child, lifeline, last_words, reading).wait()
    os.close(reading)  # the other end is closed by the end of this process
    from refutedp.tracing.watchdog import supervised_by  # loads NumPy, whose threads would not outlive the fork

    supervised_by(lifeline)
    if not faulthandler.is_enabled():
        faulthandler.enable(last_words, all_threads=False)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _Once())


class _Once:
    """Raises KeyboardInterrupt for an interrupt, but not for the same one again, and not while a module is imported.

    Extension modules swallow exceptions that are raised while they are made, and the command would go on.
    """

    def __init__(self) -> None:
        self._last = -_TOGETHER
        self._came = math.inf

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._last < _TOGETHER:
            return
        self._came = min(self._came, now)
        if now - self._came < _PATIENCE / 2 and _imports(frame):
            threading.Timer(_AGAIN, os.kill, (os.getpid(), number)).start()
            return
        self._last, self._came = now, math.inf
        raise KeyboardInterrupt


def _imports(frame: FrameType | None) -> bool:
    """Whether a module is being imported."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


class Supervisor:
    """Waits for a child process, and ends it if it is not heard of in time."""

    def __init__(self, child: int, lifeline: Lifeline, last_words: BinaryIO, ended: int) -> None:
        self._child, self._lifeline, self._last_words, self._ended = child, lifeline, last_words, ended
        self._interrupted = (math.inf, math.inf)
        """When it was interrupted, and by when the child had to be heard of then."""

    def wait(self) -> NoReturn:
        """Wait, and end as the child does."""
        for number in _HANDED_ON:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._hand_on)
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
        hear_by, last = 0.0, time.monotonic()
        while True:
            if select.select([self._ended], [], [], _LOOK)[0]:
                time.sleep(0.001)  # it has closed its files, and is about to end
            pid, status = os.waitpid(self._child, os.WNOHANG)
            if pid:
                self._leave(os.waitstatus_to_exitcode(status))
            now = time.monotonic()
            if now - last > _AWAY:
                hear_by = now + _AWAY
            last = now
            if now > max(self._lifeline.moment, hear_by) or self._is_deaf(now):
                self._end_all()

    def _hand_on(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGINT and self._interrupted[0] == math.inf:
            self._interrupted = time.monotonic(), self._lifeline.moment
        with suppress(ProcessLookupError):
            os.kill(self._child, number)

    def _is_deaf(self, now: float) -> bool:
        """Whether an interrupt came, and no sign of life since."""
        when, moment = self._interrupted
        return now - when > _PATIENCE and math.isfinite(moment) and self._lifeline.moment == moment

    def _end_all(self) -> NoReturn:
        """End the child and whatever it started, and say why."""
        os.kill(self._child, signal.SIGABRT)  # faulthandler writes down where it was
        deadline = time.monotonic() + 1.0
        while not os.waitpid(self._child, os.WNOHANG)[0]:
            if time.monotonic() > deadline:
                os.kill(self._child, signal.SIGKILL)
            time.sleep(0.02)
        _end_children()
        if self._interrupted[0] < math.inf:
            self._say(
                f"Interrupted in {self._lifeline.doing}{self._place()}, which only the end of its process stops."
            )
            os._exit(_INTERRUPTED)
        self._say(
            f"error: {self._lifeline.doing} did not return, and only the end of its process could stop it"
            f"{self._place()}: call_limit=300 (--call-limit 300) gives a call more time"
        )
        os._exit(_BAD_USE)

    def _leave(self, code: int) -> NoReturn:
        """As the child did; of a crash in native code with a sentence."""
        if code >= 0:
            os._exit(code)
        _end_children()
        if -code in _HANDED_ON:
            signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        self._say(
            f"error: the process that ran {self._lifeline.doing or 'the command'} died of "
            f"{signal.Signals(-code).name}{self._place()}, which only a crash in native code or a lack of memory can "
            "do: run the mechanism on these inputs by itself to see it"
        )
        os._exit(_BAD_USE)

    def _place(self) -> str:
        """The line that ran, as faulthandler wrote it down."""
        self._last_words.seek(0)
        return place_in(self._last_words.read().decode(errors="replace"))

    def _say(self, text: str) -> None:
        from refutedp.cli.running import say

        if sys.stderr.isatty():
            # The bar is still there, and has hidden the cursor.
            sys.stderr.write("\r\x1b[2K\x1b[?25h")
        say(text, error=True, colour="red")


def _end_children() -> None:
    """End all that the child has left behind, where the system makes that children of this process."""
    for _ in range(50):
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        left = list(_children())
        if not left:
            return
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _children() -> Iterator[int]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                yield int(stat.parent.name)
