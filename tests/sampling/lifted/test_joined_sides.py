"""Branches whose sides compute, draw, write and return are joined; each run equals the plain function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from refutedp.model.mechanism import describe
from refutedp.sampling.lifted import Lift
from refutedp.sampling.lifted.noise.importance_noise import ImportanceNoise, Plan

DATA = [1, 0, 2, 1, 0, 3]


def _flip(bit, p, rng):
    if rng.random() < p:
        return bit
    return 1 - bit


def _permanent(bit, rng):
    u = rng.random()
    if u < 0.25:
        return 1
    elif u < 0.5:  # noqa: RET505 - a style that people write
        return 0
    else:
        return bit


def helper_with_returns(data, rng):
    return [_flip(int(x), 0.75, rng) for x in data]


def elif_chain(data, rng):
    return [_permanent(x, rng) for x in data]


def draws_on_one_side(data, rng):
    def respond(x):
        if rng.random() < 0.5:
            return x
        return 1 if rng.random() < 0.5 else 0

    return [respond(x) for x in data], rng.random() < 0.5


def draws_on_both_sides(data, rng):
    out = []
    for x in data:
        if rng.random() < 0.5:
            value = x + float(rng.laplace())
        else:
            value = float(rng.exponential())
            if value > 1 and x > 0:
                value = -value
        out.append(value)
    return out


def nested_conditional_expressions(data, rng):
    return [x if rng.random() > 0.5 else (1 if rng.random() < 0.5 else 0) for x in data]


def looked_up(data, rng):
    names = {0: "a", 1: "b", 2: "c", 3: "d"}
    return [names[x if rng.random() < 0.5 else int(rng.integers(4))] for x in data]


def looked_up_in_a_list(data, rng):
    return [("x", "y", "z", "w")[x if rng.random() < 0.5 else int(rng.integers(4))] for x in data]


def written_in_place(data, rng):
    out = list(data)
    for i in range(len(out)):
        if rng.random() < 0.5:
            out[i] = not out[i]
        else:
            out[i] = bool(out[i])
    return out


def counted_by_place(data, rng):
    counts = [0, 0, 0]
    for _ in data:
        counts[int(rng.integers(3))] += 1
    return counts


def combined_conditions(data, rng):
    a, b = rng.laplace(), rng.laplace()
    return 0 <= a <= 1 and not b > 0, a > 0 or b > 0, 1 if a > 0 and b > 0 else 0


@dataclass
class Person:
    sick: bool


def attributes_on_sides(data, rng):
    people = [Person(x > 1) for x in data]
    return [person.sick if rng.random() < 0.75 else not person.sick for person in people]


ONE_PATH = [
    *(helper_with_returns, elif_chain, draws_on_one_side, draws_on_both_sides, nested_conditional_expressions),
    *(looked_up, looked_up_in_a_list, written_in_place, counted_by_place, combined_conditions, attributes_on_sides),
]


@pytest.mark.parametrize("function", ONE_PATH, ids=lambda f: f.__name__)
def test_sides_are_joined_and_every_run_equals_the_plain_function(function):
    lift = Lift(describe(function), DATA, {})
    lift.prove(np.random.default_rng(0), runs=300)
    assert lift.sample(2000, np.random.default_rng(1)).size == 2000
    assert len(lift._proven) == 1


def stops_in_a_nested_branch(data, rng):
    out, count = [], 0
    for x in data:
        if x + rng.laplace(scale=4) >= 1:
            out.append(True)
            count += 1
            if count >= 2:
                break
        else:
            out.append(False)
    return out


def stops_in_an_elif_or_not_at_all(data, rng):
    total, left = 0, list(data)
    while left:
        x = left.pop()
        if rng.random() < 0.5:
            total += x
        elif rng.random() < 0.5:
            total -= 1
            if total < -1:
                break
        else:
            total += 1
            if total > 3:
                break
    else:
        total = -100
    return total, len(left)


def goes_on_after_the_nested_branch(data, rng):
    out = []
    for x in data:
        if rng.random() < 0.5:
            if x > 1:
                break
            out.append(x)
        for y in (1, 2):
            if rng.random() < 0.1:
                if y > 1:
                    break
                out.append(-y)
    return out


def breaks_under_try(data, rng):
    seen = 0
    for x in data:
        if rng.random() < 0.5:
            try:
                if 1 / x > 0.4:
                    break
            except ZeroDivisionError:
                seen += 10
        else:
            seen += 1
            if seen > 2:
                break
    return seen


@pytest.mark.parametrize(
    "function",
    [stops_in_a_nested_branch, stops_in_an_elif_or_not_at_all, goes_on_after_the_nested_branch, breaks_under_try],
)
def test_loops_that_stop_in_nested_branches_equal_the_plain_function(function):
    lift = Lift(describe(function), DATA, {})
    lift.prove(np.random.default_rng(0), runs=300)
    assert lift.sample(2000, np.random.default_rng(1)).size == 2000


class Counter:
    def __init__(self):
        self.seen = 0

    def tick(self, x):
        self.seen += 1
        return x + self.seen

    @property
    def next(self):
        self.seen += 1
        return float(self.seen)

    def __add__(self, other):
        self.seen += 1
        return float(self.seen)


def calls_what_counts(data, rng):
    counter = Counter()
    out = [counter.tick(x) if rng.random() < 0.5 else x for x in data]
    return out, counter.seen


def reads_what_counts(data, rng):
    counter = Counter()
    out = [counter.next if rng.random() < 0.5 else 0.5 for x in data]
    return out, counter.seen


def adds_what_counts(data, rng):
    counter = Counter()
    out = [counter + x if rng.random() < 0.5 else 0.5 for x in data]
    return out, counter.seen


def takes_from_a_list(data, rng):
    left = list(data)
    out = [left.pop() if rng.random() < 0.5 else 7 for _ in data]
    return out, left


def advances_an_iterator(data, rng):
    items = iter(data)
    out = [next(items) if rng.random() < 0.5 else 7 for _ in data]
    return out, list(items)


def grows_another_list(data, rng):
    log, out = [], []
    for x in data:
        if rng.random() < 0.5:
            out.append(x)
            log.append(x)
        else:
            out.append(-x)
    return out, log


def changes_an_array(data, rng):
    seen = np.zeros(2)

    def note(place):
        seen[place] += 1
        return place

    out = [note(0) if rng.random() < 0.5 else note(1) for _ in data]
    return out, seen


def raises_on_one_side(data, rng):
    out = []
    for x in data:
        try:
            out.append(1 / x if rng.random() < 0.5 else 0.5)
        except ZeroDivisionError:
            out.append(-1.0)
    return out


def leaves_a_variable_unset(data, rng):
    if rng.random() < 0.5:
        late = 1
    else:
        early = 2
    try:
        return late
    except NameError:
        return early


def changes_a_list_in_place(data, rng):
    kept = [0]
    alias = kept
    if rng.random() < 0.5:
        kept += [1]
        x = 1
    else:
        x = 2
    return alias, x


def keeps_what_a_side_has_set(data, rng):
    total, last = 0, None
    for x in data:
        if rng.random() < 0.5:
            total += x
            last = x
        else:
            total -= 1
    return total, last


def writes_the_same_list_under_two_names(data, rng):
    first = [0, 0]
    second = first
    for x in data:
        if rng.random() < 0.5:
            first[0] += x
        else:
            second[0] -= 1
    return first, second


def goes_out_of_bounds(data, rng):
    places = [0.5, 1.5]
    try:
        return places[int(rng.integers(3))]
    except IndexError:
        return -1.0


def misses_a_key(data, rng):
    return {0: 1, 1: 2}.get(int(rng.integers(3))), {0: 1, 1: 2}[int(rng.integers(3))]


SPLIT = [
    *(calls_what_counts, reads_what_counts, adds_what_counts, takes_from_a_list, advances_an_iterator),
    *(grows_another_list, changes_an_array, raises_on_one_side, leaves_a_variable_unset, changes_a_list_in_place),
    *(keeps_what_a_side_has_set, writes_the_same_list_under_two_names, goes_out_of_bounds, misses_a_key),
]


@pytest.mark.parametrize("function", SPLIT, ids=lambda f: f.__name__)
def test_what_a_side_changes_is_put_back(function):
    lift = Lift(describe(function), DATA[:4], {})
    lift.prove(np.random.default_rng(0), runs=300)
    assert lift.sample(1000, np.random.default_rng(1)).size == 1000


def test_runs_that_part_later_have_the_draws_of_their_side_only():
    """A part that was put off, and runs that plain calls finish, go on from draws that only some of them made."""

    def then_parts(data, rng):
        first = rng.laplace() if rng.random() < 0.5 else 0.0
        if first > 4:
            return [first]
        second = rng.normal() if rng.random() < 0.5 else 1.0
        return [first, second] if rng.random() < 0.5 else "none"

    lift = Lift(describe(then_parts), DATA, {})
    lift.prove(np.random.default_rng(0), runs=1000)
    outputs = lift.sample(5000, np.random.default_rng(1))
    both = next(group for group in outputs.groups if len(group.shape.paths) == 2)
    others = sum(group.size for group in outputs.groups if group is not both)
    assert both.size + others == 5000
    assert abs(both.size - 2500) < 5 * 36
    assert both.weights is not None
    zeros = int(both.weights[both.columns[0] == 0.0].sum())
    assert abs(zeros / both.size - 0.5) < 0.06


def test_weighted_noise_is_drawn_on_no_side_that_others_do_not_take():
    """Its weights are by the number of draws before, which differs between sides."""
    lift = Lift(describe(draws_on_one_side), DATA[:2], {})
    lift.prove(np.random.default_rng(0))
    noise = ImportanceNoise(500, Plan({}), np.random.default_rng(1))
    seen = []
    lift.visit(np.random.default_rng(2), 500, lambda ids, output, n, draws: seen.append((n, draws)), noise)
    assert sum(n for n, _ in seen) == 500
    assert all(draw.made_by is None for _, run in seen if hasattr(run, "draws") for draw in run.draws)
