"""Probabilities of intervals against SciPy, and their bounds."""

import math

import numpy as np
import pytest
from scipy import stats

from refutedp.exact import families
from refutedp.exact.columns_of_families import densities, masses

SCIPY = {
    "laplace": stats.laplace(),
    "normal": stats.norm(),
    "uniform": stats.uniform(),
    "exponential": stats.expon(),
    "gumbel": stats.gumbel_r(),
    "logistic": stats.logistic(),
    "cauchy": stats.cauchy(),
    "rayleigh": stats.rayleigh(),
}


@pytest.mark.parametrize("name", SCIPY)
@pytest.mark.parametrize("ends", [(-math.inf, -1.3), (-0.4, 0.7), (0.1, 0.9), (0.2, math.inf), (3.0, 9.0)])
def test_intervals_have_the_probability_that_scipy_says(name, ends):
    known, family = SCIPY[name], families.family(name)
    low, high = family.mass(*ends)
    right = known.sf(ends[0]) - known.sf(ends[1]) if ends[0] >= 0 else known.cdf(ends[1]) - known.cdf(ends[0])
    assert low <= high
    assert low * (1 - 1e-9) - 1e-15 <= right <= high * (1 + 1e-9) + 1e-15
    if low > 0:
        assert ends[0] <= family.point(*ends) <= ends[1]


@pytest.mark.parametrize("name", ["laplace", "normal", "uniform", "exponential", "gumbel", "logistic"])
def test_columns_are_the_same_functions(name):
    family, x = families.family(name), np.array([[-2.0, 0.1, 0.3], [0.9, 2.0, 5.0]])
    assert np.allclose(densities(family, x), SCIPY[name].pdf(x), rtol=1e-12)
    assert np.allclose(masses(family, x, x + 0.05), SCIPY[name].cdf(x + 0.05) - SCIPY[name].cdf(x), rtol=1e-9)


@pytest.mark.parametrize(
    ("family", "known"),
    [
        (families.geometric(0.3), stats.geom(0.3)),
        (families.binomial(60, 0.5), stats.binom(60, 0.5)),
        (families.equally(10), stats.randint(0, 10)),
        (families.difference(families.geometric(0.3)), stats.dlaplace(-math.log1p(-0.3))),
    ],
)
def test_whole_numbers(family, known):
    for low, high in ((1, 1), (2, 7), (4, math.inf), (-3, 2), (45, 80)):
        right = float(known.sf(low - 1) - known.sf(high)) if low >= 4 else float(known.cdf(high) - known.cdf(low - 1))
        bounds = family.mass(low, high)
        assert bounds.low * (1 - 1e-9) - 1e-300 <= right <= bounds.high * (1 + 1e-9) + 1e-15


def test_far_tails_keep_their_digits():
    low, high = families.family("laplace").mass(50.0, math.inf)
    # No generator of 53 bits makes such a draw, so the lower bound does not count it.
    assert low == 0 < math.exp(-50) / 2 < high < math.exp(-50) / 2 * (1 + 1e-11)
    low, high = families.family("normal").mass(8.0, 8.4)
    assert low < stats.norm.sf(8.0) - stats.norm.sf(8.4) < high < low * (1 + 1e-9)
