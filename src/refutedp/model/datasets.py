"""Data sets as people hold them: lists of records, NumPy arrays, pandas and Polars frames.

One `Container` for each kind says what its records are and how a record is taken out or put in, so that adjacency,
neighbours and reports need not know the kinds. A library is asked only about objects that are its own: nothing here
imports pandas or Polars.
"""

from __future__ import annotations

import math
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

LONGEST = 200
"""Letters of a data set in a sentence."""
MOST_RECORDS = 20
"""Records of it that are looked at for that."""
_MISFITS = (TypeError, ValueError, OverflowError, ArithmeticError)
"""What libraries raise for a value that a column cannot hold."""


class CannotHold(Exception):
    """A record cannot live in a data set of this kind, as a string in an array of numbers."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a frame or of a structured array, with its type as the library prints it."""

    name: str
    dtype: str


class Container(ABC):
    """One kind of data set. Records are what its items are, or tuples of values, one for each column."""

    name: ClassVar[str]
    """What people call it."""
    nullable: ClassVar[bool] = False
    """Whether a missing value, None, is an ordinary guest in any column."""

    @abstractmethod
    def holds(self, data: Any) -> bool:
        """Whether `data` is of this kind."""

    @abstractmethod
    def records(self, data: Any) -> list[Any]:
        """The records in order."""

    @abstractmethod
    def take(self, data: Any, positions: Sequence[int]) -> Any:
        """A new data set with the records at these positions, types and columns kept."""

    @abstractmethod
    def joined(self, data: Any, record: Any, *, widen: bool = True) -> Any:
        """A new data set with one record more; raises `CannotHold`.

        Types become wider where the library would widen them, unless they are to stay as they are.
        """

    def fields(self, data: Any) -> tuple[Field, ...] | None:
        """The columns; None where records have no names for their parts."""
        return None

    def key(self, record: Any) -> str:
        """Records with equal keys are the same record; nan equals nan, and -0.0 is not 0.0.

        Numbers count, not the types that hold them.
        """
        return row_key(record)

    def kept(self, data: Any, record: Any) -> Any:
        """The data set, if its last record is the one put in; a library may cut strings and round numbers."""
        records = self.records(data)
        if not records or self.key(records[-1]) != self.key(record):
            raise CannotHold(f"a {self.name} cannot hold {record!r}")
        return data


class _Lists(Container):
    """Lists and tuples: a record is an item, whatever it is."""

    name = "list"

    def holds(self, data: Any) -> bool:
        return isinstance(data, list | tuple)

    def records(self, data: Any) -> list[Any]:
        return list(data)

    def key(self, record: Any) -> str:
        return printed(record)

    def take(self, data: Any, positions: Sequence[int]) -> Any:
        items = [data[i] for i in positions]
        return tuple(items) if isinstance(data, tuple) else items

    def joined(self, data: Any, record: Any, *, widen: bool = True) -> Any:
        return (*data, record) if isinstance(data, tuple) else [*data, record]


class _Arrays(Container):
    """Arrays whose first axis counts the records: a value of a flat one, and a row, as a tuple, of any other."""

    name = "NumPy array"

    def holds(self, data: Any) -> bool:
        return isinstance(data, np.ndarray) and data.ndim > 0

    def fields(self, data: Any) -> tuple[Field, ...] | None:
        if data.dtype.names is None:
            return None
        return tuple(Field(name, str(data.dtype[name])) for name in data.dtype.names)

    def records(self, data: Any) -> list[Any]:
        # Dates stay NumPy's, which Python's cannot hold to the nanosecond.
        items = list(data) if data.dtype.kind in "mM" else data.tolist()
        return items if data.ndim == 1 else [tuple(item) for item in items]

    def take(self, data: Any, positions: Sequence[int]) -> Any:
        return data[np.asarray(positions, dtype=np.intp)]

    def joined(self, data: Any, record: Any, *, widen: bool = True) -> Any:
        """In the array's own type if the record fits, else as `np.append` would widen it."""
        for own in (True, False) if widen else (True,):
            try:
                with np.errstate(all="ignore"):
                    row = np.empty((1, *data.shape[1:]), dtype=data.dtype) if own else np.asarray([record])
                    if own:
                        row[0] = record
                    if row.dtype.kind in "biufcmM" or row.dtype.kind == data.dtype.kind:
                        return self.kept(np.concatenate([data, row]), record)
            except (CannotHold, TypeError, ValueError, OverflowError):
                continue
        raise CannotHold(f"a {self.name} of {data.dtype} cannot hold {record!r}")


class _PandasFrames(Container):
    """Frames of pandas: a record is a row, and the index is no part of it; None, nan, NA and NaT are all missing."""

    name = "pandas DataFrame"
    nullable = True

    def holds(self, data: Any) -> bool:
        return is_frame(data, "pandas")

    def fields(self, data: Any) -> tuple[Field, ...]:
        return tuple(Field(str(name), str(dtype)) for name, dtype in zip(data.columns, data.dtypes, strict=True))

    def records(self, data: Any) -> list[Any]:
        return list(data.itertuples(index=False, name=None)) if data.shape[1] else [()] * len(data)

    def key(self, record: Any) -> str:
        return f"({', '.join(_pandas_key(value) for value in record)})"

    def take(self, data: Any, positions: Sequence[int]) -> Any:
        taken = data.iloc[list(positions)]
        return taken.reset_index(drop=True) if is_counted(data) else taken.copy()

    def joined(self, data: Any, record: Any, *, widen: bool = True) -> Any:
        """Each column in its own type if the value fits, else as `concat` would widen it."""
        pandas = sys.modules["pandas"]
        if len(record) != data.shape[1]:
            raise CannotHold(f"a {self.name} with {data.shape[1]} columns cannot hold {record!r}")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of wider types, which are meant
                columns = [_pandas_column(pandas, v, t, widen) for v, t in zip(record, data.dtypes, strict=True)]
                row = pandas.concat(columns, axis=1, keys=range(len(columns)))
                row.columns = data.columns
                # A labelled row needs a label of the same kind: pandas does not mind the same one twice.
                row.index = data.index[-1:] if len(data) and not is_counted(data) else row.index
                made = pandas.concat([data, row], ignore_index=is_counted(data))
        except _MISFITS as error:
            raise CannotHold(f"a {self.name} cannot hold {record!r}: {error}") from None
        return self.kept(made, record)


def is_counted(data: Any) -> bool:
    """Whether the labels are a mere count from zero, as pandas gives to every new frame."""
    index = data.index
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1 and index.name is None


def _pandas_column(pandas: Any, value: Any, dtype: Any, widen: bool) -> Any:
    try:
        column = pandas.Series([value], dtype=dtype)
        if _pandas_key(column.iloc[0]) == _pandas_key(value):
            return column
    except _MISFITS:
        pass
    if not widen:
        raise CannotHold(f"a column of {dtype} cannot hold {value!r}")
    return pandas.Series([value])


def _pandas_key(value: Any) -> str:
    try:
        missing = value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas.NA is neither true nor false; an array is both
        missing = type(value).__name__ == "NAType"
    return "nan" if missing else _cell_key(value)


class _PolarsFrames(Container):
    """Frames of Polars: a record is a row; null and nan differ."""

    name = "Polars DataFrame"
    nullable = True

    def holds(self, data: Any) -> bool:
        return is_frame(data, "polars")

    def fields(self, data: Any) -> tuple[Field, ...]:
        return tuple(Field(name, str(dtype)) for name, dtype in data.schema.items())

    def records(self, data: Any) -> list[Any]:
        return list(data.rows())

    def take(self, data: Any, positions: Sequence[int]) -> Any:
        return data[list(positions)] if len(positions) else data.clear()

    def joined(self, data: Any, record: Any, *, widen: bool = True) -> Any:
        """Polars keeps to its schema, so what does not fit is refused."""
        polars = sys.modules["polars"]
        if len(record) != data.width:
            raise CannotHold(f"a {self.name} with {data.width} columns cannot hold {record!r}")
        try:
            row = polars.DataFrame([record], schema=data.schema, orient="row", strict=True)
            made = polars.concat([data, row], how="vertical")
        except (TypeError, ValueError, OverflowError, polars.exceptions.PolarsError) as error:
            raise CannotHold(f"a {self.name} cannot hold {record!r}: {str(error).partition(chr(10))[0]}") from None
        return self.kept(made, record)


_CONTAINERS: tuple[Container, ...] = (_Lists(), _Arrays(), _PandasFrames(), _PolarsFrames())


def container_of(data: Any) -> Container | None:
    """How to handle a data set; None for what is none.

    >>> container_of([1, 2]).name
    'list'
    >>> container_of(7) is None
    True
    """
    return next((container for container in _CONTAINERS if container.holds(data)), None)


def one_line(data: Any) -> str:
    """A data set in one line, however it prints by itself; long ones are cut.

    >>> import numpy as np
    >>> one_line([1, 2]), one_line(np.zeros((2, 2)))
    ('[1, 2]', 'a NumPy array [(0.0, 0.0), (0.0, 0.0)]')
    """
    container = container_of(data)
    if container is None or isinstance(container, _Lists):
        text = repr(data)
        return " ".join(text.split()) if "\n" in text else text
    first = container.records(container.take(data, range(min(len(data), MOST_RECORDS))))
    text = f"a {container.name} {first!r}"
    return text if len(text) <= LONGEST and len(first) == len(data) else text[: LONGEST - 3] + "..."


def is_frame(data: Any, library: str) -> bool:
    """Whether it is a DataFrame of this library, which is then imported already."""
    frame = getattr(sys.modules.get(library), "DataFrame", None)
    return frame is not None and isinstance(data, frame)


def printed(record: Any) -> str:
    """The key of a record of any kind: records are the same when they print the same."""
    return repr(record.tolist() if isinstance(record, np.generic | np.ndarray) else record)


def row_key(record: Any) -> str:
    """The key of a record that is a tuple of values, or a single value.

    >>> row_key(1) == row_key(1.0), row_key(0.0) == row_key(-0.0), row_key(True) == row_key(1)
    (True, False, False)
    """
    if isinstance(record, (tuple, list)):
        return f"({', '.join(row_key(value) for value in record)})"
    return _cell_key(record)


def _cell_key(value: Any) -> str:
    """Equal for numbers that are equal, whatever type holds them: a column that gets a nan turns 1 into 1.0."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer() and not (value == 0 and math.copysign(1, value) < 0):
        return repr(int(value))
    return repr(value)
