"""Mechanisms under every kind of claim, each with a common mistake beside it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from refutedp.mechanisms import BuiltIn, choices
from refutedp.mechanisms import added_noise as noise
from refutedp.model.claims import ZCDP, ApproxDP, Claim, GaussianDP, PureDP, RenyiDP


@dataclass(frozen=True, slots=True)
class Claimed(BuiltIn):
    """A mechanism with the claim made for it; `correct` says whether the claim holds, `truth` what really does.

    `pairs` are given where the data are no query answers. `others` are the arguments that the mechanism needs beside
    data, rng and the claim's own numbers.
    """

    claim: Claim
    others: Mapping[str, Any] = field(default_factory=dict)
    pairs: tuple[tuple[Any, Any], ...] = ()
    lengths: tuple[int, ...] = (2,)

    @property
    def arguments(self) -> dict[str, Any]:
        """All that the function takes beside data and rng."""
        taken = inspect.signature(self.function).parameters
        numbers = asdict(self.claim)  # type: ignore[call-overload]
        return {**{name: value for name, value in numbers.items() if name in taken}, **self.others}


_FOUR, _TWO = {"releases": 4}, {"mu": 1.0, "releases": 2}
_HALF, _CATEGORIES = {"epsilon": 2.0, "sampling": 0.5}, {"categories": 4}
_BITS = (([0], [1]), ([0, 1], [1, 1]))
_VALUES = (([0], [1]),)
_RECORDS: tuple[tuple[Any, Any], ...] = (([1], []), ([1, 1], [1]))

MORE: tuple[Claimed, ...] = (
    Claimed(noise.gaussian_classical, "Gaussian (classical calibration)", "one",
            True, "(0.9, 7e-06)", ApproxDP(0.9, 1e-3)),
    Claimed(noise.gaussian_classical, "Gaussian (classical calibration outside its range)", "one",
            False, "(8, 0.47)", ApproxDP(8.0, 0.2)),
    Claimed(noise.gaussian_analytic, "Gaussian (analytic calibration)", "one",
            True, "(4, 0.01) exactly", ApproxDP(4.0, 0.01)),
    Claimed(noise.gaussian_analytic_variance, "Gaussian (variance for deviation)", "one",
            False, "2.24-GDP instead of 1.49", ApproxDP(4.0, 0.01)),
    Claimed(noise.gaussian_releases, "Four Gaussian releases", "one",
            True, "1-GDP exactly", GaussianDP(1.0), _FOUR, lengths=(1,)),
    Claimed(noise.gaussian_releases_uncounted, "Four Gaussian releases, noise for one", "one",
            False, "2-GDP", GaussianDP(1.0), _FOUR, lengths=(1,)),
    Claimed(noise.gaussian_releases_uncounted, "Two Gaussian releases, noise for one", "one",
            False, "(4, 4)-Rényi DP", RenyiDP(4.0, 2.0), _TWO, lengths=(1,)),
    Claimed(noise.gaussian_releases, "Two Gaussian releases", "one",
            True, "(4, 2)-Rényi DP exactly", RenyiDP(4.0, 2.0), _TWO, lengths=(1,)),
    Claimed(noise.discrete_laplace, "Discrete Laplace", "one", True, "ε", PureDP(1.0)),
    Claimed(noise.discrete_laplace_one_sided, "Discrete Laplace, one side only", "one",
            False, "infinite", PureDP(1.0)),
    Claimed(noise.discrete_gaussian, "Discrete Gaussian", "one", True, "2-zCDP", ZCDP(2.0)),
    Claimed(noise.discrete_gaussian_variance, "Discrete Gaussian (variance for deviation)", "one",
            False, "8-zCDP", ZCDP(2.0)),
    Claimed(noise.truncated_laplace, "Truncated Laplace", "one", True, "(1, 0.01) exactly", ApproxDP(1.0, 0.01)),
    Claimed(noise.truncated_laplace, "Truncated Laplace claimed as pure", "one",
            False, "infinite", PureDP(1.0), {"delta": 0.01}),
    Claimed(noise.truncated_laplace_too_short, "Truncated Laplace, cut too short", "one",
            False, "(1, 0.095)", ApproxDP(1.0, 0.01)),
    Claimed(noise.staircase, "Staircase", "one", True, "ε", PureDP(1.0)),
    Claimed(noise.staircase_from_one, "Staircase, steps counted from one", "one", False, "infinite", PureDP(1.0)),
    Claimed(choices.exponential_mechanism, "Exponential mechanism", "all", True, "ε", PureDP(1.0), lengths=(3,)),
    Claimed(choices.exponential_mechanism_no_half, "Exponential mechanism without the half", "all",
            False, "up to 2ε", PureDP(1.0), lengths=(3,)),
    Claimed(choices.randomized_response, "Randomized response", "replace", True, "ε", PureDP(1.0), pairs=_BITS),
    Claimed(choices.randomized_response_coins, "Randomized response with two coins", "replace",
            False, "log 3", PureDP(1.0), pairs=_BITS),
    Claimed(choices.rappor, "RAPPOR", "replace", True, "ε", PureDP(1.0), _CATEGORIES, _VALUES),
    Claimed(choices.rappor_one_bit, "RAPPOR, one bit counted", "replace",
            False, "2ε", PureDP(1.0), _CATEGORIES, _VALUES),
    Claimed(choices.propose_test_release, "Propose-test-release", "one", True, "(1, 0.01)", ApproxDP(1.0, 0.01)),
    Claimed(choices.propose_test_release_plain, "Propose-test-release without margin", "one",
            False, "delta above 0.5", ApproxDP(1.0, 0.01)),
    Claimed(noise.sampled_count, "Subsampled Laplace", "add_remove",
            True, "log(1 + (e^2 - 1)/2) = 1.43", PureDP(math.log1p(0.5 * math.expm1(2.0))), _HALF, _RECORDS),
    Claimed(noise.sampled_count, "Subsampled Laplace, epsilon times the rate", "add_remove",
            False, "1.43", PureDP(1.0), _HALF, _RECORDS),
    Claimed(noise.sampled_gaussian, "Subsampled Gaussian, mu times the rate", "add_remove",
            False, "not 0.5-GDP: its tail is that of 1-GDP",
            GaussianDP(0.5), {"sigma": 1.0, "sampling": 0.5}, _RECORDS),
)  # fmt: skip
