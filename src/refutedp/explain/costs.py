"""What it costs, in units of ε, that a value moves where noise of a distribution hides it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from refutedp.model.claims import ZCDP, ApproxDP, Claim, PureDP, RenyiDP

_LINEAR = frozenset({"laplace", "logistic", "gumbel"})
_ONE_SIDED = frozenset({"exponential", "expovariate", "standard_exponential", "geometric", "rayleigh", "gamma"})
_NORMAL = frozenset({"normal", "gauss", "normalvariate", "standard_normal", "randn"})


def family(distribution: str) -> str:
    """The kind of a distribution, whichever library draws it: linear, one-sided, normal, or its own name.

    >>> family("np.random.laplace"), family("random.gauss"), family("integers")
    ('linear', 'normal', 'integers')
    """
    name = distribution.rpartition(".")[2]
    for kind, names in (("linear", _LINEAR), ("one-sided", _ONE_SIDED), ("normal", _NORMAL)):
        if name in names:
            return kind
    return "uniform" if name in ("random", "random_sample", "rand", "uniform") else name


def claimed_epsilon(claim: Claim) -> float | None:
    """The ε of a claim that has one; None for claims in another currency."""
    return claim.epsilon if isinstance(claim, PureDP | ApproxDP) else None


def claimed_amount(claim: Claim) -> float:
    """What the claim allows, in its own currency: its ε, ρ or μ.

    >>> claimed_amount(ZCDP(0.5)), claimed_amount(PureDP(2.0))
    (0.5, 2.0)
    """
    return float(getattr(claim, claim.parameter)) if claim.parameter else claim.rough_epsilon


def in_words(cost: float, claim: Claim) -> str:
    """A cost with the letter of the claim's currency.

    >>> in_words(0.25, ZCDP(0.5))
    'ρ 0.25'
    """
    return f"{claim.letter} {amount(cost)}"


def amount(value: float, digits: int = 3) -> str:
    """A number of so many digits, in thousands where it is large; whole numbers are exact.

    >>> amount(2.718), amount(2589.4, 4), amount(1714.2), amount(65535.0)
    ('2.72', '2,589', '1,710', '65,535')
    """
    if abs(value) < 1e9 and float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:.{digits}g}" if abs(value) < 1000 or abs(value) >= 1e9 else f"{float(f'{value:.{digits}g}'):,.0f}"


def needed_factor(distribution: str, ratio: float, claim: Claim) -> float:
    """How many times the noise divides a cost by `ratio`: its root where the cost falls with the square of the scale.

    >>> needed_factor("normal", 4.0, ZCDP(0.1)), needed_factor("laplace", 4.0, PureDP(1.0))
    (2.0, 4.0)
    """
    squared = isinstance(claim, ZCDP | RenyiDP) and family(distribution) == "normal"
    return math.sqrt(ratio) if squared else ratio


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest ε for which noise that hides a distance of μ standard deviations is (ε, δ)-private.

    "Improving the Gaussian Mechanism for Differential Privacy", Balle & Wang 2018, Theorem 8.

    >>> round(gaussian_epsilon(1.0, 1e-5), 3)
    4.377
    """

    def delta_at(epsilon: float) -> float:
        return _phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * _phi(-mu / 2 - epsilon / mu)

    low, high = 0.0, 1.0
    while delta_at(high) > delta and high < 500:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
    return high


def _phi(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


def cost_of_moves(distribution: str, sizes: Sequence[float], claim: Claim) -> float:
    """What moves of these sizes cost in the claim's currency, each over the scale of its noise; infinite beyond any.

    ε-DP is ε²/2-zCDP: "Concentrated Differential Privacy", Bun & Steinke 2016, Proposition 3.3.

    >>> cost_of_moves("laplace", [0.5, 0.25], PureDP(1.0)), cost_of_moves("normal", [1.0], PureDP(1.0))
    (0.75, inf)
    >>> cost_of_moves("normal", [1.0], ZCDP(0.1)), cost_of_moves("normal", [1.0], RenyiDP(4.0, 1.0))
    (0.5, 2.0)
    """
    total = sum(sizes)
    if total == 0:
        return 0.0
    match family(distribution):
        case "linear" if isinstance(claim, ZCDP | RenyiDP):
            return min(total, _rho_cost(total, claim)) if isinstance(claim, RenyiDP) else _rho_cost(total, claim)
        case "linear":
            return total
        case "normal":
            mu = math.sqrt(sum(size * size for size in sizes))
            if isinstance(claim, ApproxDP) and claim.delta > 0:
                return gaussian_epsilon(min(mu, 1e3), claim.delta)
            if isinstance(claim, PureDP | ApproxDP):
                return math.inf
            return _rho_cost(mu, claim) if isinstance(claim, ZCDP | RenyiDP) else mu
    return math.inf


def _rho_cost(moved: float, claim: ZCDP | RenyiDP) -> float:
    """What a shift by so many deviations costs as zCDP, or at the claim's order."""
    return moved * moved / 2 * (claim.alpha if isinstance(claim, RenyiDP) else 1.0)


def share_of_claim(cost: float, claim: Claim) -> float:
    """How many times what the claim allows this is."""
    return cost / max(claimed_amount(claim), 1e-9)


def cost_of_probabilities(one: Sequence[float], other: Sequence[float]) -> float:
    """What it costs that a choice has other probabilities; infinite where an option has none on one side.

    >>> round(cost_of_probabilities([0.2, 0.8], [0.4, 0.6]), 3)
    0.693
    """
    if len(one) != len(other):
        return math.inf
    worst = 0.0
    for p, q in zip(one, other, strict=True):
        if p == q:
            continue
        if p <= 0 or q <= 0:
            return math.inf
        worst = max(worst, abs(math.log(p / q)))
    return worst
