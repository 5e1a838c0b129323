"""What happens once in a blue moon, of which only enumerated paths tell: never likelier than the claim allows.

Some were convicted once by a wrong probability of a rare path: by a negative tail below the least value of a draw, by
two differences of draws that were taken to be independent, or by u = 1 of a generator that never draws it.
"""

from __future__ import annotations

import math
import secrets

import numpy as np
from scipy import stats

from refutedp import PureDP
from tests.soundness.registry import BITS, cases_of

private = cases_of("rare")
TENTH = PureDP(0.1)


@private()
def above_exponential_noise(queries, rng):
    return rng.exponential() + 20 < queries[0] + rng.laplace()


@private()
def above_a_uniform_threshold(queries, rng):
    return rng.uniform(0, 1) + 20 < queries[0] + rng.laplace()


@private()
def below_a_laplace_threshold(queries, rng):
    # As likely on both inputs up to e^(1/2), for the threshold has scale 2.
    threshold = rng.laplace(0, 2)
    return queries[0] + 4 * rng.exponential() - 2 > threshold + 60


@private(pair=None, lengths=(1, 3))
def maximum_with_exponential_noise(queries, rng):
    best, place = None, None
    for k, value in enumerate(queries):
        noisy = value + rng.exponential(2.0)
        if best is None or noisy > best:
            best, place = noisy, k
    return place


@private()
def difference_that_is_computed_three_times(queries, rng):
    up, down = rng.exponential(), rng.exponential()
    if queries[0] + up > 14 + down:
        return "high"
    if down - up - queries[0] > 14:
        return "low"
    return queries[0] - down + up


@private()
def whole_difference_that_is_computed_three_times(queries, rng):
    p = 1 - math.exp(-1)
    up, down = rng.geometric(p), rng.geometric(p)
    if queries[0] + up - down > 8:
        return "high"
    return "low" if up - down + queries[0] < -8 else queries[0] - down + up


@private(TENTH)
def gumbel_noise_made_in_two_ways(queries, rng):
    # On floats, log(0) is met once in 2^53 times, on real numbers never.
    if queries[0] == 1:
        return -math.log(-math.log(rng.random())) > 15
    return rng.gumbel() > 15


@private(TENTH)
def more_coins_on_one_input(queries, rng):
    if any(rng.laplace() > rng.laplace() + 20 for _ in range(2)) or rng.laplace() < 9:
        return None
    coins = [bool(rng.random() < 0.5) for _ in range(10 if queries[0] == 1 else 2)]
    return coins[0]


@private(TENTH)
def a_coin_or_twenty(queries, rng):
    if queries[0] == 1:
        return all(rng.random() < 0.5 for _ in range(20))
    return rng.random() < 2.0**-20


@private(TENTH)
def strict_or_not(queries, rng):
    # |x| < 3 of a whole number is |x| <= 2.
    whole = round(rng.laplace(0, 0.2))
    return abs(whole) >= 3 if queries[0] == 1 else abs(whole) > 2


@private(TENTH)
def a_step_or_a_line(queries, rng):
    if queries[0] == 1:
        return bool(math.floor(rng.laplace()) - 12.0 >= rng.integers(0, 2))
    number = rng.laplace()
    return number >= 12 + int(rng.random() < 0.5)


@private(TENTH)
def sums_of_normal_noise(queries, rng):
    noise = rng.normal(size=4).sum() if queries[0] == 1 else rng.normal(0, 2)
    return bool(noise > 12)


@private()
def rounded_far_from_zero(queries, rng):
    return float(np.rint((queries[0] + rng.laplace()) / 5)) >= 3


@private()
def copy_one_further(queries, rng):
    # y + 1 - y is 1 but for the last digits of y, which tell where the noise was added.
    noisy = queries[0] + rng.laplace()
    return [noisy, noisy + 1]


OWN = np.random.default_rng(0)


class KeepsAGenerator:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def draw(self):
        return self.rng.random()


KEEPER = KeepsAGenerator()


@private(TENTH, pair=BITS)
def draws_of_a_global_generator(bits, rng):
    return bool(rng.random() < 1e-6) if bits[0] else bool(OWN.random() < 1e-6)


@private(TENTH, pair=BITS)
def draws_of_an_object(bits, rng):
    return bool(rng.random() < 1e-6) if bits[0] else bool(KEEPER.draw() < 1e-6)


@private(TENTH, pair=BITS)
def draws_of_the_operating_system(bits, rng):
    return bool(rng.random() < 1e-6) if bits[0] else secrets.randbelow(10**6) == 0


@private(TENTH, pair=BITS)
def draws_of_a_library(bits, rng):
    return bool(rng.random() < 1e-6) if bits[0] else bool(stats.bernoulli.rvs(1e-6))


@private(PureDP(6.4), pair=BITS)
def response_of_a_global_generator(bits):
    # Flips too rarely for the hundred plain calls that enumerated paths are compared with.
    return int(bits[0] ^ bool(OWN.random() < 1 / 600))


# Where a part of a draw begins, a step function has the value of the part before: no function may depend on it.


@private(TENTH, pair=BITS)
def square_of_a_rounded_number(bits, rng):
    x = rng.laplace()
    return bool(math.ceil((x - 13) * 20) ** 2 < 1) if bits[0] else bool(12.95 < x <= 13)


@private(TENTH, pair=BITS)
def reciprocal_of_a_rounded_number(bits, rng):
    x = rng.laplace()
    return bool(x > 10 and 1 / (2 * round((x - 13) * 20) - 1) > 0.7) if bits[0] else bool(13.025 < x <= 13.075)


@private(TENTH, pair=BITS)
def whole_number_rounded_to_tens(bits, rng):
    number = 9 + int(rng.geometric(1 - 1e-6))
    return round(number, -1) != number if bits[0] else bool(rng.random() < 1e-6)
