"""The layout of a saved file, format 2: plain records that msgspec reads, checks and writes."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

import msgspec

FORMAT = 2
"""Raised when a file written by this version could be misread by an older one."""


class NonFinite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A float that JSON has no word for."""

    text: Literal["nan", "inf", "-inf"] = msgspec.field(name="float")


Number: TypeAlias = float | NonFinite
Tagged: TypeAlias = Any
"""A Python value in the form of `api/saved/values.py`."""


def number(value: float) -> Number:
    """A float as the layout holds it.

    >>> number(float("inf"))
    NonFinite(text='inf')
    """
    return float(value) if math.isfinite(value) else NonFinite(repr(float(value)))  # type: ignore[arg-type]


def plain(value: Number) -> float:
    """The float again."""
    return float(value.text) if isinstance(value, NonFinite) else value


class SavedCounts(msgspec.Struct, frozen=True):
    """Hits and runs on both sides; d1 is the side on which the event is said to be likelier.

    `hits_both` is for paired runs: pairs on the same noise in which the event happened on both sides.
    """

    hits_d1: int
    hits_d2: int
    runs_d1: int
    runs_d2: int
    share_d1: float
    hits_both: int | None = None


class SavedPair(msgspec.Struct, frozen=True):
    """The two inputs and the arguments, tagged, with the pattern they come from and how arguments were found."""

    d1: Tagged
    d2: Tagged
    category: str
    arguments: dict[str, Tagged]
    why: str = ""
    outside: str = ""


class SavedCandidate(msgspec.Struct, frozen=True):
    """What search fixed before the fresh runs: pair, event and direction (d1 is the likelier side)."""

    pair: SavedPair
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


class SavedBin(msgspec.Struct, frozen=True):
    """One bar of the profile."""

    label: str
    low: float | None
    high: float | None
    hits_d1: int
    hits_d2: int
    inside: bool


class SavedProfile(msgspec.Struct, frozen=True):
    """The spread of the event's feature, for figures."""

    feature: str
    given: str
    runs_d1: int
    runs_d2: int
    bins: list[SavedBin]


class SavedOrigin(msgspec.Struct, frozen=True):
    """Where the mechanism came from."""

    reference: str | None
    source: str
    line: int
    sha256: str


class SavedEffort(msgspec.Struct, frozen=True):
    """How much was tried."""

    pairs: int
    events: int
    search_runs: int
    confirm_runs: int
    other_runs: int = 0


class SavedResult(msgspec.Struct, frozen=True, tag_field="kind", tag="result"):
    """A result of `check` or `replay`."""

    format: int
    versions: dict[str, str]
    verdict: Literal["violation", "not found", "inconclusive"]
    mechanism: str
    origin: SavedOrigin | None
    claim: dict[str, Any]
    adjacency: str
    evidence: SavedEvidence | None
    detectable_epsilon: Number
    effort: SavedEffort
    settings: dict[str, Tagged]
    notes: list[str]
    profile: SavedProfile | None = None
    float_leak: SavedEvidence | None = None
    examination: SavedExamination | None = None
    vacuous: str = ""
    outside: SavedEvidence | None = None


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
    effort: SavedEffort
    points: list[SavedPoint]


class SavedSweep(msgspec.Struct, frozen=True, tag_field="kind", tag="sweep"):
    """A sweep."""

    format: int
    versions: dict[str, str]
    mechanism: str
    origin: SavedOrigin | None
    adjacency: str
    curves: list[SavedCurve]
    settings: dict[str, Tagged]
    notes: list[str]


class Header(msgspec.Struct, frozen=True):
    """What every version of the file has."""

    format: int
    kind: str


Saved: TypeAlias = SavedResult | SavedSweep
