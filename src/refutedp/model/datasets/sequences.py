"""Lists and tuples of records, and NumPy arrays whose first axis counts the records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from refutedp.model.datasets.container import CannotHold, Field, require_kept, row_key


class Lists:
    """Lists and tuples: a record is an item, whatever it is."""

    name = "list"
    nullable = False

    def holds(self, data: Any) -> bool:
        """Whether it is a list or a tuple."""
        return isinstance(data, list | tuple)

    def fields(self, data: Any) -> None:
        """Records name their own parts, if they have any."""

    def records(self, data: Any) -> list[Any]:
        """The items."""
        return list(data)

    def key(self, record: Any) -> str:
        """Records are the same when they print the same."""
        return repr(record.tolist() if isinstance(record, np.generic | np.ndarray) else record)

    def take(self, data: Any, positions: Sequence[int]) -> Any:
        """The items at these positions."""
        return _like(data, [data[i] for i in positions])

    def joined(self, data: Any, record: Any, *, widen: bool = True) -> Any:
        """The items and one more."""
        return _like(data, [*data, record])


def _like(data: Any, items: list[Any]) -> Any:
    return tuple(items) if isinstance(data, tuple) else items


class Arrays:
    """Arrays: a record is a value of a flat one, and a row, as a tuple, of any other."""

    name = "NumPy array"
    nullable = False

    def holds(self, data: Any) -> bool:
        """Whether it is an array with a first axis."""
        return isinstance(data, np.ndarray) and data.ndim > 0

    def fields(self, data: Any) -> tuple[Field, ...] | None:
        """The fields of a structured array."""
        if data.dtype.names is None:
            return None
        return tuple(Field(name, str(data.dtype[name])) for name in data.dtype.names)

    def records(self, data: Any) -> list[Any]:
        """Values or rows as Python objects; dates stay NumPy's, which Python's cannot hold to the nanosecond."""
        items = list(data) if data.dtype.kind in "mM" else data.tolist()
        return items if data.ndim == 1 else [tuple(item) for item in items]

    def key(self, record: Any) -> str:
        """Numbers count, not the types that hold them."""
        return row_key(record)

    def take(self, data: Any, positions: Sequence[int]) -> Any:
        """The rows at these positions."""
        return data[np.asarray(positions, dtype=np.intp)]

    def joined(self, data: Any, record: Any, *, widen: bool = True) -> Any:
        """The rows and one more: in the array's own type if it fits, else as `np.append` would widen it."""
        for dtype in (data.dtype, None) if widen else (data.dtype,):
            try:
                with np.errstate(all="ignore"):
                    made = np.concatenate([data, self._row(data, record, dtype)])
                return require_kept(self, made, record)
            except (CannotHold, TypeError, ValueError, OverflowError):
                continue
        raise CannotHold(f"a {self.name} of {data.dtype} cannot hold {record!r}")

    def _row(self, data: Any, record: Any, dtype: Any) -> Any:
        row = np.empty((1, *data.shape[1:]), dtype=data.dtype) if dtype is not None else np.asarray([record])
        if dtype is not None:
            row[0] = record
        if row.dtype.kind not in "biufcmM" and row.dtype.kind != data.dtype.kind:
            raise CannotHold(f"a {self.name} of {data.dtype} cannot hold {record!r}")
        return row
