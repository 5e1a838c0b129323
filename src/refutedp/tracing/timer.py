"""A timer of the system, which no code of this process can keep from running out."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType

_BUSY = 0.5
"""Seconds of processor time between two interrupts."""


def interrupt_while_busy(look: Callable[[int, FrameType | None], None]) -> Callable[[], object]:
    """Have the system interrupt the main thread to look now and then while it computes; returns what ends that.

    Where somebody else has a use for that timer, nothing is done.
    """
    number = getattr(signal, "SIGVTALRM", None)
    if number is None or signal.getsignal(number) is not signal.SIG_DFL or signal.getitimer(signal.ITIMER_VIRTUAL)[0]:
        return lambda: None

    def end() -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        # A signal that is on its way would end the process by default; one that is ignored is thrown away.
        signal.signal(number, signal.SIG_IGN)
        signal.signal(number, signal.SIG_DFL)

    signal.signal(number, look)
    signal.siginterrupt(number, False)
    signal.setitimer(signal.ITIMER_VIRTUAL, _BUSY, _BUSY)
    return end
