"""Both runs as one set of constraints over the same arguments.

One selector per path implies the path's condition, its answers and its noise; a branch diverges when the runs do not
both reach it with the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import z3

from refutedp.inputs.arguments import terms
from refutedp.inputs.arguments.compare import Key, answers
from refutedp.inputs.arguments.parameters import Wanted
from refutedp.inputs.arguments.paths import Path, Work
from refutedp.inputs.arguments.problem import Preference
from refutedp.inputs.arguments.sites import Site


@dataclass(frozen=True, slots=True)
class Variable:
    """An argument and the Z3 constant that stands for it."""

    wanted: Wanted
    term: Any


@dataclass(frozen=True, slots=True)
class Problem:
    """The two runs over the same arguments.

    `tested` names the arguments some decision depends on, `counts` the real ones that are used as whole numbers.
    """

    context: Any
    variables: tuple[Variable, ...]
    domain: tuple[Any, ...]
    first: tuple[Path, ...]
    second: tuple[Path, ...]
    sites: frozenset[Site]
    tested: frozenset[str]
    counts: frozenset[str]
    work: Work
    prefer: Preference = "divergence"


@dataclass(frozen=True, slots=True)
class Encoding:
    """`whole` says which real arguments are whole; `scaled` names those some noise scale depends on."""

    hard: list[Any]
    whole: list[Any]
    selectors: tuple[list[Any], list[Any]]
    diverging: list[Any]
    noise: Any
    path_noises: tuple[list[Any], list[Any]]
    outputs_differ: Any
    scaled: frozenset[str]


def encode(problem: Problem) -> Encoding:
    """The constraints of both runs, with one term per compared branch that says whether it diverges."""
    context = problem.context
    whole = [z3.IsInt(v.term) for v in problem.variables if v.wanted.name in problem.counts]
    hard = list(problem.domain)
    tables = [[answers(path, problem.sites) for path in run] for run in (problem.first, problem.second)]
    keys = sorted({key for run in tables for table in run for key in table}, key=_order)
    selectors: list[list[Any]] = []
    noises: list[Any] = []
    path_noises: list[list[Any]] = []
    cells: list[dict[Key, tuple[Any, Any]]] = []
    scaled: set[str] = set()
    outputs: list[Any] = []
    seen_outputs: dict[str, int] = {}
    for number, run in enumerate((problem.first, problem.second), start=1):
        own = [z3.Bool(f"run{number}.path{i}", context) for i in range(len(run))]
        noise = z3.Real(f"run{number}.noise", context)
        output = z3.Int(f"run{number}.output", context)
        cell = {
            key: (
                z3.Bool(f"run{number}.reached{k}", context),
                z3.Bool(f"run{number}.answer{k}", context),
            )
            for k, key in enumerate(keys)
        }
        hard.append(z3.Or(own))
        totals = []
        for selector, path, table in zip(own, run, tables[number - 1], strict=True):
            implied = list(path.condition)
            total, names = _noise(path, context)
            implied.append(noise == total)
            totals.append(total)
            implied.append(output == seen_outputs.setdefault(_shown(path.output), len(seen_outputs)))
            scaled |= names
            for key, (reached, answer) in cell.items():
                implied.append(reached if key in table else z3.Not(reached))
                if key in table:
                    implied.append(answer if table[key] else z3.Not(answer))
            hard.append(z3.Implies(selector, z3.And(implied)))
        selectors.append(own)
        noises.append(noise)
        outputs.append(output)
        path_noises.append(totals)
        cells.append(cell)
    diverging = [
        z3.Or(
            cells[0][key][0] != cells[1][key][0],
            z3.And(cells[0][key][0], cells[1][key][0], cells[0][key][1] != cells[1][key][1]),
        )
        for key in keys
    ]
    return Encoding(
        hard=hard,
        whole=whole,
        selectors=(selectors[0], selectors[1]),
        diverging=diverging,
        noise=noises[0] + noises[1],
        path_noises=(path_noises[0], path_noises[1]),
        outputs_differ=outputs[0] != outputs[1],
        scaled=frozenset(scaled),
    )


def _shown(output: Any) -> str:
    try:
        return repr(output)
    except Exception:  # an output that cannot be shown is like any other of its kind
        return type(output).__name__


def _order(key: Key) -> tuple[Any, ...]:
    site, occurrence = key
    return site.file, site.line, site.column, site.end_line, site.end_column, site.part, occurrence


def _noise(path: Path, context: Any) -> tuple[Any, frozenset[str]]:
    """Sum of the distinct scales of a path: how often a scale is drawn from does not make noise larger."""
    distinct: dict[Any, Any] = {}
    symbolic = {scale.get_id(): scale for scale in path.scales if terms.is_term(scale)}
    simple = [z3.simplify(scale) for scale in symbolic.values()]
    for scale in simple:
        distinct.setdefault(scale.get_id(), terms.to_real(scale))
    for scale in path.scales:
        if not terms.is_term(scale) and terms.finite(scale):
            distinct.setdefault(float(scale), terms.constant(float(scale), context))
    return z3.Sum([terms.constant(0.0, context), *distinct.values()]), terms.names_in(*simple)


def model_of(problem: Problem, facts: Iterable[Any]) -> Any:
    """A model of the facts; None when there is none or the solver gave up."""
    solver = z3.Solver(ctx=problem.context)
    facts = list(facts)
    solver.add(*facts)
    return solver.model() if problem.work.check(solver, linear=terms.linear(facts)) == z3.sat else None
