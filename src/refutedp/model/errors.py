"""What can go wrong, as a small tree: catch `RefuteDPError` for all of it."""

from __future__ import annotations


class RefuteDPError(Exception):
    """Root of every error RefuteDP raises on purpose; its text is one sentence for the user."""


class UsageError(RefuteDPError, ValueError):
    """An argument is wrong; the text names the argument, the value and the remedy."""


class NotAdjacentError(UsageError):
    """A pair the user gave is not adjacent under the stated adjacency; the text says where it differs."""


class MechanismError(RefuteDPError):
    """The mechanism cannot be tested: it always fails, or returns what cannot be compared."""


class BeyondBoundsError(MechanismError):
    """A call did not return in time, took too much memory, or returned or printed too much."""


class UnsupportedOutputError(MechanismError):
    """The mechanism returned an object whose contents RefuteDP cannot see."""
