"""Where a mechanism comes from: how to import it again, and what its source said at the time."""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
import sysconfig
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Origin:
    """A mechanism's reference and source.

    `reference` is `file.py:function` or `package.module:function`, None for a function that cannot be imported
    again (a lambda, one defined inside another function or typed into a notebook). `source` is the text of the
    function ("" when Python cannot see it), `line` its first line in the file, and `sha256` the hash of `source`.
    """

    reference: str | None
    source: str
    line: int
    sha256: str


def origin_of(function: Any) -> Origin:
    """The origin of whatever was handed in as a mechanism; never fails, for a report is no reason to.

    >>> from refutedp.mechanisms import isvt1
    >>> origin = origin_of(isvt1)
    >>> origin.reference, origin.source.splitlines()[0]
    ('refutedp.mechanisms.sparse_vector:isvt1', 'def isvt1(')
    >>> origin_of(lambda data, rng: 0).reference is None
    True
    """
    inner = _innermost(function)
    try:
        lines, first = inspect.getsourcelines(inner)
    except (TypeError, OSError, IndentationError, SyntaxError):
        lines, first = [], 1
    source = textwrap.dedent("".join(lines)).rstrip("\n")
    # A partial carries arguments that its function's name does not give back.
    reference = None if isinstance(function, functools.partial) else _reference(inner)
    if inner is type(function):  # an object is not its class: it says itself how to make it again, or nobody can
        reference = getattr(function, "__refutedp_reference__", None)
    return Origin(reference, source, max(first, 1), hash_of(source))


def hash_of(source: str) -> str:
    """The SHA-256 of a source text, in hex."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


def _innermost(function: Any) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or inspect.isclass(function):
        unwrapped: Callable[..., Any] = inspect.unwrap(function)
        return unwrapped
    return type(function)


def _reference(function: Callable[..., Any]) -> str | None:
    name = getattr(function, "__qualname__", "")
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    if not name or "<" in name or module is None or not _reachable(module, name, function):
        return None
    path = _file(function)
    if path is None:
        return None if module.__name__ == "__main__" else f"{module.__name__}:{name}"
    if "." in module.__name__ or _installed(path):
        return f"{module.__name__}:{name}"
    return f"{short_path(path)}:{name}"


def _reachable(module: Any, name: str, function: Callable[..., Any]) -> bool:
    found = module
    for step in name.split("."):
        found = getattr(found, step, None)
    if found is None:
        return False
    try:
        return inspect.unwrap(found) is function
    except ValueError:
        return False


def _file(function: Callable[..., Any]) -> Path | None:
    try:
        name = inspect.getsourcefile(function)
    except TypeError:
        return None
    path = Path(name) if name else None
    return path if path is not None and path.is_file() else None


def _installed(path: Path) -> bool:
    return any(path.is_relative_to(sysconfig.get_path(kind)) for kind in ("purelib", "platlib", "stdlib"))


def short_path(path: Path) -> str:
    """The path as seen from the current folder when it lies below, absolute otherwise."""
    whole = path.resolve()
    try:
        return whole.relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return str(whole)
