"""Runs a copy of the mechanism whose draws are `DrawnNumber`s, once for each path."""

from __future__ import annotations

import copy
import math
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from refutedp.exact import families
from refutedp.exact.absolute_number import AbsoluteNumber
from refutedp.exact.drawn_number import DrawnNumber
from refutedp.exact.families import DrawFamily
from refutedp.exact.linear_sums import plain
from refutedp.exact.trail import CannotEnumerate, Trail
from refutedp.sampling.lifted.trust.plain_calls import Recorded
from refutedp.tracing.copier import ModuleProxy, OwnCodeCopier, Stage
from refutedp.tracing.distributions import Distribution
from refutedp.tracing.rng_proxy import Handler, Traced, normal_size

MOST_PERMUTED = 4
MOST_TRIALS = 500
"""Up to so many trials a binomial draw is followed."""

Placed = tuple[Any, Any, DrawFamily]
"""Location, scale and standard form: a draw is location + scale × standard."""

_PLACED: Mapping[str, Callable[..., Placed]] = {
    **{
        name: lambda loc, scale, name=name: (loc, scale, families.family(name))
        for name in ("laplace", "normal", "gumbel", "logistic")
    },
    "gauss": lambda loc, scale: (loc, scale, families.family("normal")),
    "normalvariate": lambda loc, scale: (loc, scale, families.family("normal")),
    "standard_normal": lambda: (0, 1, families.family("normal")),
    "standard_cauchy": lambda: (0, 1, families.family("cauchy")),
    "standard_exponential": lambda: (0, 1, families.family("exponential")),
    "exponential": lambda scale: (0, scale, families.family("exponential")),
    "expovariate": lambda rate: (0, 1 / rate, families.family("exponential")),
    "rayleigh": lambda scale: (0, scale, families.family("rayleigh")),
    "random": lambda: (0, 1, families.family("uniform")),
    "random_sample": lambda: (0, 1, families.family("uniform")),
    "uniform": lambda low, high: (low, high - low, families.family("uniform")),
    "integers": lambda low, high: (low, 1, families.equally(_count(low, high))),
    "randint": lambda low, high: (low, 1, families.equally(_count(low, high))),
    "geometric": lambda p: (0, 1, families.geometric(_chance(p))),
    "binomial": lambda n, p: (0, 1, families.binomial(_trials(n), _chance(p))),
}
"""How each distribution that is followed is made of a standard one, by the last part of its name."""


def placed(distribution: Distribution, params: Sequence[Any]) -> Placed:
    """The standard form of a draw; raises what the library raises for parameters that it refuses."""
    make = _PLACED.get(distribution.name.rpartition(".")[2])
    if make is None:
        raise CannotEnumerate(f"it draws with {distribution.name}")
    location, scale, standard = make(*params)
    if plain(scale) is None:
        raise CannotEnumerate("the scale of a draw is drawn")
    if scale < 0:
        raise ValueError("scale < 0")
    return location, scale, standard


def _count(low: Any, high: Any) -> int:
    if plain(low) is None or plain(high) is None:
        raise CannotEnumerate("the ends of a draw are drawn")
    if high <= low:
        raise ValueError("low >= high")
    return int(high - low)


def _chance(p: Any) -> float:
    if plain(p) is None:
        raise CannotEnumerate("the probability of a draw is drawn")
    if not 0 <= p <= 1:
        raise ValueError("p < 0, p > 1 or p is NaN")
    if p == 0:
        raise CannotEnumerate("a success has probability 0")
    return float(p)


def _trials(n: Any) -> int:
    if plain(n) is None or not 0 <= n <= MOST_TRIALS:
        raise CannotEnumerate("a binomial draw has too many trials")
    return int(n)


class StandardDraws(Handler):
    """A handler of scalars, arrays and choices for who answers the draws of standard form one by one."""

    def standard(self, family: DrawFamily) -> Any:
        """One draw of standard form."""
        raise NotImplementedError

    def index(self, family: DrawFamily) -> int:
        """One draw of few whole numbers, as a plain one."""
        raise NotImplementedError

    def draw(self, distribution: Distribution, params: tuple[Any, ...], size: Any) -> Any:
        """One number, or an array of them."""
        shape = normal_size(size, self)
        shapes = [np.shape(p) for p in params if not isinstance(p, DrawnNumber)]
        whole = shape if shape is not None else np.broadcast_shapes(*shapes)
        if whole == () and shape is None:
            drawn = self._one(distribution, params)
        else:
            columns = [
                [p] * math.prod(whole) if isinstance(p, DrawnNumber) else [*np.broadcast_to(p, whole).flat]
                for p in params
            ]
            rows = list(zip(*columns, strict=True)) if columns else [()] * math.prod(whole)
            drawn = self.array([self._one(distribution, row) for row in rows], whole)
        self.record(distribution.name, params, size, drawn)
        return drawn

    def record(self, distribution: str, params: tuple[Any, ...], size: Any, value: Any) -> None:
        """Hear of one draw: numbers, or the places of what was chosen."""

    def _one(self, distribution: Distribution, params: Sequence[Any]) -> Any:
        location, scale, standard = placed(distribution, params)
        value = self.standard(standard)
        if not (type(scale) is int and scale == 1):
            value = value * scale
        value = value + location
        # As the library returns it.
        kind = distribution.convert or (np.int64 if standard.whole else np.float64)
        return value.cast(kind) if isinstance(value, DrawnNumber) else kind(value)

    def choose(self, distribution: str, options: Any, size: Any, p: Any, replace: bool) -> Any:
        """One path for each option."""
        shape = normal_size(size, self)
        number = np.ndim(options) == 0
        count = int(options) if number else len(options)
        if count <= 0:
            raise ValueError("a cannot be empty unless no samples are taken")
        if p is not None and any(plain(one) is None for one in p):
            self.refuse("the probabilities of a choice are drawn")
        family = families.equally(count) if p is None else families.among(tuple(map(float, p)))
        chosen: Any = self.index(family) if shape is None else self._indices([family] * math.prod(shape), shape)
        self.record(distribution, (options, p), size, chosen)
        return chosen if number else np.asarray(options)[chosen]

    def _indices(self, families: Sequence[DrawFamily], shape: tuple[int, ...]) -> Any:
        return np.array([self.index(family) for family in families], dtype=np.int64).reshape(shape)

    def pick(self, options: Sequence[Any]) -> Any:
        """One path for each element."""
        if not len(options):
            raise IndexError("Cannot choose from an empty sequence")
        chosen = self.index(families.equally(len(options)))
        self.record("random.choice", (len(options),), None, chosen)
        return options[chosen]

    def permute(self, distribution: str, values: Any) -> Any:
        """One path for each order."""
        count = int(values) if np.ndim(values) == 0 else len(values)
        if count > MOST_PERMUTED:
            self.refuse("it permutes many values")
        rest, order = list(range(count)), []
        while rest:
            order.append(rest.pop(self.index(families.equally(len(rest)))))
        self.record(distribution, (values,), None, np.array(order, dtype=np.int64))
        return np.array(order) if np.ndim(values) == 0 else np.asarray(values)[order]

    def array(self, values: list[Any], shape: tuple[int, ...]) -> Any:
        """Numbers in an array."""
        if not any(isinstance(value, DrawnNumber) for value in values):
            return np.array(values).reshape(shape)
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array.reshape(shape)

    def refuse(self, why: str) -> NoReturn:
        """Give up the path."""
        raise CannotEnumerate(why)


class DrawnNumbers(StandardDraws):
    """Answers with numbers on the current trail, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.start(Trail())

    def start(self, trail: Trail) -> None:
        """Answer on another trail."""
        self.trail = trail
        self.recorded: list[Recorded] = []
        """Every draw of the run, with numbers of the trail in it."""

    def record(self, distribution: str, params: tuple[Any, ...], size: Any, value: Any) -> None:
        """Keep one draw, as it was before the mechanism may write into it."""
        kept = tuple(copy.copy(one) if isinstance(one, list | np.ndarray) else one for one in (*params, value))
        self.recorded.append(Recorded(distribution, kept[:-1], normal_size(size, self), kept[-1]))

    def standard(self, family: DrawFamily) -> Any:
        """A number about which nothing is known yet."""
        return DrawnNumber(self.trail, self.trail.draw(family), int if family.whole else float)

    def index(self, family: DrawFamily) -> int:
        """A path for each value."""
        if family.size > families.MOST_VALUES:
            self.refuse("it chooses among many")
        self.trail.draw(family)
        return int(self.trail.value_of(len(self.trail.draws) - 1))


def recorded_at(recorded: Sequence[Recorded], values: Sequence[float]) -> list[Recorded]:
    """Recorded draws, as they are where the draws of their trail have these values."""
    known = list(values)
    return [
        Recorded(one.distribution, _evaluated(one.params, known), one.size, _evaluated(one.value, known))
        for one in recorded
    ]


def _evaluated(value: Any, values: list[float]) -> Any:
    if isinstance(value, AbsoluteNumber):
        return abs(_evaluated(value.inner, values))
    if isinstance(value, DrawnNumber):
        return value.kind(value.at(values))
    if type(value) in (list, tuple):
        return type(value)([_evaluated(one, values) for one in value])
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.array([_evaluated(one, values) for one in value.flat]).reshape(value.shape)
    return value


def _on_numbers(original: Callable[..., Any], drawn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that treats drawn numbers in its own way."""

    def function(*values: Any, **named: Any) -> Any:
        if not any(isinstance(value, Traced) for value in values):
            return original(*values, **named)
        return drawn(*(value.cased() if isinstance(value, AbsoluteNumber) else value for value in values), **named)

    return function


_MATH: dict[str, Callable[..., Any]] = {
    "exp": operator.methodcaller("exp"),
    "expm1": operator.methodcaller("expm1"),
    "log1p": operator.methodcaller("log1p"),
    "sqrt": operator.methodcaller("sqrt"),
    "fabs": abs,
    "isnan": lambda _: False,
    "isinf": lambda _: False,
    "isfinite": lambda _: True,
    "log": lambda x, *base: x.log() / math.log(base[0]) if base else x.log(),
    "log2": lambda x: x.log() / math.log(2),
    "log10": lambda x: x.log() / math.log(10),
    "copysign": lambda x, y: abs(x) if y >= 0 else -abs(x),
    "pow": lambda x, power: x**power,
}
_NUMPY: dict[str, Callable[..., Any]] = {
    "isnan": lambda _: False,
    "isinf": lambda _: False,
    "isfinite": lambda _: True,
}
_MATH_FUNCTIONS = {getattr(math, name): _on_numbers(getattr(math, name), own) for name, own in _MATH.items()}


class _StandInType(type):
    """The type of a class that stands for its `original` in isinstance, and makes what `make` does."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, vars(cls)["original"])

    def __call__(cls, *values: Any, **named: Any) -> Any:
        if values and isinstance(values[0], Traced):
            return vars(cls)["make"](values[0])
        return vars(cls)["original"](*values, **named)


_INT = _StandInType("int", (int,), {"original": int, "make": staticmethod(lambda number: number.__trunc__())})
_FLOAT = _StandInType("float", (float,), {"original": float, "make": staticmethod(lambda number: number.cast(float))})
_TYPE = _StandInType("type", (type,), {"original": type, "make": staticmethod(lambda number: number.__class__)})


class EnumeratedStage(Stage):
    """What an enumerated copy sees: draws are numbers of the path, and `math`, `int` and `float` know them."""

    def __init__(self, draws: Handler) -> None:
        super().__init__(draws)
        self._math = ModuleProxy(math, lambda name: self.name(getattr(math, name)))

    def module(self, value: Any) -> Any:
        """As for any copy, and a `math` of its own."""
        return self._math if value is math else super().module(value)

    def name(self, value: Any) -> Any:
        """As for any copy, and the functions of `math`."""
        try:
            own = _MATH_FUNCTIONS.get(value)
        except TypeError:
            own = None
        return super().name(value) if own is None else own

    def builtins(self, function: types.FunctionType) -> dict[str, Any]:
        """Builtins that keep drawn numbers."""
        return super().builtins(function) | {"int": _INT, "float": _FLOAT, "type": _TYPE}

    def _numpy_attribute(self, name: str) -> Any:
        value = super()._numpy_attribute(name)
        if name in _NUMPY:
            return _on_numbers(value, _NUMPY[name])
        return _on_numbers(value, lambda x: x.cast(np.float64)) if name in ("float64", "double") else value


class EnumeratedCopier(OwnCodeCopier):
    """Copies the user's own code, on the globals of its modules."""

    def names(self, function: types.FunctionType) -> dict[str, Any]:
        """The module's globals."""
        return {**function.__globals__, "__builtins__": self.stage.builtins(function)}
