"""What is known of a kind of noise, whichever library draws it: noise-free value, scale, standard form."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from refutedp.model.outputs import Array

Params: TypeAlias = tuple[Any, ...]
Quantile: TypeAlias = Callable[[Array], Array]


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
    """Functions of the parameters, in their order; None where nothing is known."""

    noise_free: Callable[..., Any] | None = None
    """What is drawn where there is no noise: the location, the mode, the middle or the mean."""
    scale: Callable[..., Any] | None = None
    """How much noise there is, where one parameter says so."""
    standard: StandardForm | None = None


def _moved(params: Params, noise: Array) -> Array:
    location, scale = params
    values: Array = scale * noise
    # Standard noise has no negative zeros, so that to add zero would change nothing.
    if type(location) not in (float, int) or location != 0:
        # In place: the memory of one column more costs as much as the sum.
        values += location
    return values


_MOVED = Fit((0.0, 1.0), lambda p: _finite(p[0]) and _positive(p[1]), _moved)
_STRETCHED = Fit((1.0,), lambda p: _positive(p[0]), lambda p, noise: p[0] * noise)
_PLACED = Fit((0.0, 1.0), lambda p: _ordered(*p), lambda p, u: p[0] + (p[1] - p[0]) * u)
_AS_IS = Fit((), lambda _: True, lambda _, noise: noise.copy())


def _ordered(low: Any, high: Any) -> bool:
    """Two ends whose difference is right: that of short integers wraps around."""
    wide = all(type(end) in (int, float) or np.asarray(end).dtype == np.float64 for end in (low, high))
    return wide and _finite(low) and _positive(high - low)


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


def _ndtri(u: Array) -> Array:
    from scipy import special

    return np.asarray(special.ndtri(u))


def _located(lower: Quantile, upper: Quantile) -> Noise:
    return Noise(lambda loc, _: loc, lambda _, scale: scale, StandardForm(_MOVED, lower, upper))


_NORMAL = (_ndtri, lambda u: -_ndtri(u))
_EXPONENTIAL = (lambda u: -np.log1p(-u), lambda u: -np.log(u))
_UNIFORM = (lambda u: u, lambda u: np.minimum(1 - u, 1 - 2.0**-53))

UNKNOWN = Noise()
LAPLACE = _located(lambda u: np.log(2 * u), lambda u: -np.log(2 * u))
GUMBEL = _located(lambda u: -np.log(-np.log(u)), lambda u: -np.log(-np.log1p(-u)))
LOGISTIC = _located(lambda u: np.log(u) - np.log1p(-u), lambda u: np.log1p(-u) - np.log(u))
NORMAL = _located(*_NORMAL)
STANDARD_NORMAL = Noise(lambda: 0.0, lambda: 1.0, StandardForm(_AS_IS, *_NORMAL))
EXPONENTIAL = Noise(lambda _: 0.0, lambda scale: scale, StandardForm(_STRETCHED, *_EXPONENTIAL))
STANDARD_EXPONENTIAL = Noise(lambda: 0.0, lambda: 1.0, StandardForm(_AS_IS, *_EXPONENTIAL))
EXPONENTIAL_BY_RATE = Noise(lambda _: 0.0, lambda rate: 1 / rate)
RAYLEIGH = Noise(lambda _: 0.0, lambda scale: scale)
UNIFORM = Noise(lambda low, high: (low + high) / 2, None, StandardForm(_PLACED, *_UNIFORM))
STANDARD_UNIFORM = Noise(lambda: 0.5, None, StandardForm(_AS_IS, *_UNIFORM))
STANDARD_CAUCHY = Noise(lambda: 0.0)
GEOMETRIC = Noise(lambda _: 1, lambda p: 1 / p)
INTEGERS = Noise(lambda low, high: (low + high - 1) // 2)
BINOMIAL = Noise(lambda n, p: round(n * p))
POISSON = Noise(lambda lam: round(lam))
GAMMA = Noise(lambda shape, scale: shape * scale, lambda _, scale: scale)
BETA = Noise(lambda a, b: a / (a + b))
