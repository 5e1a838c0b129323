"""`refutedp check`."""

from __future__ import annotations

from typing import Annotated

import typer

from refutedp.api.check import check
from refutedp.cli import options as o
from refutedp.cli import parse
from refutedp.cli.data_sets import inputs as read_inputs
from refutedp.cli.running import EXIT_CODES, running
from refutedp.cli.targets import one_target
from refutedp.cli.writing import Files, show
from refutedp.model.settings import Options


@o.settings_options(*o.NAMES)
def check_command(
    mechanism: Annotated[str | None, o.TARGET] = None,
    *,
    command: o.CommandLine = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="The epsilon that the mechanism claims; needed unless the mechanism knows its claim."),
    ] = None,
    delta: o.Delta = None,
    rho: o.Rho = None,
    mu: o.Mu = None,
    renyi: o.Renyi = None,
    adjacency: o.AdjacencyOption = None,
    sensitivity: o.Sensitivity = None,
    record: o.Records = None,
    odd: o.Odd = True,
    arg: o.Arguments = None,
    pair: o.Pairs = None,
    inputs: o.Inputs = None,
    options: Options,
    json: o.JsonPath = None,
    html: o.HtmlPath = None,
    plot: o.PlotPath = None,
    pytest: o.PytestPath = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Search for a counterexample to a claim, and test the best one on fresh runs.

    \b
    Examples:
      refutedp check mechanism.py:noisy_max --epsilon 0.5
      refutedp check mypackage.svt:above --epsilon 1 --arg threshold=1 --jobs -1
      refutedp check counts.py:release --epsilon 1 --adjacency add-remove --record 0 --record 100
      refutedp check counts.py:release --epsilon 1 --adjacency replace --inputs data.py:people
      refutedp check --command "./mechanism --flag" --epsilon 0.5 --time-limit 60s
      refutedp check noise.py:gaussian --epsilon 1 --delta 1e-5 --adjacency one-differs
      refutedp check isvt4 --epsilon 0.5 --json result.json --html report.html
    """
    with running(quiet=quiet, verbose=verbose) as watch:
        options["progress"] = watch.update
        files = Files(json, html, plot, pytest)
        with files.clean_stdout():
            named = one_target(mechanism, command)
            result = check(
                named.function,
                parse.claim(epsilon=epsilon, delta=delta, rho=rho, mu=mu, renyi=renyi),
                adjacency=parse.adjacency(adjacency or named.adjacency, sensitivity, record or (), odd=odd),
                args=parse.arguments(arg or ()),
                pairs=parse.pairs(pair or ()),
                inputs=read_inputs(inputs),
                **options,
            )
        watch.close()
        result = named.remembered(result)
        show(result, quiet=quiet, to_stderr=files.json_to_stdout)
        files.write(result, quiet=quiet)
        raise typer.Exit(EXIT_CODES[result.verdict])
