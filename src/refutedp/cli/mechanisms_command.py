"""`refutedp mechanisms`."""

from __future__ import annotations

from refutedp.cli.running import running, say
from refutedp.mechanisms import PAPER

ADJACENCY = {"all": "all-differ", "one": "one-differs"}


def mechanisms_command() -> None:
    """List the built-in mechanisms: the eleven of the paper, what each claims and what it really provides.

    \b
    Examples:
      refutedp mechanisms
      refutedp check isvt4 --epsilon 0.5
    """
    with running():
        rows = [("name", "in the paper", "adjacency", "claims", "provides")]
        rows += [(one.name, one.title, ADJACENCY[one.adjacency], "ε", one.truth) for one in PAPER]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        for row in rows:
            say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
