"""Features: what an event may look at in an output. Each is a record that can be saved, said and computed.

`column(group)` gives the feature of every row of a group, one scalar when all rows share it, or None where the
feature has no meaning for that shape; an output without the feature lies in no event about it.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np

from refutedp.model.outputs import NUMERIC, Array, Group, Path, Step

Scalar: TypeAlias = bool | int | float | str | None


class BaseFeature(msgspec.Struct, frozen=True, tag_field="feature"):
    """What all features have; `between` and `equals` let a feature word its own events."""

    def column(self, group: Group) -> Array | Scalar:
        """The feature of every row."""
        raise NotImplementedError(type(self).__name__)

    def words(self) -> str:
        """What it is, as in "the length of the output"."""
        raise NotImplementedError(type(self).__name__)

    def between(self, low: float | None, high: float | None) -> str | None:
        """The sentence for low <= feature < high, or None for the ordinary one."""
        return None

    def equals(self, value: Scalar) -> str | None:
        """The sentence for feature = value, or None for the ordinary one."""
        return None


class Value(BaseFeature, frozen=True, tag="value"):
    """The leaf at a path: the output itself, `output[3]`, `output["a"]`.

    >>> Value(("counts", 2)).words()
    "output['counts'][2]"
    """

    path: Path = ()

    def column(self, group: Group) -> Array | Scalar:
        """The leaf's column; None where the shape has no such leaf or the leaf is None."""
        leaf = _place_of(self.path, group.shape.paths)
        if leaf is None:
            return None
        return None if group.shape.kinds[leaf] == "none" else group.columns[leaf]

    def words(self) -> str:
        """How a programmer would write it."""
        return "the output" if not self.path else "output" + "".join(f"[{step!r}]" for step in self.path)


def _place_of(path: Path, paths: tuple[Path, ...]) -> int | None:
    # Most outputs are flat, and many are long.
    if len(path) == 1 and isinstance(path[0], int) and path[0] < len(paths) and paths[path[0]] == path:
        return path[0]
    return paths.index(path) if path in paths else None


class Last(BaseFeature, frozen=True, tag="last"):
    """The last leaf of an output whose length varies."""

    def column(self, group: Group) -> Array | Scalar:
        """The last leaf's column; None for scalars and empty outputs."""
        if not group.shape.is_sequence or not group.columns or group.shape.kinds[-1] == "none":
            return None
        return group.columns[-1]

    def words(self) -> str:
        """How a programmer would write it."""
        return "output[-1]"


class Length(BaseFeature, frozen=True, tag="length"):
    """The top-level length of a list, tuple, array or dict."""

    def column(self, group: Group) -> Array | Scalar:
        """One number a shape."""
        return group.shape.length

    def words(self) -> str:
        """How a programmer would write it."""
        return "len(output)"


class Type(BaseFeature, frozen=True, tag="type"):
    """What the output is as a whole: its type, or the exception raised instead."""

    def column(self, group: Group) -> Array | Scalar:
        """One label a shape."""
        return f"raises {group.shape.label}" if group.shape.error else group.shape.label

    def words(self) -> str:
        """How a person would say it."""
        return "the type of the output"

    def equals(self, value: Scalar) -> str | None:
        """What happened, as a person would say it."""
        raised = str(value).removeprefix("raises ")
        if raised != value:
            return f"the mechanism raises {raised}"
        return f"the output is {'an' if str(value)[:1].lower() in 'aeiou' else 'a'} {value}"


class Form(BaseFeature, frozen=True, tag="form"):
    """The type of every part, in order: `[bool, bool, float]`; for dicts the keys with them."""

    def column(self, group: Group) -> Array | Scalar:
        """One signature a shape."""
        shape = group.shape
        if shape.error or shape.length is None:
            return None
        flat = shape.label in ("list", "tuple", "ndarray")
        named = not flat and any(not isinstance(step, int) for path in shape.paths for step in path)
        if named:
            parts = [
                f"{'.'.join(map(_step_text, path))}: {kind}"
                for path, kind in zip(shape.paths, shape.kinds, strict=True)
            ]
        else:
            parts = []
            for kind, same in groupby(shape.kinds):
                count = len(list(same))
                parts += [kind] * count if count <= _WRITTEN_OUT else [f"{count} × {kind}"]
        return f"{shape.label}[{', '.join(parts)}]"

    def words(self) -> str:
        """How a person would say it."""
        return "the form of the output"


_WRITTEN_OUT = 8
"""So many parts of one type are written out; more are counted."""


def _step_text(step: Step) -> str:
    """Names as they are; other keys as Python writes them, so that 1 is not '1'."""
    return step if isinstance(step, str) and step.isidentifier() else repr(step)


class Count(BaseFeature, frozen=True, tag="count"):
    """How many leaves equal a categorical value (the paper's `count(value)`)."""

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

    def words(self) -> str:
        """How a person would say it."""
        return f"the number of {self.value!r} in the output"


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
        """How a person would say it."""
        return f"the number of places where the output differs from the noise-free {list(self.reference)}"


class Statistic(BaseFeature, frozen=True, tag="statistic"):
    """The mean, smallest or largest of the numbers in the output, categorical leaves left out."""

    name: Literal["mean", "min", "max"]

    def column(self, group: Group) -> Array | Scalar:
        """A number a row; None where the output is a scalar or has no numbers."""
        if group.shape.length is None:
            return None
        numbers = [c for kind, c in zip(group.shape.kinds, group.columns, strict=True) if kind in NUMERIC]
        if not numbers:
            return None
        table = _table(group)
        if table is not None:
            return _of_table(self.name, table)
        numbers = [as_floats(column) for column in numbers]
        total = numbers[0]
        if len(numbers) == 1:
            return total
        with np.errstate(all="ignore"):
            if self.name == "mean":
                total = total.copy()
                for column in numbers[1:]:
                    total += column
                total /= len(numbers)
                return total
            pick = np.minimum if self.name == "min" else np.maximum
            total = pick(total, numbers[1])
            for column in numbers[2:]:
                pick(total, column, out=total)
            return total

    def words(self) -> str:
        """How a programmer would write it."""
        return f"{self.name}(output)"

    def equals(self, value: Scalar) -> str | None:
        """A whole number without the point that its column has."""
        return f"{self.words()} = {plain(value)}"


def _table(group: Group) -> Array | None:
    """The leaves of few rows of many numbers as one array, a row for each leaf; None where columns serve better."""
    columns = group.columns
    if len(columns) < _MANY or group.rows > len(columns):
        return None
    # Columns of one kind were cut from one table, if they were made together.
    table = columns[0].base
    if table is not None and table.shape == (len(columns), group.rows):
        return table if table.dtype in _NUMBERS else None
    dtypes = {column.dtype for column in columns}
    return np.array(columns) if len(dtypes) == 1 and dtypes <= _NUMBERS else None


_NUMBERS = {np.dtype(np.int64), np.dtype(np.float64)}


@lru_cache(maxsize=64)
def _as_arrays(reference: tuple[Scalar, ...], kind: str) -> tuple[Array, Array]:
    """Which values are of this kind, and the values, each a row."""
    alike = [_kind_of(value) == kind for value in reference]
    wanted = [value if same else 0 for value, same in zip(reference, alike, strict=True)]
    return np.array(alike, dtype=np.bool_)[:, None], np.array(wanted)[:, None]


_MANY = 64
"""Leaves from which on few rows are worth a table."""


def _of_table(name: str, table: Array) -> Array:
    numbers = table.astype(np.float64, copy=False)
    with np.errstate(all="ignore"):
        if name == "mean":
            # One after the other, as columns are added: sums depend on the order.
            return np.asarray(np.cumsum(numbers, axis=0)[-1] / len(numbers))
        return np.asarray(numbers.min(axis=0) if name == "min" else numbers.max(axis=0))


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


def plain(value: Scalar) -> str:
    """A value as a person writes it: 3 for 3.0.

    >>> plain(3.0), plain(0.5)
    ('3', '0.5')
    """
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else repr(value)  # type: ignore[arg-type]


class Special(BaseFeature, frozen=True, tag="special"):
    """Whether a float is finite, nan, inf or -inf; with `zeros`, whether it is -0.0, which equals 0.0."""

    path: Path = ()
    zeros: bool = False

    def column(self, group: Group) -> Array | Scalar:
        """A name a row."""
        leaf = Value(self.path).column(group)
        if not isinstance(leaf, np.ndarray) or leaf.dtype != np.float64:
            return None
        if self.zeros:
            return np.asarray(np.array(["not -0.0", "-0.0"], dtype=object)[((leaf == 0) & np.signbit(leaf)) * 1])
        names = np.array(["finite", "nan", "inf", "-inf"], dtype=object)
        code = np.isnan(leaf) * 1 + np.isposinf(leaf) * 2 + np.isneginf(leaf) * 3
        return np.asarray(names[code])

    def words(self) -> str:
        """How a programmer would write it."""
        return Value(self.path).words()

    def equals(self, value: Scalar) -> str | None:
        """What it is."""
        return f"{self.words()} is {value}"


def _typed(*values: Scalar) -> tuple[tuple[type, Scalar], ...]:
    return tuple((type(value), value) for value in values)


def _kind_of(value: Any) -> str:
    if value is None:
        return "none"
    return "str" if isinstance(value, str) else type(value).__name__
