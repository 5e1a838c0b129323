"""Every distribution: columns of draws are distributed as single calls, and replayed draws have the same types."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from scipy import stats

from refutedp.model.mechanism import describe
from refutedp.sampling.lifted import CannotLift, Lift
from refutedp.sampling.lifted.drawer import FEW_OPTIONS
from refutedp.sampling.lifted.execution import Run
from refutedp.sampling.lifted.trust.plain_calls import Continue, Replay, recorded_draws
from refutedp.tracing.distributions import Source

GENERATOR = (
    "rng.laplace(1, 2.0)",
    "rng.laplace(loc=-1)",
    "rng.gumbel(0, 2)",
    "rng.logistic(1.0)",
    "rng.normal(scale=0.5)",
    "rng.lognormal()",
    "rng.uniform(-1, 3)",
    "rng.exponential(2.0)",
    "rng.rayleigh()",
    "rng.standard_cauchy()",
    "rng.standard_gamma(0.7)",
    "rng.standard_t(4)",
    "rng.gamma(2, 3)",
    "rng.beta(0.5, 0.5)",
    "rng.chisquare(3)",
    "rng.pareto(3)",
    "rng.weibull(1.5)",
    "rng.wald(1, 2)",
    "rng.triangular(0, 1, 3)",
    "rng.random()",
    "rng.standard_normal()",
    "rng.standard_exponential()",
    "rng.geometric(0.3)",
    "rng.binomial(7, 0.4)",
    "rng.poisson(2.5)",
    "rng.negative_binomial(3, 0.5)",
    "rng.hypergeometric(5, 5, 4)",
    "rng.integers(6)",
    "rng.integers(-3, 3, endpoint=True)",
    "rng.choice(4)",
    "rng.choice([2.5, 3.5, 9.0])",
    "rng.choice(3, p=[0.5, 0.2, 0.3])",
    "rng.normal(rng.exponential(), 0.1)",
    "rng.poisson(rng.gamma(2.0))",
)
MODULES = (
    "np.random.laplace(1, 2.0)",
    "np.random.normal()",
    "np.random.rand()",
    "np.random.randn()",
    "np.random.random()",
    "np.random.uniform(2, 3)",
    "np.random.exponential(0.5)",
    "np.random.randint(4)",
    "np.random.randint(2, 9)",
    "np.random.choice(4)",
    "np.random.choice([2, 7])",
    "np.random.geometric(0.4)",
    "random.random()",
    "random.uniform(-1, 1)",
    "random.gauss(1, 2)",
    "random.normalvariate(0, 1)",
    "random.expovariate(2.0)",
    "random.gammavariate(2, 3)",
    "random.betavariate(2, 3)",
    "random.randint(1, 6)",
    "random.randrange(5)",
    "random.choice([10, 20, 30])",
)
ARRAYS = (
    "rng.laplace(size=3)",
    "rng.laplace(0, [1.0, 2.0, 5.0])",
    "rng.normal(np.array([0.0, 3.0]), 1.0, 2)",
    "rng.integers(0, 5, size=(2, 2))",
    "rng.choice(5, size=3)",
    "rng.choice([1.5, 2.5], 2, p=[0.9, 0.1])",
    "rng.random((2, 3))",
    "rng.normal(rng.laplace(size=3), 0.5)",
    "rng.permutation(4)",
    "rng.choice(3, p=(lambda w: w / w.sum())(np.exp(rng.laplace(size=3))))",
)
RUNS = 1500


def mechanism(expression: str) -> Any:
    scope = {"np": np, "random": random}
    parameters = "data, rng" if expression.startswith("rng") else "data"
    return eval(f"lambda {parameters}: {expression}", scope)


def explored(lift: Lift, n: int) -> tuple[Run, Any]:
    finished: list[tuple[Run, Any]] = []
    source = Source(np.random.default_rng(5))
    lift._explore(n, source, lambda run, output: finished.append((run, output)))
    ((run, output),) = finished
    return run, output


@pytest.mark.parametrize("expression", GENERATOR + MODULES + ARRAYS)
def test_columns_are_distributed_as_single_draws(expression):
    lift = Lift(describe(mechanism(expression)), [1], {})
    lift.prove(np.random.default_rng(1))
    _, output = explored(lift, RUNS)
    columns = output.values().reshape(RUNS, -1)
    call, rng = mechanism(expression), np.random.default_rng(2)
    np.random.seed(3)
    random.seed(3)
    plain = np.array([call([1], rng) if expression.startswith("rng") else call([1]) for _ in range(RUNS)])
    for a, b in zip(columns.T, plain.reshape(RUNS, -1).T, strict=True):
        # Conservative for discrete distributions; about 100 p-values.
        assert stats.ks_2samp(a, b).pvalue > 1e-6
    if columns.shape[1] > 1 and "permutation" not in expression:
        # Elements of one run, and runs of one element, are independent draws.
        assert abs(stats.spearmanr(columns[:, 0], columns[:, 1]).statistic) < 6 / RUNS**0.5
    assert abs(stats.spearmanr(columns[1:, 0], columns[:-1, 0]).statistic) < 6 / RUNS**0.5


@pytest.mark.parametrize("expression", GENERATOR + MODULES + ARRAYS)
def test_replayed_and_continued_draws_have_the_types_of_real_ones(expression):
    call = mechanism(expression)
    lift = Lift(describe(call), [1], {})
    run, _ = explored(lift, 2)
    replayed = lift.plain.call(Replay(recorded_draws(run, 0)))
    continued = lift.plain.call(Continue(Source(np.random.default_rng(0))))
    np.random.seed(3)
    random.seed(3)
    real = call([1], np.random.default_rng(0)) if expression.startswith("rng") else call([1])
    for value in (replayed, continued):
        assert type(value) is type(real)
        assert np.shape(value) == np.shape(real)
        assert np.asarray(value).dtype == np.asarray(real).dtype


@pytest.mark.parametrize(
    "expression",
    ["rng.laplace()", "rng.laplace(size=2)", "rng.integers(5)", "rng.geometric(0.5)", "rng.choice(5)"],
)
def test_isinstance_answers_as_for_a_real_draw(expression):
    real = mechanism(expression)([1], np.random.default_rng(0))
    _, output = explored(Lift(describe(mechanism(expression)), [1], {}), 3)
    for kind in (float, int, bool, np.ndarray, np.generic, np.int64, np.float64, str):
        assert isinstance(output, kind) == isinstance(real, kind)


def test_invalid_parameters_are_refused():
    lift = Lift(describe(lambda data, rng: rng.laplace(scale=-1.0)), [1], {})
    with pytest.raises(CannotLift, match="invalid"):
        lift.prove(np.random.default_rng(0))


def test_choice_without_replacement_is_refused():
    lift = Lift(describe(lambda data, rng: rng.choice(5, 2, replace=False)), [1], {})
    with pytest.raises(CannotLift, match="without replacement"):
        lift.prove(np.random.default_rng(0))


@pytest.mark.parametrize("count", [1, 2, 7, FEW_OPTIONS, FEW_OPTIONS + 1, 300])
def test_choices_are_bit_for_bit_those_of_numpy(count):
    weights = np.random.default_rng(count).random(count) ** 4
    weights[count // 2 :: 3] = 0.0 if count > 2 else 1.0
    weights /= weights.sum()
    lift = Lift(describe(lambda data, rng: int(rng.choice(count, p=weights))), [1], {})
    (group,) = lift.sample(5000, np.random.default_rng(8)).groups
    drawn = np.repeat(group.columns[0], 1 if group.weights is None else group.weights)
    assert sorted(drawn.tolist()) == sorted(np.random.default_rng(8).choice(count, 5000, p=weights).tolist())


@pytest.mark.parametrize("bad", [[0.5, 0.6], [1.5, -0.5], [np.nan, 1.0], [1.0], []], ids=str)
def test_probabilities_that_numpy_refuses_are_left_to_plain_runs(bad):
    lift = Lift(describe(lambda data, rng: rng.choice(2 if bad else 0, p=bad) + rng.random()), [1], {})
    with pytest.raises(CannotLift):
        lift.prove(np.random.default_rng(0))
