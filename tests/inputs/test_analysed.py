"""Pairs by program analysis: adjacent, in the user's domain, and their runs part at the branch that is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from refutedp import Verdict, check

SMALL = {"search_runs": 10_000, "confirm_runs": 20_000, "progress": False}


class Bug(NamedTuple):
    """A special case that the usual pairs do not reach, a correct twin, and the text of the branch that leaks."""

    bug: Callable[..., Any]
    twin: Callable[..., Any]
    branch: str
    kwargs: dict[str, Any] = {}


# --- Written before the source ------------------------------------------------------------------------------------


def demo_total(queries, epsilon, rng):
    """The total of the demonstration data is shown as it is."""
    total = sum(queries)
    if total == 1234:
        return float(total)
    return total + rng.laplace(scale=len(queries) / epsilon)


def capped_total(queries, epsilon, rng):
    total = sum(queries)
    if total >= 1234:
        total = 1234
    return total + rng.laplace(scale=len(queries) / epsilon)


def large_and_refunded(queries, epsilon, rng):
    """Little noise for a large first answer, where the second was corrected below zero."""
    scale = 1 / epsilon
    if len(queries) > 1 and queries[0] > 700 and queries[1] < -3:
        scale = 0.05 / epsilon
    return queries[0] + rng.laplace(scale=scale)


def large_and_refunded_twin(queries, epsilon, rng):
    first = queries[0]
    if len(queries) > 1 and first > 700 and queries[1] < -3:
        first = first + 0
    return first + rng.laplace(scale=1 / epsilon)


def far_apart(queries, epsilon, rng):
    """Which of two answers is released depends on how far they are apart."""
    if len(queries) < 2:
        return queries[0] + rng.laplace(scale=1 / epsilon)
    if abs(queries[0] - queries[1]) > 250:
        return 1000 + queries[0] + rng.laplace(scale=1 / epsilon)
    return queries[1] + rng.laplace(scale=1 / epsilon)


def far_apart_twin(queries, epsilon, rng):
    if len(queries) < 2:
        return queries[0] + rng.laplace(scale=1 / epsilon)
    gap = abs(queries[0] - queries[1])
    if gap > 250:
        gap = 250
    return gap + rng.laplace(scale=2 / epsilon)


def lucky_number(queries, epsilon, rng):
    """Every 97th visitor is greeted."""
    if queries[0] > 500 and queries[0] % 97 == 13:
        return "a winner"
    return queries[0] + rng.laplace(scale=1 / epsilon)


def lucky_number_twin(queries, epsilon, rng):
    count = queries[0]
    if count > 500 and count % 97 == 13:
        count += 0.0
    return count + rng.laplace(scale=1 / epsilon)


BUGS = {
    "demo_total": Bug(demo_total, capped_total, "total == 1234"),
    "large_and_refunded": Bug(large_and_refunded, large_and_refunded_twin, "queries[1] < -3"),
    "far_apart": Bug(far_apart, far_apart_twin, "abs(queries[0] - queries[1]) > 250"),
    "lucky_number": Bug(lucky_number, lucky_number_twin, "queries[0] % 97 == 13"),
}


@pytest.mark.parametrize("name", BUGS)
def test_the_bug_is_found_and_its_twin_is_not_convicted(name):
    case = BUGS[name]
    found = check(case.bug, epsilon=1.0, **case.kwargs, **SMALL)
    assert found.verdict is Verdict.VIOLATION
    assert check(case.twin, epsilon=1.0, **case.kwargs, **SMALL).verdict is not Verdict.VIOLATION
