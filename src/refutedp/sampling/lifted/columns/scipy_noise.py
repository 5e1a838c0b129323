"""Distributions of `scipy.stats` on columns: what `rvs(random_state=rng)` asks of the generator, and does with it.

SciPy's own `rvs` looks at its parameters in ways that columns do not know. A stand-in makes the call that it makes,
from the table; the plain function runs SciPy's code, so a replay sees every difference.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from refutedp.sampling.lifted.columns.builtin import lifted_int
from refutedp.sampling.lifted.columns.column import holds_column
from refutedp.sampling.lifted.columns.scalar import Scalar
from refutedp.sampling.lifted.drawer import LiftedDrawer
from refutedp.tracing.rng_proxy import GeneratorProxy

_Draw = Callable[..., Any]


def _two_sided(rng: Any, size: Any, a: Any) -> Any:
    chance = -np.expm1(-np.asarray(a))
    return rng.geometric(chance, size=size) - rng.geometric(chance, size=size)


_DRAWS: dict[str, _Draw] = {
    "norm": lambda rng, size: rng.standard_normal(size),
    "laplace": lambda rng, size: rng.laplace(0, 1, size=size),
    "expon": lambda rng, size: rng.standard_exponential(size),
    "uniform": lambda rng, size: rng.uniform(0.0, 1.0, size),
    "logistic": lambda rng, size: rng.logistic(size=size),
    "gumbel_r": lambda rng, size: -np.log(-np.log(rng.uniform(size=size))),
    "gamma": lambda rng, size, a: rng.standard_gamma(a, size),
    "bernoulli": lambda rng, size, p: rng.binomial(1, p, size),
    "binom": lambda rng, size, n, p: rng.binomial(n, p, size),
    "geom": lambda rng, size, p: rng.geometric(p, size=size),
    "poisson": lambda rng, size, mu: rng.poisson(mu, size),
    "dlaplace": _two_sided,
}
"""What each distribution draws, before it is scaled and moved."""
_FUNCTIONS = frozenset({"pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "pmf", "logpmf"})
_DISCRETE = frozenset({"bernoulli", "binom", "geom", "poisson", "dlaplace"})


def stand_in(value: Any, drawer: LiftedDrawer) -> Any:
    """The stand-in of a distribution of SciPy's, or of one with its parameters fixed; None for all else."""
    stats = sys.modules.get("scipy.stats")
    if stats is None or not str(type(value).__module__).startswith("scipy.stats."):
        return None
    real = getattr(value, "dist", value)
    known = getattr(stats, str(getattr(real, "name", "")), None)
    if known is None or type(known) is not type(real):
        return None
    if real is value:
        return ScipyDistribution(known, drawer) if known is value else None
    return FrozenDistribution(ScipyDistribution(known, drawer), value, value.args, value.kwds)


class ScipyDistribution:
    """Stands in for `scipy.stats.laplace` and the like."""

    def __init__(self, real: Any, drawer: LiftedDrawer) -> None:
        self._real = real
        self._drawer = drawer

    def __call__(self, *args: Any, **keywords: Any) -> FrozenDistribution:
        """The distribution with its parameters fixed."""
        if holds_column(list(args)) or holds_column(list(keywords.values())):
            self._drawer.refuse(f"it fixes drawn parameters of scipy.stats.{self._real.name}: give them to rvs()")
        return FrozenDistribution(self, self._real(*args, **keywords), args, keywords)

    freeze = __call__

    def __getattr__(self, name: str) -> Any:
        return _attribute(self._real, name, self._drawer)

    def rvs(self, *args: Any, random_state: Any = None, **keywords: Any) -> Any:
        """As SciPy's, with a generator that is given."""
        name, drawer = self._real.name, self._drawer
        draw = _DRAWS.get(name)
        if draw is None:
            drawer.refuse(
                f"it draws from scipy.stats.{name}, which lifted runs do not know: use the generator's method"
            )
        if type(random_state) is not GeneratorProxy:
            drawer.refuse(f"it calls scipy.stats.{name}.rvs without its generator: give random_state=rng")
        shapes = self._real.shapes.split(", ") if self._real.shapes else []
        order = [*shapes, "loc", *([] if name in _DISCRETE else ["scale"]), "size"]
        if len(args) > len(order) or set(keywords) - set(order) or keywords.keys() & set(order[: len(args)]):
            raise TypeError(f"{name}.rvs() got arguments that it does not take")
        given = {**dict(zip(order, args, strict=False)), **keywords}
        drawn = {key: value for key, value in given.items() if holds_column(value)}
        if drawn.keys() - {"loc", "scale"} or not all(type(value) is Scalar for value in drawn.values()):
            drawer.refuse(f"it calls scipy.stats.{name}.rvs with drawn parameters")
        plain = {**given, **dict.fromkeys(drawn, 1)}
        fixed = [plain.pop(shape) for shape in shapes if shape in plain]
        params, loc, scale, size = self._real._parse_args_rvs(*fixed, **plain)
        spread = drawn.get("scale", scale)
        if not np.all(self._real._argcheck(*params)) or not drawer.positive(spread):
            drawer.refuse(f"it calls scipy.stats.{name}.rvs with invalid parameters, if only in some runs")
        drawer.axes_may_be_none = True
        try:
            values = draw(random_state, size, *map(_number, params))
        finally:
            drawer.axes_may_be_none = False
        values = values * _number(spread) + _number(drawn.get("loc", loc))
        if name not in _DISCRETE:
            return values
        return lifted_int(values) if size == () else values.astype(np.int64)


class FrozenDistribution:
    """Stands in for `scipy.stats.laplace(scale=2)` and the like."""

    def __init__(self, distribution: ScipyDistribution, real: Any, args: Any, keywords: Any) -> None:
        self._distribution = distribution
        self._real = real
        self._args = args
        self._keywords = keywords

    def __getattr__(self, name: str) -> Any:
        return _attribute(self._real, name, self._distribution._drawer)

    def rvs(self, size: Any = None, random_state: Any = None) -> Any:
        """As SciPy's, with a generator that is given."""
        return self._distribution.rvs(*self._args, size=size, random_state=random_state, **self._keywords)


def _number(value: Any) -> Any:
    return value.item() if type(value) is np.ndarray and value.ndim == 0 else value


def _attribute(real: Any, name: str, drawer: LiftedDrawer) -> Any:
    """An attribute of a distribution; its functions take a drawn number first, and else none."""
    found = getattr(real, name)
    if not callable(found):
        return found

    def function(*args: Any, **keywords: Any) -> Any:
        if not holds_column([*args, *keywords.values()]):
            return found(*args, **keywords)
        first, *others = args or (None,)
        if name not in _FUNCTIONS or type(first) is not Scalar or holds_column([*others, *keywords.values()]):
            drawer.refuse(f"it calls .{name} of a distribution of scipy.stats with drawn values")
        return Scalar(drawer.run, np.asarray(found(first.values(), *others, **keywords), np.float64), "f", True)

    return function
