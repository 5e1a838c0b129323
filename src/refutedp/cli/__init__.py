"""The command `refutedp`: its way in and its way out, with exit codes, closed pipes and interrupts."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 none found, 1 violation, 2 bad use, 3 inconclusive, 130 interrupted."""
    code: int | str | None
    if arguments is None:
        from refutedp.cli.supervised import supervise

        supervise()
    _hush_ended_workers()
    try:
        from refutedp.cli.app import app

        app(arguments, prog_name="refutedp")
        code = 0
    except SystemExit as stop:
        code = stop.code
    except KeyboardInterrupt:
        code = INTERRUPTED
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (BrokenPipeError, ValueError):
            # The reader has gone, as in `refutedp mechanisms | head -1`: what is left to say goes nowhere, silently.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def _hush_ended_workers() -> None:
    """Ctrl-C ends joblib's workers in mid-flight; its helpers would fill the screen with complaints about it."""
    sys.warnoptions.append("ignore:resource_tracker:UserWarning")  # handed on to the helper process
    usual = threading.excepthook

    def hook(what: threading.ExceptHookArgs) -> None:
        if what.thread is None or not what.thread.name.startswith("ExecutorManagerThread"):
            usual(what)

    threading.excepthook = hook
