"""Noise-free draws: every method of every generator, in the form that the real call returns, or refused."""

from __future__ import annotations

import numpy as np
import pytest

from refutedp.tracing.copier import Stage
from refutedp.tracing.distributions import DISTRIBUTIONS, Source
from refutedp.tracing.without_noise import NoiseFree
from tests.sampling.lifted.test_generator_conformance import CALLS, of_the_library, on

LIMITS = ("dtype=", "axis=", "[[", "spawn(", "(1, 'a')", "[None, 1]")
"""What a run without noise does not mind, and may answer in another form."""


def form(value):
    """What is not random about a draw."""
    array = np.asarray(value)
    return array.shape, array.dtype.kind if array.size else None, isinstance(value, np.ndarray)


@pytest.mark.filterwarnings("ignore")
def test_noise_free_draws_have_the_form_of_the_real_ones():
    answered, wrong = 0, []
    for expression in CALLS:
        if any(limit in expression for limit in LIMITS):
            continue
        try:
            expected = of_the_library(expression)()
        except Exception:
            continue  # Parameters are not checked where nothing is drawn.
        try:
            got = on(expression, Stage(NoiseFree()))()
        except NotImplementedError:
            continue
        answered += 1
        if form(got) != form(expected):
            wrong.append((expression, form(got), form(expected)))
    assert answered > 600
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize(
    "name", [name for name, row in DISTRIBUTIONS.items() if row.noise.standard is not None], ids=str
)
def test_quantiles_are_those_of_the_sampler(name):
    row = DISTRIBUTIONS[name]
    standard = row.noise.standard
    drawn = row.sample(Source(np.random.default_rng(3)), standard.fit.standard, 40_000)
    levels = np.array([0.01, 0.1, 0.3, 0.5])
    for quantile, sign in ((standard.lower, 1), (standard.upper, -1)):
        share = [(sign * drawn <= sign * value).mean() for value in quantile(levels)]
        assert np.abs(share - levels).max() < 4 * 0.5 / np.sqrt(40_000)
