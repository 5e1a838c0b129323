"""Runs without noise: every draw is its distribution's noise-free value.

A choice is the most likely element, the first of equals; permuted and shuffled values keep their order.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from refutedp.tracing.distributions import Distribution, Noise
from refutedp.tracing.rng_proxy import Handler, Traced

_GENERATORS = frozenset({"RandomState", "PCG64", "Random", "SystemRandom"})


class NoiseFree(Handler):
    """A handler that draws no randomness at all.

    >>> from refutedp.tracing.rng_proxy import GeneratorProxy
    >>> rng = GeneratorProxy(NoiseFree())
    >>> rng.laplace(loc=3, scale=10.0), rng.exponential(2.0, size=2).tolist(), rng.choice(["a", "b"], p=[0.3, 0.7])
    (3.0, [0.0, 0.0], 'b')
    """

    __slots__ = ()

    def draw(self, distribution: Distribution, params: tuple[Any, ...], size: Any) -> Any:
        """The noise-free value, or an array of them in the shape of `size` or of the parameters."""
        noise, name = distribution.noise, distribution.name.rpartition(".")[2]
        if noise.noise_free is None:
            self.refuse(f"it draws with {name!r}, for which no noise-free value is known")
        shapes = [() if isinstance(p, Traced) else np.shape(p) for p in params]
        shape = np.broadcast_shapes(*shapes) if size is None else _shape(size)
        rows, times = [params], math.prod(shape)
        if not all(isinstance(p, Traced) or np.isscalar(p) for p in params):
            columns = [[p] * times if isinstance(p, Traced) else [*np.broadcast_to(p, shape).flat] for p in params]
            rows, times = list(zip(*columns, strict=True)), 1
        self.record(noise, rows)
        values = [self.number(noise.noise_free(*row), distribution.convert or np.int64) for row in rows] * times
        return values[0] if size is None and shape == () else self.array(values, shape)

    def choose(self, distribution: str, options: Any, size: Any, p: Any, replace: bool) -> Any:
        """The most likely element, as often as `size` says; without replacement, the others after it."""
        number = isinstance(options, Traced) or np.ndim(options) == 0
        elements = list(range(operator.index(options)) if number else options)
        best = 0
        for i, chance in enumerate(() if p is None else p):
            if chance > p[best]:
                best = i
        if size is None:
            return self.number(elements[best])
        count = math.prod(_shape(size))
        if replace:
            return self.array([self.number(elements[best])] * count, _shape(size))
        return self.array([elements.pop(best), *elements][:count], _shape(size))

    def permute(self, distribution: str, values: Any) -> Any:
        """The order as it is."""
        number = isinstance(values, Traced) or np.ndim(values) == 0
        return np.arange(operator.index(values)) if number else np.array(values)

    def pick(self, options: Sequence[Any]) -> Any:
        """The first element."""
        return self.choose("random.choice", list(options), None, None, True)

    def refuse(self, why: str) -> NoReturn:
        """Nothing is known of this call."""
        raise NotImplementedError(why)

    def limit(self, why: str) -> None:
        """Nothing is drawn: dtypes, axes and seeds do not matter."""

    def positive(self, value: Any) -> bool:
        """Left to the distribution itself."""
        return True

    def unlisted(self, proxy: Any, name: str) -> Any:
        """Shuffles that do nothing, and other generators, which are this one."""
        if name == "shuffle":
            return lambda x, axis=0: None
        if name == "choices":
            return self._choices
        if name == "spawn":
            return lambda n_children: [proxy] * operator.index(n_children)
        if name not in _GENERATORS:
            self.refuse(f"it draws with {name!r}, for which no noise-free value is known")
        return lambda *_: proxy

    def _choices(self, population: Any, weights: Any = None, *, k: int = 1, **_: Any) -> Any:
        return [self.choose("random.choices", list(population), None, weights, True)] * operator.index(k)

    def record(self, noise: Noise, rows: list[tuple[Any, ...]]) -> None:
        """Look at the parameters of a draw, a row for each of its numbers."""

    def number(self, value: Any, convert: Callable[[Any], Any] | None = None) -> Any:
        """One drawn value, of the type that the library would return."""
        return value if convert is None else convert(value)

    def array(self, values: list[Any], shape: tuple[int, ...]) -> Any:
        """An array of drawn values."""
        return np.array(values).reshape(shape)


def _shape(size: Any) -> tuple[int, ...]:
    if isinstance(size, Traced) or np.ndim(size) == 0:
        return (operator.index(size),)
    return tuple(operator.index(length) for length in size)
