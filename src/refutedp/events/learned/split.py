"""Two parts of the runs on one input: what is learned on one is judged on the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refutedp.model.outputs import Group, Outputs


def halves(outputs: Outputs, rng: np.random.Generator, most: int) -> tuple[Outputs, Outputs]:
    """Half of the runs, but about so many at most, and the rest; each run is in one of them, whatever its output is.

    Runs of a group may be in the order of the paths that they took, so every second one of them is taken, or every
    third and so on. Where both inputs have one group, runs with the same noise come to the same part.

    >>> from refutedp.sampling.encode import encode
    >>> some, rest = halves(encode([0.5, 1.5, 2.5, 3.5, 4.5]), np.random.default_rng(0), 100)
    >>> some.groups[0].columns[0].tolist(), rest.groups[0].columns[0].tolist()
    ([0.5, 2.5, 4.5], [1.5, 3.5])
    """
    step = max(2, -(-outputs.size // most))
    parts = [_of_group(group, rng, step) for group in outputs.groups]
    first = tuple(one for one, _ in parts if one.rows)
    return Outputs(first), Outputs(tuple(other for _, other in parts if other.rows))


def _of_group(group: Group, rng: np.random.Generator, step: int) -> tuple[Group, Group]:
    if group.weights is None:
        kept = np.ones(group.rows, dtype=np.bool_)
        kept[::step] = False
        rest: slice | NDArray[np.bool_] = slice(1, None, 2) if step == 2 else kept
        return _rows(group, slice(None, None, step)), _rows(group, rest)
    taken = rng.binomial(group.weights, 1 / step)
    return _weighted(group, taken), _weighted(group, group.weights - taken)


def _rows(group: Group, rows: slice | NDArray[np.bool_]) -> Group:
    columns = tuple(column[rows] for column in group.columns)
    return Group(group.shape, len(np.arange(group.rows)[rows]), columns)


def _weighted(group: Group, weights: NDArray[np.int64]) -> Group:
    kept = weights > 0
    columns = tuple(column[kept] for column in group.columns)
    return Group(group.shape, int(np.count_nonzero(kept)), columns, weights[kept])
