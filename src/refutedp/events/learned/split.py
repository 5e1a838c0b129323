"""Two parts of the runs on one input: what is learned on one is judged on the other."""

from __future__ import annotations

import numpy as np

from refutedp.model.outputs import Group, Outputs


def halves(outputs: Outputs, rng: np.random.Generator, most: int) -> tuple[Outputs, Outputs]:
    """Half of the runs, but at most so many, and the rest; each run is in one of them, whatever its output is.

    >>> from refutedp.sampling.encode import encode
    >>> some, rest = halves(encode([0.5, 1.5, 2.5, 3.5, 4.5]), np.random.default_rng(0), 100)
    >>> some.size, rest.size
    (2, 3)
    """
    part = min(0.5, most / max(outputs.size, 1))
    parts = [_of_group(group, rng, part) for group in outputs.groups]
    first = tuple(one for one, _ in parts if one.rows)
    return Outputs(first), Outputs(tuple(other for _, other in parts if other.rows))


def _of_group(group: Group, rng: np.random.Generator, part: float) -> tuple[Group, Group]:
    if group.weights is None:
        cut = int(group.rows * part)
        return _rows(group, slice(None, cut)), _rows(group, slice(cut, None))
    taken = rng.binomial(group.weights, part)
    return _weighted(group, taken), _weighted(group, group.weights - taken)


def _rows(group: Group, rows: slice) -> Group:
    columns = tuple(column[rows] for column in group.columns)
    return Group(group.shape, len(range(*rows.indices(group.rows))), columns)


def _weighted(group: Group, weights: np.ndarray) -> Group:
    kept = weights > 0
    columns = tuple(column[kept] for column in group.columns)
    return Group(group.shape, int(kept.sum()), columns, weights[kept])
