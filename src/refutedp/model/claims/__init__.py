"""What a claim permits: the largest P1 allowed for a given P2, and the tangents of that bound."""

from refutedp.model.claims.claim import ApproxDP, Claim, PureDP, Tangent, claim_from_dict, smallest_epsilon
from refutedp.model.claims.renyi import ZCDP, RenyiDP
from refutedp.model.claims.tradeoff import FDP, GaussianDP, Lines, gaussian_composition

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
    "smallest_epsilon",
]
