"""Encodes both runs as one MaxSMT problem over the arguments that they share.

One selector per path implies the path's condition, its answers and its noise; a branch diverges when the runs do not
both reach it with the same answer. Soft constraints, one per branch, ask for divergence (MaxSMT); the noise is
minimised after them by the same lexicographic `Optimize`, and where that leaves a choice the noise-free outputs
should differ. Arguments that are used as counts should be whole whenever that costs no divergence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from refutedp.inputs.arguments import terms
from refutedp.inputs.arguments.explore import Work
from refutedp.inputs.arguments.paths import Path, Site, divergence
from refutedp.inputs.arguments.problem import Preference, Wanted


@dataclass(frozen=True, slots=True)
class Variable:
    """An argument and the Z3 constant that stands for it."""

    wanted: Wanted
    term: Any


@dataclass(frozen=True, slots=True)
class Problem:
    """The paths of the two runs over the same arguments.

    `tested` names the arguments some decision depends on, `counts` the real ones that are used as whole numbers.
    """

    context: Any
    variables: tuple[Variable, ...]
    domain: tuple[Any, ...]
    runs: Sequence[Sequence[Path]]
    sites: frozenset[Site]
    tested: frozenset[str]
    counts: frozenset[str]
    work: Work
    prefer: Preference

    def model(self, facts: Iterable[Any]) -> Any:
        """A model of the facts; None when there is none or the solver gave up."""
        solver = z3.Solver(ctx=self.context)
        facts = list(facts)
        solver.add(*facts)
        return solver.model() if self.work.check(solver, linear=terms.linear(facts)) == z3.sat else None


@dataclass(frozen=True, slots=True)
class Encoding:
    """`whole` says which real arguments are whole; `scaled` names those some noise scale depends on.

    `selectors` and `noises` have one term for each path of each run.
    """

    hard: list[Any]
    whole: list[Any]
    selectors: list[list[Any]]
    noises: list[list[Any]]
    diverging: list[Any]
    noise: Any
    outputs_differ: Any
    scaled: frozenset[str]


def encode(problem: Problem) -> Encoding:
    """The constraints of both runs, with one term per compared branch that says whether it diverges."""
    context = problem.context
    whole = [z3.IsInt(v.term) for v in problem.variables if v.wanted.name in problem.counts]
    hard = list(problem.domain)
    tables = [[path.answers(problem.sites) for path in run] for run in problem.runs]
    keys = sorted({key for run in tables for table in run for key in table})
    selectors: list[list[Any]] = []
    noises: list[list[Any]] = []
    totals: list[Any] = []
    outputs: list[Any] = []
    cells: list[list[tuple[Any, Any]]] = []
    scaled: set[str] = set()
    seen_outputs: dict[str, int] = {}
    for number, (run, run_tables) in enumerate(zip(problem.runs, tables, strict=True), start=1):
        selectors.append([z3.Bool(f"run{number}.path{i}", context) for i in range(len(run))])
        totals.append(z3.Real(f"run{number}.noise", context))
        outputs.append(z3.Int(f"run{number}.output", context))
        names_of = [(f"run{number}.reached{k}", f"run{number}.answer{k}") for k in range(len(keys))]
        cells.append([(z3.Bool(reached, context), z3.Bool(answer, context)) for reached, answer in names_of])
        noises.append([])
        hard.append(z3.Or(selectors[-1]))
        for selector, path, table in zip(selectors[-1], run, run_tables, strict=True):
            noise, names = _noise(path, context)
            noises[-1].append(noise)
            scaled |= names
            implied = [*path.condition, totals[-1] == noise]
            implied.append(outputs[-1] == seen_outputs.setdefault(_shown(path.output), len(seen_outputs)))
            for key, (reached, answer) in zip(keys, cells[-1], strict=True):
                implied.append(reached if key in table else z3.Not(reached))
                if key in table:
                    implied.append(answer if table[key] else z3.Not(answer))
            hard.append(z3.Implies(selector, z3.And(implied)))
    diverging = [
        z3.Or(reached != other_reached, z3.And(reached, other_reached, answer != other_answer))
        for (reached, answer), (other_reached, other_answer) in zip(*cells, strict=True)
    ]
    return Encoding(
        hard=hard,
        whole=whole,
        selectors=selectors,
        noises=noises,
        diverging=diverging,
        noise=totals[0] + totals[1],
        outputs_differ=outputs[0] != outputs[1],
        scaled=frozenset(scaled),
    )


def _shown(output: Any) -> str:
    try:
        return repr(output)
    except Exception:  # an output that cannot be shown is like any other of its kind
        return type(output).__name__


def _noise(path: Path, context: Any) -> tuple[Any, frozenset[str]]:
    """Sum of the distinct scales of a path: how often a scale is drawn from does not make noise larger."""
    simple = _distinct_scales([path])
    plain = {float(s): None for s in path.scales if not terms.is_term(s) and terms.finite(s)}
    listed = [*map(terms.to_real, simple), *(terms.constant(scale, context) for scale in plain)]
    return z3.Sum([terms.constant(0.0, context), *listed]), terms.names_in(*simple)


def _distinct_scales(paths: Iterable[Path]) -> list[Any]:
    """The noise scales that depend on arguments, simplified, each once."""
    met = {scale.get_id(): scale for path in paths for scale in path.scales if terms.is_term(scale)}
    return list({scale.get_id(): scale for scale in map(z3.simplify, met.values())}.values())


def least_noise(problem: Problem, encoding: Encoding, facts: list[Any]) -> list[Any]:
    """The paper's first heuristic: arguments that noise depends on make it smallest, whatever the branches do.

    All scales of all paths count, so that a path on which nothing is drawn is not preferred for that.
    """
    scales = [terms.to_real(scale) for scale in _distinct_scales(path for run in problem.runs for path in run)]
    rules = [*problem.domain, *encoding.whole, *(scale > 0 for scale in scales)]
    if not scales or not terms.linear(rules):
        return []
    optimiser = z3.Optimize(ctx=problem.context)
    optimiser.add(*rules)
    total = z3.Sum(scales)
    noise = optimiser.minimize(total)
    if problem.work.check(optimiser, share=1 / 3) != z3.sat:
        return []
    least = _attained(noise)
    if least is None or problem.model([*facts, *rules, total == least]) is None:
        return []
    return [*rules, total == least]


def _attained(objective: Any) -> Any:
    """The smallest value of what was minimised; None when it can only be approached, or has no end."""
    infinite, value, epsilon = objective.lower_values()
    return value if terms.exact_of(infinite) == 0 and terms.exact_of(epsilon) == 0 else None


@dataclass(frozen=True, slots=True)
class Best:
    """What every best choice satisfies; `noise` is the smallest sum of scales, None when there is no smallest."""

    facts: list[Any]
    diverging: int
    noise: Any
    notes: tuple[str, ...] = ()


def optimise(problem: Problem, encoding: Encoding, facts: Sequence[Any]) -> Best | None:
    """Most diverging branches, then whole counts, then the least noise, then other outputs; None if impossible."""
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
    result = [z3.PbGe([(condition, 1) for condition in encoding.diverging], count)] if count else []
    for wish in (*encoding.whole, encoding.outputs_differ):
        if z3.is_true(model.eval(wish, model_completion=True)):
            result.append(wish)
    least = None if noise is None else _attained(noise)
    return Best(result if least is None else [*result, encoding.noise == least], count, least)


def _enumerate(problem: Problem, encoding: Encoding, facts: Sequence[Any]) -> Best | None:
    """The feasible pair of paths with most divergence, one by one: `Optimize` is slow with products."""
    first, second = problem.runs
    count = {
        (i, j): divergence(one.answers(problem.sites), other.answers(problem.sites)).diverging
        for i, one in enumerate(first)
        for j, other in enumerate(second)
    }
    solver = z3.Solver(ctx=problem.context)
    # The pins and domains without the encoding of the paths: a pair of paths is a small question.
    solver.add(*problem.domain, *facts[len(encoding.hard) :])
    best: list[Any] = []
    most = 0
    for i, j in sorted(count, key=lambda pair: -count[pair]):
        if problem.work.over or (best and count[i, j] < most):
            break
        solver.push()
        solver.add(*first[i].condition, *second[j].condition)
        if problem.work.check(solver, linear=False) == z3.sat:
            best.append(z3.And(encoding.selectors[0][i], encoding.selectors[1][j]))
            most = count[i, j]
        solver.pop()
    if not best:
        return None
    note = "the noise was kept small but not made smallest: products of arguments are not optimised"
    return Best([z3.Or(best)], most, None, (note,) if encoding.scaled else ())
