"""Stop when the evidence suffices: e-processes on randomly allocated runs, valid whenever one stops (Ville).

An e-process is at most 1 on average at every stopping time if the claim holds, so it ever reaches 1/alpha with
probability at most alpha. What it bets on may use the search runs; it is fixed before the first confirmation run.
Both processes here depend on the totals alone, so the size of the batches is free.

`SPENT` of alpha goes to stopping early, the rest to the fixed-size test at the planned end of the budget: a blatant
bug is convicted after hundreds of runs, and a borderline one costs a few percent more than the fixed-size test.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np

from refutedp.hypothesis.betting.mixture import Prior, log_likelihood, log_mixture, lower_bound, prior_for
from refutedp.hypothesis.betting.stakes import Bets, bets_for
from refutedp.hypothesis.claim_test import choose_tangent, is_ratio, search_rates
from refutedp.hypothesis.tests.paired import PairedProcess, stakes_for
from refutedp.model.claims import Claim, Tangent
from refutedp.model.records import Counts

SPENT = 0.25
"""The part of alpha for stopping early."""
FIRST_BATCH, FIRST_SOON = 500, 100
LARGEST_BATCH = 200_000
GROWTH = 0.5
SOON = 0.05
"""Where each run counts, batches start at `FIRST_SOON` and grow by `SOON`: they cost time, and stop sooner."""
ANYWAY = 1.0
"""Where all runs are made anyway, batches only say when it was decided, and double."""


class EProcess(Protocol):
    """Evidence that grows batch by batch; a frozen record, so `update` gives the next one."""

    @property
    def counts(self) -> Counts:
        """All runs so far."""
        ...

    @property
    def log_e(self) -> float:
        """log of the e-value of all runs so far."""
        ...

    @property
    def log_peak(self) -> float:
        """The largest `log_e` after any batch so far; exp(-log_peak) is a p-value valid at any stop."""
        ...

    def update(self, batch: Counts) -> EProcess:
        """The evidence with one more batch of fresh runs."""
        ...

    def rejects(self, alpha: float) -> bool:
        """Whether the claim may be rejected here and now, with false alarms at most alpha over all stops."""
        ...


@dataclass(frozen=True, slots=True)
class RatioProcess:
    """For P1 <= e^epsilon P2: each hit falls on the x side with probability at most q under the claim.

    E = (mixture of likelihoods) / (largest likelihood with a probability of at most q). Under any q' <= q it is at
    most mixture / likelihood(q'), a martingale: so E is an e-process for the whole claim, as in Robbins' mixtures.

    >>> process = RatioProcess(0.5, prior_for(math.log(4), 0.1, 0.5), Counts(0, 0, 0, 0))
    >>> process.update(Counts(80, 20, 250, 250)).rejects(0.001)
    True
    """

    epsilon: float
    prior: Prior
    counts: Counts
    log_peak: float = 0.0

    @property
    def log_e(self) -> float:
        """log of the e-value of all runs so far."""
        x, y = self.counts.x, self.counts.y
        if x + y == 0:
            return 0.0
        odds = math.exp(self.epsilon) * self.counts.share / (1 - self.counts.share)
        q = min(odds / (1 + odds), x / (x + y))
        return log_mixture(x, y, self.prior) - log_likelihood(x, y, q)

    def update(self, batch: Counts) -> RatioProcess:
        """The evidence with one more batch of fresh runs."""
        after = replace(self, counts=self.counts + batch)
        return replace(after, log_peak=max(self.log_peak, after.log_e))

    def rejects(self, alpha: float) -> bool:
        """Whether the e-process has reached 1/alpha."""
        return self.log_peak >= -math.log(alpha)

    def epsilon_lower_bound(self, confidence: float) -> float:
        """A lower bound on log(P1/P2) that holds at every stop at once (a confidence sequence).

        The same mixture against every smaller probability; it exceeds the claim exactly when E reaches
        1/(1 - confidence) now. Minus infinity before the first hit on the x side.
        """
        q = lower_bound(self.counts.x, self.counts.y, self.prior, 1 - confidence)
        if q <= 0:
            return -math.inf
        return math.log(q) - math.log1p(-q) - math.log(self.counts.share / (1 - self.counts.share))


@dataclass(frozen=True, slots=True)
class LineProcess:
    """For P1 <= slope P2 + intercept: a mixture of fixed bets on each run (see `betting`).

    >>> line = Tangent(math.e, 0.01)
    >>> process = LineProcess(bets_for(line, 0.3, 0.05, 0.5), Counts(0, 0, 0, 0))
    >>> process.update(Counts(150, 25, 500, 500)).rejects(0.001)
    True
    """

    bets: Bets
    counts: Counts
    log_peak: float = 0.0

    @property
    def log_e(self) -> float:
        """log of the e-value of all runs so far."""
        return self.bets.log_wealth(self.counts)

    def update(self, batch: Counts) -> LineProcess:
        """The evidence with one more batch of fresh runs."""
        after = replace(self, counts=self.counts + batch)
        return replace(after, log_peak=max(self.log_peak, after.log_e))

    def rejects(self, alpha: float) -> bool:
        """Whether the e-process has reached 1/alpha."""
        return self.log_peak >= -math.log(alpha)


Process: TypeAlias = RatioProcess | LineProcess | PairedProcess


def start_paired(claim: Claim, search: Counts) -> PairedProcess:
    """The e-process for paired runs, betting on what search runs showed."""
    epsilon = float(claim.epsilon)  # type: ignore[attr-defined]
    return PairedProcess(epsilon, stakes_for(search, epsilon), Counts(0, 0, 0, 0, both=0))


def start(claim: Claim, search: Counts, share: float, tangent: Tangent | None = None) -> RatioProcess | LineProcess:
    """The e-process for independent runs, of which `share` go to the x side.

    >>> from refutedp.model.claims import PureDP
    >>> start(PureDP(1.0), Counts(400, 50, 1000, 1000), share=0.3).log_e
    0.0
    """
    none = Counts(0, 0, 0, 0, share)
    p1, p2 = search_rates(search)
    if is_ratio(claim):
        spread = math.sqrt(1 / (search.x + 0.5) + 1 / (search.y + 0.5))
        return RatioProcess(claim.epsilon, prior_for(math.log(p1 / p2), spread, share), none)  # type: ignore[attr-defined]
    line = tangent if tangent is not None else choose_tangent(claim, p1, p2, share)
    return LineProcess(bets_for(line, p1, p2, share), none)


def batches(
    total: int, first: int = FIRST_BATCH, largest: int = LARGEST_BATCH, growth: float = GROWTH
) -> Iterator[int]:
    """Sizes of the batches that make up `total` runs: each a part, `growth`, of what was run before, within limits.

    >>> list(batches(5000))
    [500, 500, 500, 750, 1124, 1626]
    """
    done = 0
    while done < total:
        # Even, for runs may come in pairs.
        size = min(max(first, 2 * int(done * growth / 2)), largest, total - done)
        # A last scrap of less than a batch joins the one before it.
        size = total - done if total - done - size < first else size
        yield size
        done += size


def early_alpha(alpha: float) -> float:
    """The level at which an e-process may stop before the planned end."""
    return SPENT * alpha


def log_p_any_time(process: EProcess) -> float:
    """log of a p-value valid at whatever moment one stops before the planned end."""
    return min(0.0, -process.log_peak - math.log(SPENT))


def log_p_at_the_end(process: EProcess, fixed: float) -> float:
    """log of the p-value at the planned end: `fixed` is the log p-value of the fixed-size test on all the runs.

    Valid by the union bound: the e-process has `SPENT` of alpha and the fixed-size test the rest.
    """
    return min(log_p_any_time(process), fixed - math.log1p(-SPENT))


def bound_confidence(alpha: float, early: bool) -> float:
    """The confidence to ask of a lower bound: of the confidence sequence at an early stop, or of a bound at the end.

    The better of the two bounds is right with probability 1 - alpha.
    """
    return 1 - alpha * (SPENT if early else 1 - SPENT)


def runs_to_convict(
    process: EProcess, share: float, p1: float, p2: float, alpha: float, total: int, seed: int
) -> int:
    """How many runs until the e-process convicts in one simulation at these true rates; `total` + 1 if never."""
    rng = np.random.default_rng(seed)
    done = 0
    for size in batches(total):
        n_x = int(rng.binomial(size, share))
        x, y = int(rng.binomial(n_x, p1)), int(rng.binomial(size - n_x, p2))
        process = process.update(Counts(x, y, n_x, size - n_x, share))
        done += size
        if process.rejects(alpha):
            return done
    return total + 1
