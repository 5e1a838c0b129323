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

from functools import partial
from typing import NamedTuple, Protocol
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
WORTH_ALL, MOST_FEW = 0.5, 32
"""A draw that at least this part of the runs make is drawn for all of them, and so are so many draws that fewer make:
paired runs need the same noise on both sides, and all pairs of a search share it."""


class NoisePlace(NamedTuple):
    """Which runs: a chunk of a sample, the first run of a part of it, and how many runs that has."""

    chunk: int
    start: int
    runs: int


class Samples(Protocol):
    """What runs a mechanism on one input; hashed by identity."""

    @property
    def number(self) -> int:
        """Which of the inputs of a check it has: noise that it shares with nobody is its own."""

    def sample(self, n: int, rng: np.random.Generator, shared: SharedNoise | None = None) -> Outputs:
        """`n` runs."""


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
    """What a lift made of the noise of a place, and the common draws that it made for that."""

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
    >>> place = NoisePlace(0, 0, 10)
    >>> one, other = common.column(place, key), CommonNoise(np.random.SeedSequence(0)).column(place, key)
    >>> bool((one == other).all())
    True
    """

    def __init__(self, seeds: np.random.SeedSequence) -> None:
        self._seeds = seeds
        self._kept: dict[tuple[NoisePlace, Key], Array] = {}
        self._numbers = 0
        self._samples: dict[Samples, dict[NoisePlace, Sample]] = {}

    def column(self, place: NoisePlace, key: Key) -> Array:
        """One draw of all runs of a place; callers must not write to it."""
        found = self._kept.get((place, key))
        if found is None:
            told = key.distribution if key.params is None else f"{key.distribution}{key.params}"
            rng = self.generator(*place, key.position, crc32(told.encode()), *(key.shape or ()))
            found = _standard_noise(key, place.runs, Source(rng))
            if self._numbers + found.size <= MOST_KEPT:
                self._numbers += found.size
                self._kept[place, key] = found
        return found

    def generator(self, *names: int) -> np.random.Generator:
        """A generator for what has this name."""
        seeds = np.random.SeedSequence(self._seeds.entropy, spawn_key=(*self._seeds.spawn_key, *names))
        return np.random.default_rng(seeds)

    def recall(self, place: NoisePlace, lift: Samples) -> Sample | None:
        """What a lift made of the noise of a place, if that is remembered; its samples are then the latest."""
        known = self._samples.pop(lift, {})
        self._samples[lift] = known
        if len(self._samples) > RECENT:
            del self._samples[next(iter(self._samples))]
        return known.get(place)

    def remember(self, place: NoisePlace, lift: Samples, sample: Sample) -> None:
        """Keep a sample for the next pairs, with others of its lift as long as they are not large together."""
        known = self._samples[lift]
        if sum(one.numbers for one in (sample, *known.values())) <= MOST_SHARED:
            known[place] = sample

    def __reduce__(self) -> tuple[type[CommonNoise], tuple[np.random.SeedSequence]]:
        return CommonNoise, (self._seeds,)


class NoiseInCommon(SharedNoise):
    """What one pair sees of the common noise of a place.

    Beyond some draws that only few runs make, such draws are the pair's own: a column of all runs would be a waste.
    """

    def __init__(self, common: CommonNoise, place: NoisePlace) -> None:
        super().__init__(place.runs)
        self._common = common
        self._place = place
        self._asked: dict[Key, bool] = {}
        """The draws that the sample in the making asked for, and whether they are common."""
        self._few = 0
        self._promised: frozenset[Key] = frozenset()
        self._own = False

    def outputs(self, lift: Samples) -> Outputs:
        """What a lift makes of this noise; made once for pairs that share an input and follow each other.

        Only what depends on the input and the noise in common alone is shared, or else it would matter who came
        first. Runs that are finished by calls draw from a generator of this input and place.
        """
        known = self._common.recall(self._place, lift)
        if known is not None and not self._own:
            # The other side shall find the draws that this one would have made.
            self._promised |= known.draws
            return known.outputs
        self._asked, self._few = {}, 0
        outputs = lift.sample(self.n, self._common.generator(*self._place, lift.number), self)
        if not self._own:
            self._common.remember(self._place, lift, Sample(outputs, frozenset(self._asked)))
        return outputs

    def _standard(self, key: Key, runs: Array | None, source: Source) -> Array:
        if key not in self._asked:
            few = runs is not None and len(runs) < WORTH_ALL * self.n
            self._few += few
            self._asked[key] = not few or self._few <= MOST_FEW
        if not self._asked[key]:
            self._own = True
        if key not in self.columns and (self._asked[key] or key in self._promised):
            self.columns[key] = (self._common.column(self._place, key), None)
        return super()._standard(key, runs, source)
