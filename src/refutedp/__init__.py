"""RefuteDP finds short, checkable counterexamples to differential-privacy claims.

>>> from refutedp import check
>>> def noisy_max(queries, epsilon, rng):
...     noisy = [q + rng.laplace(scale=2 / epsilon) for q in queries]
...     return max(noisy)                    # bug: returns the value, not the index
>>> check(noisy_max, epsilon=0.5, search_runs=2_000, confirm_runs=20_000).verdict
<Verdict.VIOLATION: 'violation'>
"""

from refutedp.assertions import PrivacyViolation, assert_private
from refutedp.check import check, sweep
from refutedp.claims import PureDP
from refutedp.command import Command
from refutedp.errors import (
    MechanismError,
    NotAdjacentError,
    RefuteDPError,
    UnsupportedOutputError,
    UsageError,
)
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
from refutedp.loading import load_mechanism
from refutedp.records import Counts, Evidence, Pair
from refutedp.replay import recheck, replay
from refutedp.report.to_json import load
from refutedp.results import Result, Sweep, Verdict
from refutedp.settings import Progress, Settings

__version__ = "0.1.0"

__all__ = [
    "ADD_REMOVE",
    "ALL_DIFFER",
    "ONE_DIFFERS",
    "REPLACE",
    "AddRemove",
    "AllDiffer",
    "Command",
    "Counts",
    "Evidence",
    "MechanismError",
    "NotAdjacentError",
    "OneDiffers",
    "Pair",
    "PrivacyViolation",
    "Progress",
    "PureDP",
    "RefuteDPError",
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
