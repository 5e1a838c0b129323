"""Runs of a mechanism on Gaussian noise that is left as symbols: outputs that are affine in it are known altogether.

A mechanism that only adds, scales and rearranges Gaussian noise returns Gaussian numbers. One call tells their means
and how much of every standard draw is in each, if nothing else is done to the noise; whatever is not affine
(`tracing.affine`), or draws from another distribution, ends the run, even where the mechanism swallows exceptions.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import FunctionType, MethodType
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.model.mechanism import Mechanism, fresh_copies
from refutedp.model.outputs import Path
from refutedp.model.settings import kept_globals
from refutedp.tracing.affine import Affine, Clipped, holds_symbols, made, stacked
from refutedp.tracing.affine_functions import FUNCTIONS, as_float, extreme
from refutedp.tracing.copier import Copier, Stage, is_library, names_only_called, used_names
from refutedp.tracing.distributions import Distribution, Params
from refutedp.tracing.rng_proxy import Handler, Shape, Traced, normal_size
from refutedp.tracing.watchdog import DidNotReturn, now_on, one_call

Floats: TypeAlias = NDArray[np.float64]

MOST_DRAWS, MOST_NUMBERS = 1000, 1000
"""Standard draws of a run, and numbers that it returns."""
_MAKERS = frozenset({"zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "array", "copy"})
_KEYWORDS = frozenset({"axis", "dtype", "decimals"})
_GAUSSIAN = frozenset({"normal", "standard_normal", "gauss", "normalvariate"})


class NotAffine(BaseException):
    """The run did something else to its noise; no `except Exception` of the mechanism hides that."""


@dataclass(frozen=True, slots=True)
class DrawMade:
    """A call for noise: how many came before it, which distribution, and of what shape."""

    position: int
    distribution: str
    shape: Shape

    @property
    def size(self) -> int:
        """How many standard draws it is made of."""
        return math.prod(self.shape or ())


@dataclass(frozen=True, slots=True)
class AffineOutput:
    """The numbers of an output: number i is `at[i]` and `per[i] @ z` for standard Gaussian z, within `error[i]`.

    Then it is clipped to [`low[i]`, `high[i]`]. `draws` are the calls for noise that z is made of, in order.
    """

    paths: tuple[Path, ...]
    at: Floats
    per: Floats
    error: Floats
    low: Floats
    high: Floats
    draws: tuple[DrawMade, ...]


class AffineTracer:
    """Runs of one mechanism.

    >>> from refutedp.model.mechanism import describe
    >>> tracer = AffineTracer(describe(lambda data, rng: [sum(data) + 3 * rng.normal(), max(data)]))
    >>> found = tracer.output([1.0, 2.0], {})
    >>> found.paths, found.at.tolist(), found.per.tolist()
    (((0,), (1,)), [3.0, 2.0], [[3.0], [0.0]])
    >>> AffineTracer(describe(lambda data, rng: abs(data[0] + rng.normal()))).output([1.0], {}) is None
    True
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self._handler = _Symbols()
        self._stage = _Stage(self._handler)
        self._mechanism = replace(mechanism, function=_Copier(self._stage).copy(mechanism.function))

    def output(self, data: Any, arguments: Mapping[str, Any]) -> AffineOutput | None:
        """The output on one input; None where it is not affine in Gaussian noise, or cannot be told."""
        self._handler.arrays = False
        now_on(self._mechanism.name, data)
        found = self._output(data, arguments)
        if found is None and self._handler.stored:
            # It puts noise into arrays that it made before: those must be able to hold it.
            self._handler.arrays = True
            found = self._output(data, arguments)
        return found

    def _output(self, data: Any, arguments: Mapping[str, Any]) -> AffineOutput | None:
        handler = self._handler
        handler.begin()
        try:
            with kept_globals(), np.errstate(all="ignore"):
                rng = self._stage.generator(self._mechanism.draws_from)
                with one_call():
                    returned = self._mechanism.call(fresh_copies(data)(), fresh_copies(dict(arguments))(), rng=rng)
            leaves = list(_leaves(handler, returned, ()))
            if not handler.draws or not 0 < len(leaves) <= MOST_NUMBERS:
                return None
            paths, values = zip(*leaves, strict=True)
            clipped = [(one.low, one.high) if type(one) is Clipped else (-math.inf, math.inf) for one in values]
            numbers = stacked(handler, [one.inner if type(one) is Clipped else one for one in values])
        except (NotAffine, DidNotReturn, Exception):
            return None
        if handler.refused:
            return None
        per, low, high = numbers.per_draw(handler.count), *np.array(clipped).T
        return AffineOutput(paths, numbers.at, per, numbers.error, low, high, tuple(handler.draws))


class _Stage(Stage):
    """What the traced copy sees: NumPy's functions that are affine, for symbols; all others for numbers alone."""

    def __init__(self, handler: _Symbols) -> None:
        super().__init__(handler)
        self._symbols = handler

    def builtins(self, function: FunctionType) -> dict[str, Any]:
        """`float` keeps symbols, and `max` and `min` clip them, where these are only called."""
        called = names_only_called(function.__code__)
        own = {"float": as_float, **{name: extreme(name, self._symbols) for name in ("max", "min")}}
        return super().builtins(function) | {name: value for name, value in own.items() if name in called}

    def name(self, value: Any) -> Any:
        """Of what was imported from NumPy, too."""
        label = getattr(value, "__name__", None)
        if isinstance(label, str) and callable(value) and getattr(np, label, None) is value:
            return self._numpy_attribute(label)
        return super().name(value)

    def _numpy_attribute(self, name: str) -> Any:
        value = super()._numpy_attribute(name)
        if name == "random" or isinstance(value, type) or not callable(value):
            return value

        def call(*args: Any, **keywords: Any) -> Any:
            if not any(map(holds_symbols, (*args, *keywords.values()))):
                plain = value(*args, **keywords)
                return self._symbols.array(plain) if name in _MAKERS else plain
            affine = FUNCTIONS.get(name)
            if affine is None or keywords.keys() - _KEYWORDS:
                self._symbols.refuse(f"it calls np.{name} on noise")
            return affine(self._symbols, *args, **keywords)

        return call


class _Copier(Copier):
    def replacement(self, name: str, value: Any, used: set[str]) -> Any:
        """A stand-in, or a copy: of the user's functions, which may draw, and of what a run may write to."""
        own = super().replacement(name, value, used)
        if own is not value:
            return own
        if isinstance(value, FunctionType | MethodType | partial):
            module = getattr(getattr(value, "func", value), "__module__", None)
            return value if is_library(str(module or "")) else self.copy(value)
        return copy.deepcopy(value) if type(value) in (list, dict, set) else value

    def check(self, function: FunctionType, copied: FunctionType) -> None:
        """What asks for the very type of a value would see a symbol."""
        if "type" in used_names(function.__code__):
            handler = self.stage.rng._handler
            assert isinstance(handler, _Symbols)
            handler.hopeless = True


class _Symbols(Handler):
    """Hands out Gaussian noise as symbols, and remembers every refusal."""

    def __init__(self) -> None:
        self.arrays = False
        """Whether fresh arrays are to hold symbols, too."""
        self.hopeless = False
        """Whether the mechanism cannot be traced on any input."""
        self.begin()

    def begin(self) -> None:
        """Before a run."""
        self.refused = self.hopeless
        self.draws: list[DrawMade] = []
        self.count = 0
        self.stored = False

    def array(self, plain: Any) -> Any:
        """A fresh array, as it is to be."""
        if not self.arrays or type(plain) is not np.ndarray or not plain.ndim or plain.dtype != np.float64:
            return plain
        return made(self, plain, np.zeros((*plain.shape, 0)), np.zeros(plain.shape))

    def refuse(self, why: str) -> NoReturn:
        """End the run."""
        self.refused = True
        raise NotAffine(why)

    def draw(self, distribution: Distribution, params: Params, size: Any) -> Any:
        """Location and scale of fresh symbols; the scale is to be a number."""
        location, scale = params if params else (0.0, 1.0)
        if distribution.name.rpartition(".")[2] not in _GAUSSIAN or isinstance(scale, Traced):
            self.refuse(f"it draws from {distribution.name}")
        if not np.all(np.isfinite(scale)) or not np.all(np.asarray(scale) > 0):
            self.refuse("its noise has no scale")
        shape = normal_size(size, self)
        if shape is None:
            wide = location.at.shape if isinstance(location, Affine) else np.shape(location)
            shape = np.broadcast_shapes(wide, np.shape(scale)) or None
        asked = DrawMade(len(self.draws), distribution.name, shape)
        if self.count + asked.size > MOST_DRAWS:
            self.refuse("it draws too many numbers")
        per = np.zeros((asked.size, self.count + asked.size))
        per[:, self.count :] = np.eye(asked.size)
        self.draws.append(asked)
        self.count += asked.size
        plain = shape or ()
        python = shape is None and distribution.convert is not None
        symbols = made(self, np.zeros(plain), per.reshape(*plain, -1), np.zeros(plain), python)
        return symbols * scale + location

    def choose(self, distribution: str, options: Any, size: Any, p: Any, replace: bool) -> Any:
        """Not affine."""
        self.refuse("it chooses")

    def permute(self, distribution: str, values: Any) -> Any:
        """Not affine."""
        self.refuse("it permutes")

    def pick(self, options: Sequence[Any]) -> Any:
        """Not affine."""
        self.refuse("it chooses")


def _leaves(handler: _Symbols, value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The numbers of an output and where they are."""
    if type(value) is Clipped:
        yield from ((place, value.within(one)) for place, one in _leaves(handler, value.inner, path))
    elif isinstance(value, Affine) or type(value) is np.ndarray:
        if type(value) is np.ndarray and value.dtype.kind not in "bif":
            handler.refuse("it returns an array of something else than numbers")
        for place in np.ndindex(value.at.shape if isinstance(value, Affine) else value.shape):
            yield (*path, *place), (value[place] if place else value)  # type: ignore[index]
    elif type(value) in (list, tuple):
        for number, part in enumerate(value):
            yield from _leaves(handler, part, (*path, number))
    elif type(value) is dict:
        for key, part in value.items():
            if type(key) not in (str, int):
                handler.refuse("it returns a dict with other keys than texts and whole numbers")
            yield from _leaves(handler, part, (*path, key))
    elif type(value) in (bool, int, float, np.float64, np.int64, np.bool_):
        yield path, value
    elif type(value) is not str and value is not None:
        handler.refuse("it returns something else than numbers")
