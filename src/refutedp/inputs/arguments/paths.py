"""What following a run leaves behind: branches and paths, and the work and memory shared on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from refutedp.inputs.arguments import terms
from refutedp.inputs.arguments.sites import Site


@dataclass(frozen=True, slots=True)
class Branch:
    """One test of a path: where, the how-manieth time there, its answer, and what was compared.

    `condition` is a Z3 term or None when the answer did not depend on an argument; `key` is equal for two branches
    that compare the same thing.
    """

    site: Site
    occurrence: int
    outcome: bool
    key: object
    noisy: bool
    condition: Any = None


@dataclass(frozen=True, slots=True)
class Path:
    """One way through the mechanism: the arguments that take it satisfy every term of `condition`.

    `scales` are the noise scales met (plain or Z3 terms); `raised` names the exception that ended it, if one did, and
    `raised_at` its file and line; `cut` says that a limit ended it.
    """

    condition: tuple[Any, ...]
    branches: tuple[Branch, ...]
    scales: tuple[Any, ...]
    raised: str | None = None
    cut: bool = False
    output: Any = None
    raised_at: str = ""


@dataclass(frozen=True, slots=True)
class Explored:
    """All followed paths of one run; `tested` names the arguments some decision depends on.

    `whole` names those a plain integer was wanted of,
    `lost` says that a path ended at something without a meaning, `needs_float` that a plain float was wanted there.
    """

    paths: tuple[Path, ...]
    tested: frozenset[str]
    whole: frozenset[str]
    notes: tuple[str, ...]
    lost: bool = False
    needs_float: bool = False


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


NONLINEAR = 10
"""A unit of the solver's work takes about so many times longer where arguments are multiplied."""


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
