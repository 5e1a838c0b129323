"""False alarms on the border of the claim, P1 = e^epsilon P2: at most alpha for the default test."""

import math

import numpy as np
import pytest

from refutedp.hypothesis.tests.ratio import log_binomial_upper

SIMULATIONS = 4000


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1.5, 3.0])
@pytest.mark.parametrize("rate", [1e-4, 0.01, 0.04])
@pytest.mark.parametrize("share", [0.3, 0.5])
def test_allocation_never_exceeds_alpha(epsilon, rate, share):
    rng = np.random.default_rng([int(epsilon * 10), int(rate * 1e4), int(share * 10)])
    runs = 20_000
    n_x = rng.binomial(runs, share, SIMULATIONS)
    x = rng.binomial(n_x, rate * math.exp(epsilon))
    y = rng.binomial(runs - n_x, rate)
    odds = share / (1 - share) * math.exp(epsilon)
    p = np.exp(log_binomial_upper(x, x + y, odds / (1 + odds)))
    for alpha in (0.05, 0.01):
        # If the true rate were alpha, more than this would be seen with probability below 1e-6.
        allowed = alpha + 4.9 * math.sqrt(alpha * (1 - alpha) / SIMULATIONS)
        assert np.mean(p <= alpha) <= allowed
