"""How a lift is given up: one exception for callers, one that a mechanism's own `except` does not catch."""

from __future__ import annotations

from refutedp.sampling.sampler import CannotSample


class CannotLift(CannotSample):
    """The mechanism cannot be run on columns; the text is one sentence that says why, and where when known.

    >>> str(CannotLift("it formats a drawn value as text"))
    'it formats a drawn value as text'
    """

    wrong = False
    """Whether a lifted run returned something else than the function itself: then no lift of it is to be trusted."""


class WrongLift(CannotLift):
    """A lifted run returned something else than the function itself."""

    wrong = True


class PathRefused(CannotLift):
    """Runs that take one path cannot be run on columns; those runs can be finished by plain calls.

    >>> isinstance(PathRefused("it formats a drawn value as text"), CannotLift)
    True
    """


class Refused(BaseException):
    """Raised inside a run; derived from BaseException so that `except Exception` in the mechanism lets it pass.

    A mechanism that swallows it all the same is found out: the run remembers its refusal.
    """
