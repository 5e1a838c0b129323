"""The commands by name. Each module of this folder named `*_command` holds one of them."""

from __future__ import annotations

from typing import Annotated

import typer

from refutedp.cli.check_command import check_command
from refutedp.cli.mechanisms_command import mechanisms_command
from refutedp.cli.protocol_command import protocol_app
from refutedp.cli.replay_command import replay_command
from refutedp.cli.report_command import report_command
from refutedp.cli.reproduce_command import reproduce_command
from refutedp.cli.sweep_command import sweep_command

EXIT_CODES = "Exit codes: 0 no violation found, 1 violation, 2 bad use or a failing mechanism, 3 inconclusive."

app = typer.Typer(
    name="refutedp",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("check", short_help="Search for a counterexample to a claim.", epilog=EXIT_CODES)(check_command)
app.command("sweep", short_help="Draw p-value against test epsilon.")(sweep_command)
app.command("replay", short_help="Test a saved counterexample on fresh runs.", epilog=EXIT_CODES)(replay_command)
app.command("report", short_help="Print a saved result and write its report.")(report_command)
app.command("mechanisms", short_help="List the built-in mechanisms.")(mechanisms_command)
app.command("reproduce", short_help="Make the paper's figures and tables again.")(reproduce_command)
app.add_typer(protocol_app)


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
