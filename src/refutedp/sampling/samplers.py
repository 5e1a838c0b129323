"""Choose the sampler of a pair: the fastest that is proven to give the same distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refutedp.model.mechanism import Mechanism
from refutedp.model.records import Pair
from refutedp.sampling.plain import BatchedSampler, PlainSampler
from refutedp.sampling.sampler import OnError, Sampler

if TYPE_CHECKING:
    from refutedp.sampling.lifted import CannotLift, KnownLifts


def as_written(mechanism: Mechanism, pair: Pair, on_error: OnError = "output") -> PlainSampler:
    """The sampler that calls what the author wrote."""
    return (BatchedSampler if mechanism.batched else PlainSampler)(mechanism, pair, on_error)


class Samplers:
    """The samplers of one mechanism, lifted where `lift` allows it and a proof does.

    Pairs have inputs in common: what is known of an input from one pair is not proven again for another.
    """

    def __init__(self, mechanism: Mechanism, on_error: OnError, *, lift: bool) -> None:
        self._mechanism = mechanism
        self._on_error = on_error
        self._known: KnownLifts | None = None
        # Lifted runs take exceptions as outputs; who wants to see the exception runs the plain function.
        if lift and not mechanism.batched and on_error == "output":
            from refutedp.sampling.lifted import KnownLifts

            self._known = KnownLifts()

    @property
    def calls(self) -> int:
        """How many runs and calls all proofs took."""
        return 0 if self._known is None else self._known.calls

    def of(self, pair: Pair, seeds: np.random.SeedSequence) -> tuple[Sampler, CannotLift | None]:
        """The sampler of a pair, and why it is not lifted, if a lift was refused."""
        if self._known is None:
            return as_written(self._mechanism, pair, self._on_error), None
        from refutedp.sampling.lifted import CannotLift, LiftedSampler

        try:
            first, second = (self._known.lift(self._mechanism, data, pair.arguments) for data in (pair.d1, pair.d2))
            lifted = LiftedSampler(self._mechanism, pair, self._on_error, lifts=(first, second))
            lifted.prove(seeds)
        except CannotLift as refusal:
            return as_written(self._mechanism, pair, self._on_error), refusal
        return lifted, None
