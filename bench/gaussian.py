"""Gaussian noise at every ε that people use: is noise that is too small refuted, how much is certified, how soon?

`python -m bench.gaussian [WAY ...]`. Each row is a check at default settings: a way to write the mechanism, a claim,
and noise at a part of the least that satisfies it ("Improving the Gaussian Mechanism for Differential Privacy", Balle
& Wang 2018). Certified is the lower bound on the claim's own parameter, real is that of the noise as it is, and most
what a half-line shows of it: of a Rényi divergence of low order no event shows much, the pieces of a partition do.
Seconds are of the processor.
`python -m bench.gaussian border
[SEEDS]` checks the least noise that satisfies each claim: nothing may be refuted there.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from refutedp import ONE_DIFFERS, ZCDP, AddRemove, AllDiffer, ApproxDP, GaussianDP, RenyiDP, Result, Verdict, check
from refutedp.mechanisms.added_noise import analytic_sigma
from refutedp.model.claims import Claim

EPSILONS, DELTAS, PARTS = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0), (1e-3, 1e-5, 1e-9), (0.6, 0.8, 0.95)
ORDERS = (1.5, 2.0, 4.0, 16.0)
"""Of Rényi claims: the lower, the less an event shows."""
DIMENSIONS = 20
FEWER = {"search_runs": 20_000, "confirm_runs": 100_000}
Mechanism = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Way:
    """A way to write the mechanism, given its sigma; adjacent inputs move its output by 1 in the Euclidean norm."""

    make: Callable[[float], Mechanism]
    adjacency: Any = ONE_DIFFERS
    lengths: tuple[int, ...] | None = None


def normal(sigma: float) -> Mechanism:
    """One number, its noise about it."""
    return lambda queries, rng: rng.normal(queries[0], sigma)


def added(sigma: float) -> Mechanism:
    """One number and noise."""
    return lambda queries, rng: queries[0] + rng.normal(0, sigma)


def standard(sigma: float) -> Mechanism:
    """Standard noise times sigma, for each query."""
    return lambda queries, rng: [query + sigma * rng.standard_normal() for query in queries]


def python(sigma: float) -> Mechanism:
    """The standard library's noise."""
    return lambda queries: [query + random.gauss(0.0, sigma) for query in queries]


def counted(sigma: float) -> Mechanism:
    """A sum over records, each within [0, 1]."""
    return lambda records, rng: sum(min(max(record, 0.0), 1.0) for record in records) + rng.normal(scale=sigma)


def axes(sigma: float) -> Mechanism:
    """Twenty numbers of which one changes."""
    return lambda queries, rng: np.array(queries) + rng.normal(0, sigma, len(queries))


def direction(sigma: float) -> Mechanism:
    """Twenty numbers that change along some direction."""
    towards = np.random.default_rng(7).normal(size=DIMENSIONS)
    towards /= np.linalg.norm(towards)
    return lambda queries, rng: queries[0] * towards + rng.normal(0.0, sigma, DIMENSIONS)


WAYS = {
    "normal": Way(normal),
    "added": Way(added),
    "standard": Way(standard),
    "python": Way(python),
    "counted": Way(counted, AddRemove(odd=False)),
    "axes": Way(axes, ONE_DIFFERS, (DIMENSIONS,)),
    "diagonal": Way(axes, AllDiffer(1 / math.sqrt(DIMENSIONS)), (DIMENSIONS,)),
    "direction": Way(direction),
}


def claims(way: str) -> Iterator[tuple[Claim, float]]:
    """Claims with the least sigma that satisfies each: all of them for one number and along a direction."""
    whole = way in ("added", "direction")
    for epsilon in EPSILONS if whole else (1.0, 10.0):
        for delta in DELTAS if whole else (1e-5,):
            yield ApproxDP(epsilon, delta), analytic_sigma(epsilon, delta)
    # The noise of each ε has these parameters, too; of Rényi claims ε is their own.
    for epsilon in EPSILONS if whole else EPSILONS[1:2]:
        sigma = analytic_sigma(epsilon, DELTAS[1])
        yield GaussianDP(1 / sigma), sigma
        yield ZCDP(1 / (2 * sigma**2)), sigma
        for order in ORDERS:
            yield RenyiDP(order, epsilon), math.sqrt(order / (2 * epsilon))


def real(claim: Claim, sigma: float) -> float:
    """The claim's parameter that noise of this size has."""
    if isinstance(claim, ApproxDP):
        return GaussianDP(1 / sigma).epsilon_at(claim.delta)
    if isinstance(claim, GaussianDP):
        return 1 / sigma
    return (claim.alpha if isinstance(claim, RenyiDP) else 1.0) / (2 * sigma**2)


def most(claim: Claim, sigma: float) -> float:
    """What the best half-line shows of it."""
    edges = np.linspace(-3.0, 37.0, 4001)
    return float(np.max(claim.least(special.ndtr(-edges), special.ndtr(-edges - 1 / sigma))))


def bound_of(result: Result) -> float:
    """The lower bound on the claim's own parameter, by a test or by arithmetic."""
    if result.exact is not None:
        return result.exact.bound(result.claim)
    return (result.evidence.bound or 0.0) if result.evidence else 0.0


def main(ways: Sequence[str] = tuple(WAYS)) -> None:
    print(
        f"{'way':<10}{'claim':<44}{'sigma':>6}  {'verdict':<14}"
        f"{'certified':>10}{'real':>9}{'most':>9}{'part':>6}{'s':>6}"
    )
    missed = slow = rows = short = 0
    for name in ways:
        way = WAYS[name]
        for claim, least in claims(name):
            for part in PARTS:
                truth, reachable = real(claim, part * least), most(claim, part * least)
                start = time.process_time()
                options = {} if way.lengths is None else {"lengths": way.lengths}
                result = check(
                    way.make(part * least), claim=claim, adjacency=way.adjacency, progress=False, **options
                )
                took = time.process_time() - start
                found = result.verdict is Verdict.VIOLATION
                certified = bound_of(result) if found else 0.0
                rows, missed, slow = rows + 1, missed + (not found), slow + (took > 5)
                short += certified < 0.9 * truth
                print(
                    f"{name:<10}{claim!s:<44}{part:>6}  {result.verdict.value:<14}{certified:>10.4f}{truth:>9.4f}"
                    f"{reachable:>9.4f}{certified / truth:>6.2f}{took:>6.1f}",
                    flush=True,
                )
    print(f"{rows} rows: {missed} not refuted, {short} certified below 0.9 of the real, {slow} over five seconds")


def border(seeds: int = 20, names: Sequence[str] = ("added", "direction"), step: int = 7) -> None:
    """The least noise that satisfies some of the claims; fewer runs than by default, for there is nothing to find."""
    for name in names:
        refuted = rows = 0
        way = WAYS[name]
        options = {} if way.lengths is None else {"lengths": way.lengths}
        for claim, least in [*claims(name)][::step]:
            for seed in range(seeds):
                result = check(
                    way.make(least),
                    claim=claim,
                    adjacency=way.adjacency,
                    seed=seed,
                    progress=False,
                    **options,
                    **FEWER,
                )
                refuted, rows = refuted + (result.verdict is Verdict.VIOLATION), rows + 1
        print(f"{name:<10}{refuted} of {rows} refuted", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["border"]:
        border(*map(int, sys.argv[2:]))
    else:
        main(sys.argv[1:] or tuple(WAYS))
