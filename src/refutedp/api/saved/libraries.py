"""Libraries that a saved value needs: imported when it is read, and named when they are not there."""

from __future__ import annotations

import importlib
from typing import Any

from refutedp.model.errors import UsageError


class NeedsLibrary(UsageError):
    """The value is sound, and the library that holds it is not installed."""


def library(name: str, what: str) -> Any:
    """The module; without it, half a sentence with the line that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise NeedsLibrary(f'holds a {what}, which needs its library: pip install "refutedp[{name}]"') from None
