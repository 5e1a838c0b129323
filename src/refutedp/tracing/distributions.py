"""The distributions that can be drawn by column: how each is called, sampled, and handed to plain code.

A distribution is named after the call the mechanism wrote: `laplace` for a method of a Generator, `np.random.laplace`
for the legacy module, `random.gauss` for the standard library. NumPy's distributions draw with the call's own
algorithm, because a mechanism may be broken by the very floats an algorithm can produce; so do `random.random`,
`uniform` and `expovariate`. Some of these algorithms are done on whole columns (`fast_noise.py`), unless a source is
to be exact to the last digit. The other distributions of `random` (gauss, gammavariate, betavariate) have the same
distribution, but are drawn by NumPy's algorithm, as are choices and permutations.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from refutedp.tracing import kinds_of_noise as kinds
from refutedp.tracing.fast_noise import COLUMN_DISTRIBUTIONS, many, standard
from refutedp.tracing.kinds_of_noise import UNKNOWN, Noise, Params

Size = tuple[int, ...] | int | None
Parameters = tuple[tuple[str, Any], ...]


class Source:
    """One stream of randomness, seen through the new and the legacy API of NumPy.

    If it is `exact`, every number is what the mechanism's own call would have drawn, to the last digit.
    """

    __slots__ = ("exact", "generator", "legacy")

    def __init__(self, generator: np.random.Generator, *, exact: bool = False) -> None:
        self.exact = exact
        self.generator = generator
        self.legacy = np.random.RandomState(generator.bit_generator)


Sample = Callable[[Source, Params, Size], Any]


@dataclass(frozen=True, slots=True)
class Distribution:
    """One distribution: its parameters in order, and `sample(source, params, size)`, a scalar when size is None.

    `convert` turns one drawn element into what the plain call returns; None when NumPy's own scalar is returned.
    `positive` are the numbers of the parameters of a distribution of `random` that must be positive.
    """

    name: str
    parameters: Parameters
    sample: Sample
    convert: Callable[[Any], Any] | None
    noise: Noise
    positive: tuple[int, ...] = ()


REQUIRED: Any = object()

_FLOAT_DISTRIBUTIONS: dict[str, tuple[Parameters, Noise]] = {
    "laplace": ((("loc", 0.0), ("scale", 1.0)), kinds.LAPLACE),
    "gumbel": ((("loc", 0.0), ("scale", 1.0)), kinds.GUMBEL),
    "logistic": ((("loc", 0.0), ("scale", 1.0)), kinds.LOGISTIC),
    "normal": ((("loc", 0.0), ("scale", 1.0)), kinds.NORMAL),
    "lognormal": ((("mean", 0.0), ("sigma", 1.0)), UNKNOWN),
    "uniform": ((("low", 0.0), ("high", 1.0)), kinds.UNIFORM),
    "exponential": ((("scale", 1.0),), kinds.EXPONENTIAL),
    "rayleigh": ((("scale", 1.0),), kinds.RAYLEIGH),
    "standard_cauchy": ((), kinds.STANDARD_CAUCHY),
    "standard_gamma": ((("shape", REQUIRED),), UNKNOWN),
    "standard_t": ((("df", REQUIRED),), UNKNOWN),
    "gamma": ((("shape", REQUIRED), ("scale", 1.0)), kinds.GAMMA),
    "beta": ((("a", REQUIRED), ("b", REQUIRED)), kinds.BETA),
    "chisquare": ((("df", REQUIRED),), UNKNOWN),
    "f": ((("dfnum", REQUIRED), ("dfden", REQUIRED)), UNKNOWN),
    "pareto": ((("a", REQUIRED),), UNKNOWN),
    "power": ((("a", REQUIRED),), UNKNOWN),
    "weibull": ((("a", REQUIRED),), UNKNOWN),
    "wald": ((("mean", REQUIRED), ("scale", REQUIRED)), UNKNOWN),
    "vonmises": ((("mu", REQUIRED), ("kappa", REQUIRED)), UNKNOWN),
    "triangular": ((("left", REQUIRED), ("mode", REQUIRED), ("right", REQUIRED)), UNKNOWN),
    "standard_normal": ((), kinds.STANDARD_NORMAL),
    "standard_exponential": ((), kinds.STANDARD_EXPONENTIAL),
}
_INT_DISTRIBUTIONS: dict[str, tuple[Parameters, Noise]] = {
    "geometric": ((("p", REQUIRED),), kinds.GEOMETRIC),
    "binomial": ((("n", REQUIRED), ("p", REQUIRED)), kinds.BINOMIAL),
    "poisson": ((("lam", 1.0),), kinds.POISSON),
    "negative_binomial": ((("n", REQUIRED), ("p", REQUIRED)), UNKNOWN),
    "hypergeometric": ((("ngood", REQUIRED), ("nbad", REQUIRED), ("nsample", REQUIRED)), UNKNOWN),
    "logseries": ((("p", REQUIRED),), UNKNOWN),
    "zipf": ((("a", REQUIRED),), UNKNOWN),
}


def _by(owner: str, name: str) -> Sample:
    """The method of the source's new or legacy generator."""

    def sample(source: Source, params: Params, size: Size) -> Any:
        return getattr(getattr(source, owner), name)(*params, size)

    return sample


def _quick(name: str, plain: Sample) -> Sample:
    """`plain`, or the same on whole columns where that is faster, as long as the parameters are plain numbers."""
    if name not in COLUMN_DISTRIBUTIONS:
        return plain

    def sample(source: Source, params: Params, size: Size) -> Any:
        if size is None or source.exact or not many(size) or not _location_and_scale(params):
            return plain(source, params, size)
        values = standard(name, source.generator, size)
        if params and params[-1] != 1:
            values *= params[-1]
        if len(params) == 2 and params[0] != 0:
            values += params[0]
        return values

    return sample


def _location_and_scale(params: Params) -> bool:
    """Whether these are numbers that every generator takes."""
    return all(isinstance(p, (int, float)) and math.isfinite(p) for p in params) and (not params or params[-1] > 0)


def _expovariate(source: Source, params: Params, size: Size) -> Any:
    if size is not None and not source.exact and many(size):
        return standard("np.random.exponential", source.generator, size) / params[0]
    rest = 1.0 - source.generator.random(size)
    # The standard library's logarithm: NumPy's own may differ in the last bit.
    logs = math.log(rest) if size is None else np.vectorize(math.log, [float])(rest)
    return -logs / params[0]


def _uniform(source: Source, params: Params, size: Size) -> Any:
    low, high = params
    return low + (high - low) * source.generator.random(size)


def _gauss(source: Source, params: Params, size: Size) -> Any:
    mu, sigma = params
    return mu + sigma * source.generator.standard_normal(size)


def _build() -> dict[str, Distribution]:
    table: dict[str, Distribution] = {}

    def add(name: str, parameters: Parameters, sample: Sample, convert: Any, noise: Noise, *positive: int) -> None:
        table[name] = Distribution(name, parameters, sample, convert, noise, positive)

    for distributions, convert in ((_FLOAT_DISTRIBUTIONS, float), (_INT_DISTRIBUTIONS, int)):
        for name, (parameters, noise) in distributions.items():
            add(name, parameters, _quick(name, _by("generator", name)), convert, noise)
            add(f"np.random.{name}", parameters, _quick(f"np.random.{name}", _by("legacy", name)), convert, noise)
    add("random", (), _by("generator", "random"), float, kinds.STANDARD_UNIFORM)
    add("np.random.random_sample", (), _by("legacy", "random_sample"), float, kinds.STANDARD_UNIFORM)
    bounds = (("low", REQUIRED), ("high", REQUIRED))
    add("integers", bounds, _by("generator", "integers"), None, kinds.INTEGERS)
    add("np.random.randint", bounds, _by("legacy", "randint"), int, kinds.INTEGERS)
    add("random.random", (), _by("generator", "random"), float, kinds.STANDARD_UNIFORM)
    add("random.uniform", (("a", REQUIRED), ("b", REQUIRED)), _uniform, float, kinds.UNIFORM)
    add("random.gauss", (("mu", 0.0), ("sigma", 1.0)), _gauss, float, kinds.NORMAL)
    add("random.normalvariate", (("mu", 0.0), ("sigma", 1.0)), _gauss, float, kinds.NORMAL)
    rate = 1.0 if sys.version_info >= (3, 12) else REQUIRED
    add("random.expovariate", (("lambd", rate),), _expovariate, float, kinds.EXPONENTIAL_BY_RATE, 0)
    shapes = (("alpha", REQUIRED), ("beta", REQUIRED))
    add("random.gammavariate", shapes, _by("generator", "gamma"), float, kinds.GAMMA, 0, 1)
    add("random.betavariate", shapes, _by("generator", "beta"), float, kinds.BETA, 0, 1)
    add("random.randint", bounds, _by("generator", "integers"), int, kinds.INTEGERS)
    add("random.choice", bounds, _by("generator", "integers"), int, UNKNOWN)
    return table


DISTRIBUTIONS = _build()
"""Every distribution by name.

`high` of the integer distributions is exclusive, whatever the call's own convention.
"""
