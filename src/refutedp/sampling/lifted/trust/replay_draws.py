"""One run at a time: hand the plain function exactly the draws that its lifted run recorded.

`Replay` proves a lift: every call must ask for the recorded distribution, parameters and shape, and none may be left
over. `Continue` finishes a handful of runs: where their record ends, it goes on with fresh draws.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns.functions import stack_nested
from refutedp.sampling.lifted.columns.lifted_value import Lifted
from refutedp.sampling.lifted.execution import Run
from refutedp.sampling.lifted.noise.shared_noise import DrawsOfOne
from refutedp.sampling.lifted.refusal import Refused
from refutedp.tracing.distributions import DISTRIBUTIONS, Distribution, Params, Source
from refutedp.tracing.rng_proxy import Handler, Shape, normal_size

Fresh: TypeAlias = Callable[[np.random.Generator], Any]


class Mismatch(Refused):
    """The plain function asked for other draws than its lifted run did."""


class Recorded(NamedTuple):
    """One draw of one run, as the plain function is to see it."""

    distribution: str
    params: Params
    size: Shape
    value: Any


class DrawsOf:
    """The draws of the runs that finished an execution."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __call__(self, index: int) -> list[Recorded]:
        """Those of one run."""
        return recorded_draws(self._run, index)

    def extreme(self, number: int) -> list[int]:
        """Runs with the smallest and the largest values of each draw, so many of either for each of its elements."""
        run = self._run
        found: dict[int, None] = {}
        for draw in run.draws[:MOST_DRAWS]:
            values = draw.values()
            alive = values if draw.epoch == run.epoch else run.shrink(values, draw.epoch)
            if alive.dtype.kind not in "biuf" or len(alive) != run.n:
                continue
            for column in alive.reshape(run.n, -1).T[:MOST_ELEMENTS]:
                order = np.argsort(column, kind="stable")
                found.update(dict.fromkeys([*order[:number].tolist(), *order[-number:].tolist()]))
        return list(found)


MOST_DRAWS, MOST_ELEMENTS = 12, 4
"""Draws of a run, and elements of a draw, whose extreme values are looked at."""


def recorded_draws(run: Run, index: int) -> list[Recorded]:
    """The draws of run number `index` of those that finished the execution."""
    rows = run.rows_of(index)
    return [
        Recorded(
            distribution=draw.distribution,
            params=tuple([_at(p, index) for p in draw.params]),
            size=draw.size,
            value=draw.values()[rows[draw.epoch]],
        )
        for draw in run.draws
    ]


def _at(value: Any, index: int) -> Any:
    if type(value) is float or type(value) is int:
        return value
    value = stack_nested(value)
    if not isinstance(value, Lifted):
        return value
    array = value.values()
    return array[0 if value.uniform else index]


class OnePlainCall(Handler):
    """A handler for one plain call, which starts with recorded draws."""

    __slots__ = ("_asked", "_distributions", "trouble")

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
        raise Mismatch(why)

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

    __slots__ = ("_records",)

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

    __slots__ = ("_drawn", "_source", "_values", "_weighted", "numbers")

    def __init__(
        self,
        distributions: tuple[str, ...],
        values: Sequence[Any],
        source: Source,
        weighted: DrawsOfOne | None = None,
        drawn: list[Recorded] | None = None,
    ) -> None:
        super().__init__(distributions)
        self._values = values
        self._source = source
        self._weighted = weighted
        """Gives draw number so and so of this run, where its noise is importance-sampled."""
        self._drawn = drawn
        """Where to write down what is drawn, if someone wants to know."""
        if drawn is not None:
            drawn.clear()
        self.numbers = 0
        """How many numbers were drawn afresh."""

    def draw(self, distribution: Distribution, params: Params, size: Any) -> Any:
        """The recorded value while there is one, then a fresh one."""
        shape = None if size is None else normal_size(size, self)
        if self._recorded(distribution.name):
            value = self._values[self._asked - 1]
            self._note(distribution.name, params, shape, value)
            return value
        fresh = None if self._weighted is None else self._by_plan(distribution, params, shape)
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

    def _by_plan(self, distribution: Distribution, params: Params, shape: Shape) -> Any:
        assert self._weighted is not None
        shape = shape or np.broadcast_shapes(*map(np.shape, params)) or None
        drawn = self._weighted(self._asked - 1, distribution, params, shape)
        return None if drawn is None else drawn[0]

    def _index(self, distribution: str, params: Params, shape: Shape, fresh: Fresh) -> Any:
        index = self._values[self._asked - 1] if self._recorded(distribution) else fresh(self._source.generator)
        self._note(distribution, params, shape, index)
        return index


def values_by_run(distributions: tuple[str, ...], arrays: tuple[Array, ...], n: int) -> list[tuple[Any, ...]]:
    """Recorded draws, run by run, as the plain function is to see them."""
    if not arrays:
        return [()] * n
    columns = []
    for distribution, array in zip(distributions, arrays, strict=True):
        converted = (
            array.ndim == 1 and distribution in DISTRIBUTIONS and DISTRIBUTIONS[distribution].convert is not None
        )
        columns.append(array.tolist() if converted else list(np.ascontiguousarray(array)))
    return list(zip(*columns, strict=True))


def _same(a: Any, b: Any) -> bool:
    if a is b or (type(a) is type(b) and type(a) in (float, int) and a == b):
        return True
    if a is None or b is None:
        return False
    left, right = np.asarray(a), np.asarray(b)
    if left.shape != right.shape:
        return False
    return bool(np.array_equal(left, right, equal_nan=left.dtype.kind == "f" and right.dtype.kind == "f"))
