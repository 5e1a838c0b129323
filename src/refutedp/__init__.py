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
    from refutedp.api.assert_private import PrivacyViolation, assert_private
    from refutedp.api.check import check
    from refutedp.api.command import Command
    from refutedp.api.load import load_mechanism
    from refutedp.api.replay import recheck, replay
    from refutedp.api.saved.to_json import load
    from refutedp.api.sweep import sweep
    from refutedp.detector.result import Result, Sweep, Verdict
    from refutedp.inputs.arguments import Between, OneOf
    from refutedp.model.adjacency import (
        ADD_REMOVE,
        ALL_DIFFER,
        ONE_DIFFERS,
        REPLACE,
        AddRemove,
        AllDiffer,
        OneDiffers,
        Replace,
    )
    from refutedp.model.claims import FDP, ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
    from refutedp.model.errors import (
        MechanismError,
        NotAdjacentError,
        RefuteDPError,
        UnsupportedOutputError,
        UsageError,
    )
    from refutedp.model.records import Counts, Evidence, Pair
    from refutedp.model.settings import Progress, Settings

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
    "refutedp.api.assert_private": (
        "PrivacyViolation",
        "assert_private",
    ),
    "refutedp.api.check": ("check",),
    "refutedp.model.claims": (
        "ApproxDP",
        "FDP",
        "GaussianDP",
        "PureDP",
        "RenyiDP",
        "ZCDP",
    ),
    "refutedp.api.command": ("Command",),
    "refutedp.model.errors": (
        "MechanismError",
        "NotAdjacentError",
        "RefuteDPError",
        "UnsupportedOutputError",
        "UsageError",
    ),
    "refutedp.model.adjacency": (
        "ADD_REMOVE",
        "ALL_DIFFER",
        "ONE_DIFFERS",
        "REPLACE",
        "AddRemove",
        "AllDiffer",
        "OneDiffers",
        "Replace",
    ),
    "refutedp.inputs.arguments": (
        "Between",
        "OneOf",
    ),
    "refutedp.api.load": ("load_mechanism",),
    "refutedp.model.records": (
        "Counts",
        "Evidence",
        "Pair",
    ),
    "refutedp.api.replay": (
        "recheck",
        "replay",
    ),
    "refutedp.api.saved.to_json": ("load",),
    "refutedp.detector.result": (
        "Result",
        "Sweep",
        "Verdict",
    ),
    "refutedp.model.settings": (
        "Progress",
        "Settings",
    ),
    "refutedp.api.sweep": ("sweep",),
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
