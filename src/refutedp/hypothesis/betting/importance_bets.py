"""Evidence that grows with importance-sampled runs, valid whenever one stops.

A unit split among stakes, each an e-process.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from refutedp.model.claims import Tangent
from refutedp.model.records import Counts

Floats: TypeAlias = NDArray[np.float64]


class Hits(Protocol):
    """Hits of importance-sampled runs and their weights, which add up."""

    @property
    def runs(self) -> int:
        """Runs on both sides."""
        ...

    @property
    def counts(self) -> Counts:
        """Hits as they were drawn, without their weights."""
        ...

    @property
    def rates(self) -> tuple[float, float]:
        """Estimates of P1 and P2."""
        ...

    @property
    def spreads(self) -> tuple[float, float]:
        """Standard errors of the two estimates."""
        ...

    def __add__(self, other: Any) -> Self: ...


H = TypeVar("H", bound=Hits)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportanceProcess(Generic[H]):
    """Evidence against P1 <= slope P2 + intercept; `shares` are the parts of the unit on each stake."""

    line: Tangent
    shares: tuple[float, ...]
    hits: H
    log_peak: float = 0.0

    def log_wealths(self, line: Tangent) -> Floats:
        """log of what a unit on each stake has become against a line."""
        raise NotImplementedError

    @property
    def log_e(self) -> float:
        """log of the e-value of all runs so far."""
        return self.log_e_against(self.line)

    def log_e_against(self, line: Tangent) -> float:
        """The same against another line, with the same parts staked."""
        if not self.hits.runs:
            return 0.0
        from scipy import special

        return float(special.logsumexp(np.log(self.shares) + self.log_wealths(line)))

    def epsilon_lower_bound(self, confidence: float) -> float:
        """A lower bound on log(P1/P2) that holds at every stop at once: every smaller epsilon loses the same bets."""
        needed = -math.log(1 - confidence)
        low, high = -10.0, 40.0
        for _ in range(26):
            middle = (low + high) / 2
            rejected = self.log_e_against(Tangent(math.exp(middle), 0.0)) >= needed
            low, high = (middle, high) if rejected else (low, middle)
        return low if low > -9.9 else -math.inf

    def update(self, batch: H) -> Self:
        """The evidence with one more batch of fresh runs."""
        after = replace(self, hits=self.hits + batch)
        return replace(after, log_peak=max(self.log_peak, after.log_e))

    def rejects(self, alpha: float) -> bool:
        """Whether the e-process has reached 1/alpha."""
        return self.log_peak >= -math.log(alpha)
