"""Mechanisms of every kind with a pair of inputs and events to count, and how often these happen in plain runs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from refutedp.events.features.basic import Length, Value
from refutedp.events.predicates import Equals, Interval
from refutedp.model.mechanism import describe
from refutedp.model.records import Event, Pair, count_hits
from refutedp.sampling.encode import Raised, encode
from refutedp.sampling.lifted import Lift
from refutedp.sampling.lifted.lifted_sampler import LiftedSampler

PLAIN = 2500
BY_CHANCE = 1e-6


class Case(NamedTuple):
    """A mechanism with a pair of inputs, events to count, and whether both inputs get the same noise."""

    function: Callable[..., Any]
    d1: Any
    d2: Any
    events: tuple[Event, ...]
    shares: bool


CASES: dict[str, Case] = {}


def case(d1: Any, d2: Any, *events: Event, shares: bool = True) -> Any:
    def register(function: Any) -> Any:
        CASES[function.__name__] = Case(function, d1, d2, events, shares)
        return function

    return register


def below(*ends: float, at: tuple[Any, ...] = ()) -> tuple[Event, ...]:
    return tuple(Interval(Value(at), None, end) for end in ends)


@case([1, 1, 1], [2, 0, 0], *below(0.0, 2.5, at=(0,)), *below(1.0, at=(2,)))
def laplace_in_a_loop(queries, rng):
    return [q + rng.laplace(scale=2.0) for q in queries]


@case([1, 1, 1, 1, 1], [0, 0, 0, 2, 2], *(Equals(Length(), n) for n in (1, 2, 4, 5)))
def sparse_vector(queries, rng):
    threshold = 1 + rng.laplace(scale=2.0)
    out = []
    for q in queries:
        if q + rng.laplace(scale=4.0) >= threshold:
            out.append(True)
            break
        out.append(False)
    return out


@case([1, 1, 1], [0, 1, 2], *below(0.0, 1.5, at=(0,)), *below(2.0, at=(2,)))
def laplace_of_a_size(queries, rng):
    return list(np.asarray(queries) + rng.laplace(size=3))


@case([1.0, 2.0], [0.5, 2.5], *below(0.0, 1.0, at=(0,)), *below(3.0, at=(1,)))
def normal_around_an_array(queries, rng):
    return list(rng.normal(np.array(queries), 1.5))


@case([3], [2], *below(2.0, 3.5))
def legacy_numpy(queries):
    return queries[0] + np.random.laplace(0, 1.5) + np.random.normal(0.0, 0.5)


@case([3], [2], *below(2.0, 3.5))
def standard_gauss(queries):
    return random.gauss(queries[0], 2.0)


@case([1, 2, 0], [2, 1, 1], *(Equals(Value(), n) for n in range(3)))
def noisy_max(queries, rng):
    return int(np.argmax([q + rng.exponential(2.0) for q in queries]))


@case([3], [2], *below(2.0, 3.0))
def uniform_between(queries, rng):
    return rng.uniform(queries[0] - 2, queries[0] + 2)


@case([1, 2, 0], [2, 1, 1], *(Equals(Value(), n) for n in range(3)))
def gumbel_max(queries, rng):
    return int(np.argmax([rng.gumbel(q, 1.5) for q in queries]))


@case([3], [2], *(Interval(Value(), None, n) for n in (3, 5)))
def geometric(queries, rng):
    return queries[0] + rng.geometric(0.4) - rng.geometric(0.4)


@case([3], [2], *(Equals(Value(), n) for n in (2, 3)))
def whole_numbers(queries, rng):
    return int(queries[0] + rng.integers(-1, 2))


@case([3], [2], *(Equals(Value(), n) for n in (2.0, 3.0)))
def choice(queries, rng):
    return float(queries[0] + rng.choice([-1.0, 0.0, 1.0]))


@case([1, 2, 0], [2, 1, 1], *(Equals(Value(), n) for n in range(3)))
def exponential_mechanism(queries, rng):
    weights = np.exp(np.asarray(queries, dtype=float) / 2)
    return int(rng.choice(3, p=weights / weights.sum()))


@case([1, 2, 0], [2, 1, 1], *(Equals(Value((0,)), n) for n in (1.0, 5.0)), Equals(Value((1,)), 3.0))
def several_choices(queries, rng):
    weights = np.array([q + 1.0 for q in queries])
    return [float(x) for x in rng.choice([1.0, 3.0, 5.0], size=2, p=weights / weights.sum())]


@case([1, 2, 0], [2, 1, 1], *(Equals(Value(), n) for n in range(3)))
def choice_by_noisy_weights(queries, rng):
    weights = np.exp(np.asarray(queries) + rng.exponential(size=3))
    return int(rng.choice(3, p=weights / weights.sum()))


@case([1, 5], [1, 2], *below(0.0, 3.0, 8.0))
def scale_from_data(queries, rng):
    return sum(queries) + rng.laplace(scale=max(queries))


@case([1], [0], *below(0.0, 1.0), shares=False)
def other_law_on_either_input(queries, rng):
    return rng.laplace() if queries[0] else rng.normal()


@case([1], [0], *below(0.5, 2.0))
def scale_from_a_draw(queries, rng):
    return queries[0] + rng.normal(0.0, rng.exponential(1.5))


@case([1.0], [0.5], *below(1.2, 2.0))
def raises_sometimes(queries, rng):
    return math.sqrt(queries[0] + rng.laplace())


@case([1], [0], *below(0.0, 1.0))
def other_noise_on_rare_paths(queries, rng):
    """Some parts have few runs, which are finished by plain calls."""
    x = queries[0] + rng.normal()
    for end in (3.0, 3.2, 3.4, 3.6):
        if x > end:
            x -= rng.exponential()
    return x


@case([1], [0], *below(0.0, 2.0))
def different_depth(queries, rng):
    """The inputs leave a loop at different draws, and go on with what the other one drew or did not."""
    total = 0.0
    while total < 1 + queries[0]:
        total += rng.exponential()
    return total - 1 + rng.normal()


NAMES = sorted(CASES)


def lifts_of(found: Case) -> tuple[Lift, Lift]:
    described = describe(found.function)
    return Lift(described, found.d1, {}), Lift(described, found.d2, {})


def lifted_sampler(name: str) -> LiftedSampler:
    found = CASES[name]
    return LiftedSampler(describe(found.function), Pair(found.d1, found.d2, "given"))


def plain_hits(found: Case, data: Any, seed: int) -> list[int]:
    described = describe(found.function)
    rng = np.random.default_rng(seed)
    np.random.seed(seed)
    random.seed(seed)
    results: list[Any] = []
    for _ in range(PLAIN):
        try:
            results.append(described.call(data, {}, rng=rng))
        except Exception as error:
            results.append(Raised(type(error).__name__))
    outputs = encode(results)
    return [count_hits(event, outputs) for event in found.events]


def same_rate(a: int, n_a: int, b: int, n_b: int) -> float:
    return float(stats.fisher_exact([[a, n_a - a], [b, n_b - b]]).pvalue)
