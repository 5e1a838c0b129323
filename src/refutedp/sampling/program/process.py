"""One running program: started without a shell, read with bounds on time and memory, ended with its children."""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from refutedp.model.errors import MechanismError

LONGEST_LINE = 16 * 2**20
"""Bytes of one line of an answer; a longer one ends the program, so memory stays bounded."""
GRACE = 0.5
"""Seconds between asking a program to end and making it."""
_CHUNK = 2**16
_STDERR_KEPT = 4096
_LOOK_UP = 0.25
"""How often a silent program is looked at, for its children may hold the pipe open after it has died."""
_GUARD_SCRIPT = Path(__file__).with_name("guard.py")


class Late(Exception):
    """The deadline has passed."""


class TooLong(Exception):
    """A line does not end."""


class Ended(Exception):
    """The program has gone, or closed its output; the text says how."""


class Program:
    """A child process in a group of its own, with its three pipes; the caller must `end` it."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._process = _start(argv)
        self._group = self._process.pid
        _guard.tell(f"+{self._group}")
        self._unsent = bytearray()
        self._received = bytearray()
        self._errors = bytearray()
        self._output_open = True
        self._selector = selectors.DefaultSelector()
        self._pipes: list[Any] = [self._process.stdin, self._process.stdout, self._process.stderr]
        self._stdin, self._stdout, self._stderr = (pipe.fileno() for pipe in self._pipes)
        for descriptor in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(descriptor, False)
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)

    def send(self, line: bytes) -> None:
        """Hand over a line; it travels while answers are read, so neither side can block the other."""
        if not self._unsent:
            with contextlib.suppress(KeyError):
                self._selector.register(self._stdin, selectors.EVENT_WRITE)
        self._unsent += line

    def read_line(self, deadline: float) -> bytes:
        """The next line, without its end; raises `Late`, `TooLong` or `Ended`."""
        searched = 0
        while True:
            end = self._received.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._received[:end])
                del self._received[: end + 1]
                return line
            if len(self._received) > LONGEST_LINE:
                raise TooLong
            searched = len(self._received)
            if not self._output_open:
                raise Ended(self._how_it_ended())
            self._exchange(deadline)

    def unasked(self) -> bytes:
        """What the program wrote although nothing was asked."""
        self._move(self._selector.select(0))
        return bytes(self._received[:80])

    def last_words(self) -> str:
        """The end of what it wrote to its standard error."""
        deadline = time.monotonic() + 0.2
        with contextlib.suppress(Late):
            while self._stderr in self._selector.get_map():
                self._exchange(deadline)
        return bytes(self._errors).decode("utf-8", "replace").strip()

    def end(self, *, gently: bool = False) -> bool:
        """End the program and its children, whatever it takes; whether the end of its input alone was enough."""
        if self._process.returncode is not None:
            return False
        with contextlib.suppress(OSError):
            self._pipes[0].close()
        of_itself = gently and self._gone_within(GRACE)
        if not of_itself:
            self._signal(signal.SIGTERM)
            self._gone_within(GRACE)
        # The leader is not reaped yet, so its number cannot have passed to strangers; its children go with it.
        self._signal(signal.SIGKILL)
        self._process.wait()
        _guard.tell(f"-{self._group}")
        self._selector.close()
        for pipe in self._pipes[1:]:
            pipe.close()
        return of_itself

    def _exchange(self, deadline: float) -> None:
        """Move what can be moved through the pipes, waiting for it until the deadline."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise Late
        ready = self._selector.select(min(left, _LOOK_UP))
        self._move(ready)
        if not ready and self._state() is not None:
            self._output_open = False

    def _move(self, ready: Sequence[tuple[selectors.SelectorKey, int]]) -> None:
        for key, _ in ready:
            if key.fd == self._stdin:
                self._write()
            else:
                self._read(key.fd)

    def _write(self) -> None:
        try:
            written = os.write(self._stdin, self._unsent[:_CHUNK])
            del self._unsent[:written]
        except BlockingIOError:
            return
        except OSError:  # it no longer reads: its output, or its end, tells why
            self._unsent.clear()
        if not self._unsent:
            self._selector.unregister(self._stdin)

    def _read(self, descriptor: int) -> None:
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._selector.unregister(descriptor)
        if descriptor == self._stdout:
            # Beyond the longest line the verdict is settled: what comes while its last words are read is dropped.
            if len(self._received) <= LONGEST_LINE:
                self._received += chunk
            self._output_open = bool(chunk)
        else:
            self._errors += chunk
            del self._errors[:-_STDERR_KEPT]

    def _state(self) -> os.waitid_result | None:
        """How the leader ended, without reaping it; None while it runs."""
        with contextlib.suppress(ChildProcessError):
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        return None

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        pause = 0.001
        while self._state() is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        return True

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._group, number)

    def _how_it_ended(self) -> str:
        self._gone_within(GRACE)
        state = self._state()
        if state is None:
            return "closed its standard output"
        if state.si_code == os.CLD_EXITED:
            return f"exited with code {state.si_status}"
        try:
            return f"was killed by {signal.Signals(state.si_status).name}"
        except ValueError:
            return f"was killed by signal {state.si_status}"


def _start(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    if os.name != "posix":
        raise MechanismError("commands need a POSIX system such as Linux or macOS: wrap the program in a function")
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(list(argv), stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True)
    except FileNotFoundError:
        if os.path.exists(argv[0]):
            raise MechanismError(f"{argv[0]} cannot be started: the interpreter in its #! line is missing") from None
        raise MechanismError(f"there is no program {argv[0]!r}: check the path, or build it first") from None
    except PermissionError:
        raise MechanismError(f"{argv[0]} is not executable: make it so with chmod +x {argv[0]}") from None
    except OSError as error:
        if error.errno == errno.ENOEXEC:
            raise MechanismError(
                f"{argv[0]} is not a program that this system can run: is it a script without a #! line?"
            ) from None
        raise MechanismError(f"{argv[0]} cannot be started: {error.strerror}") from None
    except ValueError as error:
        raise MechanismError(f"{argv[0]!r} cannot be started: {error}") from None


class _Guard:
    """The guard of this process (`guard.py`), started with the first program, told of groups that start and end."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.RLock()  # the garbage collector may end a program while another is announced

    def tell(self, line: str) -> None:
        """Send a line; a guard that cannot be started or has died is done without."""
        with self._lock, contextlib.suppress(OSError):
            if self._process is None:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(_GUARD_SCRIPT)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    bufsize=0,
                    start_new_session=True,
                )
            assert self._process.stdin is not None
            self._process.stdin.write(f"{line}\n".encode())

    def stop(self) -> None:
        """Let it go: it ends what is left and then itself."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                process.stdin.close()
                process.wait(timeout=5)


# State of this process, for programs are its children and outlive the objects that asked for them.
_guard = _Guard()


def stop_guard() -> None:
    """Dismiss the guard; the next program starts another."""
    _guard.stop()


def _new_guard() -> None:
    global _guard
    _guard = _Guard()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_guard)
