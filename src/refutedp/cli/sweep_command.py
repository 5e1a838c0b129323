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
from refutedp.model.settings import Options

CHECKS_ONLY = {"stop", "goal", "on_error", "float_leaks", "importance", "time_limit"}
"""Settings that mean nothing to a curve."""


@o.settings_options(*(name for name in o.NAMES if name not in CHECKS_ONLY))
def sweep_command(
    mechanism: Annotated[str, o.TARGET],
    *,
    claimed: Annotated[
        list[str], typer.Option(metavar="LIST", help="Epsilons to run the mechanism with, such as 0.2,0.7,1.5.")
    ],
    test: Annotated[
        list[str], typer.Option(metavar="LIST", help="Epsilons to test against: a list or start:stop:step.")
    ],
    adjacency: o.AdjacencyOption = None,
    sensitivity: o.Sensitivity = None,
    record: o.Records = None,
    odd: o.Odd = True,
    arg: o.Arguments = None,
    pair: o.Pairs = None,
    inputs: o.Inputs = None,
    options: Options,
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
        options["progress"] = watch.update
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
                **options,
            )
        watch.close()
        curves = named.remembered(curves)
        if not quiet:
            say(str(curves), error=files.json_to_stdout)
        files.write(curves, quiet=quiet)
