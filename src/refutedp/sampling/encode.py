"""Stores outputs as columns: grouped by shape, one array for each leaf."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import enum
import functools
import numbers
from collections.abc import Callable, Sequence
from types import FunctionType, GeneratorType, ModuleType
from typing import Any

import numpy as np

from refutedp.model.errors import UnsupportedOutputError
from refutedp.model.outputs import (
    Array,
    Group,
    Kind,
    OtherKey,
    Outputs,
    Path,
    Shape,
    Step,
    compress,
    merge,
    step_order,
)
from refutedp.sampling.frames import cells, is_table


@dataclasses.dataclass(frozen=True, slots=True)
class Raised:
    """The mechanism raised instead of returning; the class is what an attacker sees."""

    error: str


# What a scalar of this exact type counts as: the label of a lone output, and the kind of its leaf.
_PLAIN: dict[type, tuple[str, Kind]] = {
    bool: ("bool", "bool"),
    np.bool_: ("bool", "bool"),
    int: ("int", "int"),
    np.int64: ("int", "int"),
    float: ("float", "float"),
    np.float64: ("float", "float"),
    str: ("str", "str"),
    np.str_: ("str", "str"),
    type(None): ("NoneType", "none"),
}
_PLAIN_DTYPES = (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_))
_ARRAY_KINDS: dict[str, Kind] = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str"}
_PLAIN_LABELS = frozenset(label for label, _ in _PLAIN.values())
_MANY = 16
"""Leaves of one kind from which on one array is made of all."""
_DTYPES: dict[Kind, type] = {"bool": np.bool_, "int": np.int64, "float": np.float64}
_MOST_LEAVES = 100_000
_DEEPEST = 32
"""Levels of containers in containers that are looked into."""
_FEW_LEAVES = 10_000
"""The shapes of arrays with so many values are kept."""
_OPAQUE = (ModuleType, FunctionType, GeneratorType, np.random.Generator, Exception)


def shape_of(output: Any) -> tuple[Shape, list[Any]]:
    """The shape of one output and its leaves in order.

    >>> shape, leaves = shape_of({"count": 3, "noisy": [0.5, True]})
    >>> shape.label, shape.paths, shape.kinds, leaves
    ('dict(list)', (('count',), ('noisy', 0), ('noisy', 1)), ('int', 'float', 'bool'), [3, 0.5, True])
    """
    if isinstance(output, Raised):
        return Shape(output.error, (), (), error=True), []
    if _is_plain_array(output):
        return _array_shape(output.dtype.kind, output.shape), output.ravel().tolist()
    kind = type(output)
    if (kind is list or kind is tuple) and len(output) <= _MOST_LEAVES:
        types = tuple(map(type, output))
        if _PLAIN.keys() >= set(types):
            return _flat_shape(kind.__name__, types), list(output)
    walk, length = _Walk(), None
    if is_table(output):
        label, length, found = cells(output)
        label = _labelled(label, [walk.into(item, at) for at, item in found])
    else:
        label = walk.into(output, ())
    if len(walk.leaves) > _MOST_LEAVES:
        raise UnsupportedOutputError(
            f"the mechanism returned an output with {len(walk.leaves)} values; "
            f"RefuteDP follows at most {_MOST_LEAVES}: return a summary instead"
        )
    paths, kinds, leaves = zip(*walk.leaves, strict=True) if walk.leaves else ((), (), ())
    sized = isinstance(output, (list, tuple, dict, set, frozenset)) or (
        isinstance(output, np.ndarray) and output.ndim > 0
    )
    return Shape(label, paths, kinds, len(output) if sized else length), list(leaves)


def _is_plain_array(output: Any) -> bool:
    """Whether it is an array whose dtype and dimensions say everything about its shape."""
    return type(output) is np.ndarray and output.dtype in _PLAIN_DTYPES and output.size <= _FEW_LEAVES


@functools.lru_cache(maxsize=64)
def _array_shape(kind: str, dimensions: tuple[int, ...]) -> Shape:
    paths = tuple(np.ndindex(dimensions))
    return Shape("ndarray", paths, (_ARRAY_KINDS[kind],) * len(paths), dimensions[0] if dimensions else None)


@functools.lru_cache(maxsize=4096)
def _flat_shape(label: str, types: tuple[type, ...]) -> Shape:
    """The shape of a list or tuple of scalars; shapes of long ones are made often, and share their paths."""
    while len(_PLACES) < len(types):
        _PLACES.append((len(_PLACES),))
    return Shape(label, tuple(_PLACES[: len(types)]), tuple(_PLAIN[kind][1] for kind in types), len(types))


_PLACES: list[tuple[int]] = []


class _Walk:
    """Collects the leaves of one output."""

    def __init__(self) -> None:
        self.leaves: list[tuple[Path, Kind, Any]] = []
        self._above: list[int] = []
        """What the value that is looked at lies in."""

    def into(self, value: Any, path: Path) -> str:
        """Append the leaves under `value`; return its label, with the labels of inner containers in brackets."""
        plain = _PLAIN.get(type(value))
        if plain is not None:
            label, kind = plain
            self.leaves.append((path, kind, value))
            return label
        if len(self._above) > _DEEPEST or id(value) in self._above:
            raise UnsupportedOutputError(
                f"the mechanism returned an output that holds itself, or is nested deeper than {_DEEPEST} levels: "
                "return something flatter"
            )
        self._above.append(id(value))
        try:
            return self._inside(value, path)
        finally:
            self._above.pop()

    def _inside(self, value: Any, path: Path) -> str:
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        for matches, children in _CONTAINERS:
            if matches(value):
                label, items = children(value)
                return _labelled(label, [self.into(item, (*path, key)) for key, item in items])
        if is_table(value):
            label, _, found = cells(value)
            return _labelled(label, [self.into(item, (*path, *at)) for at, item in found])
        inner = self._attributes(value, path)
        if inner:
            return _labelled(type(value).__name__, inner)
        label, kind, plain_value = _odd_scalar(value)
        self.leaves.append((path, kind, plain_value))
        return label

    def _array(self, array: Array, path: Path) -> str:
        # A matrix stays one however it is reshaped.
        array = np.asarray(array)
        if array.dtype == object:
            return f"ndarray({self.into(array.tolist(), path)})"
        if array.dtype.kind == "c":
            array = np.stack([array.real, array.imag], axis=-1)
        kind = _ARRAY_KINDS.get(array.dtype.kind)
        if kind is None:
            raise UnsupportedOutputError(
                f"the mechanism returned an array of dtype {array.dtype}, which RefuteDP cannot compare: "
                "return numbers, booleans or strings"
            )
        flat = array.ravel().tolist()
        self.leaves += [((*path, *at), kind, value) for at, value in zip(np.ndindex(array.shape), flat, strict=True)]
        return "ndarray" if array.dtype in _PLAIN_DTYPES or kind == "str" else f"ndarray[{array.dtype}]"

    def _attributes(self, value: Any, path: Path) -> list[str]:
        """Labels of the public attributes that can be compared: what a fitted model learned, for example."""
        if isinstance(value, (enum.Enum, type, *_OPAQUE)) or not hasattr(value, "__dict__"):
            return []
        inner = []
        for name, item in sorted(vars(value).items()):
            if not name.startswith("_"):
                before = len(self.leaves)
                try:
                    inner.append(self.into(item, (*path, name)))
                except UnsupportedOutputError:
                    del self.leaves[before:]
        return inner


def _labelled(label: str, inner: list[str]) -> str:
    special = [name for name in inner if name not in _PLAIN_LABELS]
    return f"{label}({','.join(special)})" if special else label


def _odd_scalar(value: Any) -> tuple[str, Kind, Any]:
    label = type(value).__name__
    if isinstance(value, enum.Enum):
        return label, "str", value.name
    if isinstance(value, (numbers.Integral, np.integer)):
        return label, "int", int(value)
    if isinstance(value, (numbers.Real, np.floating)) or label == "Decimal":
        try:
            return label, "float", float(value)
        except (OverflowError, ValueError):
            return label, "str", str(value)
    if isinstance(value, (bytes, bytearray)):
        return label, "str", repr(bytes(value))
    if isinstance(value, (str, datetime.date, datetime.time, datetime.timedelta)):
        return label, "str", str(value)
    raise UnsupportedOutputError(
        f"the mechanism returned a {label}, which RefuteDP cannot look into: return numbers, booleans, strings, "
        "None, or lists, tuples, arrays, dicts or dataclasses of them"
    )


_Children = Callable[[Any], tuple[str, list[tuple[Step, Any]]]]


def _dict_items(value: dict[Any, Any]) -> list[tuple[Step, Any]]:
    pairs = [(step_to(key), item) for key, item in dict.items(value)]
    return sorted(pairs, key=lambda pair: step_order(pair[0]))


def step_to(key: Any) -> Step:
    """The step of a path that leads to a key: itself if it is text or a whole number, else what it prints as.

    >>> step_to("1.5"), step_to(1.5), step_to(np.int64(3)), step_to((1, 2))
    ('1.5', 1.5, 3, (1, 2))
    >>> step_to("1.5") == step_to(1.5)
    False
    """
    if isinstance(key, np.generic):
        key = key.item()
    return key if type(key) in (str, int) else OtherKey(repr(key))


def _set_items(value: set[Any]) -> list[tuple[Step, Any]]:
    return list(enumerate(sorted(value, key=lambda item: (type(item).__name__, str(item), repr(item)))))


# In the order in which they are asked; a namedtuple is a tuple, so it comes first.
_CONTAINERS: tuple[tuple[Callable[[Any], bool], _Children], ...] = (
    (
        lambda v: isinstance(v, tuple) and hasattr(v, "_fields"),
        lambda v: (type(v).__name__, list(zip(v._fields, v, strict=True))),
    ),
    (lambda v: isinstance(v, list), lambda v: ("list", list(enumerate(v)))),
    (lambda v: isinstance(v, tuple), lambda v: ("tuple", list(enumerate(v)))),
    (lambda v: isinstance(v, dict), lambda v: ("dict", _dict_items(v))),
    (lambda v: isinstance(v, (set, frozenset)), lambda v: ("set", _set_items(v))),
    (
        lambda v: dataclasses.is_dataclass(v) and not isinstance(v, type),
        lambda v: (type(v).__name__, [(f.name, getattr(v, f.name)) for f in dataclasses.fields(v)]),
    ),
    (
        lambda v: isinstance(v, numbers.Complex) and not isinstance(v, numbers.Real),
        lambda v: ("complex", [("real", float(v.real)), ("imag", float(v.imag))]),
    ),
)


def encode(results: Sequence[Any]) -> Outputs:
    """Group results by shape and store each leaf as a column.

    >>> outputs = encode([1.5, 2.5, None, Raised("ValueError")])
    >>> [(group.shape.label, group.rows) for group in outputs.groups]
    [('float', 2), ('NoneType', 1), ('ValueError', 1)]
    """
    buckets: dict[Any, list[Any]] = {}
    slow: dict[Shape, list[list[Any]]] = {}
    for result in results:
        key = _quick_key(result)
        if key is not None:
            buckets.setdefault(key, []).append(result)
        else:
            shape, leaves = shape_of(result)
            slow.setdefault(shape, []).append(leaves)
    groups: list[Group] = []
    for key, rows in buckets.items():
        shape, _ = shape_of(rows[0])
        if key[0] is np.ndarray:
            by_leaf = np.stack(rows, axis=-1).reshape(-1, len(rows))
            groups.append(Group(shape, len(rows), tuple(by_leaf)))
        else:
            groups.append(group_rows(shape, [(row,) for row in rows] if len(key) == 1 else rows))
    groups += [group_rows(shape, leaf_rows) for shape, leaf_rows in slow.items()]
    # float and np.float64 rows have one shape but two quick keys: they are joined.
    return Outputs(tuple(map(compress, merge([Outputs(tuple(groups))]).groups)))


def encode_array(batch: np.ndarray[Any, Any]) -> Outputs:
    """An array of outputs, one along its first axis each, as columns, with no Python object a run.

    >>> encode_array(np.zeros((4, 2))).groups[0].shape.paths
    ((0,), (1,))
    """
    if batch.dtype.kind not in "bif" or len(batch) == 0:
        return encode(list(batch))
    shape, _ = shape_of(batch[0])
    columns: tuple[Array, ...] = tuple(
        batch.reshape(len(batch), -1).astype(_DTYPES[_ARRAY_KINDS[batch.dtype.kind]]).T
    )
    return Outputs((compress(Group(shape, len(batch), columns)),))


def _quick_key(result: Any) -> tuple[Any, ...] | None:
    """A cheap key that decides the shape of a plain scalar, a flat list or tuple, or an array; None for all else."""
    kind = type(result)
    if kind in _PLAIN:
        return (kind,)
    if kind is list or kind is tuple:
        kinds = tuple(map(type, result))
        if _PLAIN.keys() >= set(kinds):
            return (kind, kinds)
    if _is_plain_array(result):
        return (kind, result.dtype, result.shape)
    return None


def group_rows(shape: Shape, rows: Sequence[Sequence[Any]]) -> Group:
    """Rows of leaves as columns."""
    kinds = set(shape.kinds)
    if len(shape.kinds) >= _MANY and len(kinds) == 1 and kinds <= _DTYPES.keys():
        with contextlib.suppress(OverflowError):  # integers beyond 64 bits
            table: Array = np.array(rows, dtype=_DTYPES[shape.kinds[0]])
            return Group(shape, len(rows), tuple(table.T.copy(order="C")))
    by_leaf = list(zip(*rows, strict=True)) if shape.kinds else []
    columns = tuple(column_of(kind, values) for kind, values in zip(shape.kinds, by_leaf, strict=True))
    return Group(shape, len(rows), columns)


def column_of(kind: Kind, values: Sequence[Any]) -> Array:
    """One leaf of many rows as an array of the dtype that `Group` promises for its kind.

    >>> column_of("int", [1, 2**70]).dtype
    dtype('O')
    """
    if kind == "none":
        return np.zeros(len(values), dtype=np.int8)
    if kind != "str":
        with contextlib.suppress(OverflowError):  # integers beyond 64 bits
            return np.array(values, dtype=_DTYPES[kind])
    column = np.empty(len(values), dtype=object)
    column[:] = list(map(str if kind == "str" else int, values))
    return column
