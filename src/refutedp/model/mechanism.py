"""Whatever the user hands in becomes one `Mechanism` record: which parameter is what."""

from __future__ import annotations

import copy
import inspect
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from refutedp.model.errors import UsageError

EPSILON_NAMES = ("epsilon", "eps", "ε", "privacy_budget", "epsilon_total", "total_epsilon")
RNG_NAMES = ("rng", "generator", "random_generator", "np_rng", "prng")
LEGACY_NAMES = ("random_state", "randomstate")
SEED_NAME = "seed"
SIZE_NAME = "size"
NOISE_NAMES = frozenset(
    {
        *("delta", "rho", "mu", "sigma", "scale", "std", "stddev", "noise", "noise_scale", "noise_std"),
        *("noise_multiplier", "budget", "lam", "lambd", "lambda_"),
    }
)
"""Parameters whose names say that they decide how much noise there is: nobody but the user may choose them."""
Generators: TypeAlias = Literal["generator", "legacy", "python"]
"""What a mechanism draws from: a NumPy Generator, a NumPy RandomState, or a random.Random."""
MISSING: Any = inspect.Parameter.empty


class Exited(Exception):
    """The mechanism asked Python to end: an exception like any other, told as SystemExit."""


Exited.__name__ = Exited.__qualname__ = "SystemExit"


@dataclass(frozen=True, slots=True)
class Option:
    """A parameter beside data, epsilon, rng and size: a threshold, a bound, a sensitivity."""

    name: str
    annotation: Any = MISSING
    default: Any = MISSING

    @property
    def required(self) -> bool:
        """Whether the function has no default for it."""
        return self.default is MISSING


@dataclass(frozen=True, slots=True)
class Mechanism:
    """The thing under test, with the roles of its parameters; each role is a parameter's name or None.

    `rng` is None for an opaque function with its own randomness, and `draws_from` says which generator it is handed;
    `seed` is a parameter that gets a fresh seed in every call. `size` is set when the author wrote a batched
    function that returns `size` outputs a call. A mechanism with `**arguments` is `open`: it takes any option.
    """

    function: Callable[..., Any]
    name: str
    data: str
    data_annotation: Any
    data_by_keyword: bool
    epsilon: str | None
    rng: str | None
    size: str | None
    options: tuple[Option, ...]
    open: bool = False
    seed: str | None = None
    draws_from: Generators = "generator"

    @property
    def batched(self) -> bool:
        """Whether one call returns many outputs."""
        return self.size is not None

    def call(self, data: Any, arguments: Mapping[str, Any], *, rng: Any = None, size: int | None = None) -> Any:
        """One call; `arguments` holds every option by name, epsilon included when the mechanism takes it."""
        keywords = dict(arguments)
        if self.seed is not None:
            keywords[self.seed] = _seed_from(rng)
        if self.rng is not None:
            keywords[self.rng] = rng if self.draws_from == "generator" else _converted(rng, self.draws_from)
        if self.size is not None:
            keywords[self.size] = size
        try:
            return self._call(data, keywords)
        except SystemExit as error:
            # It would end the check, and with its exit code speak for it.
            raise Exited(f"it calls sys.exit({error.code!r})") from error

    def _call(self, data: Any, keywords: dict[str, Any]) -> Any:
        if self.data_by_keyword:
            return self.function(**{self.data: data}, **keywords)
        return self.function(data, **keywords)


def describe(function: Any, *, epsilon_name: str | None = None) -> Mechanism:
    """Read a function's signature; every refusal is one `UsageError` sentence.

    >>> def above(queries, epsilon, threshold, rng): ...
    >>> m = describe(above)
    >>> m.data, m.epsilon, m.rng, [option.name for option in m.options]
    ('queries', 'epsilon', 'rng', ['threshold'])
    """
    if isinstance(function, Mechanism):
        return function
    if not callable(function):
        raise UsageError(f"mechanism={function!r} is not callable: pass a function such as f(data, epsilon, rng)")
    name = _name_of(function)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise UsageError(
            f"mechanism {name} has no readable signature: wrap it in a function f(data, epsilon, rng)"
        ) from None
    for parameter in parameters:
        if parameter.kind is parameter.POSITIONAL_ONLY and parameter is not parameters[0]:
            raise UsageError(
                f"mechanism {name}() takes '{parameter.name}' by position only: "
                "wrap it in a function whose arguments can be given by name"
            )
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    epsilon = _epsilon_parameter(name, named, epsilon_name)
    rng, draws_from = _rng_parameter(named)
    seed = next((p.name for p in named if p.name == SEED_NAME and p.default in (MISSING, None)), None)
    data = next((p for p in named if p.name not in (epsilon, rng, seed)), None)
    if data is None:
        if not any(p.kind is p.VAR_POSITIONAL for p in parameters):
            raise UsageError(f"mechanism {name}() takes no data: its first parameter must be the data")
        data = inspect.Parameter("data", inspect.Parameter.POSITIONAL_ONLY)
    batched = any(p.name == SIZE_NAME and p.kind is p.KEYWORD_ONLY and p.default is MISSING for p in named)
    taken = {data.name, epsilon, rng, seed} | ({SIZE_NAME} if batched else set())
    return Mechanism(
        function=function,
        name=name,
        data=data.name,
        data_annotation=data.annotation,
        data_by_keyword=data.kind is data.KEYWORD_ONLY or (bool(named) and named[0] is not data),
        epsilon=epsilon,
        rng=rng,
        size=SIZE_NAME if batched else None,
        options=tuple(Option(p.name, p.annotation, p.default) for p in named if p.name not in taken),
        open=any(p.kind is p.VAR_KEYWORD for p in parameters),
        seed=seed,
        draws_from=draws_from,
    )


def _rng_parameter(parameters: list[inspect.Parameter]) -> tuple[str | None, Generators]:
    """The parameter that takes a generator, by its annotation or its name, and which generator."""
    for parameter in parameters:
        written = parameter.annotation
        text = written if isinstance(written, str) else inspect.formatannotation(written)
        if "RandomState" in text:
            return parameter.name, "legacy"
        if "random.Random" in text:
            return parameter.name, "python"
        if "Generator" in text and "random" in text:
            return parameter.name, "generator"
    names = {parameter.name for parameter in parameters}
    kinds: tuple[tuple[tuple[str, ...], Generators], ...] = ((RNG_NAMES, "generator"), (LEGACY_NAMES, "legacy"))
    for known, kind in kinds:
        found = next((name for name in known if name in names), None)
        if found is not None:
            return found, kind
    return None, "generator"


def _seed_from(rng: Any) -> int:
    """A fresh seed; where noise is left out, any will do."""
    return int(rng.integers(2**32)) if isinstance(rng, np.random.Generator) else 0


def _converted(rng: Any, kind: Generators) -> Any:
    """The generator that a mechanism wants, on the bits of a NumPy Generator."""
    if not isinstance(rng, np.random.Generator):
        return rng
    if kind == "legacy":
        return np.random.RandomState(rng.bit_generator)
    return random.Random(int(rng.integers(2**63)))


def _name_of(function: Any) -> str:
    inner = getattr(function, "func", function)  # functools.partial
    name = getattr(inner, "__name__", None)
    return str(name) if name is not None else type(function).__name__


def _epsilon_parameter(name: str, parameters: list[inspect.Parameter], given: str | None) -> str | None:
    names = [p.name for p in parameters]
    if given is not None:
        if given not in names:
            raise UsageError(
                f"epsilon_name={given!r} is not a parameter of {name}(): it has {', '.join(names) or 'none'}"
            )
        return given
    return next((n for n in EPSILON_NAMES if n in names), None)


_IMMUTABLE = (bool, int, float, str, bytes, type(None), np.generic)


def fresh_copies(value: Any) -> Callable[[], Any]:
    """A function that makes fresh copies of an input, as cheaply as its contents allow.

    >>> make = fresh_copies([1, 2])
    >>> make() == make(), make() is make()
    (True, False)
    """
    items = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
    plain = all(isinstance(item, _IMMUTABLE) for item in items)
    if isinstance(value, _IMMUTABLE) or (type(value) is tuple and plain):
        return lambda: value
    if (type(value) in (list, dict) and plain) or (isinstance(value, np.ndarray) and value.dtype != object):
        copied: Callable[[], Any] = value.copy
        return copied
    return lambda: copy.deepcopy(value)
