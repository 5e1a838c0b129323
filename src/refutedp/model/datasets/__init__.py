"""Data sets as people hold them: lists of records, NumPy arrays, pandas and Polars frames.

One `Container` for each kind says what its records are and how a record is taken out or put in, so that adjacency,
neighbours and reports need not know the kinds. A library is asked only about objects that are its own: nothing here
imports pandas or Polars.
"""

from __future__ import annotations

from typing import Any

from refutedp.model.datasets.container import CannotHold, Container, Field
from refutedp.model.datasets.pandas_frames import PandasFrames
from refutedp.model.datasets.polars_frames import PolarsFrames
from refutedp.model.datasets.sequences import Arrays, Lists

__all__ = ["CannotHold", "Container", "Field", "container_of", "one_line"]

_CONTAINERS: tuple[Container, ...] = (Lists(), Arrays(), PandasFrames(), PolarsFrames())
LONGEST = 200
"""Letters of a data set in a sentence."""
MOST_RECORDS = 20
"""Records of it that are looked at for that."""


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
    if container is None or isinstance(container, Lists):
        text = repr(data)
        return " ".join(text.split()) if "\n" in text else text
    first = container.records(container.take(data, range(min(len(data), MOST_RECORDS))))
    text = f"a {container.name} {first!r}"
    return text if len(text) <= LONGEST and len(first) == len(data) else text[: LONGEST - 3] + "..."
