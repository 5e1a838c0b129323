"""Noise by the column: the same uniform numbers, turned as NumPy turns them, a whole array at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from refutedp.model.mechanism import describe
from refutedp.sampling.lifted import Lift
from refutedp.tracing.distributions import BLOCK, COLUMN_DISTRIBUTIONS, DISTRIBUTIONS, FEW, Source, standard

N = 2 * BLOCK + 1000


def numpys_own(distribution, size, *params):
    generator = np.random.default_rng(7)
    if distribution.startswith("np.random."):
        return getattr(np.random.RandomState(generator.bit_generator), distribution.removeprefix("np.random."))(
            *params, size
        )
    return getattr(generator, distribution)(*params, size)


def last_digits_unpaired(a, b):
    """By how many units in the last place two arrays differ, at most."""
    return float(np.max(np.abs(a - b) / np.spacing(np.maximum(np.abs(a), np.abs(b)))))


@pytest.mark.parametrize("distribution", sorted(COLUMN_DISTRIBUTIONS))
def test_columns_are_numpys_own_numbers_but_for_the_last_digit_of_a_logarithm(distribution):
    ours = standard(distribution, np.random.default_rng(7), N)
    theirs = (
        numpys_own(distribution, N)
        if "standard" in distribution
        else numpys_own(distribution, N, *((0.0, 1.0)[-len(DISTRIBUTIONS[distribution].parameters) :]))
    )
    if "gumbel" in distribution:
        # The outer logarithm of a number near one magnifies the last digit of the inner one.
        assert np.max(np.abs(ours - theirs)) < 1e-14
    else:
        assert last_digits_unpaired(ours, theirs) <= 1


@pytest.mark.parametrize(
    ("distribution", "params"), [("laplace", (3.0, 0.25)), ("np.random.laplace", (-1, 2)), ("gumbel", (0, 3))]
)
def test_location_and_scale_are_applied_as_numpy_does(distribution, params):
    ours = DISTRIBUTIONS[distribution].sample(Source(np.random.default_rng(7)), params, (N // 4, 4))
    assert ours.shape == (N // 4, 4)
    assert np.allclose(ours, numpys_own(distribution, (N // 4, 4), *params), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    "distribution", sorted(distribution for distribution in COLUMN_DISTRIBUTIONS if "standard" not in distribution)
)
def test_an_exact_source_and_small_samples_are_numpys_to_the_last_digit(distribution):
    params = (0.0, 2.0)[-len(DISTRIBUTIONS[distribution].parameters) :]
    for size, exact in ((N, True), (FEW, False)):
        drawn = DISTRIBUTIONS[distribution].sample(Source(np.random.default_rng(7), exact=exact), params, size)
        assert np.array_equal(drawn, numpys_own(distribution, size, *params))


def test_exponential_noise_of_the_standard_library_divides_as_it_does():
    source = Source(np.random.default_rng(7))
    drawn = DISTRIBUTIONS["random.expovariate"].sample(source, (3.0,), 1000)
    expected = [-math.log(1.0 - u) / 3.0 for u in np.random.default_rng(7).random(1000).tolist()]
    assert last_digits_unpaired(drawn, np.array(expected)) <= 2


@pytest.mark.parametrize("params", [(0.0, -1.0), (0.0, math.nan), (math.nan, 1.0), (0.0, 0.0), (0.0, math.inf)])
def test_odd_parameters_are_left_to_numpy(params):
    def outcome(draw):
        try:
            return draw().tolist()
        except ValueError as error:
            return str(error)

    source = Source(np.random.default_rng(7))
    assert repr(outcome(lambda: DISTRIBUTIONS["laplace"].sample(source, params, 1000))) == repr(
        outcome(lambda: np.random.default_rng(7).laplace(*params, 1000))
    )


class Zeros:
    """A source of uniform numbers that starts with zeros, which NumPy draws anew."""

    def __init__(self) -> None:
        self.calls = 0

    def random(self, *, out):
        self.calls += 1
        out[:] = 0.25
        if self.calls <= 2:
            out[: 3 - self.calls] = 0.0


def test_zeros_are_drawn_anew():
    noise = standard("laplace", Zeros(), 1000)
    assert np.array_equal(noise, np.full(1000, math.log(0.5)))


def test_exact_lifts_draw_what_the_generator_draws():
    mechanism = describe(lambda data, rng: data[0] + rng.laplace(scale=2.0))
    exact = Lift(mechanism, [1.0], {}, exact=True).sample(N, np.random.default_rng(3)).groups[0].columns[0]
    assert np.array_equal(exact, 1.0 + np.random.default_rng(3).laplace(scale=2.0, size=N))
