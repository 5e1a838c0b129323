"""The plain ways to run: one call a sample, or one call of the author's batched function for many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from refutedp.model.datasets import one_line
from refutedp.model.errors import MechanismError
from refutedp.model.mechanism import Mechanism, fresh_copies
from refutedp.model.outputs import Array, Group, Outputs, compress, merge
from refutedp.model.records import Pair
from refutedp.model.settings import seeded_globals
from refutedp.sampling.encode import Raised, encode, shape_of
from refutedp.sampling.sampler import OnError, Runs, Sampler

TURNS = 8
"""How often the inputs take turns in one chunk of a batched function."""
LEAST_BATCH = 1000
"""Runs of a stretch in which both have their turn."""
_IMMUTABLE = (bool, int, float, str, bytes, type(None), np.number, np.bool_)


@dataclass(frozen=True)
class PlainSampler(Sampler):
    """One call a run, the two inputs in random order."""

    mechanism: Mechanism
    pair: Pair
    on_error: OnError = "output"

    chunk = 5_000
    costs_calls = True

    def run(self, n1: int, n2: int, seeds: np.random.SeedSequence) -> Runs:
        """n1 calls on d1 and n2 on d2."""
        order = np.repeat(np.array([0, 1]), [n1, n2])
        shuffle, runs = seeds.spawn(2)
        np.random.default_rng(shuffle).shuffle(order)
        inputs = (self.pair.d1, self.pair.d2)
        return Runs(*run_plain(self.mechanism, inputs, self.pair.arguments, order, runs, self.on_error))

    def swapped(self) -> Self:
        """The sampler of the swapped pair."""
        return replace(self, pair=self.pair.swapped())


class BatchedSampler(PlainSampler):
    """One call of the author's batched function for many runs, the two inputs in turns."""

    chunk = 100_000
    costs_calls = False


def run_plain(
    mechanism: Mechanism,
    inputs: Sequence[Any],
    arguments: Mapping[str, Any],
    order: np.ndarray[Any, np.dtype[np.integer[Any]]],
    seeds: np.random.SeedSequence,
    on_error: OnError = "output",
) -> list[Outputs]:
    """Run on `inputs[i]` for each i of `order`, in that order; return the outputs of each input.

    Taking turns in a random order is what makes the allocation of runs to inputs random even for a mechanism that
    keeps state between calls. Every call gets its own copy of the data, so a mechanism that sorts its input in
    place harms nobody.

    >>> from refutedp.model.mechanism import describe
    >>> noisy = describe(lambda data, rng: data[0] + rng.integers(2))
    >>> order = np.array([0, 0, 1])
    >>> [o.size for o in run_plain(noisy, ([0], [10]), {}, order, np.random.SeedSequence(0))]
    [2, 1]
    """
    local, globals_ = seeds.spawn(2)
    rng = np.random.default_rng(local)
    with seeded_globals(globals_):
        if mechanism.batched:
            return _run_batched(mechanism, inputs, arguments, order, rng, on_error)
        results: list[list[Any]] = [[] for _ in inputs]
        makers = [fresh_copies(data) for data in inputs]
        copy_arguments = fresh_copies(dict(arguments))
        for side in order.tolist():
            data = makers[side]()
            try:
                result = mechanism.call(data, copy_arguments(), rng=rng)
            except Exception as error:
                result = _failed(mechanism, inputs[side], arguments, error, on_error)
            results[side].append(result)
    return [encode(side_results) for side_results in results]


def _run_batched(
    mechanism: Mechanism,
    inputs: Sequence[Any],
    arguments: Mapping[str, Any],
    order: np.ndarray[Any, np.dtype[np.integer[Any]]],
    rng: np.random.Generator,
    on_error: OnError,
) -> list[Outputs]:
    """The inputs take turns by the batch, for a program may warm up, drift, or keep something between requests."""
    parts: list[list[Outputs]] = [[] for _ in inputs]
    for stretch in np.array_split(order, min(TURNS, len(order) // LEAST_BATCH + 1)):
        for side in dict.fromkeys(stretch.tolist()):
            size = int(np.count_nonzero(stretch == side))
            parts[side].append(_batch(mechanism, inputs[side], arguments, size, rng, on_error))
    return [merge(outputs) if outputs else Outputs(()) for outputs in parts]


def _batch(
    mechanism: Mechanism,
    data: Any,
    arguments: Mapping[str, Any],
    size: int,
    rng: np.random.Generator,
    on_error: OnError,
) -> Outputs:
    try:
        batch = mechanism.call(fresh_copies(data)(), fresh_copies(dict(arguments))(), rng=rng, size=size)
        if on_error == "raise" and isinstance(batch, list):
            _raise_first(mechanism, data, batch)
    except MechanismError:  # a program that breaks its protocol: no output of any mechanism
        raise
    except Exception as error:
        raised = _failed(mechanism, data, arguments, error, on_error)
        return encode([raised] * size)
    return _encode_batch(mechanism, batch, size)


def _raise_first(mechanism: Mechanism, data: Any, batch: list[Any]) -> None:
    """A batch may hold errors as outputs; who wants to see errors sees the first."""
    raised = next((output for output in batch if isinstance(output, Raised)), None)
    if raised is not None:
        raise MechanismError(f"{mechanism.name}() reported {raised.error} (data={one_line(data)})")


def _encode_batch(mechanism: Mechanism, batch: Any, size: int) -> Outputs:
    try:
        length = len(batch)
    except TypeError:
        raise MechanismError(
            f"{mechanism.name}(size={size}) returned a {type(batch).__name__}; "
            "a batched mechanism must return a list or array of that many outputs"
        ) from None
    if length != size:
        raise MechanismError(
            f"{mechanism.name}(size={size}) returned {length} outputs; it must return exactly {size}"
        )
    if isinstance(batch, np.ndarray) and batch.ndim > 0:
        # One output a row, already columns: keep them whole instead of making n Python objects.
        return encode_array(batch)
    return encode(list(batch))


def encode_array(batch: np.ndarray[Any, Any]) -> Outputs:
    """An array of outputs, one along its first axis each, as columns, with no Python object a run.

    >>> encode_array(np.zeros((4, 2))).groups[0].shape.paths
    ((0,), (1,))
    """
    target = {"b": np.bool_, "i": np.int64, "f": np.float64}.get(batch.dtype.kind)
    if target is None or len(batch) == 0:
        return encode(list(batch))
    shape, _ = shape_of(batch[0])
    columns: tuple[Array, ...] = tuple(batch.reshape(len(batch), -1).astype(target).T)
    return Outputs((compress(Group(shape, len(batch), columns)),))


def _failed(
    mechanism: Mechanism, data: Any, arguments: Mapping[str, Any], error: Exception, on_error: OnError
) -> Raised:
    if on_error == "raise":
        given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        raise MechanismError(
            f"{mechanism.name}() raised {type(error).__name__}: {error} "
            f"(data={one_line(data)}{', ' + given if given else ''})"
        ) from error
    return Raised(type(error).__name__)
