"""A stand-in for random generators: every draw is its distribution's noise-free value, its scale is recorded.

| draw | noise-free value |
|---|---|
| laplace, normal, gumbel, logistic | the location |
| exponential, rayleigh | 0 |
| uniform, random, integers | the middle |
| geometric | 1 |
| binomial, poisson, gamma, beta | the mean (whole where the draw is whole) |
| choice | the most likely element, the first of equals |
| permutation, shuffle | the order as it is |
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from refutedp.inputs.arguments.arrays_of_terms import filled
from refutedp.inputs.arguments.explore import Tracing
from refutedp.inputs.arguments.following import CannotFollow
from refutedp.inputs.arguments.sites import location
from refutedp.inputs.arguments.terms_of_a_run import Number, Truth, watched


class NoiseFree:
    """Answers as a NumPy `Generator` (and the older `np.random` functions) without any randomness."""

    def __init__(self, current: Callable[[], Tracing]) -> None:
        self._current = current

    # Draws around a location.
    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """The location; the scale is recorded."""
        return self._draw(lambda where, _: where, (loc, scale), size, scale=lambda _, width: width)

    normal = gumbel = logistic = laplace

    def standard_normal(self, size: Any = None) -> Any:
        """0; the scale is 1."""
        return self.laplace(0.0, 1.0, size)

    def randn(self, *shape: Any) -> Any:
        """0; the scale is 1."""
        return self.laplace(0.0, 1.0, shape or None)

    # Draws from zero up.
    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """0, the mode; the scale is recorded."""
        return self._draw(lambda _: 0.0, (scale,), size, scale=lambda width: width)

    rayleigh = exponential

    def standard_exponential(self, size: Any = None) -> Any:
        """0, the mode."""
        return self.exponential(1.0, size)

    def geometric(self, p: Any, size: Any = None) -> Any:
        """1, the mode; the scale is 1/p."""
        return self._draw(lambda _: 1, (p,), size, scale=lambda chance: 1 / chance)

    # Draws from a range.
    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """The middle of the range; the scale is its width."""
        return self._draw(lambda a, b: (a + b) / 2, (low, high), size)

    def random(self, size: Any = None) -> Any:
        """0.5."""
        return self.uniform(0.0, 1.0, size)

    random_sample = ranf = sample = random

    def rand(self, *shape: Any) -> Any:
        """0.5."""
        return self.uniform(0.0, 1.0, shape or None)

    def integers(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int, endpoint: bool = False) -> Any:
        """The middle of the range, rounded down."""
        if high is None:
            low, high = 0, low
        last = high if endpoint else high - 1
        return self._draw(lambda a, b: (a + b) // 2, (low, last), size)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        """The middle of the range, rounded down."""
        return self.integers(low, high, size)

    # Counts and means.
    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """The mean, rounded."""
        return self._draw(lambda count, chance: round(count * chance), (n, p), size)

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        """The mean, rounded."""
        return self._draw(lambda mean: round(mean), (lam,), size)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        """The mean; the scale is recorded."""
        return self._draw(lambda k, width: k * width, (shape, scale), size, scale=lambda _, width: width)

    def beta(self, a: Any, b: Any, size: Any = None) -> Any:
        """The mean."""
        return self._draw(lambda x, y: x / (x + y), (a, b), size)

    # Elements.
    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None, **_: Any) -> Any:
        """The most likely element, the first of equals."""
        elements = list(range(operator.index(a))) if watched(a) or np.ndim(a) == 0 else list(a)
        best = 0
        if p is not None:
            for i, chance in enumerate(p):
                if chance > p[best]:
                    best = i
        if size is None or replace:
            return self._draw(lambda: elements[best], (), size)
        order = [best, *(i for i in range(len(elements)) if i != best)]
        return filled([elements[i] for i in order[: operator.index(size)]], (operator.index(size),))

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """The order as it is."""
        return np.arange(operator.index(x)) if watched(x) or np.ndim(x) == 0 else np.array(x)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Leaves the order as it is."""

    # Ways to get a generator.
    def default_rng(self, *_: Any) -> NoiseFree:
        """Itself."""
        return self

    RandomState = Generator = PCG64 = default_rng

    def seed(self, *_: Any) -> None:
        """Nothing to seed."""

    def spawn(self, n: int) -> list[NoiseFree]:
        """Itself, n times."""
        return [self] * operator.index(n)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise CannotFollow(f"{location()} draws with {name!r}, for which no noise-free value is known")

    def _draw(
        self,
        value: Callable[..., Any],
        parameters: tuple[Any, ...],
        size: Any,
        scale: Callable[..., Any] | None = None,
    ) -> Any:
        """One noisy number, or an array of them in the shape of `size` or of the parameters."""
        run = self._current()
        run.tick()
        shapes = [() if watched(p) else np.shape(p) for p in parameters]
        shape = np.broadcast_shapes(*shapes) if size is None else _shape(size)
        columns = [
            [p] * int(np.prod(shape)) if watched(p) or np.ndim(p) == 0 else list(np.broadcast_to(p, shape).flat)
            for p in parameters
        ]
        rows = list(zip(*columns, strict=True)) if columns else [()] * int(np.prod(shape))
        if scale is not None:
            for width in _distinct([scale(*row) for row in rows]):
                if not watched(width) and width < 0:
                    raise ValueError("scale < 0")
                run.record_scale(width)
        draws = [_noisy(run, value(*row)) for row in rows]
        return draws[0] if size is None and shape == () else filled(draws, shape)


def _noisy(run: Tracing, value: Any) -> Any:
    if type(value) is Truth:
        value = value.number()
    if type(value) is Number:
        return Number(run, value.value, noisy=True)
    if isinstance(value, np.generic):
        value = value.item()
    return Number(run, value, noisy=True) if isinstance(value, int | float) else value


def _shape(size: Any) -> tuple[int, ...]:
    if watched(size) or np.ndim(size) == 0:
        return (operator.index(size),)
    return tuple(operator.index(length) for length in size)


def _distinct(values: list[Any]) -> list[Any]:
    seen: dict[Any, Any] = {}
    for value in values:
        inner = value.value if type(value) is Number else value
        seen.setdefault(inner.get_id() if hasattr(inner, "get_id") else inner, value)
    return list(seen.values())


class PlainRandom:
    """Answers as Python's `random` module without any randomness."""

    def __init__(self, rng: NoiseFree) -> None:
        self._rng = rng

    def random(self) -> Any:
        """0.5."""
        return self._rng.random()

    def uniform(self, a: Any, b: Any) -> Any:
        """The middle of the range."""
        return self._rng.uniform(a, b)

    def gauss(self, mu: Any = 0.0, sigma: Any = 1.0) -> Any:
        """The location; the scale is recorded."""
        return self._rng.normal(mu, sigma)

    normalvariate = gauss

    def expovariate(self, lambd: Any = 1.0) -> Any:
        """0, the mode; the scale is 1/lambd."""
        return self._rng.exponential(1 / lambd)

    def randint(self, a: Any, b: Any) -> Any:
        """The middle of the range, rounded down."""
        return self._rng.integers(a, b + 1)

    def randrange(self, start: Any, stop: Any = None) -> Any:
        """The middle of the range, rounded down."""
        return self._rng.integers(start, stop)

    def choice(self, seq: Any) -> Any:
        """The first element."""
        return self._rng.choice(list(seq))

    def choices(self, population: Any, weights: Any = None, *, k: int = 1, **_: Any) -> Any:
        """The most likely element, k times."""
        return [self._rng.choice(list(population), p=weights)] * operator.index(k)

    def shuffle(self, x: Any) -> None:
        """Leaves the order as it is."""

    def seed(self, *_: Any) -> None:
        """Nothing to seed."""

    def Random(self, *_: Any) -> PlainRandom:
        """Itself."""
        return self

    SystemRandom = Random

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise CannotFollow(f"{location()} draws with {name!r}, for which no noise-free value is known")
