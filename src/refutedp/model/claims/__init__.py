"""What a claim permits: the largest P1 allowed for a given P2, and the tangents of that bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refutedp.model.claims.approximate import ApproxDP, PureDP
from refutedp.model.claims.claim import Claim, Tangent
from refutedp.model.claims.gaussian_dp import GaussianDP
from refutedp.model.claims.renyi import ZCDP, RenyiDP, smallest_renyi, smallest_rho
from refutedp.model.claims.tradeoff import FDP, Lines, gaussian_composition
from refutedp.model.claims.validate import number_from_zero, positive_number, small_probability
from refutedp.model.errors import UsageError

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
    "smallest_renyi",
    "smallest_rho",
]

_KINDS: dict[str, type[Claim]] = {kind.__name__: kind for kind in (PureDP, ApproxDP, ZCDP, RenyiDP, GaussianDP)}


def claim_from_dict(saved: Mapping[str, Any]) -> Claim:
    """The claim that `to_dict` saved.

    >>> claim_from_dict(ZCDP(0.5).to_dict())
    ZCDP(rho=0.5)
    """
    rest = {key: value for key, value in saved.items() if key != "claim"}
    name = saved.get("claim")
    if name == "FDP" and isinstance(rest.get("profile"), list):
        return FDP(Lines(tuple((float(e), float(d)) for e, d in rest["profile"])), str(rest.get("name", "")))
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise UsageError(f"{name!r} is a claim that this version does not know")
    try:
        return kind(**rest)
    except TypeError as error:
        raise UsageError(f"the saved {name} has the wrong fields: {', '.join(sorted(rest)) or 'none'}") from error
