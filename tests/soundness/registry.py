"""A battery of mechanisms that are private for what they claim, in the styles that people write Python in.

Lifted runs execute a plain function on columns of draws. Where a lift is wrong, its outputs differ from those of the
function. Most mechanisms here sit on the border of their claim, so that such a difference would break the claim. Many
go further: they compute a value that gives the input away, and remove it by the feature under test before returning.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from refutedp import PureDP, Result, check
from refutedp.model.claims import Claim

ONE = ([1], [2])
"""One query of sensitivity 1, the pair of most cases."""
FIRST = ([1, 1], [2, 1])
"""Two queries of which the first changes."""
BITS = ([0], [1])
"""One secret bit."""
BUDGET = {"search_runs": 2_000, "confirm_runs": 5_000, "significance": 0.001}


@dataclass(frozen=True, slots=True)
class Case:
    """A mechanism, the claim that holds for it on the pairs in `keywords`, and the style it is an example of."""

    name: str
    style: str
    function: Callable[..., Any]
    claim: Claim
    keywords: Mapping[str, Any]


_CASES: dict[tuple[str, str], Case] = {}


def cases_of(style: str) -> Callable[..., Callable[[Any], Any]]:
    """The decorator that registers the mechanisms of one style."""

    def private(
        claim: Claim | None = None, pair: tuple[Any, Any] | None = ONE, *, name: str | None = None, **keywords: Any
    ) -> Callable[[Any], Any]:
        """Register a mechanism that is private for the claim on the pair, or on all pairs if it is None."""
        if pair is not None:
            keywords["pairs"] = [pair]

        def register(function: Any) -> Any:
            known = function.__name__ if name is None else name
            _CASES[style, known] = Case(known, style, function, PureDP(1.0) if claim is None else claim, keywords)
            return function

        return register

    return private


def all_cases() -> list[Case]:
    """Every case, in the order of the files and then of their lines."""
    for path in sorted(Path(__file__).parent.glob("mechanisms_*.py")):
        importlib.import_module(f"tests.soundness.{path.stem}")
    return sorted(_CASES.values(), key=lambda case: case.style)


def seed_of(case: Case, number: int) -> int:
    """A seed that depends on the case's name, so that cases alike do not fail together."""
    return zlib.crc32(f"{case.style}.{case.name}".encode()) + number


def check_case(case: Case, seed: int) -> Result:
    """A small check of the case; no leak through rounding counts, for the claims hold on real numbers."""
    return check(
        case.function, case.claim, seed=seed, float_leaks="ignore", progress=False, **BUDGET, **case.keywords
    )


def exposed(query: Any, noise: Any) -> Any:
    """query + noise, for queries 1 and 2; above 5 it gives the query away.

    What depends only on the minimum of this and 5 is a function of min(query + noise, 5), and so as private as
    query + noise. Laplace noise of scale 1 exceeds 3 in 2.5% of all runs: rarely enough that the few dozen runs that
    are replayed before a lift is trusted may show nothing, and often enough for a conviction.
    """
    return query + noise + 1000 * (query - 1) * max(noise - 3.0, 0.0)


def exposed_vector(queries: Any, noise: Any) -> Any:
    """`exposed`, element by element."""
    answers = np.array(queries)
    return answers + noise + 1000 * (answers - 1) * np.maximum(noise - 3.0, 0.0)
