"""What a case of the battery is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Case:
    """A bug, its mended twin, what `check` is told about both, and two inputs that show the bug."""

    name: str
    bug: Callable[..., Any]
    twin: Callable[..., Any]
    kwargs: Mapping[str, Any]
    why: str
    witness: tuple[Any, Any]
    witness_args: Mapping[str, Any] = field(default_factory=dict)
