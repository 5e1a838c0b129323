"""The layout of a saved file, format 3: plain records that msgspec reads, checks and writes.

A field has the name that it has in the record of the model; `name=` is what the file calls it.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from refutedp.detector.result import Effort
from refutedp.model.explanation import Explanation
from refutedp.model.mechanism import Origin
from refutedp.model.records import Pair, PathWitness

FORMAT = 3
"""Raised when a file written by this version could be misread by an older one."""


class NonFinite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A float that JSON has no word for."""

    text: Literal["nan", "inf", "-inf"] = msgspec.field(name="float")


Number: TypeAlias = float | NonFinite
Tagged: TypeAlias = Any
"""A Python value in the form of `api/saved/values.py`."""


class SavedCounts(msgspec.Struct, frozen=True):
    """Hits and runs on both sides; d1 is the side on which the event is said to be likelier.

    `hits_both` is for paired runs: pairs on the same noise in which the event happened on both sides.
    """

    x: int = msgspec.field(name="hits_d1")
    y: int = msgspec.field(name="hits_d2")
    n_x: int = msgspec.field(name="runs_d1")
    n_y: int = msgspec.field(name="runs_d2")
    share: float = msgspec.field(name="share_d1")
    both: int | None = msgspec.field(name="hits_both", default=None)


class SavedCandidate(msgspec.Struct, frozen=True):
    """What search fixed before the fresh runs: pair, event and direction (d1 is the likelier side).

    The inputs and arguments of the pair are tagged values.
    """

    pair: Pair
    event: dict[str, Any]
    event_in_words: str
    share_d1: float
    score: Number
    search: SavedCounts
    tangent: tuple[float, float] | None = None
    confirmation: str = "allocation"


class SavedTest(msgspec.Struct, frozen=True):
    """The p-values of the counts, as natural logarithms."""

    log_p_value: Number
    log_p_reverse: Number


class SavedEstimates(msgspec.Struct, frozen=True):
    """Weighted averages of importance-sampled runs: P1 and P2, and their standard errors."""

    rate_d1: float
    rate_d2: float
    error_d1: float
    error_d2: float


class SavedEvidence(msgspec.Struct, frozen=True):
    """What the fresh runs said."""

    candidate: SavedCandidate
    counts: SavedCounts
    method: str
    test: SavedTest
    epsilon_lower_bound: Number
    confidence: float
    rule: Literal["early", "fixed"] = "fixed"
    decided_after: int = 0
    bound_letter: str = "ε"
    bound: Number | None = None
    estimates: SavedEstimates | None = None
    fallback: bool = False


class SavedExamination(msgspec.Struct, frozen=True):
    """What the function itself said, where lifted runs decided."""

    calls: int
    plain: SavedEvidence | None = None
    repeated: int = 0


class SavedExact(msgspec.Struct, frozen=True):
    """Probabilities over enumerated paths: at least `low` on d1, at most `high` on d2."""

    pair: Pair
    event: dict[str, Any]
    event_in_words: str
    low: float
    high: float
    paths: tuple[int, int]
    missing: tuple[float, float]
    witnesses: tuple[PathWitness, ...]
    calls: int
    pieces: tuple[tuple[float, float], ...] = ()


class SavedLoss(msgspec.Struct, frozen=True):
    """Between which numbers the exact ε of a pair lies, and its δ at the claim's ε."""

    pair: Pair
    epsilon: tuple[Number, Number]
    delta: tuple[float, float] | None
    paths: tuple[int, int]


class SavedBin(msgspec.Struct, frozen=True):
    """One bar of the profile."""

    label: str
    low: float | None
    high: float | None
    x: int = msgspec.field(name="hits_d1")
    y: int = msgspec.field(name="hits_d2")
    inside: bool


class SavedProfile(msgspec.Struct, frozen=True):
    """The spread of the event's feature, for figures."""

    feature: str
    given: str
    n_x: int = msgspec.field(name="runs_d1")
    n_y: int = msgspec.field(name="runs_d2")
    bins: list[SavedBin]


class SavedResult(msgspec.Struct, frozen=True, tag_field="kind", tag="result"):
    """A result of `check` or `replay`."""

    format: int
    versions: dict[str, str]
    verdict: Literal["violation", "not found", "inconclusive"]
    mechanism: str
    origin: Origin | None
    claim: dict[str, Any]
    adjacency: str
    evidence: SavedEvidence | None
    detectable_epsilon: Number
    effort: Effort
    settings: dict[str, Tagged]
    notes: list[str]
    profile: SavedProfile | None = None
    float_leak: SavedEvidence | None = None
    examination: SavedExamination | None = None
    vacuous: str = ""
    outside: SavedEvidence | None = None
    exact: SavedExact | None = None
    loss: SavedLoss | None = None
    explanation: Explanation | None = None


class SavedPoint(msgspec.Struct, frozen=True):
    """One point of a curve."""

    test_epsilon: float
    test: SavedTest


class SavedCurve(msgspec.Struct, frozen=True):
    """The points of one claimed epsilon: they share a candidate and its counts."""

    claimed_epsilon: float
    candidate: SavedCandidate
    counts: SavedCounts
    method: str
    epsilon_lower_bound: Number
    confidence: float
    effort: Effort
    points: list[SavedPoint]


class SavedSweep(msgspec.Struct, frozen=True, tag_field="kind", tag="sweep"):
    """A sweep."""

    format: int
    versions: dict[str, str]
    mechanism: str
    origin: Origin | None
    adjacency: str
    curves: list[SavedCurve]
    settings: dict[str, Tagged]
    notes: list[str]


class Header(msgspec.Struct, frozen=True):
    """What every version of the file has."""

    format: int
    kind: str


Saved: TypeAlias = SavedResult | SavedSweep
