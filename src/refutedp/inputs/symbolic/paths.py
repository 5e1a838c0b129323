"""What following a run leaves behind: branches and paths, and the clock and memory shared on the way."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from refutedp.inputs.symbolic import terms
from refutedp.inputs.symbolic.sites import Site


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


class Clock:
    """The time one pair may take."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left_ms(self) -> int:
        """Milliseconds left, at least 1."""
        return max(1, int(1000 * (self._end - time.monotonic())))

    def part(self, share: float) -> Clock:
        """A clock for a share of the time that is left."""
        return Clock(share * self.left_ms() / 1000)

    @property
    def over(self) -> bool:
        """Whether the time is used up."""
        return time.monotonic() >= self._end


class Memory:
    """Terms met while a pair is explored, by a number that stands for their structure."""

    def __init__(self) -> None:
        self._terms: dict[int, Any] = {}
        self._names: dict[int, frozenset[str]] = {}

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
