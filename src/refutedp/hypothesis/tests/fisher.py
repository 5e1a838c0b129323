"""The paper's test: thin the hits on the x side by e^-epsilon, then Fisher's exact test, averaged over the thinning.

The average is computed exactly, not by Monte Carlo. Each thinned p-value is valid; their average is *not* itself a
valid p-value (twice an average of p-values is), so verdicts should rest on `ratio`. It is here to reproduce
the paper's figures.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from refutedp.hypothesis.tests.ratio import log_binomial_pmf, log_hypergeometric_pmf, log_hypergeometric_upper
from refutedp.model.records import Counts

Floats: TypeAlias = NDArray[np.float64]

_NEGLIGIBLE = 65.0
"""Terms e^45 times smaller than the largest change nothing; the rest is slack for the estimate that finds them."""


def log_p_value(counts: Counts, epsilon: float) -> float:
    """log of the expectation of Fisher's p-value over the thinning Binomial(x, e^-epsilon).

    >>> round(math.exp(log_p_value(Counts(x=29, y=5, n_x=50, n_y=50), epsilon=1.0)), 4)
    0.1467
    """
    thin = math.exp(-max(epsilon, 0.0))
    kept = _window(counts, thin)
    terms = log_binomial_pmf(kept, counts.x, thin) + _log_fisher_tails(counts, kept)
    top = float(terms.max())
    return min(0.0, top + math.log(float(np.exp(terms - top).sum())))


def _log_fisher_tails(counts: Counts, kept: Floats) -> Floats:
    """log P(H >= k) for every k of a consecutive stretch, H hypergeometric with k + y draws.

    One more draw turns P(H >= k) into P(H >= k+1) by taking away P(H = k) times the chance that the new draw is not
    good. Summed from the far end only positive terms are added, so nothing is lost to cancellation.
    """
    total = counts.n_x + counts.n_y
    draws = kept + counts.y
    anchor = log_hypergeometric_upper(kept[-1:], total, counts.n_x, draws[-1:])
    left = total - draws[:-1]
    bad = np.maximum(1 - (counts.n_x - kept[:-1]) / left, 0.0)
    with np.errstate(divide="ignore"):
        steps = log_hypergeometric_pmf(kept[:-1], total, counts.n_x, draws[:-1]) + np.log(bad)
    tails = np.logaddexp.accumulate(np.concatenate([anchor, steps[::-1]]))[::-1]
    return np.asarray(np.minimum(tails, 0.0))


def _window(counts: Counts, thin: float) -> Floats:
    """The stretch of 0..x that holds every term that matters.

    Above its mean a hypergeometric tail is at most the number of its terms times the first of them, so the product
    of the two pmfs shows, to within that factor, where the terms are; it has one peak, and whatever lies
    `_NEGLIGIBLE` below the peak is left out.
    """
    grid = np.unique(np.linspace(0, counts.x, min(counts.x, 4000) + 1).round())
    total = counts.n_x + counts.n_y
    draws = grid + counts.y
    tail = np.where(grid > draws * counts.n_x / total, log_hypergeometric_pmf(grid, total, counts.n_x, draws), 0.0)
    size = log_binomial_pmf(grid, counts.x, thin) + tail
    inside = np.flatnonzero(size >= size.max() - _NEGLIGIBLE)
    low = grid[max(inside[0] - 1, 0)]
    high = grid[min(inside[-1] + 1, len(grid) - 1)]
    return np.arange(low, high + 1)
