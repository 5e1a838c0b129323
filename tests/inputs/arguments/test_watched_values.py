"""Watched numbers compute what Python and NumPy compute, term by term; draws are noise-free in every shape."""

import math
import operator
from fractions import Fraction

import numpy as np
import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from refutedp.inputs.arguments import find_arguments, terms
from refutedp.inputs.arguments.explore import Tracing, WatchedMemory, Work
from refutedp.inputs.arguments.noise_free_run import FollowedDraws
from refutedp.inputs.arguments.problem import Limits
from refutedp.inputs.arguments.solve import Bounds, readable_integers, readable_reals
from refutedp.inputs.arguments.watched import CannotFollow, Number, Truth, combine
from refutedp.model.mechanism import describe
from refutedp.tracing.rng_proxy import GeneratorProxy, PythonRandomProxy


def tracing():
    context = z3.Context()
    return Tracing(z3.Solver(ctx=context), (), Limits(), Work(10**8, 10**6), WatchedMemory())


def substituted(value, **values):
    """The number a term gives when its variables are replaced."""
    term = value.value if type(value) in (Number, Truth) else value
    context = term.ctx
    pairs = []
    for name, number in values.items():
        if isinstance(number, int):
            pairs.append((z3.Int(name, context), z3.IntVal(number, context)))
        else:
            pairs.append((z3.Real(name, context), terms.constant(number, context)))
    return terms.exact_of(z3.simplify(z3.substitute(term, *pairs)))


quarters = st.integers(-40, 40).map(lambda n: n / 4)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(a=st.integers(-12, 12), b=st.integers(-5, 5).filter(bool), c=quarters)
def test_integer_and_real_arithmetic_is_pythons(a, b, c):
    run = tracing()
    x, y = (Number(run, z3.Int(name, run.context)) for name in "xy")
    z = Number(run, z3.Real("z", run.context))
    run.assume(y.value != 0)
    values = {"x": a, "y": b, "z": c}
    for operation in (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod):
        assert substituted(operation(x, y), **values) == operation(a, b)
        assert substituted(operation(z, y), **values) == Fraction(operation(Fraction(c), b))
        assert substituted(operation(7, y), **values) == operation(7, b)
    assert substituted(x / y, **values) == Fraction(a, b)
    for function in (round, math.floor, math.ceil, math.trunc, abs):
        assert substituted(function(z), **values) == Fraction(function(c))
        assert substituted(function(x), **values) == function(a)
    assert substituted(round(z, 1), **values) == round(Fraction(c), 1)
    assert substituted(z**2 + x**3, **values) == Fraction(c) ** 2 + a**3
    assert substituted(-z, **values) == -Fraction(c)
    assert [substituted(part, **values) for part in divmod(x, y)] == list(divmod(a, b))


def test_plain_watched_numbers_are_the_numbers_they_stand_for():
    run = tracing()
    x = Number(run, 2.5)
    assert isinstance(x, float)
    assert not isinstance(x, int)
    assert float(x) == 2.5
    assert int(x) == 2
    assert math.exp(x) == math.exp(2.5)
    assert f"{x:.2f}" == "2.50"
    assert {2.5: "found"}[x] == "found"
    assert [10, 20, 30][Number(run, 1)] == 20
    assert list(range(Number(run, 3))) == [0, 1, 2]
    assert x.is_integer().value is False
    assert (x == None).__class__ is bool  # noqa: E711
    assert x != "text"
    with pytest.raises(ZeroDivisionError):
        x / Number(run, 0)


def test_truths_are_numbers_too():
    run = tracing()
    t = Number(run, z3.Real("t", run.context))
    count = sum(q > t for q in (1, 2, 3))
    assert substituted(count, t=1.5) == 2
    assert substituted((t > 1) + (t > 2), t=1.5) == 1
    assert isinstance(t > 1, bool)
    both = (t > 1) & (t < 2)
    assert z3.is_true(z3.simplify(z3.substitute(both.value, (t.value, z3.RealVal("3/2", run.context)))))
    assert (t < math.inf).value is True
    assert (t > math.nan).value is False


def test_what_has_no_meaning_is_refused_with_its_line():
    run = tracing()
    t = Number(run, z3.Real("t", run.context))
    for attempt in (
        lambda: float(t),
        lambda: math.log(t),
        lambda: hash(t),
        lambda: 2**t,
        lambda: t**0.5,
        lambda: t + math.inf,
        lambda: t.hex(),
        lambda: np.exp(np.array([t])),
    ):
        with pytest.raises(CannotFollow, match=r"^test_watched_values\.py:\d+ "):
            attempt()
    with pytest.raises(AttributeError):
        t.no_such_name


def test_numpy_works_on_watched_numbers():
    run = tracing()
    rng = GeneratorProxy(FollowedDraws(lambda: run))
    values = np.array([3.0, 1.0, 2.0])
    noisy = values + rng.laplace(scale=1.0, size=3)
    t = Number(run, 1.5)
    assert (noisy >= t).tolist() == [True, False, True]
    assert (noisy >= t).dtype == bool
    assert values[noisy >= t].tolist() == [3.0, 2.0]
    assert int(np.argmax(noisy)) == 0
    assert np.argsort(noisy).tolist() == [1, 2, 0]
    assert float(noisy.sum()) == 6.0
    assert float(np.mean(noisy)) == 2.0
    assert float(np.median(noisy)) == 2.0
    assert [float(v) for v in np.maximum(values, t)] == [3.0, 1.5, 2.0]
    assert [float(v) for v in np.minimum(noisy, t)] == [1.5, 1.0, 1.5]
    assert [float(v) for v in np.clip(noisy, 1.2, t)] == [1.5, 1.2, 1.5]
    assert [float(v) for v in np.where(noisy > t, t, noisy)] == [1.5, 1.0, 1.5]
    assert [float(v) for v in np.sign(noisy - 2)] == [1, -1, 0]
    assert [float(v) for v in np.sqrt(noisy)] == np.sqrt(values).tolist()
    assert float(np.max(noisy)) == 3.0
    assert float(np.float64(2.0) + t) == 3.5
    assert bool(np.float64(2.0) > t)
    assert float(np.maximum(np.float64(1.0), t)) == 1.5
    assert not np.isnan(t)
    values += rng.laplace(scale=1.0, size=3)
    assert values.tolist() == [3.0, 1.0, 2.0]
    values += t
    assert values.tolist() == [4.5, 2.5, 3.5]
    assert (np.cumsum(noisy) > 3.5).tolist() == [False, True, True]


def test_draws_have_the_noise_free_value_and_the_shape_of_numpy():
    run = tracing()
    rng = GeneratorProxy(FollowedDraws(lambda: run))
    expected = {
        rng.laplace(1.0, 2.0): 1.0,
        rng.normal(2.0, 0.5): 2.0,
        rng.gumbel(0.0, 1.0): 0.0,
        rng.logistic(3.0): 3.0,
        rng.exponential(4.0): 0.0,
        rng.uniform(1.0, 4.0): 2.5,
        rng.random(): 0.5,
        rng.geometric(0.25): 1,
        rng.integers(0, 10): 4,
        rng.integers(4): 1,
        rng.integers(0, 10, endpoint=True): 5,
        rng.binomial(10, 0.25): 2,
        rng.poisson(3.0): 3,
        rng.choice([5, 6, 7]): 5,
        rng.choice(3, p=[0.2, 0.5, 0.3]): 1,
        rng.gamma(2.0, 3.0): 6.0,
        rng.standard_normal(): 0.0,
    }
    for draw, value in expected.items():
        assert draw.value == value
        assert draw.noisy
    assert run.scales[:5] == [2.0, 0.5, 1.0, 1.0, 4.0]
    assert rng.laplace(size=3).shape == (3,)
    assert rng.random((2, 3)).shape == (2, 3)
    assert rng.laplace([1.0, 2.0], 1.0).shape == (2,)
    assert [float(v) for v in rng.laplace([1.0, 2.0], [1.0, 3.0])] == [1.0, 2.0]
    assert rng.exponential(1.0, size=(2, 2)).shape == (2, 2)
    assert rng.choice(["a", "b"]) == "a"
    assert rng.choice(4, size=2, replace=False).shape == (2,)
    with pytest.raises(ValueError, match="scale < 0"):
        rng.laplace(scale=-1.0)
    plain = PythonRandomProxy(FollowedDraws(lambda: run))
    assert plain.gauss(1.0, 2.0).value == 1.0
    assert plain.expovariate(0.5).value == 0.0
    assert plain.randint(1, 6).value == 3
    assert plain.choice("ab") == "a"


def test_readable_values():
    def first(low, high):
        return next(readable_reals(Bounds(low and Fraction(low), high and Fraction(high))))

    assert first(1, 2) == Fraction(3, 2)
    assert first(-1, 1) == 0
    assert first(None, None) == 1
    assert first(5, None) == 6
    assert first(None, -3) == -4
    assert first(Fraction(1, 3), Fraction(2, 3)) == Fraction(1, 2)
    assert first(Fraction(11, 10), Fraction(13, 10)) == Fraction(5, 4)
    assert first(2, 2) == 2
    assert list(readable_integers(2)) == [1, 2, 0, -1, -2]


def test_noise_first_keeps_the_bound_small():
    def svt(queries, epsilon, threshold, bound: int, rng):
        count, noisy = 0, threshold + rng.laplace(scale=2 / epsilon)
        for q in queries:
            if q + rng.laplace(scale=4 * bound / epsilon) >= noisy:
                count += 1
                if count >= bound:
                    break
        return count

    pair = [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]
    most = find_arguments(describe(svt), *pair, {"epsilon": 1.0})
    quiet = find_arguments(describe(svt), *pair, {"epsilon": 1.0}, prefer="noise")
    assert (most.arguments, most.diverging) == ({"threshold": 0.5, "bound": 3}, 5)
    assert (quiet.arguments, quiet.diverging) == ({"threshold": 0.5, "bound": 1}, 3)


def test_any_and_all_of_plain_and_watched_truths():
    run = tracing()
    t = Number(run, z3.Real("t", run.context))
    merged = combine("or", combine("or", False, False), t > 1)
    assert merged.symbolic
    assert combine("and", combine("and", True, False), t > 1).value is False
