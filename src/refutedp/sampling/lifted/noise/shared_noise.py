"""Noise that executions share: run number i of each gets the same draws, as long as all ask for one distribution.

A draw is distinguished by how many came before it in its run, by its distribution and its shape. The first execution
that asks draws standard noise for its runs; the second gets that noise for those runs, and fresh noise for the
others. Location and scale are applied afterwards, in the same floating-point operations as NumPy's own. Draws
of other distributions, such as whole numbers, are shared by executions that ask for the same parameters.

Search runs many pairs on common noise, which is drawn once. It is also the fairer race, for chance is the same for
all. Every column of common noise has a seed of its own, so that it does not matter who asks for it first, nor
whether it was kept or is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import NamedTuple
from zlib import crc32

import numpy as np

from refutedp.model.outputs import Array, Outputs
from refutedp.sampling.lifted.execution import drawn_by_element, take_runs
from refutedp.tracing.distributions import DISTRIBUTIONS, Distribution, Params, Source, StandardForm
from refutedp.tracing.rng_proxy import Shape

MOST_KEPT = 2**23
"""So many numbers of common noise are kept: 64 MB."""
RECENT = 2
"""Samples of so many lifts are remembered: most pairs have an input in common with the last one."""
MOST_SHARED = 2**21
"""So many numbers of each."""
WORTH_ALL = 0.5
"""A draw that at least this part of the runs make is drawn for all of them."""


class Key(NamedTuple):
    """Which draw of a run: how many came before it, its distribution, and its shape."""

    position: int
    distribution: str
    shape: Shape
    params: tuple[int | float, ...] | None = None
    """The parameters of a distribution that has no standard form."""


def standard_form(distribution: str) -> StandardForm:
    """That of a distribution whose noise is shared."""
    standard = DISTRIBUTIONS[distribution].noise.standard
    assert standard is not None
    return standard


def _standard_noise(key: Key, n: int, source: Source) -> Array:
    distribution = DISTRIBUTIONS[key.distribution]
    params = standard_form(key.distribution).fit.standard if key.params is None else key.params
    return drawn_by_element(lambda size: distribution.sample(source, params, size), n, key.shape)


class SharedNoise:
    """Standard noise of `n` runs, filled in as it is asked for.

    >>> noise, source = SharedNoise(4), Source(np.random.default_rng(0))
    >>> first = noise.draw(0, DISTRIBUTIONS["laplace"], (0.0, 2.0), None, np.array([0, 2]), source)
    >>> second = noise.draw(0, DISTRIBUTIONS["laplace"], (5.0, 2.0), None, np.array([2, 3]), source)
    >>> bool(second[0] == 5 + first[1])
    True
    """

    weighted = False
    """Whether it has other distributions than the mechanism asks for, and weights."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.columns: dict[Key, tuple[Array, Array | None]] = {}
        """The standard noise of each draw, and which runs have it (None: all)."""

    def draw(
        self,
        position: int,
        distribution: Distribution,
        params: Params,
        shape: Shape,
        runs: Array | None,
        source: Source,
    ) -> Array | None:
        """Draw number `position` of the given runs (None: of all); None when this distribution cannot be shared."""
        standard = distribution.noise.standard
        if standard is None:
            if any(type(p) not in (int, float) for p in params):
                return None
            values = self._standard(Key(position, distribution.name, shape, tuple(params)), runs, source)
            # The mechanism may write to it.
            return values.copy()
        params = tuple([p if type(p) is float or type(p) is int else np.asarray(p) for p in params])
        # Parameters that NumPy would refuse are left to NumPy.
        if not standard.fit.allows(params):
            return None
        return standard.fit.apply(params, self._standard(Key(position, distribution.name, shape), runs, source))

    def fresh(self, key: Key, runs: Array | None, source: Source) -> Array:
        """Standard noise for runs (None: for all) that have not drawn it yet."""
        return _standard_noise(key, self.n if runs is None else len(runs), source)

    def _standard(self, key: Key, runs: Array | None, source: Source) -> Array:
        column = self.columns.get(key)
        if column is None:
            values = self.fresh(key, runs, source)
            whole, filled = values, None
            if runs is not None:
                whole = drawn_by_element(partial(np.empty, dtype=values.dtype), self.n, key.shape)
                filled = np.zeros(self.n, dtype=np.bool_)
                whole[runs] = values
                filled[runs] = True
            self.columns[key] = (whole, filled)
            return values
        whole, filled = column
        if filled is not None:
            missing = np.flatnonzero(~filled) if runs is None else runs[~filled.take(runs)]
            if len(missing):
                whole[missing] = self.fresh(key, missing, source)
                filled[missing] = True
        return whole if runs is None else take_runs(whole, runs)


class Sample(NamedTuple):
    """What a lift made of the noise of a place, and the draws that it made for that."""

    outputs: Outputs
    draws: frozenset[Key]

    @property
    def numbers(self) -> int:
        """How many the outputs hold."""
        return sum(group.rows * len(group.columns) for group in self.outputs.groups)


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
            told = key.distribution if key.params is None else f"{key.distribution}{key.params}"
            named = (*place, key.position, crc32(told.encode()), *(key.shape or ()))
            seeds = np.random.SeedSequence(self._seeds.entropy, spawn_key=(*self._seeds.spawn_key, *named))
            found = _standard_noise(key, place[-1], Source(np.random.default_rng(seeds)))
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
        if sum(one.numbers for one in (sample, *known.values())) <= MOST_SHARED:
            known[place] = sample

    def __reduce__(self) -> tuple[type[CommonNoise], tuple[np.random.SeedSequence]]:
        return CommonNoise, (self._seeds,)


class NoiseInCommon(SharedNoise):
    """What one pair sees of common noise; draws that only few of its runs make are its own."""

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
        if key not in self.columns and (by_most or key in self._promised):
            self.columns[key] = (self._common.column(self._place, key), None)
        return super()._standard(key, runs, source)
