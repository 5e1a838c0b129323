"""Noise that many pairs have in common: search runs them all on the same, which is drawn once.

It is also the fairer race, for luck is the same for all. Every column of noise has a seed of its own, so that it does
not matter who asks for it first, nor whether it was kept or is drawn again.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np

from refutedp.outputs import Array
from refutedp.sampling.lifted.laws import Source
from refutedp.sampling.lifted.shared import Key, SharedNoise, standard_noise

MOST_KEPT = 2**23
"""So many numbers are kept: 64 MB."""
WORTH_ALL = 0.5
"""A draw that at least this part of the runs make is drawn for all of them."""


class CommonNoise:
    """Standard noise by place, draw and law, drawn when it is first asked for; it travels without what it keeps.

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

    def of(self, chunk: int, start: int, n: int) -> SharedNoise:
        """The noise of the `n` runs from run number `start` of a chunk on."""
        return _InCommon(n, self, (chunk, start, n))

    def column(self, place: tuple[int, ...], key: Key) -> Array:
        """One draw of all runs of a place; callers must not write to it."""
        found = self._kept.get((place, key))
        if found is None:
            name = (*self._seeds.spawn_key, *place, key.position, crc32(key.law.encode()), *(key.shape or ()))
            seeds = np.random.SeedSequence(self._seeds.entropy, spawn_key=name)
            found = standard_noise(key, place[-1], Source(np.random.default_rng(seeds)))
            if self._numbers + found.size <= MOST_KEPT:
                self._numbers += found.size
                self._kept[place, key] = found
        return found

    def __reduce__(self) -> tuple[type[CommonNoise], tuple[np.random.SeedSequence]]:
        return CommonNoise, (self._seeds,)


class _InCommon(SharedNoise):
    """What one pair sees of it; draws that only few of its runs make are its own."""

    __slots__ = ("_common", "_place")

    def __init__(self, n: int, common: CommonNoise, place: tuple[int, ...]) -> None:
        super().__init__(n)
        self._common = common
        self._place = place

    def _standard(self, key: Key, runs: Array | None, source: Source) -> Array:
        if not self.has(key) and (runs is None or len(runs) >= WORTH_ALL * self.n):
            self.put(key, self._common.column(self._place, key))
        return super()._standard(key, runs, source)
