"""Mistakes in everyday styles. The lines that a reviewer would point to are marked: a change of one of them mends it.

Each case names a pair of neighbours, its claim and other arguments.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import default_rng

from refutedp.model.claims import ZCDP, ApproxDP, Claim, GaussianDP, PureDP, RenyiDP


@dataclass(frozen=True)
class Guilty:
    """A mechanism, what it claims, two neighbours, and other arguments."""

    function: Any
    d1: Any
    d2: Any
    claim: Claim
    args: dict[str, Any]


CASES: list[Guilty] = []


def case(d1, d2, claim=PureDP(1.0), **args):  # noqa: B008
    def add(function):
        CASES.append(Guilty(function, d1, d2, claim, args))
        return function

    return add


@case([3, 4], [4, 4])
def one_noise_for_all(queries, epsilon, rng):
    noise = rng.laplace(scale=len(queries) / epsilon)  # guilty
    return [query + noise for query in queries]  # guilty


@case([3.0, 4.0, 5.0], [4.0, 4.0, 5.0])
def broadcast(queries, epsilon, rng):
    values = np.asarray(queries, dtype=float)
    return values + rng.laplace(scale=1 / epsilon)  # guilty


@case([10], [11])
def seeded_for_tests(queries, epsilon):
    rng = default_rng(1234)  # guilty
    return queries[0] + rng.laplace(scale=1 / epsilon)


@case([10], [11])
def seeded_globally(queries, epsilon):
    np.random.seed(0)  # guilty
    return queries[0] + np.random.laplace(0.0, 1.0 / epsilon)


@case([1, 2, 3], [2, 3, 4])
def mean_and_total(queries, epsilon, rng):
    total = sum(queries)
    mean = total / len(queries)
    noisy_total = total + rng.laplace(scale=3 / epsilon)  # guilty
    noisy_mean = mean + rng.laplace(scale=1 / epsilon)  # guilty
    return {"total": noisy_total, "mean": noisy_mean}


@case([5], [6], PureDP(0.5))
def inverted(queries, epsilon, rng):
    scale = epsilon  # guilty
    return queries[0] + rng.laplace(0, scale)  # guilty


def add_noise(value, sensitivity, epsilon, rng):
    """A helper that is right."""
    return value + rng.laplace(scale=sensitivity / epsilon)


@case([3, 1], [4, 2])
def through_a_helper(queries, epsilon, rng):
    half = epsilon / 2
    first = add_noise(queries[0], 1, half, rng)
    both = add_noise(queries[0] + queries[1], 1, half, rng)  # guilty
    return first, both


def noisy(value, epsilon):
    """A helper that is wrong."""
    return value + np.random.laplace(0, epsilon)  # guilty


@case([7], [8], PureDP(0.3))
def with_a_wrong_helper(queries, epsilon):
    return noisy(queries[0], epsilon)  # guilty


@case([4, 9], [5, 9])
def largest_beside_noise(queries, epsilon, rng):
    noisy_first = queries[0] + rng.laplace(scale=1 / epsilon)
    smallest = min(queries)  # guilty
    return {
        "first": noisy_first,
        "smallest": smallest,  # guilty
    }


@case([0, 5], [1, 5])
def empty_is_left_out(queries, epsilon, rng):
    released = {}
    for name, count in zip("ab", queries, strict=True):
        if count > 0:  # guilty
            released[name] = count + rng.laplace(scale=2 / epsilon)
    return released


@case([100], [101])
def cached_above_a_hundred(queries, epsilon, rng):
    count = queries[0]
    if count > 100:  # guilty
        return round(count, -1)
    return count + rng.laplace(scale=1 / epsilon)


@case([0], [1])
def refuses_zero(queries, epsilon, rng):
    if queries[0] == 0:  # guilty
        raise ValueError("nobody is there")
    return queries[0] + rng.laplace(scale=1 / epsilon)


@case([2, 3], [3, 3])
def noise_that_only_adds(queries, epsilon, rng):
    return [query + rng.exponential(1 / epsilon) for query in queries]  # guilty


@case([2], [3])
def gaussian_for_pure(queries, epsilon, rng):
    sigma = 1 / epsilon
    return queries[0] + rng.normal(0, sigma)  # guilty


@case([2], [3], ApproxDP(1.0, 1e-3))
def variance_for_deviation(queries, epsilon, delta, rng):
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    return queries[0] + rng.normal(0, math.sqrt(sigma) / 2)  # guilty


@case([2, 4], [3, 4])
def uniform_noise(queries, epsilon, rng):
    return sum(queries) + rng.uniform(-5, 5) / epsilon  # guilty


@case([2, 4, 1, 7, 3], [3, 5, 2, 8, 4])
def noise_for_one_of_five(queries, epsilon, rng):
    noise = rng.laplace(scale=1 / epsilon, size=len(queries))  # guilty
    return list(np.array(queries, dtype=float) + noise)


@case([12], [13])
def standard_laplace(queries, epsilon):
    u = random.random() - 0.5
    noise = -math.copysign(1, u) * math.log(1 - 2 * abs(u)) * epsilon / 3  # guilty
    return queries[0] + noise


@case([8], [9])
def expovariate_of_the_scale(queries, epsilon):
    e = 4 * epsilon  # guilty
    noise = random.expovariate(e) - random.expovariate(e)  # guilty
    return queries[0] + noise


@case([1], [0])
def truth_too_often(bits, epsilon, rng):
    truth = 1 - math.exp(-epsilon) / 4  # guilty
    return bits[0] if rng.random() < truth else 1 - bits[0]  # guilty


@case([1], [0])
def coin_that_shows_the_answer(bits, epsilon, rng):
    p = 0.9 if bits[0] else 0.1  # guilty
    return bool(rng.random() < p)  # guilty


@case([6, 2], [7, 1], PureDP(0.5))
def weights_without_the_half(queries, epsilon, rng):
    scores = np.array([queries[0], -queries[1]], dtype=float)
    weights = np.exp(4 * epsilon * (scores - scores.max()))  # guilty
    return int(rng.choice(2, p=weights / weights.sum()))  # guilty


class Counter:
    """A class with a budget that it forgets to divide."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds

    def __call__(self, queries, epsilon, rng):
        answers = []
        for _ in range(self.rounds):
            answers.append(queries[0] + rng.laplace(scale=1 / epsilon))  # guilty
        return sum(answers) / self.rounds


@case([3], [4])
def three_rounds(queries, epsilon, rng):
    return Counter(3)(queries, epsilon, rng)


@case([40], [41])
def stops_when_enough(queries, epsilon, rng):
    rest = queries[0]
    parts = []
    while rest > 10:  # guilty
        parts.append(10 + rng.laplace(scale=8 / epsilon))
        rest -= 10
    return len(parts)  # guilty


@case([5, 9, 2], [6, 8, 3])
def second_place_is_exact(queries, epsilon, rng):
    ranked = sorted(queries, reverse=True)
    best = ranked[0] + rng.laplace(scale=1 / epsilon)
    return best, ranked[1]  # guilty


@case([50], [51])
def scale_by_data(queries, epsilon, rng):
    scale = 0.1 if queries[0] > 50 else 1 / epsilon  # guilty
    return queries[0] + rng.laplace(scale=scale)  # guilty


@case([3, 8], [4, 8])
def noise_after_the_fact(queries, epsilon, rng):
    top = max(range(len(queries)), key=lambda i: queries[i])
    noisy_top = queries[top] + rng.laplace(scale=1 / epsilon)
    return queries.index(4) if 4 in queries else -1, noisy_top  # guilty


@case([30], [31])
def geometric_too_narrow(queries, epsilon, rng):
    p = 1 - math.exp(-3 * epsilon)  # guilty
    return queries[0] + rng.geometric(p) - rng.geometric(p)  # guilty


def _two_sided(scale):
    return random.expovariate(1 / scale) - random.expovariate(1 / scale)


@case([12, 3], [13, 3])
def asks_a_helper_for_too_little(queries, epsilon):
    return [query + _two_sided(0.4 / epsilon) for query in queries]  # guilty


@case([2.0, 3.0], [3.0, 3.0])
def inverse_distribution_in_numpy(queries, epsilon, rng):
    u = rng.uniform(-0.5, 0.5)
    b = 0.3 / epsilon  # guilty
    return sum(queries) - b * np.sign(u) * np.log(1 - 2 * abs(u))  # guilty


@case([100.0], [101.0], ZCDP(0.1))
def deviation_from_the_wrong_root(queries, rho, rng):
    return queries[0] + rng.normal(scale=1 / (2 * rho) ** 0.25)  # guilty


@case([100.0, 3.0], [101.0, 3.0], RenyiDP(4.0, 0.5))
def deviation_for_another_order(queries, rng):
    sigma = 1.2  # guilty
    return [query + rng.normal(0, sigma) for query in queries]  # guilty


@case([100.0], [101.0], GaussianDP(0.5))
def deviation_times_mu(queries, mu, rng):
    return queries[0] + mu * rng.standard_normal()  # guilty


@dataclass(frozen=True)
class Summary:
    """What a mechanism with several answers returns."""

    count: float
    largest: float


@case([1.0, 2.0], [1.0, 3.0])
def largest_in_a_dataclass(queries, epsilon, rng):
    count = len(queries) + rng.laplace(scale=1 / epsilon)
    return Summary(
        count=count,
        largest=max(queries),  # guilty
    )


@case([3, 1, 4], [3, 1, 5])
def label_beside_noise(queries, epsilon, rng):
    label = "high" if max(queries) > 4 else "usual"  # guilty
    return label, sum(queries) + rng.laplace(scale=1 / epsilon)  # guilty
