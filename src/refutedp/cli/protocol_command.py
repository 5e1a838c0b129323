"""`refutedp protocol check`."""

from __future__ import annotations

from typing import Annotated

import typer

from refutedp.api.command import Command
from refutedp.cli import options as o
from refutedp.cli import parse
from refutedp.cli.running import BAD_USE, running, say
from refutedp.model.errors import UsageError
from refutedp.sampling.program.conformance import Conformance, Status, conformance

protocol_app = typer.Typer(
    name="protocol",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Programs in any language: does one keep the protocol?",
)
_COLOURS = {Status.PASSED: "green", Status.FAILED: "red", Status.NOTE: "yellow", Status.NOT_TRIED: None}


@protocol_app.callback()
def protocol() -> None:
    """Programs in any language as mechanisms: JSON lines on standard input and output."""


@protocol_app.command("check", short_help="Try a program, point by point.", epilog="Exit codes: 0 passed, 2 failed.")
def protocol_check_command(
    command: Annotated[
        str,
        typer.Option("--command", metavar="COMMAND", help="The program with its arguments."),
    ],
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
        _print(report)
        raise typer.Exit(0 if report.passed else BAD_USE)


def _print(report: Conformance) -> None:
    width = max(len(point.name) for point in report.points)
    for point in report.points:
        words = f"{point.status.value:9}  {point.name.ljust(width)}  {point.detail}".rstrip()
        say(words, colour=_COLOURS[point.status])
    if report.runs_per_second is not None:
        say(f"{report.runs_per_second:,.0f} runs a second.")
    say("The program keeps the protocol." if report.passed else "The program does not keep the protocol.")
