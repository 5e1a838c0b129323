# ruff: noqa: D101, RET505 - styles that people write
"""Styles with many decisions: local privacy, sparse vectors, helper functions, loops, look-ups of drawn keys."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bench.everyday.registry import everyday

BITS = [1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0]
FIFTY = [i % 3 == 0 for i in range(50)]


def _flip(bit, p, rng):
    if rng.random() < p:
        return bit
    return 1 - bit


def _instantaneous(bit, rng):
    if bit == 1:
        return 1 if rng.random() < 0.75 else 0
    return 1 if rng.random() < 0.5 else 0


def _permanent(bit, f, rng):
    u = rng.random()
    if u < f / 2:
        return 1
    elif u < f:
        return 0
    else:
        return bit


@everyday(BITS, f=0.5)
def rappor_helpers(bits, f, rng):
    return [_instantaneous(_permanent(bit, f, rng), rng) for bit in bits]


@everyday(BITS, f=0.5, p=0.5, q=0.75)
def rappor_loop(bits, f, p, q, rng):
    report = []
    for bit in bits:
        u = rng.random()
        if u < f / 2:
            kept = 1
        elif u < f:
            kept = 0
        else:
            kept = bit
        report.append(1 if rng.random() < (q if kept else p) else 0)
    return report


@everyday(BITS, f=0.5, p=0.5, q=0.75)
def rappor_ternaries(bits, f, p, q, rng):
    kept = [bit if rng.random() > f else (1 if rng.random() < 0.5 else 0) for bit in bits]
    return [int(rng.random() < (q if bit else p)) for bit in kept]


@everyday(BITS, f=0.5, p=0.5, q=0.75)
def rappor_arrays(bits, f, p, q, rng):
    bits = np.array(bits)
    u = rng.random(len(bits))
    kept = np.where(u < f / 2, 1, np.where(u < f, 0, bits))
    return (rng.random(len(bits)) < np.where(kept == 1, q, p)).astype(int).tolist()


@everyday(5, size=128, epsilon=1.0)
def oue_loop(value, size, epsilon, rng):
    q = 1 / (math.exp(epsilon) + 1)
    report = []
    for i in range(size):
        if i == value:
            report.append(1 if rng.random() < 0.5 else 0)
        else:
            report.append(1 if rng.random() < q else 0)
    return report


@everyday(5, size=128, epsilon=1.0)
def oue_helper(value, size, epsilon, rng):
    q = 1 / (math.exp(epsilon) + 1)

    def bit(i):
        if rng.random() < (0.5 if i == value else q):
            return 1
        return 0

    return [bit(i) for i in range(size)]


@everyday(5, size=128, epsilon=1.0)
def oue_array(value, size, epsilon, rng):
    probability = np.full(size, 1 / (np.exp(epsilon) + 1))
    probability[value] = 0.5
    return (rng.random(size) < probability).astype(int)


@everyday(FIFTY, p=0.75)
def flips_comprehension(answers, p, rng):
    return [answer if rng.random() < p else not answer for answer in answers]


@everyday(FIFTY, p=0.75)
def flips_helper(answers, p, rng):
    return [_flip(int(answer), p, rng) for answer in answers]


@everyday(FIFTY, p=0.75)
def flips_append(answers, p, rng):
    out = []
    for answer in answers:
        if rng.random() < p:
            out.append(answer)
        else:
            out.append(not answer)
    return out


@everyday(FIFTY)
def flips_two_coins(answers, rng):
    def respond(answer):
        if rng.random() < 0.5:
            return answer
        return bool(rng.random() < 0.5)

    return [respond(answer) for answer in answers]


@everyday(FIFTY, p=0.75)
def flips_lookup(answers, p, rng):
    flipped = {True: False, False: True}
    return [flipped[a] if rng.random() > p else a for a in answers]


@everyday(FIFTY, p=0.75)
def flips_indexed(answers, p, rng):
    out = list(answers)
    for i in range(len(out)):
        if rng.random() > p:
            out[i] = not out[i]
    return out


@everyday([0, 2, 1, 3], names=["a", "b", "c", "d"])
def names_of_drawn(data, names, rng):
    return [names[x if rng.random() < 0.7 else rng.integers(4)] for x in data]


@everyday([0, 2, 1, 3] * 4)
def dict_lookup_of_drawn(data, rng):
    swap = {0: 1, 1: 0, 2: 3, 3: 2}
    return [swap[int(rng.integers(4))] if rng.random() < 0.3 else x for x in data]


@everyday([12, 40, 33, 57, 21, 68, 30, 45], epsilon=1.0)
def bins_by_elif(data, epsilon, rng):
    def label(x):
        if x < 20:
            return 0
        elif x < 40:
            return 1
        elif x < 60:
            return 2
        return 3

    return [label(x + rng.laplace(scale=10 / epsilon)) for x in data]


@everyday([12, 40, 33, 57, 21, 68, 30, 45], epsilon=1.0)
def bins_by_name(data, epsilon, rng):
    out = []
    for x in data:
        noisy = x + rng.laplace(scale=10 / epsilon)
        if noisy < 20:
            group = "young"
        elif noisy < 60:
            group = "middle"
        else:
            group = "old"
        out.append(group)
    return out


@everyday([1, 2, 3, 4, 5, 6, 7, 8], epsilon=1.0)
def clamped_by_if(data, epsilon, rng):
    out = []
    for x in data:
        noisy = x + rng.laplace(scale=1 / epsilon)
        if noisy < 0:
            noisy = 0.0
        elif noisy > 10:
            noisy = 10.0
        out.append(noisy)
    return out


@everyday([1, 2, 3, 4, 5, 6, 7, 8], epsilon=1.0)
def clamped_by_helper(data, epsilon, rng):
    def clamp(x, low, high):
        if x < low:
            return float(low)
        if x > high:
            return float(high)
        return x

    return [clamp(x + float(rng.laplace(scale=1 / epsilon)), 0, 10) for x in data]


@everyday([1, 2, 3, 4, 5, 6, 7, 8], threshold=4, epsilon=1.0)
def count_above(data, threshold, epsilon, rng):
    above = 0
    for x in data:
        if x + rng.laplace(scale=1 / epsilon) > threshold:
            above += 1
    return above


@everyday([1, 2, 3, 4, 5, 6, 7, 8], threshold=4, epsilon=1.0)
def sum_of_above(data, threshold, epsilon, rng):
    total = 0.0
    for x in data:
        noisy = x + rng.laplace(scale=1 / epsilon)
        if noisy > threshold:
            total += noisy
    return total


@everyday([1, 2, 3, 4, 5, 6, 7, 8], threshold=4, epsilon=1.0)
def any_above(data, threshold, epsilon, rng):
    return any(x + rng.laplace(scale=1 / epsilon) > threshold for x in data)


@everyday([1, 1, 0, 2, 1, 0], epsilon=1.0)
def sparse_vector(queries, epsilon, rng):
    threshold = 1 + rng.laplace(scale=2 / epsilon)
    for index, query in enumerate(queries):
        if query + rng.laplace(scale=4 / epsilon) >= threshold:
            return index
    return None


@everyday([1, 1, 0, 2, 1, 0], epsilon=1.0, c=2)
def sparse_vector_all(queries, epsilon, c, rng):
    threshold = 1 + rng.laplace(scale=2 / epsilon)
    out, count = [], 0
    for query in queries:
        if query + rng.laplace(scale=4 * c / epsilon) >= threshold:
            out.append("above")
            count += 1
            if count == c:
                break
        else:
            out.append("below")
    return out


@everyday([3, 5, 2, 4], epsilon=1.0)
def noisy_best(data, epsilon, rng):
    best, winner = -math.inf, None
    for index, x in enumerate(data):
        noisy = x + rng.laplace(scale=2 / epsilon)
        if noisy > best:
            best, winner = noisy, index
    return winner


@everyday([3, 5, 2, 4], epsilon=1.0)
def truncated_laplace(data, epsilon, rng):
    while True:
        noisy = len(data) + rng.laplace(scale=1 / epsilon)
        if 0 <= noisy <= 10:
            return noisy


@everyday([3, 5, 2, 4], epsilon=1.0)
def permute_and_flip(data, epsilon, rng):
    for index in rng.permutation(len(data)):
        if rng.random() < math.exp(epsilon * (data[index] - max(data)) / 2):
            return int(index)
    return -1


@everyday([3, 5, 2, 4], epsilon=1.0)
def two_stages(data, epsilon, rng):
    if len(data) + rng.laplace(scale=2 / epsilon) < 3:
        return {"status": "too few"}
    return {"status": "ok", "mean": sum(data) / len(data) + rng.laplace(scale=5 / epsilon)}


@everyday([3, 5, 2, 4], epsilon=1.0)
def try_divide(data, epsilon, rng):
    try:
        return sum(data) / max(0, round(len(data) + rng.laplace(scale=1 / epsilon)))
    except ZeroDivisionError:
        return 0.0


@dataclass
class Person:
    age: float
    sick: bool


@everyday([Person(31, True), Person(45, False), Person(62, True)], epsilon=1.0)
def people_objects(people, epsilon, rng):
    reports = [person.sick if rng.random() < 0.75 else not person.sick for person in people]
    return sum(reports) / len(people)


@everyday([4, 7, 1], epsilon=1.0)
def matched(data, epsilon, rng):
    match int(rng.integers(3)):
        case 0:
            noisy = data[0] + rng.laplace(scale=1 / epsilon)
        case 1:
            noisy = data[1] + rng.laplace(scale=1 / epsilon)
        case _:
            noisy = 0.0
    return noisy


@everyday(3, size=16, epsilon=1.0)
def local_hash(value, size, epsilon, rng):
    seed = int(rng.integers(1000))
    hashed = (value * 31 + seed) % 4
    keep = math.exp(epsilon) / (math.exp(epsilon) + 3)
    report = hashed if rng.random() < keep else int(rng.integers(4))
    return [v for v in range(size) if (v * 31 + seed) % 4 == report]
