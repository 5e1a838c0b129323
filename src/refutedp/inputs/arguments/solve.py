"""From the paths of both runs to arguments: most diverging branches first, then the least noise, then readability.

Soft constraints, one per branch, ask for divergence (MaxSMT); the noise is minimised after them by the same
lexicographic `Optimize`, and where that leaves a choice the noise-free outputs should differ. Arguments that are used
as counts should be whole whenever that costs no divergence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import z3

from refutedp.inputs.arguments import terms
from refutedp.inputs.arguments.choose import Value, choose
from refutedp.inputs.arguments.compare import answers, divergence
from refutedp.inputs.arguments.constraints import Encoding, Problem, Variable, encode, model_of


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
        if variable.wanted.name in units and model_of(problem, [*facts, variable.term == 1]) is not None:
            facts.append(variable.term == 1)
            chosen[variable.wanted.name] = Fraction(1)
    if problem.prefer == "noise":
        facts += _least_noise(problem, encoding, facts)
    best = _optimise(problem, encoding, facts)
    if best is None:
        return None
    values = choose(problem, encoding, [*facts, *best.facts], chosen, best.noise)
    if values is None:
        return None
    smallest = encoding.scaled - units if best.noise is not None else frozenset[str]()
    return Solution(values, best.diverging, smallest, best.notes)


def _is_unit(variable: Variable, problem: Problem, encoding: Encoding) -> bool:
    """Whether an argument only stretches the noise, as a sensitivity does: no value is smallest, so 1 is chosen."""
    wanted = variable.wanted
    bounded = wanted.low is not None or wanted.high is not None
    return (
        wanted.kind == "real" and not bounded and wanted.name in encoding.scaled and wanted.name not in problem.tested
    )


def _least_noise(problem: Problem, encoding: Encoding, facts: list[Any]) -> list[Any]:
    """The paper's first heuristic: arguments that noise depends on make it smallest, whatever the branches do.

    All scales of all paths count, so that a path on which nothing is drawn is not preferred for that.
    """
    scales = {
        scale.get_id(): terms.to_real(scale)
        for path in (*problem.first, *problem.second)
        for scale in map(_simplified, path.scales)
        if terms.is_term(scale)
    }
    rules = [*problem.domain, *encoding.whole, *(scale > 0 for scale in scales.values())]
    if not scales or not terms.linear(rules):
        return []
    optimiser = z3.Optimize(ctx=problem.context)
    optimiser.add(*rules)
    total = z3.Sum(list(scales.values()))
    noise = optimiser.minimize(total)
    if problem.work.check(optimiser, share=1 / 3) != z3.sat:
        return []
    infinite, value, epsilon = noise.lower_values()
    attained = terms.exact_of(infinite) == 0 and terms.exact_of(epsilon) == 0
    least = [*rules, total == value]
    return least if attained and model_of(problem, [*facts, *least]) is not None else []


def _simplified(scale: Any) -> Any:
    return z3.simplify(scale) if terms.is_term(scale) else scale


@dataclass(frozen=True, slots=True)
class _Best:
    """What every best choice satisfies; `noise` is the smallest sum of scales, None when there is no smallest."""

    facts: list[Any]
    diverging: int
    noise: Any
    notes: tuple[str, ...] = ()


def _optimise(problem: Problem, encoding: Encoding, facts: Sequence[Any]) -> _Best | None:
    if not terms.linear(facts):
        return _enumerate(problem, encoding, facts)
    optimiser = z3.Optimize(ctx=problem.context)
    optimiser.set("priority", "lex")
    optimiser.add(*facts)
    for condition in encoding.diverging:
        optimiser.add_soft(condition, 1, "diverging")
    for condition in encoding.whole:
        optimiser.add_soft(condition, 1, "whole")
    noise = optimiser.minimize(encoding.noise) if encoding.scaled else None
    optimiser.add_soft(encoding.outputs_differ, 1, "outputs")
    # The rest of the work is for looking at pairs of paths, should the optimiser give up.
    answer = problem.work.check(optimiser, share=1 / 3)
    if answer == z3.unsat:
        return None
    if answer == z3.unknown:
        return _enumerate(problem, encoding, facts)
    model = optimiser.model()
    count = sum(z3.is_true(model.eval(c, model_completion=True)) for c in encoding.diverging)
    result = _at_least(encoding.diverging, count)
    for wish in (*encoding.whole, encoding.outputs_differ):
        if z3.is_true(model.eval(wish, model_completion=True)):
            result.append(wish)
    if noise is None:
        return _Best(result, count, None)
    infinite, value, epsilon = noise.lower_values()
    if terms.exact_of(infinite) != 0 or terms.exact_of(epsilon) != 0:
        return _Best(result, count, None)
    return _Best([*result, encoding.noise == value], count, value)


def _enumerate(problem: Problem, encoding: Encoding, facts: Sequence[Any]) -> _Best | None:
    """The feasible pair of paths with most divergence, one by one: `Optimize` is slow with products."""
    tables = [[answers(path, problem.sites) for path in run] for run in (problem.first, problem.second)]
    pairs = [(i, j) for i in range(len(tables[0])) for j in range(len(tables[1]))]
    count = {(i, j): divergence(tables[0][i], tables[1][j]).diverging for i, j in pairs}
    solver = z3.Solver(ctx=problem.context)
    # The pins and domains without the encoding of the paths: a pair of paths is a small question.
    solver.add(*problem.domain, *facts[len(encoding.hard) :])
    best: list[Any] = []
    most = 0
    for i, j in sorted(pairs, key=lambda pair: -count[pair]):
        if problem.work.over or (best and count[i, j] < most):
            break
        solver.push()
        solver.add(*problem.first[i].condition, *problem.second[j].condition)
        if problem.work.check(solver, linear=False) == z3.sat:
            best.append(z3.And(encoding.selectors[0][i], encoding.selectors[1][j]))
            most = count[i, j]
        solver.pop()
    if not best:
        return None
    note = "the noise was kept small but not made smallest: products of arguments are not optimised"
    return _Best([z3.Or(best)], most, None, (note,) if encoding.scaled else ())


def _at_least(conditions: list[Any], count: int) -> list[Any]:
    return [z3.PbGe([(condition, 1) for condition in conditions], count)] if count else []
