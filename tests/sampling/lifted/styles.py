"""Mechanisms of every style that people write, each with an input and arguments: the paper's, and others."""

from __future__ import annotations

import functools
import math
import random
from dataclasses import dataclass
from random import expovariate
from typing import Any, NamedTuple

import numpy as np
from numpy.random import laplace as np_laplace

MECHANISMS: dict[str, tuple[Any, Any, dict[str, Any]]] = {}


def mechanism(data: Any, **arguments: Any) -> Any:
    def register(function: Any) -> Any:
        MECHANISMS[function.__name__] = (function, data, arguments)
        return function

    return register


# The paper's mechanisms.


@mechanism([1, 1, 0, 2, 1], epsilon=0.8)
def noisy_max_v1a(queries, epsilon, rng):
    noisy = [q + rng.laplace(scale=2 / epsilon) for q in queries]
    return int(np.argmax(noisy))


@mechanism([1, 1, 0, 2, 1], epsilon=0.8)
def noisy_max_v2a(queries, epsilon, rng):
    noisy = []
    for q in queries:
        noisy.append(q + rng.exponential(scale=2 / epsilon))
    return noisy.index(max(noisy))


@mechanism([1, 1, 0, 2, 1], epsilon=0.8)
def noisy_max_v1b(queries, epsilon, rng):
    return max([q + rng.laplace(scale=2 / epsilon) for q in queries])


@mechanism([1, 1, 0, 2, 1], epsilon=0.8)
def noisy_max_v2b(queries, epsilon, rng):
    return max(q + rng.exponential(2 / epsilon) for q in queries)


@mechanism([1, 0, 2], epsilon=0.8)
def histogram(queries, epsilon, rng):
    return [q + rng.laplace(scale=1 / epsilon) for q in queries]


@mechanism([1, 0, 2], epsilon=0.8)
def histogram_wrong_scale(queries, epsilon, rng):
    return [q + rng.laplace(scale=epsilon) for q in queries]


@mechanism([1, 1, 0, 2, 1, 0], epsilon=1.2, threshold=1.0, bound=2)
def svt(queries, epsilon, threshold, bound, rng, sensitivity=1):
    out = []
    noisy_threshold = threshold + rng.laplace(scale=2 * sensitivity / epsilon)
    count = 0
    for q in queries:
        if q + rng.laplace(scale=4 * bound * sensitivity / epsilon) >= noisy_threshold:
            out.append(True)
            count += 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


@mechanism([1, 1, 0, 2, 1], epsilon=1.2, threshold=1.0)
def isvt1(queries, epsilon, threshold, rng):
    out = []
    noisy_threshold = threshold + rng.laplace(scale=2 / epsilon)
    for q in queries:
        if q + 0 >= noisy_threshold:
            out.append(True)
        else:
            out.append(False)
    return out


@mechanism([1, 1, 0, 2, 1], epsilon=1.2, threshold=1.0)
def isvt2(queries, epsilon, threshold, rng):
    out = []
    noisy_threshold = threshold + rng.laplace(scale=2 / epsilon)
    for q in queries:
        if q + rng.laplace(scale=2 / epsilon) >= noisy_threshold:
            out.append(True)
        else:
            out.append(False)
    return out


@mechanism([1, 1, 0, 2, 1], epsilon=1.2, threshold=1.0, bound=1)
def isvt3(queries, epsilon, threshold, bound, rng):
    out = []
    noisy_threshold = threshold + rng.laplace(scale=4 / epsilon)
    count = 0
    for q in queries:
        if q + rng.laplace(scale=4 / (3 * epsilon)) >= noisy_threshold:
            out.append(True)
            count += 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


@mechanism([1, 1, 0, 2, 1], epsilon=1.2, threshold=1.0, bound=1)
def isvt4(queries, epsilon, threshold, bound, rng):
    out = []
    noisy_threshold = threshold + rng.laplace(scale=2 / epsilon)
    count = 0
    for q in queries:
        noisy = q + rng.laplace(scale=2 * bound / epsilon)
        if noisy >= noisy_threshold:
            out.append(noisy)
            count += 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


# Other styles.


@mechanism([1, 1, 0, 2], epsilon=0.8)
def running_best(queries, epsilon, rng):
    best, best_index = None, -1
    for i, q in enumerate(queries):
        value = q + rng.laplace(0, 2 / epsilon)
        if best is None or value > best:
            best, best_index = value, i
    return best_index


@mechanism(np.array([1.0, 0.0, 2.0]), epsilon=0.8)
def array_style(data, epsilon, rng):
    return data + rng.laplace(scale=1 / epsilon, size=len(data))


@mechanism([1, 0, 2], epsilon=0.8)
def array_argmax(data, epsilon, rng):
    noisy = np.array(data, dtype=float) + rng.gumbel(scale=2 / epsilon, size=len(data))
    return noisy.argmax()


@mechanism([1, 0, 2], epsilon=0.8)
def filled_array(data, epsilon, rng):
    out = np.zeros(len(data))
    for i, q in enumerate(data):
        out[i] = q + rng.normal(0, 1 / epsilon)
    out[out < 0] = 0.0
    return out


@mechanism([1, 0, 2], epsilon=0.8)
def clipped_mean(data, epsilon, rng):
    noisy = np.clip(np.array(data) + rng.laplace(size=3), 0, 2)
    return float(noisy.mean()), noisy.sum() > 2.5


@mechanism([3, 1, 2], epsilon=1.0)
def masked(data, epsilon, rng):
    noisy = np.asarray(data) + rng.laplace(size=3)
    return noisy[noisy > 1.5].tolist()


@mechanism([3, 1, 2], epsilon=1.0)
def where_style(data, epsilon, rng):
    noisy = np.asarray(data) + rng.laplace(size=3)
    return np.where(noisy > 2, noisy, -1.0)


@mechanism([3, 1, 2], epsilon=1.0)
def exponential_mechanism(data, epsilon, rng):
    weights = np.exp(epsilon * np.asarray(data) / 2)
    cumulative = np.cumsum(weights / weights.sum())
    return int(np.searchsorted(cumulative, rng.random()))


@mechanism([3, 1, 2], epsilon=1.0)
def exponential_by_choice(data, epsilon, rng):
    weights = np.exp(epsilon * np.asarray(data) / 2)
    return rng.choice(len(data), p=weights / weights.sum())


@mechanism([3, 1, 2], epsilon=1.0)
def choice_of_text(data, epsilon, rng):
    return rng.choice(["low", "middle", "high"], p=[0.2, 0.3, 0.5])


@mechanism([1, 0, 1], p=0.7)
def randomized_response(data, p, rng):
    return [bit if rng.random() < p else 1 - bit for bit in data]


@mechanism([4], epsilon=0.5)
def geometric_noise(data, epsilon, rng):
    p = 1 - math.exp(-epsilon)
    return data[0] + rng.geometric(p) - rng.geometric(p)


@mechanism([4], epsilon=0.5)
def legacy_numpy(data, epsilon):
    return data[0] + np.random.laplace(0, 1 / epsilon)


@mechanism([4, 5], epsilon=0.5)
def legacy_import(data, epsilon):
    return [q + np_laplace(scale=1 / epsilon) for q in data]


@mechanism([4], epsilon=0.5)
def standard_library(data, epsilon):
    u = random.random() - 0.5
    return data[0] - math.copysign(1 / epsilon, u) * math.log(1 - 2 * abs(u))


@mechanism([4], epsilon=0.5)
def standard_difference(data, epsilon):
    return data[0] + expovariate(epsilon) - expovariate(epsilon)


@mechanism([4], epsilon=0.5)
def own_generator(data, epsilon):
    import numpy

    rng = numpy.random.default_rng()
    return data[0] + rng.laplace(scale=1 / epsilon)


@mechanism([4], epsilon=0.5)
def standard_integers(data, epsilon):
    coin = random.randint(1, 6)
    return data[0] + coin if random.choice([True, False]) else random.choice(["a", None])


def _noise(scale, rng):
    return rng.laplace(0.0, scale)


@mechanism([1, 2], epsilon=0.5)
def with_helper(data, epsilon, rng):
    def shifted(q):
        return q + _noise(1 / epsilon, rng)

    return tuple(map(shifted, data))


class _Adder:
    def __init__(self, scale):
        self.scale = scale

    def run(self, data, rng):
        return data[0] + rng.laplace(scale=self.scale)


MECHANISMS["bound_method"] = (_Adder(2.0).run, [3], {})
MECHANISMS["partial_function"] = (
    functools.partial(svt, bound=1, sensitivity=1),
    [1, 0],
    {"epsilon": 1.0, "threshold": 1},
)


def _make_closure(scale):
    return lambda data, rng: [q + rng.laplace(scale=scale) for q in data]


MECHANISMS["closure"] = (_make_closure(3.0), [3, 4], {})


@dataclass(frozen=True)
class Report:
    mean: float
    high: bool


class Pair(NamedTuple):
    first: float
    second: int


@mechanism([1, 2], epsilon=0.5)
def dataclass_output(data, epsilon, rng):
    mean = sum(data) / 2 + rng.laplace(scale=1 / epsilon)
    return Report(mean, mean > 2)


@mechanism([1, 2], epsilon=0.5)
def dict_output(data, epsilon, rng):
    return {"count": rng.poisson(3), "noisy": [q + rng.logistic() for q in data], "label": "x"}


@mechanism([1, 2], epsilon=0.5)
def namedtuple_output(data, epsilon, rng):
    return Pair(rng.beta(2, 3), rng.binomial(5, 0.3))


@mechanism([1, 2], epsilon=0.5)
def early_return(data, epsilon, rng):
    x = rng.standard_normal()
    if x > 1.5:
        return None
    if x < -1:
        return "low"
    return round(x, 1)


@mechanism([1, 2], epsilon=0.5)
def raises_sometimes(data, epsilon, rng):
    x = round(rng.laplace())
    if x < -1:
        raise ValueError("negative")
    return 10 / x


@mechanism([1, 2], epsilon=0.5)
def math_errors(data, epsilon, rng):
    return math.sqrt(rng.normal(1.0, 1.0))


@mechanism([1, 2], epsilon=0.5)
def rejection_sampling(data, epsilon, rng):
    while True:
        x = data[0] + rng.laplace()
        if 0 <= x <= 2:
            return x


@mechanism([1, 2], epsilon=0.5)
def loop_over_draw(data, epsilon, rng):
    total = 0.0
    for _ in range(rng.integers(1, 4)):
        total += rng.exponential()
    return total


@mechanism([10, 20, 30], epsilon=0.5)
def index_by_draw(data, epsilon, rng):
    return data[rng.integers(3)] + (1 if rng.random() < 0.3 else 0)


@mechanism([1, 2, 3, 4], epsilon=0.5)
def subsample(data, epsilon, rng):
    kept = [q for q in data if rng.random() < 0.5]
    return sum(kept) + rng.laplace() if kept else None


@mechanism([3.0, 1.0, 2.0], epsilon=0.5)
def sorted_floats(data, epsilon, rng):
    return sorted((q + rng.laplace() for q in data), reverse=True)


@mechanism([3, 1, 2], epsilon=0.5)
def argmax_by_key(data, epsilon, rng):
    noisy = [q + rng.laplace() for q in data]
    return max(range(len(noisy)), key=lambda i: noisy[i])


@mechanism([3, 1, 2], epsilon=0.5)
def clamped(data, epsilon, rng):
    return max(0, min(4, int(data[0] + rng.laplace())))


@mechanism([3, 1, 2], epsilon=0.5)
def permuted(data, epsilon, rng):
    return rng.permutation(data)


@mechanism([3, 1, 2], epsilon=0.5)
def noisy_scale(data, epsilon, rng):
    scale = rng.gamma(2.0, 1.0)
    return rng.normal(data[0], scale) @ np.ones(1) if False else rng.normal(data[0], scale)


@mechanism([3.0, 1.0, 2.0], epsilon=0.5)
def matrix_style(data, epsilon, rng):
    return np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 2.0]]) @ (np.asarray(data) + rng.standard_cauchy(3))
