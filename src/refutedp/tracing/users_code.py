"""Which code is the user's, to be followed, and which a library's, to be run as it is.

By name, never by place: a mechanism is treated alike whether it is a file, or part of an installed package.
"""

from __future__ import annotations

import sys
from types import FrameType

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


def module_of(frame: FrameType) -> str:
    """The module whose code a frame runs."""
    return str(frame.f_globals.get("__name__", ""))
