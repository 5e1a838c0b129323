"""What every command shares: errors as one sentence, progress, interrupts, and saying things."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator

import typer

from refutedp.api.progress import Bar, ProgressLines
from refutedp.cli.entry import INTERRUPTED
from refutedp.detector.result import Verdict
from refutedp.model.errors import RefuteDPError
from refutedp.model.settings import Progress

EXIT_CODES = {Verdict.NOT_FOUND: 0, Verdict.VIOLATION: 1, Verdict.INCONCLUSIVE: 3}
BAD_USE = 2


def say(text: str, *, error: bool = False, colour: str | None = None) -> None:
    """Print, in colour only on a terminal; a reader that has gone is no error."""
    stream = sys.stderr if error else sys.stdout
    with contextlib.suppress(BrokenPipeError):
        print(
            typer.style(text, fg=colour, bold=True) if colour and stream.isatty() else text, file=stream, flush=True
        )


class ProgressWatch:
    """Shows progress, and remembers the last of it for an interrupt."""

    def __init__(self, *, quiet: bool, verbose: bool) -> None:
        self.last: Progress | None = None
        self.best = ""
        self._verbose = verbose and not quiet
        self._shown: Bar | ProgressLines | None = None
        if sys.stderr.isatty() and not quiet:
            self._shown = Bar(patience=0.5)
        elif not quiet:
            self._shown = ProgressLines(sys.stderr, pause=1.0 if verbose else 10.0)

    def update(self, state: Progress) -> None:
        """One step further."""
        if state.told:
            if self._verbose:
                print(state.told, file=sys.stderr, flush=True)
            return
        self.last = state
        self.best = state.best or self.best
        if self._shown is not None:
            self._shown.update(state)

    def close(self) -> None:
        """Take the bar off the screen."""
        if self._shown is not None:
            self._shown.close()

    def known_so_far(self) -> str:
        """What an interrupted check can still say."""
        if self.last is None:
            return "Interrupted before the first runs: nothing is known yet."
        percent = 100 * self.last.done / max(self.last.total, 1)
        found = (
            f"Best finding of the search, not confirmed: {self.best}." if self.best else "Nothing was found so far."
        )
        return f"Interrupted in {self.last.stage} at {percent:.0f}%. {found}"


@contextlib.contextmanager
def running(*, quiet: bool = False, verbose: bool = False) -> Iterator[ProgressWatch]:
    """Run a command's work: errors become a sentence and exit code 2, Ctrl-C what is known so far and 130."""
    watch = ProgressWatch(quiet=quiet, verbose=verbose)
    try:
        yield watch
    except KeyboardInterrupt:
        watch.close()
        stop_workers()
        say(watch.known_so_far(), error=True)
        raise typer.Exit(INTERRUPTED) from None
    except (typer.Exit, BrokenPipeError):
        raise
    except Exception as error:
        watch.close()
        if verbose:
            traceback.print_exception(error)
        told = str(error)
        if not isinstance(error, RefuteDPError):
            hint = "" if verbose else "; run again with --verbose for the whole trace"
            told = f"RefuteDP itself failed with {type(error).__name__}: {error}{hint}"
        say(f"error: {told}", error=True, colour="red")
        raise typer.Exit(BAD_USE) from None
    finally:
        watch.close()


def stop_workers() -> None:
    """End the worker processes of an interrupted check at once, so that none outlives the command."""
    if "joblib" not in sys.modules:
        return
    from joblib.externals.loky import reusable_executor

    executor = getattr(reusable_executor, "_executor", None)
    if executor is not None:
        executor.shutdown(wait=True, kill_workers=True)
