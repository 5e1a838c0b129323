"""RefuteDP finds short, checkable counterexamples to differential-privacy claims.

>>> from refutedp import check
>>> def noisy_max(queries, epsilon, rng):
...     noisy = [q + rng.laplace(scale=2 / epsilon) for q in queries]
...     return max(noisy)                    # bug: returns the value, not the index
>>> check(noisy_max, epsilon=0.5, search_runs=2_000, confirm_runs=20_000).verdict
<Verdict.VIOLATION: 'violation'>
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refutedp.assertions import PrivacyViolation, assert_private
    from refutedp.checking import check
    from refutedp.claims import FDP, ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
    from refutedp.command import Command
    from refutedp.errors import MechanismError, NotAdjacentError, RefuteDPError, UnsupportedOutputError, UsageError
    from refutedp.inputs.adjacency import (
        ADD_REMOVE,
        ALL_DIFFER,
        ONE_DIFFERS,
        REPLACE,
        AddRemove,
        AllDiffer,
        OneDiffers,
        Replace,
    )
    from refutedp.inputs.symbolic import Between, OneOf
    from refutedp.loading import load_mechanism
    from refutedp.records import Counts, Evidence, Pair
    from refutedp.replaying import recheck, replay
    from refutedp.report.to_json import load
    from refutedp.results import Result, Sweep, Verdict
    from refutedp.settings import Progress, Settings
    from refutedp.sweeping import sweep

__version__ = "0.1.0"

__all__ = [
    "ADD_REMOVE",
    "ALL_DIFFER",
    "FDP",
    "ONE_DIFFERS",
    "REPLACE",
    "ZCDP",
    "AddRemove",
    "AllDiffer",
    "ApproxDP",
    "Between",
    "Command",
    "Counts",
    "Evidence",
    "GaussianDP",
    "MechanismError",
    "NotAdjacentError",
    "OneDiffers",
    "OneOf",
    "Pair",
    "PrivacyViolation",
    "Progress",
    "PureDP",
    "RefuteDPError",
    "RenyiDP",
    "Replace",
    "Result",
    "Settings",
    "Sweep",
    "UnsupportedOutputError",
    "UsageError",
    "Verdict",
    "assert_private",
    "check",
    "load",
    "load_mechanism",
    "recheck",
    "replay",
    "sweep",
]

# Where each public name lives: a module is imported when one of its names is first used, so that `import refutedp`
# costs next to nothing. No module is called like a public name, for importing it would hide the name.
_HOME = {
    "refutedp.assertions": (
        "PrivacyViolation",
        "assert_private",
    ),
    "refutedp.checking": ("check",),
    "refutedp.claims": (
        "ApproxDP",
        "FDP",
        "GaussianDP",
        "PureDP",
        "RenyiDP",
        "ZCDP",
    ),
    "refutedp.command": ("Command",),
    "refutedp.errors": (
        "MechanismError",
        "NotAdjacentError",
        "RefuteDPError",
        "UnsupportedOutputError",
        "UsageError",
    ),
    "refutedp.inputs.adjacency": (
        "ADD_REMOVE",
        "ALL_DIFFER",
        "ONE_DIFFERS",
        "REPLACE",
        "AddRemove",
        "AllDiffer",
        "OneDiffers",
        "Replace",
    ),
    "refutedp.inputs.symbolic": (
        "Between",
        "OneOf",
    ),
    "refutedp.loading": ("load_mechanism",),
    "refutedp.records": (
        "Counts",
        "Evidence",
        "Pair",
    ),
    "refutedp.replaying": (
        "recheck",
        "replay",
    ),
    "refutedp.report.to_json": ("load",),
    "refutedp.results": (
        "Result",
        "Sweep",
        "Verdict",
    ),
    "refutedp.settings": (
        "Progress",
        "Settings",
    ),
    "refutedp.sweeping": ("sweep",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'refutedp' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
