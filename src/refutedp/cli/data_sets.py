"""`--inputs`: data sets from a JSON file, or from a function that makes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from refutedp.api.load import load_mechanism
from refutedp.model.errors import UsageError


def inputs(text: str | None) -> Any:
    """What `check` takes as `inputs`, or None when the option is not given.

    A JSON file holds a list of records, or a list of such lists. `file.py:function` names a function without
    parameters that returns the inputs: arrays, frames, or a Hypothesis strategy.
    """
    if text is None:
        return None
    if text.endswith(".json"):
        return _from_json(Path(text))
    if ":" not in text:
        raise UsageError(f"--inputs {text!r} must be a JSON file, or file.py:function for a function that makes them")
    try:
        return load_mechanism(text)()
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"--inputs {text!r} raised {type(error).__name__}: {error}") from error


def _from_json(path: Path) -> Any:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--inputs {path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(f"--inputs {path} is no JSON: {error}") from None
    if not isinstance(data, list):
        raise UsageError(f"--inputs {path} must hold a list of records, or a list of such lists")
    return data
