"""The owner's side of the guard (`guard.py`): it is told of programs as they start and end."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path

_SCRIPT = Path(__file__).with_name("guard.py")


class _Guard:
    """The guard of this process, started with the first program."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.RLock()  # the garbage collector may end a program while another is announced

    def tell(self, line: str) -> None:
        """Send a line; a guard that cannot be started or has died is done without."""
        with self._lock, contextlib.suppress(OSError):
            if self._process is None:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(_SCRIPT)],
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


# State of this process, for programs are children of the process and outlive the objects that asked for them.
_guard = _Guard()


def watch(group: int) -> None:
    """From now on the group is ended if this process dies."""
    _guard.tell(f"+{group}")


def forget(group: int) -> None:
    """The group has ended."""
    _guard.tell(f"-{group}")


def stop() -> None:
    """Dismiss the guard; the next `watch` starts another."""
    _guard.stop()


def _after_fork() -> None:
    global _guard
    _guard = _Guard()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
