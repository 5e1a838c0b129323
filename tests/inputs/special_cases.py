"""Special cases that the usual pairs do not reach, each with a correct twin; the first four precede the search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from refutedp import ADD_REMOVE, REPLACE, Replace


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


# --- Written after the source -------------------------------------------------------------------------------------


def shift_pay(queries, epsilon, rng):
    """Hours of the first query, with an exact answer for one shift of one length."""
    hours = queries[0]
    if hours > 400:
        if hours < 600:
            if len(queries) > 1 and 2 * queries[1] == hours + 90:
                return hours
        else:
            hours = 600
    return hours + rng.laplace(scale=1 / epsilon)


def shift_pay_twin(queries, epsilon, rng):
    hours = queries[0]
    if hours > 400:
        if hours < 600:
            hours = 400 + (hours - 400) / 2
        elif hours != 601:
            hours = 500
        else:
            hours = 501
    return hours + rng.laplace(scale=1 / epsilon)


def debtors(records, epsilon, rng):
    """Counts people, and those who owe forty times their income count for ten."""
    total = 0
    for income, debt in records:
        total += 1
        if debt > 40 * income:
            total += 9
    return total + rng.laplace(scale=1 / epsilon)


def debtors_twin(records, epsilon, rng):
    total = 0
    for income, debt in records:
        if debt > 40 * income:
            total += 1
        else:
            total += 0.5
    return total + rng.laplace(scale=1 / epsilon)


def frequent_guests(records, epsilon, rng):
    """Counts guests; who came more often than thrice a year of age is worth more."""
    points = 0
    for guest in records:
        if guest["visits"] > 3 * guest["age"] + 100:
            points += 8
        points += 1
    return points + rng.laplace(scale=1 / epsilon)


def frequent_guests_twin(records, epsilon, rng):
    points = 0
    for guest in records:
        if guest["visits"] > 3 * guest["age"] + 100:
            continue
        points += 1
    return points + rng.laplace(scale=1 / epsilon)


def fever(records, epsilon, rng):
    """A mean temperature in which one narrow range counts as sensor failure."""
    total = 0.0
    for value in records:
        if 41.625 < value < 41.75:
            total += 9
        total += min(max(value, 35.0), 42.0) / 7
    return total + rng.laplace(scale=1 / epsilon)


def fever_twin(records, epsilon, rng):
    total = 0.0
    for value in records:
        if 41.625 < value < 41.75:
            value = 40.0
        total += min(max(value, 35.0), 42.0) / 7
    return total + rng.laplace(scale=1 / epsilon)


def imbalance(queries: np.ndarray, epsilon, rng):
    """Less noise where the first answer is far ahead of the mean."""
    scale = 1 / epsilon
    if queries[0] - queries.mean() > 333.5:
        scale = 0.02 / epsilon
    return queries[0] + rng.laplace(scale=scale)


def imbalance_twin(queries: np.ndarray, epsilon, rng):
    lead = queries[0] - queries.mean()
    if lead > 333.5:
        lead = 333.5
    return lead + rng.laplace(scale=2 / epsilon)


def float_total(queries, epsilon, rng):
    """The total becomes a float before a special case looks at it."""
    total = float(sum(queries))
    if total > 300 and total % 77 == 5:
        return "bingo"
    return total + rng.laplace(scale=len(queries) / epsilon)


def float_total_twin(queries, epsilon, rng):
    total = float(sum(queries))
    if total > 300 and total % 77 == 5:
        total = total + 0.0
    return total + rng.laplace(scale=len(queries) / epsilon)


INCOMES = [(30, 200), (45, 100), (60, 0)]
GUESTS = [{"age": 30, "visits": 4}, {"age": 41, "visits": 9}]
BUGS = {
    "demo_total": Bug(demo_total, capped_total, "total == 1234"),
    "large_and_refunded": Bug(large_and_refunded, large_and_refunded_twin, "queries[1] < -3"),
    "far_apart": Bug(far_apart, far_apart_twin, "abs(queries[0] - queries[1]) > 250"),
    "lucky_number": Bug(lucky_number, lucky_number_twin, "queries[0] % 97 == 13"),
    "shift_pay": Bug(shift_pay, shift_pay_twin, "2 * queries[1] == hours + 90"),
    "debtors": Bug(debtors, debtors_twin, "debt > 40 * income", {"adjacency": REPLACE, "inputs": INCOMES}),
    "frequent_guests": Bug(
        frequent_guests,
        frequent_guests_twin,
        'guest["visits"] > 3 * guest["age"] + 100',
        {"adjacency": ADD_REMOVE, "inputs": GUESTS},
    ),
    "fever": Bug(fever, fever_twin, "41.625 < value < 41.75", {"adjacency": Replace((35.0, 42.0), odd=False)}),
    "float_total": Bug(float_total, float_total_twin, "total % 77 == 5"),
    "imbalance": Bug(imbalance, imbalance_twin, "queries[0] - queries.mean() > 333.5"),
}
