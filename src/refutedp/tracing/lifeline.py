"""How a process that native code holds is known to another: it was to be heard of by a moment, which passes.

Nothing in its own process can end such a call, for the interpreter is held.
"""

from __future__ import annotations

import math
import mmap
import struct

_SIZE = 4096
_MOMENT = struct.Struct("d")
_LENGTH = struct.Struct("I")
_TEXT = _MOMENT.size + _LENGTH.size


class Lifeline:
    """Memory that two processes share. Made before the processes part; the supervised one writes, the other reads.

    >>> lifeline = Lifeline()
    >>> lifeline.moment
    inf
    >>> lifeline.hear_by(12.5)
    >>> lifeline.does("svt() on [1] and [2]")
    >>> lifeline.moment, lifeline.doing
    (12.5, 'svt() on [1] and [2]')
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _SIZE)
        self.hear_by(math.inf)

    def hear_by(self, moment: float) -> None:
        """By the monotonic clock, which all processes of a machine share; infinity while no call is watched."""
        _MOMENT.pack_into(self._memory, 0, moment)

    @property
    def moment(self) -> float:
        """When it should have been heard of."""
        return float(_MOMENT.unpack_from(self._memory)[0])

    def does(self, what: str) -> None:
        """What it does from now on, for the sentence about it."""
        text = what.encode(errors="replace")[: _SIZE - _TEXT]
        self._memory[_TEXT : _TEXT + len(text)] = text
        _LENGTH.pack_into(self._memory, _MOMENT.size, len(text))

    @property
    def doing(self) -> str:
        """What it did last."""
        length = _LENGTH.unpack_from(self._memory, _MOMENT.size)[0]
        return self._memory[_TEXT : _TEXT + length].decode(errors="replace")


def place_in(words: str) -> str:
    """The line that ran, in what faulthandler writes down: that of the main thread, which comes last.

    >>> place_in('Thread 1 (most recent call first):\\n  File "a.py", line 2 in f\\n  File "b.py", line 7 in g\\n')
    ' (File "a.py", line 2 in f)'
    """
    lines = (line.strip() for line in words.rpartition("(most recent call first)")[2].splitlines())
    place = next((line for line in lines if line.startswith("File")), "")
    return f" ({place})" if place else ""
