"""The outputs of the two sides of a pair, each feature of them computed once however often it is asked for.

Pairs share inputs: what is computed of a side stays with its outputs, for the next pair that has the same.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.events.features.basic import Scalar
from refutedp.events.features.offered import Feature
from refutedp.events.numbers import Floats, Numbers
from refutedp.events.predicates import Mask, equal
from refutedp.model.outputs import Array, Group, Outputs

Kept: TypeAlias = list[tuple[int, Mask]]
"""Groups by number, with the rows of each that are kept; groups of which nothing is kept are left out."""
Part: TypeAlias = tuple[Array | Scalar, NDArray[np.int64] | None, int]
"""The values of a feature in some rows of a group, the weights of these rows, and how many runs they are."""


class Parts(NamedTuple):
    """The values of a feature on either side; `whole` is the feature if no rows were left out."""

    x: list[Part]
    y: list[Part]
    whole: Feature | None = None


class Side:
    """The outputs on one input."""

    def __init__(self, outputs: Outputs) -> None:
        self.groups = outputs.groups
        self._columns: dict[Feature, list[Array | Scalar]] = {}
        self._numeric: dict[Feature, set[int]] = {}
        self._numbers: dict[Feature, Numbers] = {}
        self._whole: set[int] = set()
        self._ends: dict[int, tuple[float, float]] = {}

    def columns(self, feature: Feature) -> list[Array | Scalar]:
        """The feature's column in every group."""
        known = self._columns.get(feature)
        if known is None:
            known = self._columns[feature] = [_shared(feature.column(group)) for group in self.groups]
            self._whole.update(map(id, known))
        return known

    def numeric(self, feature: Feature) -> set[int]:
        """In which groups the feature is a number."""
        known = self._numeric.get(feature)
        if known is None:
            known = self._numeric[feature] = {i for i, c in enumerate(self.columns(feature)) if is_numeric(c)}
        return known

    def ends(self, column: Array) -> tuple[float, float]:
        """The least and the largest number of a column, nan if it holds nan; found once for each whole column."""
        known = self._ends.get(id(column))
        if known is None:
            known = float(column.min()), float(column.max())
            if id(column) in self._whole:
                self._ends[id(column)] = known
        return known

    def numbers(self, parts: list[Part], whole: Feature | None) -> Numbers:
        """The numbers among the values of a feature; put in order once for each whole feature."""
        known = None if whole is None else self._numbers.get(whole)
        if known is None:
            known = Numbers(_floats([part for part in parts if is_numeric(part[0])]))
            if whole is not None:
                self._numbers[whole] = known
        return known

    def where(self, feature: Feature, value: Scalar) -> Kept:
        """Which rows of which groups have this value of a feature."""
        masks = [equal(column, value) for column in self.columns(feature)]
        return [(i, mask) for i, mask in enumerate(masks) if mask is not False and (mask is True or np.any(mask))]

    def covered(self, feature: Feature, kept: Kept) -> int:
        """How many of the kept runs have the feature."""
        columns = self.columns(feature)
        total = 0
        for number, mask in kept:
            group = self.groups[number]
            if columns[number] is None:
                continue
            if mask is True:
                total += group.size
            else:
                total += int(np.count_nonzero(mask) if group.weights is None else group.weights[mask].sum())
        return total

    def parts(self, feature: Feature, kept: Kept | None) -> list[Part]:
        """The feature's values, in the kept rows only."""
        columns = self.columns(feature)
        chosen = kept if kept is not None else [(i, True) for i in range(len(columns))]
        parts = (_part(self.groups[number], columns[number], mask) for number, mask in chosen)
        return [part for part in parts if part is not None]


class Sides:
    """The outputs of a pair."""

    def __init__(self, first: Outputs, second: Outputs) -> None:
        self.runs = first.size + second.size
        self.both = (_side_of(first), _side_of(second))

    def where(self, feature: Feature, value: Scalar) -> tuple[Kept, Kept]:
        """Which rows of which groups have this value of a feature."""
        first, second = (side.where(feature, value) for side in self.both)
        return first, second

    def has_numbers(self, feature: Feature, kept: tuple[Kept, Kept]) -> bool:
        """Whether the feature is a number in some of the kept rows."""
        return any(
            number in side.numeric(feature) for side, rows in zip(self.both, kept, strict=True) for number, _ in rows
        )

    def covered(self, feature: Feature, kept: tuple[Kept, Kept]) -> tuple[int, int]:
        """How many of the kept runs on either side have the feature."""
        first, second = (side.covered(feature, rows) for side, rows in zip(self.both, kept, strict=True))
        return first, second

    def parts(self, feature: Feature, kept: tuple[Kept, Kept] | None = None) -> Parts:
        """The feature's values on either side, in the kept rows only."""
        if kept is None:
            x, y = (side.parts(feature, None) for side in self.both)
            return Parts(x, y, feature)
        x, y = (side.parts(feature, rows) for side, rows in zip(self.both, kept, strict=True))
        return Parts(x, y)


def is_numeric(column: Array | Scalar) -> bool:
    """Whether these are numbers; truth values are not."""
    if isinstance(column, np.ndarray):
        return column.dtype in (np.float64, np.int64)
    return isinstance(column, (int, float)) and not isinstance(column, bool)


def _side_of(outputs: Outputs) -> Side:
    side: Side | None = outputs.derived.get(Side)
    if side is None:
        side = outputs.derived[Side] = Side(outputs)
    return side


def _shared(column: Array | Scalar) -> Array | Scalar:
    """One value where a column of truth values or integers holds the same in all rows: most leaves of a path do."""
    if not isinstance(column, np.ndarray) or column.dtype not in (np.bool_, np.int64) or not len(column):
        return column
    if len(column) == 1:
        return column.item()  # type: ignore[no-any-return]
    if column.dtype == np.bool_:
        true = np.count_nonzero(column)
        return True if true == len(column) else column if true else False
    return int(column[0]) if column[0] == column[-1] and (column == column[0]).all() else column


def _part(group: Group, column: Array | Scalar, mask: Mask) -> Part | None:
    if column is None:
        return None
    if mask is True:
        return column, group.weights, group.size
    weights = None if group.weights is None else group.weights[mask]
    size = int(np.count_nonzero(mask)) if weights is None else int(weights.sum())
    return (column[mask] if isinstance(column, np.ndarray) else column), weights, size


def _floats(parts: list[Part]) -> Floats:
    numbers = []
    for column, weights, size in parts:
        if not isinstance(column, np.ndarray):
            numbers.append(np.full(size, column, dtype=np.float64))
        elif weights is None:
            numbers.append(np.asarray(column, dtype=np.float64))
        else:
            numbers.append(np.repeat(np.asarray(column, dtype=np.float64), weights))
    joined = numbers[0] if len(numbers) == 1 else np.concatenate([np.empty(0), *numbers])
    missing = np.isnan(joined)
    return joined[~missing] if missing.any() else joined
