"""All paths of a mechanism on one input, the likeliest first, each with draws that lead down it.

The mechanism's own function is called on these draws: a path counts as known only if the function asks for the same
draws and returns what the path says. Paths that were not followed, or not repeated, keep a bound on their
probability.
"""

from __future__ import annotations

import copy
import heapq
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from refutedp.exact.absolute_number import AbsoluteNumber
from refutedp.exact.drawn_number import DrawnNumber
from refutedp.exact.enumerated_run import DrawnNumbers, EnumeratedCopier, EnumeratedStage, recorded_at
from refutedp.exact.families import Enclosure
from refutedp.exact.linear_sums import Relation
from refutedp.exact.relations import probability, solution
from refutedp.exact.trail import CannotEnumerate, Trail
from refutedp.model.errors import UnsupportedOutputError
from refutedp.model.mechanism import Mechanism
from refutedp.model.outputs import NUMERIC, Path, Shape
from refutedp.model.settings import kept_globals
from refutedp.sampling.encode import Raised, shape_of
from refutedp.sampling.lifted.trust.plain_calls import Recorded
from refutedp.sampling.lifted.trust.refused_code import WatchOfChance, generators_state
from refutedp.sampling.lifted.trust.witness import Witness, retold
from refutedp.tracing.watchdog import DidNotReturn, now_on, one_call

MOST_PATHS = 200
"""Paths of one input."""
CLOSE = 1e-9
"""A float that a path computes differs from that of the function by rounding, up to so much of it."""


@dataclass(frozen=True)
class OutputPath:
    """One path: what its draws have left, and its output, some of whose leaves are numbers that were drawn.

    `values` are draws that lead down it, in standard form and in the order in which they are asked for.
    """

    trail: Trail
    shape: Shape
    leaves: tuple[Any, ...]
    values: tuple[float, ...]
    recorded: tuple[Recorded, ...]
    output: Any

    @cached_property
    def mass(self) -> Enclosure:
        """Its probability."""
        return self._reachable(probability(self.trail.draws, self.trail.relations))

    def _reachable(self, chance: Enclosure) -> Enclosure:
        """Integrals count all draws: none, if those that are known to lead down the path are beyond reach."""
        within = all(
            draw.family.reach[0] <= value <= draw.family.reach[1]
            for draw, value in zip(self.trail.draws, self.values, strict=False)
        )
        return chance if not self.trail.relations or within else Enclosure(0.0, chance.high)

    def leaf(self, path: Path) -> Any:
        """The leaf at a path: a plain value, a number that was drawn, or None where there is none."""
        return self.leaves[self.shape.paths.index(path)] if path in self.shape.paths else None

    def within(self, number: DrawnNumber, low: float, high: float) -> Enclosure:
        """The probability of the path with low <= number < high."""
        try:
            if not self.trail.relations and len(number.linear.terms) == 1:
                return self._within_one(number, low, high)
            return self._within_several(number, low, high)
        except CannotEnumerate:
            return Enclosure(0.0, self.mass.high)

    def _within_several(self, number: DrawnNumber, low: float, high: float) -> Enclosure:
        draws, relations = list(self.trail.draws), list(self.trail.relations)
        for end, beyond in ((low, True), (high, False)):
            if math.isinf(end):
                continue
            linear, bound, upwards, strict = number.bound(end, True)
            if len(linear.terms) == 1:
                place = linear.terms[0][0].draw
                parts = self.trail.split(linear, bound, draws[place], strict)
                draws[place] = parts[bool(beyond == upwards)]
            else:
                relations.append(Relation(linear, bound, beyond == upwards))
        return self._reachable(probability(draws, relations))

    def _within_one(self, number: DrawnNumber, low: float, high: float) -> Enclosure:
        place = number.linear.terms[0][0].draw
        left = self.trail.draws[place]
        for end, beyond in ((low, True), (high, False)):
            if not math.isinf(end):
                linear, bound, upwards, strict = number.bound(end, True)
                left = self.trail.split(linear, bound, left, strict)[bool(beyond == upwards)]
        draws = [*self.trail.draws]
        draws[place] = left
        return probability(draws, [])


@dataclass(frozen=True, slots=True)
class PathList:
    """The paths of one input; `missing` is a bound on the probability of all others, and `why` there are others."""

    paths: tuple[OutputPath, ...]
    missing: float
    why: str = ""
    steps: int = 0

    @property
    def complete(self) -> bool:
        """Whether every path is listed."""
        return self.missing == 0

    @property
    def integrals(self) -> int:
        """On how many paths draws are compared with each other."""
        return sum(bool(path.trail.relations) for path in self.paths)


@contextmanager
def _unshown_warnings() -> Iterator[None]:
    """Shows no warnings; filters and NumPy's settings stay, for a mechanism may take a warning as an error."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda *_, **__: None
        yield


class Enumerator:
    """Enumerates the paths of one mechanism on any input.

    >>> from refutedp.model.mechanism import describe
    >>> def rare(data, rng): return bool(data[0] == 1 and rng.random() < 1e-20)
    >>> [path.leaves for path in Enumerator(describe(rare)).paths([1], {}).paths]
    [(False,), (True,)]
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self._draws = DrawnNumbers()
        stage = EnumeratedStage(self._draws)
        self._rng = None if mechanism.rng is None else stage.generator(mechanism.draws_from)
        self._copier = EnumeratedCopier(stage)
        self._copy = replace(mechanism, function=self._copier.copy(mechanism.function))
        self._mechanism = mechanism
        self._watch = WatchOfChance(frozenset(one.__code__ for one in self._copier.originals))
        self._beyond = ""
        self.calls = 0
        """How often the mechanism was called."""

    def paths(
        self,
        data: Any,
        arguments: Mapping[str, Any],
        most: int = MOST_PATHS,
        steps: int = 10**9,
        integrals: int = MOST_PATHS,
    ) -> PathList:
        """The paths on one input, at most so many, and those that so many draws and decisions lead down.

        Of those on which draws are compared with each other, which take long, there are at most `integrals`.
        """
        now_on(self._mechanism.name, data)
        waiting: list[tuple[float, int, tuple[int, ...], float]] = [(-1.0, 0, (), 1.0)]
        known: list[OutputPath] = []
        missing, why, order, taken = 0.0, "", 0, 0
        with _unshown_warnings(), kept_globals():
            generators = generators_state()
            while waiting:
                if len(known) >= most or taken >= steps or integrals <= 0:
                    why = f"there are more than {len(known)} paths"
                    break
                prefix = heapq.heappop(waiting)[2]
                trail = Trail(prefix)
                path = self._path(trail, data, arguments)
                taken += trail.steps
                if self._watch.complaint is not None:
                    # Nothing is known of such draws, and so of no path: they may decide which there are.
                    return PathList((), 1.0, self._watch.complaint, taken)
                for left, weight, bound in trail.pending:
                    order += 1
                    heapq.heappush(waiting, (-weight, order, left, bound))
                if isinstance(path, OutputPath):
                    known.append(path)
                    integrals -= bool(trail.relations)
                    continue
                lost = trail.mass().high
                missing, why = missing + lost, path
                if missing >= 1 or (not known and lost > 0.5):
                    break
            if generators_state() != generators:
                return PathList((), 1.0, "a library draws from a global generator", taken)
            missing += sum(bound for *_, bound in waiting) * (1 + 1e-9)
        return PathList(tuple(known), min(missing, 1.0), why, taken)

    def _path(self, trail: Trail, data: Any, arguments: Mapping[str, Any]) -> OutputPath | str:
        """One path; or why it is not known."""
        self._draws.start(trail)
        raised = CannotEnumerate.raised
        try:
            output = self._called(data, arguments)
            if CannotEnumerate.raised > raised:
                return "it goes on after something that is not followed"
            shape, leaves = _leaves(output)
            trail.require_differences_free(leaf.linear for leaf in leaves if isinstance(leaf, DrawnNumber))
            chosen = solution(trail.draws, trail.relations)
        except (CannotEnumerate, UnsupportedOutputError) as trouble:
            return str(trouble)
        chosen, asked = _asked(trail, chosen)
        path = OutputPath(trail, shape, tuple(leaves), tuple(asked), tuple(self._draws.recorded), None)
        heard = self._repeated(path, chosen, data, arguments)
        if heard is None:
            return "the function itself does not do on these draws what its path says"
        return replace(path, output=heard[0])

    def repeats(self, path: OutputPath, data: Any, arguments: Mapping[str, Any], rng: np.random.Generator) -> bool:
        """Whether the function does what a path says on other draws that lead down it, too."""
        if path.trail.relations:
            return True  # Such draws are known one at a time only.
        with _unshown_warnings(), kept_globals():
            chosen, _ = _asked(path.trail, [draw.random_point(rng) for draw in path.trail.draws])
            return self._repeated(path, chosen, data, arguments) is not None

    def _repeated(
        self, path: OutputPath, chosen: Sequence[float], data: Any, arguments: Mapping[str, Any]
    ) -> tuple[Any] | None:
        """The output of the function itself on draws that lead down a path, if it is what the path says."""
        witness = Witness(recorded_at(path.recorded, chosen), CLOSE)
        with self._within_bounds():
            heard = retold(witness, self._mechanism, data, arguments, self._copier.originals)
        expected = [leaf.at(list(chosen)) if isinstance(leaf, DrawnNumber) else leaf for leaf in path.leaves]
        return (heard,) if witness.trouble is None and _heard(heard, path.shape, expected) else None

    def _called(self, data: Any, arguments: Mapping[str, Any]) -> Any:
        """The output of the copy."""
        try:
            with self._within_bounds(), one_call():
                given = copy.deepcopy(data), copy.deepcopy(dict(arguments))
                return self._watch.call(partial(self._copy.call, *given, rng=self._rng))
        except Exception as error:
            return Raised(type(error).__name__)

    @contextmanager
    def _within_bounds(self) -> Iterator[None]:
        """Ends the path, and all that would come after it, where a call does not return or takes too much memory."""
        if self._beyond:
            raise CannotEnumerate(self._beyond)
        self.calls += 1
        try:
            yield
        except (DidNotReturn, MemoryError) as error:
            # Other paths may take as long: none is tried any more.
            self._beyond = f"a path {error}" if isinstance(error, DidNotReturn) else "a path takes too much memory"
            raise CannotEnumerate(self._beyond) from None


def _asked(trail: Trail, chosen: Sequence[float]) -> tuple[list[float], list[float]]:
    """All draws, with the parts of each difference as they are asked for; and those that are asked for, in order."""
    values = list(chosen)
    for number, (up, down) in trail.merges.items():
        values[up], values[down] = 1 + max(chosen[number], 0.0), 1 - min(chosen[number], 0.0)
    return values, [value for k, value in enumerate(values) if k not in trail.merges]


_MARK = 2.0**60
"""What stands for drawn leaf number k while an output is taken apart is so much plus k times 1024."""


def _leaves(output: Any) -> tuple[Shape, list[Any]]:
    """The shape of an output, and its leaves in order, drawn numbers among them."""
    drawn: list[DrawnNumber] = []
    shape, leaves = shape_of(_marked(output, drawn))
    marks = {_MARK + 1024 * k: number for k, number in enumerate(drawn)}
    leaves = [leaf.item() if isinstance(leaf, np.generic) else leaf for leaf in leaves]
    found = [
        marks.get(float(leaf), leaf) if type(leaf) is float or (type(leaf) is int and abs(leaf) < 2**1000) else leaf
        for leaf in leaves
    ]
    if sum(isinstance(leaf, DrawnNumber) for leaf in found) != len(drawn):
        raise CannotEnumerate("an output has drawn numbers in a container that is not followed")
    return shape, found


def _marked(value: Any, drawn: list[DrawnNumber]) -> Any:
    if isinstance(value, AbsoluteNumber):
        value = value.cased()
    if isinstance(value, DrawnNumber):
        drawn.append(value)
        mark = _MARK + 1024 * (len(drawn) - 1)
        return int(mark) if value.whole else mark
    if type(value) in (list, tuple):
        return type(value)([_marked(item, drawn) for item in value])
    if type(value) is dict:
        return {key: _marked(item, drawn) for key, item in value.items()}
    if isinstance(value, np.ndarray) and value.dtype == object:
        items = [_marked(item, drawn) for item in value.flat]
        return np.array(items).reshape(value.shape) if items else value
    return value


def _heard(heard: Any, shape: Shape, expected: Sequence[Any]) -> bool:
    try:
        return _same(heard, shape, expected)
    except UnsupportedOutputError:
        return False


def _same(heard: Any, shape: Shape, expected: Sequence[Any]) -> bool:
    """Whether the function returned what the path says, up to the rounding of drawn floats."""
    own, leaves = _leaves(heard)
    if own.label != shape.label or own.paths != shape.paths or own.kinds != shape.kinds:
        return False
    for kind, one, other in zip(shape.kinds, leaves, expected, strict=True):
        if kind in NUMERIC and one != other and not (one != one and other != other):
            if kind == "int" or not abs(one - other) <= CLOSE * (1 + abs(other)):
                return False
        elif kind not in NUMERIC and one != other:
            return False
    return True
