"""Uses Z3 to find adjacent inputs whose noise-free runs take different sides of a branch.

The paths of one run are explored with a variable for each number. Two paths that agree up to a branch and answer it
differently are a question to the solver: which two adjacent inputs take them? The answer gets readable numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, NamedTuple

import z3

from refutedp.inputs.arguments import terms
from refutedp.inputs.arguments.explore import Explored, Tracing, WatchedMemory, Work, explore, trace
from refutedp.inputs.arguments.noise_free_run import NoiseFreeRunner
from refutedp.inputs.arguments.paths import Branch, Path, Site
from refutedp.inputs.arguments.problem import Limits
from refutedp.inputs.arguments.solve import readable_reals, value_range
from refutedp.inputs.arguments.watched import Number, symbol
from refutedp.model.mechanism import Mechanism

ASKED, ANSWERED = 16, 3
"""Pairs of paths that are asked about at a branch of one symbolic pair, and answers that are enough."""
EXPLORED = 0.3
"""The part of the work that is left which goes into the paths of one length."""


class Unknown(NamedTuple):
    """A number that is searched, and the values to try before others."""

    term: Any
    preferred: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class SymbolicPair:
    """Two inputs, as the terms of their numbers; every solution of `rules` is a pair of adjacent inputs.

    `ordinary` are further rules, which leave out unusual inputs; none where they are forbidden anyway.
    """

    first: tuple[Any, ...]
    second: tuple[Any, ...]
    unknowns: tuple[Unknown, ...]
    rules: tuple[Any, ...]
    ordinary: tuple[Any, ...]


class Solved(NamedTuple):
    """The numbers of two inputs."""

    first: list[Fraction]
    second: list[Fraction]


class Follower:
    """Follows a mechanism without noise, on data whose numbers are known or unknown.

    `fill` makes data of watched numbers, `whole` says which number is an integer.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        arguments: Mapping[str, Any],
        fill: Callable[[Sequence[Any]], Any],
        whole: Callable[[int], bool],
        largest: int,
        limits: Limits,
        work: Work,
    ) -> None:
        self.context = z3.Context()
        self.arguments = arguments
        self._runner = NoiseFreeRunner(mechanism, arguments)
        self._fill, self._whole, self._largest = fill, whole, largest
        self._limits, self._work = limits, work
        self._memory = WatchedMemory()
        self._explored: dict[int, tuple[list[Any], Explored]] = {}
        self.notes: list[str] = []
        """Why some paths were not followed."""
        self.own_float = False
        """Whether `float` keeps numbers under watch from the first run on (see `FollowedStage`)."""

    @property
    def calls(self) -> int:
        """How often the mechanism was called."""
        return self._runner.all_calls

    @property
    def paths(self) -> int:
        """How many paths were followed."""
        return sum(len(explored.paths) for _, explored in self._explored.values())

    def variable(self, name: str, number: int) -> Any:
        """An unknown of the kind that the number at a place has."""
        return (z3.Int if self._whole(number) else z3.Real)(name, self.context)

    def run(self, numbers: Sequence[Any]) -> Path:
        """The path of known numbers."""
        work = Work(self._limits.units, self._limits.events)
        return trace(
            lambda tracing: self._call(tracing, [Number(tracing, one) for one in numbers]), self._limits, work
        )

    def questions(self, pair: SymbolicPair) -> Questions:
        """The branches at which the runs of a symbolic pair may part."""
        return Questions(pair, self._side(pair.first), self._side(pair.second))

    def _call(self, tracing: Tracing, numbers: Sequence[Any]) -> Any:
        runner = self._runner.keeping_floats() if self.own_float else self._runner
        try:
            return runner(tracing, self._fill(numbers), {}, watching=False)
        except SystemExit as stop:
            raise RuntimeError("the mechanism called sys.exit") from stop

    def _side(self, cells: Sequence[Any]) -> _Side:
        if len(cells) not in self._explored:
            self._explored[len(cells)] = self._explore(len(cells))
        variables, explored = self._explored[len(cells)]
        clean = [path for path in explored.paths if path.raised is None]
        linear = [all(map(self._memory.linear, path.condition)) for path in clean]
        return _Side(clean, linear, list(zip(variables, cells, strict=True)))

    def _explore(self, count: int) -> tuple[list[Any], Explored]:
        variables = [self.variable(f"cell{number}", number) for number in range(count)]
        domain = [fact for variable in variables for fact in within(variable, -self._largest, self._largest)]

        def call(tracing: Tracing) -> Any:
            return self._call(tracing, [symbol(tracing, one) for one in variables])

        found = explore(call, domain, self.context, self._limits, self._work.part(EXPLORED), self._memory)
        if found.needs_float and not self.own_float:
            self.own_float = True
            return self._explore(count)
        self.notes += found.notes
        return variables, found


class _Side:
    """The paths of one of two inputs, whose conditions are asked in its own cells."""

    def __init__(self, paths: Sequence[Path], linear: Sequence[bool], renamed: Sequence[tuple[Any, Any]]) -> None:
        self.paths, self.linear = paths, linear
        self._renamed = renamed
        self._conditions: dict[int, list[Any]] = {}

    def condition(self, number: int) -> list[Any]:
        """What the cells of this input satisfy on a path."""
        if number not in self._conditions:
            self._conditions[number] = [z3.substitute(fact, *self._renamed) for fact in self.paths[number].condition]
        return self._conditions[number]


class Questions:
    """What the solver is asked about a symbolic pair: at each branch, pairs of paths that part there."""

    def __init__(self, pair: SymbolicPair, first: _Side, second: _Side) -> None:
        self._pair, self._sides = pair, (first, second)
        self._at: dict[Site, list[tuple[int, int]]] = {}
        for i, one in enumerate(first.paths):
            for j, other in enumerate(second.paths):
                branch = parted_at(one, other)
                if branch is not None:
                    self._at.setdefault(branch.site, []).append((i, j))
        for pairs in self._at.values():
            pairs.sort(key=lambda at: len(first.paths[at[0]].condition) + len(second.paths[at[1]].condition))

    @property
    def sites(self) -> Set[Site]:
        """Where the two runs can part, as far as their paths tell."""
        return self._at.keys()

    def answers(self, left_out: Set[Site], work: Work, *, ordinary: bool) -> Iterator[Solved]:
        """Adjacent inputs whose runs part at the other sites, if floats are as exact as the solver."""
        rules = [*self._pair.rules, *(self._pair.ordinary if ordinary else ())]
        sites = sorted(self._at.keys() - left_out)
        for left, site in zip(range(len(sites), 0, -1), sites, strict=True):
            share = work.part(1 / left)
            found = (self._solved(rules, i, j, share) for i, j in self._at[site][:ASKED])
            yield from islice((one for one in found if one is not None), ANSWERED)

    def _solved(self, rules: Sequence[Any], i: int, j: int, work: Work) -> Solved | None:
        """Readable numbers that take these paths; None where there are none, or the solver gave up."""
        first, second = self._sides
        facts = [*rules, *first.condition(i), *second.condition(j)]
        linear = first.linear[i] and second.linear[j]
        solver = z3.Solver(ctx=facts[0].ctx)
        solver.add(*facts)
        if work.over or work.check(solver, linear=linear) != z3.sat:
            return None
        chosen: list[tuple[Any, Any]] = []
        for unknown in self._pair.unknowns:
            candidates = _candidates(unknown, facts, chosen, work)
            value = next((one for one in candidates if _allows(solver, unknown, one, work, linear)), None)
            if value is None:
                if work.check(solver, linear=linear) != z3.sat:
                    return None
                value = terms.exact_of(solver.model().eval(unknown.term, model_completion=True))
            if value is None:
                return None
            chosen.append((unknown.term, _literal(unknown, value)))
            solver.add(unknown.term == chosen[-1][1])
        sides = []
        for cells in (self._pair.first, self._pair.second):
            values = [terms.exact_of(z3.simplify(z3.substitute(cell, *chosen))) for cell in cells]
            sides.append([value for value in values if value is not None])
        return Solved(*sides)


def within(term: Any, low: float | Fraction, high: float | Fraction) -> list[Any]:
    """Rules that keep a term between two numbers."""
    return [term >= terms.constant(low, term.ctx), term <= terms.constant(high, term.ctx)]


def parted_at(first: Path, second: Path) -> Branch | None:
    """The branch at which two runs part, if what it tests is data without noise."""
    for one, other in zip(first.branches, second.branches, strict=False):
        if (one.site, one.occurrence) != (other.site, other.occurrence):
            return None
        if one.outcome is not other.outcome:
            return None if one.noisy or other.noisy else one
    return None


def _candidates(
    unknown: Unknown, facts: Sequence[Any], chosen: Sequence[tuple[Any, Any]], work: Work
) -> Iterator[Fraction]:
    """Values to try for an unknown, the most readable first; of whole numbers the smallest."""
    yield from unknown.preferred
    left = [z3.simplify(z3.substitute(fact, *chosen)) for fact in facts] if chosen else list(facts)
    interval = None if work.over else value_range(work, left, unknown.term)
    if interval is None:
        return
    if not unknown.term.is_int():
        yield from readable_reals(interval)
    elif interval.low is not None and interval.low > 0:
        yield interval.low
    elif interval.high is not None and interval.high < 0:
        yield interval.high


def _literal(unknown: Unknown, value: Fraction) -> Any:
    return terms.constant(int(value) if unknown.term.is_int() else value, unknown.term.ctx)


def _allows(solver: Any, unknown: Unknown, value: Fraction, work: Work, linear: bool) -> bool:
    if work.over or (unknown.term.is_int() and value.denominator != 1):
        return False
    solver.push()
    solver.add(unknown.term == _literal(unknown, value))
    possible = work.check(solver, linear=linear) == z3.sat
    solver.pop()
    return bool(possible)
