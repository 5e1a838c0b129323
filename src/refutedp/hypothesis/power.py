"""What a budget could have seen: the smallest real epsilon that the allocation test would have caught."""

from __future__ import annotations

import math
from bisect import bisect_left

from refutedp.hypothesis.tails import log_binomial_upper
from refutedp.hypothesis.tests import paired as paired
from refutedp.model.claims.claim import bisected
from refutedp.model.records import Counts

POWER = 0.8
"""A violation counts as catchable when four of five repetitions would catch it."""
_BAD_LUCK = 0.8416
"""The standard deviations below the mean that one of five repetitions falls by."""


def detectable_epsilon(counts: Counts, epsilon: float, significance: float) -> float:
    """The smallest real epsilon for which this event, at these sample sizes, rejects `epsilon` with power 0.8.

    The event's rate on the y side is taken as observed (at least half a hit); the number of hits as expected.
    Infinite when no epsilon would do, for the rate on the x side cannot exceed one.
    """
    rate = max(counts.y, 0.5) / max(counts.n_y, 1)
    # Paired runs with a hit on d2 only have none on d1.
    unpaired = 0 if counts.both is None else max(counts.y, 1) - max(counts.both, int(counts.y == 0))
    most = math.log1p(-unpaired / max(counts.n_y, 1)) - math.log(rate) if unpaired < counts.n_y else -math.inf
    if most <= epsilon or not _caught(counts, rate, most, epsilon, significance):
        return math.inf
    return bisected(lambda real: _caught(counts, rate, real, epsilon, significance), epsilon, most, close=1e-4)[1]


def _caught(counts: Counts, rate: float, real: float, epsilon: float, significance: float) -> bool:
    from scipy import special

    if counts.both is not None:
        unlucky = _unlucky_pairs(counts, rate, real)
        return unlucky is not None and paired.log_p_value(unlucky, epsilon) <= math.log(significance)

    runs = counts.n_x + counts.n_y
    odds = counts.share / (1 - counts.share)
    hits = round(runs * (counts.share * math.exp(real) * rate + (1 - counts.share) * rate))
    under_claim = float(special.expit(epsilon + math.log(odds)))
    in_truth = float(special.expit(real + math.log(odds)))
    critical = _critical(hits, under_claim, significance)
    return critical <= hits and bool(log_binomial_upper(critical, hits, in_truth) >= math.log(POWER))


def _critical(n: int, p: float, significance: float) -> int:
    """The smallest x with P(Binomial(n, p) >= x) <= significance; n + 1 if there is none."""
    return bisect_left(range(n + 1), True, key=lambda x: bool(log_binomial_upper(x, n, p) <= math.log(significance)))


def _unlucky_pairs(counts: Counts, rate: float, real: float) -> Counts | None:
    """The hits on paired runs at a real epsilon when chance is as bad as in one of five repetitions; None if
    impossible.

    Where the event happens on d2 only is taken as observed; on d1 only it happens as often as the real epsilon asks.
    """
    assert counts.both is not None
    n, y = counts.n_y, max(counts.y, 1)
    both = max(counts.both, 1) if counts.y == 0 else counts.both
    x = n * rate * math.exp(real)
    only_one_side = max(x - both, 0.0) + (y - both)
    seen = round(x * math.exp(-_BAD_LUCK * math.sqrt((only_one_side + 1) / (x * y))))
    if not both <= seen <= n - (y - both):
        return None
    return Counts(seen, y, n, n, both=both)


def can_ever_convict(n_x: int, n_y: int, epsilon: float, significance: float, share: float = 0.5) -> bool:
    """Whether even the clearest possible outcome (every x run a hit, no y run) has p <= significance."""
    log_odds = epsilon + math.log(share / (1 - share))
    return -n_x * math.log1p(math.exp(-log_odds)) <= math.log(significance)
