"""Mechanisms under every kind of claim, each with a common mistake beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from refutedp.mechanisms.choices import (
    exponential_mechanism,
    exponential_mechanism_no_half,
    propose_test_release,
    propose_test_release_plain,
    randomized_response,
    randomized_response_coins,
    rappor,
    rappor_one_bit,
)
from refutedp.mechanisms.discrete import (
    discrete_gaussian,
    discrete_gaussian_variance,
    discrete_laplace,
    discrete_laplace_one_sided,
)
from refutedp.mechanisms.gaussian_noise import (
    gaussian_analytic,
    gaussian_analytic_variance,
    gaussian_classical,
    gaussian_releases,
    gaussian_releases_uncounted,
)
from refutedp.mechanisms.sampled import sampled_count, sampled_gaussian
from refutedp.mechanisms.shaped import (
    staircase,
    staircase_from_one,
    truncated_laplace,
    truncated_laplace_too_short,
)
from refutedp.model.claims import ZCDP, ApproxDP, Claim, GaussianDP, PureDP, RenyiDP


@dataclass(frozen=True, slots=True)
class Claimed:
    """A mechanism with the claim made for it: `arguments` are all it needs beside data and rng.

    `adjacency` names the neighbours; `pairs` are given where the data are no query answers. `correct` says whether
    the claim holds, `truth` what really does.
    """

    function: Callable[..., Any]
    title: str
    adjacency: Literal["all", "one", "add_remove", "replace"]
    claim: Claim
    arguments: Mapping[str, Any]
    correct: bool
    truth: str
    pairs: tuple[tuple[Any, Any], ...] = ()
    lengths: tuple[int, ...] = field(default=(2,))

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__


_BITS = (([0], [1]), ([0, 1], [1, 1]))
_VALUES = (([0], [1]),)
_RECORDS: tuple[tuple[Any, Any], ...] = (([1], []), ([1, 1], [1]))
_HALF = math.log1p(0.5 * math.expm1(2.0))

MORE: tuple[Claimed, ...] = (
    Claimed(
        gaussian_classical, "Gaussian (classical calibration)", "one", ApproxDP(0.9, 1e-3),
        {"epsilon": 0.9, "delta": 1e-3}, True, "(0.9, 7e-06)",
    ),
    Claimed(
        gaussian_classical, "Gaussian (classical calibration outside its range)", "one", ApproxDP(8.0, 0.2),
        {"epsilon": 8.0, "delta": 0.2}, False, "(8, 0.47)",
    ),
    Claimed(
        gaussian_analytic, "Gaussian (analytic calibration)", "one", ApproxDP(4.0, 0.01),
        {"epsilon": 4.0, "delta": 0.01}, True, "(4, 0.01) exactly",
    ),
    Claimed(
        gaussian_analytic_variance, "Gaussian (variance for deviation)", "one", ApproxDP(4.0, 0.01),
        {"epsilon": 4.0, "delta": 0.01}, False, "2.24-GDP instead of 1.49",
    ),
    Claimed(
        gaussian_releases, "Four Gaussian releases", "one", GaussianDP(1.0),
        {"mu": 1.0, "releases": 4}, True, "1-GDP exactly", lengths=(1,),
    ),
    Claimed(
        gaussian_releases_uncounted, "Four Gaussian releases, noise for one", "one", GaussianDP(1.0),
        {"mu": 1.0, "releases": 4}, False, "2-GDP", lengths=(1,),
    ),
    Claimed(
        gaussian_releases_uncounted, "Two Gaussian releases, noise for one", "one", RenyiDP(4.0, 2.0),
        {"mu": 1.0, "releases": 2}, False, "(4, 4)-Rényi DP", lengths=(1,),
    ),
    Claimed(
        gaussian_releases, "Two Gaussian releases", "one", RenyiDP(4.0, 2.0),
        {"mu": 1.0, "releases": 2}, True, "(4, 2)-Rényi DP exactly", lengths=(1,),
    ),
    Claimed(discrete_laplace, "Discrete Laplace", "one", PureDP(1.0), {"epsilon": 1.0}, True, "ε"),
    Claimed(
        discrete_laplace_one_sided, "Discrete Laplace, one side only", "one", PureDP(1.0),
        {"epsilon": 1.0}, False, "infinite",
    ),
    Claimed(discrete_gaussian, "Discrete Gaussian", "one", ZCDP(2.0), {"rho": 2.0}, True, "2-zCDP"),
    Claimed(
        discrete_gaussian_variance, "Discrete Gaussian (variance for deviation)", "one", ZCDP(2.0),
        {"rho": 2.0}, False, "8-zCDP",
    ),
    Claimed(
        truncated_laplace, "Truncated Laplace", "one", ApproxDP(1.0, 0.01),
        {"epsilon": 1.0, "delta": 0.01}, True, "(1, 0.01) exactly",
    ),
    Claimed(
        truncated_laplace, "Truncated Laplace claimed as pure", "one", PureDP(1.0),
        {"epsilon": 1.0, "delta": 0.01}, False, "infinite",
    ),
    Claimed(
        truncated_laplace_too_short, "Truncated Laplace, cut too short", "one", ApproxDP(1.0, 0.01),
        {"epsilon": 1.0, "delta": 0.01}, False, "(1, 0.095)",
    ),
    Claimed(staircase, "Staircase", "one", PureDP(1.0), {"epsilon": 1.0}, True, "ε"),
    Claimed(
        staircase_from_one, "Staircase, steps counted from one", "one", PureDP(1.0),
        {"epsilon": 1.0}, False, "infinite",
    ),
    Claimed(
        exponential_mechanism, "Exponential mechanism", "all", PureDP(1.0), {"epsilon": 1.0}, True, "ε", lengths=(3,),
    ),
    Claimed(
        exponential_mechanism_no_half, "Exponential mechanism without the half", "all", PureDP(1.0),
        {"epsilon": 1.0}, False, "up to 2ε", lengths=(3,),
    ),
    Claimed(
        randomized_response, "Randomized response", "replace", PureDP(1.0), {"epsilon": 1.0}, True, "ε", pairs=_BITS,
    ),
    Claimed(
        randomized_response_coins, "Randomized response with two coins", "replace", PureDP(1.0),
        {"epsilon": 1.0}, False, "log 3", pairs=_BITS,
    ),
    Claimed(
        rappor, "RAPPOR", "replace", PureDP(1.0), {"epsilon": 1.0, "categories": 4}, True, "ε", pairs=_VALUES,
    ),
    Claimed(
        rappor_one_bit, "RAPPOR, one bit counted", "replace", PureDP(1.0),
        {"epsilon": 1.0, "categories": 4}, False, "2ε", pairs=_VALUES,
    ),
    Claimed(
        propose_test_release, "Propose-test-release", "one", ApproxDP(1.0, 0.01),
        {"epsilon": 1.0, "delta": 0.01}, True, "(1, 0.01)",
    ),
    Claimed(
        propose_test_release_plain, "Propose-test-release without margin", "one", ApproxDP(1.0, 0.01),
        {"epsilon": 1.0, "delta": 0.01}, False, "delta above 0.5",
    ),
    Claimed(
        sampled_count, "Subsampled Laplace", "add_remove", PureDP(_HALF),
        {"epsilon": 2.0, "sampling": 0.5}, True, "log(1 + (e^2 - 1)/2) = 1.43", pairs=_RECORDS,
    ),
    Claimed(
        sampled_count, "Subsampled Laplace, epsilon times the rate", "add_remove", PureDP(1.0),
        {"epsilon": 2.0, "sampling": 0.5}, False, "1.43", pairs=_RECORDS,
    ),
    Claimed(
        sampled_gaussian, "Subsampled Gaussian, mu times the rate", "add_remove", GaussianDP(0.5),
        {"sigma": 1.0, "sampling": 0.5}, False, "not 0.5-GDP: its tail is that of 1-GDP", pairs=_RECORDS,
    ),
)  # fmt: skip
