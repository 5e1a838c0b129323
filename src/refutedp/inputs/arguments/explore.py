"""Follow every feasible path of one run: re-execute with a prefix of decisions, ask Z3 which answers are possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from refutedp.inputs.arguments import terms
from refutedp.inputs.arguments.following import CannotFollow, Infeasible, LimitReached, NeedsFloat
from refutedp.inputs.arguments.paths import Branch, Explored, Path, WatchedMemory, Work
from refutedp.inputs.arguments.problem import Limits
from refutedp.inputs.arguments.sites import Site, location, raising_line
from refutedp.inputs.arguments.terms_of_a_run import Number, Truth


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer given on a path, replayed by position."""

    identity: int
    outcome: bool


class Tracing:
    """One execution; with no solver (all arguments plain) it only records."""

    def __init__(
        self,
        context: Any,
        solver: Any,
        prefix: Sequence[Decision],
        limits: Limits,
        work: Work,
        memory: WatchedMemory,
    ) -> None:
        self.context = context
        self.branches: list[Branch] = []
        self.scales: list[Any] = []
        self.condition: list[Any] = []
        self.pending: list[tuple[Decision, ...]] = []
        self.tested: set[str] = set()
        self.whole: set[str] = set()
        self.forked_at = ""
        self._solver = solver
        self._prefix = prefix
        self._taken: list[Decision] = []
        self._known: dict[int, bool] = {}
        self._model: Any = None
        self._seen: dict[Site, int] = {}
        self._limits = limits
        self._work = work
        self._linear = True
        self._events = 0
        self._memory = memory

    def tick(self) -> None:
        """Count one test or draw against the limits."""
        self._events += 1
        self._work.tick()
        if self._events > self._limits.branches:
            raise LimitReached(f"{location()} was reached after {self._limits.branches} branches and draws")
        if self._work.over:
            raise LimitReached(f"{location()} was reached when the work for this run was used up")

    def test(self, truth: Truth, site: Site | None) -> bool:
        """Decide a truth and, when the source tests it, record the branch."""
        symbolic = terms.is_term(truth.value)
        outcome = self.decide(truth.value) if symbolic else bool(truth.value)
        self.tick()
        if site is not None:
            truth.asked = True
            self._seen[site] = occurrence = self._seen.get(site, 0) + 1
            condition = truth.value if symbolic else None
            self.branches.append(Branch(site, occurrence, outcome, truth.key, truth.noisy, condition))
        return outcome

    def record_scale(self, scale: Any) -> None:
        """Note a noise scale; one that depends on an argument must be positive."""
        self.tick()
        value = scale.value if type(scale) is Number else scale
        if terms.is_term(value):
            self.assume(value > 0)
        self.scales.append(value)

    def assume(self, condition: Any) -> None:
        """Restrict the path to arguments for which the condition holds."""
        condition = z3.simplify(condition)
        identity = self.identify(condition)
        if z3.is_true(condition) or self._known.get(identity) is True:
            return
        self._known[identity] = True
        self._linear = self._linear and self._memory.linear(condition)
        self._solver.add(condition)
        self.condition.append(condition)
        self._model = None

    def decide(self, condition: Any, *, bookkeeping: bool = False) -> bool:
        """Answer to a simplified condition on this path; where both are possible, True now and False later.

        A bookkeeping condition (a divisor that must not be zero) does not make its arguments count as tested.
        """
        identity = self.identify(condition)
        if identity in self._known:
            return self._known[identity]
        if z3.is_true(condition) or z3.is_false(condition):
            return bool(z3.is_true(condition))
        if not bookkeeping:
            self.tested |= self._memory.names(condition)
        if len(self._taken) < len(self._prefix):
            decision = self._prefix[len(self._taken)]
            if decision.identity != identity:
                raise CannotFollow(f"{location()} does not compute the same thing each time it is run")
        else:
            self.tick()
            outcome, forked = self._possible(condition)
            decision = Decision(identity, outcome)
            if forked:
                self.forked_at = location()
                self.pending.append((*self._taken, Decision(identity, False)))
        self._taken.append(decision)
        self._known[identity] = decision.outcome
        self._linear = self._linear and self._memory.linear(condition)
        fact = condition if decision.outcome else z3.Not(condition)
        self._solver.add(fact)
        self.condition.append(fact)
        return decision.outcome

    def choose(self, term: Any) -> int:
        """A plain integer for a term, forking on small values: the run cannot stay general past this point."""
        term = z3.simplify(term)
        if (value := terms.number_of(term)) is not None:
            return int(value)
        self.whole |= self._memory.names(term)
        positive = 2 * self._limits.values // 3
        for candidate in (*range(1, positive + 1), *range(0, positive - self._limits.values, -1)):
            if self.decide(z3.simplify(term == terms.constant(candidate, self.context))):
                return int(candidate)
        low, high = positive - self._limits.values + 1, positive
        raise LimitReached(
            f"{location()} needs a whole number that depends on {', '.join(sorted(terms.names_in(term)))}: "
            f"only those from {low} to {high} were tried"
        )

    def only_value(self, term: Any) -> float | None:
        """The value of a term that can have no other on this path, None otherwise."""
        if self._model is None:
            self._model = self._check()
        value = self._model.eval(term, model_completion=True)
        if terms.number_of(value) is None or self._check(term != value) is not None:
            return None
        return float(terms.number_of(value) or 0)

    def _possible(self, condition: Any) -> tuple[bool, bool]:
        if self._model is None:
            self._model = self._check()
        preferred = True
        if self._model is not None:
            preferred = bool(z3.is_true(self._model.eval(condition, model_completion=True)))
        elif self._check(condition) is None:
            return False, False
        other = self._check(z3.Not(condition) if preferred else condition)
        if other is None:
            return preferred, False
        if not preferred:
            self._model = other
        return True, True

    def _check(self, *conditions: Any) -> Any:
        """A model; None when there is none. An answer Z3 does not know counts as possible."""
        self._solver.push()
        self._solver.add(*conditions)
        linear = self._linear and all(self._memory.linear(condition) for condition in conditions)
        answer = self._work.check(self._solver, linear=linear)
        model = self._solver.model() if answer == z3.sat else None
        self._solver.pop()
        if answer == z3.unknown:
            raise LimitReached(f"{location()} asks a question that the solver could not answer")
        if model is None and not conditions:
            raise Infeasible
        return model

    def identify(self, term: Any) -> int:
        """A number that stands for the term's structure as long as the exploration lives."""
        return self._memory.identify(term)


def explore(
    call: Callable[[Tracing], Any],
    domain: Sequence[Any],
    context: Any,
    limits: Limits,
    work: Work,
    memory: WatchedMemory,
) -> Explored:
    """Every feasible path of `call`, which runs the mechanism once on the values of the tracing it is given."""
    solver = z3.Solver(ctx=context)
    solver.add(*domain)
    stack: list[tuple[Decision, ...]] = [()]
    paths: list[Path] = []
    notes: list[str] = []
    tested: set[str] = set()
    whole: set[str] = set()
    lost = needs_float = False
    forked_at = "unknown line"
    while stack:
        if len(paths) >= limits.paths:
            notes.append(f"{forked_at} forks once more after {limits.paths} paths: {len(stack)} were left out")
            break
        prefix = stack.pop()
        solver.push()
        tracing = Tracing(context, solver, prefix, limits, work, memory)
        raised, raised_at, output, cut = None, "", None, False
        try:
            output = call(tracing)
        except Infeasible:
            continue
        except (CannotFollow, LimitReached) as stop:
            notes.append(str(stop))
            lost |= isinstance(stop, CannotFollow)
            needs_float |= isinstance(stop, NeedsFloat)
            cut = True
        except Exception as error:
            raised, raised_at = type(error).__name__, raising_line(error)
        finally:
            solver.pop()
            stack.extend(tracing.pending)
            forked_at = tracing.forked_at or forked_at
            tested |= tracing.tested
            whole |= tracing.whole
        paths.append(
            Path(
                condition=tuple(tracing.condition),
                branches=tuple(tracing.branches),
                scales=tuple(tracing.scales),
                raised=raised,
                cut=cut,
                output=output,
                raised_at=raised_at,
            )
        )
        if work.over:
            if stack:
                notes.append(f"{forked_at} was left with {len(stack)} paths when the work was used up")
            break
    return Explored(tuple(paths), frozenset(tested), frozenset(whole), tuple(dict.fromkeys(notes)), lost, needs_float)


def trace(call: Callable[[Tracing], Any], limits: Limits, work: Work) -> Path:
    """One execution with plain arguments: the same record, nothing to fork on."""
    tracing = Tracing(None, None, (), limits, work, WatchedMemory())
    raised, output, cut = None, None, False
    try:
        output = call(tracing)
    except (CannotFollow, LimitReached):
        cut = True
    except Exception as error:
        raised = type(error).__name__
    return Path((), tuple(tracing.branches), tuple(tracing.scales), raised, cut, output)
