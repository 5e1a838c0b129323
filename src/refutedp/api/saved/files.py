"""Files that are either whole or not there."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from refutedp.model.errors import UsageError


def write_atomically(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write beside the target, then rename over it; a path that cannot be written gets one sentence."""
    target = Path(path)
    data = content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")
    require_writable(target)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
        os.replace(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(f"{target} cannot be written: {error.strerror or error}") from None


def require_writable(target: Path) -> None:
    """Refuse a path that cannot be written before any work is spent on what should go there."""
    if target.is_dir():
        raise UsageError(f"{target} cannot be written: it is a folder, give the name of a file")
    if not target.parent.is_dir():
        raise UsageError(f"{target} cannot be written: the folder '{target.parent}' does not exist, create it first")
    if not os.access(target.parent, os.W_OK):
        raise UsageError(f"{target} cannot be written: the folder '{target.parent}' is not writable")
