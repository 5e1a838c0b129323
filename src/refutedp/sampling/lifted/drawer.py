"""Draws by column: every call for randomness becomes one array with a value for each run that is alive."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns.array import ArrayColumn
from refutedp.sampling.lifted.columns.column import STANDARD, Column, aligned, element_ndim, stack_nested
from refutedp.sampling.lifted.columns.scalar import Scalar, retraced
from refutedp.sampling.lifted.execution import Draw, NotJoined, Run, drawn_by_element
from refutedp.sampling.lifted.noise.shared_noise import SharedNoise
from refutedp.tracing.distributions import DISTRIBUTIONS, Distribution, Params, Source
from refutedp.tracing.rng_proxy import Handler, Shape, normal_size

FEW_OPTIONS = 64
"""Among so many options a choice is found faster by comparing with each."""


class LiftedDrawer(Handler):
    """Draws columns for the current run, from its recorded draws first, then from `source`.

    After a split, each part draws for its own runs only, so no more randomness is used than the plain function
    would use, and every value is drawn by the very routine that draws one.
    """

    __slots__ = ("axes_may_be_none", "run", "shared", "source")

    def __init__(self) -> None:
        self.run: Run
        self.source: Source
        self.axes_may_be_none = False
        """Whether size=() is allowed, which gives arrays of no axes; what is drawn is then treated as a number."""
        self.shared: SharedNoise | None = None
        """Noise that the runs have in common with those of another execution."""

    def forget(self) -> None:
        """Let go of the runs, which hold all that they drew."""
        self.shared = None
        if hasattr(self, "run"):
            del self.run

    def refuse(self, why: str) -> NoReturn:
        """Give up the lift."""
        self.run.refuse(why)

    def draw(self, distribution: Distribution, params: Params, size: Any) -> Any:
        """One column of draws; parameters may be numbers, arrays or columns.

        On one side of a branch that is being joined, all runs draw, and those on the other side let go of it.
        """
        run = self.run
        if run.side is not None:
            self._mind_weights()
        shape: Shape = None
        if run.recorded(distribution.name):
            position = len(run.draws)
            rows = run.record.rows(position)
            if rows is not None:
                run.draws.append(Draw(distribution.name, params, None, rows, run.epoch, run.side))
                return retraced(run, rows, distribution.convert is None)
            array = run.record.taken(position)
            shape = array.shape[1:] or (() if self.axes_may_be_none else None)
        else:
            try:
                if size is not None or not _plain_numbers(params):
                    params = tuple([stack_nested(p) for p in params])
                    shape = self._element_shape(params, size)
                array = self._sample(distribution, params, shape)
            except (ValueError, TypeError) as error:
                self.refuse(
                    f"it calls {distribution.name} with parameters that are invalid, if only in some runs: {error}"
                )
        run.draws.append(Draw(distribution.name, params, shape, array, run.epoch, run.side))
        return self._column(array, shape, distribution.convert is None)

    def _mind_weights(self) -> None:
        """Weighted noise is told by how many draws came before, which differs between the sides of a branch."""
        if self.shared is not None and self.shared.weighted:
            raise NotJoined("noise is weighted")

    def _column(self, values: Array, shape: Shape, numpy: bool) -> Any:
        if shape:
            return ArrayColumn(self.run, values, False, ordered=True)
        return Scalar(self.run, values, values.dtype.kind, numpy or shape is not None)

    def positive(self, value: Any) -> bool:
        """Whether a parameter is positive in every run."""
        return bool((np.asarray(value.values() if isinstance(value, Column) else value) > 0).all())

    def choose(self, distribution: str, options: Any, size: Any, p: Any, replace: bool) -> Any:
        """Elements of a flat sequence, or of range(options), with replacement."""
        run = self.run
        if run.side is not None:
            self._mind_weights()
        if isinstance(options, Column) and not isinstance(options, ArrayColumn):
            options = options.__index__()
        # The function may write to what it gave.
        options, p = (copy.copy(stack_nested(given)) for given in (options, p))
        shape = normal_size(size, self)
        if element_ndim(options) > 1:
            self.refuse("it chooses from an array of several axes")
        count = int(options) if element_ndim(options) == 0 else len(options)
        index = self._values(distribution, lambda: self._indices(count, p, shape))
        pool: Any = np.arange(count) if element_ndim(options) == 0 else options
        if not isinstance(pool, Column):
            pool = np.asarray(pool)
            if pool.dtype not in STANDARD and pool.dtype.kind != "U":
                self.refuse(f"it chooses among values of dtype {pool.dtype}")
        run.draws.append(Draw(distribution, (options, p), shape, index, run.epoch, run.side))
        if isinstance(pool, Column):
            chosen = np.take_along_axis(np.broadcast_to(pool.values(), (run.n, count)), index.reshape(run.n, -1), 1)
            values = chosen.reshape(index.shape)
        else:
            values = pool[index]
        # choice(5) gives a Python int, choice([1, 2]) a NumPy one.
        return self._column(values, shape, element_ndim(options) != 0)

    def _indices(self, count: int, p: Any, shape: Shape) -> Array:
        n = self.run.n
        full = (n, *(shape or ()))
        if p is None:
            return self._integers(count, shape)
        weights = p.values() if isinstance(p, Column) else np.asarray(p, dtype=np.float64)[None]
        if weights.shape[1:] != (count,):
            raise ValueError("'a' and 'p' must have same size")
        if count == 0:
            raise ValueError("'a' cannot be empty unless no samples are taken")
        if not isinstance(p, Column) or p.uniform:
            # NumPy checks p, whatever the size.
            self.source.generator.choice(count, 0, p=weights[0])
            cumulative = weights[0].cumsum()
            cumulative /= cumulative[-1]
            return _places(cumulative, self._uniform(shape))
        total = weights.sum(axis=1)
        if (weights < 0).any() or not (np.abs(total - 1) < 1e-8).all():
            self.refuse("it chooses with probabilities that are negative or do not sum to 1 in some runs")
        cumulative = weights.cumsum(axis=1)
        cumulative /= cumulative[:, -1:]
        uniform = self._uniform(shape).reshape(n, -1)
        index: Array = (cumulative[:, None, :] <= uniform[:, :, None]).sum(axis=2)
        return index.reshape(full)

    def _integers(self, count: int, shape: Shape) -> Array:
        """Places among so many options, the same on both inputs where noise is shared."""
        shared = self._shared(DISTRIBUTIONS["integers"], (0, count), shape)
        if shared is not None:
            return shared
        return self.source.generator.integers(0, count, (self.run.n, *(shape or ())))

    def _uniform(self, shape: Shape) -> Array:
        """The numbers of [0, 1) that decide choices, the same on both inputs where noise is shared as it is."""
        if self.shared is not None and not self.shared.weighted:
            shared = self._shared(DISTRIBUTIONS["random"], (), shape)
            if shared is not None:
                return shared
        return drawn_by_element(self.source.generator.random, self.run.n, shape)

    def permute(self, distribution: str, values: Any) -> Any:
        """A random order, drawn as an order of positions."""
        run = self.run
        if run.side is not None:
            self._mind_weights()
        values = stack_nested(values)
        if element_ndim(values) > 1:
            self.refuse("it permutes an array of several axes")
        count = int(values) if element_ndim(values) == 0 else len(values)
        generator = self.source.generator
        order = self._values(distribution, lambda: generator.permuted(np.tile(np.arange(count), (run.n, 1)), axis=1))
        run.draws.append(Draw(distribution, (values,), (count,), order, run.epoch, run.side))
        if element_ndim(values) == 0:
            return ArrayColumn(run, order, False)
        pool = values.values() if isinstance(values, Column) else np.asarray(values)[None]
        return ArrayColumn(run, np.take_along_axis(np.broadcast_to(pool, (run.n, count)), order, 1), False)

    def pick(self, options: Sequence[Any]) -> Any:
        """One element of a Python sequence: runs are split by which, unless the elements are plain numbers."""
        run = self.run
        if run.side is not None:
            self._mind_weights()
        if type(options) not in (list, tuple, str, range):
            self.refuse(f"it chooses from a {type(options).__name__}")
        if len(options) == 0:
            raise IndexError("Cannot choose from an empty sequence")
        index = self._values("random.choice", lambda: self._integers(len(options), None))
        run.draws.append(Draw("random.choice", (len(options),), None, index, run.epoch, run.side))
        # NumPy strips zeros from the end of text.
        exact = not any(isinstance(option, str) and option.endswith("\0") for option in options)
        if exact and len({type(option) for option in options}) == 1 and type(options[0]) in (bool, int, float, str):
            pool = np.array(list(options))
            if pool.dtype in STANDARD or pool.dtype.kind == "U":
                return Scalar(run, pool[index], pool.dtype.kind, False)
        return options[run.resolve(index, "a choice among objects")]

    def _values(self, distribution: str, sample: Callable[[], Array]) -> Array:
        return self.run.record.taken(len(self.run.draws)) if self.run.recorded(distribution) else sample()

    def _element_shape(self, params: Params, size: Any) -> Shape:
        """The shape of one run's draw: what `size` says, or what the parameters broadcast to."""
        wide = np.broadcast_shapes(*(_shape(p) for p in params))
        given = normal_size(size, self)
        if given == () and not self.axes_may_be_none:
            self.refuse("it draws with size=()")
        if given is None:
            return wide or None
        if wide and np.broadcast_shapes(wide, given) != given:
            raise ValueError("Output size is not compatible with broadcast dimensions of inputs.")
        return given

    def _sample(self, distribution: Distribution, params: Params, shape: Shape) -> Array:
        given = tuple([aligned(p, len(shape or ())) for p in params])
        shared = self._shared(distribution, given, shape)
        if shared is not None:
            return shared
        if _plain_numbers(given):
            return drawn_by_element(lambda size: distribution.sample(self.source, given, size), self.run.n, shape)
        return np.asarray(distribution.sample(self.source, given, (self.run.n, *(shape or ()))))

    def _shared(self, distribution: Distribution, params: Params, shape: Shape) -> Array | None:
        if self.shared is None:
            return None
        return self.shared.draw(len(self.run.draws), distribution, params, shape, self.run.ids(), self.source)


def _shape(value: Any) -> tuple[int, ...]:
    """The shape of one run's value."""
    return value.dense().shape[1:] if isinstance(value, Column) else np.shape(value)


def _places(cumulative: Array, uniform: Array) -> Array:
    """How many of the cumulative probabilities each number has reached, as NumPy chooses."""
    if len(cumulative) > FEW_OPTIONS:
        return np.asarray(cumulative.searchsorted(uniform, side="right"))
    places = np.zeros_like(uniform, dtype=np.uint8)
    for end in cumulative[:-1].tolist():
        places += uniform >= end
    return places.astype(np.int64)


def _plain_numbers(params: Params) -> bool:
    # A loop, not all(): this is asked at every draw.
    for value in params:  # noqa: SIM110
        if type(value) is not float and type(value) is not int:
            return False
    return True
