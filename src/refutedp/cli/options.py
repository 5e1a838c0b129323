"""The options that commands share, with their help texts; those of settings are made from `Settings`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from refutedp.cli.parse import AdjacencyName
from refutedp.model.errors import UsageError
from refutedp.model.settings import SETTINGS, Settings, Spelling

Body: TypeAlias = Callable[..., None]
NAMES = tuple(name for name in SETTINGS if name != "progress")
"""The settings that have an option."""


def settings_options(*names: str, **defaults: Any) -> Callable[[Body], Body]:
    """Give a command an option for each of these settings, in place of its parameter `options`, which gets them.

    `defaults` replace those of `Settings`. An option that is None was not given.
    """
    spelt = {name: spelling(name) for name in names}
    made = [_parameter(name, how, defaults) for name, how in spelt.items()]

    def decorate(command: Body) -> Body:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            try:
                typed = {name: how.read(given.pop(name)) for name, how in spelt.items()}
            except UsageError as error:
                raise typer.BadParameter(str(error)) from None
            command(**given, options={name: value for name, value in typed.items() if value is not None})

        own = inspect.signature(command, eval_str=True)
        whole = [one for old in own.parameters.values() for one in (made if old.name == "options" else [old])]
        vars(run)["__signature__"] = own.replace(parameters=whole)  # what typer makes options of
        return run

    return decorate


def spelling(name: str) -> Spelling:
    """How a setting is spelt on the command line."""
    kind, setting = SETTINGS[name]
    option = name.replace("_", "-")
    switch = f"/--no-{option}" if kind is bool else ""
    return setting.spelling or Spelling(f"--{option}{switch}", kind, setting.meaning)


def _parameter(name: str, how: Spelling, defaults: Mapping[str, Any]) -> inspect.Parameter:
    default = defaults.get(name, getattr(Settings(), name))
    if how.type is bool and not isinstance(default, bool):
        default = False  # a flag that stands for another value of the setting
    kind = how.type if default is not None else how.type | None
    told = typer.Option(how.option, help=how.help)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, told])


TARGET = typer.Argument(
    metavar="MECHANISM",
    help="file.py:function, package.module:function, or a built-in name (see 'refutedp mechanisms').",
)
CommandLine = Annotated[
    str | None,
    typer.Option(
        "--command",
        metavar="COMMAND",
        help="A program in any language instead of a function (see docs/reference/protocol.md).",
    ),
]
Delta = Annotated[float | None, typer.Option(help="With --epsilon: claims (epsilon, delta)-differential privacy.")]
Rho = Annotated[float | None, typer.Option(help="Claims rho-zCDP instead of an epsilon.")]
Mu = Annotated[float | None, typer.Option(help="Claims mu-Gaussian DP instead of an epsilon.")]
Renyi = Annotated[str | None, typer.Option(metavar="ALPHA:EPS", help="Claims Rényi DP of an order, such as 2:0.5.")]
AdjacencyOption = Annotated[
    AdjacencyName | None,
    typer.Option(
        "--adjacency",
        help="Which inputs are neighbours: queries that all may change or one of which may change, records, "
        "or any two inputs (local DP).  "
        "[default: all-differ]",
    ),
]
Sensitivity = Annotated[float | None, typer.Option(help="How much a query may change.  [default: 1]")]
Records = Annotated[
    list[str] | None,
    typer.Option("--record", help="An example record, for add-remove, replace and any-two; repeat it."),
]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="COLUMN", help="Neighbours differ in all the records of one id, which stands here."),
]
Odd = Annotated[
    bool, typer.Option("--odd/--no-odd", help="Also try records such as nan that often break code, or never.")
]
Inputs = Annotated[
    str | None,
    typer.Option(
        "--inputs",
        metavar="FILE",
        help="Data sets whose neighbours to try: a JSON file, or file.py:function for one that makes them.",
    ),
]
Arguments = Annotated[
    list[str] | None,
    typer.Option(
        "--arg",
        metavar="NAME=VALUE",
        help="An argument of the mechanism, as a Python literal or a range such as 0..10; repeat it.",
    ),
]
Pairs = Annotated[
    list[str] | None,
    typer.Option(
        "--pair",
        metavar="D1|D2",
        help='Two adjacent inputs to try instead of the patterns, such as "[1,1]|[2,2]"; repeat it.',
    ),
]
JsonPath = Annotated[
    str | None, typer.Option("--json", metavar="PATH", help="Save for replay; - for standard output.")
]
HtmlPath = Annotated[Path | None, typer.Option("--html", metavar="PATH", help="Write an HTML report.")]
SarifPath = Annotated[
    Path | None, typer.Option("--sarif", metavar="PATH", help="Write SARIF 2.1.0, for code scanning and editors.")
]
Github = Annotated[bool, typer.Option("--github", help="Print an annotation that GitHub Actions shows at the line.")]
PlotPath = Annotated[Path | None, typer.Option("--plot", metavar="PATH", help="Write a figure: .svg, .png or .pdf.")]
PytestPath = Annotated[
    Path | None, typer.Option("--pytest", metavar="PATH", help="Write the counterexample as a failing test.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="One line, and no progress.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="More progress lines, and the trace behind an error.")]
