"""How search ranks events: lower bounds on the claim's own measure of leakage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refutedp.records import Level
from refutedp.stats.allocation import lower_bounds


@dataclass(frozen=True, slots=True)
class RatioScorer:
    """Bounds on epsilon = log(P1 / P2) from equally many runs on both sides."""

    def exact(self, x: NDArray[np.int64], y: NDArray[np.int64], level: Level) -> NDArray[np.float64]:
        """Clopper-Pearson, as in the test itself."""
        return lower_bounds(x, y, level)

    def rough(self, x: NDArray[np.int64], y: NDArray[np.int64], level: Level) -> NDArray[np.float64]:
        """Wilson's approximation, a hundred times cheaper."""
        z2 = normal_quantiles(level) ** 2
        s = np.maximum(x + y, 1).astype(np.float64)
        p = x / s
        q = (p + z2 / (2 * s) - np.sqrt(z2 * (p * (1 - p) / s + z2 / (4 * s * s)))) / (1 + z2 / s)
        with np.errstate(divide="ignore"):
            return np.where(x > 0, np.log(np.maximum(q, 1e-300) / np.maximum(1 - q, 1e-300)), -np.inf)

    def hope(self, x: NDArray[np.int64], y: NDArray[np.int64], level: Level) -> NDArray[np.float64]:
        """As rough."""
        return self.rough(x, y, level)


def normal_quantiles(level: Level) -> Level:
    """The quantiles of the standard normal law at the levels, found once for each stretch of equal levels."""
    from scipy import special

    if not isinstance(level, np.ndarray) or len(level) < 2:
        return special.ndtri(level)  # type: ignore[no-any-return]
    fresh = np.flatnonzero(np.append(True, level[1:] != level[:-1]))
    return np.repeat(special.ndtri(level[fresh]), np.diff(np.append(fresh, len(level))))
