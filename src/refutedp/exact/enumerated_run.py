"""Runs a copy of the mechanism whose draws are `DrawnNumber`s, once for each path."""

from __future__ import annotations

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
from refutedp.tracing.copier import Copier, ModuleProxy, Stage, is_library
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
            return self._one(distribution, params)
        columns = [
            [p] * math.prod(whole) if isinstance(p, DrawnNumber) else [*np.broadcast_to(p, whole).flat]
            for p in params
        ]
        rows = list(zip(*columns, strict=True)) if columns else [()] * math.prod(whole)
        return self.array([self._one(distribution, row) for row in rows], whole)

    def _one(self, distribution: Distribution, params: Sequence[Any]) -> Any:
        location, scale, standard = placed(distribution, params)
        value = self.standard(standard)
        if not (type(scale) is int and scale == 1):
            value = value * scale
        value = value + location
        return value if isinstance(value, DrawnNumber) else self.converted(value, distribution, standard)

    def converted(self, value: Any, distribution: Distribution, standard: DrawFamily) -> Any:
        """A plain value as the library returns it."""
        if distribution.convert is not None:
            return distribution.convert(value)
        return np.int64(value) if standard.whole else value

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
        if shape is None:
            chosen = self.index(family)
            return chosen if number else np.asarray(options)[chosen]
        many = np.array([self.index(family) for _ in range(math.prod(shape))], dtype=np.int64).reshape(shape)
        return many if number else np.asarray(options)[many]

    def pick(self, options: Sequence[Any]) -> Any:
        """One path for each element."""
        if not len(options):
            raise IndexError("Cannot choose from an empty sequence")
        return options[self.index(families.equally(len(options)))]

    def permute(self, distribution: str, values: Any) -> Any:
        """One path for each order."""
        count = int(values) if np.ndim(values) == 0 else len(values)
        if count > MOST_PERMUTED:
            self.refuse("it permutes many values")
        rest, order = list(range(count)), []
        while rest:
            order.append(rest.pop(self.index(families.equally(len(rest)))))
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
    """Answers with numbers on the current trail."""

    def __init__(self) -> None:
        self.trail = Trail()

    def standard(self, family: DrawFamily) -> Any:
        """A number about which nothing is known yet."""
        return DrawnNumber(self.trail, self.trail.draw(family), family.whole)

    def index(self, family: DrawFamily) -> int:
        """A path for each value."""
        if family.size > families.MOST_VALUES:
            self.refuse("it chooses among many")
        self.trail.draw(family)
        return int(self.trail.value_of(len(self.trail.draws) - 1))


class RecalledDraws(StandardDraws):
    """Answers with given values of standard form, and keeps account of whether the run asks for just these."""

    def __init__(self, families: Sequence[DrawFamily], values: Sequence[float]) -> None:
        self._families, self._values = families, values
        self.asked = 0
        self.astray = False

    @property
    def faithful(self) -> bool:
        """Whether all draws were asked for, in this order, and no others."""
        return not self.astray and self.asked == len(self._values)

    def standard(self, family: DrawFamily) -> Any:
        """The next value."""
        place, self.asked = self.asked, self.asked + 1
        if place >= len(self._values) or family is not self._families[place]:
            self.astray = True
            raise CannotEnumerate("the function draws otherwise")
        return int(self._values[place]) if family.whole else float(self._values[place])

    def index(self, family: DrawFamily) -> int:
        """The next value."""
        return int(self.standard(family))

    def refuse(self, why: str) -> NoReturn:
        """The function does what its enumerated run did not."""
        self.astray = True
        super().refuse(why)


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
        if isinstance(instance, AbsoluteNumber):
            instance = instance.inner
        if isinstance(instance, DrawnNumber):
            return instance.whole == (vars(cls)["original"] is int)
        return isinstance(instance, vars(cls)["original"])

    def __call__(cls, *values: Any, **named: Any) -> Any:
        if values and isinstance(values[0], Traced):
            return vars(cls)["make"](values[0])
        return vars(cls)["original"](*values, **named)


_INT = _StandInType("int", (int,), {"original": int, "make": staticmethod(lambda number: number.__trunc__())})
_FLOAT = _StandInType("float", (float,), {"original": float, "make": staticmethod(lambda number: number.as_float())})


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
        return super().builtins(function) | {"int": _INT, "float": _FLOAT}

    def _numpy_attribute(self, name: str) -> Any:
        value = super()._numpy_attribute(name)
        if name in _NUMPY:
            return _on_numbers(value, _NUMPY[name])
        return _on_numbers(value, DrawnNumber.as_float) if name in ("float64", "double") else value


class EnumeratedCopier(Copier):
    """Copies the user's functions and those that they call; a library's are run as they are."""

    def copy_function(self, function: types.FunctionType) -> types.FunctionType:
        """The copy of a function of the user's own modules."""
        return function if is_library(function.__module__ or "") else super().copy_function(function)

    def names(self, function: types.FunctionType) -> dict[str, Any]:
        """The module's globals."""
        return {**function.__globals__, "__builtins__": self.stage.builtins(function)}

    def given(self, value: Any) -> Any:
        """What stands for a default, or an argument of a partial."""
        return self.replacement("", value, set())

    bound = given

    def replacement(self, name: str, value: Any, used: set[str]) -> Any:
        """A proxy, the copy of a function, or the value itself."""
        if isinstance(value, types.FunctionType):
            return self.copy_function(value)
        return super().replacement(name, value, used)
