"""Runs a mechanism on one input thousands of times in a few calls; each path is checked by a plain replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np

from refutedp.model.mechanism import Mechanism, fresh_copies
from refutedp.model.outputs import Array, Outputs
from refutedp.sampling.encode import Raised
from refutedp.sampling.lifted.collect import Collector, equal_outputs, example, settled
from refutedp.sampling.lifted.drawer import LiftedDrawer
from refutedp.sampling.lifted.execution import (
    NOTHING,
    CannotLift,
    Deferred,
    Excusable,
    PathRefused,
    Refused,
    Run,
    WrongLift,
    keep_freed_memory,
)
from refutedp.sampling.lifted.noise.shared_noise import SharedNoise
from refutedp.sampling.lifted.rewrite.lifted_copies import LiftedCopier, LiftedStage
from refutedp.sampling.lifted.trust.exposure import Exposure
from refutedp.sampling.lifted.trust.plain_calls import (
    Continue,
    PlainCalls,
    Recorded,
    Replay,
    calls_by_run,
    copied_functions,
    recorded_draws,
)
from refutedp.sampling.lifted.trust.refused_code import unchanged
from refutedp.tracing.distributions import Source
from refutedp.tracing.watchdog import DidNotReturn, now_on, one_call

FEW = 8
"""Parts of at most this many runs are finished by plain calls, which is then cheaper than one lifted call."""
PILOT = 512
"""So many runs are tried first; when most of them take paths of their own, the mechanism is called plainly."""
SCATTERED = 0.5
"""The share of the pilot's runs on paths of their own from which on lifting does not pay."""
BATCH = 10_000
"""So many outputs of plain calls are kept as Python objects at a time."""
LARGEST = 2**18
"""So many runs are lifted at a time, if each draws little."""
MOST_NUMBERS = 2**23
"""So many numbers are drawn at a time, to bound memory: 64 MB, and as much for what is computed from them."""
CACHED = 2**19
"""So many numbers are drawn at a time where all runs take one path: 4 MB, which the processor's cache can hold while
they are worked on. Where paths are many, each costs a call, and the more runs share it the better."""
MOST_PROVEN = 200_000
"""So many proven paths are remembered; beyond, a path is proven anew each time it is taken."""

See: TypeAlias = Callable[[Array | None, Any, int, Run | list[Recorded]], None]
"""Is told the numbers of runs that end together (None: all), their output, how many they are, and their draws.

The output may hold columns; then the execution holds the draws."""


class Lift:
    """One mechanism on one input, run on columns.

    Every path that the lifted runs take is proven before its outputs are used: a run of it is replayed through the
    plain function with its recorded draws, and must ask for the same draws and return an equal output. What the
    samples are depends on the generator alone, not on what was proven before. `exact` noise is NumPy's to the last
    digit.

    >>> import numpy as np
    >>> from refutedp.model.mechanism import describe
    >>> def above(queries, epsilon, rng):
    ...     return [q + rng.laplace(scale=2 / epsilon) > 1 for q in queries]
    >>> lift = Lift(describe(above), [0, 1], {"epsilon": 1.0})
    >>> lift.prove(np.random.default_rng(0))
    >>> lift.sample(1000, np.random.default_rng(1)).size
    1000
    """

    def __init__(
        self, mechanism: Mechanism, data: Any, arguments: Mapping[str, Any], *, exact: bool = False, number: int = 0
    ) -> None:
        if mechanism.batched:
            raise CannotLift("it is batched already")
        if mechanism.seed is not None or mechanism.draws_from != "generator":
            raise CannotLift("it takes a seed, or another generator than NumPy's Generator")
        keep_freed_memory()
        self._name, self._input = mechanism.name, data
        self._exact = exact
        self.number = number
        """Which of the inputs of a check it runs."""
        self._drawer = LiftedDrawer()
        self._stage = LiftedStage(self._drawer)
        copier = LiftedCopier(self._stage)
        self._lifted = replace(mechanism, function=copier.copy(mechanism.function))
        self._data = fresh_copies(data)
        self._arguments = fresh_copies(copied_functions(arguments, copier))
        copier.refuse_shared()
        self.roots = copier.roots
        """What the mechanism can reach between calls, by name."""
        self.functions = tuple(copier.originals)
        """The functions that were copied."""
        self.watched = False
        """Whether someone sees to it that nothing there changes (`watching`)."""
        self.plain = PlainCalls(mechanism, data, arguments, self._stage)
        """The mechanism on this input, run by run."""
        self._proven: dict[tuple[Any, ...], set[tuple[int, bool]]] = {}
        self._numbers = 1
        """How many a run draws, at most in what was seen of it."""
        self._stateless = False
        self._exposure: Exposure | None = None
        self.proven = False
        """Whether `prove` went well."""
        self.proof_runs = 0
        """Lifted runs that were made to be replayed."""

    def prove(self, rng: np.random.Generator, runs: int = 48) -> None:
        """Replay each of `runs` lifted runs through the plain function; raise CannotLift unless all are equal."""
        now_on(self._name, self._input)
        state = rng.bit_generator.state
        try:
            self._prove(runs, rng)
        except Excusable:
            # From now on, lifted runs are watched too.
            self._exposure = Exposure(self.plain.watch.compares_by_identity)
            self._proven.clear()
            rng.bit_generator.state = state
            self._prove(runs, rng)
        self.proven = True

    def _prove(self, runs: int, rng: np.random.Generator) -> None:
        finished: list[tuple[Run, Any]] = []
        self._check_state()
        self.proof_runs += runs
        with watching(self):
            self._explore(runs, Source(rng), lambda run, output: finished.append((run, output)))
            for run, output in finished:
                for index in range(run.n):
                    # Runs of one path execute the same code, unless they chose differently on it.
                    self._replay(run, output, index, watched=index == 0 or bool(run.choices))
                self._prove_path(run, output, replayed=True)

    def sample(self, n: int, rng: np.random.Generator, shared: SharedNoise | None = None) -> Outputs:
        """`n` runs, distributed as n calls of the plain function with a real generator; raises CannotLift.

        `shared` is noise for as many runs, at most `chunk`, that another lift has used or will use.
        """
        collector, source = Collector(), Source(rng, exact=self._exact)
        self._check_state()

        def see(_: Array | None, output: Any, runs: int, draws: Run | list[Recorded]) -> None:
            if isinstance(draws, Run):
                collector.add(output, runs)
            else:
                collector.add_plain(output)

        with watching(self):
            if n > 8 * PILOT and self.scattered:
                for start in range(0, n, BATCH):
                    collector.add_many(self.plain.fresh(min(BATCH, n - start), source))
            else:
                for start in range(0, n, self.chunk):
                    self._visit(source, min(self.chunk, n - start), see, shared)
            return collector.finish()

    @property
    def chunk(self) -> int:
        """How many runs can be lifted at a time."""
        self._check_state()
        return self._runs_of(MOST_NUMBERS)

    @property
    def stretch(self) -> int:
        """How many runs are best lifted at a time, where no outputs are kept."""
        return self._runs_of(CACHED) if self._trial[1] == PILOT else self.chunk

    def _runs_of(self, numbers: int) -> int:
        """How many runs draw so many numbers."""
        return min(LARGEST, max(1024, numbers // self._numbers))

    @property
    def scattered(self) -> bool:
        """Whether most runs take paths of their own, so that long samples are made one call at a time."""
        return self._trial[0] > SCATTERED * PILOT

    def visit(self, rng: np.random.Generator, n: int, see: See, shared: SharedNoise | None = None) -> None:
        """Make `n` runs and tell `see` of each part that ends together; `shared` is as in `sample`."""
        now_on(self._name, self._input)
        self._check_state()
        with watching(self):
            self._visit(Source(rng, exact=self._exact), n, see, shared)

    def _visit(self, source: Source, n: int, see: See, shared: SharedNoise | None) -> None:
        def finish(run: Run, output: Any) -> None:
            self._prove_path(run, output)
            with _path_refusals():
                see(run.ids(), output, run.n, run)

        def few(start: Deferred) -> None:
            """Plain calls, on noise of their own; only where noise is importance-sampled is it worth sharing."""
            ids = np.arange(start.n) if start.ids is None else start.ids
            for number, (distributions, values) in enumerate(calls_by_run(start.record, start.n)):
                one, weighted, drawn = ids[number : number + 1], None, list[Recorded]()
                if shared is not None and shared.weighted:
                    weighted = partial(shared.draw, runs=one, source=source)
                output = self.plain.call(Continue(source, distributions, values, weighted, drawn))
                see(one, output, 1, drawn)

        self._explore(n, source, finish, few, shared=shared, refused=few)

    @cached_property
    def _trial(self) -> tuple[int, int]:
        """The pilot, until so many runs share their paths that whatever the others do, they cannot be the most."""
        return self._pilot((1 - SCATTERED) * PILOT)

    @cached_property
    def alone(self) -> float:
        """The part of the runs of that pilot that take paths of their own, each of which costs a call."""
        return self._pilot(PILOT)[0] / PILOT

    def _pilot(self, enough: float) -> tuple[int, int]:
        """How many of a pilot's runs take paths of their own, and the largest path, once `enough` share theirs.

        Its seed is fixed, for the same calls must be made on every machine: counts decide, not clocks.
        """
        self._check_state()
        alone = together = largest = 0

        def finish(run: Run, _: Any) -> bool:
            nonlocal alone, together, largest
            largest = max(largest, run.n)
            alone, together = (alone + 1, together) if run.n == 1 else (alone, together + run.n)
            return together >= enough

        def few(_: Deferred) -> None:
            nonlocal alone
            alone += 1

        with watching(self):
            self._explore(PILOT, Source(np.random.default_rng(0)), finish, few, at_most=1)
        return alone, largest

    def _explore(
        self,
        n: int,
        source: Source,
        finish: Callable[[Run, Any], bool | None],
        few: Callable[[Deferred], None] | None = None,
        *,
        at_most: int = FEW,
        shared: SharedNoise | None = None,
        refused: Callable[[Deferred], None] | None = None,
    ) -> None:
        """Follow every path that the runs take, or until `finish` has seen enough.

        Parts of at most `at_most` runs go to `few`; those on a path that cannot be lifted go to `refused`, however
        many they are. To draw them all again instead would keep only samples in which the path is rare.
        """
        waiting = [Deferred(n, (), NOTHING)]
        self._drawer.source = source
        self._drawer.shared = shared
        try:
            while waiting:
                start = waiting.pop()
                if few is not None and start.n <= at_most:
                    few(start)
                    continue
                run = Run(start, waiting.append)
                try:
                    output = self._call(run)
                    if not run.draws:
                        self.plain.check_silence(example(output, 0))
                    if finish(run, output):
                        break
                except (PathRefused, Refused):
                    if refused is None:
                        raise
                    refused(run.rest())
        finally:
            # A lift lives as long as its sampler; the noise of its last runs need not.
            self._drawer.forget()

    def _check_state(self) -> None:
        """Make two plain calls before the first lifted one, which could leave columns in what a mechanism keeps.

        They also tell how many numbers a run draws; their seed is fixed, so the size of chunks is too.
        """
        if self._stateless:
            return
        source = Source(np.random.default_rng(0))
        with watching(self):
            for _ in range(2):
                drawer = Continue(source)
                self.plain.call(drawer)
                self._numbers = max(self._numbers, drawer.numbers)
            self.plain.check_copy()
        self._stateless = True

    def _call(self, run: Run) -> Any:
        self._drawer.run = run
        try:
            with self._stage.errstate(**self.plain.errors), one_call():
                output = self._watched(run)
        except Refused:
            output = None
        except (DidNotReturn, MemoryError) as error:
            # Of a path that takes too much, plain calls say on what input.
            why = str(error) or "took more memory than it may"
            raise (CannotLift if run.stateful else PathRefused)(f"a lifted run {why}") from None
        except Exception as error:
            output = Raised(type(error).__name__)
        if run.refusal is not None:
            raise (CannotLift if run.stateful else PathRefused)(run.refusal)
        if not run.consistent:
            raise CannotLift("it does not do the same thing twice on the same draws: it keeps state between calls")
        run.closed = True
        with _path_refusals():
            return settled(output)

    def _watched(self, run: Run) -> Any:
        call = partial(self._lifted.call, self._data(), self._arguments(), rng=self._stage.rng)
        return call() if self._exposure is None else self._exposure.call(call, partial(setattr, run, "exposed"))

    def _replay(self, run: Run, output: Any, index: int, *, watched: bool = True) -> None:
        expected = example(output, index)
        got = self.plain.call(Replay(recorded_draws(run, index)), watched=watched, exposed=run.exposed)
        if not equal_outputs(got, expected):
            raise WrongLift(f"a lifted run returned {expected!r} where the plain function returns {got!r}")

    def _prove_path(self, run: Run, output: Any, *, replayed: bool = False) -> None:
        """Replay what has to be replayed before this path is trusted, and remember it once that went well.

        Two runs of a path that is new, and one for each side of each choice on it that no replayed run has taken yet;
        none if all were `replayed` already.
        """
        # An exception is an outcome of its own: one run may have caused it for all runs of a path that is known.
        raised = isinstance(output, Raised)
        path = (*run.decisions, output.error) if raised else tuple(run.decisions)
        known = self._proven.get(path)
        needed = {} if known is not None and not raised else {0: None, run.n // 2: None, run.n - 1: None}
        fresh: set[tuple[int, bool]] = set()
        for number, choice in enumerate(run.choices):
            for side in (True, False):
                if known is None or (number, side) not in known:
                    found = choice.took(side)
                    if len(found):
                        fresh.add((number, side))
                        needed[int(found[0])] = None
        run.choices.clear()
        for index in () if replayed else needed:
            self._replay(run, output, index)
        if known is not None:
            known |= fresh
        elif len(self._proven) < MOST_PROVEN:
            self._proven[path] = fresh


@contextmanager
def watching(*lifts: Lift) -> Iterator[None]:
    """Refuses a block in which a mechanism keeps state: one look before it and one after, whatever is inside.

    NumPy's floating-point errors are silent in the block, but for plain calls, which see the caller's settings.
    """
    unwatched = [lift for lift in lifts if not lift.watched]
    if not unwatched:
        yield
        return
    errors = np.geterr()
    with unchanged(*(lift.roots for lift in unwatched)), np.errstate(all="ignore"):
        for lift in unwatched:
            lift.watched = True
            lift.plain.errors = errors
        try:
            yield
        finally:
            for lift in unwatched:
                lift.watched = False


@contextmanager
def _path_refusals() -> Iterator[None]:
    """Whoever cannot read the output of a path refuses the path, not the function."""
    try:
        yield
    except CannotLift as error:
        raise PathRefused(str(error)) from error
    except RecursionError:
        raise PathRefused("it returns an object that is nested too deeply, or holds itself") from None
