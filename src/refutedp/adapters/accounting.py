"""Claims of dp-accounting: what an accountant, or an event, promises."""

from __future__ import annotations

from typing import Any

from refutedp.model.claims import FDP, ApproxDP, Claim, GaussianDP, PureDP
from refutedp.model.errors import UsageError

try:
    import dp_accounting as dpa
except ImportError as error:
    raise ImportError(
        'refutedp.adapters.accounting needs dp-accounting: pip install "refutedp[accounting]"'
    ) from error

EPSILONS = (*(round(0.1 * i, 1) for i in range(40)), *(4.0 + 0.5 * i for i in range(9)))
"""Where the curve of an accountant is read off: every line of it is a promise of its own, and costs time."""


def claim_from(promised: Any, delta: float | None = None) -> Claim:
    """The claim of a privacy accountant, or of an event such as `GaussianDpEvent` or a composition of events.

    With `delta`, the accountant's epsilon there; without, all it promises: a Gaussian or Laplace event gives its own
    claim, anything else the accountant's whole curve of epsilons and deltas. Upper bounds of an accountant are claims
    that hold, only weaker ones.

    >>> import dp_accounting as dpa
    >>> print(claim_from(dpa.GaussianDpEvent(2.0)), "|", claim_from(dpa.LaplaceDpEvent(2.0)))
    0.5-Gaussian differential privacy | 0.5-differential privacy
    >>> claim = claim_from(dpa.PoissonSampledDpEvent(0.1, dpa.GaussianDpEvent(1.0)), delta=1e-5)
    >>> round(claim.epsilon, 2)
    1.11
    """
    if isinstance(promised, dpa.PrivacyAccountant):
        return _of_accountant(promised, delta)
    if not isinstance(promised, dpa.DpEvent):
        raise UsageError(
            f"claim_from was given a {type(promised).__name__}: give an accountant or an event of dp_accounting"
        )
    if delta is None and isinstance(promised, dpa.GaussianDpEvent):
        return GaussianDP(1 / promised.noise_multiplier)
    if delta is None and isinstance(promised, dpa.LaplaceDpEvent):
        return PureDP(1 / promised.noise_multiplier)
    for accountant in (dpa.pld.PLDAccountant(), dpa.rdp.RdpAccountant()):
        if accountant.supports(promised):
            return _of_accountant(accountant.compose(promised), delta)
    raise UsageError(f"no accountant of dp_accounting knows {promised}: give check a claim of your own")


def _of_accountant(accountant: Any, delta: float | None) -> Claim:
    if delta is not None:
        return ApproxDP(float(accountant.get_epsilon(delta)), delta)
    deltas = [min(float(accountant.get_delta(epsilon)), 1.0) for epsilon in EPSILONS]
    return FDP.from_profile(EPSILONS, deltas, type(accountant).__name__)
