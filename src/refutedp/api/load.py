"""From `file.py:function` or `package.module:function` to the function; every refusal is one sentence."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from refutedp.model.errors import UsageError


def load_mechanism(reference: str, *, folders: Sequence[Path] = ()) -> Any:
    """The function that `reference` names; files are looked for in the current folder, then in `folders`.

    >>> load_mechanism("refutedp.mechanisms:isvt1").__name__
    'isvt1'
    >>> load_mechanism("refutedp.mechanisms:isvt9")
    Traceback (most recent call last):
        ...
    refutedp.model.errors.UsageError: refutedp.mechanisms has no 'isvt9': did you mean 'isvt4'?
    """
    if reference.startswith("command:"):
        from refutedp.api.command import Command

        return Command(reference.removeprefix("command:"))
    place, colon, name = reference.rpartition(":")
    if not colon or not place or not name:
        raise UsageError(f"{reference!r} does not name a function: write file.py:function or package.module:function")
    is_file = place.endswith(".py") or "/" in place or os.sep in place
    module = _load_file(place, folders) if is_file else _load_module(place)
    found: Any = module
    for step in name.split("."):
        try:
            found = getattr(found, step)
        except AttributeError:
            if getattr(module, "__file__", None) is None and hasattr(module, "__path__"):
                told = f"{place} is a folder: name a file in it, such as {place}/mechanism.py:{name}"
                raise UsageError(told) from None
            raise UsageError(f"{place} has no '{name}': {_suggest(module, name)}") from None
    if not callable(found):
        raise UsageError(f"{reference} is a {type(found).__name__}, not a function: {_suggest(module, name)}")
    return found


def _suggest(module: ModuleType, name: str) -> str:
    public = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
    near = difflib.get_close_matches(name, public, n=1)
    if near and near[0] != name:
        return f"did you mean '{near[0]}'?"
    own = [key for key in public if getattr(getattr(module, key), "__module__", None) == module.__name__]
    return f"it defines {', '.join(own)}" if own else "it defines no functions"


def _load_file(place: str, folders: Sequence[Path]) -> ModuleType:
    tried = [Path(place), *(folder / place for folder in folders)]
    path = next((p for p in tried if p.is_file()), None)
    if path is None:
        kind = "is a folder, not a file" if Path(place).is_dir() else "does not exist"
        raise UsageError(f"{place} {kind}: give the path of a Python file, such as mechanism.py:function")
    path = path.resolve()
    root, name = _package_root(path)
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    taken = known is not None or name.partition(".")[0] in sys.stdlib_module_names
    if str(root) not in sys.path:
        # As `python file.py` would: the file's neighbours can be imported, in worker processes too. Where the file's
        # own name is taken, the folder comes last, lest it hide the other module from everyone.
        sys.path.insert(len(sys.path) if taken else 0, str(root))
    return _import_under_another_name(path, place) if taken else _import(name, place)


def _package_root(path: Path) -> tuple[Path, str]:
    """The folder to import from and the dotted name: a file inside a package is imported as part of it."""
    parts = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def _load_module(name: str) -> ModuleType:
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise UsageError(
                f"there is no module '{name}': check the spelling, or give a file as path/to/file.py:function"
            ) from None
        raise _failed_import(name, error) from error


def _import(name: str, place: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise _failed_import(place, error) from error


def _import_under_another_name(path: Path, place: str) -> ModuleType:
    """For a file whose name is taken by another module, such as `random.py`."""
    name = f"refutedp_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{place} is not a Python file: give a path such as mechanism.py:function")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up while they are made
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise _failed_import(place, error) from error
    finally:
        # Out again: worker processes cannot import this name, so functions must travel by value.
        sys.modules.pop(name, None)
    return module


def _failed_import(place: str, error: BaseException) -> UsageError:
    """One sentence: what failed, why, and on which line of the user's own code."""
    if isinstance(error, SyntaxError) and error.filename:
        where = f"{Path(error.filename).name}, line {error.lineno}"
        return UsageError(f"{place} cannot be imported: {type(error).__name__}: {error.msg} ({where})")
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "importlib" not in frame.filename and frame.filename != __file__ and not frame.filename.startswith("<")
    ]
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return UsageError(f"{place} cannot be imported: {what}{where}")
