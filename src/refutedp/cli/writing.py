"""Where a command's results go: the screen, and files that are checked before any work is spent."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refutedp.api.saved.files import require_writable
from refutedp.api.saved.to_json import dumps
from refutedp.cli.running import say
from refutedp.detector.notes import p_value_text
from refutedp.detector.result import Result, Sweep, Verdict
from refutedp.model.errors import UsageError

PLOT_KINDS = (".svg", ".png", ".pdf")
STDOUT = "-"
_COLOURS = {Verdict.VIOLATION: "red", Verdict.INCONCLUSIVE: "yellow", Verdict.NOT_FOUND: None}


@dataclass(frozen=True)
class Files:
    """The files a command was asked to write."""

    json: str | None = None
    html: Path | None = None
    plot: Path | None = None
    pytest: Path | None = None

    def __post_init__(self) -> None:
        for path in (self.json if self.json != STDOUT else None, self.html, self.plot, self.pytest):
            if path is not None:
                require_writable(Path(path))
        if self.plot is not None and self.plot.suffix.lower() not in PLOT_KINDS:
            raise UsageError(f"--plot {self.plot} must end in {', '.join(PLOT_KINDS[:-1])} or {PLOT_KINDS[-1]}")

    @property
    def json_to_stdout(self) -> bool:
        """Whether the standard output is for JSON alone."""
        return self.json == STDOUT

    @contextlib.contextmanager
    def clean_stdout(self) -> Iterator[None]:
        """What mechanisms print must not end up in the JSON."""
        if not self.json_to_stdout:
            yield
            return
        with contextlib.redirect_stdout(sys.stderr):
            yield

    def write(self, what: Result | Sweep, *, quiet: bool) -> None:
        """Write all of them, and say so."""
        writers: dict[str, Callable[[Any], Any]] = {"json": what.save, "plot": what.plot}
        if isinstance(what, Result):
            writers = {"json": what.save, "html": what.to_html, "plot": what.plot, "pytest": what.to_pytest}
            if self.pytest is not None and what.counterexample is None:
                say(f"{self.pytest} was not written: there is no counterexample to turn into a test", error=True)
                del writers["pytest"]
        asked = [(write, getattr(self, name)) for name, write in writers.items()]
        written = [(write, path) for write, path in asked if path not in (None, STDOUT)]
        for write, path in written:
            write(path)
        if self.json_to_stdout:
            with contextlib.suppress(BrokenPipeError):
                print(dumps(what).decode(), end="", flush=True)
        if written and not quiet:
            say(f"Wrote {', '.join(str(path) for _, path in written)}.", error=True)


def show(result: Result, *, quiet: bool, to_stderr: bool) -> None:
    """The result as text: whole, or in one line."""
    if quiet:
        say(one_line(result), error=to_stderr)
        return
    headline, _, rest = str(result).partition("\n")
    say(headline, error=to_stderr, colour=_COLOURS[result.verdict])
    say(rest, error=to_stderr)


def one_line(result: Result) -> str:
    """The verdict in one line, for logs.

    >>> from refutedp import check
    >>> one_line(check(lambda data, rng: 0, epsilon=1.0, search_runs=100, confirm_runs=100))
    'inconclusive: <lambda>, 1-differential privacy (every run gave the same output)'
    """
    start = f"{result.verdict.value}: {result.mechanism}, {result.claim}"
    if result.evidence is None:
        return f"{start} (every run gave the same output)"
    bound = max(result.evidence.epsilon_lower_bound, 0.0)
    return f"{start} (p-value {p_value_text(result.evidence.log_p_value)}, real ε ≥ {bound:.3g})"
