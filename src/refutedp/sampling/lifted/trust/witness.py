"""Calls the original function on the draws that a lifted run, or an enumerated path, says that it made.

This shares no code with what reads a mechanism's calls there. The function gets a real generator, of a subclass of
the library's. Its methods make the call that the function makes, from a fixed state, and the call that was
recorded, from the same state: the library must give the same twice, of one type, dtype and shape. Then the
recorded value is handed out in that form. Draws from `np.random` and `random` are replaced for the length of a call.
"""

from __future__ import annotations

import random
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from refutedp.model.mechanism import Generators, Mechanism, fresh_copies
from refutedp.sampling.encode import Raised
from refutedp.sampling.lifted.trust.plain_calls import Recorded
from refutedp.tracing.watchdog import now_on, one_call

_MODULES = {"np.random": np.random, "random": random}


class _Untrue(BaseException):
    """The function asks for another draw than was recorded; no `except Exception` of its own hides that."""


class Witness:
    """Hands one call of the untouched function the recorded draws.

    Parameters that were computed from draws may differ from the recorded ones by rounding: `tolerance`.

    >>> from refutedp.model.mechanism import describe
    >>> witness = Witness([Recorded("laplace", (0.0, 2.0), None, 0.5)])
    >>> retold(witness, describe(lambda data, rng: data[0] + rng.laplace(scale=2)), [1], {}, []), witness.trouble
    (1.5, None)
    >>> witness = Witness([Recorded("laplace", (0.0, 2.0), None, 0.5)])
    >>> _ = retold(witness, describe(lambda data, rng: data[0] + rng.laplace(scale=3)), [1], {}, [])
    >>> witness.trouble
    'the function itself draws laplace with other parameters than recorded, or of another type'
    """

    def __init__(self, draws: Sequence[Recorded], tolerance: float = 0.0) -> None:
        self.left = list(draws)
        """Draws that the function has not asked for yet."""
        self._tolerance = tolerance
        self._bits = np.random.PCG64(0)
        self._state = self._bits.state
        self.trouble: str | None = None

    def generator(self, kind: Generators) -> Any:
        """A real generator of this kind, which answers by the witness."""
        made = _GENERATORS[kind]()
        made.witness = self
        return made

    def draw(self, library: str, name: str, *args: Any, **keywords: Any) -> Any:
        """What the function gets for its call: the recorded value, in the form that the library would return."""
        asked = getattr(self._fresh(library), name)(*args, **keywords)
        if not self.left:
            self._fail(f"draws {name} once more")
        record = self.left.pop(0)
        own, _, distribution = record.distribution.rpartition(".")
        if own != library:
            self._fail(f"draws {name} where {record.distribution} was recorded")
        if record.distribution == "random.choice":
            return self._element(args[0] if args else keywords["seq"], asked, record)
        told = self._told(library, distribution, record)
        if not _identical(asked, told, self._tolerance):
            self._fail(f"draws {name} with other parameters than recorded, or of another type")
        value = record.value
        if distribution in ("choice", "permutation"):
            pool = record.params[0]
            value = value if np.ndim(pool) == 0 else np.asarray(pool)[value]
        return _in_the_form_of(asked, value)

    def _fail(self, what: str) -> None:
        self.trouble = self.trouble or f"the function itself {what}"
        raise _Untrue(what)

    def _fresh(self, library: str) -> Any:
        """A generator of the library in the one fixed state."""
        if library == "random":
            return random.Random(0)
        self._bits.state = self._state
        return np.random.RandomState(self._bits) if library else np.random.Generator(self._bits)

    def _told(self, library: str, distribution: str, record: Recorded) -> Any:
        """The recorded call, made by the library."""
        name = "randrange" if (library, distribution) == ("random", "randint") else distribution
        method = getattr(self._fresh(library), name)
        if distribution == "choice":
            return method(record.params[0], record.size, p=record.params[1])
        if library == "random" or distribution == "permutation":
            return method(*record.params)
        # Where parameters are arrays, their shape is the size, unless that is said.
        wide = np.broadcast_shapes(*map(np.shape, record.params))
        size = record.size if record.size == () or record.size != wide else None
        return method(*record.params, size=size)

    def _element(self, options: Any, asked: Any, record: Recorded) -> Any:
        """The chosen element of a Python sequence, itself."""
        (count,) = record.params
        if len(options) != count or asked is not options[random.Random(0).randrange(count)]:
            self._fail("chooses from another sequence")
        return options[int(record.value)]


def _answering_class(library: str, base: type, make: Callable[[], tuple[Any, ...]]) -> Callable[[], Any]:
    """Makes instances of a subclass of `base` whose methods, of the given library, all answer by a witness."""

    def answered(name: str) -> Callable[..., Any]:
        def method(self: Any, *args: Any, **keywords: Any) -> Any:
            return self.witness.draw(library, name, *args, **keywords)

        return method

    names = [name for name in dir(base) if not name.startswith("_") and name not in ("bit_generator", "VERSION")]
    answers = type("_Answering", (base,), {"__init__": lambda *_: None, **{name: answered(name) for name in names}})
    return lambda: answers(*make())


_GENERATORS: dict[Generators, Callable[[], Any]] = {
    "generator": _answering_class("", np.random.Generator, lambda: (np.random.PCG64(0),)),
    "legacy": _answering_class("np.random", np.random.RandomState, tuple),
    "python": _answering_class("random", random.Random, tuple),
}


def _identical(a: Any, b: Any, tolerance: float) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray) and a.dtype != b.dtype:
        return False
    if tolerance and isinstance(a, float):
        return bool(a == b or (a != a and b != b) or abs(a - b) <= tolerance * (1 + abs(b)))
    if tolerance and np.asarray(a).dtype.kind == "f":
        return np.shape(a) == np.shape(b) and np.allclose(a, b, tolerance, tolerance, equal_nan=True)
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return bool(a == b or (a != a and b != b))


def _in_the_form_of(asked: Any, value: Any) -> Any:
    if isinstance(asked, np.ndarray):
        return np.array(value, dtype=asked.dtype).reshape(asked.shape)
    return type(asked)(value.item() if isinstance(value, np.generic) else value)


@contextmanager
def _answering(witness: Witness, functions: Iterable[types.FunctionType]) -> Iterator[None]:
    """For the length of one call, let the modules' functions answer by the witness, under whatever name."""
    places: list[tuple[dict[str, Any], str, Any]] = []
    answers: dict[int, Any] = {
        id(value): partial(witness.draw, library, name) for library, name, value in _GLOBAL_FUNCTIONS
    }
    answers[id(np.random.default_rng)] = partial(_unseeded, witness)
    owners = [vars(module) for module in _MODULES.values()]
    owners += {id(f.__globals__): f.__globals__ for f in functions}.values()
    for owner in owners:
        places += [(owner, name, value) for name, value in owner.items() if id(value) in answers]
    cells = [cell for f in functions for cell in f.__closure__ or () if _contents(cell) in answers]
    kept = [cell.cell_contents for cell in cells]
    try:
        for owner, name, value in places:
            owner[name] = answers[id(value)]
        for cell in cells:
            cell.cell_contents = answers[id(cell.cell_contents)]
        yield
    finally:
        for owner, name, value in places:
            owner[name] = value
        for cell, value in zip(cells, kept, strict=True):
            cell.cell_contents = value


_GLOBAL_GENERATORS = (np.random.random.__self__, vars(random)["_inst"])  # type: ignore[attr-defined]
_GLOBAL_FUNCTIONS = [
    (library, name, value)
    for library, module in _MODULES.items()
    for name, value in vars(module).items()
    if getattr(value, "__self__", None) in _GLOBAL_GENERATORS
]


def _unseeded(witness: Witness, seed: Any = None) -> np.random.Generator:
    return witness.generator("generator") if seed is None else np.random.default_rng(seed)


def _contents(cell: types.CellType) -> int:
    try:
        return id(cell.cell_contents)
    except ValueError:  # still empty
        return 0


def retold(
    witness: Witness,
    mechanism: Mechanism,
    data: Any,
    arguments: Mapping[str, Any],
    functions: Iterable[types.FunctionType],
) -> Any:
    """The output of the function itself on the draws of the witness, whose `trouble` says where it drew otherwise.

    `functions` are those whose modules and closures may draw from `np.random` and `random`.
    """
    got: Any = None
    now_on(mechanism.name, data)
    try:
        with _answering(witness, functions), one_call():
            rng = witness.generator(mechanism.draws_from)
            got = mechanism.call(fresh_copies(data)(), fresh_copies(dict(arguments))(), rng=rng)
    except _Untrue:
        return None
    except Exception as error:
        got = Raised(type(error).__name__)
    if witness.left and witness.trouble is None:
        witness.trouble = f"the function itself draws {len(witness.left)} numbers less"
    return got
