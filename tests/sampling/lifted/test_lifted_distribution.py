"""Lifted and plain runs have the same distribution, for mechanisms of every style that people write.

Oracle: the plain function called in a loop with a real generator. Shapes are compared by a chi-square test, every
leaf by a two-sample Kolmogorov-Smirnov test (floats) or a chi-square test (all else). With fixed seeds and about 200
p-values, a bound of 1e-6 fails by chance with probability below 2e-4, once, when the seed is chosen.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

from refutedp.model.mechanism import describe
from refutedp.model.outputs import Outputs
from refutedp.sampling.encode import Raised, encode
from refutedp.sampling.lifted import Lift
from tests.sampling.lifted.styles import MECHANISMS

RUNS = 3000


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
