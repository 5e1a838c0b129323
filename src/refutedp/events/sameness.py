"""Whether outputs vary at all: a check of a mechanism that does the same in every run has tested nothing."""

from __future__ import annotations

import numpy as np

from refutedp.events.predicates import Exactly, paths_of
from refutedp.model.outputs import Group, Outputs

ALL_BUT = 0.001
"""Where less than this part of the runs does anything else, nothing can be learned of a claim."""


def nearly_all(first: Outputs, second: Outputs) -> str:
    """What nearly every run on both inputs did, in words; "" where their outputs vary or differ.

    >>> from refutedp.sampling.encode import Raised, encode
    >>> nearly_all(encode([None] * 5), encode([None] * 5))
    'the output = None'
    >>> nearly_all(encode([Raised("ValueError")] * 5), encode([Raised("ValueError")] * 5))
    'the mechanism raises ValueError'
    >>> nearly_all(encode([0.5, 1.5]), encode([0.5, 1.5]))
    ''
    """
    one, other = (_usual(outputs) for outputs in (first, second))
    return one if one == other else ""


def _usual(outputs: Outputs) -> str:
    largest = max(outputs.groups, key=lambda group: group.size, default=None)
    if largest is None:
        return ""
    if largest.shape.error:
        return f"the mechanism raises {largest.shape.label}" if _enough(largest.size, outputs) else ""
    row, runs = _usual_row(largest)
    if not _enough(runs, outputs):
        return ""
    leaves = tuple(
        None if kind == "none" else column[row].item() if isinstance(column[row], np.generic) else column[row]
        for kind, column in zip(largest.shape.kinds, largest.columns, strict=True)
    )
    return Exactly(largest.shape.label, leaves, paths_of(largest.shape)).words()


def _enough(runs: int, outputs: Outputs) -> bool:
    return runs >= (1 - ALL_BUT) * outputs.size


def _usual_row(group: Group) -> tuple[int, int]:
    """The row that stands for most runs, or the first one, and for how many."""
    if group.weights is not None:
        row = int(np.argmax(group.weights))
        return row, int(group.weights[row])
    like_the_first = np.ones(group.rows, dtype=np.bool_)
    for column in group.columns:
        like_the_first &= (column == column[0]) | ((column != column) & bool(column[0] != column[0]))
    return 0, int(like_the_first.sum())
