"""Trade-off functions: that of Gaussian noise, and any other (f-DP), such as that of a composed mechanism."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from refutedp.model.claims.claim import ApproxDP, Claim, Floats, Tangent, all_bisected, outwards, suprema
from refutedp.model.errors import UsageError
from refutedp.model.settings import positive_number

_HALVINGS = 60
_NEARLY_ONE = 1 - 1e-15
_EPSILONS = tuple(float(e) for e in np.round(np.concatenate([np.linspace(0, 4, 81), np.linspace(4.1, 12, 80)]), 6))


@dataclass(frozen=True, slots=True)
class GaussianDP(Claim):
    """mu-GDP: distinguishing the inputs is at least as hard as telling N(0, 1) from N(mu, 1).

    P1 <= Phi(Phi^-1(P2) + mu): "Gaussian Differential Privacy", Dong, Roth & Su 2022, Definition 2.6.

    >>> round(GaussianDP(1.0).largest(0.1), 4)
    0.3891
    >>> print(GaussianDP(1))
    1-Gaussian differential privacy
    """

    mu: float
    letter: ClassVar[str] = "μ"
    parameter: ClassVar[str] = "mu"
    of_epsilon: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ("mu",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", positive_number("mu", self.mu))

    def _largest(self, p2: Floats) -> Floats:
        from scipy import special

        return np.asarray(special.ndtr(special.ndtri(p2) + self.mu))

    def tangent_at(self, p2: float) -> Tangent:
        """Slope phi(z + mu) / phi(z) at z = Phi^-1(p2); the intercept is the claim's delta at that slope."""
        from scipy import special

        z = float(special.ndtri(min(max(p2, 1e-300), 1 - 1e-16)))
        log_slope = min(max(-z * self.mu - self.mu**2 / 2, -700.0), 700.0)
        return Tangent(math.exp(log_slope), outwards(self.delta_at(log_slope)))

    def delta_at(self, epsilon: float) -> float:
        """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu): Corollary 2.13 there.

        >>> round(GaussianDP(1.0).delta_at(1.0), 6)
        0.126937
        """
        from scipy import special

        a, b = self.mu / 2 - epsilon / self.mu, -self.mu / 2 - epsilon / self.mu
        log_first, log_second = float(special.log_ndtr(a)), epsilon + float(special.log_ndtr(b))
        return max(0.0, -math.exp(log_first) * math.expm1(min(log_second - log_first, 0.0)))

    def least(self, p1: Floats, p2: Floats) -> Floats:
        """Phi^-1(P1) - Phi^-1(P2), or zero."""
        from scipy import special

        first = special.ndtri(np.clip(p1, 1e-300, _NEARLY_ONE))
        return np.asarray(np.maximum(first - special.ndtri(np.clip(p2, 1e-300, _NEARLY_ONE)), 0.0))

    def __str__(self) -> str:
        return f"{self.mu:g}-Gaussian differential privacy"


@dataclass(frozen=True, slots=True)
class Lines:
    """The trade-off function that a list of (epsilon, delta)-guarantees describes.

    f(a) = max over the list of max(0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)): "Gaussian Differential
    Privacy", Dong, Roth & Su 2022, Prop. 2.5 and 2.12.

    >>> Lines(((0.0, 0.25),))(0.5)
    0.25
    """

    pairs: tuple[tuple[float, float], ...]

    def __call__(self, alpha: Any) -> Any:
        """f(alpha), elementwise."""
        a = np.asarray(alpha, dtype=np.float64)[..., None]
        epsilon, delta = np.array(self.pairs, dtype=np.float64).T
        grow = np.exp(np.minimum(epsilon, 700.0))
        both = np.maximum(1 - delta - grow * a, np.maximum(1 - delta - a, 0.0) / grow)
        out = np.maximum(both.max(axis=-1), 0.0)
        return float(out) if np.ndim(alpha) == 0 else out


@dataclass(frozen=True, slots=True)
class FDP(Claim):
    """f-DP: a test that distinguishes the inputs with false-alarm rate a misses with probability at least f(a).

    `tradeoff` is f: convex, nonincreasing, f(a) <= 1 - a; NumPy arrays are passed when it takes them. As the claim
    holds for both orders of the inputs, the inverse of f bounds too ("Gaussian Differential Privacy", Dong, Roth & Su
    2022, Def. 2.3 and Prop. 2.4). A module-level function or a record can be pickled; a lambda cannot. Saved, it
    becomes the (epsilon, delta)-guarantees it implies (`Lines`), which never claim more than f does.

    >>> fair = FDP(Lines(((1.0, 1e-5),)), name="one release")
    >>> round(fair.largest(1e-3), 8)
    0.00272828
    >>> print(fair)
    f-differential privacy (one release)
    """

    tradeoff: Callable[[Any], Any]
    name: str = ""
    _vectorised: bool = field(default=True, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not callable(self.tradeoff):
            raise UsageError(f"tradeoff={self.tradeoff!r} must be a function of the false-alarm rate")
        grid = np.linspace(0.0, 1.0, 101)
        try:
            values = np.asarray(self.tradeoff(grid), dtype=np.float64)
            object.__setattr__(self, "_vectorised", values.shape == grid.shape)
        except (TypeError, ValueError, ArithmeticError):
            object.__setattr__(self, "_vectorised", False)
        try:
            values = self._miss(grid)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise UsageError(f"tradeoff fails on a false-alarm rate between 0 and 1: {error}") from error
        if not np.all(np.isfinite(values)) or np.any(values < -1e-9) or np.any(values > 1 - grid + 1e-9):
            raise UsageError(
                "tradeoff must lie between 0 and 1 - a: it is the miss rate that false-alarm rate a leaves"
            )
        if np.any(np.diff(values) > 1e-9) or np.any(np.diff(values, 2) < -1e-9):
            raise UsageError("tradeoff must be convex and must not increase")

    def _miss(self, alpha: Floats) -> Floats:
        if self._vectorised:
            return np.asarray(self.tradeoff(alpha), dtype=np.float64)
        return np.array([float(self.tradeoff(float(a))) for a in alpha.ravel()]).reshape(alpha.shape)

    def _largest(self, p2: Floats) -> Floats:
        # The inverse f^-1(p2) = inf {a: f(a) <= p2}; the lower end is kept, so that the bound is rounded outwards.
        low, _ = all_bisected(lambda a: ~(self._miss(a) > p2), np.zeros_like(p2), np.ones_like(p2), _HALVINGS)
        return np.asarray(np.clip(1 - np.maximum(self._miss(p2), low), 0.0, 1.0))

    def tangents(self) -> tuple[Tangent, ...]:
        """The lines themselves when the trade-off function is a list of them."""
        if not isinstance(self.tradeoff, Lines):
            return Claim.tangents(self)
        return tuple(line for e, d in self.tradeoff.pairs if e or d for line in ApproxDP(e, d).tangents())

    def tangent_at(self, p2: float) -> Tangent:
        """The line that binds at `p2`."""
        if not isinstance(self.tradeoff, Lines):
            return Claim.tangent_at(self, p2)
        return min(self.tangents(), key=lambda line: line.slope * p2 + line.intercept)

    def to_dict(self) -> dict[str, Any]:
        """The name and the guarantees (epsilon, delta) it implies at a fixed list of epsilons."""
        if isinstance(self.tradeoff, Lines):
            profile = [list(pair) for pair in self.tradeoff.pairs]
        else:
            deltas = suprema(self._largest, np.exp(np.array(_EPSILONS)))
            profile = [[e, outwards(float(d))] for e, d in zip(_EPSILONS, deltas, strict=True)]
        return {"claim": "FDP", "name": self.name, "profile": profile}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> FDP:
        """The claim of the saved guarantees."""
        if not isinstance(saved.get("profile"), list):
            raise UsageError("the saved FDP has no profile: a list of pairs of an epsilon and a delta")
        return cls(Lines(tuple((float(e), float(d)) for e, d in saved["profile"])), str(saved.get("name", "")))

    @classmethod
    def from_profile(cls, epsilons: Sequence[float], deltas: Sequence[float], name: str = "") -> FDP:
        """The claim that (epsilon, delta)-DP holds for every pair of the two lists.

        >>> FDP.from_profile([0.0, 1.0], [0.5, 0.25]).largest(0.0)
        0.25
        """
        if len(epsilons) != len(deltas) or len(epsilons) == 0:
            raise UsageError(f"{len(epsilons)} epsilons and {len(deltas)} deltas are no profile: give equally many")
        kept = [(float(e), float(d)) for e, d in zip(epsilons, deltas, strict=True) if 0 <= d < 1 and e >= 0]
        if not kept:
            raise UsageError("the profile promises nothing: every delta is 1 or more")
        return cls(Lines(tuple(kept)), name)

    @classmethod
    def from_pld(cls, distribution: Any, name: str = "", epsilons: Sequence[float] = _EPSILONS) -> FDP:
        """The claim of a privacy-loss distribution of `dp_accounting.pld`, composed and subsampled as it may be.

        Its pessimistic estimates (the default there) are upper bounds on delta, so the claim is one that holds.
        """
        deltas = np.asarray(distribution.get_delta_for_epsilon(np.asarray(epsilons, dtype=np.float64)))
        return cls.from_profile(list(epsilons), [float(d) for d in deltas], name)

    def __str__(self) -> str:
        return f"f-differential privacy ({self.name})" if self.name else "f-differential privacy"


def gaussian_composition(sigma: float, sampling: float = 1.0, steps: int = 1) -> FDP:
    """The trade-off curve of `steps` Gaussian mechanisms of sensitivity 1 with Poisson subsampling.

    Computed by `dp_accounting`, an optional dependency: pip install "refutedp[accounting]".
    """
    try:
        pld = importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    except ImportError as error:
        raise UsageError('this curve needs dp_accounting: pip install "refutedp[accounting]"') from error
    one = pld.from_gaussian_mechanism(sigma, sampling_prob=sampling, value_discretization_interval=1e-3)
    what = f"{steps} Gaussian releases, sigma {sigma:g}, sampling {sampling:g}"
    return FDP.from_pld(one.self_compose(steps) if steps > 1 else one, what)
