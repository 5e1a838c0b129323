"""The output without noise: the reference of the paper's Hamming-distance events."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from refutedp.model.mechanism import Mechanism
from refutedp.model.outputs import Outputs
from refutedp.model.settings import seeded_globals
from refutedp.sampling.encode import shape_of
from refutedp.tracing.copier import Stage
from refutedp.tracing.without_noise import NoiseFree


def noise_free_leaves(
    mechanism: Mechanism, data: Any, arguments: Mapping[str, Any], runs: Outputs
) -> tuple[tuple[Any, ...] | None, int]:
    """The leaves of the noise-free output of a list-like result, and how many calls that took.

    None stands for a result that is not list-like.

    Run with an rng whose noise is zero; if the mechanism cannot be run so, with epsilon = infinity; if not even so,
    take the most frequent output of `runs`. A mechanism that draws from `np.random` or `random` all the same does so
    with a fixed seed, and leaves the caller's generators alone.
    """
    if not any(group.shape.length is not None and "float" not in group.shape.kinds for group in runs.groups):
        return None, 0
    calls = 0
    for possible, attempt in (
        (mechanism.rng is not None, _without_noise),
        (mechanism.epsilon is not None, _with_infinite_epsilon),
    ):
        if not possible:
            continue
        calls += 1
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"), seeded_globals(np.random.SeedSequence(0)):
                warnings.simplefilter("ignore")
                result = attempt(mechanism, data, arguments)
                shape, leaves = shape_of(result)
        except Exception:
            continue
        if shape.length is not None and "float" not in shape.kinds:
            return tuple(_plain(leaf) for leaf in leaves), calls
    return most_frequent(runs), calls


def _without_noise(mechanism: Mechanism, data: Any, arguments: Mapping[str, Any]) -> Any:
    rng = Stage(NoiseFree()).generator(mechanism.draws_from)
    return _first(mechanism, mechanism.call(copy.deepcopy(data), arguments, rng=rng, size=1))


def _with_infinite_epsilon(mechanism: Mechanism, data: Any, arguments: Mapping[str, Any]) -> Any:
    assert mechanism.epsilon is not None
    changed = {**arguments, mechanism.epsilon: math.inf}
    return _first(mechanism, mechanism.call(copy.deepcopy(data), changed, rng=np.random.default_rng(0), size=1))


def _first(mechanism: Mechanism, result: Any) -> Any:
    return result[0] if mechanism.batched else result


def _plain(leaf: Any) -> Any:
    return leaf.item() if isinstance(leaf, np.generic) else leaf


def most_frequent(runs: Outputs) -> tuple[Any, ...] | None:
    """The leaves of the most frequent list-like output without floats."""
    best: tuple[int, tuple[Any, ...]] | None = None
    for group in runs.groups:
        if group.shape.length is None or "float" in group.shape.kinds or not group.rows:
            continue
        row = 0 if group.weights is None else int(np.argmax(group.weights))
        weight = 1 if group.weights is None else int(group.weights[row])
        if best is None or weight > best[0]:
            kinds = zip(group.shape.kinds, group.columns, strict=True)
            best = weight, tuple(None if kind == "none" else _plain(column[row]) for kind, column in kinds)
    return None if best is None else best[1]
