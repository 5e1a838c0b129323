"""The interface between a traced value and its run, and the ways a path can end early."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from refutedp.inputs.arguments.sites import Site

if TYPE_CHECKING:
    from refutedp.inputs.arguments.terms_of_a_run import Truth


class CannotFollow(BaseException):
    """The run met something it has no meaning for; the text is one sentence with file and line.

    Not an `Exception`, so that a mechanism's own `except Exception` does not swallow it.
    """


class NeedsFloat(CannotFollow):
    """C code, or `float` itself, wants a plain float of a symbolic value."""


class LimitReached(BaseException):
    """A path was given up because a limit was reached; the text is one sentence."""


class Infeasible(BaseException):
    """No argument leads down this path."""


class FollowedRun(Protocol):
    """What the values need from the run they belong to."""

    context: Any

    def decide(self, condition: Any, *, bookkeeping: bool = False) -> bool:
        """Answer of this run to a condition, forking when both are possible."""

    def identify(self, term: Any) -> int:
        """A number that stands for the term's structure."""

    def test(self, truth: Truth, site: Site | None) -> bool:
        """Decide and, at a site, record the branch."""

    def choose(self, term: Any) -> int:
        """A plain integer for an integer-valued term, forking on the value."""

    def only_value(self, term: Any) -> float | None:
        """The value of a term that can have no other on this path, None otherwise."""
