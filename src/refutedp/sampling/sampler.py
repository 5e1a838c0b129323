"""One interface for every way to run a mechanism on the two inputs of a pair."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from refutedp.model.datasets import one_line
from refutedp.model.mechanism import Mechanism
from refutedp.model.outputs import Outputs, join
from refutedp.model.records import Counts, Event, Pair, count_hits

if TYPE_CHECKING:
    from typing import Self

    from refutedp.sampling.lifted import CommonNoise

OnError: TypeAlias = Literal["output", "raise"]


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
    costs_calls: ClassVar[bool]
    """Whether every run is a call, so that a few runs less are worth something."""
    shares_noise: ClassVar[bool] = False
    """Whether the runs of `paired` have the same noise on either side."""

    mechanism: Mechanism
    pair: Pair

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
        del exact
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
        done = self.run(pairs, pairs, seeds)
        hits = [(count_hits(event, done.first), count_hits(event, done.second)) for event in events]
        return tuple(Counts(x, y, pairs, pairs, both=int(rng.hypergeometric(x, pairs - x, y))) for x, y in hits)


def chunk_sizes(n: int, chunk: int) -> list[int]:
    """n split into chunks, the last one smaller.

    >>> chunk_sizes(25, 10)
    [10, 10, 5]
    """
    return [min(chunk, n - start) for start in range(0, n, chunk)]
