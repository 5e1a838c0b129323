"""Python objects to columns: what the mechanism returned, grouped by shape, one array a leaf."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import numbers
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from refutedp.errors import UnsupportedOutputError
from refutedp.outputs import Array, Group, Kind, Outputs, Path, Shape, compress


@dataclasses.dataclass(frozen=True, slots=True)
class Raised:
    """The mechanism raised instead of returning; the class is what an attacker sees."""

    error: str


class _Leaf(NamedTuple):
    path: Path
    kind: Kind
    value: Any


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
_MOST_LEAVES = 100_000
_FEW_LEAVES = 1_000
"""The shapes of arrays with so many values are kept."""
_OPAQUE = (types.ModuleType, types.FunctionType, types.GeneratorType, np.random.Generator, Exception)


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
    leaves: list[_Leaf] = []
    label = _walk(output, (), leaves)
    if len(leaves) > _MOST_LEAVES:
        raise UnsupportedOutputError(
            f"the mechanism returned an output with {len(leaves)} values; "
            f"RefuteDP follows at most {_MOST_LEAVES}: return a summary instead"
        )
    length = len(output) if _has_length(output) else None
    shape = Shape(label, tuple(leaf.path for leaf in leaves), tuple(leaf.kind for leaf in leaves), length)
    return shape, [leaf.value for leaf in leaves]


def _is_plain_array(output: Any) -> bool:
    """Whether it is an array whose dtype and dimensions say everything about its shape."""
    return type(output) is np.ndarray and output.dtype in _PLAIN_DTYPES and output.size <= _FEW_LEAVES


@functools.lru_cache(maxsize=256)
def _array_shape(kind: str, dimensions: tuple[int, ...]) -> Shape:
    paths = tuple(np.ndindex(dimensions))
    return Shape("ndarray", paths, (_ARRAY_KINDS[kind],) * len(paths), dimensions[0] if dimensions else None)


def _has_length(output: Any) -> bool:
    if isinstance(output, np.ndarray):
        return output.ndim > 0
    return isinstance(output, (list, tuple, dict, set, frozenset))


def _walk(value: Any, path: Path, leaves: list[_Leaf]) -> str:
    """Append the leaves under `value`; return its label, with the labels of inner containers in brackets."""
    plain = _PLAIN.get(type(value))
    if plain is not None:
        label, kind = plain
        leaves.append(_Leaf(path, kind, value))
        return label
    if isinstance(value, np.ndarray):
        return _walk_array(value, path, leaves)
    for matches, children in _CONTAINERS:
        if matches(value):
            label, items = children(value)
            inner = [_walk(item, (*path, key), leaves) for key, item in items]
            special = [name for name in inner if name not in _PLAIN_LABELS]
            return f"{label}({','.join(special)})" if special else label
    attributes = _visible_attributes(value)
    if attributes:
        inner = [_walk(item, (*path, key), leaves) for key, item in attributes]
        special = [name for name in inner if name not in _PLAIN_LABELS]
        name = type(value).__name__
        return f"{name}({','.join(special)})" if special else name
    label, kind, plain_value = _odd_scalar(value)
    leaves.append(_Leaf(path, kind, plain_value))
    return label


def _walk_array(array: Array, path: Path, leaves: list[_Leaf]) -> str:
    # A matrix stays one however it is reshaped.
    array = np.asarray(array)
    if array.dtype == object:
        inner = _walk(array.tolist(), path, leaves)
        return f"ndarray({inner})"
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], axis=-1)
    kind = _ARRAY_KINDS.get(array.dtype.kind)
    if kind is None:
        raise UnsupportedOutputError(
            f"the mechanism returned an array of dtype {array.dtype}, which RefuteDP cannot compare: "
            "return numbers, booleans or strings"
        )
    flat = array.ravel().tolist()
    indices = np.ndindex(array.shape)
    for index, value in zip(indices, flat, strict=True):
        leaves.append(_Leaf((*path, *index), kind, value))
    return "ndarray" if array.dtype in _PLAIN_DTYPES or kind == "str" else f"ndarray[{array.dtype}]"


def _visible_attributes(value: Any) -> list[tuple[str, Any]]:
    """The public attributes of an object whose contents can be compared: what a fitted model learned, for example."""
    if isinstance(value, (enum.Enum, type, *_OPAQUE)) or not hasattr(value, "__dict__"):
        return []
    found = []
    for name, item in sorted(vars(value).items()):
        if not name.startswith("_"):
            try:
                _walk(item, (), [])
            except UnsupportedOutputError:
                continue
            found.append((name, item))
    return found


def _odd_scalar(value: Any) -> tuple[str, Kind, Any]:
    label = type(value).__name__
    if isinstance(value, enum.Enum):
        return label, "str", value.name
    if isinstance(value, np.bool_):
        return label, "bool", bool(value)
    if isinstance(value, (numbers.Integral, np.integer)):
        return label, "int", int(value)
    if isinstance(value, (numbers.Real, np.floating)) or label == "Decimal":
        return label, "float", float(value)
    if isinstance(value, str):
        return label, "str", str(value)
    if isinstance(value, (bytes, bytearray)):
        return label, "str", bytes(value).decode("latin-1")
    if isinstance(value, (datetime.date, datetime.time, datetime.timedelta)):
        return label, "str", str(value)
    raise UnsupportedOutputError(
        f"the mechanism returned a {label}, which RefuteDP cannot look into: return numbers, booleans, strings, "
        "None, or lists, tuples, arrays, dicts or dataclasses of them"
    )


_Children = Callable[[Any], tuple[str, list[tuple[str | int, Any]]]]


def _items(value: Any) -> list[tuple[str | int, Any]]:
    return list(enumerate(value))


def _dict_items(value: dict[Any, Any]) -> list[tuple[str | int, Any]]:
    pairs = [(key if isinstance(key, (str, int)) else repr(key), item) for key, item in value.items()]
    return sorted(pairs, key=lambda pair: (str(type(pair[0])), pair[0]))


def _set_items(value: set[Any]) -> list[tuple[str | int, Any]]:
    return list(enumerate(sorted(value, key=lambda item: (type(item).__name__, str(item), repr(item)))))


# In the order in which they are asked; a namedtuple is a tuple, so it comes first.
_CONTAINERS: tuple[tuple[Callable[[Any], bool], _Children], ...] = (
    (
        lambda v: isinstance(v, tuple) and hasattr(v, "_fields"),
        lambda v: (type(v).__name__, list(zip(v._fields, v, strict=True))),
    ),
    (lambda v: isinstance(v, list), lambda v: ("list", _items(v))),
    (lambda v: isinstance(v, tuple), lambda v: ("tuple", _items(v))),
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
    groups: dict[Shape, Group] = {}
    order: list[Shape] = []
    for key, rows in buckets.items():
        shape, _ = shape_of(rows[0])
        if key[0] is np.ndarray:
            by_leaf = np.stack(rows, axis=-1).reshape(-1, len(rows))
            _add(groups, order, Group(shape, len(rows), tuple(by_leaf)))
        else:
            _add(groups, order, _group(shape, [(row,) for row in rows] if len(key) == 1 else rows))
    for shape, leaf_rows in slow.items():
        _add(groups, order, _group(shape, leaf_rows))
    return Outputs(tuple(compress(groups[shape]) for shape in order))


def _quick_key(result: Any) -> tuple[Any, ...] | None:
    """A cheap key that decides the shape of a plain scalar, a flat list or tuple, or an array; None for all else."""
    kind = type(result)
    if kind in _PLAIN:
        return (kind,)
    if kind is list or kind is tuple:
        kinds = tuple(map(type, result))
        if all(k in _PLAIN for k in set(kinds)):
            return (kind, kinds)
    if _is_plain_array(result):
        return (kind, result.dtype, result.shape)
    return None


def _add(groups: dict[Shape, Group], order: list[Shape], group: Group) -> None:
    """float and np.float64 rows have one shape but two quick keys: join them."""
    known = groups.get(group.shape)
    if known is None:
        groups[group.shape] = group
        order.append(group.shape)
        return
    columns = tuple(np.concatenate(pair) for pair in zip(known.columns, group.columns, strict=True))
    groups[group.shape] = Group(group.shape, known.rows + group.rows, columns)


def _group(shape: Shape, rows: Sequence[Sequence[Any]]) -> Group:
    by_leaf = list(zip(*rows, strict=True)) if shape.kinds else []
    columns = tuple(column_of(kind, values) for kind, values in zip(shape.kinds, by_leaf, strict=True))
    return Group(shape, len(rows), columns)


def column_of(kind: Kind, values: Sequence[Any]) -> Array:
    """One leaf of many rows as an array of the dtype that `Group` promises for its kind.

    >>> column_of("int", [1, 2**70]).dtype
    dtype('O')
    """
    if kind == "bool":
        return np.array(values, dtype=np.bool_)
    if kind == "float":
        return np.array(values, dtype=np.float64)
    if kind == "none":
        return np.zeros(len(values), dtype=np.int8)
    if kind == "str":
        column = np.empty(len(values), dtype=object)
        column[:] = values
        return column
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        column = np.empty(len(values), dtype=object)
        column[:] = [int(v) for v in values]
        return column
