"""The options that commands share, with their help texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from refutedp.cli.parse import (
    AdjacencyName,
    EngineName,
    FloatLeaksName,
    GoalName,
    ImportanceName,
    MethodName,
    StopName,
)

TargetName = Annotated[
    str,
    typer.Argument(
        metavar="MECHANISM",
        help="file.py:function, package.module:function, or a built-in name (see 'refutedp mechanisms').",
        show_default=False,
    ),
]
OptionalTargetName = Annotated[
    str | None,
    typer.Argument(
        metavar="[MECHANISM]",
        help="file.py:function, package.module:function, or a built-in name (see 'refutedp mechanisms').",
        show_default=False,
    ),
]
CommandLine = Annotated[
    str | None,
    typer.Option(
        "--command",
        metavar="COMMAND",
        help="A program in any language instead of a function (see docs/reference/protocol.md).",
        show_default=False,
    ),
]
TimeLimit = Annotated[
    str | None,
    typer.Option(
        "--time-limit", metavar="TIME", help="Fit the runs into a time such as 60s, 5m or 1h.", show_default=False
    ),
]
Delta = Annotated[
    float | None,
    typer.Option(help="With --epsilon: claims (epsilon, delta)-differential privacy.", show_default=False),
]
Rho = Annotated[float | None, typer.Option(help="Claims rho-zCDP instead of an epsilon.", show_default=False)]
Mu = Annotated[float | None, typer.Option(help="Claims mu-Gaussian DP instead of an epsilon.", show_default=False)]
Renyi = Annotated[
    str | None,
    typer.Option(metavar="ALPHA:EPS", help="Claims Rényi DP of an order, such as 2:0.5.", show_default=False),
]
Stop = Annotated[StopName, typer.Option(help="Convict as soon as possible, or test once after all runs.")]
AdjacencyOption = Annotated[
    AdjacencyName | None,
    typer.Option(
        "--adjacency",
        help="Which inputs are neighbours: queries that all may change or one of which may change, or records.  "
        "[default: all-differ]",
        show_default=False,
    ),
]
Sensitivity = Annotated[
    float | None, typer.Option(help="How much a query may change.  [default: 1]", show_default=False)
]
Records = Annotated[
    list[str] | None,
    typer.Option("--record", help="An example record, for add-remove and replace; repeat it.", show_default=False),
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
        show_default=False,
    ),
]
Arguments = Annotated[
    list[str] | None,
    typer.Option(
        "--arg",
        metavar="NAME=VALUE",
        help="An argument of the mechanism, as a Python literal or a range such as 0..10; repeat it.",
        show_default=False,
    ),
]
Pairs = Annotated[
    list[str] | None,
    typer.Option(
        "--pair",
        metavar="D1|D2",
        help='Two adjacent inputs to try instead of the patterns, such as "[1,1]|[2,2]"; repeat it.',
        show_default=False,
    ),
]
Lengths = Annotated[
    list[int] | None,
    typer.Option("--length", help="Length of inputs to try; repeat it.  [default: 1, 5 and 10]", show_default=False),
]
SearchRuns = Annotated[
    int, typer.Option(help="Search runs per pair and side; further rounds of the best few come on top.")
]
ConfirmRuns = Annotated[int, typer.Option(help="Fresh runs per side for the verdict.")]
Significance = Annotated[float, typer.Option(help="Largest p-value that counts as a violation.")]
Method = Annotated[MethodName, typer.Option(help="The exact test, or the paper's.")]
Goal = Annotated[GoalName, typer.Option(help="The largest certified bound, or a conviction after the fewest runs.")]
Seed = Annotated[int, typer.Option(help="Same seed, same result.")]
Jobs = Annotated[int, typer.Option(help="Processes to run on; -1 for all cores.")]
Engine = Annotated[EngineName, typer.Option(help="Where the runs are made: here, or on a cluster.")]
Scheduler = Annotated[
    str | None, typer.Option(help="Address of the cluster.  [default: start a local one]", show_default=False)
]
Lift = Annotated[
    bool, typer.Option("--lift/--no-lift", help="Run many samples in one call where that is proven equal.")
]
Paired = Annotated[
    bool,
    typer.Option("--paired/--no-paired", help="Confirm on pairs of runs with the same noise where that is sharper."),
]
Importance = Annotated[
    ImportanceName,
    typer.Option(help="Draw noise towards rare events, weighed: where plain runs show too little, wherever it pays."),
]
FloatLeaks = Annotated[
    FloatLeaksName,
    typer.Option(help="A leak through the last digits of floats: note it, let it decide, or do not look."),
]
OnErrorRaise = Annotated[
    bool, typer.Option("--fail-on-error", help="Stop at the first exception instead of taking it as an output.")
]
EpsilonName = Annotated[
    str | None,
    typer.Option(help="The parameter that takes epsilon.  [default: epsilon or eps]", show_default=False),
]
JsonPath = Annotated[
    str | None,
    typer.Option("--json", metavar="PATH", help="Save for replay; - for standard output.", show_default=False),
]
HtmlPath = Annotated[
    Path | None, typer.Option("--html", metavar="PATH", help="Write an HTML report.", show_default=False)
]
PlotPath = Annotated[
    Path | None,
    typer.Option("--plot", metavar="PATH", help="Write a figure: .svg, .png or .pdf.", show_default=False),
]
PytestPath = Annotated[
    Path | None,
    typer.Option("--pytest", metavar="PATH", help="Write the counterexample as a failing test.", show_default=False),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="One line, and no progress.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="More progress lines, and the trace behind an error.")]
