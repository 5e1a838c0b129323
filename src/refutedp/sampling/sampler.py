"""The ways to run a mechanism on the two inputs of a pair: one interface, plain and batched calls, and the choice.

`Samplers` chooses the fastest way that is proven to give the same distribution; see `sampling.lifted` for that way.
"""

from __future__ import annotations

import copy
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from refutedp.model.datasets import one_line
from refutedp.model.errors import MechanismError
from refutedp.model.mechanism import Mechanism, fresh_copies
from refutedp.model.outputs import Outputs, join, merge
from refutedp.model.records import Counts, Event, Pair, count_hits
from refutedp.model.settings import OnError, seeded_globals
from refutedp.sampling.bounds import beyond_bounds
from refutedp.sampling.encode import Raised, encode, encode_array, shape_of
from refutedp.tracing.copier import Stage
from refutedp.tracing.watchdog import DidNotReturn, now_on, one_call, open_watchdog
from refutedp.tracing.without_noise import NoiseFree

if TYPE_CHECKING:
    from typing import Self

    from refutedp.sampling.lifted import CannotLift, CommonNoise, KnownLifts

TURNS = 8
"""How often the inputs take turns in one chunk of a batched function."""
BATCHES, FEW = (1, 500, 10_000), 16
"""Sizes that a batched function is asked for, and how many runs are not asked for one by one any more."""
LEAST_BATCH = 1000
"""Runs of a stretch in which both have their turn."""


class CannotSample(Exception):
    """Runs that are to be evidence cannot all be made in this way; the text is one sentence that says why.

    To make again only those that failed would leave a sample in which what they met happens too rarely. So whoever
    wants them makes all of them again, by plain calls.
    """


class Runs(NamedTuple):
    """Outputs on both inputs."""

    first: Outputs
    second: Outputs


class Sampler(ABC):
    """One mechanism on one pair, run in one way; picklable, so that a chunk of runs can be made anywhere."""

    chunk: ClassVar[int]
    """Runs a side in one chunk: fixed, for the chunks decide the seeds, and with them the result."""
    shares_noise: ClassVar[bool] = False
    """Whether the runs of `paired` have the same noise on either side."""

    mechanism: Mechanism
    pair: Pair

    @property
    @abstractmethod
    def costs_calls(self) -> bool:
        """Whether every run is a call, so that a few runs less are worth something."""

    @abstractmethod
    def run(self, n1: int, n2: int, seeds: np.random.SeedSequence) -> Runs:
        """n1 runs on d1 and n2 on d2, all independent."""

    @abstractmethod
    def swapped(self) -> Self:
        """The sampler of the swapped pair."""

    def for_evidence(self, *, exact: bool) -> Sampler:
        """The same, for runs that are to be evidence: raises `CannotSample` rather than make some in another way.

        `exact` noise is right to the last digit, for events that look at last digits.
        """
        return self

    def by_plain_calls(self) -> Sampler:
        """The same pair, every run a call of the function itself, unless the author wrote a batched one."""
        return self

    @property
    def what(self) -> str:
        """What is run on what, for errors."""
        return f"{self.mechanism.name}() on {one_line(self.pair.d1)} and {one_line(self.pair.d2)}"

    @property
    def length(self) -> int:
        """How many records d1 has."""
        try:
            return len(self.pair.d1)
        except TypeError:
            return 1

    def sample(self, n: int, seeds: np.random.SeedSequence, common: CommonNoise | None = None) -> Runs:
        """n runs on either side, chunk by chunk, to look at; samplers that can draw them on `common` noise do."""
        sizes = chunk_sizes(n, self.chunk)
        parts = [
            self._look(size, child, None if common is None else (common, number))
            for number, (size, child) in enumerate(zip(sizes, seeds.spawn(len(sizes)), strict=True))
        ]
        return Runs(join([part.first for part in parts]), join([part.second for part in parts]))

    def paired(self, events: tuple[Event, ...], pairs: int, seeds: np.random.SeedSequence) -> tuple[Counts, ...]:
        """`pairs` runs on either side, on the same noise where it can be shared; the hits of each event.

        Runs that are independent are pairs too, in any order that their outputs do not decide.
        """
        _, independent, order = seeds.spawn(3)
        return self._put_in_pairs(events, pairs, independent, np.random.default_rng(order))

    def count(
        self, events: tuple[Event, ...], runs: int, share: float, seeds: np.random.SeedSequence
    ) -> tuple[Counts, ...]:
        """`runs` runs in all, each allocated to d1 with probability `share`, else to d2; the hits of each event."""
        allocation, rest = seeds.spawn(2)
        n1 = int(np.random.default_rng(allocation).binomial(runs, share))
        hits = self._hits(events, (n1, runs - n1), rest)
        return tuple(Counts(x, y, n1, runs - n1, share) for x, y in hits)

    def _look(self, n: int, seeds: np.random.SeedSequence, common: tuple[CommonNoise, int] | None) -> Runs:
        """A chunk of `sample`."""
        return self.run(n, n, seeds)

    def _hits(
        self, events: tuple[Event, ...], sizes: tuple[int, int], seeds: np.random.SeedSequence
    ) -> list[tuple[int, int]]:
        """The hits of each event on either side, in so many independent runs there."""
        done = self.run(*sizes, seeds)
        return [(count_hits(event, done.first), count_hits(event, done.second)) for event in events]

    def _put_in_pairs(
        self, events: tuple[Event, ...], pairs: int, seeds: np.random.SeedSequence, rng: np.random.Generator
    ) -> tuple[Counts, ...]:
        hits = Sampler._hits(self, events, (pairs, pairs), seeds)
        return tuple(Counts(x, y, pairs, pairs, both=int(rng.hypergeometric(x, pairs - x, y))) for x, y in hits)


def chunk_sizes(n: int, chunk: int) -> list[int]:
    """n split into chunks, the last one smaller.

    >>> chunk_sizes(25, 10)
    [10, 10, 5]
    """
    return [min(chunk, n - start) for start in range(0, n, chunk)]


@dataclass(frozen=True)
class PlainSampler(Sampler):
    """One call a run, the two inputs in random order."""

    mechanism: Mechanism
    pair: Pair
    on_error: OnError = "output"

    chunk = 5_000

    @property
    def costs_calls(self) -> bool:
        """It is."""
        return True

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

    @property
    def costs_calls(self) -> bool:
        """A call makes many."""
        return False


def as_written(mechanism: Mechanism, pair: Pair, on_error: OnError = "output") -> PlainSampler:
    """The sampler that calls what the author wrote."""
    return (BatchedSampler if mechanism.batched else PlainSampler)(mechanism, pair, on_error)


class Samplers:
    """The samplers of one mechanism, lifted where `lift` allows it and a proof does.

    Pairs have inputs in common: what is known of an input from one pair is not proven again for another.
    """

    def __init__(self, mechanism: Mechanism, on_error: OnError, *, lift: bool) -> None:
        self._mechanism = mechanism
        self._on_error = on_error
        self._known: KnownLifts | None = None
        # Lifted runs take exceptions as outputs; who wants to see the exception runs the plain function.
        if lift and not mechanism.batched and not mechanism.opaque and on_error == "output":
            from refutedp.sampling.lifted import KnownLifts

            self._known = KnownLifts()

    @property
    def calls(self) -> int:
        """How many runs and calls all proofs took."""
        return 0 if self._known is None else self._known.calls

    def of(self, pair: Pair, seeds: np.random.SeedSequence) -> tuple[Sampler, CannotLift | None]:
        """The sampler of a pair, and why it is not lifted, if a lift was refused."""
        if self._known is None:
            return as_written(self._mechanism, pair, self._on_error), None
        from refutedp.sampling.lifted import CannotLift, LiftedSampler

        try:
            first, second = (self._known.lift(self._mechanism, data, pair.arguments) for data in (pair.d1, pair.d2))
            lifted = LiftedSampler(self._mechanism, pair, self._on_error, lifts=(first, second))
            lifted.prove(seeds)
        except CannotLift as refusal:
            return as_written(self._mechanism, pair, self._on_error), refusal
        return lifted, None


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
    keeps state between calls. The inputs of a batched one take turns by the batch, for a program may warm up, drift,
    or keep something between requests. Every call gets its own copy of the data, so a mechanism that sorts its input
    in place harms nobody.

    >>> from refutedp.model.mechanism import describe
    >>> noisy = describe(lambda data, rng: data[0] + rng.integers(2))
    >>> order = np.array([0, 0, 1])
    >>> [o.size for o in run_plain(noisy, ([0], [10]), {}, order, np.random.SeedSequence(0))]
    [2, 1]
    """
    local, globals_ = seeds.spawn(2)
    rng = np.random.default_rng(local)
    makers = [fresh_copies(data) for data in inputs]
    copy_arguments = fresh_copies(dict(arguments))

    watchdog = open_watchdog()
    now_on(mechanism.name, *inputs)

    def call(side: int, size: int | None = None) -> Any:
        data = makers[side]()
        try:
            if watchdog is None:
                return mechanism.call(data, copy_arguments(), rng=rng, size=size)
            with watchdog.call():
                output = mechanism.call(data, copy_arguments(), rng=rng, size=size)
            if size is None:
                watchdog.beyond(output)
            return output
        except (DidNotReturn, MemoryError) as error:
            return beyond_bounds(error, mechanism, inputs[side], arguments)
        except Exception as error:
            if size is not None and isinstance(error, MechanismError):
                raise  # a program that breaks its protocol: no output of any mechanism
            if on_error == "output":
                return Raised(type(error).__name__)
            given = "".join(f", {name}={value!r}" for name, value in arguments.items())
            raise MechanismError(
                f"{mechanism.name}() raised {type(error).__name__}: {error} (data={one_line(inputs[side])}{given})"
            ) from error

    with seeded_globals(globals_):
        if not mechanism.batched:
            results: list[list[Any]] = [[] for _ in inputs]
            for side in order.tolist():
                results[side].append(call(side))
            return [encode(side_results) for side_results in results]
        parts: list[list[Outputs]] = [[] for _ in inputs]
        for stretch in np.array_split(order, min(TURNS, len(order) // LEAST_BATCH + 1)):
            for side in dict.fromkeys(stretch.tolist()):
                for wanted, size in _requests(mechanism, int(np.count_nonzero(stretch == side))):
                    batch = call(side, size)
                    if on_error == "raise" and isinstance(batch, list):
                        # A batch may hold errors as outputs; who wants to see errors sees the first.
                        for raised in (output for output in batch if isinstance(output, Raised)):
                            what = f"{raised.error} (data={one_line(inputs[side])})"
                            raise MechanismError(f"{mechanism.name}() reported {what}")
                    parts[side].append(_encode_batch(mechanism, batch, size, wanted))
    return [merge(outputs) for outputs in parts]


def _requests(mechanism: Mechanism, runs: int) -> Iterator[tuple[int, int]]:
    """How many runs are wanted of each batch, and its size: one of three, for jitted code is compiled for each.

    What is asked for beyond what is wanted is never looked at. A program is asked for what is wanted.
    """
    if mechanism.open:
        yield runs, runs
        return
    one, some, many = BATCHES
    for size in (many, some):
        for _ in range(runs // size):
            yield size, size
        runs %= size
    if runs >= FEW:
        yield runs, some
    else:
        yield from [(one, one)] * runs


def _encode_batch(mechanism: Mechanism, batch: Any, size: int, wanted: int) -> Outputs:
    if isinstance(batch, Raised):
        return encode([batch] * wanted)
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
    # Of an array, one output a row, columns are kept whole instead of making n Python objects.
    return encode_array(batch[:wanted]) if isinstance(batch, np.ndarray) else encode(list(batch)[:wanted])


def noise_free_leaves(
    mechanism: Mechanism, data: Any, arguments: Mapping[str, Any], runs: Outputs
) -> tuple[tuple[Any, ...] | None, int]:
    """The leaves of the noise-free output of a list-like result, and how many calls that took.

    It is the reference of the paper's Hamming-distance events; None stands for a result that is not list-like.

    Run with an rng whose noise is zero; if the mechanism cannot be run so, with epsilon = infinity; if not even so,
    take the most frequent output of `runs`. A mechanism that draws from `np.random` or `random` all the same does so
    with a fixed seed, and leaves the caller's generators alone.
    """
    if not any(group.shape.length is not None and "float" not in group.shape.kinds for group in runs.groups):
        return None, 0
    attempts: list[tuple[Mapping[str, Any], Any]] = []
    if mechanism.rng is not None:
        attempts.append((arguments, Stage(NoiseFree()).generator(mechanism.draws_from)))
    if mechanism.epsilon is not None:
        attempts.append(({**arguments, mechanism.epsilon: math.inf}, np.random.default_rng(0)))
    for calls, (given, rng) in enumerate(attempts, start=1):
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"), seeded_globals(np.random.SeedSequence(0)):
                warnings.simplefilter("ignore")
                with one_call():
                    result = mechanism.call(copy.deepcopy(data), given, rng=rng, size=1)
                shape, leaves = shape_of(result[0] if mechanism.batched else result)
        except (Exception, DidNotReturn):
            continue
        if shape.length is not None and "float" not in shape.kinds:
            return tuple(_plain(leaf) for leaf in leaves), calls
    return _most_frequent(runs), len(attempts)


def _most_frequent(runs: Outputs) -> tuple[Any, ...] | None:
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


def _plain(leaf: Any) -> Any:
    return leaf.item() if isinstance(leaf, np.generic) else leaf
