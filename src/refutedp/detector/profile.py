"""How the feature that an event looks at is spread on both inputs: a small table for figures, never for verdicts."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refutedp.events.predicates import Both, Event, Exactly, Interval, paths_of
from refutedp.model.outputs import Group, Outputs
from refutedp.model.records import Candidate
from refutedp.model.settings import PROFILE_STREAM, Settings, child
from refutedp.sampling.sampler import Sampler

BINS = 40
MOST_CATEGORIES = 24
_TRIM = 0.003
_COMMON = 0.002


@dataclass(frozen=True, slots=True)
class Bin:
    """Hits of one bar: `x` runs on d1 and `y` on d2; a category has no ends, a tail has one."""

    label: str
    low: float | None
    high: float | None
    x: int
    y: int
    inside: bool

    @property
    def numeric(self) -> bool:
        """Whether the bar is a range of numbers."""
        return self.low is not None or self.high is not None


@dataclass(frozen=True, slots=True)
class Profile:
    """Bars of one feature on fresh runs that neither chose nor tested the event.

    `given` says which outputs are shown when the event has a second part; `n_x` and `n_y` count all runs, so that
    outputs without the feature are what the bars lack.
    """

    feature: str
    given: str
    n_x: int
    n_y: int
    bins: tuple[Bin, ...]

    @property
    def left_out(self) -> tuple[float, float]:
        """The parts of the runs on d1 and d2 that no bar shows, for their outputs lack the feature."""
        shown = [sum(one.x for one in self.bins), sum(one.y for one in self.bins)]
        return 1 - shown[0] / max(self.n_x, 1), 1 - shown[1] / max(self.n_y, 1)

    @property
    def numeric(self) -> bool:
        """Whether the bars are ranges of numbers."""
        return any(one.numeric for one in self.bins)


def profile_of(event: Event, first: Outputs, second: Outputs) -> Profile:
    """Bin the event's deciding feature; the ends of an interval are always edges of bars.

    >>> from refutedp.events.features.basic import Length
    >>> from refutedp.events.predicates import Equals
    >>> from refutedp.sampling.encode import encode
    >>> made = profile_of(Equals(Length(), 2), encode([[1, 2], [1]]), encode([[1], [1]]))
    >>> [(bar.label, bar.x, bar.y, bar.inside) for bar in made.bins]
    [('1', 1, 2, False), ('2', 1, 0, True)]
    """
    given, decider = _split(event)
    sides = []
    for outputs in (first, second):
        values: list[tuple[Any, NDArray[np.int64]]] = []
        for group in outputs.groups:
            weights = np.ones(group.rows, dtype=np.int64) if group.weights is None else group.weights
            if given is not None:
                weights = np.where(given.mask(group), weights, 0)
            values.append((_column(decider, group), weights))
        sides.append(values)
    bins = _numeric_bins(decider, *sides) if isinstance(decider, Interval) else ()
    if not bins:
        bins = _categories(decider, *sides)
    return Profile(
        feature="the output" if isinstance(decider, Exactly) else decider.of.words(),
        given="" if given is None else given.words(),
        n_x=first.size,
        n_y=second.size,
        bins=bins,
    )


_ROOM = 0.1
"""Part of the range that is drawn beyond the end of an event in a tail."""
_Part = Any  # Equals | Among | Interval | Exactly
_Side = list[tuple[Any, NDArray[np.int64]]]


def _split(event: Event) -> tuple[_Part | None, _Part]:
    """The condition and the deciding part: of a product, the numeric part decides."""
    if not isinstance(event, Both):
        return None, event
    if isinstance(event.first, Interval) and not isinstance(event.second, Interval):
        return event.second, event.first
    return event.first, event.second


def _column(part: _Part, group: Group) -> Any:
    if isinstance(part, Exactly):
        return _wholes(part, group)
    return part.of.column(group)


def _wholes(part: Exactly, group: Group) -> NDArray[Any]:
    """Whole outputs as texts, the way the event's sentence writes them."""
    if group.shape.error:
        return np.full(group.rows, f"raises {group.shape.label}", dtype=object)
    columns = [
        [None] * group.rows if kind == "none" else column.tolist()
        for kind, column in zip(group.shape.kinds, group.columns, strict=True)
    ]
    label = group.shape.label
    rows = zip(*columns, strict=True) if columns else iter([()] * group.rows)
    paths = paths_of(group.shape)
    texts = [Exactly(label, tuple(row), paths).words().removeprefix("the output = ") for row in rows]
    return np.array(texts, dtype=object)


def _numbers(side: _Side) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    numbers: list[NDArray[np.float64]] = [np.empty(0)]
    weights: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    for column, weight in side:
        if column is None or isinstance(column, (str, bool)):
            continue
        if isinstance(column, np.ndarray) and column.dtype == np.bool_:
            continue
        if isinstance(column, np.ndarray) and column.dtype == object:
            column = np.array([float(v) if type(v) in (int, float) else np.nan for v in column])
        numbers.append(np.broadcast_to(np.asarray(column, dtype=np.float64), weight.shape))
        weights.append(weight)
    joined, weight = np.concatenate(numbers), np.concatenate(weights)
    keep = np.isfinite(joined) & (weight > 0)
    return joined[keep], weight[keep]


def _numeric_bins(event: Interval, first: _Side, second: _Side) -> tuple[Bin, ...]:
    (a, wa), (b, wb) = _numbers(first), _numbers(second)
    both = np.concatenate([a, b])
    ends = [end for end in (event.low, event.high) if end is not None and math.isfinite(end)]
    if both.size == 0 or (len(np.unique(both[:5000])) <= MOST_CATEGORIES and len(np.unique(both)) <= MOST_CATEGORIES):
        return ()
    low, high = (float(q) for q in np.quantile(both, [_TRIM, 1 - _TRIM]))
    low, high = min([low, *ends]), max([high, *ends])
    if not high > low:
        return ()
    # An event in a far tail has room in the picture, too.
    room = _ROOM * (high - low)
    low -= room if event.low is None and low in ends else 0.0
    high += room if event.high is None and high in ends else 0.0
    step = (high - low) / BINS
    edges = [low + i * step for i in range(BINS + 1)]
    edges = sorted([edge for edge in edges if all(abs(edge - end) > 0.3 * step for end in ends)] + ends)
    counts = [np.histogram(n, np.array([-np.inf, *edges, np.inf]), weights=w)[0] for n, w in ((a, wa), (b, wb))]
    made = []
    outer: list[float | None] = [None, *edges, None]
    for i, (x, y) in enumerate(zip(*counts, strict=True)):
        left, right = outer[i], outer[i + 1]
        inside = (event.low is None or (left is not None and left >= event.low)) and (
            event.high is None or (right is not None and right <= event.high)
        )
        made.append(Bin(_range(left, right), left, right, int(x), int(y), inside))
    return tuple(one for one in made if (one.low is not None and one.high is not None) or one.x or one.y)


def _range(low: float | None, high: float | None) -> str:
    if low is None:
        return f"below {high:.4g}"
    return f"{low:.4g} and more" if high is None else f"{low:.4g} to {high:.4g}"


def _categories(part: _Part, first: _Side, second: _Side) -> tuple[Bin, ...]:
    tallies: tuple[Counter[Any], Counter[Any]] = (Counter(), Counter())
    for tally, side in zip(tallies, (first, second), strict=True):
        for column, weight in side:
            if column is None:
                continue
            if not isinstance(column, np.ndarray):
                tally[_Key.of(column)] += int(weight.sum())
                continue
            values, inverse = np.unique(column, return_inverse=True)
            sums = np.bincount(inverse, weights=weight, minlength=len(values))
            for value, number in zip(values.tolist(), sums.tolist(), strict=True):
                tally[_Key.of(value)] += int(number)
    keys = {key for tally in tallies for key, number in tally.items() if number}
    ranked = sorted(keys, key=lambda k: (not _holds(part, k.value), -(tallies[0][k] + tallies[1][k]), k.label))
    if len(ranked) > MOST_CATEGORIES:
        # Thousands of values that came up once are no picture: keep what the event has and what is common.
        least = _COMMON * (sum(tallies[0].values()) + sum(tallies[1].values()))
        common = [k for k in ranked if _holds(part, k.value) or tallies[0][k] + tallies[1][k] >= least]
        kept = common[:MOST_CATEGORIES]
    else:
        kept = ranked
    shown = sorted(kept, key=lambda k: k.order)
    bins = [Bin(k.label, None, None, tallies[0][k], tallies[1][k], _holds(part, k.value)) for k in shown]
    chosen = set(kept)
    rest = [key for key in ranked if key not in chosen]
    if rest:
        x, y = (sum(tally[key] for key in rest) for tally in tallies)
        bins.append(Bin(f"{len(rest):,} others", None, None, x, y, False))
    return tuple(bins)


@dataclass(frozen=True, slots=True)
class _Key:
    """A category; True is not 1."""

    label: str
    kind: str
    value: Any

    @classmethod
    def of(cls, value: Any) -> _Key:
        return cls(value if isinstance(value, str) else repr(value), type(value).__name__, value)

    @property
    def order(self) -> tuple[int, float, str]:
        number = isinstance(self.value, (int, float)) and not isinstance(self.value, bool)
        # Integers may be too large for floats.
        size = float(np.clip(self.value, -1e300, 1e300)) if number else 0.0
        return (0 if number else 1, size, self.label)


def _holds(part: _Part, value: Any) -> bool:
    if isinstance(part, Exactly):
        return bool(value == part.words().removeprefix("the output = "))
    if isinstance(part, Interval):
        if isinstance(value, (bool, str)) or value is None:
            return False
        return (part.low is None or value >= part.low) and (part.high is None or value < part.high)
    wanted = part.values if hasattr(part, "values") else (part.value,)
    return any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in wanted)


PROFILE_RUNS, PROFILE_CALLS = 20_000, 1_000
"""Runs a side for the figures of a report; few where each is a Python call."""


def profile_runs(sampler: Sampler, candidate: Candidate, settings: Settings) -> Profile:
    """How the event's feature is spread on both inputs, on runs that serve no other purpose."""
    runs = min(PROFILE_CALLS if sampler.costs_calls else PROFILE_RUNS, settings.confirm_runs)
    sample = sampler.sample(runs, child(settings.seed, PROFILE_STREAM))
    return profile_of(candidate.event, sample.first, sample.second)  # type: ignore[arg-type]
