"""Recursion and loops: trees, while loops, for-else, break, continue and nonlocal names.

Where `exposed` is used, the cut at 5 makes the release private.
"""

from __future__ import annotations

import numpy as np

from refutedp import ONE_DIFFERS, PureDP
from tests.soundness.registry import FIRST, cases_of, exposed

private = cases_of("loops")
FOUR = ([1, 1, 1, 1], [1, 2, 1, 1])


@private(pair=FOUR, adjacency=ONE_DIFFERS)
def tree_sum_by_recursion(queries, rng):
    # Three levels, and one query is part of one node on each of them.
    def nodes(values):
        noisy = [sum(values) + rng.laplace(scale=3.0)]
        if len(values) == 1:
            return noisy
        middle = len(values) // 2
        return noisy + nodes(values[:middle]) + nodes(values[middle:])

    return nodes(queries)


@private(pair=FOUR, adjacency=ONE_DIFFERS)
def recursive_total_with_noise_at_the_leaves(queries, rng):
    def total(values):
        if not values:
            return 0.0
        head, *tail = values
        return min(exposed(head, rng.laplace()), 5.0) + total(tail)

    return total(queries)


def descend(noisy, depth):
    """The number of halvings of 8 until it is below the noisy value, at most `depth`."""
    if depth == 0 or noisy > 2.0**depth / 2:
        return depth
    return descend(noisy, depth - 1)


@private()
def recursion_that_depends_on_the_draw(queries, rng):
    return descend(min(queries[0] + rng.laplace(), 2.0), 3)


@private(pair=FIRST)
def mutual_recursion(queries, rng):
    def even(values):
        return [] if not values else [values[0], *odd(values[1:])]

    def odd(values):
        return [] if not values else [-values[0], *even(values[1:])]

    return even([min(exposed(q, rng.laplace()), 5.0) for q in queries])


@private()
def while_above_the_limit(queries, rng):
    noisy = min(exposed(queries[0], rng.laplace()), 5.0)
    steps = 0
    while noisy > 0:
        noisy -= 0.5
        steps += 1
    return steps


@private()
def while_true_with_a_break(queries, rng):
    noisy, steps = min(exposed(queries[0], rng.laplace()), 5.0), 0
    while True:
        if noisy <= steps:
            break
        steps += 1
    return steps


@private(pair=FIRST)
def for_else(queries, rng):
    for i, q in enumerate(queries):
        if q + rng.laplace() > 2:
            found = i
            break
    else:
        found = -1
    return found


@private()
def while_else(queries, rng):
    noisy, left = queries[0] + rng.laplace(), 2
    while left:
        if noisy > left:
            break
        left -= 1
    else:
        return "low"
    return left


@private(pair=FIRST)
def continue_skips_large_values(queries, rng):
    kept = []
    for q in queries:
        noisy = exposed(q, rng.laplace())
        if noisy > 5:
            continue
        kept.append(noisy)
    return kept


@private(pair=FIRST)
def loop_variable_after_the_loop(queries, rng):
    noisy = [q + rng.laplace() for q in queries]
    for value in noisy:
        if value > 1:
            break
    return value


@private(pair=FIRST)
def break_out_of_two_loops(queries, rng):
    place = None
    for i, q in enumerate(queries):
        noisy = q + rng.laplace()
        for limit in (3, 2):
            if noisy > limit:
                place = (i, limit)
                break
        if place is not None:
            break
    return place


@private(pair=FIRST)
def nonlocal_total(queries, rng):
    total = 0.0

    def add(value):
        nonlocal total
        total += 5.0 if value > 5 else value

    for q in queries:
        add(exposed(q, rng.laplace()))
    return total


@private()
def nonlocal_flag(queries, rng):
    large = False

    def look(value):
        nonlocal large
        if value > 5:
            large = True

    noisy = exposed(queries[0], rng.laplace())
    look(noisy)
    return "large" if large else noisy


@private(pair=FIRST)
def counter_of_a_while_loop(queries, rng):
    i, above = 0, 0
    while i < len(queries):
        above += queries[i] + rng.laplace() > 1.5
        i += 1
    return above


@private(pair=FIRST)
def loop_ends_at_the_first_large_answer(queries, rng):
    answers = []
    for q in queries:
        noisy = q + rng.laplace()
        answers.append(noisy > 2)
        if noisy > 2:
            return answers
    return answers


@private()
def binary_search_for_the_noisy_value(queries, rng):
    noisy = min(exposed(queries[0], rng.laplace()), 5.0)
    low, high = -4.0, 4.0
    for _ in range(4):
        middle = (low + high) / 2
        if noisy > middle:
            low = middle
        else:
            high = middle
    return low


@private(PureDP(1.0), FIRST)
def list_changed_while_it_is_read(queries, rng):
    noisy = [q + rng.laplace() for q in queries]
    for value in noisy:
        if len(noisy) < 4:
            noisy.append(value / 2)
    return noisy


@private(pair=FIRST)
def bubble_sort(queries, rng):
    noisy = [q + rng.laplace() for q in queries]
    for i in range(len(noisy) - 1):
        if noisy[i] > noisy[i + 1]:
            noisy[i], noisy[i + 1] = noisy[i + 1], noisy[i]
    return noisy


@private()
def horner_scheme(queries, rng):
    noisy = min(exposed(queries[0], rng.laplace()), 5.0)
    value = 0.0
    for coefficient in (1.0, 0.0, 2.0):
        value = value * noisy + coefficient
    return noisy > 0, value


@private()
def newton_steps(queries, rng):
    # The square root of the noisy answer where it is positive.
    noisy = max(min(exposed(queries[0], rng.laplace()), 5.0), 0.25)
    guess = 1.0
    for _ in range(30):
        guess = (guess + noisy / guess) / 2
    return guess


@private()
def collatz_steps_of_a_noisy_count(queries, rng):
    noisy = max(1, min(round(queries[0] + rng.laplace()), 7))
    steps = 0
    while noisy != 1:
        noisy = 3 * noisy + 1 if noisy % 2 else noisy // 2
        steps += 1
    return steps


@private(pair=FIRST)
def prefix_sums_in_a_loop(queries, rng):
    sums = np.zeros(3)
    for i, q in enumerate(queries):
        sums[i + 1] = sums[i] + min(exposed(q, rng.laplace()), 5.0)
    return sums[1:]


@private()
def digits_by_recursion(queries, rng):
    def digits(n):
        return [n] if n < 2 else [*digits(n // 2), n % 2]

    return digits(max(0, min(round(exposed(queries[0], rng.laplace())), 5)))


@private(pair=FOUR, adjacency=ONE_DIFFERS)
def pairs_from_both_ends(queries, rng):
    noisy = [q + rng.laplace() for q in queries]
    i, j, wins = 0, len(noisy) - 1, 0
    while i < j:
        wins += 1 if noisy[i] > noisy[j] else 0
        i, j = i + 1, j - 1
    return wins
