"""Which features to look at, by what the outputs are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from refutedp.events.features.basic import (
    Count,
    Form,
    Hamming,
    Last,
    Length,
    Scalar,
    Special,
    Statistic,
    Type,
    Value,
)
from refutedp.events.features.differences import Difference, Spread
from refutedp.events.features.leaks import Has, LastDigit, Magnitude, Residue
from refutedp.model.outputs import CATEGORICAL, NUMERIC, Array, Group, Path, Shape, Step, step_order

Feature: TypeAlias = (
    Value
    | Last
    | Length
    | Type
    | Form
    | Count
    | Hamming
    | Statistic
    | Special
    | Magnitude
    | LastDigit
    | Residue
    | Has
    | Difference
    | Spread
)

MANY_LEAVES = 100_000
"""Where the shapes of outputs have more leaves in all, only types, lengths and a few values are looked at."""
FEW_COORDINATES = 4
MOST_COORDINATES = 40
"""Coordinates looked at one by one; means, extremes and counts still see the whole output."""
FEW_DECIMALS = 6
"""Whoever rounds to so many decimals, or fewer, has chosen a grid."""
MOST_SUBTLE = 8
"""Leaves whose last digits, magnitude and residues are looked at."""
MODULI = (2, 3, 4, 5, 7, 8, 10)
MOST_VALUES = 16
"""Distinct categorical values whose number of occurrences is looked at."""


def features_for(groups: list[Group], references: Sequence[tuple[Scalar, ...]]) -> list[Feature]:
    """Every feature that could distinguish these outputs, plain ones first; `references` are noise-free outputs."""
    shapes = {group.shape for group in groups}
    further: list[Feature] = []
    found: list[Feature] = []
    if len({(shape.label, shape.error) for shape in shapes}) > 1:
        found.append(Type())
    containers = [shape for shape in shapes if shape.length is not None]
    lengths = {shape.length for shape in containers}
    if len(lengths) > 1:
        found.append(Length())
    if len(containers) > 1 and len({(shape.paths, shape.kinds) for shape in containers}) > 1:
        found.append(Form())
    paths = list(dict.fromkeys(path for shape in shapes for path in shape.paths))
    many = _leaves(shapes) > MANY_LEAVES
    found += [Value(path) for path in sorted(paths, key=_path_order)[: FEW_COORDINATES if many else MOST_COORDINATES]]
    if len(lengths) > 1:
        found.append(Last())
    if many:
        return found
    if any(sum(kind in NUMERIC for kind in shape.kinds) > 1 for shape in containers):
        found += [Statistic(name) for name in ("mean", "min", "max")]
    if any(len(shape.kinds) > 1 for shape in containers):
        found += [Count(value) for value in _categories(groups)]
        found += [Hamming(reference) for reference in references[:1] if len(reference) > 1]
        further += [Hamming(reference) for reference in references[1:] if len(reference) > 1]
    found += [Has(key) for key in _keys_that_vary(containers)[:MOST_COORDINATES]]
    found += _special(groups)[:MOST_COORDINATES]
    found += [Residue(m, path) for path in _integers(groups)[:MOST_SUBTLE] for m in MODULI]
    return found + further


def subtle_features(groups: list[Group]) -> list[Feature]:
    """Features that cost as much as the runs: looked at on few runs, and on all only if they show something."""
    if _leaves({group.shape for group in groups}) > MANY_LEAVES:
        return []
    floats = _paths(groups, "float")[:MOST_SUBTLE]
    found: list[Feature] = [Magnitude(path) for path in floats if _has_both_signs(path, groups)]
    numbers = sorted({*_paths(groups, "float"), *_paths(groups, "int")}, key=_path_order)[: MOST_SUBTLE + 1]
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
    leaves = [Value(path).column(group) for group in groups]
    numbers = [leaf for leaf in leaves if isinstance(leaf, np.ndarray) and leaf.dtype in (np.float64, np.int64)]
    return any((leaf < 0).any() for leaf in numbers) and any((leaf > 0).any() for leaf in numbers)


def _has_few_decimals(path: Path, group: Group) -> bool:
    """Whether all numbers there have few decimals; also when there are none."""
    values = Value(path).column(group)
    if not isinstance(values, np.ndarray) or values.dtype != np.float64:
        return True
    # Most often the first ones tell.
    return _on_a_grid(values[:20]) and _on_a_grid(values)


def _on_a_grid(values: Array) -> bool:
    # The largest floats are whole numbers, though rounding them to decimals overflows.
    whole = np.floor(values) == values
    if whole.all():
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(((np.round(values, FEW_DECIMALS) == values) | whole).all())


def _leaves(shapes: Iterable[Shape]) -> int:
    return sum(len(shape.paths) for shape in shapes)


def _paths(groups: list[Group], kind: str) -> list[Path]:
    shapes = {(group.shape.paths, group.shape.kinds) for group in groups}
    found = (p for paths, kinds in shapes for p, k in zip(paths, kinds, strict=True) if k == kind)
    return sorted(set(found), key=_path_order)


def _integers(groups: list[Group]) -> list[Path]:
    """Integer leaves with enough values for a residue to say something new."""
    found: list[Path] = []
    for path in _paths(groups, "int")[:MOST_COORDINATES]:
        if len(found) == MOST_SUBTLE:
            break
        columns = [Value(path).column(group) for group in groups]
        values = [np.unique(c) for c in columns if isinstance(c, np.ndarray) and c.dtype == np.int64]
        if values and len(np.unique(np.concatenate(values))) > 2 * max(MODULI):
            found.append(path)
    return found


def _keys_that_vary(containers: list[Shape]) -> list[Step]:
    sets = [frozenset(path[0] for path in shape.paths) for shape in containers if not shape.is_sequence]
    everywhere = frozenset.intersection(*sets) if sets else frozenset()
    return sorted(frozenset.union(*sets) - everywhere, key=step_order) if sets else []


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
                values = _distinct(column)
                if len(values) <= MOST_VALUES:
                    target = integers if kind == "int" else seen
                    target.update(((kind, value), None) for value in values)
                elif kind == "int":
                    integers[("int", 0)] = None
    chosen = [value for _, value in seen][:MOST_VALUES]
    return chosen + ([value for _, value in integers] if len(integers) <= MOST_VALUES else [0])


def _distinct(column: Array) -> list[Scalar]:
    if column.dtype == np.bool_:
        true = np.count_nonzero(column)
        return [value for value, seen in ((False, true < len(column)), (True, true > 0)) if seen]
    return np.unique(column).tolist()  # type: ignore[no-any-return]


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
