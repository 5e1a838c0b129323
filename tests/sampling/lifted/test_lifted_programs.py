"""Programs made up by Hypothesis: every lifted run equals the plain run on the same draws.

The oracle is independent of `Lift.prove`: a generator of a dozen lines that hands out the recorded values in order.
`python -m bench.programs` makes ten thousand of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings

from refutedp.model.mechanism import describe
from refutedp.sampling.encode import Raised
from refutedp.sampling.lifted import CannotLift, Lift
from refutedp.sampling.lifted.collect import example
from refutedp.sampling.lifted.trust.plain_calls import recorded_draws
from refutedp.tracing.distributions import DISTRIBUTIONS, Source
from tests.sampling.lifted.programs import compiled, programs


class Recorded(np.random.Generator):
    """Hands out recorded values, whatever is asked for; SciPy takes it for a generator."""

    def __init__(self, records: Any) -> None:
        self._records = list(records)

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") or name == "left":
            return object.__getattribute__(self, name)

        def next_value(*args: Any, **keywords: Any) -> Any:
            record = self._records.pop(0)
            assert record.distribution == name
            if name == "choice":
                return np.asarray(args[0])[record.value]
            if keywords.get("dtype") is int:
                return int(record.value)  # NumPy returns Python's integers for Python's type.
            if record.size is not None:
                return np.array(record.value)
            convert = DISTRIBUTIONS[name].convert
            return record.value if convert is None else convert(record.value)

        return next_value

    @property
    def left(self) -> int:
        return len(self._records)


def outcome(function: Any, rng: Any) -> Any:
    try:
        return function([1, 0, 2], rng)
    except Exception as error:
        return Raised(type(error).__name__)


def plain(value: Any) -> Any:
    """A value that compares equal to another exactly when the two outputs are the same; NaN equals NaN."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return "array", value.dtype.kind, plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if getattr(value, "error", None) is not None:
        return "error", value.error
    if isinstance(value, float):
        # Python prints a float so that reading it gives the same one; zeros of either sign are equal.
        return "float", repr(value + 0.0)
    return type(value).__name__, value


def honest_refusal(refusal: CannotLift, source: str) -> None:
    """A program may be refused for what it does, not because its lift was wrong."""
    assert "the plain function" not in str(refusal), source


def lifted_and_equal(source: str) -> bool:
    """Whether a program was lifted; every lifted run must equal the plain one."""
    program = compiled(source)
    finished: list[Any] = []
    try:
        lift = Lift(describe(program), [1, 0, 2], {})
        lift._explore(30, Source(np.random.default_rng(3)), lambda run, out: finished.append((run, out)))
    except CannotLift as refusal:
        honest_refusal(refusal, source)
        return False
    assert sum(run.n for run, _ in finished) == 30
    with np.errstate(all="ignore"):
        for run, output in finished:
            for index in range(run.n):
                rng = Recorded(recorded_draws(run, index))
                got = outcome(program, rng)
                assert plain(got) == plain(example(output, index)), source
                assert rng.left == 0, source
    try:
        assert lift.sample(300, np.random.default_rng(4)).size == 300
    except CannotLift as refusal:
        honest_refusal(refusal, source)
        return False
    return True


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs())
def test_lifted_runs_equal_plain_runs_on_the_same_draws(source):
    lifted_and_equal(source)


def test_most_programs_can_be_lifted():
    """The test above would be empty if nearly all programs were refused."""
    lifted = refused = 0

    @settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(programs())
    def count(source: str) -> None:
        nonlocal lifted, refused
        try:
            Lift(describe(compiled(source)), [1, 0, 2], {}).prove(np.random.default_rng(3), runs=10)
            lifted += 1
        except CannotLift:
            refused += 1

    count()
    assert lifted > 2 * refused
