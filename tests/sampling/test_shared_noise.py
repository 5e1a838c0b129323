"""Noise that both inputs share: bit for bit what NumPy draws, the same for both, and left to it where it is odd."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from refutedp.sampling.lifted.noise.shared_noise import SharedNoise
from refutedp.tracing.distributions import DISTRIBUTIONS, Source

ARRAY = np.array([0.3, 1.7, 4.1])
LOCATED = ((0.0, 1.0), (-2.5, 0.3), (1, 3), (np.float64(0.1), np.float32(0.7)), (ARRAY, 2.0), (ARRAY, ARRAY[::-1]))
PARAMETERS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "laplace": LOCATED,
    "normal": LOCATED,
    "gumbel": LOCATED,
    "logistic": LOCATED,
    "exponential": ((1.0,), (0.3,), (7,), (ARRAY,)),
    "uniform": ((0.0, 1.0), (-3, 0.1), (0.1, 0.7), (-ARRAY, ARRAY)),
}
SHARED = [
    (distribution, params)
    for name, rows in PARAMETERS.items()
    for distribution in (name, f"np.random.{name}")
    for params in rows
]


@pytest.mark.parametrize(("distribution", "params"), SHARED, ids=str)
@pytest.mark.parametrize("first", [False, True])
def test_shared_noise_is_bit_for_bit_what_numpy_draws(distribution, params, first):
    """Both where the noise is drawn for these parameters and where it was drawn for others."""
    runs, generator = 2000, np.random.default_rng(17)
    wide = np.broadcast_shapes(*map(np.shape, params))
    legacy = distribution.startswith("np.random.")
    real = np.random.RandomState(generator.bit_generator) if legacy else generator
    # Vectors are drawn element by element, each for all runs.
    upright = [np.reshape(value, (-1, 1)) if wide else value for value in params]
    expected = getattr(real, distribution.rpartition(".")[2])(*upright, (*wide, runs)).T
    noise, source = SharedNoise(runs), Source(np.random.default_rng(17), exact=True)
    if first:
        others = tuple(value for value, _ in zip((-1.5, 4.25), params, strict=False))
        others = others if len(others) == 2 else (4.25,)
        assert noise.draw(0, DISTRIBUTIONS[distribution], others, wide or None, None, source) is not None
    got = noise.draw(0, DISTRIBUTIONS[distribution], params, wide or None, None, source)
    assert got is not None and got.dtype == np.float64
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("distribution", ["random", "standard_normal", "standard_exponential"])
def test_standard_laws_are_numpys_own(distribution):
    expected = getattr(np.random.default_rng(5), distribution)((2, 100)).T
    noise, source = SharedNoise(100), Source(np.random.default_rng(5))
    first = noise.draw(0, DISTRIBUTIONS[distribution], (), (2,), None, source)
    assert first is not None
    assert np.array_equal(first, expected)
    # A mechanism may change its array in place; the other input must not see it.
    first += 1
    assert np.array_equal(noise.draw(0, DISTRIBUTIONS[distribution], (), (2,), None, source), expected)


def test_runs_that_come_later_are_filled_in():
    noise, source, distribution = SharedNoise(6), Source(np.random.default_rng(5)), DISTRIBUTIONS["normal"]
    some = noise.draw(0, distribution, (0.0, 1.0), None, np.array([1, 4]), source)
    every = noise.draw(0, distribution, (0.0, 1.0), None, None, source)
    again = noise.draw(0, distribution, (0.0, 1.0), None, np.array([5, 4, 0]), source)
    assert some is not None and every is not None and again is not None
    assert every[[1, 4]].tolist() == some.tolist()
    assert again.tolist() == every[[5, 4, 0]].tolist()
    assert len(set(every.tolist())) == 6


@pytest.mark.parametrize(
    ("position", "distribution", "shape"), [(1, "normal", None), (0, "np.random.normal", None), (0, "normal", (1,))]
)
def test_another_position_law_or_shape_is_another_draw(position, distribution, shape):
    noise, source = SharedNoise(50), Source(np.random.default_rng(5))
    first = noise.draw(0, DISTRIBUTIONS["normal"], (0.0, 1.0), None, None, source)
    second = noise.draw(position, DISTRIBUTIONS[distribution], (0.0, 1.0), shape, None, source)
    assert first is not None and second is not None
    assert not set(first.ravel().tolist()) & set(second.ravel().tolist())


@pytest.mark.parametrize("distribution", ["geometric", "integers", "np.random.poisson", "gamma", "random.randint"])
def test_distributions_without_a_standard_form_are_left_to_numpy_where_parameters_differ(distribution):
    source = Source(np.random.default_rng(0))
    assert SharedNoise(5).draw(0, DISTRIBUTIONS[distribution], (np.arange(1, 6), 7), None, None, source) is None


def test_distributions_without_a_standard_form_are_shared_where_parameters_agree():
    source, noise = Source(np.random.default_rng(0)), SharedNoise(500)
    first, again, other = (
        noise.draw(0, DISTRIBUTIONS["geometric"], (p,), None, None, source) for p in (0.5, 0.5, 0.4)
    )
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    first[:] = 0  # as a mechanism may do with what it drew
    assert np.array_equal(noise.draw(0, DISTRIBUTIONS["geometric"], (0.5,), None, None, source), again)


BAD = (-1.0, math.nan, math.inf, np.float64(-1.0), np.array([1.0, -1.0]), np.array([1.0, math.nan]), "1", None, 0.0)


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_scales_that_numpy_treats_in_its_own_way_are_left_to_it(bad):
    source = Source(np.random.default_rng(0))
    for distribution in ("laplace", "normal", "np.random.gumbel"):
        assert SharedNoise(5).draw(0, DISTRIBUTIONS[distribution], (0.0, bad), None, None, source) is None
    assert SharedNoise(5).draw(0, DISTRIBUTIONS["exponential"], (bad,), None, None, source) is None


@pytest.mark.parametrize(
    "ends",
    [
        (1.0, 0.0),
        (0.0, math.nan),
        (-math.inf, 0.0),
        (np.int8(100), np.int8(-100)),
        (np.uint8(5), np.uint8(3)),
    ],
)
def test_ends_that_numpy_treats_in_its_own_way_are_left_to_it(ends):
    source = Source(np.random.default_rng(0))
    for distribution in ("uniform", "np.random.uniform", "random.uniform"):
        assert SharedNoise(5).draw(0, DISTRIBUTIONS[distribution], ends, None, None, source) is None
