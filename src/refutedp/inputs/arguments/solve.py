"""From the paths of both runs to arguments: the best ones, and among these the ones a person would choose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import z3

from refutedp.inputs.arguments import terms
from refutedp.inputs.arguments.constraints import Encoding, Problem, Variable, encode, least_noise, optimise
from refutedp.inputs.arguments.explore import Work

Value = bool | int | Fraction

# Beyond this width the middle of an interval means nothing to a reader; values near zero are simpler.
_WIDE = 20
_STEPS = (Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 10), Fraction(1, 100), Fraction(1, 10_000))
# Tried where the solver cannot tell the range of an argument.
_PROBES = tuple(Fraction(n, d) for d in (1, 2, 4, 10) for n in (1, 0, 2, 3, 5, 7, 9, -1, -3))


@dataclass(frozen=True, slots=True)
class Solution:
    """A value for every argument; `smallest_noise` names those the noise depends on and that make it smallest."""

    values: dict[str, Value]
    diverging: int
    smallest_noise: frozenset[str]
    notes: tuple[str, ...] = ()


def solve(problem: Problem) -> Solution | None:
    """The best arguments; None when no arguments take both runs to an end, or the solver gave up."""
    encoding = encode(problem)
    facts = list(encoding.hard)
    chosen: dict[str, Value] = {}
    units = {v.wanted.name for v in problem.variables if _is_unit(v, problem, encoding)}
    for variable in problem.variables:
        if variable.wanted.name in units and problem.model([*facts, variable.term == 1]) is not None:
            facts.append(variable.term == 1)
            chosen[variable.wanted.name] = Fraction(1)
    if problem.prefer == "noise":
        facts += least_noise(problem, encoding, facts)
    best = optimise(problem, encoding, facts)
    if best is None:
        return None
    values = _choose(problem, encoding, [*facts, *best.facts], chosen, best.noise)
    if values is None:
        return None
    smallest = encoding.scaled - units if best.noise is not None else frozenset[str]()
    return Solution(values, best.diverging, smallest, best.notes)


def _is_unit(variable: Variable, problem: Problem, encoding: Encoding) -> bool:
    """Whether an argument only stretches the noise, as a sensitivity does: no value is smallest, so 1 is chosen."""
    wanted = variable.wanted
    free = wanted.kind == "real" and wanted.low is None and wanted.high is None
    return free and wanted.name in encoding.scaled and wanted.name not in problem.tested


def _choose(
    problem: Problem, encoding: Encoding, facts: list[Any], chosen: dict[str, Value], noise: Any
) -> dict[str, Value] | None:
    """A value for every argument that keeps all facts; None when the solver gave up.

    Whole numbers and truths come first, then reals one after the other. `noise` is the smallest sum of scales; when
    there is none (the noise can be made as small as one likes), an argument that scales it becomes 1 where that
    keeps the facts.
    """
    chosen = dict(chosen)
    free = [v for v in problem.variables if v.wanted.name not in chosen]
    solver = z3.Solver(ctx=problem.context)
    solver.add(*facts)
    linear = terms.linear(facts)

    def settle(variable: Variable, value: Value) -> None:
        chosen[variable.wanted.name] = value
        solver.add(variable.term == _literal(value, variable))

    whole = [v for v in free if v.wanted.kind != "real" or v.wanted.name in problem.counts]
    for variable in whole:
        candidates: Iterable[Value] = (False, True) if variable.wanted.kind == "bool" else readable_integers()
        value = _first_allowed(problem, solver, variable, candidates, linear)
        if value is None:
            return None
        settle(variable, value)
    reals = [v for v in free if v not in whole]
    for variable in reals:
        scales = noise is None and variable.wanted.name in encoding.scaled
        if scales and _allows(problem, solver, variable, Fraction(1), linear):
            settle(variable, Fraction(1))
    if problem.work.check(solver, linear=linear) != z3.sat:
        return None
    # From here on two paths are fixed: few constraints, and mostly one interval per argument.
    taken = _taken_paths(problem, encoding, solver.model(), noise)
    solver = z3.Solver(ctx=problem.context)
    solver.add(*taken)
    solver.add(*(v.term == _literal(chosen[v.wanted.name], v) for v in problem.variables if v.wanted.name in chosen))
    for variable in reals:
        if variable.wanted.name in chosen:
            continue
        # With the chosen values in place, products of arguments mostly become linear.
        known = [(v.term, _literal(chosen[v.wanted.name], v)) for v in problem.variables if v.wanted.name in chosen]
        interval = value_range(
            problem.work, [z3.simplify(z3.substitute(fact, *known)) for fact in taken], variable.term
        )
        readable = iter(_PROBES) if interval is None else readable_reals(interval)
        value = _first_allowed(problem, solver, variable, readable, linear)
        if value is None:
            return None
        settle(variable, value)
    return chosen


def _literal(value: Value, variable: Variable) -> Any:
    """The value as a Z3 constant of the variable's sort."""
    if isinstance(value, bool):
        return z3.BoolVal(value, variable.term.ctx)
    return terms.constant(int(value) if variable.wanted.kind == "int" else Fraction(value), variable.term.ctx)


def _allows(problem: Problem, solver: Any, variable: Variable, value: Value, linear: bool) -> bool:
    solver.push()
    solver.add(variable.term == _literal(value, variable))
    possible = problem.work.check(solver, linear=linear) == z3.sat
    solver.pop()
    return bool(possible)


def _first_allowed(
    problem: Problem, solver: Any, variable: Variable, candidates: Iterable[Value], linear: bool
) -> Value | None:
    """The first candidate the solver allows, or whatever value it offers when it allows none of them."""
    for candidate in candidates:
        if problem.work.over:
            return None
        if _allows(problem, solver, variable, candidate, linear):
            return candidate
    if problem.work.check(solver, linear=linear) != z3.sat:
        return None
    value = solver.model().eval(variable.term, model_completion=True)
    if variable.wanted.kind == "bool":
        return bool(z3.is_true(value))
    exact = terms.exact_of(value)
    return int(exact) if exact is not None and variable.wanted.kind == "int" else exact


def _taken_paths(problem: Problem, encoding: Encoding, model: Any, noise: Any) -> list[Any]:
    """The conditions of the two paths a model takes."""
    facts = list(problem.domain)
    totals = []
    for run, selectors, noises in zip(problem.runs, encoding.selectors, encoding.noises, strict=True):
        taken = next(i for i, s in enumerate(selectors) if z3.is_true(model.eval(s, model_completion=True)))
        facts += run[taken].condition
        totals.append(noises[taken])
    if noise is not None:
        facts.append(z3.Sum(totals) == noise)
    return facts


def value_range(work: Work, facts: Sequence[Any], term: Any) -> Bounds | None:
    """The values a term can take, all other unknowns free; None when the solver cannot tell."""
    if not terms.linear(facts):
        return None
    ends: list[Fraction | None] = []
    for smallest in (True, False):
        optimiser = z3.Optimize(ctx=term.ctx)
        optimiser.add(*facts)
        end = optimiser.minimize(term) if smallest else optimiser.maximize(term)
        if work.check(optimiser) != z3.sat:
            return None
        infinite, value, _ = end.lower_values() if smallest else end.upper_values()
        ends.append(terms.exact_of(value) if terms.exact_of(infinite) == 0 else None)
    return Bounds(ends[0], ends[1])


@dataclass(frozen=True, slots=True)
class Bounds:
    """Values from `low` to `high`, None where it is unbounded; whether an end belongs to it is not said."""

    low: Fraction | None
    high: Fraction | None

    def inside(self, value: Fraction) -> bool:
        """Whether the value lies strictly inside."""
        return (self.low is None or value > self.low) and (self.high is None or value < self.high)


def readable_reals(interval: Bounds) -> Iterator[Fraction]:
    """Values to try in order: strictly inside first, since a value on the edge separates the two inputs worst.

    >>> next(readable_reals(Bounds(Fraction(1), Fraction(2))))
    Fraction(3, 2)
    >>> next(readable_reals(Bounds(None, None)))
    Fraction(1, 1)
    """
    low, high = interval.low, interval.high
    if low is not None and low == high:
        yield low
        return
    if low is None or high is None or high - low > _WIDE:
        if interval.inside(Fraction(1)):
            yield Fraction(1)
        target = Fraction(0)
        if low is not None and low >= 0:
            target = low + 1
        elif high is not None and high <= 0:
            target = high - 1
    else:
        target = (low + high) / 2
    for step in _STEPS:
        nearest = round(target / step) * step
        around = sorted((nearest - step, nearest, nearest + step), key=lambda v: (abs(v - target), abs(v)))
        yield from (value for value in around if interval.inside(value))
    yield target
    yield from (end for end in (high, low) if end is not None)


def readable_integers(reach: int = 64) -> Iterator[int]:
    """1, 2, 3, ... first (a bound of 0 is rarely meant), then 0, -1, -2, ...

    >>> list(readable_integers(2))
    [1, 2, 0, -1, -2]
    """
    yield from range(1, reach + 1)
    yield from range(0, -reach - 1, -1)
