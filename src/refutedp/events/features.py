"""Features: what an event may look at in an output. Each is a record that can be saved, said and computed.

`column(group)` gives the feature of every row of a group, one scalar when all rows share it, or None where the
feature has no meaning for that shape; an output without the feature lies in no event about it.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np

from refutedp.outputs import CATEGORICAL, NUMERIC, Array, Group, Path

Scalar: TypeAlias = bool | int | float | str | None


class _Feature(msgspec.Struct, frozen=True, tag_field="feature"):
    def column(self, group: Group) -> Array | Scalar:
        raise NotImplementedError(type(self).__name__)

    def words(self) -> str:
        raise NotImplementedError(type(self).__name__)


class Value(_Feature, frozen=True, tag="value"):
    """The leaf at a path: the output itself, `output[3]`, `output["a"]`.

    >>> Value(("counts", 2)).words()
    "output['counts'][2]"
    """

    path: Path = ()

    def column(self, group: Group) -> Array | Scalar:
        """The leaf's column; None where the shape has no such leaf or the leaf is None."""
        try:
            leaf = group.shape.paths.index(self.path)
        except ValueError:
            return None
        return None if group.shape.kinds[leaf] == "none" else group.columns[leaf]

    def words(self) -> str:
        """How a programmer would write it."""
        return "the output" if not self.path else "output" + "".join(f"[{step!r}]" for step in self.path)


class Last(_Feature, frozen=True, tag="last"):
    """The last leaf of an output whose length varies."""

    def column(self, group: Group) -> Array | Scalar:
        """The last leaf's column; None for scalars and empty outputs."""
        if not group.shape.is_sequence or not group.columns or group.shape.kinds[-1] == "none":
            return None
        return group.columns[-1]

    def words(self) -> str:
        """How a programmer would write it."""
        return "output[-1]"


class Length(_Feature, frozen=True, tag="length"):
    """The top-level length of a list, tuple, array or dict."""

    def column(self, group: Group) -> Array | Scalar:
        """One number a shape."""
        return group.shape.length

    def words(self) -> str:
        """How a programmer would write it."""
        return "len(output)"


class Type(_Feature, frozen=True, tag="type"):
    """What the output is as a whole: its type, or the exception raised instead."""

    def column(self, group: Group) -> Array | Scalar:
        """One label a shape."""
        return f"raises {group.shape.label}" if group.shape.error else group.shape.label

    def words(self) -> str:
        """How a person would say it."""
        return "the type of the output"


class Form(_Feature, frozen=True, tag="form"):
    """The type of every part, in order: `[bool, bool, float]`; for dicts the keys with them."""

    def column(self, group: Group) -> Array | Scalar:
        """One signature a shape."""
        shape = group.shape
        if shape.error or shape.length is None:
            return None
        named = any(isinstance(step, str) for path in shape.paths for step in path)
        parts = [
            f"{'.'.join(map(str, path))}: {kind}" if named else kind
            for path, kind in zip(shape.paths, shape.kinds, strict=True)
        ]
        return f"{shape.label}[{', '.join(parts)}]"

    def words(self) -> str:
        """How a person would say it."""
        return "the form of the output"


class Count(_Feature, frozen=True, tag="count"):
    """How many leaves equal a categorical value (the paper's `count(value)`)."""

    value: Scalar

    def column(self, group: Group) -> Array | Scalar:
        """A number a row; None for scalars."""
        if group.shape.length is None:
            return None
        total: Array | int = 0
        for kind, column in zip(group.shape.kinds, group.columns, strict=True):
            if kind == "none":
                total = total + int(self.value is None)
            elif kind == _kind_of(self.value):
                total = total + (column == self.value).astype(np.int64)
        return total

    def words(self) -> str:
        """How a person would say it."""
        return f"the number of {self.value!r} in the output"


class Hamming(_Feature, frozen=True, tag="hamming"):
    """In how many places the output differs from a reference, the noise-free output (the paper's `t`).

    Places that only one of the two has count as different.
    """

    reference: tuple[Scalar, ...]

    def column(self, group: Group) -> Array | Scalar:
        """A number a row; None for scalars and for outputs with floats."""
        if not group.shape.is_sequence or "float" in group.shape.kinds:
            return None
        total: Array | int = abs(len(self.reference) - len(group.columns))
        for value, kind, column in zip(self.reference, group.shape.kinds, group.columns, strict=False):
            if kind != _kind_of(value):
                total = total + 1
            elif kind != "none":
                total = total + (column != value).astype(np.int64)
        return total

    def words(self) -> str:
        """How a person would say it."""
        return f"the number of places where the output differs from the noise-free {list(self.reference)}"


class Statistic(_Feature, frozen=True, tag="statistic"):
    """The mean, smallest or largest of the numbers in the output, categorical leaves left out."""

    name: Literal["mean", "min", "max"]

    def column(self, group: Group) -> Array | Scalar:
        """A number a row; None where the output is a scalar or has no numbers."""
        if group.shape.length is None:
            return None
        numbers = [c for kind, c in zip(group.shape.kinds, group.columns, strict=True) if kind in NUMERIC]
        if not numbers:
            return None
        total = np.asarray(numbers[0], dtype=np.float64)
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
            for column in numbers[1:]:
                total = pick(total, column)
            return np.asarray(total, dtype=np.float64)

    def words(self) -> str:
        """How a programmer would write it."""
        return f"{self.name}(output)"


class Special(_Feature, frozen=True, tag="special"):
    """Whether a float is finite, nan, inf or -inf."""

    path: Path = ()

    def column(self, group: Group) -> Array | Scalar:
        """A name a row."""
        leaf = Value(self.path).column(group)
        if not isinstance(leaf, np.ndarray) or leaf.dtype != np.float64:
            return None
        names = np.array(["finite", "nan", "inf", "-inf"], dtype=object)
        code = np.isnan(leaf) * 1 + np.isposinf(leaf) * 2 + np.isneginf(leaf) * 3
        return np.asarray(names[code])

    def words(self) -> str:
        """How a programmer would write it."""
        return Value(self.path).words()


Feature: TypeAlias = Value | Last | Length | Type | Form | Count | Hamming | Statistic | Special


def _kind_of(value: Any) -> str:
    if value is None:
        return "none"
    return "str" if isinstance(value, str) else type(value).__name__


MOST_COORDINATES = 40
"""Coordinates looked at one by one; means, extremes and counts still see the whole output."""
MOST_VALUES = 16
"""Distinct categorical values whose number of occurrences is looked at."""


def features_for(groups: list[Group], reference: tuple[Scalar, ...] | None) -> list[Feature]:
    """Every feature that could tell these outputs apart, plain ones first."""
    shapes = {group.shape for group in groups}
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
    found += [Value(path) for path in sorted(paths, key=_path_order)[:MOST_COORDINATES]]
    if len(lengths) > 1:
        found.append(Last())
    if any(sum(kind in NUMERIC for kind in shape.kinds) > 1 for shape in containers):
        found += [Statistic(name) for name in ("mean", "min", "max")]
    if any(len(shape.kinds) > 1 for shape in containers):
        found += [Count(value) for value in _categories(groups)]
        if reference is not None and len(reference) > 1:
            found.append(Hamming(reference))
    found += [Special(path) for path in _nonfinite(groups)[:MOST_COORDINATES]]
    return found


def _path_order(path: Path) -> tuple[tuple[str, int, str], ...]:
    return tuple(("", step, "") if isinstance(step, int) else ("s", 0, step) for step in path)


def _categories(groups: list[Group]) -> list[Scalar]:
    """The categorical values seen, integers among them when they are few, so that 0/1 lists count as categories."""
    seen: dict[tuple[str, Scalar], None] = {}
    integers: dict[tuple[str, Scalar], None] = {}
    for group in groups:
        if group.shape.length is None:
            continue
        for kind, column in zip(group.shape.kinds, group.columns, strict=True):
            if kind == "none":
                seen[("none", None)] = None
            elif kind in CATEGORICAL or (kind == "int" and column.dtype == np.int64):
                values = np.unique(column)
                if len(values) <= MOST_VALUES:
                    target = integers if kind == "int" else seen
                    target.update(((kind, value), None) for value in values.tolist())
                elif kind == "int":
                    integers[("int", 0)] = None
    chosen = [value for _, value in seen][:MOST_VALUES]
    return chosen + ([value for _, value in integers] if len(integers) <= MOST_VALUES else [0])


def _nonfinite(groups: list[Group]) -> list[Path]:
    found: dict[Path, None] = {}
    for group in groups:
        for path, kind, column in zip(group.shape.paths, group.shape.kinds, group.columns, strict=True):
            if (
                kind == "float"
                and path not in found
                and not np.isfinite(column.sum())
                and not np.isfinite(column).all()
            ):
                found[path] = None
    return list(found)
