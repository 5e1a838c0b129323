"""One step of private training (DP-SGD) as a mechanism: no model is trained, a canary is added or removed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from refutedp.adapters import _pairs
from refutedp.model.adjacency import AddRemove, Adjacency, Replace
from refutedp.model.claims import Claim
from refutedp.model.errors import UsageError
from refutedp.model.mechanism import SIZE_NAME, Adapted, Own
from refutedp.model.records import Pair

Neighbours = Literal["zero", "add", "replace"]
Floats = NDArray[np.float64]
LOUD = 1e3
"""How much longer than any other record a canary is: clipping must make up for it."""
MOST_DIRECTIONS = 8
_SPREAD = 20_021
"""Seed of the one canary whose signs are drawn."""


def from_training_step(
    step: Callable[..., Any],
    batch: Any,
    *,
    claim: Claim,
    neighbours: Neighbours = "zero",
    canaries: Sequence[Any] | None = None,
    name: str = "training step",
) -> Adapted:
    """A step `step(batch, rng) -> update` as a mechanism; its outputs are the update along each canary.

    `batch` holds a record a row: gradients of examples, or examples. An update is an array, or arrays in lists,
    tuples and dicts. With `neighbours="zero"` a canary's gradient is there or is zero, as the analysis of DP-SGD with
    a fixed size has it; with "add" the canary comes in, with "replace" it takes the place of another record or of its
    opposite. Canaries lie along single coordinates, along all of them, and against the others, each far longer than
    any record, unless `canaries` gives some. A step that takes the keyword `size` returns that many updates, one
    along the first axis each.

    >>> from refutedp import GaussianDP, check
    >>> def step(gradients, rng, noise=2.0, clip=1.0):
    ...     norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    ...     clipped = gradients * np.minimum(1, clip / np.maximum(norms, 1e-12))
    ...     return (clipped.sum(axis=0) + rng.normal(scale=noise * clip, size=3)) / len(gradients)
    >>> audited = from_training_step(step, np.ones((4, 3)), claim=GaussianDP(0.5))
    >>> check(audited, search_runs=2000, confirm_runs=10_000).verdict.value
    'not found'
    """
    rows = np.asarray(batch, dtype=np.float64)
    if rows.ndim < 2 or len(rows) == 0:
        raise UsageError(
            f"batch has the shape {rows.shape}: give an array with a record, of one or more numbers, a row"
        )
    if neighbours not in ("zero", "add", "replace"):
        raise UsageError(f"neighbours={neighbours!r} must be 'zero', 'add' or 'replace'")
    found = list(_canaries(rows)) if canaries is None else [np.asarray(one, dtype=np.float64) for one in canaries]
    wrong = next((one.shape for one in found if one.shape != rows.shape[1:]), None)
    if wrong is not None:
        raise UsageError(f"canaries has one of shape {wrong}, and a record of the batch has {rows.shape[1:]}")
    adjacency: Adjacency = AddRemove() if neighbours == "add" else Replace()
    pairs = [pair for canary in found for pair in _with_canary(rows, canary, neighbours)]
    directions = np.array([(one / max(float(np.linalg.norm(one)), 1e-300)).ravel() for one in found])
    run = _Step(step, directions[:MOST_DIRECTIONS], SIZE_NAME in inspect.signature(step).parameters)
    return Adapted(run, name, Own(claim, adjacency, _pairs.distinct(pairs)))


def _canaries(rows: Floats) -> Iterator[Floats]:
    """Loud records: along the first and the last coordinate, along all, with signs that vary, and against the sum."""
    shape, size = rows.shape[1:], rows[0].size
    loud = LOUD * max(1.0, float(np.linalg.norm(rows.reshape(len(rows), -1), axis=1).max()))
    signs = np.random.default_rng(_SPREAD).choice([-1.0, 1.0], size=size)
    total = rows.sum(axis=0).ravel()
    against = -total / np.linalg.norm(total) if np.any(total) else -np.ones(size) / np.sqrt(size)
    for direction in (*np.eye(size)[[0, -1]], np.ones(size) / np.sqrt(size), signs / np.sqrt(size), against):
        yield (loud * direction).reshape(shape)


def _with_canary(rows: Floats, canary: Floats, neighbours: Neighbours) -> Iterator[Pair]:
    """The batch with and without a canary: among the others, and alone with records of zeros."""
    quiet = np.zeros_like(rows)
    for base, where in ((rows, "among others"), (quiet, "alone")):
        if neighbours == "add":
            yield Pair(base, np.concatenate([base, canary[None]]), f"a canary {where}")
            continue
        with_canary = np.concatenate([base, canary[None]])
        other = np.zeros_like(canary) if neighbours == "zero" else -canary
        yield Pair(np.concatenate([base, other[None]]), with_canary, f"a canary {where}")
        if neighbours == "replace":
            yield Pair(np.concatenate([base, base[:1]]), with_canary, f"a canary {where}, for a record")


@dataclass(frozen=True)
class _Step:
    """Runs the step; an update is told by its length along each canary, and by its norm."""

    step: Callable[..., Any]
    directions: Floats
    batched: bool

    def __call__(self, data: Any, *, size: int, rng: np.random.Generator) -> Floats:
        if self.batched:
            updates = _flat(self.step(np.array(data), rng=rng, size=size), size)
        else:
            updates = np.array([_flat(self.step(np.array(data), rng), 1)[0] for _ in range(size)])
        if updates.shape[1] != self.directions.shape[1]:
            raise UsageError(
                f"the update has {updates.shape[1]} numbers and a canary {self.directions.shape[1]}: "
                "give a batch of gradients, or canaries= of the update's shape with neighbours of your own"
            )
        return np.column_stack([updates @ self.directions.T, np.linalg.norm(updates, axis=1)])


def _flat(update: Any, size: int) -> Floats:
    """The numbers of an update in one row; of `size` updates, in a row each."""
    if isinstance(update, Mapping):
        update = [update[key] for key in sorted(update, key=str)]
    if isinstance(update, list | tuple) and any(np.ndim(part) > 0 for part in update):
        return np.concatenate([_flat(part, size) for part in update], axis=1)
    return np.asarray(update, dtype=np.float64).reshape(size, -1)
