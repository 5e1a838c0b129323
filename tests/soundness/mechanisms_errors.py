"""Warnings and errors: an exception, a warning or a context manager replaces the values above 5.

Every test here fails exactly for values above 5, so the release is a function of min(query + noise, 5) (see
`exposed`).
"""

from __future__ import annotations

import contextlib
import math
import warnings

import numpy as np

from refutedp import PureDP
from tests.soundness.registry import BITS, FIRST, cases_of, exposed, exposed_vector

private = cases_of("errors")


class TooLarge(Exception):
    """Raised for values above 5."""


def small(value):
    if value > 5:
        raise TooLarge
    return value


@private()
def floating_point_error(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    with np.errstate(invalid="raise"):
        try:
            np.sqrt(5.0 - noisy)
        except FloatingPointError:
            return 5.0
    return noisy[0]


@private()
def overflow_raises(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    try:
        with np.errstate(over="raise"):
            np.exp(1e4 * (noisy > 5))
    except FloatingPointError:
        noisy[0] = 5.0
    return noisy[0]


@private()
def division_raises(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    with np.errstate(all="raise"):
        try:
            1.0 / (noisy <= 5)
        except FloatingPointError:
            noisy[:] = 5.0
    return noisy[0]


@private()
def errors_ignored_and_nan_kept(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    with np.errstate(invalid="ignore"):
        return 5.0 - np.sqrt(5.0 - noisy)[0] ** 2


@private()
def warnings_as_errors(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            np.log(5.0 - noisy)
        except RuntimeWarning:
            noisy = 5.0
    return noisy


@private()
def warnings_recorded(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.sqrt(5.0 - noisy)
    return 5.0 if caught else noisy[0]


@private()
def warnings_of_its_own(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if noisy > 5:
            warnings.warn("large", UserWarning, stacklevel=1)
    return noisy if not caught else 5.0


@private()
def domain_error(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    try:
        math.sqrt(5.0 - noisy)
    except ValueError:
        return 5.0
    return noisy


@private()
def logarithm_of_a_negative_number(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    try:
        return math.log(5.0 - noisy)
    except ValueError:
        return -math.inf


@private()
def overflow_of_a_power(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    try:
        10.0 ** (400 * (noisy > 5))
    except OverflowError:
        noisy = 5.0
    return noisy


@private()
def overflow_of_exp(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    try:
        math.exp(1000 if noisy > 5 else 0)
    except OverflowError:
        return 5.0
    else:
        return noisy


@private()
def integer_of_infinity(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    try:
        return int(4 * noisy if noisy <= 5 else math.inf)
    except OverflowError:
        return 20


@private()
def division_by_zero(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    try:
        1 // (noisy <= 5)
    except ZeroDivisionError:
        noisy = 5.0
    return noisy


@private()
def remainder_by_zero(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    with contextlib.suppress(ZeroDivisionError):
        return noisy + 0 % float(noisy <= 5)
    return 5.0


@private()
def exception_as_control_flow(queries, rng):
    try:
        return small(exposed(queries[0], rng.laplace()))
    except TooLarge:
        return 5.0


@private()
def exception_as_the_output(queries, rng):
    return small(exposed(queries[0], rng.laplace()))


@private()
def exception_that_carries_a_value(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    try:
        raise TooLarge(min(noisy, 5.0))
    except TooLarge as error:
        return error.args[0]


@private()
def exception_raised_again(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    try:
        try:
            small(noisy)
        except TooLarge as error:
            raise ValueError from error
    except ValueError as error:
        return 5.0 if isinstance(error.__cause__, TooLarge) else noisy
    return noisy


@private()
def finally_sets_the_value(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    try:
        noisy = small(noisy)
    except TooLarge:
        noisy = None
    finally:
        noisy = 5.0 if noisy is None else noisy
    return noisy


@private()
def finally_returns(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    try:
        return noisy
    finally:
        if noisy > 5:
            return 5.0  # noqa: B012


@contextlib.contextmanager
def cutting(box):
    yield box
    if box[0] > 5:
        box[0] = 5.0


@private()
def context_manager_from_a_generator(queries, rng):
    with cutting([exposed(queries[0], rng.laplace())]) as box:
        box[0] += 0.0
    return box[0]


class Cut:
    def __init__(self, value):
        self.value = value

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.value = 5.0 if kind is TooLarge else self.value
        return kind is TooLarge


@private()
def context_manager_that_swallows(queries, rng):
    with Cut(exposed(queries[0], rng.laplace())) as cut:
        small(cut.value)
    return cut.value


@private()
def exit_stack(queries, rng):
    box = [exposed(queries[0], rng.laplace())]
    with contextlib.ExitStack() as stack:
        if box[0] > 5:
            stack.callback(box.__setitem__, 0, 5.0)
    return box[0]


@private()
def suppressed_key_error(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    release = 5.0
    with contextlib.suppress(KeyError):
        {False: None}[noisy > 5]
        release = noisy
    return release


@private()
def index_error(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    try:
        return [noisy][int(noisy > 5)]
    except IndexError:
        return 5.0


@private()
def assertion(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    try:
        assert noisy <= 5, "large"
    except AssertionError:
        noisy = 5.0
    return noisy


@private()
def text_that_is_no_number(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    try:
        int("5" if noisy <= 5 else "large")
    except ValueError:
        noisy = 5.0
    return noisy


@private()
def end_of_an_iterator(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    try:
        return next(iter([noisy] if noisy <= 5 else []))
    except StopIteration:
        return 5.0


@private(pair=FIRST)
def errors_counted_over_queries(queries, rng):
    errors = 0
    for q in queries:
        try:
            small(exposed(q, rng.laplace()))
        except TooLarge:
            errors += 1
    return errors


@private(PureDP(math.log(3)), BITS)
def error_by_a_coin(data, rng):
    # The coin alone decides whether an exception is raised, with probability 1/4.
    try:
        if rng.random() < 0.25:
            raise LookupError
        return data[0]
    except LookupError:
        return 1 - data[0]
