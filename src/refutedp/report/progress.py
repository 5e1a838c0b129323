"""Progress for anything over two seconds, on a terminal; silence elsewhere unless the caller listens."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from refutedp.settings import Progress

PATIENCE = 2.0
"""Seconds before a bar appears."""


@contextmanager
def reporting(progress: Callable[[Progress], None] | bool | None) -> Iterator[Callable[[Progress], None]]:
    """What to call with each `Progress`: the caller's function, a bar on a terminal, or nothing."""
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda _: None
    else:
        bar = _Bar(patience=0.0 if progress else PATIENCE)
        try:
            yield bar.update
        finally:
            bar.close()


class _Bar:
    """A rich progress bar that appears only after some patience."""

    def __init__(self, patience: float) -> None:
        self._start = time.monotonic()
        self._patience = patience
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}

    def update(self, state: Progress) -> None:
        if self._bar is None:
            if time.monotonic() - self._start < self._patience:
                return
            self._open()
        if state.stage not in self._tasks:
            self._tasks[state.stage] = self._bar.add_task(state.stage, total=state.total, best="")
        self._bar.update(
            self._tasks[state.stage], completed=state.done, total=state.total, best=state.best or "", refresh=True
        )

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description:>8}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[best]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
