"""Features: what an event may look at in an output. Each is a record that can be saved, said and computed.

`column(group)` gives the feature of every row of a group, one scalar when all rows share it, or None where the
feature has no meaning for that shape; an output without the feature lies in no event about it.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec
import numpy as np

from refutedp.model.outputs import NUMERIC, Array, Group, Path, Step

Scalar: TypeAlias = bool | int | float | str | None

_WRITTEN_OUT = 8
"""So many parts of one type are written out; more are counted."""
_MANY = 64
"""Leaves from which on few rows are worth a table."""
NUMBERS = {np.dtype(np.int64), np.dtype(np.float64)}


class BaseFeature(msgspec.Struct, frozen=True, tag_field="feature"):
    """What all features have; `between` and `equals` let a feature word its own events."""

    said: ClassVar[str] = ""
    """What the feature is called, with its fields in it."""

    def column(self, group: Group) -> Array | Scalar:
        """The feature of every row."""
        raise NotImplementedError(type(self).__name__)

    def words(self) -> str:
        """What it is, as a programmer writes it or a person says it."""
        return self.said.format(self)

    def between(self, low: float | None, high: float | None) -> str | None:
        """The sentence for low <= feature < high, or None for the ordinary one."""
        return None

    def equals(self, value: Scalar) -> str | None:
        """The sentence for feature = value, or None for the ordinary one."""
        return None

    def among(self, values: tuple[Scalar, ...]) -> str | None:
        """The sentence for a feature that is one of some values, or None for the ordinary one."""
        return None


class Value(BaseFeature, frozen=True, tag="value"):
    """The leaf at a path: the output itself, `output[3]`, `output["a"]`.

    >>> Value(("counts", 2)).words()
    "output['counts'][2]"
    """

    path: Path = ()

    def column(self, group: Group) -> Array | None:
        """The leaf's column; None where the shape has no such leaf or the leaf is None."""
        path, paths = self.path, group.shape.paths
        # Most outputs are flat, and many are long.
        if len(path) == 1 and isinstance(path[0], int) and path[0] < len(paths) and paths[path[0]] == path:
            place = path[0]
        elif path in paths:
            place = paths.index(path)
        else:
            return None
        return None if group.shape.kinds[place] == "none" else group.columns[place]

    def words(self) -> str:
        """As a programmer writes it."""
        return "the output" if not self.path else "output" + "".join(f"[{step!r}]" for step in self.path)


def leaf_at(path: Path, group: Group, *dtypes: Any) -> Array | None:
    """The leaf's column, where it has one of these types."""
    leaf = Value(path).column(group)
    return leaf if leaf is not None and leaf.dtype in dtypes else None


class Last(BaseFeature, frozen=True, tag="last"):
    """The last leaf of an output whose length varies."""

    said = "output[-1]"

    def column(self, group: Group) -> Array | Scalar:
        """The last leaf's column; None for scalars and empty outputs."""
        if not group.shape.is_sequence or not group.columns or group.shape.kinds[-1] == "none":
            return None
        return group.columns[-1]


class Length(BaseFeature, frozen=True, tag="length"):
    """The top-level length of a list, tuple, array or dict."""

    said = "len(output)"

    def column(self, group: Group) -> Array | Scalar:
        """One number a shape."""
        return group.shape.length


class Type(BaseFeature, frozen=True, tag="type"):
    """What the output is as a whole: its type, or the exception raised instead."""

    said = "the type of the output"

    def column(self, group: Group) -> Array | Scalar:
        """One label a shape."""
        return f"raises {group.shape.label}" if group.shape.error else group.shape.label

    def equals(self, value: Scalar) -> str | None:
        """What happened, as a person would say it."""
        raised = str(value).removeprefix("raises ")
        if raised != value:
            return f"the mechanism raises {raised}"
        return f"the output is {'an' if str(value)[:1].lower() in 'aeiou' else 'a'} {value}"


class Form(BaseFeature, frozen=True, tag="form"):
    """The type of every part, in order: `[bool, bool, float]`; for dicts the keys with them."""

    said = "the form of the output"

    def column(self, group: Group) -> Array | Scalar:
        """One signature a shape."""
        shape = group.shape
        if shape.error or shape.length is None:
            return None
        flat = shape.label in ("list", "tuple", "ndarray")
        if not flat and any(not isinstance(step, int) for path in shape.paths for step in path):
            names = (".".join(map(_step_text, path)) for path in shape.paths)
            parts = [f"{name}: {kind}" for name, kind in zip(names, shape.kinds, strict=True)]
        else:
            parts = []
            for kind, same in groupby(shape.kinds):
                count = len(list(same))
                parts += [kind] * count if count <= _WRITTEN_OUT else [f"{count} × {kind}"]
        return f"{shape.label}[{', '.join(parts)}]"


def _step_text(step: Step) -> str:
    """Names as they are; other keys as Python writes them, so that 1 is not '1'."""
    return step if isinstance(step, str) and step.isidentifier() else repr(step)


class Has(BaseFeature, frozen=True, tag="has"):
    """Whether a dict or record has this key."""

    said = "{0.key!r} in output"
    key: Step

    def column(self, group: Group) -> Array | Scalar:
        """One truth value a shape."""
        shape = group.shape
        if shape.length is None or (shape.is_sequence and shape.paths):
            return None
        return any(path[0] == self.key for path in shape.paths)

    def equals(self, value: Scalar) -> str | None:
        """Whether the key is there."""
        return f"the output has {'the' if value else 'no'} key {self.key!r}"


class Kind(BaseFeature, frozen=True, tag="kind"):
    """What a leaf is, where that varies: a float in some outputs, None in others.

    >>> Kind((2,)).equals("none"), Kind((2,)).equals("float")
    ('output[2] is None', 'output[2] is a float')
    """

    path: Path

    def column(self, group: Group) -> Array | Scalar:
        """One label a shape; None where it has no such leaf."""
        paths = group.shape.paths
        return group.shape.kinds[paths.index(self.path)] if self.path in paths else None

    def words(self) -> str:
        """As a person says it."""
        return f"the type of {Value(self.path).words()}"

    def equals(self, value: Scalar) -> str | None:
        """What it is."""
        name = "None" if value == "none" else f"{'an' if value == 'int' else 'a'} {value}"
        return f"{Value(self.path).words()} is {name}"


class Count(BaseFeature, frozen=True, tag="count"):
    """How many leaves equal a categorical value (the paper's `count(value)`)."""

    said = "the number of {0.value!r} in the output"
    value: Scalar

    # Features are keys of tables, and to count True is not to count 1, though they are equal.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Count) and _typed(self.value) == _typed(other.value)

    def __hash__(self) -> int:
        return hash(("count", _typed(self.value)))

    def column(self, group: Group) -> Array | Scalar:
        """A number a row; None for scalars."""
        if group.shape.length is None:
            return None
        total: Array | int = 0
        table = _table(group)
        if table is not None:
            return (table == self.value).sum(axis=0) if group.shape.kinds[0] == _kind_of(self.value) else 0
        for kind, column in zip(group.shape.kinds, group.columns, strict=True):
            if kind == "none":
                total = total + int(self.value is None)
            elif kind == _kind_of(self.value):
                same = column == self.value
                # A leaf that is the same in all rows, as most leaves of a path are, costs no column of integers.
                hits = np.count_nonzero(same)
                if hits == len(same):
                    total = total + 1
                elif hits:
                    total = total + same.astype(np.int64)
        return total


class Hamming(BaseFeature, frozen=True, tag="hamming"):
    """In how many places the output differs from a reference, the noise-free output (the paper's `t`).

    Places that only one of the two has count as different.
    """

    reference: tuple[Scalar, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hamming) and _typed(*self.reference) == _typed(*other.reference)

    def __hash__(self) -> int:
        return hash(("hamming", _typed(*self.reference)))

    def column(self, group: Group) -> Array | Scalar:
        """A number a row; None for scalars and for outputs with floats."""
        if not group.shape.is_sequence or "float" in group.shape.kinds:
            return None
        total: Array | int = abs(len(self.reference) - len(group.columns))
        table = _table(group)
        if table is not None:
            alike, wanted = _as_arrays(self.reference[: len(table)], group.shape.kinds[0])
            same = (table[: len(wanted)] == wanted) & alike
            return np.asarray(total + np.count_nonzero(~same, axis=0))
        for value, kind, column in zip(self.reference, group.shape.kinds, group.columns, strict=False):
            if kind != _kind_of(value):
                total = total + 1
            elif kind != "none":
                total = total + (column != value).astype(np.int64)
        return total

    def words(self) -> str:
        """As a person says it."""
        return f"the number of places where the output differs from the noise-free {list(self.reference)}"


class Computed(BaseFeature, frozen=True):
    """A number computed from several leaves."""

    def equals(self, value: Scalar) -> str | None:
        """A whole number without the point that its column has: 3 for 3.0."""
        whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
        return f"{self.words()} = {int(value) if whole else value!r}"  # type: ignore[arg-type]


class Statistic(Computed, frozen=True, tag="statistic"):
    """The mean, smallest or largest of the numbers in the output, categorical leaves left out."""

    said = "{0.name}(output)"
    name: Literal["mean", "min", "max"]

    def column(self, group: Group) -> Array | None:
        """A number a row; None where the output is a scalar or has no numbers."""
        if group.shape.length is None:
            return None
        columns = [c for kind, c in zip(group.shape.kinds, group.columns, strict=True) if kind in NUMERIC]
        if not columns:
            return None
        table = _table(group)
        with np.errstate(all="ignore"):
            if table is not None:
                floats = table.astype(np.float64, copy=False)
                if self.name == "mean":
                    # One after the other, as columns are added: sums depend on the order.
                    return np.asarray(np.cumsum(floats, axis=0)[-1] / len(floats))
                return np.asarray(floats.min(axis=0) if self.name == "min" else floats.max(axis=0))
            numbers = [as_floats(column) for column in columns]
            if len(numbers) == 1:
                return numbers[0]
            join = {"mean": np.add, "min": np.minimum, "max": np.maximum}[self.name]
            total: Array = join(numbers[0], numbers[1])
            for column in numbers[2:]:
                join(total, column, out=total)
            return total / len(numbers) if self.name == "mean" else total


def as_floats(column: Array) -> Array:
    """Numbers as floats; strings among them become nan, which lies in no interval.

    Integers beyond 64 bits come as objects, and the largest of them are beyond all floats.

    >>> as_floats(np.array([1, 10**400], dtype=object)).tolist()
    [1.0, inf]
    """
    if column.dtype != object:
        return np.asarray(column, dtype=np.float64)
    return np.array([_as_float(value) for value in column], dtype=np.float64)


def _as_float(value: Any) -> float:
    if not isinstance(value, (int, float)):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def equal(column: Array | Scalar, value: Scalar) -> Array | bool:
    """Which entries equal `value`, telling bools from numbers."""
    if column is None:
        return False
    if not isinstance(column, np.ndarray):
        return isinstance(column, bool) == isinstance(value, bool) and column == value
    if (column.dtype == np.bool_) != isinstance(value, bool):
        return False
    if column.dtype != object and isinstance(value, str):
        return False
    found = column == value
    return np.asarray(found, dtype=np.bool_) if isinstance(found, np.ndarray) else bool(found)


def _table(group: Group) -> Array | None:
    """The leaves of few rows of many numbers as one array, a row for each leaf; None where columns serve better."""
    columns = group.columns
    if len(columns) < _MANY or group.rows > len(columns):
        return None
    # Columns of one kind were cut from one table, if they were made together.
    table = columns[0].base
    if table is not None and table.shape == (len(columns), group.rows):
        return table if table.dtype in NUMBERS else None
    dtypes = {column.dtype for column in columns}
    return np.array(columns) if len(dtypes) == 1 and dtypes <= NUMBERS else None


@lru_cache(maxsize=64)
def _as_arrays(reference: tuple[Scalar, ...], kind: str) -> tuple[Array, Array]:
    """Which values are of this kind, and the values, each a row."""
    alike = [_kind_of(value) == kind for value in reference]
    wanted = [value if same else 0 for value, same in zip(reference, alike, strict=True)]
    return np.array(alike, dtype=np.bool_)[:, None], np.array(wanted)[:, None]


def _typed(*values: Scalar) -> tuple[tuple[type, Scalar], ...]:
    return tuple((type(value), value) for value in values)


def _kind_of(value: Any) -> str:
    return "none" if value is None else "str" if isinstance(value, str) else type(value).__name__
