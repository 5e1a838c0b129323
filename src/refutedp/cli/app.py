"""The commands by name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from refutedp.adapters.installed import ADAPTERS
from refutedp.api.check import check
from refutedp.api.command import Command
from refutedp.api.replay import replay
from refutedp.api.saved.to_json import load
from refutedp.api.sweep import sweep
from refutedp.cli import options as o
from refutedp.cli import parse
from refutedp.cli.running import BAD_USE, Files, finish, running, say
from refutedp.detector.result import Result
from refutedp.mechanisms import PAPER
from refutedp.model.errors import UsageError
from refutedp.model.settings import Options
from refutedp.reproduce.paper import What
from refutedp.sampling.program.conformance import Status, conformance

EXIT_CODES = "Exit codes: 0 no violation found, 1 violation, 2 bad use or a failing mechanism, 3 inconclusive."
CHECKS_ONLY = {"stop", "goal", "on_error", "float_leaks", "importance", "paths", "time_limit"}
"""Settings that mean nothing to a curve."""
_COLOURS = {Status.PASSED: "green", Status.FAILED: "red", Status.NOTE: "yellow", Status.NOT_TRIED: None}

app = typer.Typer(
    name="refutedp",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from refutedp import __version__

        print(f"refutedp {__version__}")
        raise typer.Exit


@app.callback()
def refutedp(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Finds short, checkable counterexamples to differential-privacy claims.

    \b
    Examples:
      refutedp check mechanism.py:noisy_max --epsilon 0.5
      refutedp check isvt1 --epsilon 0.5 --html report.html
      refutedp mechanisms
    """


@app.command("check", short_help="Search for a counterexample to a claim.", epilog=EXIT_CODES)
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
    by: o.By = None,
    arg: o.Arguments = None,
    pair: o.Pairs = None,
    inputs: o.Inputs = None,
    options: Options,
    json: o.JsonPath = None,
    html: o.HtmlPath = None,
    plot: o.PlotPath = None,
    pytest: o.PytestPath = None,
    sarif: o.SarifPath = None,
    github: o.Github = False,
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
        watch.files = files = Files(json, html, plot, pytest, sarif, github=github)
        with files.clean_stdout():
            named = parse.one_target(mechanism, command)
            result = check(
                named.function,
                parse.claim(epsilon=epsilon, delta=delta, rho=rho, mu=mu, renyi=renyi),
                adjacency=parse.adjacency(adjacency or named.adjacency, sensitivity, record or (), odd=odd, by=by),
                args=parse.arguments(arg or ()),
                pairs=parse.pairs(pair or ()),
                inputs=parse.inputs(inputs),
                **options,
            )
        watch.close()
        finish(named.remembered(result), files, quiet=quiet)


@app.command("sweep", short_help="Draw p-value against test epsilon.")
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
    by: o.By = None,
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
            named = parse.target(mechanism)
            curves = sweep(
                named.function,
                claimed=parse.epsilons("--claimed", claimed),
                test=parse.epsilons("--test", test),
                adjacency=parse.adjacency(adjacency or named.adjacency, sensitivity, record or (), odd=odd, by=by),
                args=parse.arguments(arg or ()),
                pairs=parse.pairs(pair or ()),
                inputs=parse.inputs(inputs),
                **options,
            )
        watch.close()
        curves = named.remembered(curves)
        if not quiet:
            say(str(curves), error=files.json_to_stdout)
        files.write(curves, quiet=quiet)


@app.command("replay", short_help="Test a saved counterexample on fresh runs.", epilog=EXIT_CODES)
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
    sarif: o.SarifPath = None,
    github: o.Github = False,
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
        files = Files(json, html, plot, sarif=sarif, github=github)
        with files.clean_stdout():
            named = None if mechanism is None else parse.target(mechanism)
            again = replay(result, None if named is None else named.function, **options)
        watch.close()
        finish(again if named is None else named.remembered(again), files, quiet=quiet)


@app.command("report", short_help="Print a saved result and write its report.")
def report_command(
    result: Annotated[Path, typer.Argument(help="A result or sweep saved with --json.")],
    html: o.HtmlPath = None,
    plot: o.PlotPath = None,
    pytest: o.PytestPath = None,
    sarif: o.SarifPath = None,
    github: o.Github = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Print a saved result, and write its report; the mechanism is not needed, and nothing is run.

    Unless a file or --github is asked for, the report of result.json goes to result.html, that of a sweep to a
    figure.

    \b
    Examples:
      refutedp report result.json
      refutedp report result.json --html report.html --plot figure.pdf
    """
    with running(quiet=quiet, verbose=verbose):
        loaded = load(result)
        is_sweep = not isinstance(loaded, Result)
        if html is None and plot is None and pytest is None and sarif is None and not github:
            html, plot = (None, result.with_suffix(".svg")) if is_sweep else (result.with_suffix(".html"), None)
        if is_sweep and (html is not None or pytest is not None or sarif is not None or github):
            raise UsageError(f"{result} holds a sweep, which has no report, no test and no annotation: use --plot")
        files = Files(None, html, plot, pytest, sarif, github=github)
        if not quiet:
            say(str(loaded))
        files.write(loaded, quiet=quiet)


@app.command("mechanisms", short_help="List the built-in mechanisms.")
def mechanisms_command() -> None:
    """List the built-in mechanisms: the eleven of the paper, what each claims and what it really provides.

    \b
    Examples:
      refutedp mechanisms
      refutedp check isvt4 --epsilon 0.5
    """
    with running():
        rows = [("name", "in the paper", "adjacency", "claims", "provides")]
        rows += [(one.name, one.title, parse.MEANT[one.adjacency], "ε", one.truth) for one in PAPER]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@app.command("adapters", short_help="List the adapters of libraries, and which are installed.")
def adapters_command() -> None:
    """List the adapters: what each can check, and the version that is installed or the line that installs it.

    \b
    Example:
      refutedp adapters
    """
    with running():
        for one in ADAPTERS:
            missing = f'not installed: pip install "refutedp[{one.extra}]"'
            say(f"{one.function}  ({one.package} {one.installed or missing})")
            say(f"    {one.checks}")


@app.command("reproduce", short_help="Make the paper's figures and tables again.")
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

        done = reproduce(what, out, quick=quick, seed=options["seed"], jobs=int(options["jobs"]), report=watch.update)
        watch.close()
        kept = f", {done.kept} curves kept from an earlier run" if done.kept else ""
        say(f"Reproduced {len(done.curves)} curves in {done.seconds:.0f} seconds{kept}: {out / 'reproduction.html'}")
        if not quiet:
            for path in done.files:
                say(f"  {path}")


protocol_app = typer.Typer(
    name="protocol",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Check that a program in any language keeps the protocol.",
)
app.add_typer(protocol_app)


@protocol_app.callback()
def protocol() -> None:
    """Programs in any language as mechanisms: JSON lines on standard input and output."""


@protocol_app.command("check", short_help="Try a program, point by point.", epilog="Exit codes: 0 passed, 2 failed.")
def protocol_check_command(
    command: Annotated[str, typer.Option("--command", metavar="COMMAND", help="The program with its arguments.")],
    data: Annotated[str, typer.Option(help="The data to send, as a Python literal.")] = "[1, 1, 1]",
    arg: o.Arguments = None,
    timeout: Annotated[float, typer.Option(help="Seconds for one request.")] = 60.0,
    verbose: o.Verbose = False,
) -> None:
    """Start a program, send it requests, and say point by point whether it keeps the protocol.

    epsilon=1 is sent along unless --arg epsilon=... says otherwise.

    \b
    Examples:
      refutedp protocol check --command "./mechanism --flag"
      refutedp protocol check --command "java Mechanism" --data "[3, 1]" --arg threshold=2
    """
    with running(verbose=verbose):
        program = Command(command, timeout)
        try:
            value = parse.literal(data)
        except ValueError:
            raise UsageError(f'--data {data!r} must be a Python literal, such as "[1, 2]"') from None
        report = conformance(program.spec, value, {"epsilon": 1.0, **parse.arguments(arg or ())})
        width = max(len(point.name) for point in report.points)
        for point in report.points:
            words = f"{point.status.value:9}  {point.name.ljust(width)}  {point.detail}".rstrip()
            say(words, colour=_COLOURS[point.status])
        if report.runs_per_second is not None:
            say(f"{report.runs_per_second:,.0f} runs a second.")
        say("The program keeps the protocol." if report.passed else "The program does not keep the protocol.")
        raise typer.Exit(0 if report.passed else BAD_USE)
