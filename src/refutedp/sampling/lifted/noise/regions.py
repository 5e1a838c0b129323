"""Regions of the noise, by the bins of its draws: to draw inside one, or to keep away from it.

A region says for each bin of each draw (see `importance_noise`) how much it belongs, from 0 to 1; a run belongs as
much as the product over its draws. Noise that keeps away is drawn by its own distributions and kept with probability
1 - `STRICT` times that, else drawn again. As draws are independent, the chance to be kept is known exactly: so are
the weights, by which averages are those of plain runs. Such noise is drawn before the run, whether the run asks for
it or not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.sampling.lifted.noise.importance_noise import MASSES, Plan, bins_of, outwards, seen_in_bins
from refutedp.sampling.lifted.noise.shared_noise import Key, SharedNoise
from refutedp.tracing.distributions import Source

Floats: TypeAlias = NDArray[np.float64]

STRICT = 0.99
"""What surely belongs to a region is drawn again this often, so no weight exceeds 1 / (1 - STRICT)."""
_FLAT = 0.5
"""Bins with at least this quantile of the region's density belong to it wholly: what is above is mostly chance."""
_OWN, _BEYOND = 0.02, 0.03
"""How much of a plan is each draw's own distribution, and how much is moved outwards: see `importance_noise`."""


@dataclass(frozen=True, slots=True)
class NoiseRegion:
    """How much each bin (columns) belongs, for each element (rows) of some draws."""

    tables: Mapping[Key, Floats]

    @property
    def kept(self) -> float:
        """The chance that noise drawn by its own distributions is kept by `AvoidingNoise`."""
        inside = math.prod(float(row @ MASSES) for table in self.tables.values() for row in table)
        return 1 - STRICT * inside if self.tables else 1.0

    def plan(self, plain: float) -> Plan:
        """Draw inside: there as ever, and next to nowhere else, but for a part of the runs."""
        return Plan({key: np.array([_inside(row) for row in table]) for key, table in self.tables.items()}, plain)

    def chances(self, noise: SharedNoise) -> Floats:
        """How surely each run of some other noise would have been drawn again, were it to keep away."""
        if not self.tables:
            return np.zeros(noise.n)
        return STRICT * _product(noise, self.tables, lambda belongs: belongs, lambda belongs: float(belongs @ MASSES))


class AvoidingNoise(SharedNoise):
    """Shared noise that keeps away from a region, with the weight of each run."""

    weighted = True

    def __init__(self, n: int, region: NoiseRegion, rng: np.random.Generator) -> None:
        super().__init__(n)
        self.weights = np.ones(n)
        source = Source(rng)
        columns = {key: self.fresh(key, None, source) for key in region.tables}
        again = np.arange(n if columns else 0)
        while len(again):
            chance = np.full(len(again), STRICT)
            for key, table in region.tables.items():
                rows = columns[key][again].reshape(len(again), -1)
                for element, belongs in enumerate(table):
                    chance *= belongs[bins_of(key.distribution, rows[:, element])]
            self.weights[again] = region.kept / (1 - chance)
            again = again[rng.random(len(again)) < chance]
            for key, values in columns.items():
                values[again] = self.fresh(key, again, source)
        self.columns |= {key: (values, None) for key, values in columns.items()}


def region_of(noise: SharedNoise, worth: Floats) -> NoiseRegion:
    """Where the runs of `noise` lie, each counted as often as it is worth.

    >>> from refutedp.tracing.distributions import DISTRIBUTIONS
    >>> noise = SharedNoise(100_000)
    >>> drawn = noise.draw(0, DISTRIBUTIONS["laplace"], (0.0, 1.0), None, None, Source(np.random.default_rng(0)))
    >>> region = region_of(noise, (drawn > 0).astype(float))
    >>> below, above = np.split(region.tables[Key(0, "laplace", None)][0], 2)
    >>> float(below.max()), bool(above @ np.split(MASSES, 2)[1] > 0.45)
    (0.0, True)
    """
    return NoiseRegion(
        {key: np.array([_flattened(told) for told in rows]) for key, rows in seen_in_bins(noise, worth)}
    )


def ratios(noise: SharedNoise, plan: Plan) -> Floats:
    """How much likelier each run of some other noise would be, were all its runs drawn by the plan."""
    return _product(noise, plan.tables, lambda chances: chances / MASSES, lambda _: 1.0)


def _product(
    noise: SharedNoise,
    tables: Mapping[Key, Floats],
    factor: Callable[[Floats], Floats],
    missing: Callable[[Floats], float],
) -> Floats:
    """The product, over the draws, of a factor that each bin has; where a draw was not made, of another one."""
    product = np.ones(noise.n)
    for key, table in tables.items():
        values, filled = noise.columns.get(key, (None, None))
        for element, row in enumerate(table):
            if values is None:
                product *= missing(row)
                continue
            factors = factor(row)[bins_of(key.distribution, values.reshape(noise.n, -1)[:, element])]
            product *= factors if filled is None else np.where(filled, factors, missing(row))
    return product


def _flattened(told: Floats) -> Floats:
    """How much each bin belongs, by its chances in the region as compared with its own distribution."""
    density = told / MASSES
    order = np.argsort(density)
    level = density[order][np.searchsorted(np.cumsum(told[order]), _FLAT * told.sum())]
    return np.asarray(np.minimum(density / level, 1.0))


def _inside(belongs: Floats) -> Floats:
    chances = belongs * MASSES
    chances /= chances.sum()
    return np.asarray((1 - _OWN) * ((1 - _BEYOND) * chances + _BEYOND * outwards(chances)) + _OWN * MASSES)
