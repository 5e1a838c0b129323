"""`refutedp report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from refutedp.api.saved.to_json import load
from refutedp.cli import options as o
from refutedp.cli.running import running, say
from refutedp.cli.writing import Files
from refutedp.detector.result import Result
from refutedp.model.errors import UsageError


def report_command(
    result: Annotated[Path, typer.Argument(help="A result or sweep saved with --json.")],
    html: o.HtmlPath = None,
    plot: o.PlotPath = None,
    pytest: o.PytestPath = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Print a saved result, and write its report; the mechanism is not needed, and nothing is run.

    Without --html, --plot or --pytest, the report of result.json goes to result.html, that of a sweep to a figure.

    \b
    Examples:
      refutedp report result.json
      refutedp report result.json --html report.html --plot figure.pdf
    """
    with running(quiet=quiet, verbose=verbose):
        loaded = load(result)
        if html is None and plot is None and pytest is None:
            html = result.with_suffix(".html") if isinstance(loaded, Result) else None
            plot = None if isinstance(loaded, Result) else result.with_suffix(".svg")
        if not isinstance(loaded, Result) and (html is not None or pytest is not None):
            raise UsageError(f"{result} holds a sweep, which has no HTML report and no test: use --plot")
        files = Files(None, html, plot, pytest)
        if not quiet:
            say(str(loaded))
        files.write(loaded, quiet=quiet)
