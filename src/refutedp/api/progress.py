"""Progress: a live bar on a terminal, plain lines in a log."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TextIO

from refutedp.model.settings import Progress

PATIENCE = 2.0
"""Seconds before a bar appears."""
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
    """A rich progress bar on the error stream that appears only after some patience, and leaves no trace."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._start = time.monotonic()
        self._patience = patience
        self._pace = Pace()
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}

    def update(self, state: Progress) -> None:
        """Show the state."""
        if state.told:
            return
        pace = self._pace.words(state)
        if self._bar is None:
            if time.monotonic() - self._start < self._patience:
                return
            self._open()
        if state.stage not in self._tasks:
            self._tasks[state.stage] = self._bar.add_task(state.stage, total=state.total, best="", pace="")
        told = {"pace": pace, "best": state.best}
        self._bar.update(self._tasks[state.stage], completed=state.done, total=state.total, refresh=True, **told)

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
        if self._bar is not None:
            self._bar.stop()
