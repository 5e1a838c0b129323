"""The fourth part of the bugs: helpers as engineers write them, each with a correct twin, written unseen by an attacker.

Of 48 bugs 45 were found at first run; these are the instructive ones, with the misses. Each function is the bug or the
twin by its flag. Each case names a witness: two adjacent inputs on which the claim breaks.
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import math
import random
import secrets
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from refutedp import ADD_REMOVE, ALL_DIFFER, ANY_TWO, ONE_DIFFERS, AddRemove
from tests.battery.case import Case

CASES: list[Case] = []


def _add(
    make: Callable[[bool], Any], why: str, witness: tuple[Any, Any], epsilon: float = 1.0, **kwargs: Any
) -> None:
    name = make.__name__
    CASES.append(Case(name, make(True), make(False), {"epsilon": epsilon, **kwargs}, why, witness))


def cut(x, low, high):
    """Between low and high; nan becomes high."""
    return max(low, min(high, x))


class Budget:
    def __init__(self, total):
        self.left = total

    def spend(self, epsilon):
        if epsilon > self.left + 1e-12:
            raise RuntimeError("the budget is spent")
        self.left -= epsilon
        return epsilon


@dataclasses.dataclass
class Report:
    total: float
    large: float


def unpaid_query(bug):
    def report(data, epsilon, rng):
        budget = Budget(epsilon)
        total = len(data) + rng.laplace(scale=1 / budget.spend(epsilon / 2))
        rest = epsilon if bug else budget.spend(epsilon / 2)
        return Report(total, sum(1 for x in data if x > 1) + rng.laplace(scale=1 / rest))

    return report


_add(
    unpaid_query,
    "The second query is not accounted for; both are in a dataclass, and no usual record counts in the second.",
    ([0.0], [0.0, 2.0]),
    adjacency=ADD_REMOVE,
)

PEOPLE = pd.DataFrame({"city": ["A", "A", "B"], "age": [30, 40, 50]})


def sum_of_ages(bug):
    def total(frame, epsilon, rng):
        ages = frame.age if bug else frame.age.clip(0, 100)
        return float(ages.sum() + rng.laplace(scale=100 / epsilon))

    return total


_add(
    sum_of_ages,
    "Nobody clips the ages.",
    (PEOPLE[:0], pd.DataFrame({"city": ["A"], "age": [10_000]})),
    adjacency=ADD_REMOVE,
    inputs=PEOPLE,
)


def noisy_stream(bug):
    def stream(data, epsilon, rng):
        run = 0
        for x in data:
            run += cut(x, 0, 1)
            yield run + rng.laplace(scale=1 / epsilon)
            if bug and run >= 2:
                return

    def releases(data, epsilon, rng):
        return list(stream(data, epsilon / max(len(data), 1), rng))

    return releases


_add(noisy_stream, "It stops by the exact sum.", ([1, 0, 0], [1, 1, 0]), adjacency=ONE_DIFFERS)


def ties_by_exact_answers(bug):
    def winner(queries, epsilon, rng):
        noisy = [round((q + rng.laplace(scale=2 / epsilon)) / 2) for q in queries]
        return min(range(len(queries)), key=lambda i: (-noisy[i], -queries[i] if bug else i))

    return winner


_add(ties_by_exact_answers, "Ties are broken by the exact answers.", ([1, 1], [2, 0]), adjacency=ALL_DIFFER)


def decimal_total(bug):
    def total(data, epsilon, rng):
        exact = sum(Decimal(int(cut(x, 0, 5))) for x in data)
        noise = Decimal(rng.laplace(scale=(1 if bug else 5) / epsilon))
        return str((exact + noise).quantize(Decimal("0.1")))

    return total


_add(decimal_total, "The sensitivity is 5.", ([], [5]), adjacency=AddRemove(odd=False), inputs=[1, 2, 3])


def coin_of_the_system(bug):
    def answer(bit):
        return bit if secrets.randbelow(100) < (80 if bug else 73) else 1 - bit

    return answer


_add(coin_of_the_system, "80 of 100 cost ln 4.", (0, 1), adjacency=ANY_TWO, inputs=[0, 1])


def noise_of_a_hash(bug):
    def total(data, epsilon, rng):
        seed = int(hashlib.sha256(repr(sorted(data)).encode()).hexdigest(), 16) % 2**32
        noise = np.random.default_rng(seed) if bug else rng
        return sum(cut(x, 0, 1) for x in data) + noise.laplace(scale=1 / epsilon)

    return total


_add(
    noise_of_a_hash, "The noise is known to who knows the data.", ([0.0], [0.0, 1.0]), adjacency=AddRemove(odd=False)
)


def inverse_of_half(bug):
    def total(data, epsilon):
        u = random.random() - 0.5
        noise = -math.copysign(1 / epsilon, u) * math.log(1 - (abs(u) if bug else 2 * abs(u)))
        return sum(cut(x, 0, 1) for x in data) + noise

    return total


_add(inverse_of_half, "Without the 2 the noise ends at ln 2.", ([], [1.0]), adjacency=AddRemove(odd=False))


def column_width(bug):
    def links(words, epsilon, rng):
        noisy = sum(1 for word in words if str(word).startswith("http")) + rng.laplace(scale=1 / epsilon)
        return {"links": noisy, "width": min(max((len(str(w)) for w in words), default=0), 12) if bug else 12}

    return links


_add(
    column_width,
    "A column is as wide as the longest word.",
    (["b"], ["b", "cc"]),
    adjacency=AddRemove(odd=False),
    inputs=["http://a", "b", "cc"],
)


def suppressed_by_the_exact_count(bug):
    def counts(data, epsilon, rng):
        exact = collections.Counter(data)
        noisy = {key: exact[key] + rng.laplace(scale=1 / epsilon) for key in ("x", "y", "z")}
        return {key: round(value) for key, value in noisy.items() if (exact[key] if bug else value) >= 2}

    return counts


_add(
    suppressed_by_the_exact_count,
    "What is kept is decided without noise.",
    (["x"], ["x", "x"]),
    adjacency=AddRemove(odd=False),
    inputs=["x", "x", "y", "z"],
)


def count_in_a_rare_message(bug):
    def count(data, epsilon, rng):
        noisy = len(data) + int(np.round(rng.laplace(scale=1 / epsilon)))
        return f"{-noisy} below zero, of {len(data)}" if bug and noisy < 0 else max(noisy, 0)

    return count


_add(count_in_a_rare_message, "A rare message names the count.", ([], [0.0]), adjacency=AddRemove(odd=False))
