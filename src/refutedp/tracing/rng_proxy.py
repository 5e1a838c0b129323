"""The calls a mechanism can make for randomness, written once; a `Handler` decides what a draw is.

A call is one message: a distribution of the table, its parameters in order and the size. Handlers draw columns,
record, replay, go on after a record, mirror seeded libraries, or leave the noise out, in numbers and in terms. The
same proxy serves columns and single replayed values, so what the two are asked for can be compared call by call.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from refutedp.tracing.distributions import DISTRIBUTIONS, Distribution, Params

Shape: TypeAlias = tuple[int, ...] | None
"""The shape of one draw; None for a scalar."""


class Traced:
    """A value that stands for many, as a column or a term does, where the mechanism expects a number or an array."""

    __slots__ = ()


class Handler(ABC):
    """One way to answer a mechanism's calls for randomness."""

    __slots__ = ()

    @abstractmethod
    def draw(self, distribution: Distribution, params: Params, size: Any) -> Any:
        """One draw (a column of them, when lifted) of the given distribution."""

    @abstractmethod
    def choose(self, distribution: str, options: Any, size: Any, p: Any, replace: bool) -> Any:
        """Draw from a sequence of options, or from range(options)."""

    @abstractmethod
    def permute(self, distribution: str, values: Any) -> Any:
        """A random order of the values."""

    @abstractmethod
    def pick(self, options: Sequence[Any]) -> Any:
        """One element of a Python sequence, itself."""

    @abstractmethod
    def refuse(self, why: str) -> NoReturn:
        """Say that a call is not supported."""

    def limit(self, why: str) -> None:
        """Refuse a call whose value would not be what the library returns; a handler without noise need not mind."""
        self.refuse(why)

    def positive(self, value: Any) -> bool:
        """Whether a parameter is positive, in every run."""
        return bool(value > 0)

    def unlisted(self, proxy: Any, name: str) -> Any:
        """What a name means that the proxy does not list: refused, unless the handler knows it."""
        self.refuse(f"it calls {proxy.called}.{name}, which lifted runs do not know")


def normal_size(size: Any, handler: Handler) -> Shape:
    """`size` as a tuple of ints, or None for one scalar; what is neither is refused."""
    if size is None:
        return None
    try:
        if isinstance(size, (tuple, list)):
            return tuple(operator.index(part) for part in size)
        return (operator.index(size),)
    except TypeError:
        handler.refuse(f"it draws with size={size!r}")


def _method(name: str, distribution: Distribution) -> Callable[..., Any]:
    """A method with the distribution's own signature, then `size`; as source, since every draw passes through it.

    Arguments that it does not know are refused: the real method may take them, and TypeError would be an output.
    """
    signature = "".join(f"{parameter}, " for parameter in distribution.parameters)
    values = "".join(f"{parameter.partition('=')[0]}, " for parameter in distribution.parameters)
    python = distribution.name.startswith("random.")
    source = (
        f"def {name}(self, {signature}{'' if python else 'size=None, '}*more, **named):\n"
        f"    if more or named:\n"
        f"        self._unknown({name!r}, more, named)\n"
        f"    {f'self._check(distribution, ({values}))' if python else ''}\n"
        f"    return self._handler.draw(distribution, ({values}), {None if python else 'size'})\n"
    )
    scope: dict[str, Any] = {"distribution": distribution}
    # Of this file, so that frames of the method are known as ours.
    exec(compile(source, __file__, "exec"), scope)
    method: Callable[..., Any] = scope[name]
    method.__module__ = __name__
    return method


_TYPED = frozenset({"random", "standard_normal", "standard_exponential", "standard_gamma"})
"""Methods that take a dtype, which is float64 unless they are told otherwise."""


class RngProxy:
    """Calls for randomness, sent on to a handler; a name that is not listed is refused."""

    called = "rng"
    """What messages call it."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._handler.unlisted(self, name)

    def __deepcopy__(self, memo: Any) -> RngProxy:
        return self

    def _unknown(self, name: str, more: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Refuse arguments that lifted runs do not know, unless they say what holds anyway."""
        typed = type(self) is GeneratorProxy and name in _TYPED and not more and set(named) == {"dtype"}
        if not typed or np.dtype(named["dtype"]) != np.float64:
            what = ", ".join(f"{keyword}=" for keyword in named) or "arguments that lifted runs do not know"
            self._handler.refuse(f"it calls {name} with {what}")

    def _bounds(self, low: Any, high: Any, endpoint: bool) -> tuple[Any, Any]:
        if high is None:
            low, high = 0, low
        if low is None or high is None:
            self._handler.refuse("it draws integers without bounds")
        return low, high + 1 if endpoint else high

    def _flat(self, values: Any, size: Any = None) -> Any:
        """A number of things, or the things in a row; whatever else may be chosen from or permuted is refused."""
        if isinstance(size, (tuple, list)) and not size:
            self._handler.limit("it draws with size=()")
        if isinstance(values, Traced):
            return values
        axes = np.ndim(values)
        if axes > 1 or (axes == 0 and not (isinstance(values, (int, np.integer)) and not isinstance(values, bool))):
            self._handler.limit(f"it chooses from or permutes a {type(values).__name__} of {axes} axes")
        return values


class GeneratorProxy(RngProxy):
    """Stands in for a `numpy.random.Generator`."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # `isinstance(rng, np.random.Generator)` must hold, as it does for the real one.
        return np.random.Generator

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        """As `Generator.integers`, of 64 bits; `dtype=int` gives a Python int."""
        if np.dtype(dtype) != np.int64:
            self._handler.limit(f"it draws integers of dtype {np.dtype(dtype)}")
        drawn = self._handler.draw(DISTRIBUTIONS["integers"], self._bounds(low, high, endpoint), size)
        return drawn.item() if dtype is int and not isinstance(drawn, np.ndarray) else drawn

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> Any:
        """As `Generator.choice`; one element, or several with replacement."""
        if (not replace and size is not None) or axis != 0:
            self._handler.limit("it chooses without replacement")
        return self._handler.choose("choice", self._flat(a, size), size, p, replace)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """As `Generator.permutation` of a number or of a flat sequence."""
        if axis != 0:
            self._handler.limit("it permutes along another axis")
        return self._handler.permute("permutation", self._flat(x))


class RandomStateProxy(RngProxy):
    """Stands in for the module `numpy.random`."""

    called = "np.random"

    def __init__(self, handler: Handler, generator: GeneratorProxy) -> None:
        super().__init__(handler)
        self.Generator: Any = np.random.Generator
        self._generator = generator

    def default_rng(self, seed: Any = None) -> GeneratorProxy:
        """A fresh generator; a seeded one is refused, because it is not random from run to run."""
        if seed is not None and not isinstance(seed, RngProxy):
            self._handler.limit("it seeds a generator of its own, so its noise is the same in every run")
        return self._generator

    def seed(self, seed: Any = None) -> None:
        """Refused: it would touch the noise of everyone."""
        self._handler.limit("it seeds np.random, so its noise may be the same in every run")

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        """As `numpy.random.randint`; only the default dtype, whose scalars are Python ints."""
        if dtype is not int:
            self._handler.limit(f"it draws integers of dtype {np.dtype(dtype)}")
        return self._handler.draw(DISTRIBUTIONS["np.random.randint"], self._bounds(low, high, False), size)

    def rand(self, *shape: int) -> Any:
        """As `numpy.random.rand`."""
        return self.random_sample(shape or None)

    def randn(self, *shape: int) -> Any:
        """As `numpy.random.randn`."""
        return self._handler.draw(DISTRIBUTIONS["np.random.standard_normal"], (), shape or None)

    def random_sample(self, size: Any = None) -> Any:
        """As `numpy.random.random_sample`."""
        return self._handler.draw(DISTRIBUTIONS["np.random.random_sample"], (), size)

    random = ranf = sample = random_sample

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        """As `numpy.random.choice`; one element, or several with replacement."""
        if not replace and size is not None:
            self._handler.limit("it chooses without replacement")
        return self._handler.choose("np.random.choice", self._flat(a, size), size, p, replace)

    def permutation(self, x: Any) -> Any:
        """As `numpy.random.permutation` of a number or of a flat sequence."""
        return self._handler.permute("np.random.permutation", self._flat(x))


class PythonRandomProxy(RngProxy):
    """Stands in for the module `random`."""

    called = "random"

    def _check(self, distribution: Distribution, params: tuple[Any, ...]) -> None:
        """Refuse parameters with which `random`, written in Python, may do other things than NumPy with columns."""
        plain = all(p.__class__ is float or p.__class__ is int for p in params)
        if not plain or not all(self._handler.positive(params[k]) for k in distribution.positive):
            self._handler.limit(f"it calls {distribution.name} with arguments that lifted runs do not know")

    def randint(self, a: Any, b: Any) -> Any:
        """As `random.randint`: both ends included."""
        self._whole(a, b)
        return self._handler.draw(DISTRIBUTIONS["random.randint"], (a, b + 1), None)

    def randrange(self, start: Any, stop: Any = None, step: int = 1) -> Any:
        """As `random.randrange` with step 1."""
        if step != 1:
            self._handler.refuse("it calls random.randrange with a step")
        self._whole(start, start if stop is None else stop)
        return self._handler.draw(DISTRIBUTIONS["random.randint"], self._bounds(start, stop, False), None)

    def _whole(self, *ends: Any) -> None:
        """Refuse ends that are no Python ints: what `random` makes of NumPy's depends on their type."""
        if any(end.__class__ is not int for end in ends):
            self._handler.limit("it draws integers between ends that are not Python ints")

    def choice(self, seq: Sequence[Any]) -> Any:
        """As `random.choice`."""
        return self._handler.pick(seq)

    def seed(self, a: Any = None, version: int = 2) -> None:
        """Refused: it would touch the noise of everyone."""
        self._handler.limit("it seeds random, so its noise may be the same in every run")


for _name, _distribution in DISTRIBUTIONS.items():
    _owner: type[RngProxy] = GeneratorProxy
    if _name.startswith("np.random."):
        _owner = RandomStateProxy
    elif _name.startswith("random."):
        _owner = PythonRandomProxy
    _short = _name.rpartition(".")[2]
    if _short not in vars(_owner):
        setattr(_owner, _short, _method(_short, _distribution))
