"""Where a command's results go: the screen, and files that are checked before any work is spent."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from refutedp.api.saved.files import require_writable
from refutedp.api.saved.to_json import dumps
from refutedp.cli.running import say
from refutedp.detector.notes import p_value_text
from refutedp.detector.result import Result, Sweep, Verdict
from refutedp.model.errors import UsageError

PLOT_KINDS = (".svg", ".png", ".pdf")
STDOUT = "-"
_COLOURS = {Verdict.VIOLATION: "red", Verdict.INCONCLUSIVE: "yellow", Verdict.NOT_FOUND: None}


class Files:
    """The files a command was asked to write."""

    def __init__(
        self,
        json: str | None = None,
        html: Path | None = None,
        plot: Path | None = None,
        pytest: Path | None = None,
    ) -> None:
        self.json, self.html, self.plot, self.pytest = json, html, plot, pytest
        for path in (None if json in (None, STDOUT) else Path(str(json)), html, plot, pytest):
            if path is not None:
                require_writable(path)
        if plot is not None and plot.suffix.lower() not in PLOT_KINDS:
            raise UsageError(f"--plot {plot} must end in {', '.join(PLOT_KINDS[:-1])} or {PLOT_KINDS[-1]}")

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
        written: list[str] = []
        if self.json is not None and not self.json_to_stdout:
            what.save(self.json)
            written.append(self.json)
        if self.html is not None and isinstance(what, Result):
            what.to_html(self.html)
            written.append(str(self.html))
        if self.plot is not None:
            what.plot(self.plot)
            written.append(str(self.plot))
        if self.pytest is not None and isinstance(what, Result):
            if what.counterexample is None:
                say(f"{self.pytest} was not written: there is no counterexample to turn into a test", error=True)
            else:
                what.to_pytest(self.pytest)
                written.append(str(self.pytest))
        if self.json_to_stdout:
            with contextlib.suppress(BrokenPipeError):
                sys.stdout.write(dumps(what).decode())
                sys.stdout.flush()
        if written and not quiet:
            say(f"Wrote {', '.join(written)}.", error=True)


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
