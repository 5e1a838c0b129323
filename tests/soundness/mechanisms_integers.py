"""Exact integer samplers: discrete Laplace and discrete Gaussian noise, coins by integers, integer weights.

Discrete noise follows "The Discrete Gaussian for Differential Privacy" by Canonne, Kamath and Steinke (2020).
"""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np

from refutedp import ZCDP, PureDP
from tests.soundness.registry import BITS, cases_of

private = cases_of("integers")
RESPONSE = PureDP(math.log(3))


def bernoulli(p, rng):
    """A coin of rational probability."""
    return int(rng.integers(p.denominator)) < p.numerator


def bernoulli_exp(gamma, rng):
    """A coin of probability e^-gamma, for gamma from 0 to 1 (Algorithm 1)."""
    k = 1
    while bernoulli(gamma / k, rng):
        k += 1
    return k % 2 == 1


def discrete_laplace(t, rng):
    """An integer x with probability proportional to e^(-|x|/t) (Algorithm 2)."""
    while True:
        u = int(rng.integers(t))
        if not bernoulli_exp(Fraction(u, t), rng):
            continue
        v = 0
        while bernoulli_exp(Fraction(1), rng):
            v += 1
        x = u + t * v
        negative = bernoulli(Fraction(1, 2), rng)
        if negative and x == 0:
            continue
        return -x if negative else x


def discrete_gaussian(sigma, rng):
    """An integer x with probability proportional to e^(-x²/2 sigma²), for whole sigma (Algorithm 3)."""
    t = sigma + 1
    while True:
        y = discrete_laplace(t, rng)
        gamma = Fraction((abs(y) * t - sigma**2) ** 2, 2 * sigma**2 * t**2)
        while gamma > 1:
            if not bernoulli_exp(Fraction(1), rng):
                break
            gamma -= 1
        else:
            if bernoulli_exp(gamma, rng):
                return y


@private()
def discrete_laplace_noise(queries, rng):
    return queries[0] + discrete_laplace(1, rng)


@private(PureDP(0.5))
def discrete_laplace_noise_of_scale_two(queries, rng):
    return queries[0] + discrete_laplace(2, rng)


@private(ZCDP(0.5))
def discrete_gaussian_noise(queries, rng):
    return queries[0] + discrete_gaussian(1, rng)


def coin_exp(numerator, denominator, rng):
    """`bernoulli_exp` without fractions: a coin of probability e^(-numerator/denominator)."""
    k = 1
    while rng.integers(denominator * k) < numerator:
        k += 1
    return k % 2 == 1


def whole_laplace(t, rng):
    """`discrete_laplace` without fractions."""
    while True:
        u = rng.integers(t)
        if coin_exp(u, t, rng):
            v = 0
            while coin_exp(1, 1, rng):
                v += 1
            sign = 1 - 2 * rng.integers(2)
            if sign == 1 or u + v > 0:
                return int(sign * (u + t * v))


@private(PureDP(0.5))
def discrete_laplace_by_whole_numbers(queries, rng):
    return queries[0] + whole_laplace(2, rng)


@private(ZCDP(0.5))
def discrete_gaussian_by_whole_numbers(queries, rng):
    # For sigma = 1 the proposal has t = 2 and is kept with probability e^(-(2|y| - 1)²/8).
    while True:
        y = whole_laplace(2, rng)
        gamma, kept = (2 * abs(y) - 1) ** 2, True
        while kept and gamma > 8:
            kept, gamma = coin_exp(1, 1, rng), gamma - 8
        if kept and coin_exp(gamma, 8, rng):
            return queries[0] + y


class Bits:
    """The samplers above on Python's generator."""

    def __init__(self, source):
        self.source = source

    def integers(self, n):
        return self.source.randrange(n)


@private()
def discrete_laplace_by_randrange(queries, source: random.Random):
    return queries[0] + discrete_laplace(1, Bits(source))


@private(ZCDP(0.5))
def discrete_gaussian_by_global_random(queries):
    return queries[0] + discrete_gaussian(1, Bits(random))


@private()
def geometric_with_e_as_a_fraction(queries, rng):
    # Noise of ratio 3679/10000, which is a little above 1/e.
    def count():
        n = 0
        while rng.integers(10_000) < 3679:
            n += 1
        return n

    return queries[0] + count() - count()


@private(PureDP(math.log(2)))
def geometric_by_trailing_zeros(queries, rng):
    # The number of trailing zeros of random bits is geometric of ratio 1/2; 60 zeros never happen.
    def zeros():
        bits = int(rng.integers(1, 2**60))
        return (bits & -bits).bit_length() - 1

    return queries[0] + zeros() - zeros()


@private(PureDP(math.log(2)))
def geometric_by_bits_one_by_one(queries, source: random.Random):
    def tails():
        n = 0
        while source.getrandbits(1):
            n += 1
        return n

    return queries[0] + tails() - tails()


@private(PureDP(math.log(2)))
def geometric_by_bit_length(queries, rng):
    def leading():
        return 62 - int(rng.integers(0, 2**62)).bit_length()

    return max(-4, min(queries[0] + leading() - leading(), 7))


@private(RESPONSE, BITS)
def response_by_randrange(data, source: random.Random):
    return data[0] if source.randrange(4) else 1 - data[0]


@private(RESPONSE, BITS)
def response_by_the_top_bits(data, rng):
    return data[0] ^ (int(rng.integers(2**32)) >> 30 == 3)


@private(RESPONSE, BITS)
def response_by_two_bits_joined(data, rng):
    both = int(rng.integers(2)) << 1 | int(rng.integers(2))
    return data[0] ^ (both == 0b11)


@private(PureDP(math.log(2)), BITS)
def response_with_three_answers(data, rng):
    # The true category of three has probability 2/4, each other one 1/4.
    shift = (0, 0, 1, 2)[int(rng.integers(4))]
    return (data[0] + shift) % 3


@private(PureDP(math.log(1.5)), ([1, 1], [2, 1]))
def exponential_mechanism_by_integer_weights(queries, rng):
    # The probabilities are 1/2 and 1/2 on one input, 2/3 and 1/3 on the other.
    weights = [2 ** int(q) for q in queries]
    place = int(rng.integers(sum(weights)))
    for i, weight in enumerate(weights):
        if place < weight:
            return i
        place -= weight
    return None


@private(PureDP(math.log(2)), ([1, 2], [2, 1]))
def exponential_mechanism_by_searchsorted(queries, rng):
    # The probabilities are 1/3 and 2/3 on one input, 2/3 and 1/3 on the other.
    bounds = np.cumsum([2 ** int(q) for q in queries])
    return int(np.searchsorted(bounds, rng.integers(bounds[-1]), side="right"))


@private(PureDP(math.log(1.5)), ([1, 2], [2, 2]))
def exponential_mechanism_by_repetition(queries, source: random.Random):
    # The probabilities are 1/3 and 2/3 on one input, 1/2 and 1/2 on the other.
    return source.choice([i for i, q in enumerate(queries) for _ in range(2 ** int(q))])


@private(RESPONSE, BITS)
def one_time_pad_and_a_leak(data, rng):
    # The pad is uniform, so the first number says nothing; the second is randomized response.
    pad = int(rng.integers(2**16))
    return (data[0] * 40_000 + pad) % 2**16, data[0] ^ int(rng.integers(4) == 0)


@private(PureDP(0.01), BITS)
def masked_by_a_uniform_remainder(data, rng):
    return (int(rng.integers(10**6)) + 10**20 * data[0] + 777 * data[0]) % 10**6


@private(PureDP(0.01), BITS)
def secret_shared_by_xor(data, rng):
    pad = int(rng.integers(256))
    return pad ^ (173 * data[0])


@private(PureDP(0.01), BITS)
def wrap_around_of_64_bits(data, rng):
    # Sums of unsigned 64-bit integers wrap around, so a uniform summand hides the other one.
    pad = rng.integers(0, 2**64, dtype=np.uint64, size=1)
    masked = pad + np.uint64(2**63 * data[0] + 5 * data[0])
    return int(masked[0] % np.uint64(8))


@private(PureDP(0.01), BITS)
def parity_of_a_big_integer(data, rng):
    return (int(rng.integers(2)) + data[0] * 2**80) % 2 == 0


@private(PureDP(0.01), BITS)
def parity_of_a_python_integer_by_dtype(data, rng):
    # With dtype=int the coin is a Python integer, which does not wrap around; an even number leaves its parity.
    return (rng.integers(0, 2, dtype=int) + data[0] * 2**63) % 2 == 0


@private(PureDP(0.5))
def two_sided_geometric_by_inversion(queries, rng):
    # The largest n with ratio^n above a uniform number is geometric.
    def geometric():
        return math.floor(math.log1p(-rng.random()) / -0.5)

    return queries[0] + geometric() - geometric()
