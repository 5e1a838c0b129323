"""Plain calls of a mechanism, one run at a time, on exactly the draws that its lifted run recorded.

`Replay` proves a lift: every call must ask for the recorded distribution, parameters and shape, and none may be left
over. `Continue` finishes a handful of runs: where their record ends, it goes on with fresh draws. A function that
draws from `np.random` or `random` can be replayed only as a copy, so a mistake in copying would go unnoticed by the
replay: both sides would make it. `Mirror` runs the copy beside the original, on the same seeds.
"""

from __future__ import annotations

import copy
import random
import types
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from refutedp.model.mechanism import Mechanism, fresh_copies
from refutedp.model.outputs import Array
from refutedp.sampling.bounds import beyond_bounds
from refutedp.sampling.encode import Raised
from refutedp.sampling.lifted.collect import equal_outputs
from refutedp.sampling.lifted.columns.column import Column, stack_nested
from refutedp.sampling.lifted.execution import CannotLift, Excusable, Record, Refused, Run
from refutedp.sampling.lifted.rewrite.lifted_copies import LiftedCopier, LiftedStage
from refutedp.sampling.lifted.trust.refused_code import Watch, generators_state, restore_generators
from refutedp.tracing.copier import Stage
from refutedp.tracing.distributions import DISTRIBUTIONS, Distribution, Params, Source
from refutedp.tracing.rng_proxy import Handler, Shape, normal_size
from refutedp.tracing.watchdog import DidNotReturn, one_call

Fresh: TypeAlias = Callable[[np.random.Generator], Any]
SEEDS = range(8)
"""On these a copy is run beside the original."""


class Recorded(NamedTuple):
    """One draw of one run, as the plain function is to see it."""

    distribution: str
    params: Params
    size: Shape
    value: Any


def recorded_draws(run: Run, index: int) -> list[Recorded]:
    """The draws of run number `index` of those that finished the execution."""
    rows = run.rows_of(index)
    return [
        Recorded(
            draw.distribution, tuple([_at(p, index) for p in draw.params]), draw.size, draw.values()[rows[draw.epoch]]
        )
        for draw in run.draws
        if draw.made_by is None or draw.made_by[rows[draw.epoch]]
    ]


def _at(value: Any, index: int) -> Any:
    if type(value) is float or type(value) is int:
        return value
    value = stack_nested(value)
    return value.values()[0 if value.uniform else index] if isinstance(value, Column) else value


def calls_by_run(record: Record, n: int) -> Iterator[tuple[tuple[str, ...], tuple[Any, ...]]]:
    """Recorded draws, run by run: their distributions, and their values as the plain function is to see them."""
    columns, made_by = [], []
    for position, name in enumerate(record.distributions):
        array = record.taken(position)
        converted = array.ndim == 1 and name in DISTRIBUTIONS and DISTRIBUTIONS[name].convert is not None
        columns.append(array.tolist() if converted else list(np.ascontiguousarray(array)))
        made_by.append(record.made_by(position))
    rows: Iterable[tuple[Any, ...]] = zip(*columns, strict=True) if columns else [()] * n
    if not any(made is not None for made in made_by):
        return ((record.distributions, row) for row in rows)
    makes = zip(*(np.ones(n, np.bool_) if made is None else made for made in made_by), strict=True)
    return (
        (tuple(compress(record.distributions, made)), tuple(compress(row, made)))
        for row, made in zip(rows, makes, strict=True)
    )


class OnePlainCall(Handler):
    """A handler for one plain call, which starts with recorded draws."""

    def __init__(self, distributions: Sequence[str]) -> None:
        self._distributions = distributions
        self._asked = 0
        self.trouble: str | None = None

    @property
    def leftover(self) -> int:
        """How many recorded draws the plain function did not ask for."""
        return max(0, len(self._distributions) - self._asked)

    def refuse(self, why: str) -> NoReturn:
        """The plain function went where lifted runs do not."""
        self.trouble = self.trouble or why
        raise Refused(why)

    def choose(self, distribution: str, options: Any, size: Any, p: Any, replace: bool) -> Any:
        """The drawn element or elements of `options`."""
        count, shape = int(options) if np.ndim(options) == 0 else len(options), normal_size(size, self)
        index = self._index(distribution, (options, p), shape, lambda generator: generator.choice(count, shape, p=p))
        if np.ndim(options) == 0:
            return int(index) if np.ndim(index) == 0 else np.array(index)
        return np.asarray(options)[index]

    def permute(self, distribution: str, values: Any) -> Any:
        """The drawn order of `values`."""
        count = int(values) if np.ndim(values) == 0 else len(values)
        order = self._index(distribution, (values,), (count,), lambda generator: generator.permutation(count))
        return np.array(order) if np.ndim(values) == 0 else np.asarray(values)[order]

    def pick(self, options: Sequence[Any]) -> Any:
        """The drawn element, itself."""
        count = len(options)
        if count == 0:
            raise IndexError("Cannot choose from an empty sequence")
        index = self._index("random.choice", (count,), None, lambda generator: generator.integers(0, count))
        return options[int(index)]

    def _recorded(self, distribution: str) -> bool:
        """Whether the draw that is asked for is a recorded one; then it is number `_asked` - 1."""
        position = self._asked
        self._asked = position + 1
        if position >= len(self._distributions):
            return False
        if self._distributions[position] != distribution:
            self.refuse(
                f"the plain function draws {distribution} where its lifted run drew {self._distributions[position]}"
            )
        return True

    @abstractmethod
    def _index(self, distribution: str, params: Params, shape: Shape, fresh: Fresh) -> Any:
        """Which element or elements: as recorded, or drawn afresh."""


class Replay(OnePlainCall):
    """Gives the recorded draws, and compares what the plain function asks for."""

    def __init__(self, records: Sequence[Recorded]) -> None:
        super().__init__([record.distribution for record in records])
        self._records = records

    def _next(self, distribution: str, params: Params, size: Shape) -> Recorded:
        if not self._recorded(distribution):
            self.refuse(f"the plain function draws {distribution} once more than its lifted run")
        record = self._records[self._asked - 1]
        same = len(params) == len(record.params) and all(map(_same, params, record.params))
        # Without a size, arrays as parameters decide the shape.
        if not same or (size != record.size and (size or record.size != np.broadcast_shapes(*map(np.shape, params)))):
            self.refuse(f"the plain function draws {distribution} with other parameters than its lifted run")
        return record

    def draw(self, distribution: Distribution, params: Params, size: Any) -> Any:
        """The recorded value, as the real generator would return it."""
        record = self._next(distribution.name, params, normal_size(size, self))
        if record.size is not None:
            return np.array(record.value)
        return record.value if distribution.convert is None else distribution.convert(record.value)

    def _index(self, distribution: str, params: Params, shape: Shape, fresh: Fresh) -> Any:
        return self._next(distribution, params, shape).value


class Continue(OnePlainCall):
    """Gives recorded values first, and goes on with fresh ones."""

    def __init__(
        self,
        source: Source,
        distributions: Sequence[str] = (),
        values: Sequence[Any] = (),
        weighted: Callable[[int, Distribution, Params, Shape], Array | None] | None = None,
        drawn: list[Recorded] | None = None,
    ) -> None:
        """`weighted` gives the draws of a run whose noise is importance-sampled; what is drawn goes to `drawn`."""
        super().__init__(distributions)
        self._source = source
        self._values = values
        self._weighted = weighted
        self._drawn = drawn
        self.numbers = 0
        """How many numbers were drawn afresh."""

    def draw(self, distribution: Distribution, params: Params, size: Any) -> Any:
        """The recorded value while there is one, then a fresh one."""
        shape = None if size is None else normal_size(size, self)
        if self._recorded(distribution.name):
            value = self._values[self._asked - 1]
            self._note(distribution.name, params, shape, value)
            return value
        fresh = None
        if self._weighted is not None:
            whole = shape or np.broadcast_shapes(*map(np.shape, params)) or None
            drawn = self._weighted(self._asked - 1, distribution, params, whole)
            fresh = None if drawn is None else drawn[0]
        if fresh is None:
            fresh = distribution.sample(self._source, params, shape)
        self._note(distribution.name, params, shape, fresh)
        if isinstance(fresh, np.ndarray):
            self.numbers += fresh.size
            return fresh
        self.numbers += 1
        return fresh if distribution.convert is None else distribution.convert(fresh)

    def _note(self, distribution: str, params: Params, shape: Shape, value: Any) -> None:
        if self._drawn is not None:
            # The function may write to what it gave or got.
            given = tuple([copy.copy(param) for param in params])
            shape = value.shape if isinstance(value, np.ndarray) else shape
            self._drawn.append(Recorded(distribution, given, shape, copy.copy(value)))

    def _index(self, distribution: str, params: Params, shape: Shape, fresh: Fresh) -> Any:
        index = self._values[self._asked - 1] if self._recorded(distribution) else fresh(self._source.generator)
        self._note(distribution, params, shape, index)
        return index


def _same(a: Any, b: Any) -> bool:
    if a is b or (type(a) is type(b) and type(a) in (float, int) and a == b):
        return True
    if a is None or b is None:
        return False
    left, right = np.asarray(a), np.asarray(b)
    if left.shape != right.shape:
        return False
    return bool(np.array_equal(left, right, equal_nan=left.dtype.kind == "f" and right.dtype.kind == "f"))


class Unmirrored(BaseException):
    """The copy draws from a generator that no seed reaches, such as an unseeded `default_rng()`."""


class Mirror(Handler):
    """A handler that draws what the global generators would draw with the same seed."""

    def __init__(self, seed: int) -> None:
        self._legacy = np.random.RandomState(seed)
        self._standard = random.Random(seed)

    def refuse(self, why: str) -> NoReturn:
        """No seed reaches it."""
        raise Unmirrored(why)

    def draw(self, distribution: Distribution, params: tuple[Any, ...], size: Any) -> Any:
        """One draw by the library that the distribution is named after."""
        library, _, name = distribution.name.rpartition(".")
        if library == "np.random":
            return getattr(self._legacy, name)(*params, size)
        if library != "random":
            self.refuse(distribution.name)
        return getattr(self._standard, "randrange" if name == "randint" else name)(*params)

    def choose(self, distribution: str, options: Any, size: Any, p: Any, replace: bool) -> Any:
        """As `np.random.choice`."""
        if not distribution.startswith("np.random."):
            self.refuse(distribution)
        return self._legacy.choice(options, size, p=p)

    def permute(self, distribution: str, values: Any) -> Any:
        """As `np.random.permutation`."""
        if not distribution.startswith("np.random."):
            self.refuse(distribution)
        return self._legacy.permutation(values)

    def pick(self, options: Sequence[Any]) -> Any:
        """As `random.choice`."""
        return self._standard.choice(options)


def outputs_side_by_side(
    original: Callable[[], Any], copied: Callable[[], Any], use: Callable[[Handler], None]
) -> list[tuple[Any, Any]]:
    """What the original and its copy give on a few seeds; empty when the copy's draws cannot be seeded.

    The global generators are seeded for the original and given back their own states afterwards.
    """
    pairs = []
    before = generators_state()
    try:
        for seed in SEEDS:
            np.random.seed(seed)
            random.seed(seed)
            expected = original()
            use(Mirror(seed))
            pairs.append((expected, copied()))
    except Unmirrored:
        return []
    finally:
        restore_generators(before)
    return pairs


def copied_functions(arguments: Mapping[str, Any], copier: LiftedCopier) -> dict[str, Any]:
    """The arguments, with functions among them (scores, queries) seeing what the mechanism sees."""
    return {
        name: copier.copy(value) if isinstance(value, types.FunctionType) else value
        for name, value in arguments.items()
    }


class PlainCalls:
    """One mechanism on one input, called run by run: the function itself, or a copy of it.

    A copy, whose modules draw from a handler, stands for the function where it calls `np.random` or `random`;
    `lifted` is the stage of the lifted copy, which knows whether it does. Exceptions are outputs.
    """

    def __init__(self, mechanism: Mechanism, data: Any, arguments: Mapping[str, Any], lifted: LiftedStage) -> None:
        self._mechanism = mechanism
        self._data = fresh_copies(data)
        self._arguments = fresh_copies(dict(arguments))
        self._lifted = lifted
        self._stage = Stage(Replay([]))
        copier = LiftedCopier(self._stage)
        self._copy = replace(mechanism, function=copier.copy(mechanism.function))
        self._copy_arguments = fresh_copies(copied_functions(arguments, copier))
        self.watch = Watch(copier.codes)
        """Looks at the code that calls run."""
        self.errors: Any = np.geterr()
        """What NumPy does about floating-point errors where nobody changed it."""
        self.calls = 0
        """How often the function, or its copy, was called."""

    def call(
        self,
        drawer: Replay | Continue,
        *,
        watched: bool = False,
        exposed: frozenset[types.CodeType] | None = None,
    ) -> Any:
        """One call on the draws of a drawer; raises CannotLift if it draws otherwise, or does what it must not.

        A function with an rng runs as it is, unless it draws from modules as well.
        """
        self._stage.use(drawer)
        self.calls += 1
        from_modules = self._draws_from_modules
        function = (self._copy if from_modules else self._mechanism).call
        data, arguments = self._data(), (self._copy_arguments if from_modules else self._arguments)()
        try:
            with np.errstate(**self.errors), one_call():
                if watched:
                    output = self.watch.call(lambda: function(data, arguments, rng=self._stage.rng), exposed)
                else:
                    output = function(data, arguments, rng=self._stage.rng)
        except Refused:
            output = None
        except (DidNotReturn, MemoryError) as error:
            output = beyond_bounds(error, self._mechanism, data, arguments)
        except Exception as error:
            output = Raised(type(error).__name__)
        if drawer.trouble is not None:
            raise CannotLift(drawer.trouble)
        if drawer.leftover:
            raise CannotLift("the plain function draws less than its lifted run")
        if watched and self.watch.complaint is not None:
            raise (Excusable if self.watch.excusable else CannotLift)(self.watch.complaint)
        return output

    def fresh(self, count: int, source: Source) -> list[Any]:
        """Outputs on fresh draws, with the real generator where nothing needs to stand in for it."""
        if self._draws_from_modules:
            return [self.call(Continue(source)) for _ in range(count)]
        return [self._outcome(self._mechanism, self._arguments, source.generator) for _ in range(count)]

    def check_copy(self) -> None:
        """Where a copy has to stand for the plain function, it must do what the function does."""
        if not self._draws_from_modules:
            return
        pairs = outputs_side_by_side(
            lambda: self._outcome(self._mechanism, self._arguments, np.random.default_rng(0)),
            lambda: self._outcome(self._copy, self._copy_arguments, np.random.default_rng(0)),
            self._stage.use,
        )
        for expected, got in pairs:
            if not equal_outputs(got, expected):
                raise CannotLift(f"a copy of it returns {got!r} where the function itself returns {expected!r}")

    def check_silence(self, output: Any) -> None:
        """Nothing was drawn: believe it only of a function that could have drawn, and returns the same each time."""
        if self._mechanism.rng is None:
            raise CannotLift("it draws nothing that lifted runs can see")
        rng = np.random.default_rng(0)
        before = repr(rng.bit_generator.state)
        for _ in range(8):
            if not equal_outputs(self._outcome(self._mechanism, self._arguments, rng), output):
                raise CannotLift("it draws from somewhere that lifted runs cannot see")
        if repr(rng.bit_generator.state) != before:
            raise CannotLift("it draws from its rng in a way that lifted runs cannot see")

    @property
    def _draws_from_modules(self) -> bool:
        return self._mechanism.rng is None or self._lifted.draws_from_modules

    def _outcome(self, mechanism: Mechanism, arguments: Callable[[], Any], rng: np.random.Generator) -> Any:
        self.calls += 1
        try:
            with np.errstate(**self.errors), one_call():
                return mechanism.call(self._data(), arguments(), rng=rng)
        except (DidNotReturn, MemoryError) as error:
            return beyond_bounds(error, mechanism, self._data(), arguments())
        except Exception as error:
            return Raised(type(error).__name__)
