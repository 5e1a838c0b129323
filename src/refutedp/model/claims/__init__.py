"""What a claim permits: the largest P1 allowed for a given P2, and the tangents of that bound."""

from refutedp.model.claims.approximate import ApproxDP, PureDP
from refutedp.model.claims.claim import (
    Claim,
    Tangent,
    claim_from_dict,
    number_from_zero,
    positive_number,
    small_probability,
    smallest_epsilon,
)
from refutedp.model.claims.gaussian_dp import GaussianDP
from refutedp.model.claims.renyi import ZCDP, RenyiDP
from refutedp.model.claims.tradeoff import FDP, Lines, gaussian_composition

__all__ = [
    "FDP",
    "ZCDP",
    "ApproxDP",
    "Claim",
    "GaussianDP",
    "Lines",
    "PureDP",
    "RenyiDP",
    "Tangent",
    "claim_from_dict",
    "gaussian_composition",
    "number_from_zero",
    "positive_number",
    "small_probability",
    "smallest_epsilon",
]
