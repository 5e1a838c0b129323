"""What is measured: functions with an input and arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Everyday(NamedTuple):
    """A mechanism, with one input and its arguments."""

    function: Callable[..., Any]
    data: Any
    arguments: dict[str, Any]


EVERYDAY: dict[str, Everyday] = {}


def everyday(data: Any, **arguments: Any) -> Callable[[Any], Any]:
    """Add the decorated function to those that are measured."""

    def register(function: Any) -> Any:
        assert function.__name__ not in EVERYDAY, function.__name__
        EVERYDAY[function.__name__] = Everyday(function, data, arguments)
        return function

    return register
