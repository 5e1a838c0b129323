"""Requests to programs that stay alive between them: one program a command and process, started when first asked."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from refutedp.model.errors import MechanismError
from refutedp.sampling.program.process import LONGEST_LINE, Ended, Late, Program, TooLong, stop_guard
from refutedp.sampling.program.protocol import Answer, BadValue, read_answer, request_line

MOST_BYTES = 256 * 2**20
"""Bytes of all answers to one request."""
_LAST_LINES = 5


@dataclass(frozen=True, slots=True)
class Spec:
    """Which program, and how many seconds one request may take."""

    argv: tuple[str, ...]
    timeout: float

    def __str__(self) -> str:
        text = " ".join(self.argv)
        return text if len(text) <= 60 else text[:57] + "..."


class _Breach(Exception):
    """An answer that is well written, and wrong; the text says how."""


class _Session:
    """A program and the number of its last request."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.lock = threading.Lock()
        self.program: Program | None = None
        self.number = 0

    def ask(self, data: Any, arguments: Mapping[str, Any], seed: int, count: int) -> list[Any]:
        """`count` outputs; whatever goes wrong ends the program, and the next request starts it anew."""
        line = request_line(self.number + 1, data, arguments, seed, count)
        with self.lock:
            if self.program is None:
                self.program = Program(self.spec.argv)
            self.number += 1
            try:
                return self._exchange(self.program, line, count)
            except BaseException:
                self.end(gently=False)
                raise

    def end(self, *, gently: bool) -> bool:
        """End the program, if one runs; whether the end of its input was enough."""
        program, self.program, self.number = self.program, None, 0
        return program is not None and program.end(gently=gently)

    def _exchange(self, program: Program, line: bytes, count: int) -> list[Any]:
        early = program.unasked()
        if early:
            raise self._failure(program, f"wrote a line that nobody asked for: {_shown(early)}")
        deadline = time.monotonic() + self.spec.timeout
        program.send(line)
        outputs: list[Any] = []
        raw, received, done = b"", 0, False
        try:
            while not done:
                raw = program.read_line(deadline)
                received += len(raw)
                answer = read_answer(raw)
                outputs += answer.outputs
                done = answer.done
                self._judge(answer, received, len(outputs), count)
        except Late:
            problem = self._late(len(outputs))
        except TooLong:
            problem = f"wrote a line of more than {LONGEST_LINE >> 20} MB"
        except Ended as end:
            problem = str(end) if outputs else f"{end}: it must keep reading requests until its standard input ends"
        except BadValue as bad:
            problem = f"wrote a bad line: {bad}: {_shown(raw)}"
        except _Breach as breach:
            problem = str(breach)
        else:
            return outputs
        raise self._failure(program, f"{problem} (after {len(outputs)} of {count} outputs)")

    def _judge(self, answer: Answer, received: int, known: int, count: int) -> None:
        if answer.id != self.number:
            raise _Breach(f"answered request {answer.id} when asked for {self.number}")
        if answer.failure is not None:
            raise _Breach(f"refused the request: {answer.failure[:500]}")
        if known > count:
            raise _Breach("answered too many outputs")
        if received > MOST_BYTES:
            raise _Breach(f"wrote more than {MOST_BYTES >> 20} MB for one request")
        if answer.done and known < count:
            raise _Breach("answered too few outputs")

    def _late(self, known: int) -> str:
        late = f"did not finish within {self.spec.timeout:g} seconds"
        if known:
            return f"{late}: give it more with timeout=, or fewer runs"
        return f'{late}: it must flush each answer, and end the last one with "done": true'

    def _failure(self, program: Program, problem: str) -> MechanismError:
        words = program.last_words().splitlines()[-_LAST_LINES:]
        stderr = "".join(f"\n  {word[:300]}" for word in words)
        said = f"\nIts standard error ends with:{stderr}" if words else ""
        return MechanismError(f"the program '{self.spec}' {problem}{said}")


def _shown(line: bytes) -> str:
    text = line[:80].decode("utf-8", "replace").strip()
    return repr(text) if len(line) <= 80 else f"{text!r}..."


# State of this process on purpose: a worker gets a new copy of the mechanism with every chunk, and must find the
# program that it has already started.
_sessions: dict[Spec, _Session] = {}
_lock = threading.Lock()


def ask(spec: Spec, data: Any, arguments: Mapping[str, Any], *, seed: int, count: int) -> list[Any]:
    """`count` outputs of the program; every failure is a `MechanismError` of one sentence and the last of stderr."""
    with _lock:
        session = _sessions.setdefault(spec, _Session(spec))
    return session.ask(data, arguments, seed, count)


def close(spec: Spec) -> bool:
    """End the program of `spec` in this process, if it runs; whether it went by itself when its input ended."""
    with _lock:
        session = _sessions.get(spec)
    if session is None:
        return False
    with session.lock:
        return session.end(gently=True)


def release(spec: Spec) -> None:
    """`close` for the garbage collector: it never waits, for the collector may run in the middle of a request."""
    if not _lock.acquire(blocking=False):
        return
    try:
        session = _sessions.get(spec)
        if session is not None and session.lock.acquire(blocking=False):
            try:
                session.end(gently=True)
            finally:
                session.lock.release()
    finally:
        _lock.release()


def close_all() -> None:
    """End every program of this process."""
    for spec in list(_sessions):
        close(spec)
    stop_guard()


atexit.register(close_all)


def _after_fork() -> None:
    # The programs are children of the parent process, and its pipes are not ours to use.
    global _sessions, _lock
    _sessions, _lock = {}, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
