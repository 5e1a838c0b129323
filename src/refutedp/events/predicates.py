"""Events: sets of outputs, each a record with a predicate for machines and a sentence for people."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from refutedp.events.features import basic, leaks, sums
from refutedp.events.features.basic import Scalar
from refutedp.model.outputs import Array, Group, Outputs, Path, Shape

Simple: TypeAlias = basic.Value | basic.Last | basic.Length | basic.Type | basic.Form | basic.Has | basic.Kind
Involved: TypeAlias = (
    basic.Hamming
    | leaks.Magnitude
    | leaks.LastDigit
    | leaks.Residue
    | leaks.Difference
    | leaks.Spread
    | sums.WeightedSum
)
"""Features that take a moment to understand."""
Feature: TypeAlias = Simple | basic.Count | basic.Statistic | leaks.Special | Involved
Mask: TypeAlias = NDArray[np.bool_] | bool
Columns: TypeAlias = dict[Feature, Array | Scalar]
"""Features of one group that were computed before."""
ALL_BUT = 0.001
"""Where less than this part of the runs does anything else, nothing can be learned of a claim."""


class _Event(msgspec.Struct, frozen=True, tag_field="event"):
    def words(self) -> str:
        """The sentence."""
        return str(self)


class Equals(_Event, frozen=True, tag="equals"):
    """The feature has this value; True is not 1, and nan equals nothing.

    >>> from refutedp.events.features.basic import Length
    >>> print(Equals(Length(), 6))
    len(output) = 6
    """

    of: Feature
    value: Scalar

    def mask(self, group: Group, known: Columns | None = None) -> Mask:
        """Rows whose feature equals the value."""
        return basic.equal(_column(self.of, group, known), self.value)

    def __str__(self) -> str:
        return self.of.equals(self.value) or f"{self.of.words()} = {self.value!r}"


class Among(_Event, frozen=True, tag="among"):
    """The feature has one of these values."""

    of: Feature
    values: tuple[Scalar, ...]

    def mask(self, group: Group, known: Columns | None = None) -> Mask:
        """Rows whose feature equals one of the values."""
        column = _column(self.of, group, known)
        return reduce(or_, (basic.equal(column, value) for value in self.values), False)

    def __str__(self) -> str:
        ordinary = f"{self.of.words()} is one of {', '.join(repr(value) for value in self.values)}"
        return self.of.among(self.values) or ordinary


class Interval(_Event, frozen=True, tag="interval"):
    """The feature is a number with low <= number < high; None is no bound on that side.

    `among_others` says that the feature is not always a number, and changes only the words.

    >>> from refutedp.events.features.basic import Value
    >>> print(Interval(Value((0,)), low=None, high=1.5))
    output[0] < 1.5
    >>> print(Interval(Value((0,)), low=math.nextafter(1.0, 2.0), high=None))
    output[0] > 1
    """

    of: Feature
    low: float | None
    high: float | None
    among_others: bool = False

    def mask(self, group: Group, known: Columns | None = None) -> Mask:
        """Rows whose feature lies in the interval."""
        column = _column(self.of, group, known)
        if column is None or isinstance(column, (str, bool)):
            return False
        if isinstance(column, np.ndarray):
            if column.dtype == np.bool_:
                return False
            if column.dtype == object:
                column = basic.as_floats(column)
        if self.low is None:
            if self.high is None:
                return np.isfinite(column) if isinstance(column, np.ndarray) else True
            return column < self.high
        above: Mask = column >= self.low
        return above if self.high is None else above & (column < self.high)

    def __str__(self) -> str:
        own = self.of.between(self.low, self.high)
        if own is not None:
            return own
        name, others = self.of.words(), " is a number and" if self.among_others else ""
        if self.low is not None and self.high is not None:
            return f"{name} {self._between(self.low, self.high)}"
        if self.low is not None:
            sign, end = _end(self.low, ">=", ">")
        elif self.high is not None:
            sign, end = _end(self.high, "<", "<=")
        else:
            return f"{name} is a number"
        return f"{name}{others} {sign} {_number(end)}"

    def _between(self, low: float, high: float) -> str:
        if low == math.nextafter(high, -math.inf):
            return f"= {_number(low)}"
        (above, low), (below, high) = _end(low, "[", "("), _end(high, ")", "]")
        # Fifteen digits would not distinguish such ends.
        narrow = high - low < 1e-9 * max(abs(low), abs(high))
        digits = repr if narrow else _number
        return f"{'is a number ' if self.among_others else ''}in {above}{digits(low)}, {digits(high)}{below}"


def _end(end: float, here: str, before: str) -> tuple[str, float]:
    """How an interval ends there, and where, as people say it.

    An interval that begins just above 1 begins after 1, and one that ends there ends with 1.
    """
    previous = math.nextafter(end, -math.inf)
    return (before, previous) if len(repr(previous)) < len(repr(end)) else (here, end)


def _number(value: float) -> str:
    return f"{value + 0.0:.15g}"


class Exactly(_Event, frozen=True, tag="exactly"):
    """The whole output, leaf by leaf; of an output with containers in it, `paths` say where each leaf is."""

    label: str
    leaves: tuple[Scalar, ...]
    paths: tuple[Path, ...] | None = None

    def mask(self, group: Group, known: Columns | None = None) -> Mask:
        """Rows equal to the output in every leaf."""
        if group.shape.label != self.label or len(group.columns) != len(self.leaves):
            return False
        if self.paths is not None and group.shape.paths != self.paths:
            return False
        found: Mask = True
        for kind, column, leaf in zip(group.shape.kinds, group.columns, self.leaves, strict=True):
            found = found & ((leaf is None) if kind == "none" else basic.equal(column, leaf))
        return found

    def __str__(self) -> str:
        if len(self.leaves) == 1 and self.label not in ("list", "tuple", "ndarray"):
            return f"the output = {self.leaves[0]!r}"
        if self.paths is None:
            return f"the output = [{', '.join(repr(leaf) for leaf in self.leaves)}]"
        return f"the output = {nested(dict(zip(self.paths, self.leaves, strict=True)))!r}"


def paths_of(shape: Shape) -> tuple[Path, ...] | None:
    """Where the leaves are, if the type of the output does not say so: in containers, or under keys."""
    flat = shape.paths == ((),) or shape.paths == tuple((i,) for i in range(len(shape.paths)))
    return None if flat else shape.paths


def nested(leaves: dict[Path, Scalar]) -> Any:
    """Lists and dicts that have these leaves at these places.

    >>> nested({(0,): True, (1, "a"): 2})
    [True, {'a': 2}]
    """
    if set(leaves) == {()}:
        return leaves[()]
    inner: dict[Any, dict[Path, Scalar]] = {}
    for path, leaf in leaves.items():
        inner.setdefault(path[0], {})[path[1:]] = leaf
    made = {step: nested(rest) for step, rest in inner.items()}
    return list(made.values()) if all(isinstance(step, int) for step in made) else made


class Both(_Event, frozen=True, tag="both"):
    """Two events at once: the paper's product of a categorical and a numeric event."""

    first: Equals | Among | Interval | Exactly
    second: Equals | Among | Interval | Exactly

    def mask(self, group: Group, known: Columns | None = None) -> Mask:
        """Rows in both."""
        first = self.first.mask(group, known)
        if first is False:
            return False
        return first & self.second.mask(group, known)

    def __str__(self) -> str:
        return f"{self.first.words()} and {self.second.words()}"


class Pieces(_Event, frozen=True, tag="pieces"):
    """A partition: which of some intervals the feature lies in, each from one end up to the next.

    >>> from refutedp.events.features.basic import Value
    >>> print(Pieces(Value((0,)), (-1.0, 2.5)))
    which of 3 intervals output[0] lies in, cut at -1, 2.5
    """

    of: Feature
    ends: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.ends or not all(low < high for low, high in pairwise((-math.inf, *self.ends, math.inf))):
            raise ValueError(f"ends={self.ends} must be finite and increase: pieces that overlap are no partition")

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """The pieces."""
        return tuple(Interval(self.of, low, high) for low, high in pairwise((None, *self.ends, None)))

    def mask(self, group: Group, known: Columns | None = None) -> Mask:
        """Rows in any of them."""
        return Interval(self.of, None, None).mask(group, known)

    def __str__(self) -> str:
        cuts = ", ".join(map(_number, self.ends))
        return f"which of {len(self.ends) + 1} intervals {self.of.words()} lies in, cut at {cuts}"


Event: TypeAlias = Equals | Among | Interval | Exactly | Both
AnyEvent: TypeAlias = Event | Pieces
"""What files hold: search proposes no partitions."""


def rows_of(group: Group, rows: slice | NDArray[np.bool_] = slice(None)) -> Iterator[tuple[Scalar, ...]]:
    """Some outputs of a group, each as the tuple of its leaves."""
    if not group.columns:
        return iter([()] * len(np.arange(group.rows)[rows]))
    kinds = zip(group.shape.kinds, group.columns, strict=True)
    columns = (column[rows].tolist() if kind != "none" else [None] * len(column[rows]) for kind, column in kinds)
    return zip(*columns, strict=True)


def complexity(event: Event) -> int:
    """How much a reader has to keep in mind."""
    match event:
        case Equals(of=feature):
            return _effort(feature)
        case Interval(of=feature, low=low, high=high):
            return _effort(feature) + (1 if low is None or high is None else 2)
        case Exactly(leaves=leaves):
            return 2 + len(leaves) // 4
        case Among(values=values):
            return 2 + len(values)
        case Both(first=one, second=other):
            return 1 + complexity(one) + complexity(other)


def _effort(feature: Feature) -> int:
    if isinstance(feature, sums.WeightedSum):
        return sum(len(term.factors) + (term.weight != 1) for term in feature.terms)
    return 2 * isinstance(feature, Involved)


def reads_digits(event: Any) -> bool:
    """Whether an event looks at the last digits of numbers, in whatever it is made of.

    >>> reads_digits(Interval(leaks.LastDigit(), None, -50)), reads_digits(Interval(leaks.Magnitude(), None, 3))
    (True, False)
    """
    if isinstance(event, Both):
        return reads_digits(event.first) or reads_digits(event.second)
    return isinstance(getattr(event, "of", None), leaks.LastDigit)


def nearly_all(first: Outputs, second: Outputs) -> str:
    """What nearly every run on both inputs did, in words; "" where their outputs vary or differ.

    A check of a mechanism that does the same in every run has tested nothing.

    >>> from refutedp.sampling.encode import Raised, encode
    >>> nearly_all(encode([None] * 5), encode([None] * 5))
    'the output = None'
    >>> nearly_all(encode([Raised("ValueError")] * 5), encode([Raised("ValueError")] * 5))
    'the mechanism raises ValueError'
    >>> nearly_all(encode([0.5, 1.5]), encode([0.5, 1.5]))
    ''
    """
    one, other = _usual(first), _usual(second)
    return one if one == other else ""


def _usual(outputs: Outputs) -> str:
    group = max(outputs.groups, key=lambda group: group.size, default=None)
    if group is None:
        return ""
    row, runs = (0, group.size) if group.shape.error else _usual_row(group)
    if runs < (1 - ALL_BUT) * outputs.size:
        return ""
    if group.shape.error:
        return f"the mechanism raises {group.shape.label}"
    leaves = next(rows_of(group, slice(row, row + 1)), ())
    return Exactly(group.shape.label, leaves, paths_of(group.shape)).words()


def _usual_row(group: Group) -> tuple[int, int]:
    """The row that stands for most runs, or the first one, and for how many."""
    if group.weights is not None:
        row = int(np.argmax(group.weights))
        return row, int(group.weights[row])
    like_the_first = np.ones(group.rows, dtype=np.bool_)
    for column in group.columns:
        like_the_first &= (column == column[0]) | ((column != column) & bool(column[0] != column[0]))
    return 0, int(like_the_first.sum())


def _column(feature: Feature, group: Group, known: Columns | None) -> Array | Scalar:
    if known is None:
        return feature.column(group)
    if feature not in known:
        known[feature] = feature.column(group)
    return known[feature]
