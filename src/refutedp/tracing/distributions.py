"""The distributions that can be drawn by column: how each is called, sampled, and handed to plain code.

A distribution is named after the call the mechanism wrote: `laplace` for a method of a Generator, `np.random.laplace`
for the legacy module, `random.gauss` for the standard library. NumPy's distributions draw with the call's own
algorithm, because a mechanism may be broken by the very floats an algorithm can produce; so do `random.random`,
`uniform` and `expovariate`. Some of these algorithms are done on whole columns (`standard`), unless a source is
to be exact to the last digit. The other distributions of `random` (gauss, gammavariate, betavariate) have the same
distribution, but are drawn by NumPy's algorithm, as are choices and permutations.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from refutedp.model.outputs import Array

Params: TypeAlias = tuple[Any, ...]
Quantile: TypeAlias = Callable[[Array], Array]
Size: TypeAlias = tuple[int, ...] | int | None

BLOCK = 16_384
"""So many numbers at a time, which stay in the processor's cache while they are worked on."""
FEW = 256
"""Up to so many numbers the generator's own routine is faster."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How standard noise becomes that of other parameters, by NumPy's own floating-point operations.

    `standard` are the parameters of the standard form; those that NumPy would refuse are not allowed.
    """

    standard: Params
    allows: Callable[[Params], bool]
    apply: Callable[[Params, Array], Array]


@dataclass(frozen=True, slots=True)
class StandardForm:
    """A distribution of location 0 and scale 1: the values with a probability below them, and above them."""

    fit: Fit
    lower: Quantile
    upper: Quantile


@dataclass(frozen=True, slots=True)
class Noise:
    """What is known of a kind of noise, whichever library draws it: functions of the parameters, in their order."""

    noise_free: Callable[..., Any] | None = None
    """What is drawn where there is no noise: the location, the mode, the middle or the mean."""
    scale: Callable[..., Any] | None = None
    """How much noise there is, where one parameter says so."""
    standard: StandardForm | None = None


class Source:
    """One stream of randomness, seen through the new and the legacy API of NumPy.

    If it is `exact`, every number is what the mechanism's own call would have drawn, to the last digit.
    """

    __slots__ = ("exact", "generator", "legacy")

    def __init__(self, generator: np.random.Generator, *, exact: bool = False) -> None:
        self.exact = exact
        self.generator = generator
        self.legacy = np.random.RandomState(generator.bit_generator)


Sample: TypeAlias = Callable[[Source, Params, Size], Any]


@dataclass(frozen=True, slots=True)
class Distribution:
    """One distribution: its parameters in order, and `sample(source, params, size)`, a scalar when size is None.

    A parameter is written as in a signature, such as "scale=1.0". `convert` turns one drawn element into what the
    plain call returns; None when NumPy's own scalar is returned. `positive` are the numbers of the parameters of a
    distribution of `random` that must be positive.
    """

    name: str
    parameters: tuple[str, ...]
    sample: Sample
    convert: type[int] | type[float] | None
    noise: Noise
    positive: tuple[int, ...] = ()


def _finite(value: Any) -> bool:
    kind = type(value)
    if kind is float or kind is int:
        return math.isfinite(value)
    try:
        return bool(np.isfinite(value).all())
    except TypeError:
        return False


def _positive(value: Any) -> bool:
    kind = type(value)
    if kind is float or kind is int:
        return bool(0 < value < math.inf)
    try:
        return bool((np.asarray(value) > 0).all()) and _finite(value)
    except TypeError:
        return False


def _ordered(low: Any, high: Any) -> bool:
    """Two ends whose difference is right: that of short integers wraps around."""
    wide = all(type(end) in (int, float) or np.asarray(end).dtype == np.float64 for end in (low, high))
    return wide and _finite(low) and _positive(high - low)


def _moved(params: Params, noise: Array) -> Array:
    location, scale = params
    values: Array = scale * noise
    # Standard noise has no negative zeros, so that to add zero would change nothing.
    if type(location) not in (float, int) or location != 0:
        # In place: the memory of one column more costs as much as the sum.
        values += location
    return values


def _located(lower: Quantile, upper: Quantile) -> Noise:
    return Noise(lambda loc, _: loc, lambda _, scale: scale, StandardForm(_MOVED, lower, upper))


def _ndtri(u: Array) -> Array:
    from scipy import special

    return np.asarray(special.ndtri(u))


_MOVED = Fit((0.0, 1.0), lambda p: _finite(p[0]) and _positive(p[1]), _moved)
_STRETCHED = Fit((1.0,), lambda p: _positive(p[0]), lambda p, noise: p[0] * noise)
_PLACED = Fit((0.0, 1.0), lambda p: _ordered(*p), lambda p, u: p[0] + (p[1] - p[0]) * u)
_AS_IS = Fit((), lambda _: True, lambda _, noise: noise.copy())

_NORMAL_QUANTILES = (_ndtri, lambda u: -_ndtri(u))
_EXPONENTIAL_QUANTILES = (lambda u: -np.log1p(-u), lambda u: -np.log(u))
_UNIFORM_QUANTILES = (lambda u: u, lambda u: np.minimum(1 - u, 1 - 2.0**-53))

_UNKNOWN = Noise()
_LAPLACE = _located(lambda u: np.log(2 * u), lambda u: -np.log(2 * u))
_GUMBEL = _located(lambda u: -np.log(-np.log(u)), lambda u: -np.log(-np.log1p(-u)))
_LOGISTIC = _located(lambda u: np.log(u) - np.log1p(-u), lambda u: np.log1p(-u) - np.log(u))
_NORMAL = _located(*_NORMAL_QUANTILES)
_STANDARD_NORMAL = Noise(lambda: 0.0, lambda: 1.0, StandardForm(_AS_IS, *_NORMAL_QUANTILES))
_EXPONENTIAL = Noise(lambda _: 0.0, lambda scale: scale, StandardForm(_STRETCHED, *_EXPONENTIAL_QUANTILES))
_STANDARD_EXPONENTIAL = Noise(lambda: 0.0, lambda: 1.0, StandardForm(_AS_IS, *_EXPONENTIAL_QUANTILES))
_UNIFORM = Noise(lambda low, high: (low + high) / 2, None, StandardForm(_PLACED, *_UNIFORM_QUANTILES))
_STANDARD_UNIFORM = Noise(lambda: 0.5, None, StandardForm(_AS_IS, *_UNIFORM_QUANTILES))
_INTEGERS = Noise(lambda low, high: (low + high - 1) // 2)
_GAMMA = Noise(lambda shape, scale: shape * scale, lambda _, scale: scale)
_BETA = Noise(lambda a, b: a / (a + b))

_FLOAT_DISTRIBUTIONS: dict[str, tuple[str, Noise]] = {
    "laplace": ("loc=0.0 scale=1.0", _LAPLACE),
    "gumbel": ("loc=0.0 scale=1.0", _GUMBEL),
    "logistic": ("loc=0.0 scale=1.0", _LOGISTIC),
    "normal": ("loc=0.0 scale=1.0", _NORMAL),
    "lognormal": ("mean=0.0 sigma=1.0", _UNKNOWN),
    "uniform": ("low=0.0 high=1.0", _UNIFORM),
    "exponential": ("scale=1.0", _EXPONENTIAL),
    "rayleigh": ("scale=1.0", Noise(lambda _: 0.0, lambda scale: scale)),
    "standard_cauchy": ("", Noise(lambda: 0.0)),
    "standard_gamma": ("shape", _UNKNOWN),
    "standard_t": ("df", _UNKNOWN),
    "gamma": ("shape scale=1.0", _GAMMA),
    "beta": ("a b", _BETA),
    "chisquare": ("df", _UNKNOWN),
    "f": ("dfnum dfden", _UNKNOWN),
    "pareto": ("a", _UNKNOWN),
    "power": ("a", _UNKNOWN),
    "weibull": ("a", _UNKNOWN),
    "wald": ("mean scale", _UNKNOWN),
    "vonmises": ("mu kappa", _UNKNOWN),
    "triangular": ("left mode right", _UNKNOWN),
    "standard_normal": ("", _STANDARD_NORMAL),
    "standard_exponential": ("", _STANDARD_EXPONENTIAL),
}
_INT_DISTRIBUTIONS: dict[str, tuple[str, Noise]] = {
    "geometric": ("p", Noise(lambda _: 1, lambda p: 1 / p)),
    "binomial": ("n p", Noise(lambda n, p: round(n * p))),
    "poisson": ("lam=1.0", Noise(lambda lam: round(lam))),
    "negative_binomial": ("n p", _UNKNOWN),
    "hypergeometric": ("ngood nbad nsample", _UNKNOWN),
    "logseries": ("p", _UNKNOWN),
    "zipf": ("a", _UNKNOWN),
}


# Standard noise by the column. NumPy makes one number of Laplace noise of one uniform number and a logarithm of the C
# library. Here the same uniform numbers go through the same operations an array at a time, which is several times
# faster. The values are NumPy's own but for the logarithm, which on some processors differs in the last binary digit
# of one value in a few hundred; who looks at last digits asks the generator itself (`Source.exact`).

_SIGN = np.int64(-(2**63))


def _laplace(u: Array, more: Array, sign: Array) -> None:
    np.subtract(2.0, u, out=more)
    more -= u
    np.subtract(u, 0.5, out=sign)
    u += u
    np.minimum(u, more, out=u)
    np.log(u, out=u)
    # What np.copysign does, in half the time.
    bits, signs = u.view(np.int64), sign.view(np.int64)
    signs &= _SIGN
    bits &= ~_SIGN
    bits |= signs


def _gumbel(u: Array, more: Array, _: Array) -> None:
    np.subtract(1.0, u, out=more)
    np.log(more, out=more)
    np.negative(more, out=more)
    np.log(more, out=more)
    np.negative(more, out=u)


def _logistic(u: Array, more: Array, _: Array) -> None:
    np.subtract(1.0, u, out=more)
    u /= more
    np.log(u, out=u)


def _exponential(u: Array, _: Array, __: Array) -> None:
    np.subtract(1.0, u, out=u)
    np.log(u, out=u)
    np.negative(u, out=u)


COLUMN_DISTRIBUTIONS: dict[str, Callable[[Array, Array, Array], None]] = {
    "laplace": _laplace,
    "np.random.laplace": _laplace,
    "gumbel": _gumbel,
    "np.random.gumbel": _gumbel,
    "logistic": _logistic,
    "np.random.logistic": _logistic,
    # The new generators have a faster algorithm of their own for exponential noise.
    "np.random.exponential": _exponential,
    "np.random.standard_exponential": _exponential,
}
"""How a distribution turns uniform numbers, in place, into noise; with room for two numbers more for each."""


def standard(distribution: str, generator: np.random.Generator, size: tuple[int, ...] | int) -> Array:
    """Noise of location 0 and scale 1.

    >>> import numpy as np
    >>> ours = standard("laplace", np.random.default_rng(0), 1000)
    >>> bool(np.allclose(ours, np.random.default_rng(0).laplace(size=1000), rtol=1e-15))
    True
    """
    turn = COLUMN_DISTRIBUTIONS[distribution]
    noise = np.empty(size)
    flat = noise.reshape(-1)
    aside, beside = np.empty((2, min(BLOCK, flat.size)))
    for start in range(0, flat.size, BLOCK):
        u = flat[start : start + BLOCK]
        generator.random(out=u)
        while u.min() == 0.0:
            # Zeros are drawn anew, as NumPy does: their logarithm is infinite.
            zeros = np.flatnonzero(u == 0.0)
            fresh = np.empty(len(zeros))
            generator.random(out=fresh)
            u[zeros] = fresh
        turn(u, aside[: u.size], beside[: u.size])
    return noise


def _by_column(source: Source, size: Size) -> bool:
    """Whether so many numbers are wanted that columns are faster."""
    return not source.exact and size is not None and (size if isinstance(size, int) else math.prod(size)) > FEW


def _by(owner: str, method: str, name: str = "") -> Sample:
    """The method of the source's new or legacy generator.

    With the `name` of a column distribution and plain numbers as parameters, the same on whole columns where that is
    faster.
    """

    def plain(source: Source, params: Params, size: Size) -> Any:
        return getattr(getattr(source, owner), method)(*params, size)

    def sample(source: Source, params: Params, size: Size) -> Any:
        numbers = all(isinstance(p, (int, float)) and math.isfinite(p) for p in params)
        if size is None or not _by_column(source, size) or not numbers or (params and not params[-1] > 0):
            return plain(source, params, size)
        values = standard(name, source.generator, size)
        if params and params[-1] != 1:
            values *= params[-1]
        if len(params) == 2 and params[0] != 0:
            values += params[0]
        return values

    return sample if name in COLUMN_DISTRIBUTIONS else plain


def _expovariate(source: Source, params: Params, size: Size) -> Any:
    if size is not None and _by_column(source, size):
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

    def add(name: str, parameters: str, sample: Sample, convert: Any, noise: Noise, *positive: int) -> None:
        table[name] = Distribution(name, tuple(parameters.split()), sample, convert, noise, positive)

    for distributions, convert in ((_FLOAT_DISTRIBUTIONS, float), (_INT_DISTRIBUTIONS, int)):
        for name, (parameters, noise) in distributions.items():
            add(name, parameters, _by("generator", name, name), convert, noise)
            add(f"np.random.{name}", parameters, _by("legacy", name, f"np.random.{name}"), convert, noise)
    add("random", "", _by("generator", "random"), float, _STANDARD_UNIFORM)
    add("np.random.random_sample", "", _by("legacy", "random_sample"), float, _STANDARD_UNIFORM)
    add("integers", "low high", _by("generator", "integers"), None, _INTEGERS)
    add("np.random.randint", "low high", _by("legacy", "randint"), int, _INTEGERS)
    add("random.random", "", _by("generator", "random"), float, _STANDARD_UNIFORM)
    add("random.uniform", "a b", _uniform, float, _UNIFORM)
    add("random.gauss", "mu=0.0 sigma=1.0", _gauss, float, _NORMAL)
    add("random.normalvariate", "mu=0.0 sigma=1.0", _gauss, float, _NORMAL)
    rate = "lambd=1.0" if sys.version_info >= (3, 12) else "lambd"
    add("random.expovariate", rate, _expovariate, float, Noise(lambda _: 0.0, lambda rate: 1 / rate), 0)
    add("random.gammavariate", "alpha beta", _by("generator", "gamma"), float, _GAMMA, 0, 1)
    add("random.betavariate", "alpha beta", _by("generator", "beta"), float, _BETA, 0, 1)
    add("random.randint", "low high", _by("generator", "integers"), int, _INTEGERS)
    add("random.choice", "low high", _by("generator", "integers"), int, _UNKNOWN)
    return table


DISTRIBUTIONS = _build()
"""Every distribution by name; `high` of integers is exclusive, whatever the call's own convention."""
