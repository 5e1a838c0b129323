"""Find the arguments of one pair: explore both runs, solve, check the answer by running it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import z3

from refutedp.inputs.arguments import terms
from refutedp.inputs.arguments.constraints import Problem, Variable
from refutedp.inputs.arguments.explore import Explored, Tracing, WatchedMemory, Work, explore, trace
from refutedp.inputs.arguments.fallback import from_data
from refutedp.inputs.arguments.noise_free_run import NoiseFreeRunner
from refutedp.inputs.arguments.paths import (
    Branch,
    Divergence,
    Path,
    Site,
    compared_sites,
    defined_at,
    differing_sites,
    divergence,
)
from refutedp.inputs.arguments.problem import FoundArguments, Limits, Preference, Wanted
from refutedp.inputs.arguments.solve import Solution, solve
from refutedp.inputs.arguments.watched import symbol
from refutedp.model.errors import UsageError
from refutedp.model.mechanism import Mechanism


@dataclass(frozen=True, slots=True)
class _Answer:
    """The outcome for one combination of cases; `clean` when neither noise-free run raises with it."""

    found: FoundArguments
    clean: bool
    followed: bool

    @property
    def rank(self) -> tuple[bool, bool, int, float]:
        return self.clean, self.followed, self.found.diverging, -sum(self.found.scales)


def search(
    mechanism: Mechanism,
    d1: Any,
    d2: Any,
    known: Mapping[str, Any],
    wanted: Sequence[Wanted],
    limits: Limits,
    prefer: Preference,
) -> FoundArguments:
    """The best arguments over all combinations of cases; the first of equals."""
    runner = NoiseFreeRunner(mechanism, known)
    work = Work(limits.units, limits.events)
    listed = [w for w in wanted if w.kind == "cases"]
    combinations = list(itertools.islice(itertools.product(*(w.cases for w in listed)), limits.cases + 1))
    notes: list[str] = []
    if len(combinations) > limits.cases:
        combinations.pop()
        place = defined_at(mechanism.function)
        notes.append(f"{place} has more combinations of cases than the {limits.cases} that were tried")
    best: _Answer | None = None
    for combination in combinations:
        cases = dict(zip((w.name for w in listed), combination, strict=True))
        answer = _Search(mechanism, runner, d1, d2, wanted, cases, limits, work, prefer).answer()
        notes += answer.found.notes
        if best is None or answer.rank > best.rank:
            best = answer
    assert best is not None
    return replace(best.found, notes=tuple(dict.fromkeys(notes)), calls=runner.all_calls)


@dataclass(frozen=True, slots=True)
class _Search:
    """The search for one combination of cases."""

    mechanism: Mechanism
    runner: NoiseFreeRunner
    d1: Any
    d2: Any
    wanted: Sequence[Wanted]
    cases: Mapping[str, Any]
    limits: Limits
    work: Work
    prefer: Preference

    def answer(self) -> _Answer:
        context = z3.Context()
        variables, domain = _variables([w for w in self.wanted if w.kind != "cases"], context)
        if not variables:
            return self._checked({}, None, (), frozenset(), ())
        runs = self._explore(self.runner, variables, domain, context)
        if any(run.needs_float for run in runs):
            again = self._explore(self.runner.keeping_floats(), variables, domain, context)
            if not any(run.needs_float for run in again):
                runs = again
        notes = tuple(dict.fromkeys(note for run in runs for note in run.notes))
        sites = compared_sites(path for run in runs for path in run.paths)
        solution = self._solve(runs, variables, domain, context, sites)
        if solution is None:
            place = defined_at(self.mechanism.function)
            return self._from_data(notes or (f"{place} was followed, but the solver found no arguments",))
        values = {v.wanted.name: _python(solution.values[v.wanted.name], v.wanted) for v in variables}
        answer = self._checked(values, solution, runs, sites, notes)
        refused = [run.paths[0] for run in runs if all(path.raised is not None for path in run.paths)]
        if refused and answer.clean:
            note = f"{refused[0].raised_at} raises {refused[0].raised} when its values are followed"
            return self._from_data((*notes, note))
        if any(run.lost for run in runs) and answer.found.diverging < answer.found.branches:
            # What could not be followed may hold something better.
            with contextlib.suppress(UsageError):
                other = self._from_data(notes)
                return other if other.found.diverging > answer.found.diverging else answer
        return answer

    def _explore(
        self, runner: NoiseFreeRunner, variables: tuple[Variable, ...], domain: tuple[Any, ...], context: Any
    ) -> list[Explored]:
        memory = WatchedMemory()
        runs = []
        for share, data in ((0.4, self.d1), (0.6, self.d2)):
            # Each run gets its share of what is left, so that a long first run leaves some for the second.
            work = self.work.part(share)

            def call(tracing: Tracing, data: Any = data) -> Any:
                symbols = {v.wanted.name: symbol(tracing, v.term) for v in variables}
                return runner(tracing, data, {**self.cases, **symbols})

            runs.append(explore(call, domain, context, self.limits, work, memory))
        return runs

    def _solve(
        self,
        runs: Sequence[Explored],
        variables: tuple[Variable, ...],
        domain: tuple[Any, ...],
        context: Any,
        sites: frozenset[Site],
    ) -> Solution | None:
        """Over paths that end without an exception; over those that raise only when all were followed."""
        complete = [[path for path in run.paths if not path.cut] for run in runs]
        clean = [[path for path in run if path.raised is None] for run in complete]
        tested, counts = runs[0].tested | runs[1].tested, _counts(variables, runs)
        for paths in (clean,) if any(run.notes for run in runs) else (clean, complete):
            if all(paths):
                problem = Problem(context, variables, domain, paths, sites, tested, counts, self.work, self.prefer)
                solution = solve(problem)
                if solution is not None:
                    return solution
        return None

    def _checked(
        self,
        values: Mapping[str, Any],
        solution: Solution | None,
        runs: Sequence[Explored],
        sites: frozenset[Site],
        notes: tuple[str, ...],
    ) -> _Answer:
        """Run both sides with the values: what is reported is what these runs did."""
        arguments = {w.name: {**values, **self.cases}[w.name] for w in self.wanted}
        work = Work(self.limits.units, self.limits.events)
        paths = [self._trace(data, arguments, work) for data in (self.d1, self.d2)]
        sites = sites or compared_sites(paths)
        counted = divergence(*(path.answers(sites) for path in paths))
        raised = [path.raised for path in paths if path.raised is not None]
        place = defined_at(self.mechanism.function)
        if raised:
            notes = (*notes, f"{place} raises {raised[0]} with {arguments} when noise is left out")
        elif solution is not None and counted.diverging != solution.diverging:
            notes = (*notes, f"{place} was expected to diverge on {solution.diverging} branches: floats are rounded")
        conditions = (branch.condition for branch in _distinct_branches(runs) if branch.site in sites)
        scaled = _scaled(runs)
        reason = why(
            arguments,
            counted,
            tested=terms.names_in(*conditions),
            asked={name for run in runs for name in run.tested},
            smallest=solution.smallest_noise if solution is not None else frozenset(),
            scaled=scaled,
            cases={w.name: len(w.cases) for w in self.wanted if w.kind == "cases"},
        )
        found = FoundArguments(
            arguments=arguments,
            diverging=counted.diverging,
            branches=counted.branches,
            scales=tuple(dict.fromkeys(float(scale) for path in paths for scale in path.scales)),
            why=reason,
            notes=(*notes, *(f"{place}: {note}" for note in (solution.notes if solution is not None else ()))),
            scaling=scaled,
        )
        return _Answer(found, clean=not raised, followed=True)

    def _trace(self, data: Any, arguments: Mapping[str, Any], work: Work) -> Path:
        path = trace(lambda tracing: self.runner(tracing, data, arguments), self.limits, work)
        if path.raised is None:
            return path
        # A library may refuse a watched number (`Decimal(threshold)`) and take the plain one.
        plain = trace(lambda tracing: self.runner(tracing, data, arguments, watching=False), self.limits, work)
        return plain if plain.raised is None else path

    def _from_data(self, notes: tuple[str, ...]) -> _Answer:
        found = from_data(self.mechanism, self._trace, self.d1, self.d2, self.wanted, self.cases, self.limits, notes)
        return _Answer(found, clean=True, followed=False)


def _variables(wanted: Sequence[Wanted], context: Any) -> tuple[tuple[Variable, ...], tuple[Any, ...]]:
    make = {"real": z3.Real, "int": z3.Int, "bool": z3.Bool}
    variables = tuple(Variable(w, make[w.kind](w.name, context)) for w in wanted)
    domain = []
    for w, term in ((variable.wanted, variable.term) for variable in variables):
        domain += [] if w.low is None else [term >= terms.constant(w.low, context)]
        domain += [] if w.high is None else [term <= terms.constant(w.high, context)]
    return variables, tuple(domain)


def _distinct_branches(runs: Sequence[Explored]) -> list[Branch]:
    """One branch for each symbolic condition a site tests."""
    branches = (b for run in runs for path in run.paths for b in path.branches if b.condition is not None)
    return list({(b.site, b.noisy, b.key): b for b in branches}.values())


def _counts(variables: Sequence[Variable], runs: Sequence[Explored]) -> frozenset[str]:
    """Arguments without annotation that are used as counts: as plain integers, or compared with whole numbers only.

    `bound` in `count >= bound` is one; `threshold` is not, compared with noise or with the data (a bound may be,
    where it counts what the data did, but then noise is scaled by it).
    """
    untyped = {v.wanted.name for v in variables if v.wanted.kind == "real" and not v.wanted.typed}
    data = differing_sites(runs[0].paths, runs[1].paths)
    scaled = _scaled(runs)
    counts = {name for run in runs for name in run.whole}
    measures: set[str] = set()
    for branch in _distinct_branches(runs):
        names = terms.names_in(branch.condition)
        if branch.noisy or not terms.only_whole_numbers(branch.condition):
            measures |= names
        elif branch.site in data:
            measures |= names - scaled
        counts |= names
    return frozenset(untyped & (counts - measures))


def _scaled(runs: Sequence[Explored]) -> frozenset[str]:
    """Names of the arguments some noise scale depends on."""
    return terms.names_in(*(scale for run in runs for path in run.paths for scale in path.scales))


def _python(value: bool | int | Fraction, wanted: Wanted) -> bool | int | float:
    """The value as the mechanism's author would write it."""
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 and not wanted.typed else value.numerator / value.denominator
    return value


def why(
    arguments: Mapping[str, Any],
    found: Divergence,
    *,
    tested: Set[str] = frozenset(),
    asked: Set[str] = frozenset(),
    smallest: Set[str] = frozenset(),
    scaled: Set[str] = frozenset(),
    cases: Mapping[str, int] = {},
) -> str:
    """Each argument with the reason that decided it.

    `tested` are those in compared branches, `asked` those in any decision, `smallest` those that make the noise
    smallest, `scaled` those in any noise scale; `cases` says among how many an argument was picked.

    >>> why({"t": 1.5, "n": 1}, Divergence(5, 5), tested={"t", "n"}, smallest={"n"})
    't = 1.5 makes 5 of 5 branches diverge; n = 1 keeps the noise smallest'
    """
    branching = [name for name in arguments if name in tested and name not in smallest]
    noisy = [name for name in arguments if name in smallest]
    stretching = [name for name in arguments if name in scaled and name not in (*branching, *noisy)]
    listed = [name for name in arguments if name in cases]
    rest = [name for name in arguments if name not in (*branching, *noisy, *stretching, *listed)]
    deciding = [name for name in rest if name in asked]
    other = [name for name in rest if name not in asked]
    count = f"{found.diverging} of {found.branches} branches diverge"
    parts = []
    if branching and found.diverging:
        parts.append(f"{_each(branching, arguments)} {_verb(branching, 'make')} {count}")
    elif branching:
        parts.append(f"{_each(branching, arguments)}: no values make a branch diverge")
    elif found.branches:
        parts.append(count)
    if noisy:
        parts.append(f"{_each(noisy, arguments)} {_verb(noisy, 'keep')} the noise smallest")
    if stretching:
        parts.append(f"{_each(stretching, arguments)} only {_verb(stretching, 'stretch', 'es')} the noise")
    parts += [f"{name} = {arguments[name]!r} is the best of {cases[name]} cases" for name in listed]
    if deciding:
        parts.append(
            f"{_each(deciding, arguments)} {'are' if len(deciding) > 1 else 'is'} the simplest that allows it"
        )
    if other:
        parts.append(f"{_each(other, arguments)} {_verb(other, 'change')} no branch and no noise")
    return "; ".join(parts)


def _each(names: list[str], arguments: Mapping[str, Any]) -> str:
    return " and ".join(f"{name} = {arguments[name]!r}" for name in names)


def _verb(names: list[str], verb: str, ending: str = "s") -> str:
    return verb if len(names) > 1 else verb + ending
