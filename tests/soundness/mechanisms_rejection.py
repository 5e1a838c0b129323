"""Rejection loops: draws that are repeated until a condition holds, and coins that are flipped until they stop.

A condition on the noise alone cannot leak. A condition on the output, such as a range, changes the normalization by a
factor that the comment accounts for.
"""

from __future__ import annotations

import math
import random

import numpy as np

from refutedp import ApproxDP, GaussianDP, PureDP
from tests.soundness.registry import BITS, FIRST, cases_of, exposed

private = cases_of("rejection")
RESPONSE = PureDP(math.log(3))


@private()
def output_redrawn_until_it_is_in_range(queries, rng):
    # The range is symmetric about 1.5, so both inputs have the same normalization.
    while True:
        noisy = queries[0] + rng.laplace()
        if 0 <= noisy <= 3:
            return noisy


@private(PureDP(1.0 + math.log((2 - math.exp(-2) - math.exp(-2)) / (2 - math.exp(-1) - math.exp(-3)))))
def output_redrawn_in_a_lopsided_range(queries, rng):
    # The ratio of densities is at most e times that of the normalizations of 2 and 1 on the range from 0 to 4.
    noisy = queries[0] + rng.laplace()
    while not 0 <= noisy <= 4:
        noisy = queries[0] + rng.laplace()
    return noisy


@private(ApproxDP(1.0, (math.exp(-2) - math.exp(-3)) / (2 * (1 - math.exp(-3)))))
def truncated_noise(queries, rng):
    # Outputs within 1 of the end of the noise's range may occur on one input only: delta is their probability.
    noise = rng.laplace()
    while abs(noise) > 3:
        noise = rng.laplace()
    return queries[0] + noise


@private()
def number_of_retries_is_blind(queries, rng):
    retries = 0
    while rng.random() < 0.5:
        retries += 1
    return retries, queries[0] + rng.laplace()


@private()
def at_most_three_retries(queries, rng):
    # Whether a coin fell on its edge never depends on the data.
    for _ in range(3):
        if rng.random() > 0.3:
            return queries[0] + rng.laplace()
    return None


@private()
def bad_noise_is_drawn_again(queries, rng):
    # A Laplace variable kept with probability 1/2 whatever it is.
    noise = None
    while noise is None:
        drawn = rng.laplace()
        noise = drawn if rng.integers(2) else None
    return queries[0] + noise


@private()
def geometric_by_coin_flips(queries, rng):
    # The difference of two geometric variables is two-sided geometric.
    def flips():
        count = 0
        while rng.random() < math.exp(-1):
            count += 1
        return count

    return queries[0] + flips() - flips()


@private(RESPONSE, BITS)
def fair_coin_of_von_neumann(data, rng):
    # Two fair coins from a biased one: an honest answer unless both are tails.
    def coin():
        while True:
            first, second = rng.random() < 0.3, rng.random() < 0.3
            if first != second:
                return first

    flip = coin() and coin()
    return data[0] ^ int(flip)


@private()
def exponential_of_von_neumann(queries, rng):
    # Von Neumann's comparison of uniform numbers makes an exponential variable without a logarithm.
    def exponential():
        whole = 0
        while True:
            first = last = rng.random()
            length = 1
            while (new := rng.random()) < last:
                last, length = new, length + 1
            if length % 2:
                return whole + first
            whole += 1

    return queries[0] + exponential() * (1 if rng.random() < 0.5 else -1)


@private(GaussianDP(1.0))
def normal_from_laplace_by_rejection(queries, rng):
    while True:
        noise = rng.laplace()
        if rng.random() < math.exp(-((abs(noise) - 1) ** 2) / 2):
            return queries[0] + noise


@private(GaussianDP(1.0))
def polar_method_of_marsaglia(queries, rng):
    square = 2.0
    while not 0 < square < 1:
        u, v = 2 * rng.random() - 1, 2 * rng.random() - 1
        square = u * u + v * v
    return queries[0] + u * math.sqrt(-2 * math.log(square) / square)


@private(PureDP(2 * math.log((1 + math.sqrt(5)) / 2)))
def cauchy_by_ratio_of_uniforms(queries, rng):
    # The density of Cauchy noise changes by at most the square of the golden ratio over a distance of 1.
    while True:
        u, v = rng.random(), 2 * rng.random() - 1
        if 0 < u * u + v * v <= 1 and u > 0:
            return queries[0] + v / u


@private(PureDP(0.5), ([1, 2], [2, 1]))
def exponential_mechanism_by_rejection(queries, rng):
    # The known bound 2 keeps acceptance probabilities below 1; the weights, of ratio e^0.5, exchange places.
    while True:
        i = int(rng.integers(2))
        if rng.random() < math.exp((queries[i] - 2) / 2):
            return i


@private(PureDP(math.log(2 * math.exp(0.5) - 1)), ([1, 2], [2, 1]))
def permute_and_flip(queries, rng):
    # McKenna and Sheldon 2020. The smaller answer is released with probability e^-0.5 / 2, and the places change.
    largest = max(queries)
    for i in rng.permutation(2):
        if rng.random() < math.exp((queries[i] - largest) / 2):
            return int(i)
    return None


@private(RESPONSE, BITS)
def uniform_integer_by_rejection(data, rng):
    # A number below 4 from a die with six sides.
    die = 6
    while die >= 4:
        die = rng.integers(6)
    return data[0] ^ int(die == 0)


@private(RESPONSE, BITS)
def rejection_with_python_random(data, source: random.Random):
    while True:
        die = source.randrange(5)
        if die != 4:
            return data[0] if die else 1 - data[0]


@private(PureDP(math.log((math.exp(-1) - math.exp(-6)) / (math.exp(-2) - math.exp(-6)))))
def rejection_with_a_flag(queries, rng):
    # Between the cuts at 0 and 3 the ratio is at most e; at the cuts it is that of truncated tails, a little more.
    accepted = False
    while not accepted:
        noise = rng.uniform(-6, 6)
        accepted = rng.random() < math.exp(-abs(noise))
    return min(max(queries[0] + noise, 0.0), 3.0)


@private()
def exposed_value_rejected_after_the_cut(queries, rng):
    # The coin of each round is blind, so a round is private and so is the first that is kept.
    while True:
        noisy = min(exposed(queries[0], rng.laplace()), 5.0)
        if rng.random() < 0.7:
            return noisy


@private(pair=FIRST)
def each_query_has_its_own_loop(queries, rng):
    answers = []
    for q in queries:
        while rng.random() < 0.25:
            rng.laplace()
        answers.append(q + rng.laplace())
    return answers


@private(RESPONSE, BITS)
def retries_until_enough_bits(data, rng):
    bits = []
    while len(bits) < 2:
        bit = rng.integers(3)
        if bit < 2:
            bits.append(int(bit))
    return data[0] ^ int(bits == [1, 1])


@private()
def vector_redrawn_as_a_whole(queries, rng):
    # The first noise is independent of the sign of the second.
    while True:
        noise = rng.laplace(size=2)
        if noise[1] > 0:
            return queries[0] + noise[0]


@private()
def vector_of_candidates(queries, rng):
    # Minus the logarithm of a uniform number is exponential; the second coin is its sign.
    while True:
        sizes = -np.log1p(-rng.random(size=2))
        coins = rng.random(size=2) < 0.5
        if coins[0]:
            return queries[0] + sizes[0] * (1 if coins[1] else -1)


@private(PureDP(1.0))
def random_walk_that_stops(queries, rng):
    # Steps of Laplace noise, and the first one alone touches the data.
    noisy, steps = queries[0] + rng.laplace(), 0
    while abs(noisy) < 3 and steps < 4:
        noisy += rng.laplace()
        steps += 1
    return noisy, steps
