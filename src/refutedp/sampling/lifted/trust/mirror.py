"""Is a copy of the mechanism faithful? Run it beside the original, on the same seeds of the global generators.

A function that draws from `np.random` or `random` can be replayed only as a copy, so a mistake in copying would go
unnoticed by the replay: both sides would make it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from refutedp.sampling.lifted.trust.refused_code import generators_state, restore_generators
from refutedp.tracing.distributions import Distribution
from refutedp.tracing.handler import Handler

SEEDS = range(8)


class Unmirrored(BaseException):
    """The copy draws from a generator that no seed reaches, such as an unseeded `default_rng()`."""


class Mirror(Handler):
    """A handler that draws what the global generators would draw with the same seed."""

    def __init__(self, seed: int) -> None:
        self._legacy = np.random.RandomState(seed)
        self._standard = random.Random(seed)

    def refuse(self, why: str) -> NoReturn:
        """No seed reaches it."""
        raise Unmirrored(why)

    def draw(self, distribution: Distribution, params: tuple[Any, ...], size: Any) -> Any:
        """One draw by the library that the distribution is named after."""
        library, _, name = distribution.name.rpartition(".")
        if library == "np.random":
            return getattr(self._legacy, name)(*params, size)
        if library != "random":
            self.refuse(distribution.name)
        return getattr(self._standard, "randrange" if name == "randint" else name)(*params)

    def choose(self, distribution: str, options: Any, size: Any, p: Any, replace: bool) -> Any:
        """As `np.random.choice`."""
        if not distribution.startswith("np.random."):
            self.refuse(distribution)
        return self._legacy.choice(options, size, p=p)

    def permute(self, distribution: str, values: Any) -> Any:
        """As `np.random.permutation`."""
        if not distribution.startswith("np.random."):
            self.refuse(distribution)
        return self._legacy.permutation(values)

    def pick(self, options: Sequence[Any]) -> Any:
        """As `random.choice`."""
        return self._standard.choice(options)


def outputs_side_by_side(
    original: Callable[[], Any], copied: Callable[[], Any], use: Callable[[Handler], None]
) -> list[tuple[Any, Any]]:
    """What the original and its copy give on a few seeds; empty when the copy's draws cannot be seeded.

    The global generators are seeded for the original and given back their own states afterwards.
    """
    pairs = []
    before = generators_state()
    try:
        for seed in SEEDS:
            np.random.seed(seed)
            random.seed(seed)
            expected = original()
            use(Mirror(seed))
            pairs.append((expected, copied()))
    except Unmirrored:
        return []
    finally:
        restore_generators(before)
    return pairs
