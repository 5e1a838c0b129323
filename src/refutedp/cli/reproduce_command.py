"""`refutedp reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from refutedp.cli import options as o
from refutedp.cli.running import running, say
from refutedp.model.settings import Options
from refutedp.reproduce.paper import What


@o.settings_options("seed", "jobs", jobs=-1)
def reproduce_command(
    what: Annotated[What, typer.Argument(help="Which part of the paper's evaluation.")] = "all",
    *,
    out: Annotated[Path, typer.Option(help="Directory for pages, figures and data.")] = Path("reproduction"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A fifth of the paper's budgets: a minute's version.")
    ] = False,
    options: Options,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Make the paper's figures and tables again: eleven mechanisms, three claimed epsilons, thirty test epsilons.

    A run that is stopped continues where it was: finished curves in DIR/data are kept.

    \b
    Examples:
      refutedp reproduce all --out reproduction
      refutedp reproduce figures --quick
    """
    with running(quiet=quiet, verbose=verbose) as watch:
        from refutedp.reproduce.run_paper import reproduce

        done = reproduce(what, out, quick=quick, seed=options["seed"], jobs=options["jobs"], report=watch.update)
        watch.close()
        kept = f", {done.kept} curves kept from an earlier run" if done.kept else ""
        say(f"Reproduced {len(done.curves)} curves in {done.seconds:.0f} seconds{kept}: {out / 'reproduction.html'}")
        if not quiet:
            for path in done.files:
                say(f"  {path}")
