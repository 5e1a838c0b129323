"""Whatever the user hands in becomes one `Mechanism` record; what it says of itself, and where it comes from."""

from __future__ import annotations

import copy
import functools
import hashlib
import inspect
import operator
import random
import sys
import sysconfig
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from refutedp.model.adjacency import Adjacency
from refutedp.model.claims import Claim
from refutedp.model.errors import UsageError

EPSILON_NAMES = ("epsilon", "eps", "ε", "privacy_budget", "epsilon_total", "total_epsilon")
RNG_NAMES = ("rng", "generator", "random_generator", "np_rng", "prng")
LEGACY_NAMES = ("random_state", "randomstate")
SEED_NAME, SIZE_NAME = "seed", "size"
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
OWN_RANDOMNESS = "It draws from its own secure randomness: a seed cannot reproduce this result exactly."
_IMMUTABLE = (bool, int, float, str, bytes, type(None), np.generic)


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
    function that returns `size` outputs a call. A mechanism with `**arguments` is `open`: it takes any option. One
    that is `opaque` is never lifted.
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
    opaque: bool = False

    @property
    def batched(self) -> bool:
        """Whether one call returns many outputs."""
        return self.size is not None

    def call(self, data: Any, arguments: Mapping[str, Any], *, rng: Any = None, size: int | None = None) -> Any:
        """One call; `arguments` holds every option by name, epsilon included when the mechanism takes it."""
        keywords = dict(arguments)
        if self.seed is not None:
            # Where noise is left out, any seed will do.
            keywords[self.seed] = int(rng.integers(2**32)) if isinstance(rng, np.random.Generator) else 0
        if self.rng is not None:
            keywords[self.rng] = rng if self.draws_from == "generator" else _converted(rng, self.draws_from)
        if self.size is not None:
            keywords[self.size] = size
        try:
            if self.data_by_keyword:
                return self.function(**{self.data: data}, **keywords)
            return self.function(data, **keywords)
        except SystemExit as error:
            # It would end the check, and with its exit code speak for it.
            raise Exited(f"it calls sys.exit({error.code!r})") from error


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
    inner = getattr(function, "func", function)  # functools.partial
    name = str(getattr(inner, "__name__", type(function).__name__))
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
        opaque=own_of(function).opaque,
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
    found = next((name for name in (*RNG_NAMES, *LEGACY_NAMES) if name in names), None)
    return found, "legacy" if found in LEGACY_NAMES else "generator"


def _converted(rng: Any, kind: Generators) -> Any:
    """The generator that a mechanism wants, on the bits of a NumPy Generator."""
    if not isinstance(rng, np.random.Generator):
        return rng
    if kind == "legacy":
        return np.random.RandomState(rng.bit_generator)
    return random.Random(int(rng.integers(2**63)))


def _epsilon_parameter(name: str, parameters: list[inspect.Parameter], given: str | None) -> str | None:
    names = [p.name for p in parameters]
    if given is not None:
        if given not in names:
            raise UsageError(
                f"epsilon_name={given!r} is not a parameter of {name}(): it has {', '.join(names) or 'none'}"
            )
        return given
    return next((n for n in EPSILON_NAMES if n in names), None)


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


@dataclass(frozen=True, slots=True)
class Own:
    """What a mechanism says about itself; None leaves it to the caller.

    An object whose attribute `__refutedp__` holds one gives `check` its defaults.
    """

    claim: Claim | None = None
    adjacency: Adjacency | None = None
    pairs: Sequence[Any] | None = None
    notes: tuple[str, ...] = ()
    opaque: bool = False
    """Whether its code is not to be looked into, as that of a library: every run is then a call."""

    def defaults(self, claim: Any, epsilon: Any, adjacency: Any, pairs: Any) -> tuple[Any, Any, Any]:
        """Claim, adjacency and pairs, the mechanism's own where the caller gave none."""
        if claim is None and epsilon is None:
            claim = self.claim
        if adjacency is None and self.adjacency is not None:
            adjacency = self.adjacency
            pairs = self.pairs if pairs is None else pairs
        return claim, adjacency, pairs


@dataclass(frozen=True)
class Adapted:
    """A function with its own claim, adjacency, pairs and notes; `check(adapted)` needs nothing else.

    >>> from refutedp import ONE_DIFFERS, PureDP, check
    >>> def count(data, rng):
    ...     return data[0] + rng.laplace(scale=2.0)
    >>> counting = Adapted(count, "count", Own(PureDP(0.5), ONE_DIFFERS, pairs=[([0], [1])]))
    >>> print(check(counting, search_runs=500, confirm_runs=500).claim)
    0.5-differential privacy
    """

    function: Callable[..., Any]
    name: str
    own: Own

    @property
    def __refutedp__(self) -> Own:
        return self.own

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def __call__(self, *positional: Any, **named: Any) -> Any:
        """Call the function."""
        return self.function(*positional, **named)


def own_of(mechanism: Any) -> Own:
    """What the mechanism says about itself: nothing, for a plain function.

    >>> own_of(max)
    Own(claim=None, adjacency=None, pairs=None, notes=(), opaque=False)
    """
    found = getattr(mechanism, "__refutedp__", None)
    if found is None:
        return Own()
    if not isinstance(found, Own):
        raise UsageError(f"__refutedp__ is a {type(found).__name__}: it must be a refutedp.model.mechanism.Own")
    return found


@dataclass(frozen=True, slots=True)
class Origin:
    """A mechanism's reference and source.

    `reference` is `file.py:function` or `package.module:function`, None for a function that cannot be imported
    again (a lambda, one defined inside another function or typed into a notebook). `source` is the text of the
    function ("" when Python cannot see it), `line` its first line in the file, and `sha256` the hash of `source`.
    """

    reference: str | None
    source: str
    line: int
    sha256: str


def origin_of(function: Any) -> Origin:
    """The origin of whatever was handed in as a mechanism; never fails, for a report is no reason to.

    >>> from refutedp.mechanisms import isvt1
    >>> origin = origin_of(isvt1)
    >>> origin.reference, origin.source.splitlines()[0]
    ('refutedp.mechanisms.sparse_vector:isvt1', 'def isvt1(')
    >>> origin_of(lambda data, rng: 0).reference is None
    True
    """
    inner = _innermost(function)
    try:
        lines, first = inspect.getsourcelines(inner)
    except (TypeError, OSError, IndentationError, SyntaxError):
        lines, first = [], 1
    source = textwrap.dedent("".join(lines)).rstrip("\n")
    # A partial carries arguments that its function's name does not give back.
    reference = None if isinstance(function, functools.partial) else _reference(inner)
    if inner is type(function):  # an object is not its class: it says itself how to make it again, or nobody can
        reference = getattr(function, "__refutedp_reference__", None)
    digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
    return Origin(reference, source, max(first, 1), digest)


def _innermost(function: Any) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or inspect.isclass(function):
        unwrapped: Callable[..., Any] = inspect.unwrap(function)
        return unwrapped
    return type(function)


def _reference(function: Callable[..., Any]) -> str | None:
    name = getattr(function, "__qualname__", "")
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    try:
        if "<" in name or inspect.unwrap(operator.attrgetter(name)(module)) is not function:
            return None
    except (AttributeError, ValueError):
        return None
    try:
        file = inspect.getsourcefile(function)
    except TypeError:
        file = None
    path = Path(file or "")
    if not path.is_file():
        return None if function.__module__ == "__main__" else f"{function.__module__}:{name}"
    libraries = (sysconfig.get_path(kind) for kind in ("purelib", "platlib", "stdlib"))
    if "." in function.__module__ or any(map(path.is_relative_to, libraries)):
        return f"{function.__module__}:{name}"
    return f"{short_path(path)}:{name}"


def short_path(path: Path) -> str:
    """The path as seen from the current folder when it lies below, absolute otherwise."""
    whole = path.resolve()
    try:
        return whole.relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return str(whole)
