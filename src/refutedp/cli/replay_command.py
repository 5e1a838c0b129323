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


def replay_command(
    result: Annotated[Path, typer.Argument(help="A result saved with --json.", show_default=False)],
    mechanism: Annotated[
        str | None,
        typer.Option(
            metavar="MECHANISM", help="Replay on this one instead of the saved reference.", show_default=False
        ),
    ] = None,
    confirm_runs: Annotated[
        int | None, typer.Option(help="Fresh runs per side.  [default: as saved]", show_default=False)
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the fresh runs.  [default: the saved one plus 1]", show_default=False)
    ] = None,
    jobs: o.Jobs = 1,
    json: o.JsonPath = None,
    html: o.HtmlPath = None,
    plot: o.PlotPath = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Test a saved counterexample on fresh runs: same inputs, event and direction.

    \b
    Examples:
      refutedp replay result.json
      refutedp replay result.json --seed 7 --confirm-runs 1000000
      refutedp replay result.json --mechanism fixed.py:noisy_max
    """
    with running(quiet=quiet, verbose=verbose) as watch:
        files = Files(json, html, plot)
        overrides: Options = {"jobs": jobs, "progress": watch.update}
        if confirm_runs is not None:
            overrides["confirm_runs"] = confirm_runs
        if seed is not None:
            overrides["seed"] = seed
        with files.clean_stdout():
            from refutedp.cli.targets import target

            named = None if mechanism is None else target(mechanism)
            again = replay(result, None if named is None else named.function, **overrides)
        watch.close()
        if named is not None:
            again = named.remembered(again)
        show(again, quiet=quiet, to_stderr=files.json_to_stdout)
        files.write(again, quiet=quiet)
        raise typer.Exit(EXIT_CODES[again.verdict])
