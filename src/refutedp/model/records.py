"""Frozen records that pass between the stages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.model.claims.claim import Claim, Tangent
from refutedp.model.errors import UsageError
from refutedp.model.outputs import Group, Outputs


@dataclass(frozen=True, slots=True)
class Pair:
    """Two adjacent inputs with the mechanism's other arguments, and the pattern they come from.

    `outside` says what in them lies beyond the records that the user gave, such as "nan"; "" where nothing does.
    """

    d1: Any
    d2: Any
    category: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    outside: str = ""

    def swapped(self) -> Pair:
        """The same pair seen from the other side."""
        return Pair(self.d2, self.d1, self.category, self.arguments, self.why, self.outside)


class Event(Protocol):
    """A set of outputs: a predicate for machines and a sentence for people."""

    def mask(self, group: Group, known: dict[Any, Any] | None = None) -> NDArray[np.bool_] | bool:
        """Which rows of the group lie in the event; one bool when all or none do.

        `known` keeps what was computed of the group, for other events that look at the same.
        """

    def words(self) -> str:
        """What it says of an output, as in "the output is at least 3"."""


class Feature(Protocol):
    """What an event looks at: a value of each output."""

    def column(self, group: Group) -> Any:
        """The feature of every row, or one value for all of them; None where there is none."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Hits of one event: `x` of `n_x` runs on the side said to be likelier, `y` of `n_y` on the other.

    `share` is the probability with which each run was allocated to the x side. `both` is for paired runs, which come
    in pairs on the same noise: in how many pairs the event happened on both sides; None when the sides are
    independent.

    >>> Counts(x=29, y=5, n_x=50, n_y=50).share
    0.5
    """

    x: int
    y: int
    n_x: int
    n_y: int
    share: float = 0.5
    both: int | None = None

    def __post_init__(self) -> None:
        if not (0 <= self.x <= self.n_x and 0 <= self.y <= self.n_y and 0 < self.share < 1):
            raise UsageError(f"{self} is impossible: hits must lie between 0 and the runs, share inside (0, 1)")
        if self.both is not None and not (
            self.n_x == self.n_y and max(0, self.x + self.y - self.n_x) <= self.both <= min(self.x, self.y)
        ):
            raise UsageError(f"{self} is impossible: paired runs come in pairs, and both counts those that hit twice")

    @property
    def runs(self) -> int:
        """Runs on both sides."""
        return self.n_x + self.n_y

    def swapped(self) -> Counts:
        """The same hits with the sides exchanged."""
        return Counts(self.y, self.x, self.n_y, self.n_x, 1 - self.share, self.both)

    def __add__(self, other: Counts) -> Counts:
        both = None if self.both is None or other.both is None else self.both + other.both
        x, y, n_x, n_y = self.x + other.x, self.y + other.y, self.n_x + other.n_x, self.n_y + other.n_y
        return Counts(x, y, n_x, n_y, self.share, both)


def count_hits(event: Event, outputs: Outputs) -> int:
    """How many runs of `outputs` lie in the event."""
    hits = 0
    for group in outputs.groups:
        mask = event.mask(group)
        if isinstance(mask, (bool, np.bool_)):
            hits += group.size if mask else 0
        elif group.weights is None:
            hits += int(np.count_nonzero(mask))
        else:
            hits += int(group.weights[mask].sum())
    return hits


Level: TypeAlias = float | NDArray[np.float64]


class Scorer(Protocol):
    """Lower bounds on how far hits exceed what a claim permits, for ranking events; larger is worse for the claim.

    `level` is the probability of error of each bound, one for all or one each.
    """

    def exact(self, x: NDArray[np.int64], y: NDArray[np.int64], level: Level) -> NDArray[np.float64]:
        """Bounds that hold at the level."""

    def rough(self, x: NDArray[np.int64], y: NDArray[np.int64], level: Level) -> NDArray[np.float64]:
        """A cheap approximation of `exact`, to see which events deserve it."""

    def optimistic_score(self, x: NDArray[np.int64], y: NDArray[np.int64], level: Level) -> NDArray[np.float64]:
        """What runs that confirm the event in the best way might show, if all goes well."""


class Strategy(Protocol):
    """How a candidate is confirmed, as far as records need to know; see `detector.confirmations`."""

    @property
    def name(self) -> str:
        """How it is called in saved files."""

    @property
    def share(self) -> float:
        """The part of the confirmation runs that go to d1."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What search chose: the claim is said to break as P(M(pair.d1) in event) > bound of P(M(pair.d2) in event).

    The pair is oriented: `d1` is the side on which the event is likelier. `confirmation` is how fresh runs are made
    and judged; `score` is the search's own lower bound and decides nothing afterwards. `tangent` is the line of the
    claim's bound that the test aims at, for claims that are not about a ratio.
    """

    pair: Pair
    event: Event
    confirmation: Strategy
    score: float
    search: Counts
    tangent: Tangent | None = None


@dataclass(frozen=True, slots=True)
class Estimates:
    """What importance-sampled runs say about P1 and P2: weighted averages and their standard errors.

    The counts beside them are hits of runs whose noise was drawn towards the event: they are no rates.
    """

    rates: tuple[float, float]
    errors: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What fresh runs say about one candidate.

    `log_p_value` is for the claim in the candidate's direction; `log_p_reverse` is the same test with the sides
    exchanged (the paper's second p-value), reported and never used to convict. The bound on epsilon (at the claim's
    delta) and `bound`, in the claim's own currency `bound_letter`, hold with probability `confidence`, whatever the
    verdict. `rule` says what decided: the anytime-valid test after `decided_after` runs, or the test on all runs.
    """

    candidate: Candidate
    counts: Counts
    method: str
    log_p_value: float
    log_p_reverse: float
    epsilon_lower_bound: float
    confidence: float
    rule: Literal["early", "fixed"] = "fixed"
    decided_after: int = 0
    bound_letter: str = "ε"
    bound: float | None = None
    estimates: Estimates | None = None
    fallback: bool = False
    """Whether the runs turned out to be plain calls, though lifted ones were planned."""

    @property
    def rates(self) -> tuple[float, float]:
        """How often the event happens on d1 and on d2, as far as the fresh runs say."""
        if self.estimates is not None:
            return self.estimates.rates
        return self.counts.x / max(self.counts.n_x, 1), self.counts.y / max(self.counts.n_y, 1)

    @property
    def pair(self) -> Pair:
        """The two inputs and the arguments; the event is likelier on `pair.d1`."""
        return self.candidate.pair

    @property
    def event(self) -> Event:
        """The set of outputs whose probabilities break the claim."""
        return self.candidate.event

    @property
    def p_value(self) -> float:
        """The p-value; zero when below what a float can hold (see `log_p_value`)."""
        return math.exp(self.log_p_value)


@dataclass(frozen=True, slots=True)
class PathWitness:
    """One path in an event: draws in standard form (location 0, scale 1) in their order, and what came out."""

    draws: tuple[float, ...]
    output: str


@dataclass(frozen=True, slots=True)
class ExactEvidence:
    """Arithmetic instead of a test: P(M(d1) in event) >= low and P(M(d2) in event) <= high, over enumerated paths.

    It rests on the distributions of the draws, on `paths` of either input, each of which the function itself repeated
    on draws that lead down it, and on real numbers: it holds up to rounding. `missing` bounds the probability of what
    was not enumerated, which is part of `high`. `calls` plain calls a side agree with the probabilities of common
    outputs.

    Where the event is a partition, `pieces` has both bounds for each of its pieces, and `low` and `high` are their
    sums. It rests on Gaussian noise that was followed as symbols then.
    """

    pair: Pair
    event: Event
    low: float
    high: float
    paths: tuple[int, int]
    missing: tuple[float, float]
    witnesses: tuple[PathWitness, ...]
    calls: int
    pieces: tuple[tuple[float, float], ...] = ()

    @property
    def epsilon_lower_bound(self) -> float:
        """The least ε that permits these probabilities; infinite where the event is impossible on d2."""
        chances = self.pieces or ((self.low, self.high),)
        return max(math.log(low) - math.log(high) if high > 0 else math.inf for low, high in chances if low > 0)

    def bound(self, claim: Claim) -> float:
        """The least parameter of such a claim that permits these probabilities."""
        if self.pieces:
            return float(claim.least_for_pieces(*np.transpose(self.pieces)))
        return float(claim.least(*np.array([[self.low], [self.high]]))[0]) if self.high > 0 else math.inf


@dataclass(frozen=True, slots=True)
class ExactLoss:
    """Between which numbers the real ε of a pair lies, up to rounding: nothing larger exists on it.

    All paths of both inputs are known: `paths` of them. `delta` is the same for δ at the claim's ε, where there are
    only a few outputs.
    """

    pair: Pair
    epsilon: tuple[float, float]
    delta: tuple[float, float] | None
    paths: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Examination:
    """What the mechanism's own function, called plainly with a real generator, said of evidence from lifted runs.

    `calls` counts all of these calls. `plain` is what they say about the same candidate, where lifted runs convict;
    `repeated` of them repeated lifted runs on the same draws, with equal outputs.
    """

    calls: int
    plain: Evidence | None = None
    repeated: int = 0
