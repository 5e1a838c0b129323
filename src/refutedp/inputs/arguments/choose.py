"""Among the best arguments, readable ones: whole numbers and truths first, then reals one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import z3

from refutedp.inputs.arguments import terms
from refutedp.inputs.arguments.constraints import Encoding, Problem, Variable
from refutedp.inputs.arguments.readable import Bounds, readable_integers, readable_reals

Value = bool | int | Fraction


def choose(
    problem: Problem, encoding: Encoding, facts: list[Any], chosen: dict[str, Value], noise: Any
) -> dict[str, Value] | None:
    """A value for every argument that keeps all facts; None when the solver gave up.

    `noise` is the smallest sum of scales. When there is none (the noise can be made as small as one likes), an
    argument that scales it becomes 1 where that keeps the facts.
    """
    chosen = dict(chosen)
    free = [v for v in problem.variables if v.wanted.name not in chosen]
    solver = z3.Solver(ctx=problem.context)
    solver.add(*facts)
    linear = terms.linear(facts)

    def settle(variable: Variable, value: Value) -> None:
        chosen[variable.wanted.name] = value
        solver.add(variable.term == literal(value, variable))

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
    solver.add(*(v.term == literal(chosen[v.wanted.name], v) for v in problem.variables if v.wanted.name in chosen))
    for variable in reals:
        if variable.wanted.name in chosen:
            continue
        interval = _range(problem, _substituted(problem, taken, chosen), variable.term)
        readable = iter(_PROBES) if interval is None else readable_reals(interval)
        value = _first_allowed(problem, solver, variable, readable, linear)
        if value is None:
            return None
        settle(variable, value)
    return chosen


# Tried where the solver cannot tell the range of an argument.
_PROBES = tuple(Fraction(n, d) for d in (1, 2, 4, 10) for n in (1, 0, 2, 3, 5, 7, 9, -1, -3))


def literal(value: Value, variable: Variable) -> Any:
    """The value as a Z3 constant of the variable's sort."""
    if isinstance(value, bool):
        return z3.BoolVal(value, variable.term.ctx)
    return terms.constant(int(value) if variable.wanted.kind == "int" else Fraction(value), variable.term.ctx)


def _allows(problem: Problem, solver: Any, variable: Variable, value: Value, linear: bool) -> bool:
    solver.push()
    solver.add(variable.term == literal(value, variable))
    possible = problem.work.check(solver, linear=linear) == z3.sat
    solver.pop()
    return bool(possible)


def _first_allowed(
    problem: Problem, solver: Any, variable: Variable, candidates: Iterable[Value], linear: bool
) -> Value | None:
    """The first candidate the solver allows, or whatever value it offers when it allows none of them."""
    for value in candidates:
        if problem.work.over:
            return None
        if _allows(problem, solver, variable, value, linear):
            return value
    return _any_value(problem, solver, variable, linear)


def _taken_paths(problem: Problem, encoding: Encoding, model: Any, noise: Any) -> list[Any]:
    """The conditions of the two paths a model takes."""
    facts = list(problem.domain)
    totals = []
    for run, selectors, noises in zip(
        (problem.first, problem.second), encoding.selectors, encoding.path_noises, strict=True
    ):
        taken = next(i for i, s in enumerate(selectors) if z3.is_true(model.eval(s, model_completion=True)))
        facts += run[taken].condition
        totals.append(noises[taken])
    if noise is not None:
        facts.append(z3.Sum(totals) == noise)
    return facts


def _substituted(problem: Problem, facts: Iterable[Any], chosen: dict[str, Value]) -> list[Any]:
    """The facts with the chosen values in place: products of arguments mostly become linear."""
    pairs = [(v.term, literal(chosen[v.wanted.name], v)) for v in problem.variables if v.wanted.name in chosen]
    return [z3.simplify(z3.substitute(fact, *pairs)) for fact in facts]


def _range(problem: Problem, facts: list[Any], term: Any) -> Bounds | None:
    """The values a term can take, the other arguments free; None when the solver cannot tell."""
    if not terms.linear(facts):
        return None
    ends: list[Fraction | None] = []
    for smallest in (True, False):
        optimiser = z3.Optimize(ctx=problem.context)
        optimiser.add(*facts)
        end = optimiser.minimize(term) if smallest else optimiser.maximize(term)
        if problem.work.check(optimiser) != z3.sat:
            return None
        infinite, value, _ = end.lower_values() if smallest else end.upper_values()
        ends.append(terms.exact_of(value) if terms.exact_of(infinite) == 0 else None)
    return Bounds(ends[0], ends[1])


def _any_value(problem: Problem, solver: Any, variable: Variable, linear: bool) -> Value | None:
    if problem.work.check(solver, linear=linear) != z3.sat:
        return None
    value = solver.model().eval(variable.term, model_completion=True)
    if variable.wanted.kind == "bool":
        return bool(z3.is_true(value))
    exact = terms.exact_of(value)
    if exact is None:
        return None
    return int(exact) if variable.wanted.kind == "int" else exact
