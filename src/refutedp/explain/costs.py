"""What it costs, in units of ε, that a value moves where noise of a distribution hides it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from refutedp.model.claims import ApproxDP, Claim, GaussianDP, PureDP

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
    """What moves of these sizes cost, each over the scale of the noise that hides it; infinite beyond any ε.

    >>> cost_of_moves("laplace", [0.5, 0.25], PureDP(1.0)), cost_of_moves("normal", [1.0], PureDP(1.0))
    (0.75, inf)
    """
    total = sum(sizes)
    if total == 0:
        return 0.0
    match family(distribution):
        case "linear":
            return total
        case "normal":
            mu = math.sqrt(sum(size * size for size in sizes))
            if isinstance(claim, ApproxDP) and claim.delta > 0:
                return gaussian_epsilon(min(mu, 1e3), claim.delta)
            if isinstance(claim, PureDP | ApproxDP):
                return math.inf
            return mu
    return math.inf


def share_of_claim(distribution: str, cost: float, claim: Claim) -> float:
    """How many times what the claim allows this is; about, for claims in another currency than ε."""
    epsilon = claimed_epsilon(claim)
    if epsilon is not None:
        return cost / max(epsilon, 1e-9)
    if isinstance(claim, GaussianDP):
        return cost / claim.mu
    rough = max(claim.rough_epsilon, 1e-9)
    return cost / rough


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
