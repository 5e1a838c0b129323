"""How often each whole output of several leaves came up on either input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refutedp.events.features.basic import Scalar
from refutedp.events.predicates import Event, Exactly, paths_of, rows_of
from refutedp.model.outputs import Group, Outputs, Shape

LONGEST = 256
"""Outputs of more leaves are not compared as a whole: nobody could read such an event."""
MOST_OUTPUTS = 20_000
"""Distinct outputs of which all are told, however rare."""
FREQUENT = 10
"""Of more, those that one side gave so often are."""


@dataclass(frozen=True, slots=True)
class WholeOutputs:
    """Outputs with their hits on either side, `seen` distinct ones at most, of which some may be left out."""

    outputs: list[tuple[Shape, tuple[Scalar, ...]]]
    x: NDArray[np.int64]
    y: NDArray[np.int64]
    seen: int

    def event(self, i: int) -> Event:
        """That the output is this one."""
        shape, leaves = self.outputs[i]
        return Exactly(shape.label, leaves, paths_of(shape))


def whole_outputs(first: Outputs, second: Outputs) -> WholeOutputs | None:
    """The outputs of several leaves that repeat; None where there are none.

    >>> from refutedp.sampling.encode import encode
    >>> found = whole_outputs(encode([[1, 2]] * 3), encode([[1, 2], [1, 3], [1, 3]]))
    >>> [str(leaves) for _, leaves in found.outputs], found.x.tolist(), found.y.tolist()
    (['(1, 2)', '(1, 3)'], [3, 0], [1, 2])
    """
    short = [
        (side, group)
        for side, group in _groups(first, second)
        if "float" not in group.shape.kinds and 2 <= len(group.columns) <= LONGEST
    ]
    # What repeats on one side is counted on both.
    repeating = {group.shape for _, group in short if group.weights is not None}
    groups = [(side, group) for side, group in short if group.shape in repeating]
    seen = sum(group.rows for _, group in groups)
    return _counted(groups, FREQUENT if seen > MOST_OUTPUTS else 1)


def few_outputs(first: Outputs, second: Outputs, most: int) -> WholeOutputs | None:
    """All outputs, if they have no floats and are rows of a few groups, so many rows at most; else None."""
    groups = _groups(first, second)
    if sum(group.rows for _, group in groups) > most or any("float" in group.shape.kinds for _, group in groups):
        return None
    return _counted(groups, 1)


def _groups(first: Outputs, second: Outputs) -> list[tuple[int, Group]]:
    return [(side, group) for side, outputs in enumerate((first, second)) for group in outputs.groups]


def _counted(groups: list[tuple[int, Group]], least: int) -> WholeOutputs | None:
    """The outputs that one side gave so often at least."""
    # To hash a shape takes long: each has a number.
    shapes: dict[Shape, int] = {}
    weighed = [
        (
            side,
            shapes.setdefault(group.shape, len(shapes)),
            group,
            np.ones(group.rows, dtype=np.int64) if group.weights is None else group.weights,
        )
        for side, group in groups
    ]
    hits: dict[tuple[int, tuple[Scalar, ...]], list[int]] = {}
    for _, number, group, weights in weighed:
        hits.update(((number, leaves), [0, 0]) for leaves in rows_of(group, weights >= least))
    if not hits:
        return None
    for side, number, group, weights in weighed:
        for leaves, weight in zip(rows_of(group), weights.tolist(), strict=True):
            if (both := hits.get((number, leaves))) is not None:
                both[side] += weight
    known = list(shapes)
    x, y = np.array(list(hits.values()), dtype=np.int64).T
    seen = len(hits) if least == 1 else sum(group.rows for _, group in groups)
    return WholeOutputs([(known[number], leaves) for number, leaves in hits], x, y, seen)
