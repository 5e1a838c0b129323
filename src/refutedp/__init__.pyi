from .api.assert_private import PrivacyViolation, assert_private
from .api.check import check
from .api.command import Command
from .api.load import load_mechanism
from .api.replay import recheck, replay
from .api.saved.to_json import load
from .api.sweep import sweep
from .detector.result import Result, Sweep, Verdict
from .inputs.arguments import Between, OneOf
from .model.adjacency import (
    ADD_REMOVE,
    ALL_DIFFER,
    ANY_TWO,
    ONE_DIFFERS,
    REPLACE,
    AddRemove,
    AllDiffer,
    AnyTwo,
    OneDiffers,
    Replace,
)
from .model.claims import FDP, ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from .model.errors import (
    MechanismError,
    NotAdjacentError,
    RefuteDPError,
    UnsupportedOutputError,
    UsageError,
)
from .model.records import Counts, Evidence, Pair
from .model.settings import Progress, Settings

__version__: str

__all__ = [
    "ADD_REMOVE",
    "ALL_DIFFER",
    "ANY_TWO",
    "FDP",
    "ONE_DIFFERS",
    "REPLACE",
    "ZCDP",
    "AddRemove",
    "AllDiffer",
    "AnyTwo",
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
