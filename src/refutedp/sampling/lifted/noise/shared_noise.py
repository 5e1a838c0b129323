"""Noise that two executions share: run number i of both gets the same draws, as long as both ask for the same
distribution.

A draw is distinguished by how many came before it in its run, by its distribution and its shape. The first execution
that asks draws standard noise for its runs; the second gets that noise for those runs, and fresh noise for the
others. Location and scale are applied afterwards, in the same floating-point operations as NumPy's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns.element_order import drawn_by_element, take_runs
from refutedp.tracing.distributions import DISTRIBUTIONS, Distribution, Params, Source, StandardForm
from refutedp.tracing.rng_proxy import Shape

DrawsOfOne: TypeAlias = Callable[[int, Distribution, Params, Shape], Array | None]
"""The draws of one run, by number: None where a distribution cannot be shared."""


class Key(NamedTuple):
    """Which draw of a run: how many came before it, its distribution, and its shape."""

    position: int
    distribution: str
    shape: Shape


def standard_form(distribution: str) -> StandardForm:
    """That of a distribution whose noise is shared."""
    standard = DISTRIBUTIONS[distribution].noise.standard
    assert standard is not None
    return standard


def standard_noise(key: Key, n: int, source: Source) -> Array:
    """One draw of `n` runs, in the standard form of its distribution."""
    distribution, params = DISTRIBUTIONS[key.distribution], standard_form(key.distribution).fit.standard
    return drawn_by_element(lambda size: distribution.sample(source, params, size), n, key.shape)


class SharedNoise:
    """Standard noise of `n` runs, filled in as it is asked for.

    >>> from refutedp.tracing.distributions import Source
    >>> noise, source = SharedNoise(4), Source(np.random.default_rng(0))
    >>> first = noise.draw(0, DISTRIBUTIONS["laplace"], (0.0, 2.0), None, np.array([0, 2]), source)
    >>> second = noise.draw(0, DISTRIBUTIONS["laplace"], (5.0, 2.0), None, np.array([2, 3]), source)
    >>> bool(second[0] == 5 + first[1])
    True
    """

    __slots__ = ("_columns", "n")

    weighted = False
    """Whether it has other distributions than the mechanism asks for, and weights."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._columns: dict[Key, tuple[Array, Array | None]] = {}

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
            return None
        fit = standard.fit
        params = tuple([p if type(p) is float or type(p) is int else np.asarray(p) for p in params])
        # Parameters that NumPy would refuse are left to NumPy.
        if not fit.allows(params):
            return None
        return fit.apply(params, self._standard(Key(position, distribution.name, shape), runs, source))

    def of_one(self, run: Array, source: Source) -> DrawsOfOne:
        """The draws of one run."""
        return lambda position, distribution, params, shape: self.draw(
            position, distribution, params, shape, run, source
        )

    def fresh(self, key: Key, runs: Array | None, source: Source) -> Array:
        """Standard noise for runs (None: for all) that have not drawn it yet."""
        return standard_noise(key, self.n if runs is None else len(runs), source)

    def has(self, key: Key) -> bool:
        """Whether some runs have made this draw."""
        return key in self._columns

    def put(self, key: Key, values: Array) -> None:
        """Standard noise of all runs, for a draw that none has made yet."""
        self._columns[key] = (values, None)

    def drawn(self) -> Iterator[tuple[Key, Array, Array | None]]:
        """Each draw with its standard noise, and which runs have it (None: all)."""
        for key, (values, filled) in self._columns.items():
            yield key, values, filled

    def _standard(self, key: Key, runs: Array | None, source: Source) -> Array:
        column = self._columns.get(key)
        if column is None:
            values = self.fresh(key, runs, source)
            if runs is None:
                self._columns[key] = (values, None)
            else:
                whole = drawn_by_element(partial(np.empty, dtype=values.dtype), self.n, key.shape)
                filled = np.zeros(self.n, dtype=np.bool_)
                whole[runs] = values
                filled[runs] = True
                self._columns[key] = (whole, filled)
            return values
        whole, gaps = column
        if gaps is None:
            return whole if runs is None else take_runs(whole, runs)
        missing = np.flatnonzero(~gaps) if runs is None else runs[~gaps.take(runs)]
        if len(missing):
            whole[missing] = self.fresh(key, missing, source)
            gaps[missing] = True
        return whole if runs is None else take_runs(whole, runs)
