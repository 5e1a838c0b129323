"""What the clock decides: every such decision is made in one place and written down, so that a plan repeats it.

A check without a time limit makes none. Decisions that cut nothing are not written down: a plan is short, and an
empty one is that of a check which the clock did not shape.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from typing import TypeVar

T = TypeVar("T")


class Clock:
    """The time that a check has, and what followed from it.

    With a plan, the clock is not asked: what the plan does not name was not cut.

    >>> live = Clock(limit=60.0)
    >>> live.choose("search runs", 1000, lambda: 250), live.choose("confirm runs", 500, lambda: 500)
    (250, 500)
    >>> again = Clock(limit=60.0, plan=live.plan)
    >>> again.choose("search runs", 1000, lambda: 999), again.choose("confirm runs", 500, lambda: 999)
    (250, 500)
    """

    def __init__(self, limit: float = math.inf, plan: Mapping[str, int] | None = None) -> None:
        self._began = time.monotonic()
        self.limit = limit
        self._given = plan
        self._asked: dict[str, int] = {}
        self.plan: dict[str, int] = {}
        """The decisions so far by name, in the order in which they were made."""

    @property
    def repeats(self) -> bool:
        """Whether it follows a plan."""
        return self._given is not None

    @property
    def spent(self) -> float:
        """Seconds since the check began."""
        return time.monotonic() - self._began

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return max(self.limit - self.spent, 0.0)

    def within(self, limit: float) -> Clock:
        """The same clock and the same list of decisions for a part of the check that has so many seconds."""
        part = Clock(limit, self._given)
        part._asked, part.plan = self._asked, self.plan
        return part

    def choose(self, what: str, usual: int, chosen: Callable[[], int]) -> int:
        """What the plan says; without a plan what is chosen now, which joins the plan unless it is the usual."""
        name = self._name(what)
        value = chosen() if self._given is None else self._given.get(name, usual)
        if value != usual:
            self.plan[name] = value
        return value

    def cut(self, what: str, items: Iterable[T], late: Callable[[], bool]) -> Generator[T, None, None]:
        """The items until it is late after one of them."""
        name = self._name(what)
        most = math.inf if self._given is None else self._given.get(name, math.inf)
        generator = (one for one in items) if not isinstance(items, Generator) else items
        with closing(generator):
            for count, item in enumerate(generator, start=1):
                over = late() if self._given is None else count >= most
                if over:
                    self.plan[name] = count
                yield item
                if over:
                    return

    def _name(self, what: str) -> str:
        """What it is called in the plan: the second decision of the same kind is told from the first."""
        count = self._asked[what] = self._asked.get(what, 0) + 1
        return what if count == 1 else f"{what} ({count})"
