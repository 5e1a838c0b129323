"""Where tools should point in the source: the guilty line, or the function where none is known."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from refutedp.detector.result import Result
from refutedp.model.explanation import Place

_DEFINES = re.compile(r"\s*(async\s+)?(def|class|lambda)\b|.*\blambda\b")


def main_place(result: Result) -> Place | None:
    """The line to point at: that of the explanation, else that of the definition; None without a source file."""
    told = None if result.explanation is None else result.explanation.place
    if told is not None and in_a_file(told):
        return told
    origin = result.origin
    if origin is None or not origin.source:
        return None
    file = source_file(origin.reference)
    if file is None:
        return None
    lines = origin.source.splitlines()
    # Decorators stand above the definition.
    offset = next((i for i, line in enumerate(lines) if _DEFINES.match(line)), 0)
    return Place(file, origin.line + offset, result.mechanism, lines[offset].strip())


def in_a_file(place: Place) -> bool:
    """Whether a place is in a file, not in a notebook's cell or a text that was executed.

    >>> in_a_file(Place("<string>", 1, "f", "")), in_a_file(Place("f.py", 1, "f", ""))
    (False, True)
    """
    return not place.file.startswith("<")


def source_file(reference: str | None) -> str | None:
    """The file of a reference, without importing anything that is not imported yet.

    >>> source_file("noise.py:laplace"), source_file(None)
    ('noise.py', None)
    """
    if reference is None:
        return None
    module = reference.rpartition(":")[0]
    if module.endswith(".py"):
        return module
    return getattr(sys.modules.get(module), "__file__", None)


def from_repository(file: str) -> str:
    """A file as seen from the root of the repository: $GITHUB_WORKSPACE where that is set, else the current folder.

    What lies outside stays absolute.
    """
    root = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd()).resolve()
    whole = Path(file).resolve()
    return whole.relative_to(root).as_posix() if whole.is_relative_to(root) else whole.as_posix()
