"""How a lift is given up: one exception for callers, one that a mechanism's own `except` does not catch."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import CodeType, FrameType

import numpy as np

from refutedp.sampling.sampler import CannotSample

_OURS = str(Path(__file__).parent) + os.sep
_NUMPY = str(Path(np.__file__).parent) + os.sep


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


def is_internal(code: CodeType) -> bool:
    """Whether the code is this package's own or NumPy's, not the mechanism's."""
    return code.co_filename.startswith((_OURS, _NUMPY))


def line_of_mechanism() -> int | None:
    """The line that is being executed in the innermost frame that is neither ours nor NumPy's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_internal(frame.f_code):
            return frame.f_lineno
        frame = frame.f_back
    return None
