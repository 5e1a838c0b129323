"""Call the mechanism once, noise-free, with its arguments under watch."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from refutedp.inputs.arguments.explore import Tracing
from refutedp.inputs.arguments.noise_free_copies import FollowedCopier, FollowedStage
from refutedp.inputs.arguments.noise_free_draws import FollowedDraws
from refutedp.inputs.arguments.terms_of_a_run import Number, Truth
from refutedp.model.mechanism import Mechanism


class NoiseFreeRunner:
    """A noise-free copy of a mechanism; the original and its modules stay untouched."""

    def __init__(self, mechanism: Mechanism, known: Mapping[str, Any], *, own_float: bool = False) -> None:
        self._original = mechanism
        self.calls = 0
        """How often the mechanism was called."""
        self._float: NoiseFreeRunner | None = None
        self._tracing: Tracing | None = None
        stage = FollowedStage(FollowedDraws(self._current), own_float=own_float)
        self._rng = None if mechanism.rng is None else stage.generator(mechanism.draws_from)
        copied = FollowedCopier(stage).copy(mechanism.function)
        self._mechanism = dataclasses.replace(mechanism, function=copied)
        self._known = dict(known)

    def keeping_floats(self) -> NoiseFreeRunner:
        """The same, with a `float` that keeps values under watch (see `FollowedStage`)."""
        if self._float is None:
            self._float = NoiseFreeRunner(self._original, self._known, own_float=True)
        return self._float

    @property
    def all_calls(self) -> int:
        """How often the mechanism was called, with either `float`."""
        return self.calls + (0 if self._float is None else self._float.calls)

    def __call__(self, tracing: Tracing, data: Any, found: Mapping[str, Any], *, watching: bool = True) -> Any:
        """One run on a copy of the data; without `watching` only draws are watched, not the arguments."""
        self._tracing = tracing
        self.calls += 1
        arguments = {**self._known, **found}
        if watching:
            arguments = {
                name: value if name == self._mechanism.epsilon else watch(tracing, value)
                for name, value in arguments.items()
            }
        size = 1 if self._mechanism.batched else None
        output = self._mechanism.call(copy.deepcopy(data), arguments, rng=self._rng, size=size)
        if inspect.isgenerator(output):
            output = list(output)
        _test_returned(tracing, output)
        return output

    def _current(self) -> Tracing:
        assert self._tracing is not None
        return self._tracing


def _test_returned(tracing: Tracing, output: Any) -> None:
    """A truth that is returned is told to the world as much as one that draws by importance a branch.

    It counts as one.
    """
    if type(output) is Truth:
        if output.site is not None and not output.asked:
            tracing.test(output, output.site)
    elif type(output) in (list, tuple, set, frozenset):
        for element in output:
            _test_returned(tracing, element)
    elif type(output) is dict:
        for element in output.values():
            _test_returned(tracing, element)
    elif isinstance(output, np.ndarray) and output.dtype == object:
        for element in output.flat:
            _test_returned(tracing, element)


def watch(tracing: Tracing, value: Any) -> Any:
    """A plain number or truth under watch; anything else as it is."""
    if type(value) is Number or type(value) is Truth:
        return value
    if isinstance(value, bool | np.bool_):
        return Truth(tracing, bool(value))
    if isinstance(value, np.number):
        value = value.item()
    # An Enum whose members are ints must stay an Enum.
    return Number(tracing, value) if type(value) in (int, float) else value
