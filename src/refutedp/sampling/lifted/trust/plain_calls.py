"""Plain calls of a mechanism on draws of a record, and whether two outputs are the same."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from refutedp.model.mechanism import Mechanism, fresh_copies
from refutedp.sampling.encode import Raised, shape_of
from refutedp.sampling.lifted.refusal import CannotLift, Refused
from refutedp.sampling.lifted.rewrite.lifted_copies import LiftedCopier
from refutedp.sampling.lifted.rewrite.modules import LiftedStage
from refutedp.sampling.lifted.trust.mirror import outputs_side_by_side
from refutedp.sampling.lifted.trust.refused_code import Watch
from refutedp.sampling.lifted.trust.replay_draws import Continue, Replay
from refutedp.tracing.copier import Stage
from refutedp.tracing.distributions import Source


def copied_functions(arguments: Mapping[str, Any], copier: LiftedCopier) -> dict[str, Any]:
    """The arguments, with functions among them (scores, queries) seeing what the mechanism sees."""
    return {
        name: copier.copy(value) if isinstance(value, types.FunctionType) else value
        for name, value in arguments.items()
    }


class PlainCalls:
    """One mechanism on one input, called run by run: the function itself, or a copy of it.

    A copy, whose modules draw from a handler, stands for the function where it calls `np.random` or `random`;
    `lifted` is the stage of the lifted copy, which knows whether it does. Exceptions are outputs.
    """

    def __init__(self, mechanism: Mechanism, data: Any, arguments: Mapping[str, Any], lifted: LiftedStage) -> None:
        self._mechanism = mechanism
        self._data = fresh_copies(data)
        self._arguments = fresh_copies(dict(arguments))
        self._lifted = lifted
        self._stage = Stage(Replay([]))
        copier = LiftedCopier(self._stage)
        self._copy = replace(mechanism, function=copier.copy(mechanism.function))
        self._copy_arguments = fresh_copies(copied_functions(arguments, copier))
        self._watch = Watch(copier.codes)
        self.errors: Any = np.geterr()
        """What NumPy does about floating-point errors where nobody changed it."""
        self.calls = 0
        """How often the function, or its copy, was called."""

    def call(self, drawer: Replay | Continue, *, watched: bool = False) -> Any:
        """One call on the draws of a drawer; raises CannotLift if it draws otherwise, or does what it must not.

        A function with an rng runs as it is, unless it draws from modules as well.
        """
        self._stage.use(drawer)
        self.calls += 1
        from_modules = self._draws_from_modules
        function = (self._copy if from_modules else self._mechanism).call
        data, arguments = self._data(), (self._copy_arguments if from_modules else self._arguments)()
        try:
            with np.errstate(**self.errors):
                if watched:
                    output = self._watch.call(lambda: function(data, arguments, rng=self._stage.rng))
                else:
                    output = function(data, arguments, rng=self._stage.rng)
        except Refused:
            output = None
        except Exception as error:
            output = Raised(type(error).__name__)
        if drawer.trouble is not None:
            raise CannotLift(drawer.trouble)
        if drawer.leftover:
            raise CannotLift("the plain function draws less than its lifted run")
        if watched and self._watch.complaint is not None:
            raise CannotLift(self._watch.complaint)
        return output

    def fresh(self, count: int, source: Source) -> list[Any]:
        """Outputs on fresh draws, with the real generator where nothing needs to stand in for it."""
        if self._draws_from_modules:
            return [self.call(Continue((), (), source)) for _ in range(count)]
        return [self._outcome(self._mechanism, self._arguments, source.generator) for _ in range(count)]

    def check_copy(self) -> None:
        """Where a copy has to stand for the plain function, it must do what the function does."""
        if not self._draws_from_modules:
            return
        pairs = outputs_side_by_side(
            lambda: self._outcome(self._mechanism, self._arguments, np.random.default_rng(0)),
            lambda: self._outcome(self._copy, self._copy_arguments, np.random.default_rng(0)),
            self._stage.use,
        )
        for expected, got in pairs:
            if not equal_outputs(got, expected):
                raise CannotLift(f"a copy of it returns {got!r} where the function itself returns {expected!r}")

    def check_silence(self, output: Any) -> None:
        """Nothing was drawn: believe it only of a function that could have drawn, and returns the same each time."""
        if self._mechanism.rng is None:
            raise CannotLift("it draws nothing that lifted runs can see")
        rng = np.random.default_rng(0)
        before = repr(rng.bit_generator.state)
        for _ in range(8):
            if not equal_outputs(self._outcome(self._mechanism, self._arguments, rng), output):
                raise CannotLift("it draws from somewhere that lifted runs cannot see")
        if repr(rng.bit_generator.state) != before:
            raise CannotLift("it draws from its rng in a way that lifted runs cannot see")

    @property
    def _draws_from_modules(self) -> bool:
        return self._mechanism.rng is None or self._lifted.draws_from_modules

    def _outcome(self, mechanism: Mechanism, arguments: Callable[[], Any], rng: np.random.Generator) -> Any:
        self.calls += 1
        try:
            with np.errstate(**self.errors):
                return mechanism.call(self._data(), arguments(), rng=rng)
        except Exception as error:
            return Raised(type(error).__name__)


_QUICK = frozenset({bool, int, float, str, type(None)})


def equal_outputs(got: Any, expected: Any, *, up_to_rounding: bool = False) -> bool:
    """Whether two outputs are the same output: the same shape, and equal leaves, NaN equal to NaN."""
    if type(got) is type(expected) is float or type(got) is type(expected) is int:
        return bool(
            got == expected or (got != got and expected != expected) or (up_to_rounding and _close(got, expected))
        )
    if type(got) is type(expected) is list:
        kinds = [*map(type, got)]
        if kinds == [*map(type, expected)] and all(kind in _QUICK for kind in kinds) and got == expected:
            return True
    try:
        got_shape, got_leaves = shape_of(got)
        expected_shape, expected_leaves = shape_of(expected)
    except (Exception, Refused) as error:
        raise CannotLift(f"its outputs cannot be compared: {error}") from error
    if got_shape != expected_shape:
        return False
    pairs = zip(got_leaves, expected_leaves, strict=True)
    return all(a == b or (a != a and b != b) or (up_to_rounding and _close(a, b)) for a, b in pairs)


def _close(a: Any, b: Any) -> bool:
    return isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
