"""From what lifted executions return to columnar `Outputs`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from refutedp.model.errors import UnsupportedOutputError
from refutedp.model.outputs import Array, Group, Kind, Outputs, Path, Shape, compress, merge
from refutedp.sampling.encode import Raised, column_of, encode, group_rows, shape_of, step_to
from refutedp.sampling.lifted.columns.array import ArrayColumn
from refutedp.sampling.lifted.columns.column import Column
from refutedp.sampling.lifted.columns.scalar import Scalar
from refutedp.sampling.lifted.execution import CannotLift, Refused

_WORTH_TABULATING = 256
_LARGEST_TABLE = 2**20
_COLUMN_TYPES: dict[str, type] = {"b": bool, "i": int, "f": float, "U": str}
_LEAF_TYPES = (bool, int, float, str, type(None), np.bool_, np.int64, np.float64)
_LEAF_KINDS: dict[type, type] = {leaf: leaf for leaf in _LEAF_TYPES}


def example(output: Any, index: int) -> Any:
    """What run number `index` returned: the output with every column replaced by that run's value."""
    kind = type(output)
    if kind in _LEAF_TYPES:
        return output
    if isinstance(output, Column):
        row = output.dense()[0 if output.uniform else index]
        return np.array(row) if isinstance(output, ArrayColumn) else row.item()
    if isinstance(output, tuple) and hasattr(output, "_fields"):
        return kind(*(example(item, index) for item in output))
    if kind in (list, tuple):
        return kind([example(item, index) for item in output])
    if isinstance(output, dict):
        return {key: example(item, index) for key, item in output.items()}
    if dataclasses.is_dataclass(output) and not isinstance(output, type):
        fields = {f.name: getattr(output, f.name) for f in dataclasses.fields(output)}
        if any(True for _ in columns_in(fields)):
            one = object.__new__(kind)
            for name, value in fields.items():
                object.__setattr__(one, name, example(value, index))
            return one
    return output


def settled(output: Any) -> Any:
    """The output with drawn values that serve as keys or as members of sets replaced by what they are.

    To be a key, a column had to be hashed, which left only runs in which it has one and the same value.
    """
    kind = type(output)
    if kind in _LEAF_TYPES or isinstance(output, Column):
        return output
    if isinstance(output, dict):
        # A Counter or an OrderedDict is told by its items, as any other dict is.
        return {_settled_key(key): settled(item) for key, item in dict.items(output)}
    if isinstance(output, (set, frozenset)):
        return frozenset(map(_settled_key, output))
    if kind in (list, tuple) and not all(type(item) in _LEAF_TYPES or isinstance(item, Column) for item in output):
        return kind(map(settled, output))
    return output


def _settled_key(key: Any) -> Any:
    if type(key) is tuple:
        return tuple(map(_settled_key, key))
    if not isinstance(key, Column):
        return key
    values = key.values()
    signs = np.signbit(values) if values.dtype.kind == "f" else None
    if values.ndim > 1 or (values != values[0]).any() or (signs is not None and (signs != signs[0]).any()):
        raise CannotLift("it returns a key that depends on draws")
    return values[0].item()


def columns_in(output: Any, path: Path = ()) -> Iterator[tuple[Path, Column]]:
    """The columns inside an output, each with its path."""
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(output, Column):
        yield path, output
    elif type(output) in _LEAF_TYPES:
        return
    elif isinstance(output, tuple) and hasattr(output, "_fields"):
        parts = zip(output._fields, output, strict=True)
    elif isinstance(output, (list, tuple)):
        parts = enumerate(output)
    elif isinstance(output, dict):
        parts = ((step_to(key), item) for key, item in output.items())
    elif dataclasses.is_dataclass(output) and not isinstance(output, type):
        parts = ((field.name, getattr(output, field.name)) for field in dataclasses.fields(output))
    for step, item in parts:
        yield from columns_in(item, (*path, step))


class Collector:
    """Gathers outputs of many executions; rows that are the same for a whole path are kept as one weighted row."""

    def __init__(self) -> None:
        self._groups: list[Group] = []
        self._rows: dict[Any, tuple[Shape, list[list[Any]], list[int]]] = {}

    def add(self, output: Any, n: int) -> None:
        """The output of an execution that stands for `n` runs."""
        group = group_of(output, n)
        if group is None:
            self.add_plain(output, n)
        else:
            # Before joining: merging groups of many rows would sort them to the same end.
            self._groups.append(_tabulated(group))

    def add_plain(self, output: Any, n: int = 1) -> None:
        """An output without columns, or one that a plain call returned."""
        key = _quick_key(output)
        known = self._rows.get(key) if key is not None else None
        if known is None:
            shape, leaves = _shape_of(output)
            known = self._rows.setdefault(key if key is not None else shape, (shape, [], []))
        elif type(output) in (list, tuple):
            leaves = output
        else:
            leaves = [output]
        known[1].append(leaves)
        known[2].append(n)

    def add_many(self, outputs: list[Any]) -> None:
        """What as many plain calls returned."""
        try:
            self._groups += encode(outputs).groups
        except UnsupportedOutputError as error:
            raise CannotLift(str(error)) from error

    def finish(self) -> Outputs:
        """All outputs so far, same shapes joined."""
        plain = [_weighted(shape, rows, weights) for shape, rows, weights in self._rows.values()]
        return merge([Outputs((*self._groups, *plain))])


def group_of(output: Any, n: int) -> Group | None:
    """The outputs of an execution that stands for `n` runs, one row a run; None when all runs returned the same."""
    if type(output) is list or type(output) is tuple:
        flat = _flat(output, n)
        if flat is not None:
            return flat
    columns = dict(_leaf_columns(output, n)) if _quick_key(output) is None else {}
    if not columns:
        return None
    shape, leaves = _shape_of(example(output, 0))
    if set(columns) - set(shape.paths):
        raise CannotLift("it returns drawn values inside an object that lifted runs cannot look into")
    arrays = tuple(
        _typed(kind, columns[path]) if path in columns else np.repeat(column_of(kind, [leaf]), n)
        for path, kind, leaf in zip(shape.paths, shape.kinds, leaves, strict=True)
    )
    return Group(shape, n, arrays)


def row_of(output: Any) -> Group:
    """One output without columns, as a group of one row."""
    shape, leaves = _shape_of(output)
    return Group(shape, 1, tuple(column_of(kind, [leaf]) for kind, leaf in zip(shape.kinds, leaves, strict=True)))


def _leaf_columns(output: Any, n: int) -> Iterator[tuple[Path, Array]]:
    for path, column in columns_in(output):
        values = column.dense()
        if column.uniform:
            values = np.broadcast_to(values, (n, *values.shape[1:]))
        if values.ndim == 1:
            yield path, values
        else:
            for index in np.ndindex(values.shape[1:]):
                yield (*path, *index), np.ascontiguousarray(values[(slice(None), *index)])


def _flat(output: Any, n: int) -> Group | None:
    """The group of a flat list or tuple with columns of single values in it; None for all other outputs."""
    kinds = tuple(
        [_COLUMN_TYPES.get(item.kind) if type(item) is Scalar else _LEAF_KINDS.get(type(item)) for item in output]
    )
    if None in kinds or not any(type(item) is Scalar for item in output):
        return None
    shape = _flat_shape(type(output) is list, kinds)
    arrays = []
    for kind, item in zip(shape.kinds, output, strict=True):
        if type(item) is Scalar:
            values = item.values()
            arrays.append(_typed(kind, np.broadcast_to(values, n) if item.uniform else values))
        else:
            arrays.append(np.repeat(column_of(kind, [item]), n))
    return Group(shape, n, tuple(arrays))


@lru_cache(maxsize=1024)
def _flat_shape(is_list: bool, leaves: tuple[type, ...]) -> Shape:
    values = [leaf() for leaf in leaves]
    return _shape_of(values if is_list else tuple(values))[0]


def _tabulated(group: Group) -> Group:
    """The same runs as one weighted row for each distinct row, when the leaves are truth values or small integers.

    Counting into a table is several times cheaper than the sorting that `compress` needs for leaves of any kind.
    """
    if set(group.shape.kinds) - {"bool", "int", "none"}:
        return group
    if group.rows < _WORTH_TABULATING:
        return compress(group)
    lows: list[int] = []
    sizes: list[int] = []
    for column in group.columns:
        if column.dtype == object:
            return group
        bounds = (0, 1) if column.dtype == np.bool_ else (int(column.min()), int(column.max()))
        lows.append(bounds[0])
        sizes.append(bounds[1] - bounds[0] + 1)
        if math.prod(sizes) > _LARGEST_TABLE:
            return group
    code = np.zeros(group.rows, dtype=np.uint8)
    capacity = 1
    for column, low, size in zip(group.columns, lows, sizes, strict=True):
        capacity *= size
        # The narrower the codes, the faster: eight truth values fit into a byte.
        code = code.astype(np.uint8 if capacity < 2**8 else np.uint16 if capacity < 2**16 else np.int32, copy=False)
        code *= size
        code += column.view(np.uint8) if column.dtype == np.bool_ else (column - low).astype(code.dtype)
    weights = None if group.weights is None else group.weights.astype(np.float64)
    # Sums of counts below 2**53 are exact in float64.
    table = np.bincount(code, weights).astype(np.int64)
    distinct = np.flatnonzero(table)
    digits = np.unravel_index(distinct, sizes) if sizes else ()
    columns = tuple(
        (digit + low).astype(column.dtype) for digit, low, column in zip(digits, lows, group.columns, strict=True)
    )
    return Group(group.shape, len(distinct), columns, table[distinct])


def _shape_of(output: Any) -> tuple[Shape, list[Any]]:
    try:
        return shape_of(output)
    except UnsupportedOutputError as error:
        raise CannotLift(str(error)) from error


def quick_key(output: Any) -> Any:
    """A key that tells a scalar, or a flat list or tuple of scalars, from every other; None for all else."""
    kinds = _quick_key(output)
    if kinds is None or type(output) is Raised:
        return kinds
    return kinds, repr(output)


def _quick_key(output: Any) -> Any:
    """A key that decides the shape of a scalar or of a flat list or tuple of scalars; None for all else."""
    kind = type(output)
    if kind in _LEAF_TYPES:
        return kind
    if kind is list or kind is tuple:
        kinds = tuple(map(type, output))
        if all(k in _LEAF_TYPES for k in kinds):
            return (kind, kinds)
    return (Raised, output.error) if kind is Raised else None


def _typed(kind: Kind, values: Array) -> Array:
    return values.astype(object) if kind == "str" else values


def _weighted(shape: Shape, rows: list[list[Any]], weights: list[int]) -> Group:
    if not shape.kinds:
        return Group(shape, 1, (), np.array([sum(weights)], dtype=np.int64))
    weighted = None if max(weights) == 1 else np.array(weights, dtype=np.int64)
    return dataclasses.replace(group_rows(shape, rows), weights=weighted)


def equal_outputs(got: Any, expected: Any, *, up_to_rounding: bool = False) -> bool:
    """Whether two outputs are the same output: the same shape, and equal leaves, NaN equal to NaN."""
    try:
        got_shape, got_leaves = shape_of(got)
        expected_shape, expected_leaves = shape_of(expected)
    except (Exception, Refused) as error:
        raise CannotLift(f"its outputs cannot be compared: {error}") from error
    if got_shape != expected_shape:
        return False
    pairs = zip(got_leaves, expected_leaves, strict=True)
    return all(a == b or (a != a and b != b) or (up_to_rounding and _close(a, b)) for a, b in pairs)


def _close(a: Any, b: Any) -> bool:
    return isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
