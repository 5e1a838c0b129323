"""Noise drawn more often where an event happens, and weighted so that averages stay unbiased.

Every draw has its range cut into bins by its quantiles, halving towards both ends: a rare event of Gaussian noise
lies in the last few. A plan gives each bin of each draw a probability of its own; inside a bin the distribution is
its own. A part of the runs, `plain`, draws as ever. A run whose draws are `ratio` times as likely under the plan as
under their distributions has the weight 1 / (plain + (1 - plain) ratio): averages of what runs do times their weights
are unbiased, and no weight exceeds 1 / plain, however wrong the plan is. This is so for events of the real numbers:
the last digits of importance-sampled noise are not those that NumPy draws.

A region says for each bin of each draw how much it belongs, from 0 to 1; a run belongs as much as the product over
its draws. Noise that keeps away is drawn by its own distributions and kept with probability 1 - `STRICT` times that,
else drawn again. As draws are independent, the chance to be kept is known exactly: so are the weights, by which
averages are those of plain runs. Such noise is drawn before the run, whether the run asks for it or not.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.noise.shared_noise import Key, SharedNoise, standard_form
from refutedp.tracing.distributions import Source

Floats: TypeAlias = NDArray[np.float64]

HALVINGS = 24
"""How far into either tail bins reach: to a quantile of 2 to the minus this."""
FINE = 4
"""Bins to each halving of the tail."""
WIDEST = 1 / 64
"""No bin has more of the draws than this."""
_BEYOND = 0.2
"""How much of each draw's plan is moved outwards, where rarer hits than those of the pilot are to be expected."""
_CHANCE = 2.0
"""A draw that differs from its distribution by less (a Kolmogorov-Smirnov statistic) does not matter to the event."""
_DOUBT = 50.0
"""A pilot with this many hits is trusted half."""
_OWN = 0.1
"""How much of each draw's plan is its own distribution, lest a few hits in the pilot decide everything."""
STRICT = 0.99
"""What surely belongs to a region is drawn again this often, so no weight exceeds 1 / (1 - STRICT)."""
_FLAT = 0.5
"""Bins with at least this quantile of the region's density belong to it wholly: what is above is mostly chance."""
_OWN_INSIDE, _BEYOND_INSIDE = 0.02, 0.03
"""How much of the plan of a region is each draw's own distribution, and how much is moved outwards."""


def _tail() -> Floats:
    """Where the bins of one side end, by their quantiles, from the far end to the median."""
    ends = 0.5 ** (HALVINGS - np.arange(FINE * (HALVINGS - 1) + 1) / FINE)
    parts = [np.linspace(a, b, 1 + math.ceil((b - a) / WIDEST))[1:] for a, b in pairwise(ends.tolist())]
    return np.concatenate([ends[:1], *parts])


_TAIL = _tail()
SIDE = len(_TAIL)
"""Bins on either side of the median."""
MASSES: Floats = np.concatenate([_TAIL[:1], np.diff(_TAIL), np.diff(_TAIL)[::-1], _TAIL[:1]])
"""The probability of each bin under the draw's own distribution, from the lowest bin to the highest."""
_STARTS: Floats = np.concatenate([[0.0], _TAIL[:-1], _TAIL[:-1][::-1], [0.0]])
"""Where each bin starts, counted from its own end of the range."""


@functools.lru_cache(maxsize=64)
def _edges(distribution: str) -> Floats:
    """Values between the bins."""
    standard = standard_form(distribution)
    return np.concatenate([standard.lower(_TAIL), standard.upper(_TAIL[:-1][::-1])])


@dataclass(frozen=True, slots=True)
class Plan:
    """The probability of each bin (columns), for each element (rows) of each draw that is importance-sampled."""

    tables: Mapping[Key, Floats]
    plain: float = 1.0
    """The part of the runs that is not importance-sampled."""


class ImportanceNoise(SharedNoise):
    """Shared noise of which a part is drawn by a plan; `weights` once all runs are made."""

    weighted = True

    def __init__(self, n: int, plan: Plan, rng: np.random.Generator) -> None:
        super().__init__(n)
        self.plan = plan
        self._weighted = rng.random(n) >= plan.plain
        self._log_ratio = np.zeros(n)

    @property
    def weights(self) -> Floats:
        """What each run stands for."""
        plain = self.plan.plain
        return np.asarray(1 / (plain + (1 - plain) * np.exp(self._log_ratio)))

    def fresh(self, key: Key, runs: Array | None, source: Source) -> Array:
        """Standard noise, drawn by the plan for the runs that are importance-sampled."""
        values = super().fresh(key, runs, source)
        table = self.plan.tables.get(key)
        if table is None:
            return values
        weighted = self._weighted if runs is None else self._weighted[runs]
        rows = values.reshape(len(values), -1)
        here = np.flatnonzero(weighted)
        log_ratio = np.zeros(len(rows))
        for element, chances in enumerate(table):
            rows[here, element] = _drawn(key.distribution, chances, len(here), source.generator)
            log_ratio += np.log(chances / MASSES)[bins_of(key.distribution, rows[:, element])]
        self._log_ratio[slice(None) if runs is None else runs] += log_ratio
        return rows.reshape(values.shape)


def _drawn(distribution: str, chances: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Values of a standard distribution, in bins of these chances."""
    standard = standard_form(distribution)
    ends = np.cumsum(chances)
    bins = np.minimum(np.searchsorted(ends / ends[-1], rng.random(count), side="right"), len(chances) - 1)
    # Open at its own end: a probability of exactly zero is no quantile.
    inside = _STARTS[bins] + MASSES[bins] * (1 - rng.random(count))
    low = bins < SIDE
    values = np.empty(count)
    values[low] = standard.lower(inside[low])
    values[~low] = standard.upper(inside[~low])
    return values


def plan_for(noise: SharedNoise, worth: Floats) -> Plan:
    """A plan that draws like the runs of `noise`, each counted as often as it is worth (cross-entropy).

    >>> from refutedp.tracing.distributions import DISTRIBUTIONS
    >>> noise = SharedNoise(1000)
    >>> drawn = noise.draw(0, DISTRIBUTIONS["laplace"], (0.0, 1.0), None, None, Source(np.random.default_rng(0)))
    >>> plan = plan_for(noise, (drawn > 2).astype(float))
    >>> bool(plan.tables[Key(0, "laplace", None)][0, -SIDE:].sum() > 0.7)   # the upper half of the range
    True
    """
    if worth.sum() <= 0:
        return Plan({})
    trust = 1 / (1 + _DOUBT / effective(worth))
    return Plan({key: np.array([_planned(told, trust) for told in rows]) for key, rows in seen_in_bins(noise, worth)})


def _planned(told: Floats, trust: float) -> Floats:
    if told is MASSES:
        return MASSES
    aimed = (1 - _BEYOND) * told + _BEYOND * outwards(told)
    return MASSES + (1 - _OWN) * trust * (aimed - MASSES)


def seen_in_bins(noise: SharedNoise, worth: Floats) -> Iterator[tuple[Key, list[Floats]]]:
    """How often runs have each draw in each bin, each run counted as it is worth: a row for each element.

    A row is `MASSES` where the draw does not matter, and draws of which no element matters are left out, as are those
    of distributions without quantiles.
    """
    total = float(worth.sum())
    if total <= 0:
        return
    for key, (values, filled) in noise.columns.items():
        if key.params is not None:
            continue
        worths = worth if filled is None else np.where(filled, worth, 0.0)
        used = np.flatnonzero(worths)
        rows = []
        for row in values.reshape(len(values), -1)[used].T:
            seen = np.bincount(bins_of(key.distribution, row), worths[used], len(MASSES))
            # Runs that ended before this draw say nothing about it.
            told = (seen + (total - seen.sum()) * MASSES) / total
            distance = float(np.abs(np.cumsum(told - MASSES)).max())
            rows.append(MASSES if distance * math.sqrt(effective(worth)) < _CHANCE else told)
        if any(told is not MASSES for told in rows):
            yield key, rows


def bins_of(distribution: str, values: Floats) -> NDArray[np.int64]:
    """The bin of each value of a standard distribution."""
    return np.searchsorted(_edges(distribution), values, side="right")


def effective(worth: Floats) -> float:
    """How many runs of equal worth would say as much."""
    return float(worth.sum() ** 2 / (worth**2).sum())


def outwards(seen: Floats) -> Floats:
    """What was seen in each bin, spread over it and all bins further out as the distribution itself would be.

    Where a few rare hits are seen, rarer ones are to be expected beyond them: none may be left without a chance.
    """
    spread = np.empty_like(seen)
    kept = (_TAIL - _STARTS[:SIDE])[::-1] / _TAIL[::-1]
    for side in (slice(SIDE, None), slice(SIDE - 1, None, -1)):
        left = 0.0
        out = np.empty(SIDE)
        for k, worth in enumerate(seen[side].tolist()):
            left += worth
            out[k] = left * kept[k]
            left -= out[k]
        spread[side] = out
    return spread


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
    aimed = (1 - _BEYOND_INSIDE) * chances + _BEYOND_INSIDE * outwards(chances)
    return np.asarray((1 - _OWN_INSIDE) * aimed + _OWN_INSIDE * MASSES)
