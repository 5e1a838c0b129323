"""Lifted and plain runs have the same distribution, for mechanisms of every style that people write.

Oracle: the plain function called in a loop with a real generator. Shapes are compared by a chi-square test, every
leaf by a two-sample Kolmogorov-Smirnov test (floats) or a chi-square test (all else). With fixed seeds and about 200
p-values, a bound of 1e-6 fails by chance with probability below 2e-4, once, when the seed is chosen.
"""

from __future__ import annotations

import functools
import math
import random
from collections import Counter
from dataclasses import dataclass
from random import expovariate
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.random import laplace as np_laplace
from scipy import stats

from refutedp.mechanism import describe
from refutedp.outputs import Outputs
from refutedp.sampling.encode import Raised, encode
from refutedp.sampling.lifted import Lift

RUNS = 3000
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


def plain_outputs(function: Any, data: Any, arguments: dict[str, Any], seed: int) -> Outputs:
    described = describe(function)
    rng = np.random.default_rng(seed)
    np.random.seed(seed)
    random.seed(seed)
    results = []
    for _ in range(RUNS):
        try:
            results.append(described.call(data, arguments, rng=rng))
        except Exception as error:
            results.append(Raised(type(error).__name__))
    return encode(results)


def same_counts(a: dict[Any, int], b: dict[Any, int]) -> float:
    keys = sorted(set(a) | set(b), key=repr)
    table = np.array([[side.get(key, 0) for key in keys] for side in (a, b)])
    rare = table.sum(axis=0) < 10
    if rare.any():
        table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    return 1.0 if table.shape[1] < 2 else float(stats.chi2_contingency(table).pvalue)


def column_counts(values: Any, weights: Any) -> Counter[Any]:
    counts: Counter[Any] = Counter()
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        counts[value] += weight
    return counts


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_lifted_runs_are_distributed_as_plain_runs(name):
    function, data, arguments = MECHANISMS[name]
    lift = Lift(describe(function), data, arguments)
    lift.prove(np.random.default_rng(11))
    lifted = lift.sample(RUNS, np.random.default_rng(12))
    plain = plain_outputs(function, data, arguments, 13)
    assert lifted.size == RUNS
    sides = [{group.shape: group for group in outputs.groups} for outputs in (lifted, plain)]
    assert len(sides[0]) == len(lifted.groups)
    assert same_counts(*({s: g.size for s, g in side.items()} for side in sides)) > 1e-6
    for shape in set(sides[0]) & set(sides[1]):
        a, b = sides[0][shape], sides[1][shape]
        if min(a.size, b.size) < 30:
            continue
        for kind, left, right in zip(shape.kinds, a.columns, b.columns, strict=True):
            assert left.dtype == right.dtype
            assert len(left) == a.rows
            if kind == "float" and a.weights is None and b.weights is None:
                assert stats.ks_2samp(left, right).pvalue > 1e-6
                continue
            weights = [g.weights if g.weights is not None else np.ones(g.rows, dtype=int) for g in (a, b)]
            assert same_counts(column_counts(left, weights[0]), column_counts(right, weights[1])) > 1e-6
