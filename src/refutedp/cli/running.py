"""What commands share: errors as one sentence, progress, interrupts, and where results go."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from refutedp.api.check import Interrupted
from refutedp.api.progress import START, Bar, ProgressLines
from refutedp.api.saved.files import require_writable
from refutedp.api.saved.to_json import dumps
from refutedp.cli import INTERRUPTED
from refutedp.detector.result import Result, Sweep, Verdict
from refutedp.detector.verdict import p_value_text
from refutedp.model.errors import RefuteDPError, UsageError
from refutedp.model.settings import Progress
from refutedp.report.exact_words import exact_bound
from refutedp.report.github import annotation

EXIT_CODES = {Verdict.NOT_FOUND: 0, Verdict.VIOLATION: 1, Verdict.INCONCLUSIVE: 3}
BAD_USE = 2
PLOT_KINDS = (".svg", ".png", ".pdf")
STDOUT = "-"
_COLOURS = {Verdict.VIOLATION: "red", Verdict.INCONCLUSIVE: "yellow", Verdict.NOT_FOUND: None}


def say(text: str, *, error: bool = False, colour: str | None = None) -> None:
    """Print, in colour only on a terminal; a reader that has gone is no error."""
    stream = sys.stderr if error else sys.stdout
    if colour and stream.isatty():
        text = typer.style(text, fg=colour, bold=True)
    with contextlib.suppress(BrokenPipeError):
        print(text, file=stream, flush=True)


class ProgressWatch:
    """Shows progress, and remembers the last of it for an interrupt."""

    def __init__(self, *, quiet: bool, verbose: bool) -> None:
        self.last: Progress | None = None
        self.best = ""
        self.files = Files()
        """What the command was asked to write; of an interrupted check, the JSON is."""
        self._verbose = verbose and not quiet
        self._shown: Bar | ProgressLines | None = None
        if not quiet:
            lines = ProgressLines(sys.stderr, pause=1.0 if verbose else 10.0)
            self._shown = Bar(patience=0.3) if sys.stderr.isatty() else lines

    def update(self, state: Progress) -> None:
        """One step further."""
        if state.told:
            if self._verbose:
                print(state.told, file=sys.stderr, flush=True)
            return
        if state.stage != START:
            self.last = state
        self.best = state.best or self.best
        if self._shown is not None:
            self._shown.update(state)

    def close(self) -> None:
        """Take the bar off the screen."""
        if isinstance(self._shown, Bar):
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
    except KeyboardInterrupt as interrupt:
        watch.close()
        _stop_workers()
        say(watch.known_so_far(), error=True)
        if isinstance(interrupt, Interrupted) and watch.files.json is not None:
            Files(watch.files.json).write(interrupt.result, quiet=quiet)
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


def _stop_workers() -> None:
    """End the worker processes of an interrupted check at once, so that none outlives the command."""
    if "joblib" not in sys.modules:
        return
    from joblib.externals.loky import reusable_executor

    executor = getattr(reusable_executor, "_executor", None)
    if executor is not None:
        executor.shutdown(wait=True, kill_workers=True)


@dataclass(frozen=True)
class Files:
    """The files a command was asked to write, checked before any work is spent."""

    json: str | None = None
    html: Path | None = None
    plot: Path | None = None
    pytest: Path | None = None
    sarif: Path | None = None
    github: bool = False

    def __post_init__(self) -> None:
        asked = (None if self.json_to_stdout else self.json, self.html, self.plot, self.pytest, self.sarif)
        paths = [Path(path) for path in asked if path is not None]
        for path in paths:
            require_writable(path)
            if paths.count(path) > 1:
                raise UsageError(f"{path} is named by two options: give each its own file")
        if self.plot is not None and self.plot.suffix.lower() not in PLOT_KINDS:
            raise UsageError(f"--plot {self.plot} must end in {', '.join(PLOT_KINDS[:-1])} or {PLOT_KINDS[-1]}")

    @property
    def wanted(self) -> bool:
        """Whether anything beside the text was asked for."""
        return self.github or any((self.json, self.html, self.plot, self.pytest, self.sarif))

    @property
    def json_to_stdout(self) -> bool:
        """Whether the standard output is for JSON alone."""
        return self.json == STDOUT

    def clean_stdout(self) -> contextlib.AbstractContextManager[object]:
        """What mechanisms print must not end up in the JSON."""
        return contextlib.redirect_stdout(sys.stderr) if self.json_to_stdout else contextlib.nullcontext()

    def write(self, what: Result | Sweep, *, quiet: bool) -> None:
        """Write all of them, and say so."""
        asked: list[tuple[str | Path | None, Callable[[Any], Any]]] = [(self.json, what.save), (self.plot, what.plot)]
        if isinstance(what, Result):
            asked[1:1] = [(self.html, what.to_html), (self.sarif, what.to_sarif)]
            if self.pytest is not None and what.counterexample is None:
                say(f"{self.pytest} was not written: there is no counterexample to turn into a test", error=True)
            else:
                asked.append((self.pytest, what.to_pytest))
        written = []
        for path, write in asked:
            if path is not None and path != STDOUT:
                write(path)
                written.append(str(path))
        if self.json_to_stdout:
            with contextlib.suppress(BrokenPipeError):
                print(dumps(what).decode(), end="", flush=True)
        if self.github and isinstance(what, Result):
            # GitHub reads both streams.
            say(annotation(what), error=self.json_to_stdout)
        if written and not quiet:
            say(f"Wrote {', '.join(written)}.", error=True)


def finish(result: Result, files: Files, *, quiet: bool) -> None:
    """Show the result, whole or in one line, write the files, and exit with the verdict's code."""
    if not quiet or files.wanted:
        with files.clean_stdout():
            result = result.explained()  # once for all of them
    if quiet:
        say(one_line(result), error=files.json_to_stdout)
    else:
        headline, _, rest = str(result).partition("\n")
        say(headline, error=files.json_to_stdout, colour=_COLOURS[result.verdict])
        say(rest, error=files.json_to_stdout)
    files.write(result, quiet=quiet)
    raise typer.Exit(EXIT_CODES[result.verdict])


def one_line(result: Result) -> str:
    """The verdict in one line, for logs.

    >>> from refutedp import check
    >>> one_line(check(lambda data, rng: 0, epsilon=1.0, search_runs=100, confirm_runs=100))
    'inconclusive: <lambda>, 1-differential privacy (every run gave the same output)'
    """
    start = f"{result.verdict.value}: {result.mechanism}, {result.claim}"
    if result.exact is not None:
        return f"{start} (by arithmetic, real {result.claim.letter} ≥ {exact_bound(result.exact, result.claim)})"
    if result.evidence is None:
        return f"{start} (every run gave the same output)"
    bound = max(result.evidence.epsilon_lower_bound, 0.0)
    return f"{start} (p-value {p_value_text(result.evidence.log_p_value)}, real ε ≥ {bound:.3g})"
