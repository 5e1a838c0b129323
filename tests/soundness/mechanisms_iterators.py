"""Generators, iterators and comprehensions.

Where `exposed` is used, the cut at 5 makes the release private.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import statistics
from collections import deque
from functools import reduce

import numpy as np

from tests.soundness.registry import FIRST, cases_of, exposed

private = cases_of("iterators")


def noises(rng):
    while True:
        yield rng.laplace()


@private(pair=FIRST)
def noise_from_a_generator(queries, rng):
    return [q + noise for q, noise in zip(queries, noises(rng), strict=False)]


@private(pair=FIRST)
def first_two_of_endless_noise(queries, rng):
    drawn = list(itertools.islice(noises(rng), 2))
    return list(map(sum, zip(queries, drawn, strict=True)))


def cut_all(values):
    for value in values:
        yield 5.0 if value > 5 else value


@private(pair=FIRST)
def generators_in_a_chain(queries, rng):
    return list(cut_all(exposed(q, rng.laplace()) for q in queries))


def delegating(values):
    yield from cut_all(values)
    yield 0.0


@private(pair=FIRST)
def delegated_generator(queries, rng):
    first, *rest = delegating([exposed(q, rng.laplace()) for q in queries])
    return first, rest


def averager():
    total = None
    while True:
        value = yield total
        total = min(value, 5.0) if total is None else total + min(value, 5.0)


@private(pair=FIRST)
def values_sent_to_a_generator(queries, rng):
    totals = averager()
    next(totals)
    return [totals.send(exposed(q, rng.laplace())) for q in queries]


@private(pair=FIRST)
def generator_with_a_return_value(queries, rng):
    def counting(values):
        count = 0
        for value in values:
            count += value > 2
            yield
        return count

    def outer():
        result.append((yield from counting([q + rng.laplace() for q in queries])))

    result = []
    list(outer())
    return result[0]


@private(pair=FIRST)
def map_and_filter(queries, rng):
    noisy = map(lambda q: exposed(q, rng.laplace()), queries)  # noqa: C417
    return list(filter(lambda value: value <= 5, noisy))


@private(pair=FIRST)
def enumerate_from_one(queries, rng):
    return [i * min(exposed(q, rng.laplace()), 5.0) for i, q in enumerate(queries, start=1)]


@private()
def comprehension_has_its_own_names(queries, rng):
    noisy = queries[0] + rng.laplace()
    secrets = [noisy for noisy in queries]  # noqa: C416
    return noisy if secrets else 0.0


@private(pair=FIRST)
def nested_comprehension(queries, rng):
    return [[min(exposed(q, rng.laplace()), 5.0) for q in row] for row in (queries[:1], queries[1:])]


@private(pair=FIRST)
def generator_is_used_up(queries, rng):
    noisy = (q + rng.laplace() for q in queries)
    return sum(noisy), sum(noisy)


@private(pair=FIRST)
def star_unpacking(queries, rng):
    *_, last = first, *_ = [min(exposed(q, rng.laplace()), 5.0) for q in queries]
    return {"first": first, "last": last}


@private(pair=FIRST)
def arguments_unpacked(queries, rng):
    def join(first, second, *, limit):
        return min(first, limit) - min(second, limit)

    return join(*[exposed(q, rng.laplace()) for q in queries], **dict.fromkeys(["limit"], 5.0))


@private(pair=FIRST)
def sorted_by_a_key(queries, rng):
    noisy = [(min(exposed(q, rng.laplace()), 5.0), i) for i, q in enumerate(queries)]
    return [i for _, i in sorted(noisy, key=lambda pair: -pair[0])]


@private(pair=FIRST)
def position_of_the_maximum_by_key(queries, rng):
    noisy = [q + rng.laplace() for q in queries]
    return max(range(2), key=noisy.__getitem__)


@private(pair=FIRST)
def heap_pushed_and_popped(queries, rng):
    heap = []
    for i, q in enumerate(queries):
        heapq.heappush(heap, (min(exposed(q, rng.laplace()), 5.0), i))
    return heapq.heappop(heap)[1], heap[0][0]


@private(pair=FIRST)
def smallest_by_heapq(queries, rng):
    return heapq.nsmallest(1, [q + rng.laplace() for q in queries])


@private(pair=FIRST)
def running_totals(queries, rng):
    return list(itertools.accumulate(min(exposed(q, rng.laplace()), 5.0) for q in queries))


@private(pair=FIRST)
def taken_while_small(queries, rng):
    noisy = [exposed(q, rng.laplace()) for q in queries]
    return list(itertools.takewhile(lambda value: value <= 5, noisy))


@private(pair=FIRST)
def dropped_while_large(queries, rng):
    noisy = (exposed(q, rng.laplace()) for q in queries)
    return list(itertools.dropwhile(lambda value: value > 5, noisy))[:1]


@private(pair=FIRST)
def grouped_by_side(queries, rng):
    noisy = [q + rng.laplace() for q in queries]
    return [(high, len(list(group))) for high, group in itertools.groupby(noisy, key=lambda value: value > 1.5)]


@private(pair=FIRST)
def chained_and_repeated(queries, rng):
    parts = itertools.chain(queries, itertools.repeat(1, 1))
    return [min(exposed(q, rng.laplace()), 5.0) for q in parts]


@private(pair=FIRST)
def all_pairs_compared(queries, rng):
    noisy = [q + rng.laplace() for q in queries]
    return [a < b for a, b in itertools.permutations(noisy, 2)]


@private(pair=FIRST)
def reduced_to_a_maximum(queries, rng):
    return reduce(lambda a, b: a if a > b else b, (min(exposed(q, rng.laplace()), 5.0) for q in queries))


@private(pair=FIRST)
def any_and_all(queries, rng):
    noisy = [q + rng.laplace() for q in queries]
    return any(value > 2 for value in noisy), all(value > 1 for value in noisy)


@private(pair=FIRST)
def any_stops_early(queries, rng):
    # The number of answers looked at depends on noisy answers only.
    seen = []
    any(seen.append(value) or value > 2 for value in (q + rng.laplace() for q in queries))
    return len(seen)


@private(pair=FIRST)
def place_by_bisection(queries, rng):
    return [bisect.bisect_left([0.0, 1.0, 5.0], min(exposed(q, rng.laplace()), 5.0)) for q in queries]


@private(pair=FIRST)
def window_in_a_deque(queries, rng):
    window = deque(maxlen=1)
    for q in queries[::-1]:
        window.append(min(exposed(q, rng.laplace()), 5.0))
    return window.pop()


@private(pair=FIRST)
def median_of_noisy_answers(queries, rng):
    return statistics.median([q + rng.laplace() for q in queries] + [1.5])


@private(pair=FIRST)
def reversed_and_zipped(queries, rng):
    noisy = [min(exposed(q, rng.laplace()), 5.0) for q in queries]
    return [a - b for a, b in zip(noisy, reversed(noisy), strict=True)]


@private(pair=FIRST)
def callable_iterator_with_a_sentinel(queries, rng):
    noisy = [min(exposed(q, rng.laplace()), 5.0) for q in queries] + [None]
    return list(iter(lambda: noisy.pop(0), None))


@private(pair=FIRST)
def array_iterated_as_floats(queries, rng):
    noisy = np.array(queries) + rng.laplace(size=2)
    return [float(value) for value in noisy if value < 2]
