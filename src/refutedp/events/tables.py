"""Outputs to counts: which features to look at, and how often each value of one occurs on the two sides of a pair.

Pairs share inputs: what is computed of a side stays with its outputs, for the next pair that has the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.events.features import basic
from refutedp.events.features.basic import NUMBERS, Scalar, equal, leaf_at
from refutedp.events.features.leaks import Difference, LastDigit, Magnitude, Residue, Special, Spread
from refutedp.events.numbers import Floats, Hits, Numbers, NumberTable
from refutedp.events.predicates import Feature, Mask
from refutedp.model.outputs import CATEGORICAL, NUMERIC, Array, Group, Outputs, Path, Shape, Step, step_order

MANY_LEAVES = 100_000
"""Where the shapes of outputs have more leaves in all, only types, lengths and a few values are looked at."""
FEW_COORDINATES = 4
MOST_COORDINATES = 40
"""Coordinates looked at one by one, those that differ most at a quick look; means and counts see the whole output."""
FEW_DECIMALS = 6
"""Whoever rounds to so many decimals, or fewer, has chosen a grid."""
MOST_SUBTLE = 8
"""Leaves whose last digits, magnitude and residues are looked at."""
MODULI = (2, 3, 4, 5, 7, 8, 10)
MOST_COUNTED = 16
"""Distinct categorical values whose number of occurrences is looked at."""
MOST_VALUES = 2048
"""Distinct values of a categorical or integer feature that are looked at one by one."""
FEW_ROWS = 256
"""So few rows are counted faster one by one than by NumPy."""

Kept: TypeAlias = list[tuple[int, Mask]]
"""Groups by number, with the rows of each that are kept; groups of which nothing is kept are left out."""
Part: TypeAlias = tuple[Array | Scalar, NDArray[np.int64] | None, int]
"""The values of a feature in some rows of a group, the weights of these rows, and how many runs they are."""


def features_for(
    groups: list[Group], references: Sequence[tuple[Scalar, ...]], clearest: Sequence[Path] = ()
) -> list[Feature]:
    """Every feature that could distinguish these outputs, plain ones first; `references` are noise-free outputs.

    Where there are very many coordinates, only the `clearest` are looked at one by one, or else the first ones.
    """
    shapes = {group.shape for group in groups}
    containers = [shape for shape in shapes if shape.length is not None]
    several_lengths = len({shape.length for shape in containers}) > 1
    found: list[Feature] = []
    if len({(shape.label, shape.error) for shape in shapes}) > 1:
        found.append(basic.Type())
    if several_lengths:
        found.append(basic.Length())
    if len({(shape.paths, shape.kinds) for shape in containers}) > 1:
        found.append(basic.Form())
    paths = sorted({path for shape in shapes for path in shape.paths}, key=_path_order)
    many = _leaves(shapes) > MANY_LEAVES
    most = FEW_COORDINATES if many else MOST_COORDINATES
    chosen = {*clearest[:most], *paths[: max(most - len(clearest), 0)]}
    found += [basic.Value(path) for path in paths if path in chosen]
    if several_lengths:
        found.append(basic.Last())
    if many:
        return found
    if any(sum(kind in NUMERIC for kind in shape.kinds) > 1 for shape in containers):
        found += [basic.Statistic("mean"), basic.Statistic("min"), basic.Statistic("max")]
    further: list[Feature] = []
    if any(len(shape.kinds) > 1 for shape in containers):
        found += map(basic.Count, _categories(groups))
        found += [basic.Hamming(reference) for reference in references[:1] if len(reference) > 1]
        further += [basic.Hamming(reference) for reference in references[1:] if len(reference) > 1]
    found += map(basic.Has, _keys_that_vary(containers)[:MOST_COORDINATES])
    found += _special(groups)[:MOST_COORDINATES]
    found += [Residue(m, path) for path in _integers(groups)[:MOST_SUBTLE] for m in MODULI]
    return found + further


def subtle_features(groups: list[Group]) -> list[Feature]:
    """Features that cost as much as the runs: looked at on few runs, and on all only if they show something."""
    if _leaves({group.shape for group in groups}) > MANY_LEAVES:
        return []
    floats, integers = _paths(groups, "float"), _paths(groups, "int")
    found: list[Feature] = [Magnitude(path) for path in floats[:MOST_SUBTLE] if _has_both_signs(path, groups)]
    numbers = sorted({*floats, *integers}, key=_path_order)[: MOST_SUBTLE + 1]
    found += [Difference(right, left) for left, right in pairwise(numbers)]
    return [*found, Spread()] if len(numbers) > 2 else found


def rounding_features(groups: list[Group]) -> list[Feature]:
    """Features that show how floats were rounded, where a mechanism that is private on real numbers may leak.

    Outputs that the mechanism itself rounded to some decimals have last digits that tell no more than their size.
    """
    special = {feature.path for feature in _special(groups)}
    paths = [path for path in _paths(groups, "float")[:MOST_SUBTLE] if path not in special]
    return [LastDigit(path) for path in paths if not all(_has_few_decimals(path, group) for group in groups)]


def _has_both_signs(path: Path, groups: list[Group]) -> bool:
    """Whether some numbers there are negative and some positive; else their magnitude tells no more than they do."""
    numbers = [leaf for group in groups if (leaf := leaf_at(path, group, *NUMBERS)) is not None]
    return any((leaf < 0).any() for leaf in numbers) and any((leaf > 0).any() for leaf in numbers)


def _has_few_decimals(path: Path, group: Group) -> bool:
    """Whether all numbers there have few decimals; also when there are none."""
    values = leaf_at(path, group, np.float64)
    # Most often the first ones tell.
    return values is None or (_on_a_grid(values[:20]) and _on_a_grid(values))


def _on_a_grid(values: Array) -> bool:
    # The largest floats are whole numbers, though rounding them to decimals overflows.
    whole = np.floor(values) == values
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(whole.all() or ((np.round(values, FEW_DECIMALS) == values) | whole).all())


def _leaves(shapes: Iterable[Shape]) -> int:
    return sum(len(shape.paths) for shape in shapes)


def _paths(groups: list[Group], kind: str) -> list[Path]:
    shapes = {(group.shape.paths, group.shape.kinds) for group in groups}
    found = {p for paths, kinds in shapes for p, k in zip(paths, kinds, strict=True) if k == kind}
    return sorted(found, key=_path_order)


def _integers(groups: list[Group]) -> list[Path]:
    """Integer leaves with enough values for a residue to say something new."""
    found: list[Path] = []
    for path in _paths(groups, "int")[:MOST_COORDINATES]:
        if len(found) == MOST_SUBTLE:
            break
        leaves = [leaf_at(path, group, np.int64) for group in groups]
        values = [np.unique(leaf) for leaf in leaves if leaf is not None]
        if values and len(np.unique(np.concatenate(values))) > 2 * max(MODULI):
            found.append(path)
    return found


def _keys_that_vary(containers: list[Shape]) -> list[Step]:
    sets = [frozenset(path[0] for path in shape.paths) for shape in containers if not shape.is_sequence]
    return sorted(frozenset.union(*sets) - frozenset.intersection(*sets), key=step_order) if sets else []


def _path_order(path: Path) -> tuple[tuple[int, int, str], ...]:
    return tuple(map(step_order, path))


def _categories(groups: list[Group]) -> list[Scalar]:
    """The categorical values seen, integers among them when they are few, so that 0/1 lists count as categories."""
    seen: dict[tuple[str, Scalar], None] = {}
    integers: dict[tuple[str, Scalar], None] = {}
    for group in groups:
        if group.shape.length is None:
            continue
        for kind, column in list(zip(group.shape.kinds, group.columns, strict=True))[:MOST_COORDINATES]:
            if kind == "none":
                seen[("none", None)] = None
            elif kind in CATEGORICAL or (kind == "int" and column.dtype == np.int64):
                values = sorted(value for value, _ in _values(column, None, len(column)))  # type: ignore[type-var]
                if len(values) <= MOST_COUNTED:
                    target = integers if kind == "int" else seen
                    target.update(((kind, value), None) for value in values)
                elif kind == "int":
                    integers[("int", 0)] = None
    chosen = [value for _, value in seen][:MOST_COUNTED]
    return chosen + ([value for _, value in integers] if len(integers) <= MOST_COUNTED else [0])


def _special(groups: list[Group]) -> list[Special]:
    """What there is to ask of floats that are not finite, or that are -0.0."""
    found: dict[Special, None] = {}
    with np.errstate(all="ignore"):
        for group in groups:
            for path, kind, column in zip(group.shape.paths, group.shape.kinds, group.columns, strict=True):
                if kind != "float":
                    continue
                # A finite sum has finite terms, and is found faster.
                if not np.isfinite(column.sum()) and not np.isfinite(column).all():
                    found[Special(path)] = None
                zeros = column == 0
                if zeros.any() and np.signbit(column[zeros]).any():
                    found[Special(path, zeros=True)] = None
    return list(found)


@dataclass(frozen=True, slots=True)
class ValueTable:
    """Hits of each distinct value of a feature on either side; integers come sorted."""

    values: list[Scalar]
    x: Hits
    y: Hits


class Side:
    """The outputs on one input, each feature of them computed once however often it is asked for."""

    def __init__(self, outputs: Outputs) -> None:
        self.groups = outputs.groups
        self._columns: dict[Feature, list[Array | Scalar]] = {}
        self._numbers: dict[Feature, Numbers] = {}

    def columns(self, feature: Feature) -> list[Array | Scalar]:
        """The feature's column in every group."""
        if feature not in self._columns:
            self._columns[feature] = [_shared(feature.column(group)) for group in self.groups]
        return self._columns[feature]

    def numbers(self, parts: list[Part], whole: Feature | None) -> Numbers:
        """The numbers among the values of a feature; put in order once for each whole feature."""
        known = None if whole is None else self._numbers.get(whole)
        if known is None:
            known = Numbers(_floats([part for part in parts if _is_numeric(part[0])]))
            if whole is not None:
                self._numbers[whole] = known
        return known

    def where(self, feature: Feature, value: Scalar) -> Kept:
        """Which rows of which groups have this value of a feature."""
        masks = [equal(column, value) for column in self.columns(feature)]
        return [(i, mask) for i, mask in enumerate(masks) if mask is not False and (mask is True or np.any(mask))]

    def parts(self, feature: Feature, kept: Kept | None) -> list[Part]:
        """The feature's values, in the kept rows only."""
        columns = self.columns(feature)
        chosen = kept if kept is not None else [(i, True) for i in range(len(columns))]
        return [
            _part(self.groups[number], columns[number], mask)
            for number, mask in chosen
            if columns[number] is not None
        ]


class Parts(NamedTuple):
    """The values of a feature on either side; `whole` is the feature if no rows were left out."""

    x: list[Part]
    y: list[Part]
    whole: Feature | None = None

    @property
    def runs(self) -> tuple[int, int]:
        """How many runs on either side have the feature."""
        return sum(size for _, _, size in self.x), sum(size for _, _, size in self.y)


class Sides:
    """The outputs of a pair."""

    def __init__(self, first: Outputs, second: Outputs) -> None:
        self.runs = first.size + second.size
        self.x, self.y = (outputs.derived.setdefault(Side, Side(outputs)) for outputs in (first, second))

    def where(self, feature: Feature, value: Scalar) -> tuple[Kept, Kept]:
        """Which rows of which groups have this value of a feature."""
        return self.x.where(feature, value), self.y.where(feature, value)

    def parts(self, feature: Feature, kept: tuple[Kept, Kept] | None = None) -> Parts:
        """The feature's values on either side, in the kept rows only."""
        if kept is None:
            return Parts(self.x.parts(feature, None), self.y.parts(feature, None), feature)
        return Parts(self.x.parts(feature, kept[0]), self.y.parts(feature, kept[1]))

    def table(self, parts: Parts) -> ValueTable | NumberTable | None:
        """The table of `parts`; None when there are none, or too many values that are no numbers."""
        everything = [*parts.x, *parts.y]
        if not everything:
            return None
        if any(
            c.dtype == np.float64 if isinstance(c, np.ndarray) else isinstance(c, float) for c, _, _ in everything
        ):
            return self._number_table(parts)
        counts: dict[tuple[bool, Scalar], list[int]] = {}
        for side, those in enumerate((parts.x, parts.y)):
            for part in those:
                for value, hits in _values(*part):
                    counts.setdefault((isinstance(value, bool), value), [0, 0])[side] += hits
        if len(counts) > MOST_VALUES:
            return self._number_table(parts) if all(_is_numeric(c) for c, _, _ in everything) else None
        keys = list(counts)
        if all(isinstance(value, int) for _, value in keys):
            keys.sort(key=lambda key: (key[0], key[1]))
        table = np.array([counts[key] for key in keys], dtype=np.int64).reshape(-1, 2)
        return ValueTable([value for _, value in keys], table[:, 0], table[:, 1])

    def _number_table(self, parts: Parts) -> NumberTable:
        covered = sum(size for column, _, size in (*parts.x, *parts.y) if _is_numeric(column))
        x, y = self.x.numbers(parts.x, parts.whole), self.y.numbers(parts.y, parts.whole)
        return NumberTable(x, y, complete=covered == self.runs)


def _is_numeric(column: Array | Scalar) -> bool:
    """Whether these are numbers; truth values are not."""
    if isinstance(column, np.ndarray):
        return column.dtype in NUMBERS
    return isinstance(column, (int, float)) and not isinstance(column, bool)


def _shared(column: Array | Scalar) -> Array | Scalar:
    """One value where a column of truth values or integers holds the same in all rows: most leaves of a path do."""
    if not isinstance(column, np.ndarray) or column.dtype not in (np.bool_, np.int64) or not len(column):
        return column
    return column[0].item() if column[0] == column[-1] and (column == column[0]).all() else column


def _part(group: Group, column: Array | Scalar, mask: Mask) -> Part:
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
        else:
            floats = np.asarray(column, dtype=np.float64)
            numbers.append(floats if weights is None else np.repeat(floats, weights))
    joined = numbers[0] if len(numbers) == 1 else np.concatenate([np.empty(0), *numbers])
    missing = np.isnan(joined)
    return joined[~missing] if missing.any() else joined


def _values(column: Array | Scalar, weights: NDArray[np.int64] | None, size: int) -> Iterable[tuple[Scalar, int]]:
    """The values of a part, with how many runs have each; few rows with weights may name a value again."""
    if not isinstance(column, np.ndarray):
        return [(column, size)]
    if column.dtype == np.bool_ and weights is None:
        true = int(np.count_nonzero(column))
        return [(value, hits) for value, hits in ((True, true), (False, size - true)) if hits]
    if weights is None:
        values, hits = np.unique(column, return_counts=True)
    elif len(column) <= FEW_ROWS:
        values, hits = column, weights
    else:
        values, inverse = np.unique(column, return_inverse=True)
        hits = np.zeros(len(values), dtype=np.int64)
        np.add.at(hits, inverse, weights)
    return zip(values.tolist(), hits.tolist(), strict=True)
