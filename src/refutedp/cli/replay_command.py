"""`refutedp replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from refutedp.api.replay import replay
from refutedp.cli import options as o
from refutedp.cli.running import EXIT_CODES, running
from refutedp.cli.writing import Files, show
from refutedp.model.settings import Options


@o.settings_options("confirm_runs", "seed", "jobs", confirm_runs=None, seed=None)
def replay_command(
    result: Annotated[Path, typer.Argument(help="A result saved with --json.")],
    *,
    mechanism: Annotated[
        str | None, typer.Option(metavar="MECHANISM", help="Replay on this one instead of the saved reference.")
    ] = None,
    options: Options,
    json: o.JsonPath = None,
    html: o.HtmlPath = None,
    plot: o.PlotPath = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Test a saved counterexample on fresh runs: same inputs, event and direction.

    The runs are as many as were saved, and the seed is the saved one plus 1, unless these are given.

    \b
    Examples:
      refutedp replay result.json
      refutedp replay result.json --seed 7 --confirm-runs 1000000
      refutedp replay result.json --mechanism fixed.py:noisy_max
    """
    with running(quiet=quiet, verbose=verbose) as watch:
        options["progress"] = watch.update
        files = Files(json, html, plot)
        with files.clean_stdout():
            from refutedp.cli.targets import target

            named = None if mechanism is None else target(mechanism)
            again = replay(result, None if named is None else named.function, **options)
        watch.close()
        if named is not None:
            again = named.remembered(again)
        show(again, quiet=quiet, to_stderr=files.json_to_stdout)
        files.write(again, quiet=quiet)
        raise typer.Exit(EXIT_CODES[again.verdict])
