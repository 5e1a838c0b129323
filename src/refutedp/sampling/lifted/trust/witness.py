"""Repeats lifted runs with the original function on the same draws and compares the outputs.

This shares no code with what reads a mechanism's calls for lifted runs. The function gets a real generator, of a
subclass of NumPy's. Its methods make the call that the function makes, from a fixed state, and the call that the
lifted run recorded, from the same state: NumPy must give the same twice, of one type, dtype and shape. Then the
recorded value is handed out in that form. Draws from `np.random` and `random` are replaced for the length of a call.
"""

from __future__ import annotations

import random
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from refutedp.model.mechanism import Mechanism, fresh_copies
from refutedp.model.outputs import Array
from refutedp.model.records import Event
from refutedp.sampling.encode import Raised
from refutedp.sampling.lifted.collect import equal_outputs, example
from refutedp.sampling.lifted.execution import Run
from refutedp.sampling.lifted.lift import Lift
from refutedp.sampling.lifted.lifted_sampler import masks_of
from refutedp.sampling.lifted.noise.shared_noise import SharedNoise
from refutedp.sampling.lifted.trust.plain_calls import Recorded, recorded_draws
from refutedp.tracing.watchdog import one_call

_MODULES = {"np.random": np.random, "random": random}
_METHODS = [name for name in dir(np.random.Generator) if not name.startswith("_") and name != "bit_generator"]


EXTREME = 4
"""Runs with the smallest, and with the largest, values of a draw that the function repeats."""
MOST_DRAWS, MOST_ELEMENTS = 12, 4
"""Draws of a run, and elements of a draw, whose extreme values are looked at."""


class Told(NamedTuple):
    """What a lift says of one run: its draws, its output, whether that lies in the event, and its number."""

    draws: list[Recorded]
    output: Any
    hit: bool
    number: int


class _Untrue(BaseException):
    """The function asks for another draw than its lifted run; no `except Exception` of its own hides that."""


class Witness:
    """Hands one call of the untouched function the draws of one lifted run."""

    def __init__(self, draws: Sequence[Recorded]) -> None:
        self.left = list(draws)
        """Draws that the function has not asked for yet."""
        self._bits = np.random.PCG64(0)
        self._state = self._bits.state
        self.trouble: str | None = None
        self.generator = _Generator(np.random.PCG64(0))
        self.generator.witness = self

    def draw(self, library: str, name: str, *args: Any, **keywords: Any) -> Any:
        """What the function gets for its call: the recorded value, in the form that the library would return."""
        asked = getattr(self._fresh(library), name)(*args, **keywords)
        if not self.left:
            self._fail(f"draws {name} once more")
        record = self.left.pop(0)
        own, _, distribution = record.distribution.rpartition(".")
        if own != library:
            self._fail(f"draws {name} where the lifted run drew {record.distribution}")
        if record.distribution == "random.choice":
            return self._element(args[0] if args else keywords["seq"], asked, record)
        told = self._told(library, distribution, record)
        if not _identical(asked, told):
            self._fail(f"draws {name} with other parameters than the lifted run, or of another type")
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


class _Generator(np.random.Generator):
    """A real generator that answers by a witness."""

    witness: Witness


def _answered(name: str) -> Callable[..., Any]:
    def method(self: _Generator, *args: Any, **keywords: Any) -> Any:
        return self.witness.draw("", name, *args, **keywords)

    return method


for _name in _METHODS:
    setattr(_Generator, _name, _answered(_name))


def _identical(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        floats = a.dtype.kind == "f" and b.dtype.kind == "f"
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=floats)
    return bool(a == b or (a != a and b != b))


def _in_the_form_of(asked: Any, value: Any) -> Any:
    if isinstance(asked, np.ndarray):
        return np.array(value, dtype=asked.dtype).reshape(asked.shape)
    return type(asked)(value.item() if isinstance(value, np.generic) else value)


@contextmanager
def _answering(witness: Witness, functions: Iterable[types.FunctionType]) -> Iterator[None]:
    """For the length of one call, let the modules' functions answer by the witness, under whatever name."""
    answers: dict[int, Any] = {}
    places: list[tuple[dict[str, Any], str, Any]] = []
    for library, module in _MODULES.items():
        for name, value in vars(module).items():
            if getattr(value, "__self__", None) in _GLOBAL_GENERATORS:
                answers[id(value)] = partial(witness.draw, library, name)
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


def _unseeded(witness: Witness, seed: Any = None) -> np.random.Generator:
    return witness.generator if seed is None else np.random.default_rng(seed)


def _contents(cell: types.CellType) -> int:
    try:
        return id(cell.cell_contents)
    except ValueError:  # still empty
        return 0


class Heard(NamedTuple):
    """How many runs the function repeated, how many in the event on either side, and what it contradicts first."""

    repeated: int
    hits: tuple[int, int]
    contradiction: str | None = None


def hear_runs(
    lifts: tuple[Lift, Lift],
    mechanism: Mechanism,
    inputs: tuple[Any, Any],
    arguments: Mapping[str, Any],
    event: Event,
    noise: SharedNoise,
    rng: np.random.Generator,
    most: int,
) -> Heard:
    """Let the function repeat lifted runs on both inputs: so many in the event on either side, and as many others.

    Runs of both inputs are on the same noise, and where one lies in the event, the other is repeated too: a wrong
    lift that loses the event on one side loses it there. Besides, runs with extreme draws are repeated on either
    side, for what happens rarely mostly happens there.
    """
    repeated, hits = 0, [0, 0]
    wanted: set[int] = set()
    for side, room in ((0, most), (1, most), (0, 0)):
        told = _told_runs(lifts[side], event, noise, rng, room, wanted)
        wanted = {one.number for one in told if one.hit} - wanted
        for one in told:
            repeated += 1
            hits[side] += one.hit and room > 0
            trouble = _contradicted(one, mechanism, inputs[side], arguments, lifts[side])
            if trouble is not None:
                return Heard(repeated, (hits[0], hits[1]), trouble)
    return Heard(repeated, (hits[0], hits[1]))


def _told_runs(
    lift: Lift, event: Event, noise: SharedNoise, rng: np.random.Generator, most: int, wanted: set[int]
) -> list[Told]:
    """Runs of a lift: those wanted by number, the first in the event, the first that are not, and extreme ones."""
    told: list[Told] = []
    room = {True: most, False: most}
    left = most
    numbers = np.array(sorted(wanted), dtype=np.int64)

    def see(ids: Array | None, output: Any, n: int, draws: Run | list[Recorded]) -> None:
        nonlocal left
        (mask,) = masks_of(output, n, (event,), {})
        inside = np.broadcast_to(np.asarray(mask, dtype=np.bool_), n)
        runs = np.arange(n) if ids is None else ids
        chosen = dict.fromkeys(np.flatnonzero(np.isin(runs, numbers)).tolist())
        for hit in (True, False):
            found = np.flatnonzero(inside == hit)[: room[hit]].tolist()
            room[hit] -= len(found)
            chosen.update(dict.fromkeys(found))
        if isinstance(draws, Run) and left > 0:
            extreme = _extreme_runs(draws)[:left]
            left -= len(extreme)
            chosen.update(dict.fromkeys(extreme))
        for index in chosen:
            own = recorded_draws(draws, index) if isinstance(draws, Run) else draws
            told.append(Told(own, example(output, index), bool(inside[index]), int(runs[index])))

    lift.visit(rng, noise.n, see, noise)
    return told


def _extreme_runs(run: Run) -> list[int]:
    """Runs with the smallest and the largest values of each draw, so many of either for each of its elements."""
    found: dict[int, None] = {}
    for draw in run.draws[:MOST_DRAWS]:
        values = draw.values()
        alive = values if draw.epoch == run.epoch else run.shrink(values, draw.epoch)
        if alive.dtype.kind not in "biuf" or len(alive) != run.n:
            continue
        for column in alive.reshape(run.n, -1).T[:MOST_ELEMENTS]:
            order = np.argsort(column, kind="stable")
            found.update(dict.fromkeys([*order[:EXTREME].tolist(), *order[-EXTREME:].tolist()]))
    return list(found)


def _contradicted(one: Told, mechanism: Mechanism, data: Any, arguments: Mapping[str, Any], lift: Lift) -> str | None:
    """What the function itself does otherwise than a lifted run said; None if nothing.

    The last digits of floats may differ: NumPy computes some functions of many numbers otherwise than of one.
    """
    witness = Witness(one.draws)
    try:
        with _answering(witness, lift.functions), one_call():
            got = mechanism.call(fresh_copies(data)(), fresh_copies(dict(arguments))(), rng=witness.generator)
    except _Untrue:
        got = None
    except Exception as error:
        got = Raised(type(error).__name__)
    if witness.trouble is not None:
        return witness.trouble
    if witness.left:
        return f"the function itself draws {len(witness.left)} numbers less"
    if not equal_outputs(got, one.output, up_to_rounding=True):
        return f"a lifted run returned {one.output!r} where the function itself returns {got!r}"
    return None
