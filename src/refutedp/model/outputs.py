"""Outputs by column: n results of a mechanism, grouped by shape, one array a leaf.

An output such as `[False, False, 2.7]` has a `Shape` (a list with leaves bool, bool, float) and three leaves.
All outputs of one shape form a `Group`: leaf number j of every row is `columns[j]`. Rows may carry weights, so
that a group of a few distinct rows stands for many runs; nothing downstream keeps a Python object per run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray


class OtherKey(msgspec.Struct, frozen=True):
    """A key of a dict that is neither text nor a whole number, by what it prints as: `1.5` is not `'1.5'`."""

    key: str

    def __repr__(self) -> str:
        return self.key


Step: TypeAlias = str | int | OtherKey
Path: TypeAlias = tuple[Step, ...]
"""Where a leaf sits in its output: `()` for a scalar, `(2,)` for `w[2]`, `("a", 0)` for `w["a"][0]`."""

Kind: TypeAlias = Literal["bool", "int", "float", "str", "none"]
"""What a leaf holds. NumPy's bool_, int64 and float64 count as bool, int and float."""

Array: TypeAlias = NDArray[Any]

CATEGORICAL: frozenset[Kind] = frozenset({"bool", "str", "none"})
NUMERIC: frozenset[Kind] = frozenset({"int", "float"})


_SEQUENCES = frozenset({"list", "tuple", "ndarray", "set"})
_FEW = 64
"""Up to so many rows are compared one by one."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How an output is built.

    `label` is what the output is as a whole ("float", "list", "dict", "ndarray", a dataclass's name, or the class
    of the exception that the mechanism raised); `length` its top-level length, None for a scalar or an exception.

    >>> Shape("list", ((0,), (1,)), ("bool", "float"), length=2).kinds
    ('bool', 'float')
    """

    label: str
    paths: tuple[Path, ...]
    kinds: tuple[Kind, ...]
    length: int | None = None
    error: bool = False

    @property
    def is_sequence(self) -> bool:
        """Whether the leaves come in an order: a list, tuple or array, but no dict, record or scalar."""
        return self.length is not None and self.label.partition("(")[0].partition("[")[0] in _SEQUENCES


@dataclass(frozen=True, slots=True)
class Group:
    """`rows` outputs of one shape; row i stands for `weights[i]` runs, or for one run when weights is None.

    A column has dtype bool, int64 (or float64/object for integers beyond 64 bits), float64, object (str), or
    int8 zeros (none).
    """

    shape: Shape
    rows: int
    columns: tuple[Array, ...]
    weights: NDArray[np.int64] | None = None

    @property
    def size(self) -> int:
        """How many runs the group stands for."""
        if self.weights is None:
            return self.rows
        return int(self.weights[0]) if len(self.weights) == 1 else int(self.weights.sum())


@dataclass(frozen=True, slots=True)
class Outputs:
    """The results of many runs on one input.

    >>> import numpy as np
    >>> shape = Shape("float", ((),), ("float",))
    >>> Outputs((Group(shape, 3, (np.array([0.5, 1.5, 2.5]),)),)).size
    3
    """

    groups: tuple[Group, ...]
    derived: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """What was computed of them, for whoever looks at them again."""

    @property
    def size(self) -> int:
        """How many runs the outputs stand for."""
        return sum(group.size for group in self.groups)


def step_order(step: Step) -> tuple[int, int, str]:
    """Paths go by positions, then by names, then by other keys."""
    if isinstance(step, int):
        return 0, step, ""
    return (1, 0, step) if isinstance(step, str) else (2, 0, step.key)


def merge(parts: Iterable[Outputs]) -> Outputs:
    """All runs of `parts` as one, groups of the same shape joined, in order of first appearance."""
    by_shape: dict[Shape, list[Group]] = {}
    for part in parts:
        for group in part.groups:
            if group.rows:
                by_shape.setdefault(group.shape, []).append(group)
    return Outputs(tuple(_join(shape, groups) for shape, groups in by_shape.items()))


def join(parts: Sequence[Outputs]) -> Outputs:
    """All runs of `parts`, each of which has one group a shape; a single part as it is, with what is derived."""
    return parts[0] if len(parts) == 1 else merge(parts)


def _join(shape: Shape, groups: list[Group]) -> Group:
    if len(groups) == 1:
        return groups[0]
    rows = sum(g.rows for g in groups)
    if rows < len(shape.kinds) and len({c.dtype for g in groups for c in g.columns}) == 1:
        # Few rows of many leaves: columns that are cut from one table are looked at together.
        columns = tuple(np.concatenate([np.array(g.columns) for g in groups], axis=1))
    else:
        columns = tuple(np.concatenate([g.columns[j] for g in groups]) for j in range(len(shape.kinds)))
    weights: NDArray[np.int64] | None = None
    if any(g.weights is not None for g in groups):
        weights = np.concatenate(
            [np.ones(g.rows, dtype=np.int64) if g.weights is None else g.weights for g in groups]
        )
    return compress(Group(shape, rows, columns, weights))


def _compress_few(group: Group) -> Group:
    dtypes = {column.dtype for column in group.columns}
    table = np.array(group.columns) if len(dtypes) == 1 and np.dtype(object) not in dtypes else None
    if table is not None:
        rows = list(map(tuple, table.T.tolist()))
    else:
        rows = list(zip(*(column.tolist() for column in group.columns), strict=True)) or [()] * group.rows
    counts: Counter[tuple[Any, ...]] = Counter()
    for row, weight in zip(rows, [1] * group.rows if group.weights is None else group.weights.tolist(), strict=True):
        counts[row] += weight
    if len(counts) > group.rows // 2 + 1:
        return group
    first = [rows.index(row) for row in sorted(counts)]
    weights = np.array([counts[rows[i]] for i in first], dtype=np.int64)
    kept = (column[first] for column in group.columns) if table is None else table[:, first].copy()
    return Group(group.shape, len(first), tuple(kept), weights)


def compress(group: Group, *, at_most: int = 65_536) -> Group:
    """The same runs with equal rows joined by weight, when no leaf is a float and the distinct rows are few.

    >>> import numpy as np
    >>> g = compress(Group(Shape("bool", ((),), ("bool",)), 3, (np.array([True, False, True]),)))
    >>> g.rows, g.weights.tolist(), g.columns[0].tolist()
    (2, [1, 2], [False, True])
    """
    if "float" in group.shape.kinds or group.rows <= 1:
        return group
    if group.rows <= _FEW:
        return _compress_few(group)
    code = np.zeros(group.rows, dtype=np.int64)
    capacity = 1
    for column in group.columns:
        if column.dtype == np.bool_:
            digits, cardinality = column, 2
        elif column.dtype == np.int8:
            continue
        else:
            values, digits = np.unique(column, return_inverse=True)
            cardinality = len(values)
        if capacity > 2**62 // max(cardinality, 1):
            _, code = np.unique(code, return_inverse=True)
            capacity = int(code.max()) + 1
            if capacity > 2**62 // max(cardinality, 1):
                return group
        code = code * cardinality + digits
        capacity *= max(cardinality, 1)
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    if len(first) > min(at_most, group.rows // 2 + 1):
        return group
    if group.weights is None:
        weights = np.bincount(inverse, minlength=len(first)).astype(np.int64)
    else:
        weights = np.zeros(len(first), dtype=np.int64)
        np.add.at(weights, inverse, group.weights)
    return Group(group.shape, len(first), tuple(c[first] for c in group.columns), weights)
