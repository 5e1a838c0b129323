"""Follow every feasible path of one run: re-execute with a prefix of decisions, ask Z3 which answers are possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import z3

from refutedp.inputs.arguments import terms
from refutedp.inputs.arguments.paths import Branch, Path, Site, location, raising_line
from refutedp.inputs.arguments.problem import Limits
from refutedp.inputs.arguments.watched import CannotFollow, NeedsFloat, Number, Truth
from refutedp.tracing.watchdog import DidNotReturn

NONLINEAR = 10
"""A unit of the solver's work takes about so many times longer where arguments are multiplied."""


class LimitReached(BaseException):
    """A path was given up because a limit was reached; the text is one sentence."""


class Infeasible(BaseException):
    """No argument leads down this path."""


class Work:
    """What one pair may cost: the solver's own count of its work, and tests and draws that are followed.

    Both are counted, so that the same question gets the same answer on a slow machine and on a busy one.
    """

    def __init__(self, units: int, events: int, within: Work | None = None) -> None:
        self.units = units
        self.events = events
        self._within = within
        self._counted: dict[Any, int] = {} if within is None else within._counted
        """What each context of the solver had counted when it was last asked."""

    def part(self, share: float) -> Work:
        """A share of what is left; what is spent there is spent here."""
        return Work(int(share * self.units), int(share * self.events), self)

    def tick(self) -> None:
        """Count one test or draw."""
        self.events -= 1
        if self._within is not None:
            self._within.tick()

    def check(self, solver: Any, *, share: float = 1.0, linear: bool = True) -> Any:
        """Ask a solver or optimiser, within a share of the work that is left; unknown when that does not suffice."""
        weight = 1 if linear else NONLINEAR
        solver.set("rlimit", max(1, int(share * self.units) // weight))
        answer = solver.check()
        count = int(solver.statistics().get_key_value("rlimit count"))
        self._spend(weight * (count - self._counted.get(solver.ctx, 0)))
        self._counted[solver.ctx] = count
        return answer

    def _spend(self, units: int) -> None:
        self.units -= units
        if self._within is not None:
            self._within._spend(units)

    @property
    def over(self) -> bool:
        """Whether it is used up."""
        return self.units <= 0 or self.events <= 0


class WatchedMemory:
    """Terms met while a pair is explored, by a number that stands for their structure."""

    def __init__(self) -> None:
        self._terms: dict[int, Any] = {}
        self._names: dict[int, frozenset[str]] = {}
        self._linear: dict[int, bool] = {}

    def identify(self, term: Any) -> int:
        """The number of a term; equal terms have the same one."""
        identity = int(term.get_id())
        # Z3 reuses the number of a term that is collected, so every identified term is kept.
        self._terms.setdefault(identity, term)
        return identity

    def names(self, term: Any) -> frozenset[str]:
        """Names of the arguments a term depends on."""
        identity = self.identify(term)
        if identity not in self._names:
            self._names[identity] = terms.names_in(term)
        return self._names[identity]

    def linear(self, term: Any) -> bool:
        """Whether a term multiplies no arguments."""
        identity = self.identify(term)
        if identity not in self._linear:
            self._linear[identity] = terms.linear([term])
        return self._linear[identity]


class Decision(NamedTuple):
    """An answer given on a path, replayed by position."""

    identity: int
    outcome: bool


class Tracing:
    """One execution; with no solver (all arguments plain) it only records."""

    def __init__(
        self, solver: Any, prefix: Sequence[Decision], limits: Limits, work: Work, memory: WatchedMemory
    ) -> None:
        self.context = None if solver is None else solver.ctx
        self.branches: list[Branch] = []
        self.scales: list[Any] = []
        self.condition: list[Any] = []
        self.pending: list[tuple[Decision, ...]] = []
        self.tested: set[str] = set()
        self.whole: set[str] = set()
        self.forked_at = ""
        self.stopped: tuple[type[BaseException], str] | None = None
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
        self.memory = memory

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
        outcome = self.decide(truth.value) if truth.symbolic else bool(truth.value)
        self.tick()
        if site is not None:
            truth.asked = True
            self._seen[site] = occurrence = self._seen.get(site, 0) + 1
            condition = truth.value if truth.symbolic else None
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
        identity = self.memory.identify(condition)
        if z3.is_true(condition) or self._known.get(identity) is True:
            return
        self._hold(condition, identity, True)
        self._model = None

    def decide(self, condition: Any, *, bookkeeping: bool = False) -> bool:
        """Answer to a simplified condition on this path; where both are possible, True now and False later.

        A bookkeeping condition (a divisor that must not be zero) does not make its arguments count as tested.
        """
        identity = self.memory.identify(condition)
        if identity in self._known:
            return self._known[identity]
        if z3.is_true(condition) or z3.is_false(condition):
            return bool(z3.is_true(condition))
        if not bookkeeping:
            self.tested |= self.memory.names(condition)
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
        self._hold(condition, identity, decision.outcome)
        return decision.outcome

    def _hold(self, condition: Any, identity: int, outcome: bool) -> None:
        """From here on the condition has this answer."""
        self._known[identity] = outcome
        self._linear = self._linear and self.memory.linear(condition)
        fact = condition if outcome else z3.Not(condition)
        self._solver.add(fact)
        self.condition.append(fact)

    def choose(self, term: Any) -> int:
        """A plain integer for a term, forking on small values: the run cannot stay general past this point."""
        term = z3.simplify(term)
        if (value := terms.number_of(term)) is not None:
            return int(value)
        self.whole |= self.memory.names(term)
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
        value = self._value(term)
        number = terms.number_of(value)
        return None if number is None or self._check(term != value) is not None else float(number)

    def _possible(self, condition: Any) -> tuple[bool, bool]:
        """The answer to a condition, and whether the other one is possible too; then the answer is True."""
        likely = bool(z3.is_true(self._value(condition)))
        other = self._check(z3.Not(condition) if likely else condition)
        if other is not None and not likely:
            self._model = other
        return likely or other is not None, other is not None

    def _value(self, term: Any) -> Any:
        """One value that a term can have on this path."""
        if self._model is None:
            self._model = self._check()
        return self._model.eval(term, model_completion=True)

    def _check(self, *conditions: Any) -> Any:
        """A model; None when there is none. A question that Z3 cannot answer ends the path."""
        self._solver.push()
        self._solver.add(*conditions)
        linear = self._linear and all(self.memory.linear(condition) for condition in conditions)
        answer = self._work.check(self._solver, linear=linear)
        model = self._solver.model() if answer == z3.sat else None
        self._solver.pop()
        if answer == z3.unknown:
            raise LimitReached(f"{location()} asks a question that the solver could not answer")
        if model is None and not conditions:
            raise Infeasible
        return model

    def path(self, call: Callable[[Tracing], Any]) -> Path:
        """Run the mechanism: the path that it takes. What ended it early, other than its own exception, is kept."""
        output, raised, raised_at = None, None, ""
        try:
            output = call(self)
        except (CannotFollow, LimitReached) as stop:
            self.stopped = type(stop), str(stop)
        except DidNotReturn as error:
            self.stopped = LimitReached, f"the mechanism {error}"
        except Exception as error:
            raised, raised_at = type(error).__name__, raising_line(error)
        return Path(
            condition=tuple(self.condition),
            branches=tuple(self.branches),
            scales=tuple(self.scales),
            raised=raised,
            cut=self.stopped is not None,
            output=output,
            raised_at=raised_at,
        )


@dataclass(frozen=True, slots=True)
class Explored:
    """All followed paths of one run; `tested` names the arguments some decision depends on.

    `whole` names those a plain integer was wanted of, `lost` says that a path ended at something without a meaning,
    `needs_float` that a plain float was wanted there.
    """

    paths: tuple[Path, ...]
    tested: frozenset[str]
    whole: frozenset[str]
    notes: tuple[str, ...]
    lost: bool
    needs_float: bool


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
        tracing = Tracing(solver, prefix, limits, work, memory)
        try:
            paths.append(tracing.path(call))
        except Infeasible:
            continue
        finally:
            solver.pop()
            stack.extend(tracing.pending)
            forked_at = tracing.forked_at or forked_at
            tested |= tracing.tested
            whole |= tracing.whole
        if tracing.stopped is not None:
            kind, sentence = tracing.stopped
            notes.append(sentence)
            lost |= issubclass(kind, CannotFollow)
            needs_float |= issubclass(kind, NeedsFloat)
        if work.over:
            if stack:
                notes.append(f"{forked_at} was left with {len(stack)} paths when the work was used up")
            break
    return Explored(tuple(paths), frozenset(tested), frozenset(whole), tuple(dict.fromkeys(notes)), lost, needs_float)


def trace(call: Callable[[Tracing], Any], limits: Limits, work: Work) -> Path:
    """One execution with plain arguments: the same record, nothing to fork on."""
    return Tracing(None, (), limits, work, WatchedMemory()).path(call)
