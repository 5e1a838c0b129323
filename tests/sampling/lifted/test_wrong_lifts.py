"""Ways in which lifted runs once differed from the function's own in some runs, unseen by the replay of others."""

from __future__ import annotations

import datetime
import random
import threading
import warnings
from collections import deque

import numpy as np
import pytest

from refutedp.model.mechanism import describe
from refutedp.sampling.lifted import CannotLift, Lift

RECENT: deque[float] = deque(maxlen=3)
CALLS: deque[int] = deque()
BYTES = bytearray(b"x")
LOCAL = threading.local()


def joined_with_none(data, rng):
    noisy = rng.laplace()
    answer = 0.0
    if noisy > 3:
        answer = None
    return answer


def joined_from_none(data, rng):
    noisy = rng.laplace()
    answer = None
    if noisy > 3:
        answer = 1.0
    return answer


def joined_both_none(data, rng):
    noisy = rng.laplace()
    if noisy > 3:
        answer, flag = None, True
    else:
        answer, flag = None, False
    return answer, flag


def clamps_floats(data, rng):
    noisy = rng.normal()
    if type(noisy) == float:  # noqa: E721
        noisy = min(max(noisy, -3.0), 3.0)
    return noisy


def clamps_numbers(data, rng):
    noisy = rng.normal()
    if type(noisy) in (int, float):
        noisy = min(max(noisy, -3.0), 3.0)
    return noisy


def draws_python_ints(data, rng):
    return rng.integers(0, 2**40, dtype=int) ** 2 % 7


def turns_warnings_into_errors(data, rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return float(np.exp(rng.normal(scale=3000)))
        except RuntimeWarning:
            return -1.0


def counts_warnings(data, rng):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.log(rng.normal())
    return len(caught)


EQUAL = [joined_with_none, joined_from_none, joined_both_none, clamps_floats, clamps_numbers]


@pytest.mark.parametrize("function", EQUAL)
def test_every_run_equals_the_plain_function(function):
    Lift(describe(function), [1], {}).prove(np.random.default_rng(0), runs=2000)


@pytest.mark.parametrize("function", [draws_python_ints, turns_warnings_into_errors, counts_warnings])
def test_is_refused_before_it_is_wrong(function):
    with pytest.raises(CannotLift, match=r"beyond 2|floating-point error"):
        Lift(describe(function), [1], {}).prove(np.random.default_rng(0), runs=2000)


def keeps_a_deque(data, rng):
    RECENT.append(rng.laplace())
    return sum(RECENT)


def changes_after_many_calls(data, rng):
    CALLS.append(1)
    return rng.laplace(), len(CALLS) < 1_000_000


def keeps_a_bytearray(data, rng):
    BYTES[0] = (BYTES[0] + 1) % 256
    return rng.laplace() + BYTES[0]


def keeps_something_unseen(data, rng):
    LOCAL.count = getattr(LOCAL, "count", 0) + 1
    return rng.laplace() + LOCAL.count


@pytest.mark.parametrize(
    "function", [keeps_a_deque, changes_after_many_calls, keeps_a_bytearray, keeps_something_unseen]
)
def test_state_in_any_container_is_noticed(function):
    with pytest.raises(CannotLift, match="state"):
        Lift(describe(function), [1], {}).prove(np.random.default_rng(0))


def overflows(data, rng):
    return float(np.exp(rng.normal(scale=3000))) > 1


def test_the_callers_filters_and_settings_count():
    Lift(describe(overflows), [1], {}).prove(np.random.default_rng(0), runs=200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CannotLift, match="floating-point error"):
            Lift(describe(overflows), [1], {}).prove(np.random.default_rng(0), runs=200)
        with np.errstate(all="ignore"):
            Lift(describe(overflows), [1], {}).prove(np.random.default_rng(0), runs=200)
    with np.errstate(over="raise"), pytest.raises(CannotLift):
        Lift(describe(overflows), [1], {}).prove(np.random.default_rng(0), runs=200)


def test_no_argument_of_a_generator_is_misunderstood():
    def single_precision(data, rng):
        return float(rng.random(dtype=np.float32)) * 2**24 % 1

    with pytest.raises(CannotLift, match="dtype="):
        Lift(describe(single_precision), [1], {}).prove(np.random.default_rng(0))


class Counted:
    calls = 0


class Inherited(Counted):
    def tick(self):
        Counted.calls += 1
        return Counted.calls


class Safe:
    def inverse(self, x):
        with np.errstate(all="raise"):
            try:
                return 1 / x
            except FloatingPointError:
                return 0.0


HANDLERS = {"tick": lambda: RECENT.append(1)}


def keeps_state_in_a_base_class(data, rng):
    return rng.laplace() + Inherited().tick()


def keeps_state_by_a_handler(data, rng):
    HANDLERS["tick"]()
    return rng.laplace() + len(RECENT)


def handles_errors_in_a_method(data, rng):
    return Safe().inverse(np.floor(rng.random(1) * 2000)[0])


def overflows_in_one_run_of_many(data, rng):
    return round(rng.random() * 1.5015e308, -308)


def reads_the_clock(data, rng):
    return datetime.datetime.now().microsecond % 500 == 0, rng.random() > 0.5


def chooses_text_that_ends_with_zero(data, rng):
    return random.choice(["x"] * 3 + ["x\0"])


@pytest.mark.parametrize(
    "function",
    [keeps_state_in_a_base_class, keeps_state_by_a_handler, handles_errors_in_a_method, reads_the_clock],
)
def test_is_refused_where_lifted_runs_cannot_follow(function):
    with pytest.raises(CannotLift):
        Lift(describe(function), [1], {}).prove(np.random.default_rng(0))


@pytest.mark.parametrize("function", [overflows_in_one_run_of_many, chooses_text_that_ends_with_zero])
def test_no_run_is_told_the_outcome_of_another(function):
    lift = Lift(describe(function), [1], {})
    try:
        lift.prove(np.random.default_rng(0))
        outputs = lift.sample(20_000, np.random.default_rng(1))
    except CannotLift:
        return
    labels = {group.shape.label: group.size for group in outputs.groups}
    assert labels.get("OverflowError", 0) < 1000
    if function is chooses_text_that_ends_with_zero:
        assert "x\0" in {value for group in outputs.groups for value in group.columns[0]}
