"""The paper's eleven mechanisms, as its pseudocode gives them: whole outputs, nothing precomputed for the tool.

Four are correct; seven are the mistakes people make. `PAPER` lists them with the adjacency they are meant for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from refutedp.mechanisms.histogram import histogram, histogram_wrong_scale
from refutedp.mechanisms.noisy_max import (
    noisy_max_exponential,
    noisy_max_exponential_value,
    noisy_max_laplace,
    noisy_max_laplace_value,
)
from refutedp.mechanisms.sparse_vector import isvt1, isvt2, isvt3, isvt4, svt

__all__ = [
    "PAPER",
    "BuiltIn",
    "histogram",
    "histogram_wrong_scale",
    "isvt1",
    "isvt2",
    "isvt3",
    "isvt4",
    "noisy_max_exponential",
    "noisy_max_exponential_value",
    "noisy_max_laplace",
    "noisy_max_laplace_value",
    "svt",
]


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A mechanism: its title (in the paper), the adjacency it is meant for, and what it really provides."""

    function: Callable[..., Any]
    title: str
    adjacency: Literal["all", "one", "add_remove", "replace"]
    correct: bool
    truth: str

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__


PAPER: tuple[BuiltIn, ...] = (
    BuiltIn(noisy_max_laplace, "Noisy Max (Laplace)", "all", True, "ε"),
    BuiltIn(noisy_max_exponential, "Noisy Max (Exponential)", "all", True, "ε"),
    BuiltIn(noisy_max_laplace_value, "Max value with Laplace noise", "all", False, "ε·|Q|/2"),
    BuiltIn(noisy_max_exponential_value, "Max value with Exponential noise", "all", False, "infinite"),
    BuiltIn(histogram, "Histogram", "one", True, "ε"),
    BuiltIn(histogram_wrong_scale, "Histogram with the wrong scale", "one", False, "1/ε"),
    BuiltIn(svt, "SVT", "all", True, "ε"),
    BuiltIn(isvt1, "iSVT 1", "all", False, "infinite"),
    BuiltIn(isvt2, "iSVT 2", "all", False, "grows with |Q|"),
    BuiltIn(isvt3, "iSVT 3", "all", False, "(1+6N)/4·ε"),
    BuiltIn(isvt4, "iSVT 4", "all", False, "more than ε"),
)
