"""Progress: a live bar on a terminal, plain lines in a log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TextIO

from refutedp.model.settings import Progress

PATIENCE, TICK = 0.5, 0.2
"""Seconds before a bar appears, and between two moves of it."""
START = "start"
"""The stage before the first report of a stage."""
PAUSE = 10.0
"""Seconds between two lines of a log."""


class Pace:
    """Runs per second and seconds left of each stage.

    >>> clock = iter([0.0, 10.0])
    >>> pace = Pace(clock=lambda: next(clock))
    >>> pace.words(Progress("search", 1000, 3000))
    '100 runs/s, 20 s left'
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began: dict[str, float] = {}
        self._since = clock()

    def words(self, state: Progress) -> str:
        """The pace of the state's stage, empty while nothing is known."""
        now = self._clock()
        # The first report of a stage comes after its first chunk: count from the end of the stage before.
        seconds = now - self._began.setdefault(state.stage, self._since)
        self._since = now
        if seconds <= 0 or state.done <= 0:
            return ""
        speed = state.done / seconds
        left = (state.total - state.done) / speed
        unit = "pairs" if state.stage == "arguments" else "runs"
        return f"{_short(speed)} {unit}/s" + (f", {_duration(left)} left" if state.done < state.total else "")


def _short(number: float) -> str:
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.3g}{unit}"
    return f"{number:.3g}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"


class ProgressLines:
    """A plain line to a log now and then, so that a long run is seen to live; never more than one in `PAUSE` s."""

    def __init__(self, stream: TextIO, pause: float = PAUSE, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._pause = pause
        self._clock = clock
        self._pace = Pace(clock)
        self._next = clock() + pause

    def update(self, state: Progress) -> None:
        """Write the state if it is time to."""
        pace = self._pace.words(state)
        if self._clock() < self._next:
            return
        self._next = self._clock() + self._pause
        parts = [f"{state.stage}: {100 * state.done / max(state.total, 1):.0f}%", pace, f"best so far: {state.best}"]
        print(", ".join(parts[: 3 if state.best else 2]).rstrip(", "), file=self._stream, flush=True)


class Bar:
    """A rich progress bar on the error stream that appears only after some patience, and leaves no trace.

    It moves between reports, too: with the calls that were made since, which may be many in one task.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._pace = Pace()
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}
        self._state: Progress | None = None
        self._best = ""
        self._calls: Callable[[], int] = lambda: 0
        self._calls_then = 0
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def update(self, state: Progress) -> None:
        """Show the state."""
        if state.told:
            return
        with self._lock:
            self._calls = state.calls or self._calls
            self._state, self._calls_then = state, self._calls()
            self._best = state.best or self._best
            if self._thread is None:
                self._thread = threading.Thread(target=self._live, daemon=True)
                self._thread.start()
            self._show()

    def _live(self) -> None:
        """Open it when it is time to, and move it."""
        wait = self._patience
        while not self._closed.wait(wait):
            with self._lock:
                if self._bar is None:
                    self._open()
                self._show()
            wait = TICK

    def _show(self) -> None:
        state = self._state
        if state is None:
            return
        made = max(self._calls() - self._calls_then, 0)
        done = state.done + made if state.stage == START else min(state.done + made, state.total)
        now = replace(state, done=done, total=max(done, state.total))
        pace = self._pace.words(now)
        if self._bar is None:
            return
        if state.stage not in self._tasks:
            if START in self._tasks:
                self._bar.update(self._tasks[START], visible=False)
            self._tasks[state.stage] = self._bar.add_task(state.stage, total=None, best="", pace="")
        runs = f"{done:,} calls" if state.stage == START else f"{done:,} of {state.total:,}"
        told = {"pace": ", ".join(filter(None, [runs, pace])), "best": self._best}
        total = None if state.stage == START else state.total
        self._bar.update(self._tasks[state.stage], completed=done, total=total, refresh=True, **told)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column
        from rich.text import Text

        class Best(TextColumn):
            """The best finding; text from mechanisms is no markup."""

            def render(self, task: Any) -> Text:
                return Text(str(task.fields["best"]), style="yellow")

        self._bar = Progress(
            TextColumn("{task.description:>9}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[pace]}", style="dim"),
            Best("", table_column=Column(no_wrap=True, overflow="ellipsis")),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()

    def close(self) -> None:
        """Take the bar off the screen."""
        self._closed.set()
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar, self._state = None, None
