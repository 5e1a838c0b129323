"""Which code is the user's, to be followed, and which a library's, to be run as it is.

By name, never by place: a mechanism is treated alike whether it is a file, or part of an installed package.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import CodeType, FrameType

import numpy as np

LIBRARIES = frozenset(
    {
        *("numpy", "scipy", "pandas", "polars", "sklearn", "torch", "jax", "jaxlib", "tensorflow", "numba"),
        *("matplotlib", "joblib", "dask", "distributed", "ray", "z3", "opendp", "pydp", "hypothesis", "pytest"),
        *("_pytest", "msgspec", "cloudpickle", "rich", "typer", "jinja2"),
    }
)
"""Packages whose functions are not copied, besides the standard library."""


def is_library(module: str) -> bool:
    """Whether a module belongs to the standard library or to a well-known package.

    >>> is_library("numpy.linalg"), is_library("random"), is_library("my_mechanisms.noise"), is_library("__main__")
    (True, True, False, False)
    """
    top = module.partition(".")[0]
    return top in LIBRARIES or (top in sys.stdlib_module_names and top != "__main__")


_ROOT = Path(__file__).parent.parent
_OURS = tuple(f"{_ROOT / part}{os.sep}" for part in ("tracing", "inputs/arguments", "sampling/lifted"))
_NUMPY = str(Path(np.__file__).parent) + os.sep


def is_internal(code: CodeType) -> bool:
    """Whether the code is what traces the mechanism, or NumPy's, not the mechanism's."""
    return code.co_filename.startswith((*_OURS, _NUMPY))


def calling_frame() -> FrameType | None:
    """The innermost frame that is not of what traces the mechanism."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame


def users_frame() -> FrameType | None:
    """The innermost frame of the user's code."""
    frame = calling_frame()
    while frame is not None and is_library(module_of(frame)):
        frame = frame.f_back
    return frame


def module_of(frame: FrameType) -> str:
    """The module whose code a frame runs."""
    return str(frame.f_globals.get("__name__", ""))
