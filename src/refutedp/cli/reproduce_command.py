"""`refutedp reproduce`."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from refutedp.cli import options as o
from refutedp.cli.running import running, say


class Part(enum.StrEnum):
    """What to reproduce."""

    FIGURES = "figures"
    COUNTEREXAMPLES = "counterexamples"
    TIMING = "timing"
    ALL = "all"


def reproduce_command(
    what: Annotated[Part, typer.Argument(help="Which part of the paper's evaluation.")] = Part.ALL,
    out: Annotated[Path, typer.Option(help="Directory for pages, figures and data.")] = Path("reproduction"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A fifth of the paper's budgets: a minute's version.")
    ] = False,
    seed: o.Seed = 0,
    jobs: o.Jobs = -1,
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

        done = reproduce(what.value, out, quick=quick, seed=seed, jobs=jobs, report=watch.update)
        watch.close()
        kept = f", {done.kept} curves kept from an earlier run" if done.kept else ""
        say(f"Reproduced {len(done.curves)} curves in {done.seconds:.0f} seconds{kept}: {out / 'reproduction.html'}")
        if not quiet:
            for path in done.files:
                say(f"  {path}")
