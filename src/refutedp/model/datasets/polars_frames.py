"""Polars frames: a record is a row."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from refutedp.model.datasets.container import CannotHold, Field, is_frame, require_kept, row_key


class PolarsFrames:
    """Frames of Polars."""

    name = "Polars DataFrame"
    nullable = True

    def holds(self, data: Any) -> bool:
        """Whether it is such a frame."""
        return is_frame(data, "polars")

    def fields(self, data: Any) -> tuple[Field, ...]:
        """The columns with their types."""
        return tuple(Field(name, str(dtype)) for name, dtype in data.schema.items())

    def records(self, data: Any) -> list[Any]:
        """The rows as tuples."""
        rows: list[Any] = data.rows()
        return rows

    def key(self, record: Any) -> str:
        """Numbers count, not the types that hold them; null and nan differ."""
        return row_key(record)

    def take(self, data: Any, positions: Sequence[int]) -> Any:
        """The rows at these positions."""
        return data[list(positions)] if len(positions) else data.clear()

    def joined(self, data: Any, record: Any, *, widen: bool = True) -> Any:
        """The rows and one more; Polars keeps to its schema, so what does not fit is refused."""
        polars = sys.modules["polars"]
        if len(record) != data.width:
            raise CannotHold(f"a {self.name} with {data.width} columns cannot hold {record!r}")
        try:
            row = polars.DataFrame([record], schema=data.schema, orient="row", strict=True)
            made = polars.concat([data, row], how="vertical")
        except (TypeError, ValueError, OverflowError, polars.exceptions.PolarsError) as error:
            raise CannotHold(f"a {self.name} cannot hold {record!r}: {str(error).partition(chr(10))[0]}") from None
        return require_kept(self, made, record)
