"""Keywords and less common methods of generators: the same noise asked for in many ways."""

from __future__ import annotations

import math
import random

import numpy as np

from refutedp import GaussianDP, PureDP
from tests.soundness.registry import BITS, FIRST, cases_of

private = cases_of("keywords")
RESPONSE = PureDP(math.log(3))
"""What an answer promises that is true with probability 3/4."""


# Randomized response: the answer is true with probability 3/4, by different coins.


@private(RESPONSE, BITS)
def single_precision_coin(data, rng):
    honest = rng.random(dtype=np.float32) < 0.75
    return bool(data[0]) == bool(honest)


@private(RESPONSE, BITS)
def single_precision_on_one_input_only(data, rng):
    # Both coins show heads with probability 3/4 exactly, whatever their precision.
    first = rng.random() < 0.5
    coin = rng.random(dtype=np.float32) if data[0] else rng.random()
    return bool(first), bool(data[0]) == bool(coin < 0.75)


@private(RESPONSE, BITS)
def buffer_on_one_input_only(data, rng):
    first = rng.random() < 0.5
    coin = rng.random(out=np.zeros(1))[0] if data[0] else rng.random()
    return bool(first), bool(data[0]) == bool(coin < 0.75)


@private(RESPONSE, BITS)
def inversion_on_one_input_only(data, rng):
    # An exponential variable exceeds log(4/3) with probability 3/4, by either algorithm.
    first = rng.random() < 0.5
    coin = rng.standard_exponential(method="inv") if data[0] else rng.standard_exponential()
    return bool(first), bool(data[0]) == bool(coin > math.log(4 / 3))


@private(RESPONSE, BITS)
def coin_written_to_a_buffer(data, rng):
    buffer = np.zeros(2)
    rng.random(out=buffer)
    return bool(data[0]) == bool(buffer[1] < 0.75)


@private(RESPONSE, BITS)
def die_with_endpoint(data, rng):
    return (data[0] + (rng.integers(0, 3, endpoint=True) == 0)) % 2


@private(RESPONSE, BITS)
def die_of_python_integers(data, rng):
    return data[0] ^ int(rng.integers(4, dtype=int) == 3)


@private(RESPONSE, BITS)
def die_of_unsigned_bytes(data, rng):
    # The sum wraps around at 256, so only the two lowest bits of the die matter.
    die = rng.integers(0, 256, dtype=np.uint8, size=1)
    return data[0] ^ int(((die + np.uint8(200)) & 3)[0] == 0)


@private(RESPONSE, BITS)
def choice_by_weights(data, rng):
    return int(rng.choice([data[0], 1 - data[0]], p=[0.75, 0.25]))


@private(RESPONSE, BITS)
def choice_without_replacement(data, rng):
    # The first of four is drawn; three of them are true.
    pool = [data[0], data[0], data[0], 1 - data[0]]
    return int(rng.choice(pool, size=2, replace=False)[0])


@private(RESPONSE, BITS)
def choice_of_one_without_shuffling(data, rng):
    pool = np.array([data[0], 1 - data[0], data[0], data[0]])
    return int(rng.choice(pool, 1, replace=False, shuffle=False)[0])


@private(RESPONSE, BITS)
def shuffled_list(data, rng):
    pool = [data[0], data[0], 1 - data[0], data[0]]
    rng.shuffle(pool)
    return pool[2]


@private(RESPONSE, BITS)
def permuted_along_an_axis(data, rng):
    pool = np.array([[data[0], data[0], data[0], 1 - data[0]]])
    return int(rng.permuted(pool, axis=1)[0, 1])


@private(RESPONSE, BITS)
def permutation_of_columns(data, rng):
    pool = np.array([[1 - data[0], data[0], data[0], data[0]]])
    return int(rng.permutation(pool, axis=1)[0, 3])


@private(RESPONSE, BITS)
def bytes_of_the_generator(data, rng):
    return bool(data[0]) == (rng.bytes(1)[0] < 192)


@private(RESPONSE, BITS)
def binomial_and_bernoulli(data, rng):
    return abs(data[0] - rng.binomial(n=1, p=0.25))


@private(RESPONSE, BITS)
def multinomial(data, rng):
    same, other = rng.multinomial(1, [0.75, 0.25])
    return int(same * data[0] + other * (1 - data[0]))


@private(RESPONSE, BITS)
def multivariate_hypergeometric(data, rng):
    drawn = rng.multivariate_hypergeometric([3, 1], 1, method="count")
    return int(data[0] if drawn[0] == 1 else 1 - data[0])


# Laplace noise of scale 1: a difference of exponentials, or an exponential with a random sign.


@private()
def exponential_by_inversion(queries, rng):
    first, second = rng.standard_exponential(2, method="inv")
    return queries[0] + first - second


@private()
def exponential_in_single_precision(queries, rng):
    return queries[0] + float(rng.standard_exponential(dtype=np.float32)) - rng.standard_exponential()


@private()
def exponentials_by_scale(queries, rng):
    return queries[0] + rng.exponential(scale=1.0, size=(1, 1))[0, 0] - rng.exponential()


@private()
def gamma_into_a_buffer(queries, rng):
    buffer = np.empty(2)
    rng.standard_gamma(1.0, out=buffer)
    return queries[0] + buffer[0] - buffer[1]


@private()
def gamma_and_weibull(queries, rng):
    return queries[0] + rng.gamma(1.0, scale=1.0) - rng.weibull(1.0)


@private()
def chi_square_halved(queries, rng):
    return queries[0] + (rng.chisquare(df=2) - rng.chisquare(2)) / 2


@private()
def logarithm_of_pareto_and_beta(queries, rng):
    # The logarithm of 1 + Pareto(1), and minus that of Beta(1, 1), are exponential.
    return queries[0] + math.log1p(rng.pareto(1.0)) + math.log(rng.beta(1.0, 1.0))


@private()
def power_law(queries, rng):
    # Power(1) is uniform.
    return queries[0] - math.log(rng.power(1.0)) + np.log(rng.triangular(0.0, 1.0, 1.0) ** 2)


@private()
def location_and_scale_as_arrays(queries, rng):
    return rng.laplace(loc=np.array(queries), scale=[1.0])[0]


@private(pair=FIRST)
def location_broadcast_over_rows(queries, rng):
    # Two answers to each query, with half of the budget each.
    return rng.laplace(queries, 2.0, size=(2, 2)).tolist()


@private()
def location_by_position(queries, rng):
    return rng.laplace(queries[0], 1.0)


@private()
def inverse_of_a_symmetric_uniform(queries, rng):
    u = rng.uniform(low=-0.5, high=0.5)
    return queries[0] - math.copysign(1.0, u) * math.log(1 - 2 * abs(u))


@private()
def logistic_noise(queries, rng):
    # The logarithm of its density has slopes from -1 to 1, reached in the tails.
    return rng.logistic(queries[0], scale=1.0)


@private()
def difference_of_gumbels(queries, rng):
    # The difference of two Gumbel variables of scale 1 is logistic.
    return queries[0] + rng.gumbel(scale=1.0) - rng.gumbel(loc=0.0)


# Gaussian noise of scale 1.


@private(GaussianDP(1.0))
def normal_in_single_precision(queries, rng):
    return queries[0] + float(rng.standard_normal(dtype=np.float32))


@private(GaussianDP(1.0))
def multivariate_normal(queries, rng):
    return rng.multivariate_normal([queries[0], 0.0], [[1.0, 0.0], [0.0, 1.0]], method="cholesky")


@private(GaussianDP(1.0))
def logarithm_of_lognormal(queries, rng):
    return math.log(rng.lognormal(mean=queries[0], sigma=1.0))


@private(GaussianDP(1.0))
def polar_coordinates(queries, rng):
    return queries[0] + rng.rayleigh() * math.cos(rng.uniform(0, 2 * math.pi))


# Other generators.


@private()
def legacy_generator(queries, random_state):
    return queries[0] + random_state.laplace(0.0, 1.0)


@private(RESPONSE, BITS)
def legacy_integers(data, random_state):
    return data[0] ^ int(random_state.randint(0, 4) == 0) ^ int(random_state.rand() > 2)


@private(GaussianDP(1.0))
def legacy_normal(queries, random_state: np.random.RandomState):
    return queries[0] + random_state.randn(1, 1)[0][0]


@private()
def global_numpy_functions(queries):
    return queries[0] + np.random.exponential(size=1)[0] - np.random.standard_exponential()


@private(RESPONSE, BITS)
def global_choice(data):
    return int(np.random.choice([data[0]] * 3 + [1 - data[0]]))


@private()
def python_exponentials(queries, source: random.Random):
    return queries[0] + source.expovariate(1.0) - source.expovariate(1.0)


@private(RESPONSE, BITS)
def python_choices(data, source: random.Random):
    return source.choices([data[0], 1 - data[0]], weights=[3, 1], k=1)[0]


@private(RESPONSE, BITS)
def python_bits_sample_and_shuffle(data, source: random.Random):
    pool = source.sample([data[0], data[0], data[0], 1 - data[0]], k=4)
    source.shuffle(pool)
    return pool[source.getrandbits(2)]


@private(GaussianDP(1.0))
def global_python_gauss(queries):
    return random.gauss(queries[0], 1.0)


@private()
def generator_from_the_seed(queries, seed):
    return queries[0] + np.random.default_rng(seed).laplace()


@private()
def generator_from_a_drawn_seed(queries, rng):
    own = np.random.Generator(np.random.PCG64(int(rng.integers(2**62))))
    return queries[0] + own.laplace()


@private()
def spawned_generator(queries, rng):
    (child,) = rng.spawn(1)
    return queries[0] + child.laplace()
