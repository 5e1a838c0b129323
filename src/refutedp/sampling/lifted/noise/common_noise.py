"""Noise that many pairs have in common: search runs them all on the same, which is drawn once.

It is also the fairer race, for chance is the same for all. Every column of noise has a seed of its own, so that it
does not matter who asks for it first, nor whether it was kept or is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple
from zlib import crc32

import numpy as np

from refutedp.model.outputs import Array, Outputs
from refutedp.sampling.lifted.noise.shared_noise import Key, SharedNoise, standard_noise
from refutedp.tracing.distributions import Source

MOST_KEPT = 2**23
"""So many numbers are kept: 64 MB."""
RECENT = 2
"""Samples of so many lifts are remembered: most pairs have an input in common with the last one."""
MOST_SHARED = 2**21
"""So many numbers of each."""
WORTH_ALL = 0.5
"""A draw that at least this part of the runs make is drawn for all of them."""


class Sample(NamedTuple):
    """What a lift made of the noise of a place, and the draws that it made for that."""

    outputs: Outputs
    draws: frozenset[Key]


class CommonNoise:
    """Standard noise by place, draw and distribution, drawn when it is first asked for; it travels without what it
    keeps.

    >>> common = CommonNoise(np.random.SeedSequence(0))
    >>> key = Key(0, "laplace", None)
    >>> one, other = common.column((0, 0, 10), key), CommonNoise(np.random.SeedSequence(0)).column((0, 0, 10), key)
    >>> bool((one == other).all())
    True
    """

    def __init__(self, seeds: np.random.SeedSequence) -> None:
        self._seeds = seeds
        self._kept: dict[tuple[tuple[int, ...], Key], Array] = {}
        self._numbers = 0
        self._samples: dict[Hashable, dict[tuple[int, ...], Sample]] = {}

    def of(self, chunk: int, start: int, n: int) -> NoiseInCommon:
        """The noise of the `n` runs from run number `start` of a chunk on."""
        return NoiseInCommon(n, self, (chunk, start, n))

    def column(self, place: tuple[int, ...], key: Key) -> Array:
        """One draw of all runs of a place; callers must not write to it."""
        found = self._kept.get((place, key))
        if found is None:
            name = (
                *self._seeds.spawn_key,
                *place,
                key.position,
                crc32(key.distribution.encode()),
                *(key.shape or ()),
            )
            seeds = np.random.SeedSequence(self._seeds.entropy, spawn_key=name)
            found = standard_noise(key, place[-1], Source(np.random.default_rng(seeds)))
            if self._numbers + found.size <= MOST_KEPT:
                self._numbers += found.size
                self._kept[place, key] = found
        return found

    def recall(self, place: tuple[int, ...], lift: Hashable) -> Sample | None:
        """What a lift made of the noise of a place, if that is remembered."""
        return self._samples.get(lift, {}).get(place)

    def remember(self, place: tuple[int, ...], lift: Hashable, sample: Sample) -> None:
        """Keep a sample for the next pairs, with others of its lift as long as they are not large together."""
        known = self._samples.pop(lift, {})
        self._samples[lift] = known
        if len(self._samples) > RECENT:
            del self._samples[next(iter(self._samples))]
        if sum(map(_numbers, (sample, *known.values()))) <= MOST_SHARED:
            known[place] = sample

    def __reduce__(self) -> tuple[type[CommonNoise], tuple[np.random.SeedSequence]]:
        return CommonNoise, (self._seeds,)


def _numbers(sample: Sample) -> int:
    return sum(group.rows * len(group.columns) for group in sample.outputs.groups)


class NoiseInCommon(SharedNoise):
    """What one pair sees of it; draws that only few of its runs make are its own."""

    __slots__ = ("_asked", "_common", "_own", "_place", "_promised")

    def __init__(self, n: int, common: CommonNoise, place: tuple[int, ...]) -> None:
        super().__init__(n)
        self._common = common
        self._place = place
        self._asked: dict[Key, bool] = {}
        self._promised: frozenset[Key] = frozenset()
        self._own = False

    def outputs(self, lift: Hashable, rng: np.random.Generator, sample: Callable[[], Outputs]) -> Outputs:
        """What `sample` makes of a lift on this noise; made once for pairs that share an input and follow each other.

        Only what depends on the input and the noise in common alone is shared, or else it would matter who came
        first: samples that drew nothing from `rng` and no noise that a side before them had drawn in this pair.
        """
        known = None if self._own else self._common.recall(self._place, lift)
        if known is not None:
            # The other side shall find the draws that this one would have made.
            self._promised |= known.draws
        else:
            self._asked = {}
            before = rng.bit_generator.state
            outputs = sample()
            self._own = self._own or rng.bit_generator.state != before
            known = Sample(outputs, frozenset(self._asked))
            if self._own or not all(self._asked.values()):
                return outputs
        self._common.remember(self._place, lift, known)
        return known.outputs

    def _standard(self, key: Key, runs: Array | None, source: Source) -> Array:
        by_most = runs is None or len(runs) >= WORTH_ALL * self.n
        self._asked.setdefault(key, by_most)
        if not self.has(key) and (by_most or key in self._promised):
            self.put(key, self._common.column(self._place, key))
        return super()._standard(key, runs, source)
