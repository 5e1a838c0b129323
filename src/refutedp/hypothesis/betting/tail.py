"""A bet on runs within a part of the noise of known probability, which the rest of d2's noise cannot join.

Let the noise of d1 lie in a part with probability p1, and let the event be possible on d2 only where its noise lies
in a part with probability p2. Then P1 is at least p1 times the share of d1's runs there that lie in the event, and P2
is at most p2. If the claim allows m for P1 at p2, that share is at most m / p1: a coin that shows heads no more often
than that, on which the likelihood ratio of nearly sure heads is an e-process.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from refutedp.hypothesis.betting.anytime import EProcess
from refutedp.model.claims.claim import bisected
from refutedp.model.importance import TailHits

MISSED = 1e-4
"""How many of the runs within the part are expected to miss the event, through rounding, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TailProcess(EProcess[TailHits]):
    """Evidence against a share of hits of at most `share`.

    >>> start_tail(0.9).update(TailHits(1000, 1000)).rejects(0.001), start_tail(1.0).update(TailHits(10, 10)).log_e
    (True, 0.0)
    """

    share: float
    missed: float

    @property
    def log_e(self) -> float:
        """log of the e-value of all runs so far."""
        return self.log_e_against(self.share)

    def log_e_against(self, share: float) -> float:
        """The same against another share."""
        if share >= 1 - self.missed:
            return 0.0
        hits, misses = self.hits.x, self.hits.n_x - self.hits.x
        return hits * math.log((1 - self.missed) / share) + misses * math.log(self.missed / (1 - share))

    def share_lower_bound(self, confidence: float) -> float:
        """A lower bound on the share of hits: every smaller one loses the same bet."""
        needed = -math.log(1 - confidence)
        return bisected(lambda share: self.log_e_against(share) < needed, 1e-9, 1.0, halvings=50)[0]


def start_tail(share: float) -> TailProcess:
    """Before the first run."""
    return TailProcess(hits=TailHits(), share=share, missed=min(MISSED, max(1 - share, 1e-12) / 10))
