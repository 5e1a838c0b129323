"""Rounding, grids, nan, infinity, signed zeros and large integers.

Where `exposed` is used, everything above 5 is mapped to one value, which makes the release private.
"""

from __future__ import annotations

import cmath
import math
import struct
from fractions import Fraction

import numpy as np

from refutedp import PureDP
from tests.soundness.registry import BITS, FIRST, cases_of, exposed, exposed_vector

private = cases_of("floats")


@private()
def rounded_to_an_integer(queries, rng):
    return round(queries[0] + rng.laplace())


@private()
def rounded_half_to_even(queries, rng):
    # Multiples of 1/2 are rounded to even: 0.5 gives 0 and 1.5 gives 2.
    return round(math.floor(2 * min(exposed(queries[0], rng.laplace()), 5.0)) / 2)


@private()
def rounded_to_one_digit(queries, rng):
    return round(min(exposed(queries[0], rng.laplace()), 5.0), 1)


@private()
def rounded_to_tens(queries, rng):
    return round(queries[0] + 4 + rng.laplace(), -1)


@private()
def rint_and_numpy_round(queries, rng):
    noisy = np.array(queries) + rng.laplace(size=1)
    return np.rint(noisy)[0], noisy.round(1)[0]


@private()
def floor_to_a_grid(queries, rng):
    return math.floor((queries[0] + rng.laplace()) / 0.25) * 0.25


@private()
def ceiling_and_truncation(queries, rng):
    noisy = queries[0] + rng.laplace()
    return math.ceil(noisy), math.trunc(noisy), int(noisy)


@private()
def floor_division_of_floats(queries, rng):
    return min(exposed(queries[0], rng.laplace()), 1.999) // 0.5


@private()
def quotient_and_remainder(queries, rng):
    quotient, remainder = divmod(min(exposed(queries[0], rng.laplace()), 1.75), 0.5)
    return quotient, remainder


@private()
def remainder_of_a_negative_number(queries, rng):
    return (queries[0] + rng.laplace() - 2) % 3


@private()
def remainder_with_the_sign_of_the_dividend(queries, rng):
    return math.fmod(queries[0] + rng.laplace() - 2, 3)


@private()
def numpy_remainder_and_fmod(queries, rng):
    noisy = np.array(queries) + rng.laplace(size=1) - 2
    return np.remainder(noisy, 3)[0], np.fmod(noisy, 3)[0]


@private()
def whole_and_fractional_part(queries, rng):
    fraction, whole = math.modf(queries[0] + rng.laplace())
    return whole, fraction > 0.5


@private()
def clamped_twice(queries, rng):
    return max(0.5, min(1.75, exposed(queries[0], rng.laplace())))


@private()
def maximum_of_mixed_types(queries, rng):
    # max returns its first argument where both are equal, and keeps its type.
    return max(1, min(exposed(queries[0], rng.laplace()), 5))


@private()
def nan_for_large_values(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    return math.nan if noisy > 5 else noisy


@private()
def infinity_for_large_values(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    return math.inf if noisy > 5 else -math.inf if noisy < 0 else noisy


@private()
def comparisons_with_nan(queries, rng):
    # Every comparison with nan is false, so the minimum takes the limit, which stands first.
    noisy = exposed(queries[0], rng.laplace())
    marked = math.nan if noisy > 5 else noisy
    return min(5.0, marked)


@private()
def nan_differs_from_itself(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    marked = math.nan if noisy > 5 else noisy
    return 5.0 if marked != marked else marked


@private(pair=FIRST)
def mean_without_nan(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=2))
    return np.nansum(np.where(noisy > 5, np.nan, noisy))


@private()
def infinity_minus_infinity(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    huge = math.inf if noisy > 5 else noisy
    return huge - huge if math.isinf(huge) else huge


@private()
def sign_of_zero(queries, rng):
    zero = math.copysign(0.0, queries[0] + rng.laplace() - 1.5)
    return math.copysign(1.0, zero), zero == 0


@private()
def negative_zero_by_rounding(queries, rng):
    # Small negative values round to -0.0, which equals 0.0 and keeps its sign.
    rounded = round(min(queries[0] + rng.laplace() - 1.5, 1.0), 0)
    return math.atan2(rounded, -1.0) if rounded == 0 else rounded


@private()
def numpy_signs(queries, rng):
    noisy = np.array(queries) + rng.laplace(size=1) - 1.5
    return np.sign(noisy)[0], np.signbit(noisy)[0], np.copysign(1.0, noisy)[0]


@private()
def heaviside_step(queries, rng):
    return np.heaviside(queries[0] + rng.laplace() - 1.5, 0.5)


@private(PureDP(0.01), BITS)
def parity_of_a_sum_beyond_doubles(data, rng):
    # 2**53 + 1 is no double; the parity of the Python integer is that of the coin.
    return (int(rng.integers(2)) + 2**53 * (1 + data[0])) % 2


@private(PureDP(0.01), BITS)
def integers_that_wrap_around(data, rng):
    # Twice 2**62 plus anything wraps around to a negative number, on both inputs.
    coin = rng.integers(0, 2, size=1)
    with np.errstate(over="ignore"):
        total = (np.array([2**62 + data[0]]) + coin * 0) * 2
    return bool(total[0] < 0), int(coin[0])


@private()
def big_python_integers(queries, rng):
    scaled = int(min(exposed(queries[0], rng.laplace()), 5.0) * 2**10) * 10**20
    return scaled // 10**22


@private()
def ratio_of_integers(queries, rng):
    numerator, denominator = (math.floor(4 * (queries[0] + rng.laplace())) / 4).as_integer_ratio()
    return numerator, denominator


@private()
def mantissa_and_exponent(queries, rng):
    _, exponent = math.frexp(min(exposed(queries[0], rng.laplace()), 5.0))
    return exponent


@private()
def bytes_of_a_single_float(queries, rng):
    (rounded,) = struct.unpack("<f", struct.pack("<f", queries[0] + rng.laplace()))
    return rounded > 1.5


@private()
def half_precision(queries, rng):
    noisy = np.minimum(exposed_vector(queries, rng.laplace(size=1)), 5.0)
    return float(noisy.astype(np.float16)[0])


@private()
def nearest_fraction(queries, rng):
    noisy = Fraction(queries[0] + rng.laplace()).limit_denominator(2)
    return noisy.numerator, noisy.denominator


@private()
def complex_square_root(queries, rng):
    # The imaginary part is zero below 2, and above 2 the real part is.
    root = cmath.sqrt(2 - exposed(queries[0], rng.laplace()))
    return root.real


@private()
def close_to_a_grid_point(queries, rng):
    noisy = min(exposed(queries[0], rng.laplace()), 5.0)
    return math.isclose(noisy, round(noisy), abs_tol=0.25)


@private()
def histogram_bin(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    return int(np.digitize(noisy, [-1.0, 0.0, 1.0, 5.0])[0])


@private()
def hyperbolic_and_inverse(queries, rng):
    # A decreasing function of the cut value, computed in three steps.
    noisy = min(exposed(queries[0], rng.laplace()), 5.0)
    return math.atan(math.expm1(-noisy)), math.hypot(noisy, 1.0)


@private()
def exact_sum(queries, rng):
    # The huge terms cancel in an exact sum, and would swallow the rest in a naive one.
    return math.fsum([1e30, min(exposed(queries[0], rng.laplace()), 5.0), -1e30])
