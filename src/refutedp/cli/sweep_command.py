"""`refutedp sweep`."""

from __future__ import annotations

from typing import Annotated

import typer

from refutedp.api.sweep import sweep
from refutedp.cli import options as o
from refutedp.cli import parse
from refutedp.cli.data_sets import inputs as read_inputs
from refutedp.cli.running import running, say
from refutedp.cli.targets import target
from refutedp.cli.writing import Files

EPSILONS = "0.2,0.7,1.5"


def sweep_command(
    mechanism: o.TargetName,
    claimed: Annotated[
        list[str],
        typer.Option(
            metavar="LIST", help=f"Epsilons to run the mechanism with, such as {EPSILONS}.", show_default=False
        ),
    ],
    test: Annotated[
        list[str],
        typer.Option(metavar="LIST", help="Epsilons to test against: a list or start:stop:step.", show_default=False),
    ],
    adjacency: o.AdjacencyOption = None,
    sensitivity: o.Sensitivity = None,
    record: o.Records = None,
    odd: o.Odd = True,
    arg: o.Arguments = None,
    pair: o.Pairs = None,
    inputs: o.Inputs = None,
    length: o.Lengths = None,
    search_runs: o.SearchRuns = 100_000,
    confirm_runs: o.ConfirmRuns = 500_000,
    significance: o.Significance = 0.001,
    method: o.Method = parse.MethodName.ALLOCATION,
    seed: o.Seed = 0,
    jobs: o.Jobs = 1,
    engine: o.Engine = parse.EngineName.LOCAL,
    scheduler: o.Scheduler = None,
    lift: o.Lift = True,
    paired: o.Paired = True,
    epsilon_name: o.EpsilonName = None,
    json: o.JsonPath = None,
    plot: o.PlotPath = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """P-value against test epsilon, one curve for each claimed epsilon: the paper's figures.

    \b
    Examples:
      refutedp sweep isvt1 --claimed 0.2,0.7,1.5 --test 0.1:2.5:0.1 --plot isvt1.svg
      refutedp sweep mechanism.py:noisy_max --claimed 0.5 --test 0.25,0.5,1,2
    """
    with running(quiet=quiet, verbose=verbose) as watch:
        files = Files(json, plot=plot)
        with files.clean_stdout():
            named = target(mechanism)
            curves = sweep(
                named.function,
                claimed=parse.epsilons("--claimed", claimed),
                test=parse.epsilons("--test", test),
                adjacency=parse.adjacency(adjacency or named.adjacency, sensitivity, record or (), odd=odd),
                args=parse.arguments(arg or ()),
                pairs=parse.pairs(pair or ()),
                inputs=read_inputs(inputs),
                search_runs=search_runs,
                confirm_runs=confirm_runs,
                significance=significance,
                method=method.value,
                seed=seed,
                jobs=jobs,
                engine=engine.value,
                scheduler=scheduler,
                lengths=tuple(length) if length else None,
                lift=lift,
                paired=paired,
                epsilon_name=epsilon_name,
                progress=watch.update,
            )
        watch.close()
        curves = named.remembered(curves)
        if not quiet:
            say(str(curves), error=files.json_to_stdout)
        files.write(curves, quiet=quiet)
