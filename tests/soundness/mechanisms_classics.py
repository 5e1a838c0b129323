"""The mechanisms of textbooks, each at the border of its claim, as they are usually written."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from refutedp import ALL_DIFFER, ONE_DIFFERS, ZCDP, AddRemove, ApproxDP, GaussianDP, PureDP, RenyiDP, Replace
from tests.soundness.registry import BITS, cases_of

private = cases_of("classics")
UNIT = AddRemove([0.0, 0.5, 1.0], odd=False)
"""Records from 0 to 1, added or removed."""
GAUSSIAN = ApproxDP(1.0, GaussianDP(1.0).delta_at(1.0))
"""What Gaussian noise of scale 1 promises for a query of sensitivity 1, exactly (Balle and Wang 2018)."""


@private(PureDP(math.log(3)), BITS)
def randomized_response(data, rng):
    # Warner: the truth with probability 1/2, otherwise a fair coin.
    return data[0] if rng.random() < 0.5 else int(rng.random() < 0.5)


@private(PureDP(1.0), BITS)
def generalized_randomized_response(data, epsilon, rng):
    k = 4
    if rng.random() < math.exp(epsilon) / (math.exp(epsilon) + k - 1):
        return data[0]
    other = int(rng.integers(k - 1))
    return other if other < data[0] else other + 1


@private(PureDP(1.0), BITS)
def unary_encoding(data, epsilon, rng):
    # Two bits differ, each kept with probability e^(epsilon/2) / (1 + e^(epsilon/2)).
    keep = math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2))
    bits = [int(i == data[0]) for i in range(3)]
    return [bit if rng.random() < keep else 1 - bit for bit in bits]


@private(PureDP(math.log(3)), BITS)
def unary_encoding_by_arrays(data, rng):
    # RAPPOR's permanent response: one-hot bits, of which two differ, each true with odds of sqrt(3).
    bits = np.eye(3, dtype=bool)[data[0]]
    flips = rng.random(3) < 1 / (1 + math.sqrt(3))
    return np.logical_xor(bits, flips)


@private(PureDP(1.0), BITS)
def optimized_unary_encoding(data, epsilon, rng):
    # A one stays with probability 1/2, a zero becomes one with probability 1 / (e^epsilon + 1).
    return [bool(rng.random() < (0.5 if i == data[0] else 1 / (math.exp(epsilon) + 1))) for i in range(3)]


@private(PureDP(1.0), BITS)
def hadamard_response(data, epsilon, rng):
    # A random row of the Hadamard matrix, and its entry with randomized response.
    row = int(rng.integers(4))
    sign = (row & (data[0] + 1)) in (0, 3)
    keep = rng.random() < math.exp(epsilon) / (1 + math.exp(epsilon))
    return row, sign == keep


@private(PureDP(1.0), None, adjacency=ALL_DIFFER, lengths=(1, 2))
def laplace_mechanism_for_many_queries(queries, epsilon, rng):
    return [q + rng.laplace(scale=len(queries) / epsilon) for q in queries]


@private(PureDP(1.0), None, adjacency=ONE_DIFFERS, lengths=(3,))
def histogram(queries, epsilon, rng):
    return np.array(queries) + rng.laplace(scale=1 / epsilon, size=len(queries))


@private(PureDP(1.0), None, adjacency=ALL_DIFFER, lengths=(3,))
def report_noisy_max(queries, epsilon, rng):
    return int(np.argmax(np.array(queries) + rng.laplace(scale=2 / epsilon, size=len(queries))))


@private(PureDP(1.0), None, adjacency=ALL_DIFFER, lengths=(3,))
def report_noisy_max_with_exponential_noise(queries, epsilon, rng):
    noisy = [q + rng.exponential(2 / epsilon) for q in queries]
    return noisy.index(max(noisy))


@private(PureDP(1.0), None, adjacency=ALL_DIFFER, lengths=(3,))
def exponential_mechanism(queries, epsilon, rng):
    weights = np.exp(epsilon / 2 * (np.array(queries) - max(queries)))
    return int(rng.choice(len(queries), p=weights / weights.sum()))


@private(PureDP(1.0), None, adjacency=ALL_DIFFER, lengths=(3,))
def exponential_mechanism_by_gumbel_noise(queries, epsilon, rng):
    return int(np.argmax([epsilon / 2 * q + rng.gumbel() for q in queries]))


@private(PureDP(1.0), None, adjacency=ALL_DIFFER, lengths=(3,))
def exponential_mechanism_by_cumulative_sums(queries, epsilon, rng):
    cumulative = np.cumsum([math.exp(epsilon / 2 * q) for q in queries])
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1]))


@private(PureDP(1.0), None, adjacency=ALL_DIFFER, lengths=(4,))
def sparse_vector(queries, epsilon, rng):
    # Algorithm 1 of Lyu, Su and Li 2017 with one answer above the threshold.
    threshold = 1 + rng.laplace(scale=2 / epsilon)
    answers = []
    for q in queries:
        if q + rng.laplace(scale=4 / epsilon) >= threshold:
            answers.append(True)
            break
        answers.append(False)
    return answers


@private(PureDP(1.0), None, adjacency=ALL_DIFFER, lengths=(4,))
def sparse_vector_with_two_answers(queries, epsilon, rng):
    threshold, left, answers = 1 + rng.laplace(scale=2 / epsilon), 2, []
    for q in queries:
        above = q + rng.laplace(scale=4 * 2 / epsilon) >= threshold
        answers.append(bool(above))
        left -= above
        if left == 0:
            break
    return answers


@private(PureDP(1.0), None, adjacency=ALL_DIFFER, lengths=(4,))
def above_threshold(queries, epsilon, rng):
    # Dwork and Roth, Algorithm 1: the position of the first answer above the threshold.
    threshold = 1 + rng.laplace(scale=2 / epsilon)
    return next((i for i, q in enumerate(queries) if q + rng.laplace(scale=4 / epsilon) >= threshold), None)


@private(GAUSSIAN)
def gaussian_mechanism(queries, rng):
    return queries[0] + rng.normal(scale=1.0)


@private(GaussianDP(1.0), ([1, 1], [2, 2]))
def gaussian_mechanism_for_two_queries(queries, mu, rng):
    return np.array(queries) + rng.normal(scale=math.sqrt(2) / mu, size=2)


@private(ZCDP(0.5))
def concentrated_gaussian(queries, rho, rng):
    return queries[0] + rng.normal(0.0, math.sqrt(1 / (2 * rho)))


@private(RenyiDP(2.0, 1.0))
def renyi_gaussian(queries, rng):
    return queries[0] + rng.standard_normal()


@private(PureDP(1.0))
def geometric_mechanism(queries, epsilon, rng):
    p = 1 - math.exp(-epsilon)
    return queries[0] + int(rng.geometric(p)) - int(rng.geometric(p))


@private(PureDP(1.0))
def truncated_geometric_mechanism(queries, epsilon, rng):
    p = 1 - math.exp(-epsilon)
    return min(max(queries[0] + rng.geometric(p) - rng.geometric(p), 0), 3)


@private(PureDP(1.0))
def staircase_mechanism(queries, epsilon, rng):
    # Geng and Viswanath 2014, with steps of width 1/2.
    gamma, b = 0.5, math.exp(-epsilon)
    sign = 1 if rng.random() < 0.5 else -1
    step = rng.geometric(1 - b) - 1
    u = rng.random()
    if rng.random() < gamma / (gamma + (1 - gamma) * b):
        return queries[0] + sign * (step + gamma * u)
    return queries[0] + sign * (step + gamma + (1 - gamma) * u)


@private(PureDP(1.0), None, adjacency=UNIT, lengths=(2,))
def clamped_sum(data, epsilon, rng):
    return sum(min(max(x, 0.0), 1.0) for x in data) + rng.laplace(scale=1 / epsilon)


@private(PureDP(1.0), None, adjacency=UNIT, lengths=(2,))
def mean_from_sum_and_count(data, epsilon, rng):
    total = float(np.clip(data, 0, 1).sum()) + rng.laplace(scale=2 / epsilon)
    count = len(data) + rng.laplace(scale=2 / epsilon)
    return min(max(total / max(count, 1.0), 0.0), 1.0)


@private(PureDP(1.0), None, adjacency=Replace([0.0, 1.0], odd=False), lengths=(2,))
def mean_of_a_known_number_of_records(data, epsilon, rng):
    return np.mean(data) + rng.laplace(scale=1 / (epsilon * len(data)))


@private(PureDP(math.log(1 + 0.5 * (math.e - 1))), None, adjacency=UNIT, lengths=(2,))
def sum_of_a_sample(data, rng):
    # Amplification: a record takes part with probability 1/2, so epsilon is log(1 + (e - 1) / 2).
    return sum(x for x in data if rng.random() < 0.5) + rng.laplace()


@private(PureDP(1.0), ([0, 1, 3], [0, 1, 3, 2]), adjacency=AddRemove([0, 1, 2, 3], odd=False))
def binary_tree_of_counts(data, epsilon, rng):
    # A record is counted once on each of three levels.
    counts = [sum(x // width == place for x in data) for width in (4, 2, 1) for place in range(4 // width)]
    return [count + rng.laplace(scale=3 / epsilon) for count in counts]


@private(PureDP(1.0), None, adjacency=UNIT, lengths=(3,))
def median_by_the_exponential_mechanism(data, epsilon, rng):
    # A record changes the difference of the counts on both sides by 1, so its absolute value by at most 1.
    candidates = [0.0, 0.25, 0.5, 0.75, 1.0]
    scores = [-abs(sum(x < c for x in data) - sum(x > c for x in data)) for c in candidates]
    weights = [math.exp(epsilon / 2 * score) for score in scores]
    place = rng.random() * sum(weights)
    for candidate, weight in zip(candidates, weights, strict=True):
        if place < weight:
            return candidate
        place -= weight
    return candidates[-1]


@private(PureDP(1.0), None, adjacency=ONE_DIFFERS, lengths=(3,))
def consistent_histogram(queries, epsilon, rng):
    # Post-processing: noisy counts made monotone by a running maximum.
    noisy = [q + rng.laplace(scale=1 / epsilon) for q in queries]
    for i, (before, now) in enumerate(pairwise(noisy), start=1):
        noisy[i] = max(noisy[i - 1], before, now)
    return noisy


@private(PureDP(1.0), None, adjacency=ONE_DIFFERS, lengths=(3,))
def two_step_counter(queries, epsilon, rng):
    # Each answer is part of two noisy sums, its own and the total.
    parts = [q + rng.laplace(scale=2 / epsilon) for q in queries]
    total = sum(queries) + rng.laplace(scale=2 / epsilon)
    return [*parts, total]
