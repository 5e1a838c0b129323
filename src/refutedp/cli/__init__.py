"""The command `refutedp`: what `check`, `sweep` and `replay` do, from a terminal or a CI log."""

from refutedp.cli.entry import main

__all__ = ["main"]
