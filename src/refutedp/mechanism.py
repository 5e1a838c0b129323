"""Whatever the user hands in becomes one `Mechanism` record: which parameter is what."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from refutedp.errors import UsageError

EPSILON_NAMES = ("epsilon", "eps")
RNG_NAME = "rng"
SIZE_NAME = "size"
MISSING: Any = inspect.Parameter.empty


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

    `rng` is None for an opaque function with its own randomness; `size` is set when the author wrote a batched
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

    @property
    def batched(self) -> bool:
        """Whether one call returns many outputs."""
        return self.size is not None

    def call(self, data: Any, arguments: Mapping[str, Any], *, rng: Any = None, size: int | None = None) -> Any:
        """One call; `arguments` holds every option by name, epsilon included when the mechanism takes it."""
        keywords = dict(arguments)
        if self.rng is not None:
            keywords[self.rng] = rng
        if self.size is not None:
            keywords[self.size] = size
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
    roles = {epsilon, RNG_NAME}
    data = next((p for p in named if p.name not in roles), None)
    if data is None:
        if not any(p.kind is p.VAR_POSITIONAL for p in parameters):
            raise UsageError(f"mechanism {name}() takes no data: its first parameter must be the data")
        data = inspect.Parameter("data", inspect.Parameter.POSITIONAL_ONLY)
    has_rng = any(p.name == RNG_NAME for p in named)
    batched = any(p.name == SIZE_NAME and p.kind is p.KEYWORD_ONLY and p.default is MISSING for p in named)
    taken = {data.name, epsilon, RNG_NAME} | ({SIZE_NAME} if batched else set())
    return Mechanism(
        function=function,
        name=name,
        data=data.name,
        data_annotation=data.annotation,
        data_by_keyword=data.kind is data.KEYWORD_ONLY or (bool(named) and named[0] is not data),
        epsilon=epsilon,
        rng=RNG_NAME if has_rng else None,
        size=SIZE_NAME if batched else None,
        options=tuple(Option(p.name, p.annotation, p.default) for p in named if p.name not in taken),
        open=any(p.kind is p.VAR_KEYWORD for p in parameters),
    )


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
