"""The exact test of P1 <= e^epsilon P2 and its bound: for independent runs (`allocation`) and for paired runs."""

from __future__ import annotations

from refutedp.hypothesis.tests import allocation
from refutedp.hypothesis.tests import paired as paired
from refutedp.model.records import Counts


def log_p_value(counts: Counts, epsilon: float) -> float:
    """log of a valid p-value for H0: P1 <= e^epsilon P2, at every sample size.

    >>> log_p_value(Counts(60, 20, 100, 100, both=20), 0.5) < log_p_value(Counts(60, 20, 100, 100), 0.5)
    True
    """
    test = allocation.log_p_value if counts.both is None else paired.log_p_value
    return test(counts, epsilon)


def epsilon_lower_bound(counts: Counts, confidence: float) -> float:
    """The largest epsilon that P1 > e^epsilon P2 exceeds with this confidence."""
    bound = allocation.epsilon_lower_bound if counts.both is None else paired.epsilon_lower_bound
    return bound(counts, confidence)
