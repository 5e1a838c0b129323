"""A quick look at every leaf of the outputs: how clearly each of them differs between the two inputs by itself."""

from __future__ import annotations

import numpy as np

from refutedp.events.features.basic import Value, as_floats
from refutedp.model.outputs import Array, Group, Outputs, Path

CLEAR = 2.5
"""Standard deviations from which a leaf is taken to differ: to learn in vain costs a little time."""
SCREENED = 15_000
"""Rows a side on which every leaf is compared."""
LEAST_BOUND = 0.1
"""The correlation of two numbers from which their noise is taken to have something in common."""
CELLS, LEAST_ROWS = 4_000_000, 50
"""Numbers that are looked at to find the clearest of very many leaves, and rows at least."""
FEW_VALUES = 12
SOME_ROWS = 1_000
"""Rows in which a leaf must show few values to be a category."""


def several_may_tell(first: Outputs, second: Outputs) -> bool:
    """Whether several leaves together may tell more than the best of them.

    Not if one leaf alone differs and the others are numbers with noise of their own.
    """
    if len({group.shape for outputs in (first, second) for group in outputs.groups}) > 1:
        return True
    differences = clearness(first, second, SCREENED)
    moved = [path for path, clear in differences.items() if clear > CLEAR]
    if len(moved) != 1:
        return len(differences) > 1
    group = first.groups[0]
    (alone,) = moved
    others = [path for path in differences if path != alone]
    return any(_is_category(path, group) or _bound(alone, path, group) for path in others)


def _bound(one: Path, other: Path, group: Group) -> bool:
    """Whether two numbers have noise in common."""
    columns = [Value(path).column(group) for path in (one, other)]
    numbers = [as_floats(column[:SCREENED]) for column in columns if column is not None]
    if len(numbers) < 2 or not all(np.isfinite(some).all() and some.any() for some in numbers):
        return False
    x, y = (some - some.mean() for some in numbers)
    return bool(abs((x * y).sum()) > LEAST_BOUND * np.sqrt((x * x).sum() * (y * y).sum()))


def clearest(first: Outputs, second: Outputs, most: int) -> list[Path]:
    """The leaves that differ most between the inputs, at most so many; the earlier ones, where they are alike.

    However many leaves there are, it takes about the same time.
    """
    leaves = max((len(group.columns) for group in first.groups), default=0)
    if leaves <= most:
        return []
    differences = clearness(first, second, max(CELLS // leaves, LEAST_ROWS))
    return sorted(differences, key=lambda path: -differences[path])[:most]


def _is_category(path: Path, group: Group) -> bool:
    column = Value(path).column(group)
    return column is not None and len(np.unique(column[:SOME_ROWS])) <= FEW_VALUES


def clearness(first: Outputs, second: Outputs, most_rows: int | None = None) -> dict[Path, float]:
    """By how many standard deviations each leaf of the commonest shape differs, in its mean or in its spread.

    Runs that share noise are compared one by one, which is far sharper.
    """
    group = max(first.groups, key=lambda one: one.size)
    other = next((one for one in second.groups if one.shape == group.shape), None)
    if other is None:
        return {}
    sides = (group, other)
    pairs = len(first.groups) == len(second.groups) == 1 and group.weights is None and other.weights is None
    pairs = pairs and group.rows == other.rows
    rows = [slice(None, None, 1 if most_rows is None else max(1, -(-one.rows // most_rows))) for one in sides]
    weights = [None if one.weights is None else one.weights[some] for one, some in zip(sides, rows, strict=True)]
    found = {}
    for path, kind, left, right in zip(
        group.shape.paths, group.shape.kinds, group.columns, other.columns, strict=True
    ):
        if kind == "none":
            continue
        x, y = _codes(left[rows[0]], right[rows[1]])
        middle = float(np.median(x)) if len(x) else 0.0
        with np.errstate(all="ignore"):
            tests = ((x, y), (np.abs(x - middle), np.abs(y - middle)))
            found[path] = max(_paired(*one) if pairs else _unpaired(*one, *weights) for one in tests)
    return found


def _codes(left: Array, right: Array) -> tuple[Array, Array]:
    """Numbers as they are, categories by number."""
    if left.dtype == object and left.size and isinstance(left[0], str):
        _, codes = np.unique(np.concatenate([left, right]).astype(str), return_inverse=True)
        return codes[: len(left)].astype(np.float64), codes[len(left) :].astype(np.float64)
    return as_floats(left), as_floats(right)


def _paired(x: Array, y: Array) -> float:
    apart = x - y
    apart = apart[np.isfinite(apart)]
    if not len(apart) or not apart.any():
        return 0.0
    return float(abs(apart.mean()) / np.sqrt((apart.var() + 1e-300) / len(apart)))


def _unpaired(x: Array, y: Array, weights_x: Array | None, weights_y: Array | None) -> float:
    moments = []
    for numbers, weights in ((x, weights_x), (y, weights_y)):
        runs = np.ones(len(numbers)) if weights is None else weights.astype(np.float64)
        runs = np.where(np.isfinite(numbers), runs, 0.0)
        numbers = np.where(np.isfinite(numbers), numbers, 0.0)
        total = max(float(runs.sum()), 1.0)
        mean = float((runs * numbers).sum()) / total
        moments.append((mean, float((runs * (numbers - mean) ** 2).sum()) / total / total))
    (mean_x, error_x), (mean_y, error_y) = moments
    return float(abs(mean_x - mean_y) / np.sqrt(error_x + error_y + 1e-300))
