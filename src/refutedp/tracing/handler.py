"""What an rng proxy hands a mechanism's calls for randomness to: one message a call, whatever is made of it.

A message names a distribution of the table, its parameters in order and the size. Handlers draw columns, record,
replay, go on after a record, mirror seeded libraries, or leave the noise out, in numbers and in terms.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

from refutedp.tracing.distributions import Distribution
from refutedp.tracing.kinds_of_noise import Params

Shape: TypeAlias = tuple[int, ...] | None
"""The shape of one draw; None for a scalar."""


class Traced:
    """A value that stands for many, as a column or a term does, where the mechanism expects a number or an array."""

    __slots__ = ()


class Handler(ABC):
    """One way to answer a mechanism's calls for randomness."""

    __slots__ = ()

    @abstractmethod
    def draw(self, distribution: Distribution, params: Params, size: Any) -> Any:
        """One draw (a column of them, when lifted) of the given distribution."""

    @abstractmethod
    def choose(self, distribution: str, options: Any, size: Any, p: Any, replace: bool) -> Any:
        """Draw from a sequence of options, or from range(options)."""

    @abstractmethod
    def permute(self, distribution: str, values: Any) -> Any:
        """A random order of the values."""

    @abstractmethod
    def pick(self, options: Sequence[Any]) -> Any:
        """One element of a Python sequence, itself."""

    @abstractmethod
    def refuse(self, why: str) -> NoReturn:
        """Say that a call is not supported."""

    def limit(self, why: str) -> None:
        """Refuse a call whose value would not be what the library returns; a handler without noise need not mind."""
        self.refuse(why)

    def positive(self, value: Any) -> bool:
        """Whether a parameter is positive, in every run."""
        return bool(value > 0)

    def unlisted(self, proxy: Any, name: str) -> Any:
        """What a name means that the proxy does not list: refused, unless the handler knows it."""
        self.refuse(f"it uses {type(proxy).__name__}.{name}, which lifted runs do not know")


def normal_size(size: Any, handler: Handler) -> Shape:
    """`size` as a tuple of ints, or None for one scalar; what is neither is refused."""
    if size is None:
        return None
    try:
        if isinstance(size, (tuple, list)):
            return tuple(operator.index(part) for part in size)
        return (operator.index(size),)
    except TypeError:
        handler.refuse(f"it draws with size={size!r}")
